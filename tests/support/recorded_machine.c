#include "tests/support/recorded_machine.h"

#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/core/file.h"

static char folder[256];

const char *recorded_machine_path(const char *path)
{
    static char full[PATH_MAX];

    snprintf(full, sizeof(full), "%s%s", folder, path);
    return full;
}

void recorded_machine_write(const char *path, const char *content)
{
    char full[PATH_MAX], parent[PATH_MAX];
    FILE *file;

    snprintf(full, sizeof(full), "%s", recorded_machine_path(path));
    snprintf(parent, sizeof(parent), "%s", full);
    *strrchr(parent, '/') = '\0';
    assert_int_equal(file_make_directories(parent, 0755, NULL), STATUS_OK);
    file = fopen(full, "we");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

void recorded_machine_use(const char *name)
{
    const char *tmp = getenv("TMPDIR");
    char path[PATH_MAX], *text, *at;

    snprintf(folder, sizeof(folder), "%s/assay-machine-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), MACHINES_DIRECTORY "/%s.txt", name);
    assert_int_equal(file_read(path, 1 << 20, &text, NULL, NULL), STATUS_OK);
    at = strstr(text, "\n@ ");
    while (at) {
        char *file = at + 3, *content = strchr(file, '\n'), *next;

        assert_non_null(content);
        *content++ = '\0';
        next = !strncmp(content, "@ ", 2) ? content - 1 : strstr(content, "\n@ ");
        if (next && next >= content) { /* keep the newline that ends the content */
            char *rest = next + 1;
            char kept = *rest;

            *rest = '\0';
            recorded_machine_write(file, content);
            *rest = kept;
        } else {
            recorded_machine_write(file, next ? "" : content);
        }
        at = next;
    }
    free(text);
    setenv("ASSAY_HOST_ROOT", folder, 1);
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info;
    (void)type;
    (void)walk;
    return remove(path);
}

void recorded_machine_remove(void)
{
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    unsetenv("ASSAY_HOST_ROOT");
}

#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/core/text.h"
#include "harness/runner/folder_state.h"
#include "harness/runner/package_install.h"
#include "tests/support/unit.h"

static char folder[] = "/tmp/assay-state-XXXXXX";

static void write_file(const char *name, const char *content)
{
    char *path = text_format("%s/%s", folder, name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(content, file);
    fclose(file);
    free(path);
}

static struct digest digest_now(void)
{
    struct folder_state *state = NULL;
    struct digest digest;

    assert_int_equal(folder_state_read(folder, &state, &digest, NULL), STATUS_OK);
    folder_state_destroy(state);
    return digest;
}

static void make(void)
{
    static const char *const folders[] = {
        "", "/site", "/site/__pycache__", "/site/a.dist-info", "/venv", "/venv/bin"};

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        char *path = text_format("%s%s", folder, folders[i]);

        mkdir(path, 0700);
        free(path);
    }
    write_file("site/a.py", "a = 1");
    write_file("site/a.dist-info/entry_points.txt", "x");
}

/* What pip, venv and Python write of a place or a moment is in no digest; all else is. */
TEST(what_is_the_same_everywhere)
{
    static const struct {
        const char *name;
        bool counts;
    } files[] = {{"site/a.dist-info/RECORD", false},
                 {"venv/bin/pip", false},
                 {"venv/pyvenv.cfg", false},
                 {"site/__pycache__/a.pyc", false},
                 {"site/RECORD", true},
                 {"site/a.dist-info/entry_points.txt", true},
                 {"site/a.py", true},
                 {"lock.txt", true}};

    make();
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        const struct digest before = digest_now();
        struct digest after;

        write_file(files[i].name, "another");
        after = digest_now();
        assert_int_equal(!digest_equal(&before, &after), files[i].counts);
    }
    assert_int_equal(package_remove(folder, NULL), STATUS_OK);
}

static void expect(struct folder_state *state, const char *part)
{
    struct error err = ERROR_INIT;

    assert_int_equal(folder_state_check(state, &err), part ? STATUS_INVALID : STATUS_OK);
    if (part && !strstr(err.message, part))
        fail_msg("%s", err.message);
}

TEST(what_has_changed)
{
    struct folder_state *files = NULL;
    struct digest digest;

    make();
    assert_int_equal(folder_state_read(folder, &files, &digest, NULL), STATUS_OK);
    expect(files, NULL);
    write_file("site/__pycache__/a.pyc", "compiled"); /* once */
    expect(files, NULL);
    write_file("site/__pycache__/a.pyc", "by somebody else");
    expect(files, "a.pyc was written or replaced");
    folder_state_destroy(files);
    assert_int_equal(folder_state_read(folder, &files, &digest, NULL), STATUS_OK);
    write_file("site/b.py", "");
    expect(files, "b.py is new");
    write_file("venv/pyvenv.cfg", "home = /elsewhere");
    folder_state_destroy(files);
    assert_int_equal(folder_state_read(folder, &files, &digest, NULL), STATUS_OK);
    assert_int_equal(package_remove(folder, NULL), STATUS_OK);
    make();
    expect(files, "was");
    folder_state_destroy(files);
    assert_int_equal(package_remove(folder, NULL), STATUS_OK);
    assert_int_not_equal(folder_state_read(folder, &files, &digest, NULL), STATUS_OK);
}

static int make_name(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

int main(void)
{
    return unit_run(make_name, NULL);
}

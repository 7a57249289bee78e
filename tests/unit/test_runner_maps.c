#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/core/text.h"
#include "harness/runner/maps.h"
#include "tests/support/unit.h"

static char folder[] = "/tmp/assay-maps-XXXXXX";

static char *write_file(const char *name, const char *content)
{
    char *path = text_format("%s/%s", folder, name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(content, file);
    fclose(file);
    return path;
}

static unsigned long long inode_of(const char *path)
{
    struct stat info;

    assert_int_equal(stat(path, &info), 0);
    return info.st_ino;
}

TEST(own_process)
{
    struct maps_list list;
    struct maps_cache cache;
    bool found_libc = false;

    maps_cache_init(&cache);
    assert_int_equal(maps_read(getpid(), &list, NULL), STATUS_OK);
    for (size_t i = 0; i < list.count; i++) {
        const struct maps_content *content;

        assert_true(i == 0 || strcmp(list.files[i - 1].path, list.files[i].path) < 0);
        if (!strstr(list.files[i].path, "libc.so"))
            continue;
        found_libc = true;
        assert_true(list.files[i].present);
        assert_int_equal(maps_cache_content(&cache, &list.files[i], &content, NULL), STATUS_OK);
        assert_true(strlen(content->build_id) >= 16);
    }
    assert_true(found_libc);
    assert_int_equal(cache.count, 1);
    maps_list_finish(&list);
    maps_cache_finish(&cache);
    assert_int_equal(maps_read(0, &list, NULL), STATUS_UNAVAILABLE);
}

TEST(parse)
{
    char *path = write_file("lib a b.so", "content");
    char *text = text_format("00400000-00452000 r-xp 00000000 08:02 %llu      %s\n"
                             "00651000-00652000 r--p 00051000 08:02 1     /not/executable\n"
                             "00e03000-00e24000 rw-p 00000000 00:00 0     [heap]\n"
                             "35b1a21000-35b1a22000 r-xp 00000000 00:00 0\n"
                             "00400000-00452000 r-xp 00000000 08:02 %llu      %s\n"
                             "00400000-00452000 r-xp 00000000 08:02 99 /tmp/gone.so (deleted)\n"
                             "garbage\n\n- - - - -\n"
                             "ffffffffff600000-ffffffffff601000 r-xp 00000000 00:00 0 [vsyscall]",
                             inode_of(path), path, inode_of(path), path);
    struct maps_list list;

    assert_int_equal(maps_parse(text, &list, NULL), STATUS_OK);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.files[0].path, path);
    assert_true(list.files[0].present);
    assert_string_equal(list.files[1].path, "/tmp/gone.so");
    assert_false(list.files[1].present);
    maps_list_finish(&list);
    free(text);
    unlink(path);
    free(path);
}

/* A library that is replaced between mapping and hashing must not give its digest to the old one.
 */
/* A line end in a path is written as \012. */
TEST(line_end_in_path)
{
    char *path = write_file("lib\nx.so", "content");
    char *text = text_format("0-1 r-xp 0 0:0 %llu %s/lib\\012x.so\n", inode_of(path), folder);
    struct maps_list list;

    assert_int_equal(maps_parse(text, &list, NULL), STATUS_OK);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.files[0].path, path);
    assert_true(list.files[0].present);
    maps_list_finish(&list);
    free(text);
    unlink(path);
    free(path);
}

/* For a container's file that was changed in place, the kernel and stat(2) report different inodes.
 */
static void run_on_overlay(void)
{
    char *lower = text_format("%s/lower", folder), *rest = text_format("%s/rest", folder);
    char *upper = text_format("%s/upper", rest), *work = text_format("%s/work", rest);
    char *options = text_format("lowerdir=%s,upperdir=%s,workdir=%s", lower, upper, work);
    char *path = text_format("%s/lib.so", lower), *text;
    struct maps_list list;

    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", folder, "tmpfs", 0, NULL) || mkdir(lower, 0755) || mkdir(rest, 0755) ||
        mkdir(upper, 0755) || mkdir(work, 0755))
        _exit(77);
    free(write_file("lower/lib.so", "content"));
    text = text_format("0-1 r-xp 0 0:0 %llu %s\n", inode_of(path) + 1, path);
    if (maps_parse(text, &list, NULL) || list.count != 1 || list.files[0].present)
        _exit(1); /* elsewhere that is another file */
    maps_list_finish(&list);
    if (mount("overlay", lower, "overlay", 0, options))
        _exit(77);
    if (maps_parse(text, &list, NULL) || list.count != 1 || !list.files[0].present)
        _exit(2);
    maps_list_finish(&list);
    _exit(0);
}

TEST(overlay)
{
    int status;
    pid_t pid;

    pid = fork();
    if (pid == 0)
        run_on_overlay();
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

TEST(changed_file)
{
    char *path = write_file("lib.so", "first");
    char *text = text_format("0-1 r-xp 0 0:0 %llu %s\n", inode_of(path), path);
    struct maps_list list;
    struct maps_cache cache;
    const struct maps_content *content;
    struct error err = ERROR_INIT;
    FILE *file;

    maps_cache_init(&cache);
    assert_int_equal(maps_parse(text, &list, NULL), STATUS_OK);
    file = fopen(path, "w");
    fputs("second!", file);
    fclose(file);
    assert_int_equal(maps_cache_content(&cache, &list.files[0], &content, &err), STATUS_CORRUPT);
    assert_non_null(strstr(err.message, path));
    assert_int_equal(cache.count, 0);
    maps_list_finish(&list);
    maps_cache_finish(&cache);
    free(text);
    unlink(path);
    free(path);
}

TEST(build_id)
{
    static const char *const texts[] = {"",
                                        "\x7f"
                                        "ELF",
                                        "\x7f"
                                        "ELF\2\1\1",
                                        "#!/bin/sh\n"};
    char id[ELF_BUILD_ID_SIZE];

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char *path = write_file("not-elf", texts[i]);

        assert_int_equal(elf_build_id(path, id, NULL), STATUS_INVALID);
        unlink(path);
        free(path);
    }
    assert_int_equal(elf_build_id("/nonexistent", id, NULL), STATUS_NOT_FOUND);
}

/* What this program needs goes by the names of what it has mapped. */
TEST(links)
{
    struct elf_links own, mapped, none;
    struct maps_list list;
    char *path = write_file("not-elf", "#!/bin/sh\n"), *loader = NULL;
    size_t found = 0, needed = 0;

    assert_int_equal(elf_read_links(path, &none, NULL), STATUS_INVALID);
    assert_int_equal(elf_read_links("/nonexistent", &none, NULL), STATUS_NOT_FOUND);
    assert_int_equal(elf_read_loader(path, &loader, NULL), STATUS_INVALID);
    assert_int_equal(elf_read_loader("/proc/self/exe", &loader, NULL), STATUS_OK);
    assert_int_equal(access(loader, X_OK), 0);
    free(loader);
    assert_int_equal(elf_read_links("/proc/self/exe", &own, NULL), STATUS_OK);
    assert_null(own.name);
    assert_int_equal(maps_read(getpid(), &list, NULL), STATUS_OK);
    for (char **name = own.needed; *name; name++, needed++)
        for (size_t i = 0; i < list.count; i++) {
            assert_int_equal(elf_read_links(list.files[i].path, &mapped, NULL), STATUS_OK);
            found += mapped.name && !strcmp(mapped.name, *name);
            elf_links_finish(&mapped);
        }
    assert_true(needed > 0);
    assert_int_equal(found, needed);
    elf_links_finish(&own);
    maps_list_finish(&list);
    unlink(path);
    free(path);
}

/* Every one-byte change and every cut of a real file's head: no crash, whatever the result. */
TEST(damaged_elf)
{
    static char bytes[4096];
    int fd = open("/proc/self/exe", O_RDONLY);
    ssize_t length = read(fd, bytes, sizeof(bytes));
    char *path = write_file("damaged", "");
    struct elf_links links;
    char *loader, id[ELF_BUILD_ID_SIZE];

    close(fd);
    for (ssize_t i = 0; i < 1200 && i < length; i++) {
        int out = open(path, O_WRONLY | O_TRUNC);
        char kept = bytes[i];

        bytes[i] = (char)(i * 37 + 1);
        assert_int_equal(write(out, bytes, (size_t)length), length);
        assert_int_equal(ftruncate(out, i % 3 ? length : i), 0);
        close(out);
        bytes[i] = kept;
        elf_build_id(path, id, NULL);
        elf_read_links(path, &links, NULL);
        elf_links_finish(&links);
        if (elf_read_loader(path, &loader, NULL) == STATUS_OK)
            free(loader);
    }
    unlink(path);
    free(path);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    return unit_run(make_folder, remove_folder);
}

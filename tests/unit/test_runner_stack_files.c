/* Kernel modules and firmware of a recorded machine; files that a worker reports. */
#include "harness/runner/stack_files.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/recorded_machine.h"
#include "tests/support/unit.h"

static const struct stack_file *find(const struct stack_files *files, const char *end)
{
    for (size_t i = 0; i < files->count; i++) {
        size_t length = strlen(files->items[i].path);

        if (length >= strlen(end) && !strcmp(files->items[i].path + length - strlen(end), end))
            return &files->items[i];
    }
    return NULL;
}

static void write_note(const char *path, const unsigned char *bytes, size_t length)
{
    FILE *file;

    recorded_machine_write(path, "x");
    file = fopen(recorded_machine_path(path), "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

TEST(modules)
{
    static const unsigned char note[] = {4, 0, 0,   0,   3,   0, 0,    0, 3,   0,
                                         0, 0, 'G', 'N', 'U', 0, 0xab, 0, 0x5f};
    struct stack_files files = {0};
    struct maps_list list = {0};
    const struct stack_file *file;

    recorded_machine_use("tuned_server");
    recorded_machine_write("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
    recorded_machine_write("/sys/module/nvidia/version", "570.86.15\n");
    recorded_machine_write("/sys/module/nvidia/srcversion", "0123ABC\n");
    write_note("/sys/module/nvidia/notes/.note.gnu.build-id", note, sizeof(note));
    recorded_machine_write("/sys/module/nvidia_uvm/version", "570.86.15\n");
    recorded_machine_write("/sys/module/amdgpu/srcversion", "77AA\n");
    /* A note that states a larger size than it has. */
    write_note("/sys/module/amdgpu/notes/.note.gnu.build-id", note, 14);
    recorded_machine_write("/lib/modules/6.1.0-18-amd64/modules.dep",
                           "kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko.xz: kernel/x.ko.xz\n"
                           "updates/dkms/nvidia-peermem.ko: updates/dkms/nvidia.ko\n"
                           "updates/dkms/nvidia-uvm.ko: updates/dkms/nvidia.ko\n"
                           "updates/dkms/nvidia.ko:\n");
    recorded_machine_write("/lib/modules/6.1.0-18-amd64/updates/dkms/nvidia.ko", "a module");
    recorded_machine_write("/lib/firmware/nvidia/570.86.15/gsp_ga10x.bin", "firmware");
    recorded_machine_write("/lib/firmware/nvidia/535.1/gsp_ga10x.bin", "of another driver");
    assert_int_equal(stack_files_add_host(&files, NULL), STATUS_OK);
    assert_int_equal(files.count, 4);
    file = find(&files, "/updates/dkms/nvidia.ko");
    assert_non_null(file);
    assert_string_equal(file->kind, "driver");
    assert_string_equal(file->version, "570.86.15, srcversion 0123ABC");
    assert_string_equal(file->build_id, "ab005f");
    assert_non_null(find(&files, "/updates/dkms/nvidia-uvm.ko"));
    file = find(&files, "/amdgpu/amdgpu.ko.xz");
    assert_non_null(file);
    assert_string_equal(file->version, "srcversion 77AA");
    assert_null(file->build_id);
    file = find(&files, "/570.86.15/gsp_ga10x.bin");
    assert_non_null(file);
    assert_string_equal(file->kind, "firmware");
    assert_int_equal(maps_list_add_stack(&list, &files, NULL), STATUS_OK);
    assert_int_equal(list.count, 4);
    for (size_t i = 0; i < list.count; i++)
        assert_int_equal(list.files[i].present, strstr(list.files[i].path, "nvidia.ko") ||
                                                    strstr(list.files[i].path, "570.86.15"));
    maps_list_finish(&list);
    stack_files_finish(&files);
    recorded_machine_remove();
}

/* In a container the modules' files are mostly missing: the loaded module is recorded instead. */
TEST(no_module_folder)
{
    struct stack_files files = {0};

    recorded_machine_use("cloud_guest");
    recorded_machine_write("/sys/module/xe/srcversion", "1234\n");
    assert_int_equal(stack_files_add_host(&files, NULL), STATUS_OK);
    assert_int_equal(files.count, 1);
    assert_non_null(find(&files, "/sys/module/xe"));
    stack_files_finish(&files);
    recorded_machine_remove();
}

TEST(reported)
{
    struct stack_files files = {0};
    json_t *reported =
        json_pack("[{s:s, s:s, s:s}, {s:s, s:s, s:n}]", "kind", "compiler", "path", "/usr/bin/ld",
                  "version", "2.40", "kind", "icd", "path", "/x.icd", "version");

    assert_int_equal(stack_files_add_told(&files, NULL, NULL, NULL), STATUS_OK);
    assert_int_equal(stack_files_add_told(&files, reported, "/root", NULL), STATUS_OK);
    assert_int_equal(files.count, 2);
    assert_string_equal(files.items[0].path, "/root/usr/bin/ld");
    assert_string_equal(files.items[0].version, "2.40");
    assert_null(files.items[1].version);
    json_array_append_new(reported, json_pack("{s:s, s:s}", "kind", "poem", "path", "/x"));
    assert_int_equal(stack_files_add_told(&files, reported, NULL, NULL), STATUS_PROTOCOL);
    stack_files_finish(&files);
    stack_files_finish(NULL);
    json_decref(reported);
}

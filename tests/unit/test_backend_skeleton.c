#include "backends/skeleton/skeleton.h"

#include <string.h>

#include "backends/registry.h"
#include "tests/support/unit.h"

TEST(skeleton)
{
    struct backend backend = {.ops = &skeleton_backend_ops};
    const struct module_source source = {.file = "x.h", .text = "KERNEL(a)\n{\n}\n", .lanes = 1};
    static const char *const required[] = {"device.name", "device.driver_version", "device.memory"};
    struct error err = ERROR_INIT;
    struct backend *found = NULL;
    struct device *device = NULL;
    struct buffer *buffer = NULL, *other = NULL;
    struct module *module = NULL;
    struct device_info info;
    uint32_t index = 9, lanes[4];
    char out[3];

    backend_registry_replace(&backend, 1);
    assert_int_equal(backend_resolve("skeleton", &found, &index, &err), STATUS_OK);
    assert_ptr_equal(found, &backend);
    assert_int_equal(index, 0);
    assert_int_equal(backend_device_info(found, 0, &info, &err), STATUS_OK);
    assert_string_equal(info.name, "skeleton");
    /* What `standard` requires of a device, so that a copy can measure. */
    for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++) {
        const struct reading *reading = reading_find(&info.readings, required[i]);

        assert_non_null(reading);
        assert_int_equal(reading->status, READING_MEASURED);
    }
    device_info_finish(&info);
    assert_int_equal(backend_device_open(found, 0, NULL, &device, &err), STATUS_OK);
    assert_int_equal(device_buffer_alloc(device, 10, BUFFER_READ_WRITE, &buffer, &err), STATUS_OK);
    assert_int_equal(device_upload(buffer, 7, "abc", 3, &err), STATUS_OK);
    assert_int_equal(device_download(buffer, 7, out, 3, &err), STATUS_OK);
    assert_memory_equal(out, "abc", 3);
    assert_int_equal(device_module_load(device, &source, &module, &err), STATUS_UNSUPPORTED);
    assert_null(module);
    assert_int_equal(device_lane_candidates(device, lanes, 4), 1);
    assert_int_equal(lanes[0], 1);
    assert_int_equal(device_synchronize(device, &err), STATUS_OK);
    assert_false(device_has_events(device));
    assert_false(device_has_operation(device, OPERATION_GEMM));
    assert_int_equal(device_buffer_alloc(device, 10, BUFFER_READ_WRITE, &other, &err), STATUS_OK);
    assert_int_equal(device_copy(other, buffer, 10, &err), STATUS_OK);
    assert_int_equal(device_download(other, 7, out, 3, &err), STATUS_OK);
    assert_memory_equal(out, "abc", 3);
    device_buffer_free(other);
    device_buffer_free(buffer);
    device_close(device);
    backend_registry_replace(NULL, 0);
}

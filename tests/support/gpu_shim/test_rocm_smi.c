/*
 * Data of ROCm SMI and the kernel where AMD boards differ: a die without a power sensor, partitions
 * of one board, a cache beyond the second level, ECC.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/hip/kfd.h"
#include "backends/telemetry.h"
#include "harness/core/file.h"
#include "harness/core/text.h"
#include "tests/support/gpu_shim/journey.h"

#define NODES "/sys/class/kfd/kfd/topology/nodes"
#define PCI "0000:c3:00.0"

static const char *reason_of(const struct telemetry *telemetry, const char *name)
{
    for (size_t i = 0; i < telemetry->channel_count; i++)
        if (strcmp(telemetry->channels[i].name, name) == 0)
            return telemetry->channels[i].reason;
    fail_msg("no channel %s", name);
    return "";
}

static struct telemetry *open_telemetry(enum status expected, struct error *err)
{
    struct telemetry *telemetry = NULL;

    assert_int_equal(backend_telemetry_open(journey_device->backend, 0, &telemetry, err), expected);
    return telemetry;
}

static void test_board(void **state)
{
    struct telemetry *telemetry = open_telemetry(STATUS_OK, NULL);

    (void)state;
    assert_string_equal(reason_of(telemetry, "power_mw"), "");
    assert_string_equal(reason_of(telemetry, "energy_uj"), "");
    telemetry_close(telemetry);
}

/* 0 W and 0 J are no readings; the rest of the die is reported. */
static void test_second_die(void **state)
{
    struct telemetry *telemetry;

    (void)state;
    setenv("ASSAY_SHIM_SECOND_DIE", "1", 1);
    telemetry = open_telemetry(STATUS_OK, NULL);
    assert_non_null(strstr(reason_of(telemetry, "power_mw"), "RSMI_STATUS_NO_DATA"));
    assert_non_null(strstr(reason_of(telemetry, "energy_uj"), "RSMI_STATUS_NO_DATA"));
    assert_string_equal(reason_of(telemetry, "clock_sm_khz"), "");
    telemetry_close(telemetry);
    unsetenv("ASSAY_SHIM_SECOND_DIE");
}

/* No partition's numbers are used for another. */
static void test_partitions(void **state)
{
    struct error err = ERROR_INIT;

    (void)state;
    setenv("ASSAY_SHIM_PARTITIONS", "1", 1);
    open_telemetry(STATUS_NOT_FOUND, &err);
    assert_non_null(strstr(err.message, "2 partitions at " PCI));
    unsetenv("ASSAY_SHIM_PARTITIONS");
}

/* ---- the kernel's topology, as a recorded machine ---- */

static char root[] = "/tmp/assay-kfd-XXXXXX";

static void write_file(const char *folder, const char *text)
{
    struct error err = ERROR_INIT;
    char *path = text_format("%s" NODES "/%s", root, folder);
    char *file = text_format("%s/properties", path);

    assert_non_null(file);
    if (file_make_directories(path, 0755, &err) != STATUS_OK ||
        file_write_atomic(file, text, strlen(text), 0644, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    free(file);
    free(path);
}

static struct device_info info_here(void)
{
    struct device_info info;
    struct error err = ERROR_INIT;

    if (backend_device_info(journey_device->backend, 0, &info, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return info;
}

static void assert_missing(const struct device_info *info, const char *name, const char *reason)
{
    const struct reading *reading = reading_find(&info->readings, name);

    assert_non_null(reading);
    assert_int_equal(reading->status, READING_UNAVAILABLE);
    assert_non_null(strstr(reading->reason, reason));
}

/* Without the kernel's data the runtime's is not used: its cache is of one die, its ECC always no.
 */
static void test_no_topology(void **state)
{
    struct device_info info = info_here();

    (void)state;
    assert_int_equal(info.last_level_cache_bytes, 0);
    assert_missing(&info, "device.cache", "no device at " PCI);
    assert_missing(&info, "device.memory_ecc", "no device at " PCI);
    assert_int_equal(reading_find(&info.readings, "device.cache_l2")->integer, 1 << 20);
    device_info_finish(&info);
}

/* An MI300X: eight dies' second level, and 256 MiB beyond them. */
static void test_topology(void **state)
{
    struct device_info info;
    const struct reading *reading;

    (void)state;
    write_file("0", "cpu_cores_count 96\nsimd_count 0\nlocation_id 0\ndomain 0\n");
    write_file("1", "simd_count 1216\ncapability 0\nlocation_id 49921\ndomain 0\n");
    write_file("2", "simd_count 1216\ncapability 748167808\nlocation_id 268485376\ndomain 0\n");
    write_file("2/caches/0", "level 1\nsize 32\ntype 9\n");
    for (int i = 1; i <= 8; i++) {
        char folder[32];

        snprintf(folder, sizeof(folder), "2/caches/%d", i);
        write_file(folder, "processor_id_low 1\nlevel 2\nsize 4096\ntype 9\n");
    }
    write_file("2/caches/9", "level 3\nsize 262144\ntype 9\n");
    write_file("2/caches/10", "level 2\nsize 4096\ntype 9\n");
    info = info_here();
    assert_int_equal(info.last_level_cache_bytes, (uint64_t)256 << 20);
    reading = reading_find(&info.readings, "device.cache");
    assert_int_equal(reading->integer, (int64_t)256 << 20);
    assert_string_equal(reading->source, NODES "/2/caches");
    assert_string_equal(reading_find(&info.readings, "device.memory_ecc")->text, "yes");
    device_info_finish(&info);

    /* The same board without RAS and a third level: the dies' second levels together. */
    write_file("2", "simd_count 1216\ncapability 747119232\nlocation_id 49920\ndomain 0\n");
    write_file("2/caches/9", "level 1\nsize 16\ntype 10\n");
    info = info_here();
    assert_int_equal(info.last_level_cache_bytes, (uint64_t)36 << 20);
    assert_string_equal(reading_find(&info.readings, "device.memory_ecc")->text, "no");
    device_info_finish(&info);

    /* In another domain it is another board. */
    write_file("2", "simd_count 1216\ncapability 747119232\nlocation_id 49920\ndomain 1\n");
    info = info_here();
    assert_missing(&info, "device.cache", "no device at " PCI);
    device_info_finish(&info);
}

static void test_addresses(void **state)
{
    uint32_t domain = 0, location = 0;

    (void)state;
    assert_true(hip_pci_parse("0001:c3:1f.7", &domain, &location));
    assert_int_equal(domain, 1);
    assert_int_equal(location, 0xc3ff);
    assert_false(hip_pci_parse("c3:00.0", &domain, &location));
    assert_false(hip_pci_parse("0000:c3:20.0", &domain, &location));
    assert_false(hip_pci_parse("", &domain, &location));
}

static int make_root(void **state)
{
    (void)state;
    return mkdtemp(root) == NULL || setenv("ASSAY_HOST_ROOT", root, 1) != 0;
}

static int remove_root(void **state)
{
    char *command = text_format("rm -r %s", root);
    int status = command != NULL ? system(command) : -1;

    (void)state;
    free(command);
    return unsetenv("ASSAY_HOST_ROOT") != 0 || status != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_board),
        cmocka_unit_test(test_second_die),
        cmocka_unit_test(test_partitions),
        cmocka_unit_test_setup(test_no_topology, make_root),
        cmocka_unit_test_teardown(test_topology, remove_root),
        cmocka_unit_test(test_addresses),
    };
    const int opened = journey_open(LIBRARIES, SHIM_PATH);

    if (opened != 0)
        return opened;
    return cmocka_run_group_tests(tests, journey_setup, journey_teardown);
}

/*
 * NVML's data where drivers and boards differ: a slice of MIG, which has a
 * name, memory and processes of its own, and the longer entries of the first drivers of 535.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/telemetry.h"
#include "tests/support/gpu_shim/journey.h"
#include "tests/support/unit.h"

#define BOARD "GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf"
#define SLICE "MIG-b0b1b2b3-b4b5-b6b7-b8b9-babbbcbdbebf"

static void assert_uuid(const char *uuid)
{
    struct device_info info;
    const struct reading *reading;
    struct error err = ERROR_INIT;

    assert_int_equal(backend_device_info(journey_device->backend, 0, &info, &err), STATUS_OK);
    assert_string_equal(info.uuid, uuid);
    reading = reading_find(&info.readings, "device.uuid");
    assert_non_null(reading);
    assert_string_equal(reading->text, uuid);
    reading = reading_find(&info.readings, "device.board_uuid");
    assert_non_null(reading);
    assert_string_equal(reading->text, BOARD);
    device_info_finish(&info);
}

/* "" where the channel has a value, else why it has none. */
static void assert_channel(const struct telemetry *telemetry, const char *name, const char *reason)
{
    for (size_t i = 0; i < telemetry->channel_count; i++)
        if (strcmp(telemetry->channels[i].name, name) == 0) {
            if (reason[0] == '\0')
                assert_string_equal(telemetry->channels[i].reason, "");
            else
                assert_non_null(strstr(telemetry->channels[i].reason, reason));
            return;
        }
    fail_msg("no channel %s", name);
}

static void assert_processes(struct telemetry *telemetry)
{
    const struct reading *reading;
    struct reading_list list;

    reading_list_init(&list);
    assert_int_equal(telemetry_edges(telemetry, &list, NULL), STATUS_OK);
    reading = reading_find(&list, "device.processes");
    assert_non_null(reading);
    assert_int_equal(reading->status, READING_MEASURED);
    assert_string_equal(reading->text, "pid 4242, somebody, 536870912 bytes; "
                                       "pid 4343, name not reported (nvmlSystemGetProcessName: "
                                       "Unknown Error (6)), 268435456 bytes");
    reading_list_finish(&list);
}

static struct telemetry *open_telemetry(void)
{
    struct telemetry *telemetry = NULL;
    struct error err = ERROR_INIT;

    if (backend_telemetry_open(journey_device->backend, 0, &telemetry, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return telemetry;
}

TEST(board)
{
    struct telemetry *telemetry = open_telemetry();

    assert_uuid(BOARD);
    assert_channel(telemetry, "memory_used_bytes", "");
    assert_channel(telemetry, "busy_percent", "");
    assert_channel(telemetry, "energy_uj", "");
    assert_processes(telemetry);
    telemetry_close(telemetry);
}

/*
 * The board's power and clocks are the slice's too; the rest is read from the slice itself. The
 * board's energy is not that of the slice's work: it includes that of others.
 */
TEST(slice)
{
    struct telemetry *telemetry;

    setenv("ASSAY_SHIM_MIG", "1", 1);
    telemetry = open_telemetry();
    assert_uuid(SLICE);
    assert_channel(telemetry, "memory_used_bytes", "");
    assert_channel(telemetry, "power_mw", "");
    assert_channel(telemetry, "energy_uj", "whole board");
    assert_channel(telemetry, "busy_percent", "Not Supported");
    assert_processes(telemetry);
    telemetry_close(telemetry);
    unsetenv("ASSAY_SHIM_MIG");
}

/* The board's memory and processes are not used for a slice that NVML does not find. */
TEST(hidden_slice)
{
    const struct reading *reading;
    struct telemetry *telemetry;
    struct reading_list list;

    setenv("ASSAY_SHIM_MIG", "1", 1);
    setenv("ASSAY_SHIM_MIG_HIDDEN", "1", 1);
    telemetry = open_telemetry();
    assert_uuid(SLICE);
    assert_channel(telemetry, "memory_used_bytes", "(6)");
    assert_channel(telemetry, "power_mw", "");
    assert_channel(telemetry, "energy_uj", "whole board");
    reading_list_init(&list);
    assert_int_equal(telemetry_edges(telemetry, &list, NULL), STATUS_OK);
    reading = reading_find(&list, "device.processes");
    assert_non_null(reading);
    assert_int_not_equal(reading->status, READING_MEASURED);
    assert_non_null(strstr(reading->reason, "(6)"));
    reading_list_finish(&list);
    telemetry_close(telemetry);
    unsetenv("ASSAY_SHIM_MIG_HIDDEN");
    unsetenv("ASSAY_SHIM_MIG");
}

TEST(longer_entries)
{
    struct telemetry *telemetry;

    setenv("ASSAY_SHIM_NVML_535", "1", 1);
    telemetry = open_telemetry();
    assert_processes(telemetry);
    telemetry_close(telemetry);
    unsetenv("ASSAY_SHIM_NVML_535");
}

int main(void)
{
    const int opened = journey_open(LIBRARIES, SHIM_PATH);

    if (opened != 0)
        return opened;
    return unit_run(journey_setup, journey_teardown);
}

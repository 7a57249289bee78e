/* What is checked on a device: what its backend reported, and what its telemetry reports now. */
#include "harness/core/member.h"
#include "harness/runner/doctor_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/telemetry.h"
#include "harness/core/text.h"
#include "harness/runner/telemetry_child.h"
#include "harness/runner/telemetry_watch.h"

#define INTERVAL_NS 100000000
#define LOOK_NS 3000000000 /* at most; opening a vendor's library takes most of a second */

/* The newest value of a channel; false when it has none. */
static bool newest(const struct telemetry_log *log, const char *name, int64_t *ret)
{
    for (size_t i = 0; i < log->channel_count; i++) {
        if (strcmp(member_text(json_array_get(log->channels, i), "name"), name))
            continue;
        for (size_t row = log->row_count; row-- > 0;) {
            *ret =
                log->rows[row * (TELEMETRY_ROW_HEAD + log->channel_count) + TELEMETRY_ROW_HEAD + i];
            if (*ret != TELEMETRY_MISSING)
                return true;
        }
    }
    return false;
}

/* Names of the bits that are set: "power, thermal". */
static void append_bits(struct text *out, const struct telemetry_log *log, const char *name,
                        int64_t mask)
{
    for (size_t i = 0; i < log->channel_count; i++) {
        const json_t *channel = json_array_get(log->channels, i);
        const json_t *bits = json_object_get(channel, "bits");

        if (strcmp(member_text(channel, "name"), name))
            continue;
        for (size_t bit = 0; bit < 63; bit++) {
            const char *word = json_string_value(json_array_get(bits, bit));

            if (!(mask >> bit & 1) || (word && strstr(word, "idle")))
                continue; /* an idle device lowers its clock: that is no finding */
            if (word)
                text_append_format(out, "%s%s", out->length ? ", " : "", word);
            else
                text_append_format(out, "%sbit %zu", out->length ? ", " : "", bit);
        }
    }
}

/* By the backend; a device through OpenCL may be of any vendor. */
static const char *by_vendor(const struct doctor *doctor, const char *nvidia, const char *amd,
                             const char *either)
{
    return !strncmp(doctor->device, "cuda", 4)  ? nvidia
           : !strncmp(doctor->device, "hip", 3) ? amd
                                                : either;
}

static void check_throttling(struct doctor *doctor, const struct telemetry_log *log)
{
    struct text reasons;
    int64_t mask;

    if (!newest(log, "throttle_reasons", &mask)) {
        doctor_cannot_know(doctor, FINDING_DEVICE_THROTTLING,
                           "the device does not report throttle reasons");
        return;
    }
    text_init(&reasons);
    append_bits(&reasons, log, "throttle_reasons", mask);
    if (reasons.length > 0)
        doctor_find(doctor, FINDING_DEVICE_THROTTLING, false,
                    by_vendor(doctor,
                              "look at its cooling and power limit: nvidia-smi -q -d "
                              "PERFORMANCE,POWER",
                              "look at its cooling and power limit: amd-smi metric",
                              "look at its cooling and power limit"),
                    "now: %s", reasons.data);
    else
        doctor_pass(doctor, FINDING_DEVICE_THROTTLING, "none now");
    text_finish(&reasons);
}

static void check_heat(struct doctor *doctor, const struct telemetry_log *log,
                       const struct reading_list *reported)
{
    int64_t now, limit = doctor_integer(reported, "device.temperature_slowdown");

    if (!newest(log, "temperature_mc", &now) || limit <= 0)
        doctor_cannot_know(doctor, FINDING_DEVICE_HEAT,
                           "the device does not report temperature and limit");
    else if (limit - now < 10000)
        doctor_find(doctor, FINDING_DEVICE_HEAT, false, NULL, "%.0f degrees, it slows down at %.0f",
                    (double)now / 1000, (double)limit / 1000);
    else
        doctor_pass(doctor, FINDING_DEVICE_HEAT, "%.0f degrees, it slows down at %.0f",
                    (double)now / 1000, (double)limit / 1000);
}

static void check_reported(struct doctor *doctor, const struct reading_list *reported)
{
    const char *processes = doctor_text(reported, "device.processes", NULL);
    const char *ecc = doctor_text(reported, "device.memory_ecc", NULL);
    int64_t persistence = doctor_integer(reported, "device.persistence");
    int64_t width = doctor_integer(reported, "device.pcie_width");
    int64_t width_max = doctor_integer(reported, "device.pcie_width_max");

    if (!processes)
        doctor_cannot_know(doctor, FINDING_DEVICE_PROCESSES,
                           "the device does not report which processes use it");
    else if (strcmp(processes, "none"))
        doctor_find(doctor, FINDING_DEVICE_PROCESSES, false,
                    by_vendor(doctor, "end them: nvidia-smi lists them",
                              "end them: amd-smi process lists them", "end them"),
                    "%s", processes);
    else
        doctor_pass(doctor, FINDING_DEVICE_PROCESSES, "none");
    if (ecc && !strcmp(ecc, "no"))
        doctor_find(doctor, FINDING_DEVICE_ECC, false,
                    by_vendor(doctor, "where the device has it: sudo nvidia-smi -e 1, then restart",
                              "where the device has it: boot with amdgpu.ras_enable=1",
                              "where the device has it, turn it on by the vendor's tool"),
                    "off");
    else if (ecc && !strcmp(ecc, "yes"))
        doctor_pass(doctor, FINDING_DEVICE_ECC, "on");
    else
        doctor_cannot_know(doctor, FINDING_DEVICE_ECC,
                           "the device does not report it, or has none");
    if (persistence == 0)
        doctor_find(doctor, FINDING_DEVICE_PERSISTENCE, false, NULL, "off");
    else if (persistence > 0)
        doctor_pass(doctor, FINDING_DEVICE_PERSISTENCE, "on");
    if (width > 0 && width_max > 0 && width < width_max)
        doctor_find(doctor, FINDING_DEVICE_PCIE, false, NULL, "%" PRId64 " of %" PRId64 " lanes",
                    width, width_max);
    else if (width > 0)
        doctor_pass(doctor, FINDING_DEVICE_PCIE, "%" PRId64 " lanes", width);
}

static void merge(struct reading_list *into, const json_t *readings)
{
    struct reading_list list;

    if (!readings || reading_list_from_json(readings, &list, NULL) != STATUS_OK)
        return;
    for (size_t i = 0; i < list.count; i++) {
        const struct reading *r = &list.items[i];

        if (r->status != READING_MEASURED && r->status != READING_DECLARED)
            continue;
        if (r->type == READING_TEXT)
            reading_add_text(into, r->name, r->text, r->source);
        else if (r->type == READING_INTEGER)
            reading_add_integer(into, r->name, r->integer, r->unit, r->source);
    }
    reading_list_finish(&list);
}

void doctor_check_device(struct doctor *doctor, const json_t *device)
{
    const char *spec = member_text(device, "spec");
    struct telemetry_watch_options options = {.part = spec, .interval_ns = INTERVAL_NS};
    struct telemetry_watch watch;
    struct telemetry_log log;
    struct reading_list reported;
    struct error err = ERROR_INIT;
    char check[128];

    /* A processor is checked as the host. */
    if (!strcmp(member_text(device, "type"), "cpu") && strncmp(spec, "null", 4))
        return;
    snprintf(check, sizeof(check), "%s telemetry", spec);
    if (telemetry_watch_start(&options, &watch, &err) != STATUS_OK) {
        doctor_cannot_check(doctor, check, err.message);
        return;
    }
    telemetry_watch_wait(&watch, LOOK_NS);
    if (telemetry_watch_stop(&watch, INTERVAL_NS, &log, &err) != STATUS_OK) {
        doctor_cannot_check(doctor, check, err.message);
        return;
    }
    if (log.status != STATUS_OK)
        doctor_cannot_check(doctor, check, log.message);
    doctor->device = spec;
    reading_list_init(&reported);
    merge(&reported, json_object_get(device, "readings"));
    merge(&reported, log.begin);
    merge(&reported, log.end);
    if (log.status == STATUS_OK) {
        check_throttling(doctor, &log);
        check_heat(doctor, &log, &reported);
    }
    check_reported(doctor, &reported);
    doctor->device = NULL;
    reading_list_finish(&reported);
    telemetry_log_finish(&log);
}

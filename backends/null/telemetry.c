#include "backends/null/telemetry.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "backends/backend.h"
#include "backends/null/plan.h"
#include "harness/core/clock.h"
#include "harness/core/text.h"

enum { POWER, ENERGY, CLOCK, THROTTLE, MEMORY_CLOCK, CHANNELS };

static const char *const throttle_bits[] = {"power", "thermal", NULL};

static const struct telemetry_channel channels[CHANNELS] = {
    [POWER] = {"power_mw", "ASSAY_NULL power_mw", "", TELEMETRY_GAUGE, 0, NULL},
    [ENERGY] = {"energy_uj", "ASSAY_NULL power_mw", "", TELEMETRY_COUNTER, 0, NULL},
    [CLOCK] = {"clock_core_khz", "ASSAY_NULL clock_khz", "", TELEMETRY_GAUGE, 0, NULL},
    [THROTTLE] = {"throttle_reasons", "ASSAY_NULL throttle", "", TELEMETRY_MASK, 0, throttle_bits},
    [MEMORY_CLOCK] = {"clock_memory_khz", "ASSAY_NULL", "a null device has no memory clock",
                      TELEMETRY_GAUGE, 0, NULL},
};

struct null_telemetry {
    struct telemetry base;
    struct telemetry_channel channels[CHANNELS];
    const struct null_plan *plan;
    struct null_progress progress;
    int64_t opened_ns;
};

static struct null_telemetry *self_of(struct telemetry *telemetry)
{
    return (struct null_telemetry *)telemetry;
}

/* The integral of the declared power since the machine's start, so that all processes agree. */
static int64_t energy_uj(const struct null_plan *plan, double s)
{
    double uj = ((double)plan->power_mw * s + plan->power_ramp * s * s / 2) * 1000;

    if (plan->energy_stuck)
        return 123456;
    if (plan->energy_wraps_at > 0)
        uj = fmod(uj, (double)plan->energy_wraps_at);
    return (int64_t)uj;
}

static enum status read_values(struct telemetry *base, int64_t *values, struct error *err)
{
    struct null_telemetry *self = self_of(base);
    const struct null_plan *plan = self->plan;
    int64_t now_ns = clock_monotonic_ns();
    double s = (double)now_ns / 1e9;
    bool throttled = plan->throttle && now_ns - self->opened_ns >= plan->throttle_after_ns;

    if (null_progress_fault(&self->progress, NULL_FAULT_TELEMETRY_HANG))
        for (;;)
            pause();
    if (null_progress_fault(&self->progress, NULL_FAULT_TELEMETRY_CRASH))
        raise(SIGSEGV);
    if (null_progress_fault(&self->progress, NULL_FAULT_TELEMETRY_READ))
        return error_set(err, STATUS_DEVICE,
                         "null: telemetry_read failed (a fault that ASSAY_NULL asked for)");
    values[POWER] = (int64_t)((double)plan->power_mw + plan->power_ramp * s);
    values[ENERGY] = energy_uj(plan, s);
    values[CLOCK] =
        (int64_t)(throttled && plan->clock_drop_khz ? plan->clock_drop_khz : plan->clock_khz);
    values[THROTTLE] = throttled ? (int64_t)plan->throttle : 0;
    values[MEMORY_CLOCK] = TELEMETRY_MISSING;
    return STATUS_OK;
}

static enum status read_edges(struct telemetry *base, struct reading_list *ret, struct error *err)
{
    const struct null_plan *plan = self_of(base)->plan;

    struct text strangers;

    (void)err;
    text_init(&strangers);
    for (uint64_t i = 1; i <= (uint64_t)plan->foreign; i++)
        text_append_format(&strangers, "%spid %d, a declared stranger, 4096 bytes",
                           i > 1 ? "; " : "", (int)i);
    reading_add_text(ret, "device.processes",
                     plan->foreign == 0 || !text_ok(&strangers) ? "none" : strangers.data,
                     "ASSAY_NULL foreign");
    text_finish(&strangers);
    reading_add_missing(ret, "device.memory_ecc", READING_NOT_APPLICABLE, "null",
                        "a null device has no memory of its own");
    return STATUS_OK;
}

static enum status dump(struct telemetry *base, char **ret, struct error *err)
{
    const struct null_plan *plan = self_of(base)->plan;
    char *words =
        text_format("null telemetry\n  power_mw %llu\n  clock_khz %llu\n",
                    (unsigned long long)plan->power_mw, (unsigned long long)plan->clock_khz);

    if (words == NULL)
        return error_no_memory(err);
    *ret = words;
    return STATUS_OK;
}

static void close_telemetry(struct telemetry *base)
{
    free(self_of(base));
}

static const struct telemetry_ops ops = {
    .read = read_values, .edges = read_edges, .dump = dump, .close = close_telemetry};

enum status null_telemetry_open(struct backend *backend, uint32_t index, struct telemetry **ret,
                                struct error *err)
{
    const struct null_plan *plan = backend->state;
    struct null_telemetry *self;

    (void)index;
    if (!plan->has_power)
        return error_set(err, STATUS_UNAVAILABLE,
                         "null: ASSAY_NULL declares no telemetry (it has no power_mw)");
    self = calloc(1, sizeof(*self));
    if (self == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < CHANNELS; i++)
        self->channels[i] = channels[i];
    self->channels[ENERGY].wraps_at = plan->energy_wraps_at;
    self->base = (struct telemetry){&ops, self->channels, CHANNELS};
    self->plan = plan;
    self->opened_ns = clock_monotonic_ns();
    null_progress_init(&self->progress, plan);
    if (null_progress_fault(&self->progress, NULL_FAULT_TELEMETRY_OPEN)) {
        free(self);
        return error_set(err, STATUS_DEVICE,
                         "null: telemetry_open failed (a fault that ASSAY_NULL asked for)");
    }
    *ret = &self->base;
    return STATUS_OK;
}

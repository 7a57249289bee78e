/*
 * telemetry - what a backend can report about a device during a measurement: power, energy, clocks,
 * temperatures, throttle reasons. It is sampled by a process of the harness that never opens the
 * device for work, through the vendor's management library (NVML, AMD SMI), so the worker is not
 * affected.
 *
 * A value that a device does not have is TELEMETRY_MISSING with the channel's reason, never 0.
 */
#ifndef ASSAY_BACKENDS_TELEMETRY_H
#define ASSAY_BACKENDS_TELEMETRY_H

#include <stddef.h>
#include <stdint.h>

#include "harness/core/reading.h"
#include "harness/core/status.h"

#define TELEMETRY_MISSING INT64_MIN
#define TELEMETRY_WORD_MAX 96

struct backend;

enum telemetry_kind {
    TELEMETRY_GAUGE,   /* a value at this moment: power_mw, clock_sm_khz, temperature_mc */
    TELEMETRY_COUNTER, /* only grows, may wrap at `wraps_at`: energy_uj */
    TELEMETRY_MASK,    /* bits with names in `bits`: throttle_reasons */
};

struct telemetry_channel {
    char name[TELEMETRY_WORD_MAX];   /* with its unit: "power_mw"; power_instant_mw and
                                        power_average_mw are different channels */
    char source[TELEMETRY_WORD_MAX]; /* call or file: "nvmlDeviceGetTotalEnergyConsumption" */
    char reason[TELEMETRY_WORD_MAX]; /* why there is no value; "" when there is */
    enum telemetry_kind kind;
    uint64_t wraps_at;       /* counter: value after which it begins at 0; 0: never */
    const char *const *bits; /* mask: name of bit i, NULL-terminated; NULL where unknown */
};

struct telemetry;

struct telemetry_ops {
    /* Fills values[i] for each channel; TELEMETRY_MISSING where it could not be read this time. */
    enum status (*read)(struct telemetry *telemetry, int64_t *values, struct error *err);
    /*
     * Optional: what stays the same or changes seldom, for the edges of a window: power limit, ECC
     * counts, clocks policy, PCIe generation and width, processes of others on the device.
     */
    enum status (*edges)(struct telemetry *telemetry, struct reading_list *ret, struct error *err);
    /*
     * Optional: everything the vendor's tool or library reports, unchanged, for keeping; heap.
     */
    enum status (*dump)(struct telemetry *telemetry, char **ret, struct error *err);
    void (*close)(struct telemetry *telemetry);
};

/* Implementations embed this as their first member and fill it in telemetry_open. */
struct telemetry {
    const struct telemetry_ops *ops;
    struct telemetry_channel *channels; /* the implementation's, until close */
    size_t channel_count;
};

/*
 * Telemetry of device `index` of `backend`. UNAVAILABLE when the backend or the machine has none,
 * with what was tried. `read` may be called from one thread.
 */
enum status backend_telemetry_open(struct backend *backend, uint32_t index, struct telemetry **ret,
                                   struct error *err);
enum status telemetry_read(struct telemetry *telemetry, int64_t *values, struct error *err);
/* Empty lists where the backend has no such hook. */
enum status telemetry_edges(struct telemetry *telemetry, struct reading_list *ret,
                            struct error *err);
/* UNAVAILABLE where there is none. */
enum status telemetry_dump(struct telemetry *telemetry, char **ret, struct error *err);
void telemetry_close(struct telemetry *telemetry); /* takes NULL */

#endif

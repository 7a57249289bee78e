/*
 * synthetic_campaign - a store with made-up results, for tests of what reads a store.
 *
 * Nothing here was measured: times come from seeded random numbers, devices and libraries are
 * invented. Written through the store's public functions alone, so that readers are tested against
 * rows as of a real campaign. The same options give the same rows.
 */
#ifndef ASSAY_TESTS_SUPPORT_SYNTHETIC_CAMPAIGN_H
#define ASSAY_TESTS_SUPPORT_SYNTHETIC_CAMPAIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/status.h"
#include "results/store/store.h"

/* What a cell's trials look like. */
enum synthetic_shape {
    SYNTHETIC_WARMUP, /* settles after a slower start; one trial crashed and was tried again */
    SYNTHETIC_FLAT,   /* steady, fits in cache */
    SYNTHETIC_STAGES, /* a training step with stages and device times */
    SYNTHETIC_DRIFT,  /* never settles */
    SYNTHETIC_BROKEN, /* no trial ended well: a check failed, a time-out, a device lost */
    SYNTHETIC_SHAPES
};

enum synthetic_estimates {
    SYNTHETIC_NONE,
    SYNTHETIC_ANALYSED, /* by analysis_estimate_cell */
    SYNTHETIC_DECLARED  /* fixed here, so that they stay when the analysis changes */
};

struct synthetic_options {
    const char *uid;         /* 64 hex digits; NULL: a fixed one */
    const char *protocol;    /* "standard" or "quick" */
    const char *device_name; /* NULL: an invented one */
    const char *workload;    /* name of every workload; NULL: one that fits the shape */
    const char *library;     /* path of a mapped library, added to the invented ones; NULL: none */
    const char *message;     /* reason of failures; NULL: an invented one */
    bool simulated;
    size_t cells;           /* shapes repeat when there are more */
    size_t trials, samples; /* per cell, per trial */
    enum synthetic_estimates estimates;
    uint64_t seed;
};
struct synthetic_options synthetic_options_default(void);

/* Adds one campaign; `ret_cells` has room for options->cells row ids. */
enum status synthetic_campaign_add(struct store *store, const struct synthetic_options *options,
                                   int64_t *ret_cells, struct error *err);

#endif

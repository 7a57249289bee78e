/*
 * result - stored results: a cell of a campaign each (a workload on a device, under a protocol),
 * with its trials and their samples.
 */
#ifndef ASSAY_RESULT_H
#define ASSAY_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/estimate.h>
#include <assay/store.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_results;

struct assay_device {
    const char *spec;    /* "opencl:0", as commands take it */
    const char *backend; /* "opencl" */
    const char *name, *vendor, *uuid;
    const char *type; /* "gpu", "cpu" ... */
    bool simulated;   /* its timings are no measurement */
};

struct assay_result {
    const char *id; /* "9f2c41aa/3" */
    const char *workload, *kind, *precision, *scenario, *implementation;
    int64_t batch; /* -1: not known */
    const char *protocol;
    const char *arm;     /* "a" or "b" of a paired campaign; NULL: it is none */
    const char *program; /* that measured in place of assay's own worker; NULL: none */
    const char *state;   /* the verdict as it is shown, or why there is none: "steady", "imported",
                            "running", "incomplete" ... */
    int64_t created_utc_ns;
    uint64_t trials_planned, trials_ended, trials_ok;
    const struct assay_device *device;
    const struct assay_estimate *estimate; /* NULL: none */
};

/* One attempt at a planned trial. */
struct assay_trial {
    int64_t row;        /* its key in the database */
    int64_t number;     /* of the planned ones, from 1 */
    const char *status; /* how it ended: a name of enum assay_status, or "no_end" */
    const char *message;
    int64_t started_utc_ns;
    int64_t samples, window_first; /* of "wall_ns", and the first of the window; -1: not known */
    int64_t iterations_per_sample;
};

struct assay_filter {
    size_t size;
    const char *campaign; /* the start of its identifier, or "last" */
    const char *workload, *precision, *protocol, *verdict; /* exact */
    const char *device;    /* exact "opencl:0", or a part of the name */
    int64_t since_utc_ns;  /* campaigns of then or later */
    bool archived;         /* those of archived campaigns, too */
    int64_t limit, offset; /* limit 0: all */
};
#define ASSAY_FILTER_INIT                                                                          \
    {                                                                                              \
        sizeof(struct assay_filter), NULL, NULL, NULL, NULL, NULL, NULL, 0, false, 0, 0            \
    }

/*
 * Lists results, newest campaign first. `filter` may be NULL: all that are not archived. NOT_FOUND:
 * no such campaign. Free with assay_results_free, before the store is closed.
 */
enum assay_status assay_results_list(struct assay_store *store, const struct assay_filter *filter,
                                     struct assay_results **ret);
void assay_results_free(struct assay_results *results);

/* The i-th; NULL past the last. */
const struct assay_result *assay_results_at(const struct assay_results *results, size_t i);
/* The n-th attempt of the i-th, in the order in which they ran; NULL past the last. */
const struct assay_trial *assay_results_trial(const struct assay_results *results, size_t i,
                                              size_t n);

/*
 * All that is stored of a result as JSON, in the form that `assay schema show show` describes. Free
 * with assay_free. NOT_FOUND; INVALID: no id, or of several.
 */
enum assay_status assay_result_json(struct assay_store *store, const char *id, char **ret);

struct assay_samples {
    const double *values; /* NAN where telemetry could not be read */
    const double *at_ns;  /* when, since the trial's start; NULL: one after the other */
    size_t count;
    const char *unit; /* "ns"; of telemetry the end of the channel's name, "mw", "mhz" ... */
};

/*
 * A series of an ended trial, in order: "wall_ns" (a sample is `iterations_per_sample` iterations;
 * those before `window_first` are warmup), "gap_ns", "device_ns", or "telemetry:PART.CHANNEL", as
 * "telemetry:device.power_mw". NOT_FOUND: it has no such series; CORRUPT. Free with
 * assay_samples_free.
 */
enum assay_status assay_samples_load(struct assay_store *store, const struct assay_trial *trial,
                                     const char *series, struct assay_samples **ret);
void assay_samples_free(struct assay_samples *samples);

#ifdef __cplusplus
}
#endif

#endif

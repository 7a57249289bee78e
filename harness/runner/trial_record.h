/* trial_record - what one trial leaves in the store: its beginning, and a record at its end. */
#ifndef ASSAY_RUNNER_TRIAL_RECORD_H
#define ASSAY_RUNNER_TRIAL_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "harness/core/process.h"
#include "harness/core/status.h"
#include "harness/runner/maps.h"
#include "harness/runner/message.h"
#include "harness/runner/stack_files.h"
#include "harness/runner/telemetry_watch.h"
#include "protocols/conduct.h"
#include "results/store/store.h"

struct trial_request;

#define TRIAL_SERIES_MAX 32

struct trial_series {
    char name[MESSAGE_NAME_MAX];
    uint64_t count;
    int64_t total; /* of the values that could be had */
    /* The same when the window began, and the first value after it. */
    uint64_t count_before;
    int64_t total_before, first_within;
};

/* Files that a worker has mapped or reported. */
struct trial_files {
    struct maps_list list;
    struct store_component *components; /* the same, described; heap; NULL: not yet */
};

struct trial_record {
    struct store *store;
    struct maps_cache *cache;
    int64_t trial;      /* its row */
    int64_t started_ns; /* CLOCK_MONOTONIC */
    bool batch_open;
    struct trial_series series[TRIAL_SERIES_MAX];
    size_t series_count;
    size_t checks_failed;
    bool has_device;                     /* as the worker reports */
    bool saw_start, saw_window;          /* syncs */
    struct conduct conduct;              /* as far as it is known by now */
    struct trial_files at_start, at_end; /* of the window */
    struct stack_files reported;         /* by the worker, in addition to what it maps */
    const char *root;                    /* the worker's root directory; NULL: the same */
    json_t *facts;
    struct conduct_samples window_walls; /* of wall_ns, since the window began */
    int64_t iterations_per_sample, window_first;
};

/* Begins the trial in the store, with the surroundings before it. */
enum status trial_record_begin(struct trial_record *record, const struct trial_request *request,
                               struct error *err);

/*
 * Hands a device, phase, artifact, check, samples or facts message to the store, which keeps them
 * in memory until the trial's end. PROTOCOL: the message breaks a rule (a gap in a series, say).
 */
enum status trial_record_message(struct trial_record *record, const struct message *message,
                                 struct error *err);

/* What the worker sent, once it says that it has ended: fills the rest of `conduct`. */
void trial_record_conduct(struct trial_record *record);

/* INVALID: "stack: ", and which of its files is another than `first`, the cell's first trial, had.
 */
enum status trial_record_same_stack(struct trial_record *record, const json_t *first,
                                    struct error *err);

/* Makes durable what was stored so far. */
enum status trial_record_commit(struct trial_record *record, struct error *err);

/* Notes which files the worker has mapped now. `at` is the sync's name. */
enum status trial_record_mapped(struct trial_record *record, const char *at, pid_t pid,
                                struct error *err);

/* Stores what was sampled during it as `part`, "host" or "device". */
enum status trial_record_telemetry(struct trial_record *record, const char *part,
                                   const struct telemetry_log *log, struct error *err);

/* Samples stored of a series so far. */
uint64_t trial_record_samples(const struct trial_record *record, const char *series);

/* Stores the libraries, the surroundings after, and the end. */
enum status trial_record_end(struct trial_record *record, enum status status, const char *message,
                             const struct process_exit *exit, struct error *err);

/* Frees; rolls back a transaction that is still open. */
void trial_record_finish(struct trial_record *record);

#endif

/* worker_internal - what worker.c (a trial's life) and worker_measure.c (its samples) share. */
#ifndef ASSAY_RUNNER_WORKER_INTERNAL_H
#define ASSAY_RUNNER_WORKER_INTERNAL_H

#include "harness/core/random.h"
#include "harness/runner/sampler.h"
#include "harness/runner/worker_link.h"
#include "protocols/protocol.h"
#include "workloads/reference_loop.h"
#include "workloads/workload.h"

#define WORKER_STEP_SERIES 5
#define UNCHANGED_KEPT 1024
#define SPOT_OUTPUTS_MAX 512 /* outputs of a workload that its spot checks name */

/* What all spot checks of the window found of an output. */
struct spot_output {
    char *output, *metric, *reason; /* heap */
    double error, tolerance;        /* of the worst */
    uint64_t compared;
    bool passed;
};

/* Everything one trial holds. */
struct worker {
    struct worker_link link;
    struct protocol protocol;
    struct workload workload;
    struct workload_case work;
    char *device_spec;
    json_t *framework_wanted; /* that runs the work; NULL: none */
    bool tune, trace;         /* choose, or trace an iteration, and report; no trial */
    json_t *choices;          /* given; NULL: the worker chooses */
    json_t *expected;         /* of a verified trial's outputs; NULL: none */
    json_t *verified;         /* the same of this one, phase: text; NULL: none */
    struct device *device;
    struct workload_instance *instance;
    struct sampler sampler;
    struct event *start_event, *end_event;
    struct event *first_event, *last_event; /* at the window's ends */
    int64_t *device_ns;                     /* NULL: no device clock */
    int64_t *counted;                       /* COUNTED_SERIES; NULL: the work counts nothing */
    int64_t *stage_ns[WORKLOAD_STAGES_MAX]; /* NULL: no such stage */
    char stage_series[WORKLOAD_STAGES_MAX][MESSAGE_NAME_MAX];
    size_t stage_count;
    struct {
        const char *name;
        const int64_t *values;
    } steps[WORKER_STEP_SERIES]; /* of a server: one value a sample, in `server` */
    size_t step_count;
    struct reference_loop *reference; /* NULL: the protocol or the device has none */
    int64_t *reference_ns;            /* of a pass before the sample; -1: none was made */
    int64_t reference_end_ns;         /* of the latest passes */
    int64_t *read_backs; /* how late a byte of the result was; NULL: the kind has none */
    size_t read_back_count;
    struct random drawn;  /* the samples after which that is done */
    int64_t read_ns;      /* what the latest second one took; 0: none was made */
    int64_t within_count; /* in so many samples of this phase one is part of their time, */
    int64_t within_ns, within_of_ns; /* which took about so long, of so much */
    int64_t aside_ns; /* spent in its passes and in reading back, between samples of this phase */
    int64_t read_back_spent_ns;  /* the same after the latest sample */
    struct buffer *flush_buffer; /* cold cache only */
    void *flush_bytes;
    uint64_t flush_size;
    int64_t block; /* iterations per sample */
    size_t sent;   /* samples sent so far, in every series */
    int64_t last_send_ns;
    int64_t window_first;
    int64_t spot_ns;        /* in spot checks so far */
    uint64_t change_secret; /* drew the inputs of the sample that follows, where `is_changed` */
    bool is_changed;
    int64_t changed_count, changes_ns;    /* such samples of the window, and time spent for them */
    int64_t window_ns;                    /* when it began */
    int64_t unchanged_ns[UNCHANGED_KEPT]; /* the latest samples of others */
    size_t unchanged_count;               /* of all of them */
    struct spot_output *spots;
    size_t spot_count;
    struct worker_server *server;     /* worker_serve.c; NULL: the scenario is not server */
    struct worker_endpoint *endpoint; /* worker_endpoint.c; NULL: there is a device */
    const char *verify_phase;
    struct error check_error; /* of sending a check */
};

/* Sends a check of the phase `verify_phase`; a workload_check_fn, `context` is the worker. */
void worker_report_check(void *context, const struct workload_check *check);

/* Says that the phase that began at `begin_ns` is over now. */
enum status worker_send_phase(struct worker *worker, const char *name, int64_t begin_ns,
                              struct error *err);

/* The phase `window` between the two, with what other clocks say that it took. */
enum status worker_send_window(struct worker *worker, const struct clock_point *begin,
                               const struct clock_point *end, struct error *err);

/* Memory for samples, events for the device's clock, the buffer of a cold cache. */
enum status worker_prepare_series(struct worker *worker, struct error *err);

/* Fixes how many iterations make a sample. */
enum status worker_calibrate(struct worker *worker, struct error *err);

/* Warmup and window, with the syncs around the window. */
enum status worker_measure(struct worker *worker, struct error *err);

/* ---- worker_spot.c ---- */

/* Makes a spot check and says so to the harness. What it found is kept for worker_send_spots. */
enum status worker_spot_check(struct worker *worker, const struct message *message,
                              struct error *err);
/* Makes by `check` those that the harness has asked for by now, inside a window. */
enum status worker_spot_checks(struct worker *worker,
                               enum status (*check)(struct worker *, const struct message *,
                                                    struct error *),
                               struct error *err);
/*
 * Before a sample of the window, and after it: gives it other inputs (workload_change), and
 * compares what follows from them, as a spot check; CHECK_FAILED. The queue is empty.
 */
enum status worker_change_inputs(struct worker *worker, struct error *err);
enum status worker_check_changed(struct worker *worker, struct error *err);
/* After the window: an iteration of the inputs as they were. */
enum status worker_settle_inputs(struct worker *worker, struct error *err);
/* Sends, as checks, what the spot checks found: once an output. */
enum status worker_send_spots(struct worker *worker, struct error *err);
void worker_finish_spots(struct worker *worker);

/* Reports that `at` is reached and waits for go; makes the spot checks that come before it. */
enum status worker_sync(struct worker *worker, const char *at, struct error *err);

/* ---- worker_handover.c ---- */

/*
 * In place of a trial: writes the files of "write", [{"path", "secret"}], then compares those of
 * "judge", [{"phase", "path", "secret", "iteration", "whole"}], sends the checks, and "handed_over"
 * when all passed. "secret" is not there where the inputs are the case's own.
 */
enum status worker_hand_over(struct worker *worker, const json_t *task, struct error *err);

/* ---- worker_measure.c ---- */

/* Sends what was sampled and not yet sent. */
enum status worker_send_samples(struct worker *worker, struct error *err);

#endif

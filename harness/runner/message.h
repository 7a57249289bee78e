/*
 * message - the worker protocol's messages, checked. PROTOCOL.md says what they mean and when they
 * come; this file is where a line from a worker, ours or not, is accepted or refused.
 */
#ifndef ASSAY_RUNNER_MESSAGE_H
#define ASSAY_RUNNER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"

#define WORKER_PROTOCOL_VERSION 2
#define MESSAGE_NAME_MAX 64 /* of a phase, series or point, NUL included */

#define MESSAGE_MAP(X)                                                                             \
    X(HELLO, "hello")               /* worker: I am here and speak this version */                 \
    X(TRIAL, "trial")               /* harness: what to run */                                     \
    X(DEVICE, "device")             /* worker: the device that was opened */                       \
    X(CHOICES, "choices")           /* worker: what it chose by measurement, as it was asked to */ \
    X(PHASE, "phase")               /* worker: a phase is over */                                  \
    X(ARTIFACT, "artifact")         /* worker: a kernel module was compiled */                     \
    X(CHECK, "check")               /* worker: an output was compared with its reference */        \
    X(SYNC, "sync")                 /* worker: I wait here until go */                             \
    X(GO, "go")                     /* harness: go on */                                           \
    X(SPOT_CHECK, "spot_check")     /* harness: check the next iteration */                        \
    X(SPOT_CHECKED, "spot_checked") /* worker: it was checked */                                   \
    X(HAND_OVER, "hand_over")       /* harness: write your outputs, take other inputs */           \
    X(HANDED_OVER, "handed_over")   /* worker: they are written */                                 \
    X(SAMPLES, "samples")           /* worker: samples, in order */                                \
    X(FACTS, "facts")               /* worker: choices and findings */                             \
    X(ALIVE, "alive")               /* worker: still at work */                                    \
    X(END, "end")                   /* worker: the trial is over */

enum message_type {
#define MESSAGE_ENUM(code, name) MESSAGE_##code,
    MESSAGE_MAP(MESSAGE_ENUM)
#undef MESSAGE_ENUM
        MESSAGE_TYPE_COUNT
};

/* A checked message. Strings and JSON belong to `json`. Only the members of its type are set. */
struct message {
    enum message_type type;
    json_t *json;                         /* the whole message */
    int64_t protocol;                     /* hello */
    const char *worker;                   /* hello */
    bool handover;                        /* hello: it takes files and hands its outputs over */
    int64_t iteration;                    /* handed_over: whose outputs they are, from 1 */
    const char *name;                     /* phase, samples (series), sync (point) */
    int64_t begin_ns, end_ns;             /* phase: CLOCK_MONOTONIC of this host */
    int64_t reference_ns;                 /* phase: of it, in the reference loop; -1: not told */
    int64_t read_back_ns;                 /* phase: 10th percentile; -1: not told */
    const json_t *clocks;                 /* phase: what others say that it took; NULL: nothing */
    int64_t number;                       /* spot_check, spot_checked: from 0 */
    uint64_t secret;                      /* spot_check: what draws all that is checked */
    int64_t took_ns;                      /* spot_checked: its time, iteration included */
    int64_t iteration_ns;                 /* spot_checked: of the iteration alone; -1: not known */
    uint64_t first;                       /* samples: index of the first value */
    int64_t *values;                      /* samples, heap; NULL when there are none */
    size_t count;                         /* samples */
    const json_t *body;                   /* device, artifact, choices, facts, trial: the object */
    const char *phase;                    /* check: before or after the window */
    const char *output, *metric, *reason; /* check */
    double error, tolerance;              /* check; error is NaN where the worker said null */
    uint64_t compared;                    /* check */
    bool passed;                          /* check */
    enum status status;                   /* end */
    const char *text;                     /* end: message, NULL when ok */
    int64_t iterations_per_sample, window_first, samples; /* end */
};

/* Parses and checks one line. PROTOCOL: says what is wrong with it. Finish with message_finish. */
enum status message_parse(const char *line, size_t length, struct message *ret, struct error *err);
void message_finish(struct message *message);

const char *message_type_name(enum message_type type);

/* Builders of the messages, new references; NULL when out of memory. */
json_t *message_new(enum message_type type);
json_t *message_new_phase(const char *name, int64_t begin_ns, int64_t end_ns);
json_t *message_new_samples(const char *series, uint64_t first, const int64_t *values,
                            size_t count);

#endif

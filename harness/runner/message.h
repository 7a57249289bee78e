/*
 * message - the worker protocol's messages. PROTOCOL.md says what they mean and when they come;
 * this file is where a line from a worker, ours or not, is accepted or refused. Each type of
 * message is a table of its members in message.c (core/type.h), by which it is written and read.
 */
#ifndef ASSAY_RUNNER_MESSAGE_H
#define ASSAY_RUNNER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "harness/runner/channel.h"
#include "protocols/conduct.h"
#include "results/store/store.h"

#define WORKER_PROTOCOL_VERSION 2
#define MESSAGE_NAME_MAX 64 /* of a phase, series or point, NUL included */

#define MESSAGE_MAP(X)                                                                             \
    X(HELLO, "hello")               /* worker: I am here and speak this version */                 \
    X(TRIAL, "trial")               /* harness: what to run */                                     \
    X(DEVICE, "device")             /* worker: the device that was opened */                       \
    X(CHOICES, "choices")           /* worker: what it chose by measurement, as it was asked to */ \
    X(TRACE, "trace")               /* worker: the operations of an iteration, as asked for */     \
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

/* Of the union, the member of its type. Of one that was read, texts and JSON belong to `json`; of
 * one that is sent, to its maker. */
struct message {
    enum message_type type;
    json_t *json; /* the whole message that was read */
    union {
        struct {
            int64_t protocol;
            const char *worker;
            bool handover; /* it takes files and hands its outputs over */
        } hello;
        const json_t
            *body; /* trial, device, artifact, choices, trace, facts: the object of that name */
        struct {
            const char *name;
            int64_t begin_ns, end_ns;     /* CLOCK_MONOTONIC of this host */
            struct conduct_clocks clocks; /* window: what others say that it took */
            struct conduct_report report; /* window */
        } phase;
        struct {
            int64_t number;  /* from 0 */
            uint64_t secret; /* draws all that is checked */
        } spot_check;
        struct {
            int64_t number, took_ns; /* its time, iteration included */
            int64_t iteration_ns;    /* of the iteration alone; -1: not known */
        } spot_checked;
        struct {
            int64_t number;
            const char *outputs, *inputs; /* paths */
        } hand_over;
        struct {
            int64_t number, took_ns;
            int64_t iteration; /* whose outputs they are, from 1 */
        } handed_over;
        struct {
            const char *series;
            uint64_t first;        /* index of the first value */
            const int64_t *values; /* heap where it was read; NULL when there are none */
            size_t count;
        } samples;
        const char *sync; /* the point */
        struct store_check check;
        struct {
            enum status status;
            const char *message; /* NULL when ok */
            int64_t iterations_per_sample, window_first, samples;
        } end;
    };
};

/* Parses and checks one line. PROTOCOL: says what is wrong with it. Finish with message_finish. */
enum status message_parse(const char *line, size_t length, struct message *ret, struct error *err);
void message_finish(struct message *message); /* of one that was read */

/* Writes it as one line; errors are as of channel_write_json. */
enum status message_send(struct channel *channel, const struct message *message,
                         int64_t deadline_ns, struct error *err);

const char *message_type_name(enum message_type type);

#endif

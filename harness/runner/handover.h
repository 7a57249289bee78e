/*
 * handover - the harness's part of a trial whose worker takes weights and inputs from files and
 * hands its outputs over (PROTOCOL.md, "Handover"). A process of assay's own worker writes the
 * files and compares the outputs, so that neither its memory nor its threads are the harness's.
 */
#ifndef ASSAY_RUNNER_HANDOVER_H
#define ASSAY_RUNNER_HANDOVER_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"
#include "harness/runner/message.h"
#include "protocols/protocol.h"

struct trial_request;

/* Outputs that were asked for. */
struct handover_entry {
    const char *phase; /* of their check; static */
    uint64_t secret;   /* that drew their inputs */
    bool drawn;        /* false: the inputs are the trial's own */
    int64_t iteration; /* as the worker says */
};

struct handover {
    bool active;
    char *folder;         /* of this trial's files, heap */
    char *file;           /* weights and first inputs, heap */
    struct digest digest; /* of that file */
    json_t *tensors;      /* what lies in it */
    int *inputs;          /* descriptors of the later inputs, whose files have no name */
    uint64_t *secrets;    /* that drew them */
    struct handover_entry *entries;
    int64_t capacity; /* of the three */
    int64_t asked, made, judged;
    char *outputs, next_inputs[64]; /* paths of the latest request; the first on the heap */
};

/*
 * Writes the files, the first one into the cache unless it lies there. UNSUPPORTED: the case is not
 * handed over, and the trial goes on without; other errors end it. handover_finish in any case.
 */
enum status handover_begin(struct handover *handover, const struct trial_request *request,
                           const struct protocol *protocol, struct error *err);
void handover_finish(struct handover *handover);

/* Member "handover" of the trial's message; new. */
json_t *handover_message(const struct handover *handover);

/*
 * The message that asks for the outputs of the latest iteration, for a check of that phase, and
 * hands over the inputs of the next ones; good until the next. False: no more is asked for.
 */
bool handover_ask(struct handover *handover, const char *phase, struct message *ret);
/* Takes the answer. PROTOCOL: nothing was asked, or its iteration was before the last one. */
enum status handover_take(struct handover *handover, const struct message *message,
                          struct error *err);

/* A check that was made; what it returns ends the judging. */
typedef enum status handover_check_fn(void *context, const struct message *check,
                                      struct error *err);
/* Compares what was handed over and not yet compared, and removes it. CHECK_FAILED, CORRUPT ... */
enum status handover_judge(struct handover *handover, const struct trial_request *request,
                           handover_check_fn *check, void *context, struct error *err);

#endif

/*
 * probe_child - a question that a child of this program answers, since what answers it is a
 * vendor's library, which may print, hang or end the process.
 *
 * The child's standard output is a line of JSON each: a string says where it is now ("while opening
 * libcuda.so.1"), an object or array is its answer. What libraries print is redirected.
 */
#ifndef ASSAY_RUNNER_PROBE_CHILD_H
#define ASSAY_RUNNER_PROBE_CHILD_H

#include <jansson.h>

#include "harness/core/status.h"

/*
 * Runs `assay probe QUESTION [DETAIL]` and takes its answer, a new reference. It has
 * ASSAY_PROBE_TIMEOUT (60s). An error is the child's own (UNSUPPORTED), or says how it ended, where
 * it was, and its last output: CRASHED, TIMEOUT, UNAVAILABLE after a non-zero exit status, PROTOCOL
 * when it gave no answer.
 */
enum status probe_child_ask(const char *question, const char *detail, json_t **ret,
                            struct error *err);

/*
 * Calls `ask` for each of `count` items of `size` bytes, in a thread each and all at the same time,
 * so that a child that hangs costs its own timeout only. Returns when all have returned.
 */
void probe_child_side_by_side(void (*ask)(void *item), void *items, size_t size, size_t count);

/*
 * The child's side. begin: what is printed from now on goes to standard error; each library that is
 * opened is reported as a step. answer: writes it, takes the reference, returns the exit status.
 * refuse: an error as the answer.
 */
void probe_child_begin(void);
void probe_child_step(const char *step);
int probe_child_answer(json_t *answer);
int probe_child_refuse(const struct error *error);

#endif

/*
 * generator - a process that sends the requests of a schedule, each at its time.
 *
 * It shares a piece of memory with the server, which started it: the schedule, when each request
 * was sent, and a ring of those that wait, with one writer and one reader. Neither process makes a
 * system call for the other. A request that finds the ring full is refused, and counts as such.
 * Nothing is sent before its time, and a request that is late moves no other.
 *
 * The window's clock is CLOCK_MONOTONIC since the window's start, less the pauses: while the server
 * makes a spot check the clock stands still, so that the check delays nobody. All times below are
 * of that clock.
 */
#ifndef ASSAY_RUNNER_GENERATOR_H
#define ASSAY_RUNNER_GENERATOR_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "protocols/serving/request.h"

struct generator;

/*
 * Forks the process; to be called before other threads exist and before a device is opened.
 * `queue`: requests that may wait in the ring. It waits until generator_begin.
 */
enum status generator_start(const struct schedule *schedule, uint32_t queue, struct generator **ret,
                            struct error *err);
/* Ends the process, whatever it does. Takes NULL. */
void generator_destroy(struct generator *generator);

/*
 * Before the window: locks the generator's memory and waits until that is done. With
 * `own_processor` the generator takes the last of the processors that this process may run on and
 * this thread leaves it, where there are two or more. CRASHED, TIMEOUT.
 */
enum status generator_prepare(struct generator *generator, bool own_processor, struct error *err);
/* The window starts a few milliseconds later. */
void generator_begin(struct generator *generator);

/* Now by the window's clock; negative before its start. Not while it is paused. */
int64_t generator_now_ns(const struct generator *generator);
/* A time of CLOCK_MONOTONIC, after the last pause, by the window's clock. */
int64_t generator_time_ns(const struct generator *generator, int64_t monotonic_ns);

/* Requests that wait, and the index of one of them, 0 the oldest. */
uint32_t generator_waiting(const struct generator *generator);
uint32_t generator_peek(const struct generator *generator, uint32_t place);
/* Takes the oldest `count` out. */
void generator_take(struct generator *generator, uint32_t count);

/* When a request was sent, or found the ring full; REQUEST_NEVER: not yet. */
int64_t generator_sent_ns(const struct generator *generator, uint32_t index);
bool generator_refused(const struct generator *generator, uint32_t index);
/* True when every request was sent or refused. */
bool generator_is_done(const struct generator *generator);
/* CRASHED: the process ended before that. A system call: not to be made between any two requests.
 */
enum status generator_check(struct generator *generator, struct error *err);

/* The window's clock stands still in between. */
void generator_pause(struct generator *generator);
void generator_resume(struct generator *generator);

/* {"processor", "scheduling", "locked", "pauses", "paused_ns"}: how it ran; new object. */
json_t *generator_facts(const struct generator *generator);

#endif

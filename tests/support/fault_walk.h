#ifndef TESTS_SUPPORT_FAULT_WALK_H
#define TESTS_SUPPORT_FAULT_WALK_H

#include <stdbool.h>

/**
 * Runs a scenario in which call `at` (from 1) fails, and checks what came of it; LONG_MAX: none
 * fails.
 * @param ret_calls the calls that were made
 * @return whether it came to the failing call
 */
typedef bool (*fault_inject)(void *context, long at, long *ret_calls);

/**
 * Makes calls of a scenario fail, one in each run: about `tries` of them, evenly spaced over as
 * many as a first run without a fault makes (a library's version decides how many), or each where
 * there are fewer. Ends with a run whose failing call would come after the last one. Asserts that
 * nine tenths of what was asked for was tried.
 */
void fault_walk(fault_inject inject, void *context, long tries);

#endif

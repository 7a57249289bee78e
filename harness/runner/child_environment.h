/* child_environment - the environment a worker starts with. */
#ifndef ASSAY_RUNNER_CHILD_ENVIRONMENT_H
#define ASSAY_RUNNER_CHILD_ENVIRONMENT_H

#include <stddef.h>

#include "harness/core/status.h"

/*
 * This process's environment with ASSAY_WORKER_PROTOCOL set and `changes` applied: "NAME=VALUE"
 * sets, "NAME" removes; NULL-terminated, NULL for none. Free with process_free_words.
 */
enum status child_environment_build(char *const *changes, char ***ret, struct error *err);

/*
 * Sets `count` variables ("NAME=VALUE") in a list from child_environment_build where neither the
 * list nor `changes`, which may unset one, has the name.
 */
enum status child_environment_add_defaults(char *const *changes, const char *const *defaults,
                                           size_t count, char ***list, struct error *err);

#endif

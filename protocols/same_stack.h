/*
 * same_stack - the trials of one result ran on one machine and one stack: with the same variables
 * that steer what is measured, and with the same libraries, compilers and drivers. The harness
 * refuses to mix two, `verify` finds such a result, and it compares with no other.
 */
#ifndef ASSAY_PROTOCOLS_SAME_STACK_H
#define ASSAY_PROTOCOLS_SAME_STACK_H

#include <stdbool.h>

#include <jansson.h>

#include "harness/core/status.h"

#define SAME_STACK_NAME_SIZE 300 /* of a file's name, with its end */
/* The beginning of the version of a file that has another content than its package installed; the
 * package's name and version follow. */
#define SAME_STACK_ALTERED "not as installed by "

/*
 * What a file of a stack is called whatever its version and folder: "/usr/lib/x/libpocl.so.2.10.0"
 * is "library.libpocl", "/usr/bin/as" of kind compiler "compiler.as", "nvidia.ko.xz" of kind driver
 * "driver.nvidia"; a kernel that a driver compiled is "jit.NAME". False: its path is not known.
 * `component`: {"path", "kind", "sha256", "build_id", "version"}. `*ret_value`, borrowed, is what
 * identifies its content, or NULL: it could not be read.
 */
bool same_stack_name(const json_t *component, char ret[SAME_STACK_NAME_SIZE],
                     const json_t **ret_value);

/*
 * INVALID: the trial `later` ran on another stack than `first`; the message has what differs and
 * both values. Of a trial, as store_cell_json gives it, `environment.host` and `components` are
 * looked at, where both have them: the host's name, architecture, kernel, machine, processors and
 * their model; a variable that is set otherwise or in one alone; and a file of which each has a
 * content that the other has not. A file that one alone has proves nothing (a
 * compiler is loaded where the cache is empty), nor do values that are unknown or withheld.
 * Variables of assay itself choose libraries and the compiler, or matter to no sample; who
 * measured is for the plan to say (conduct.h).
 */
enum status same_stack_check(const json_t *first, const json_t *later, struct error *err);

/* The same of a result's `trials`: each that is ok, with the first of them. */
enum status same_stack_check_all(const json_t *trials, struct error *err);

/* The first of a result's `trials` that is ok; NULL: there is none. Borrowed. */
json_t *same_stack_first(const json_t *trials);

#endif

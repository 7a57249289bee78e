/* filter - a command line that gets bytes on its standard input and answers on its output. */
#ifndef ASSAY_CORE_FILTER_H
#define ASSAY_CORE_FILTER_H

#include <stddef.h>
#include <stdint.h>

#include "harness/core/status.h"

struct filter {
    const char *command;         /* for /bin/sh -c */
    const char *const *settings; /* "NAME=value" in its environment, NULL-terminated; or NULL */
    const void *input;
    size_t length;
    int64_t timeout_ns;
    size_t max_output; /* bytes */
    int wake_fd;       /* readable: end it; -1: none */
};

/*
 * Runs the command until it ends; its standard error is that of this process. `ret` is its output
 * (heap, NUL-terminated). UNAVAILABLE: it ended with another status than 0, `ret` is set all the
 * same; TIMEOUT, INVALID: it wrote more, CRASHED, INTERRUPTED. It and what it started have been
 * ended by then.
 */
enum status filter_run(const struct filter *filter, char **ret, size_t *ret_length,
                       struct error *err);

#endif

/* trace_time - the times of a recorded trace: moments, or numbers of a unit that is declared. */
#ifndef ASSAY_PROTOCOLS_SERVING_TRACE_TIME_H
#define ASSAY_PROTOCOLS_SERVING_TRACE_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/status.h"
#include "protocols/serving/request.h"

/* How the rows so far were written. Begins with the first two members, the others zero. */
struct trace_time {
    const char *column; /* the name of the times' column */
    const char *unit;   /* "s", "ms", "us", "ns"; NULL: not declared, numbers are seconds */
    enum { TRACE_TIME_UNSEEN, TRACE_TIME_MOMENT, TRACE_TIME_NUMBER } form;
    bool has_fractions; /* a number at least has decimals */
};

/* Nanoseconds since the form's own origin; false: it is no time, or in another form than before. */
bool trace_time_parse(struct trace_time *time, const char *text, int64_t *ret_ns);

/* What was expected of a text that trace_time_parse refused, after "'TEXT' ". Static. */
const char *trace_time_expected(const struct trace_time *time, const char *text);

/*
 * INVALID, "ORIGIN: ...", where numbers without a declared unit do not look like seconds: by the
 * name of their column, or by the gaps of the `count` requests. It guesses nothing: whoever knows
 * declares the unit. NO_MEMORY.
 */
enum status trace_time_check(const struct trace_time *time,
                             const struct scheduled_request *requests, size_t count,
                             const char *origin, struct error *err);

#endif

/*
 * trace - recorded arrivals, as a CSV file has them: when a request came, and its tokens.
 *
 * Whoever measures brings the file; assay ships none.
 */
#ifndef ASSAY_PROTOCOLS_SERVING_TRACE_H
#define ASSAY_PROTOCOLS_SERVING_TRACE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"
#include "protocols/serving/request.h"

/* The names of the columns in the file's first line; others are not read. */
struct trace_columns {
    const char *time;
    const char *prompt; /* NULL: the requests have no prompt tokens (0) */
    const char *output; /* NULL: nor output tokens */
    const char *unit;   /* of times that are numbers: "s", "ms", "us", "ns"; NULL: seconds */
};

/* As recorded: the first request at 0, each with its tokens. trace_finish releases it. */
struct trace {
    struct scheduled_request *requests; /* heap */
    size_t count;
    struct digest digest; /* of schedule_digest's form: what was read, however it was written */
};

/*
 * Reads `file`, which errors call `origin`. A time is a moment ("2023-11-16 18:17:03.9799600", with
 * T, Z or +00:00 as well; digits beyond nanoseconds are cut) or a number from any origin ("12.25"),
 * of seconds unless `columns` has another unit, the same form in every row. Numbers without a
 * declared unit that do not look like seconds are refused (trace_time_check). INVALID with
 * "ORIGIN:LINE: ..." where a column is missing, a time cannot be read or is before the one above
 * it, a request has no tokens (no prompt or no output, where those columns are named) or more than
 * TRACE_TOKENS_MAX, and beyond SCHEDULE_COUNT_MAX requests; INVALID for an empty trace and for one
 * whose requests all came at once. NO_MEMORY, IO.
 */
#define TRACE_TOKENS_MAX 100000000
enum status trace_read(FILE *file, const char *origin, const struct trace_columns *columns,
                       struct trace *ret, struct error *err);

/* Leaves the first `count` requests alone; INVALID: there are fewer, or all came at once. */
enum status trace_cut(struct trace *trace, size_t count, struct error *err);

/*
 * As it is stored: {"at_ns":[..],"prompt_tokens":[..],"output_tokens":[..]}, the requests in their
 * order. NULL: no memory. And back: INVALID for what trace_read would refuse.
 */
json_t *trace_to_json(const struct trace *trace);
enum status trace_from_json(const json_t *json, struct trace *ret, struct error *err);

/* Releases what trace_read filled or zeros; NULL is fine. */
void trace_finish(struct trace *trace);

#endif

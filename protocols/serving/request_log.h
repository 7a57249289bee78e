/*
 * request_log - requests and steps as the series of a trial's record: whole numbers, one value a
 * request (request:...) or a sample (step:...).
 */
#ifndef ASSAY_PROTOCOLS_SERVING_REQUEST_LOG_H
#define ASSAY_PROTOCOLS_SERVING_REQUEST_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/status.h"
#include "protocols/serving/request.h"

/*
 * X(series, member): names of the series, and of a request's members. A time that did not happen is
 * -1. The status is its number in enum request_status.
 */
#define REQUEST_COLUMN_MAP(X)                                                                      \
    X("request:scheduled_ns", scheduled_ns)                                                        \
    X("request:sent_ns", sent_ns)                                                                  \
    X("request:admitted_ns", admitted_ns)                                                          \
    X("request:first_ns", first_ns)                                                                \
    X("request:done_ns", done_ns)                                                                  \
    X("request:worst_gap_ns", worst_gap_ns)                                                        \
    X("request:prompt_tokens", prompt_tokens)                                                      \
    X("request:output_tokens", output_tokens)                                                      \
    X("request:status", status)

/* Of endpoints, whose output comes in pieces; logs of assay 0.2.0 and before lack them. */
#define REQUEST_PIECE_MAP(X)                                                                       \
    X("request:outputs", outputs)                                                                  \
    X("request:first_outputs", first_outputs)                                                      \
    X("request:is_told", is_told)

#define REQUEST_COLUMNS 9      /* that every log has: the first */
#define REQUEST_COLUMNS_ALL 12 /* and those of pieces */
extern const char *const request_columns[REQUEST_COLUMNS_ALL];

/* Whether a series is one value a request, not one a sample. */
bool request_is_column(const char *series);

/* Whether it is one of those that every log has. */
bool request_is_demanded(const char *series);

/* A column's value of a request, as it is stored; and back: false where no request has it. */
int64_t request_column(const struct request *request, size_t column);
bool request_set_column(struct request *request, size_t column, int64_t value);

/*
 * Whether the log can be of one server: times in order (scheduled <= sent <= admitted <= first <=
 * done), members there that the status demands and no others, no more pieces than tokens nor with
 * the first than in all, and every request that was admitted
 * in steps: the sum of the batches is the number of outputs that arrived, and every output's time
 * is a step's end. `steps` may be empty (an endpoint): then only the former. INVALID, naming the
 * request.
 */
enum status request_log_audit(const struct request *requests, size_t count,
                              const struct serving_step *steps, size_t step_count,
                              struct error *err);

#endif

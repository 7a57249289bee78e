/* exchange - one request and its answer, on a handle that is used again for the next. */
#ifndef ASSAY_ENDPOINT_EXCHANGE_H
#define ASSAY_ENDPOINT_EXCHANGE_H

#include "harness/core/text.h"
#include "harness/endpoint/client.h"
#include "harness/endpoint/event.h"
#include "harness/endpoint/sse.h"

#define EXCHANGE_KEPT 640 /* bytes of an answer that is no stream, for the example */

struct exchange {
    const struct client *client;
    struct endpoint_stats *stats;
    int64_t start_ns; /* of the window, CLOCK_MONOTONIC */
    CURL *handle;
    struct sse sse;
    struct text body; /* what is sent */

    /* Of the request under way: */
    struct request *request;
    uint32_t asked;   /* output tokens */
    int64_t begun_ns; /* when its attempt began, at its time at the earliest */
    int64_t now_ns;   /* when what is being read had arrived */
    int64_t last_ns;  /* last event with output */
    uint32_t outputs; /* events with output, and those of them that came with the first */
    uint32_t first_outputs;
    uint64_t output_bytes;  /* of their text */
    bool has_blank_first;   /* the first has nothing to see in it */
    bool has_other_outputs; /* some are no text */
    uint64_t events, header_bytes, body_bytes;
    uint32_t sends;
    bool is_stream; /* HTTP 200 and an event stream */
    bool is_ended, has_usage;
    char finish[EVENT_REASON_SIZE]; /* finish_reason, if no output followed it; "": none */
    uint32_t usage_prompt, usage_output;
    char why[REASON_SIZE]; /* ended by assay itself; "": not */
    char kept[EXCHANGE_KEPT];
    size_t kept_length;
    char curl_error[CURL_ERROR_SIZE];
};

/* Takes a zeroed one; exchange_finish after failure, too. */
enum status exchange_init(struct exchange *ret, const struct client *client,
                          struct endpoint_stats *stats, int64_t start_ns, struct error *err);
void exchange_finish(struct exchange *exchange);

/*
 * Makes the handle ready to send `body`, which it takes in exchange for its last one; the caller
 * adds it to a multi handle. `request` has its scheduled_ns and prompt_tokens.
 */
void exchange_begin(struct exchange *exchange, struct request *request, uint32_t asked,
                    struct text *body);

/* Writes down how it ended; the caller has taken the handle out of its multi handle, or will. */
void exchange_end(struct exchange *exchange, CURLcode code);

/* The same where the drain is over. */
void exchange_abandon(struct exchange *exchange);

#endif

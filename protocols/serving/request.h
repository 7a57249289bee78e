/*
 * request - what is planned and what is known of the requests of a trial under load.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC since the window's start. A request's latency counts
 * from when it was scheduled, never from when it was sent: counting from sending hides the delay
 * that a slow server causes to the load itself (coordinated omission; Tene 2013).
 */
#ifndef ASSAY_PROTOCOLS_SERVING_REQUEST_H
#define ASSAY_PROTOCOLS_SERVING_REQUEST_H

#include <stddef.h>
#include <stdint.h>

/* A time of something that did not happen. */
#define REQUEST_NEVER INT64_MIN

/* One request as it was planned, before the window. */
struct scheduled_request {
    int64_t at_ns;          /* since the window's start, ascending; never rescaled or moved */
    uint32_t prompt_tokens; /* 0 where the subject has no tokens */
    uint32_t output_tokens; /* asked for */
};

/* The whole plan of a window. Owned by whoever made it; schedule_finish releases it. */
struct schedule {
    struct scheduled_request *requests; /* heap */
    size_t count;
    int64_t window_ns; /* requests are scheduled in [0, window_ns) */
};

enum request_status {
    REQUEST_OK,         /* all output arrived */
    REQUEST_UNFINISHED, /* not over when the drain time was: its latency is only bounded */
    REQUEST_FAILED,     /* the subject or the connection failed it */
    REQUEST_REFUSED,    /* not admitted: a full ring, HTTP 429 or 503 */
    REQUEST_TIMED_OUT,  /* ended by the client's own limit */
};

/* One request as it went. In a record there are as many as were scheduled, in their order. */
struct request {
    int64_t scheduled_ns;
    int64_t sent_ns;      /* REQUEST_NEVER: it was never sent */
    int64_t admitted_ns;  /* the subject began to work on it; NEVER: unknown (an endpoint) */
    int64_t first_ns;     /* its first output was there */
    int64_t done_ns;      /* its last output was there, or it failed */
    int64_t worst_gap_ns; /* the longest time between two of its outputs; NEVER: fewer than two */
    uint32_t prompt_tokens;
    uint32_t output_tokens; /* that arrived */
    enum request_status status;
    /* Pieces in which the output came (events of a stream), each of one token or more, and those of
     * them that were there at first_ns. 0: not known; then one token was, if not all. */
    uint32_t outputs, first_outputs;
    uint32_t is_told; /* 1: the subject told output_tokens; 0: they are the pieces, if there are */
};

/* Each of a schedule before anything happened. */
void requests_begin(const struct schedule *schedule, struct request *requests);

/* One step of a batching subject: what it worked on together. */
struct serving_step {
    int64_t begin_ns, end_ns;
    uint32_t batch;          /* requests that it made an output for */
    uint32_t prefill_tokens; /* tokens of prompts it took in */
    uint32_t decode_tokens;  /* tokens it put out */
    uint32_t kv_used;        /* blocks of the KV cache in use at its end; 0 where there is none */
};

#endif

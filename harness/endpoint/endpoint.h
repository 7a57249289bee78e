/*
 * endpoint - a server that speaks the OpenAI API with streaming, as the subject of a trial under
 * load: requests are sent by a schedule, and what is known of each is written down.
 *
 * Requests leave in the schedule's order, each at its time or later, never before it, and none is
 * left out or moved. One that finds all connections in use is sent when one is free: its lag
 * (sent_ns - scheduled_ns) shows it. HTTP/1.1 with kept connections, no proxy, no redirects, no
 * compression; certificates are verified.
 */
#ifndef ASSAY_ENDPOINT_ENDPOINT_H
#define ASSAY_ENDPOINT_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "harness/core/type.h"
#include "harness/core/text.h"
#include "harness/endpoint/prompt.h"
#include "harness/endpoint/reasons.h"
#include "protocols/serving/request.h"

enum endpoint_api {
    ENDPOINT_COMPLETIONS, /* URL/completions */
    ENDPOINT_CHAT,        /* URL/chat/completions */
};

/* What a server may send in answer to one request; more is a failure. */
struct endpoint_limits {
    size_t header_bytes;
    size_t body_bytes;
    size_t line_bytes; /* of a line, and of the data of one event */
    uint64_t events;
};

struct endpoint_options {
    const char *url;   /* of the API, as its clients take it: "http://HOST:PORT/v1" */
    const char *model; /* as the server calls it */
    enum endpoint_api api;
    const char *key_variable; /* environment variable with the API key; NULL: none is sent */
    const char *ca_file;      /* certificates to trust in place of the system's; NULL: those */
    bool is_unverified;       /* take any certificate: a finding, wherever it is used */
    bool without_usage;       /* do not ask for the usage, nor believe one that comes unasked: for
                                 servers that refuse the question or answer it wrongly */
    bool ignore_eos;          /* send "ignore_eos": true (vLLM, SGLang, llama.cpp) */
    bool min_tokens;          /* send "min_tokens": as many as asked for (vLLM, SGLang) */
    const char *extra;        /* JSON object whose members every request has, too; NULL: none */
    const char *user_agent;   /* what the client calls itself; NULL: "assay" */
    const struct prompts *prompts; /* of a file, the caller's; NULL: words are drawn */
    uint32_t connections;          /* most at a time */
    uint32_t warm;                 /* opened before the window, at most `connections` */
    int64_t connect_timeout_ns;
    int64_t request_timeout_ns; /* from sending on */
    int64_t drain_ns;           /* after the window; then what is left is UNFINISHED */
    uint64_t seed;              /* of the prompts' words, or of which prompt is the first */
    struct endpoint_limits limits;
    int wake_fd; /* readable: stop, INTERRUPTED; -1: none */
};

/* Everything but url and model: completions, 256 connections, of which 16 are warm, ... */
extern const struct endpoint_options endpoint_defaults;

/* What is known beside the requests. Counts are of requests unless they say otherwise. */
struct endpoint_stats {
    int64_t wall_ns, cpu_ns;      /* of the window and drain; of the sending thread */
    uint64_t connections_warm;    /* opened before the window */
    uint64_t connections_opened;  /* in it */
    uint64_t connections_peak;    /* requests under way at a time */
    uint64_t held;                /* sent late since all connections were in use */
    uint64_t retried;             /* sent once more, on a new connection, since the server had
                                     closed the kept one before it answered */
    uint64_t without_usage;       /* output tokens are events that were counted */
    uint64_t usage_above_events;  /* OK, and the usage has more tokens than events had output */
    uint64_t usage_below_events;  /* fewer */
    uint64_t usage_above_asked;   /* OK, and the usage has more than were asked for */
    uint64_t tokens_above_bytes;  /* OK, with a usage of more than one token a byte of text */
    uint64_t blank_first;         /* OK, and the first event has blanks alone */
    uint64_t output_not_as_asked; /* OK, with another number of output tokens than asked for */
    uint64_t below_demand;        /* FAILED: fewer than asked for, with ignore_eos or min_tokens */
    uint64_t without_end;         /* OK, without [DONE] */
    uint64_t not_found;           /* FAILED: HTTP 404 or 405 */
    uint64_t prompts_repeated;    /* sent, with a prompt of the file that was sent before */
    uint64_t prompt_asked, prompt_told; /* tokens, of the requests whose usage is known */
    uint64_t events, bytes;             /* received: events, body bytes */
    bool with_key, is_unverified;
    struct reasons reasons;
};

/* INVALID: what is wrong with the options, and what to do; `ret_key` (or NULL) is then the key of a
   declaration that says it. */
enum status endpoint_check(const struct endpoint_options *options, const char **ret_key,
                           struct error *err);

/*
 * What the server tells of itself, as a new object: "models" (identifiers), "model_listed",
 * "version" (of /version), "health" (HTTP status of /health) and "server" (the header), each with
 * "reading" in place of a value that it does not tell. UNAVAILABLE: it cannot be reached, or its
 * certificate is not trusted.
 */
enum status endpoint_probe(const struct endpoint_options *options, json_t **ret, struct error *err);

/*
 * Appends which URL was asked and what to try where a server answers that there is nothing (HTTP
 * 404 or 405), by the URL, the API and what endpoint_probe was `told` (NULL: nothing).
 */
void endpoint_advise_path(const struct endpoint_options *options, const json_t *told,
                          struct text *ret);

/*
 * Sends the schedule's requests from `start_ns` (CLOCK_MONOTONIC) on, and returns when all are over
 * or at the end of the drain. `requests` (the caller's, as many as scheduled) and `stats` are
 * filled also where it is INTERRUPTED.
 *
 * sent_ns: it was about to be written; where it FAILED or TIMED_OUT without a connection, it began
 * to connect. first_ns: the first event with output had been read. done_ns: the last one, or the
 * failure; REQUEST_NEVER where it is unfinished. prompt_tokens: of the usage, or as scheduled where
 * it tells none. output_tokens: of the usage, and the number of events with output where it tells
 * fewer or there is none; `outputs` is that number, `first_outputs` how many of them came in one
 * piece with the first. OK asks for HTTP 200, an event stream, output, and a finish_reason that
 * says that the answer is whole (event_reason_is_whole), or [DONE] and as many tokens as were asked
 * for; with ignore_eos or min_tokens for so many in any case.
 */
enum status endpoint_run(const struct endpoint_options *options, const struct schedule *schedule,
                         int64_t start_ns, struct request *requests, struct endpoint_stats *stats,
                         struct error *err);

/* Stats as an object, members by their names. */
extern const struct type endpoint_stats_type;

#endif

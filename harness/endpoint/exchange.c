#include "harness/endpoint/exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "harness/core/clock.h"

static void keep(struct exchange *exchange, const char *bytes, size_t length)
{
    size_t room = sizeof(exchange->kept) - exchange->kept_length;

    if (length > room)
        length = room;
    memcpy(exchange->kept + exchange->kept_length, bytes, length);
    exchange->kept_length += length;
}

/* False, for callbacks that stop. */
static bool refuse(struct exchange *exchange, const char *why, const char *bytes, size_t length)
{
    snprintf(exchange->why, sizeof(exchange->why), "%s", why);
    exchange->kept_length = 0;
    keep(exchange, bytes, length);
    return false;
}

static void take_output(struct exchange *exchange, const struct event *event)
{
    struct request *request = exchange->request;
    int64_t gap = exchange->now_ns - exchange->last_ns;

    if (exchange->outputs == 0)
        exchange->has_blank_first = event->is_blank;
    exchange->output_bytes += event->bytes;
    exchange->has_other_outputs |= event->bytes == UINT32_MAX;
    if (exchange->outputs++ == 0)
        request->first_ns = exchange->now_ns;
    else if (request->worst_gap_ns == REQUEST_NEVER || gap > request->worst_gap_ns)
        request->worst_gap_ns = gap;
    exchange->last_ns = exchange->now_ns;
    exchange->first_outputs += exchange->now_ns == request->first_ns;
}

/* The last one counts, and none that output follows: the answer was not at its end there. */
static void take_finish(struct exchange *exchange, const struct event *event)
{
    if (event->has_content || event->reason[0])
        snprintf(exchange->finish, sizeof(exchange->finish), "%s", event->reason);
}

/* With `usage: false` what the server tells unasked is not believed, whatever it is. */
static bool take_usage(struct exchange *exchange, const struct event *event)
{
    if (exchange->client->options->without_usage)
        return true;
    if (event->has_usage) {
        exchange->has_usage = true;
        exchange->usage_prompt = event->prompt_tokens;
        exchange->usage_output = event->output_tokens;
    }
    return !event->is_usage_bad;
}

static bool on_event(void *context, const char *data, size_t length)
{
    struct exchange *exchange = context;
    struct event event;

    if (exchange->is_ended)
        return true;
    ++exchange->stats->events;
    if (++exchange->events > exchange->client->options->limits.events)
        return refuse(exchange, "more events than the limit", "", 0);
    if (!event_read(data, length, &event))
        return refuse(exchange, "an event that is not the JSON of a completion", data, length);
    if (event.is_error)
        return refuse(exchange, "an error in the stream", event.error, strlen(event.error));
    if (!take_usage(exchange, &event))
        return refuse(exchange,
                      "a usage whose counts are not whole numbers; `usage: false` leaves it out",
                      data, length);
    take_finish(exchange, &event);
    exchange->is_ended = event.is_end;
    if (event.has_content)
        take_output(exchange, &event);
    return true;
}

static long http_status(const struct exchange *exchange)
{
    long code = 0;

    curl_easy_getinfo(exchange->handle, CURLINFO_RESPONSE_CODE, &code);
    return code;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *context)
{
    static const char encoding[] = "content-encoding:";
    struct exchange *exchange = context;
    size_t length = size * count;

    exchange->header_bytes += length;
    if (exchange->header_bytes > exchange->client->options->limits.header_bytes)
        return refuse(exchange, "more bytes of headers than the limit", bytes, length);
    if (length >= sizeof(encoding) - 1 && !strncasecmp(bytes, encoding, sizeof(encoding) - 1) &&
        !memmem(bytes, length, "identity", 8))
        return refuse(exchange, "an encoded answer, which was not asked for", bytes, length);
    return length;
}

static bool is_event_stream(const struct exchange *exchange)
{
    static const char wanted[] = "text/event-stream";
    char *type = NULL;

    curl_easy_getinfo(exchange->handle, CURLINFO_CONTENT_TYPE, &type);
    return type && !strncasecmp(type, wanted, sizeof(wanted) - 1);
}

static bool take_bytes(struct exchange *exchange, const char *bytes, size_t length)
{
    exchange->body_bytes += length;
    exchange->stats->bytes += length;
    if (exchange->body_bytes > exchange->client->options->limits.body_bytes)
        return exchange->is_ended ? false : refuse(exchange, "more bytes than the limit", "", 0);
    if (!exchange->is_stream && http_status(exchange) != 200) {
        keep(exchange, bytes, length);
        return exchange->kept_length < sizeof(exchange->kept);
    }
    if (!exchange->is_stream && !is_event_stream(exchange))
        return refuse(exchange, "the answer is not an event stream", bytes, length);
    exchange->is_stream = true;
    switch (sse_feed(&exchange->sse, bytes, length)) {
    case SSE_OK:
        return true;
    case SSE_TOO_LONG:
        return refuse(exchange, "a line longer than the limit", "", 0);
    case SSE_NO_MEMORY:
        return refuse(exchange, "assay is out of memory", "", 0);
    case SSE_STOPPED:
        break;
    }
    return false;
}

static size_t on_bytes(char *bytes, size_t size, size_t count, void *context)
{
    struct exchange *exchange = context;

    exchange->now_ns = clock_monotonic_ns() - exchange->start_ns;
    return take_bytes(exchange, bytes, size * count) ? size * count : CURL_WRITEFUNC_ERROR;
}

/* Now, but not before the request's time. */
static int64_t now_at_last(const struct exchange *exchange)
{
    int64_t now;

    do
        now = clock_monotonic_ns() - exchange->start_ns;
    while (now < exchange->request->scheduled_ns);
    return now;
}

/* The connection is there, the request about to be written. */
static int on_send(void *context, char *remote, char *local, int remote_port, int local_port)
{
    struct exchange *exchange = context;

    (void)remote;
    (void)local;
    (void)remote_port;
    (void)local_port;
    if (exchange->sends++ == 0)
        exchange->request->sent_ns = now_at_last(exchange);
    return CURL_PREREQFUNC_OK;
}

enum status exchange_init(struct exchange *ret, const struct client *client,
                          struct endpoint_stats *stats, int64_t start_ns, struct error *err)
{
    ret->client = client;
    ret->stats = stats;
    ret->start_ns = start_ns;
    text_init(&ret->body);
    sse_init(&ret->sse, client->options->limits.line_bytes, on_event, ret);
    ret->handle = client_handle(client);
    if (!ret->handle)
        return error_no_memory(err);
    curl_easy_setopt(ret->handle, CURLOPT_URL, client->target);
    curl_easy_setopt(ret->handle, CURLOPT_HTTPHEADER, client->headers);
    curl_easy_setopt(ret->handle, CURLOPT_POST, 1L);
    curl_easy_setopt(ret->handle, CURLOPT_PRIVATE, ret);
    curl_easy_setopt(ret->handle, CURLOPT_ERRORBUFFER, ret->curl_error);
    curl_easy_setopt(ret->handle, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(ret->handle, CURLOPT_HEADERDATA, ret);
    curl_easy_setopt(ret->handle, CURLOPT_WRITEFUNCTION, on_bytes);
    curl_easy_setopt(ret->handle, CURLOPT_WRITEDATA, ret);
    curl_easy_setopt(ret->handle, CURLOPT_PREREQFUNCTION, on_send);
    curl_easy_setopt(ret->handle, CURLOPT_PREREQDATA, ret);
    return STATUS_OK;
}

void exchange_finish(struct exchange *exchange)
{
    curl_easy_cleanup(exchange->handle);
    sse_finish(&exchange->sse);
    text_finish(&exchange->body);
}

void exchange_begin(struct exchange *exchange, struct request *request, uint32_t asked,
                    struct text *body)
{
    struct text used = exchange->body;

    exchange->body = *body;
    *body = used;
    sse_reset(&exchange->sse);
    exchange->request = request;
    exchange->asked = asked;
    exchange->begun_ns = clock_monotonic_ns() - exchange->start_ns;
    if (exchange->begun_ns < request->scheduled_ns)
        exchange->begun_ns = request->scheduled_ns;
    exchange->outputs = exchange->first_outputs = exchange->sends = 0;
    exchange->output_bytes = 0;
    exchange->has_blank_first = exchange->has_other_outputs = false;
    exchange->events = exchange->header_bytes = exchange->body_bytes = 0;
    exchange->is_stream = exchange->is_ended = exchange->has_usage = false;
    exchange->usage_prompt = exchange->usage_output = 0;
    exchange->why[0] = exchange->curl_error[0] = exchange->finish[0] = '\0';
    exchange->kept_length = 0;
    curl_easy_setopt(exchange->handle, CURLOPT_POSTFIELDS, exchange->body.data);
    curl_easy_setopt(exchange->handle, CURLOPT_POSTFIELDSIZE, (long)exchange->body.length);
}

/*
 * The number of output tokens: that of the usage, up to the requested one, since a server can claim
 * can be said there; and an event with output is at least one.
 */
static uint32_t tokens_of(const struct exchange *exchange)
{
    const uint32_t told = !exchange->has_usage                       ? 0
                          : exchange->usage_output > exchange->asked ? exchange->asked
                                                                     : exchange->usage_output;

    return told > exchange->outputs ? told : exchange->outputs;
}

/*
 * All of its output has arrived, whatever became of the connection afterwards. [DONE] alone says
 * that the stream is at its end, and not that the answer is.
 */
static bool is_whole(const struct exchange *exchange)
{
    if (exchange->outputs == 0 || exchange->why[0])
        return false;
    if (exchange->finish[0])
        return event_reason_is_whole(exchange->finish);
    return exchange->is_ended && tokens_of(exchange) >= exchange->asked;
}

/*
 * Fewer tokens than the server was told to make. Events that are counted for want of a usage may
 * hold more than one token each: then a finish_reason of full length is believed.
 */
static bool is_below_demand(const struct exchange *exchange)
{
    const struct endpoint_options *options = exchange->client->options;

    return (options->ignore_eos || options->min_tokens) && tokens_of(exchange) < exchange->asked &&
           (exchange->has_usage || !event_reason_is_length(exchange->finish));
}

static void count_success(struct exchange *exchange)
{
    struct endpoint_stats *stats = exchange->stats;

    stats->without_end += !exchange->is_ended;
    stats->without_usage += !exchange->has_usage;
    stats->blank_first += exchange->has_blank_first;
    if (exchange->has_usage) {
        stats->usage_above_events += exchange->usage_output > exchange->outputs;
        stats->usage_below_events += exchange->usage_output < exchange->outputs;
        stats->usage_above_asked += exchange->usage_output > exchange->asked;
        stats->tokens_above_bytes +=
            !exchange->has_other_outputs && tokens_of(exchange) > exchange->output_bytes;
    }
    if (exchange->usage_prompt > 0) {
        stats->prompt_asked += exchange->request->prompt_tokens;
        stats->prompt_told += exchange->usage_prompt;
    }
}

static void write_tokens(struct exchange *exchange)
{
    struct request *request = exchange->request;

    request->output_tokens = tokens_of(exchange);
    request->outputs = exchange->outputs;
    request->first_outputs = exchange->first_outputs;
    request->is_told = exchange->has_usage && exchange->usage_output == tokens_of(exchange);
    if (exchange->usage_prompt > 0)
        request->prompt_tokens = exchange->usage_prompt;
    if (request->status == REQUEST_OK)
        exchange->stats->output_not_as_asked += request->output_tokens != exchange->asked;
}

static void count_sends(struct exchange *exchange)
{
    long opened = 0;

    curl_easy_getinfo(exchange->handle, CURLINFO_NUM_CONNECTS, &opened);
    exchange->stats->connections_opened += (uint64_t)opened;
    exchange->stats->retried += exchange->sends > 1;
}

/* Why an answer does not count that came as a stream; "": for no reason of its own. */
static void explain_stream(const struct exchange *exchange, char ret[REASON_SIZE])
{
    char finish[REASON_EXAMPLE_SIZE];

    ret[0] = '\0';
    if (is_whole(exchange)) {
        snprintf(ret, REASON_SIZE, "fewer output tokens than ignore_eos or min_tokens demands");
    } else if (exchange->finish[0] && !event_reason_is_whole(exchange->finish)) {
        reasons_excerpt(exchange->finish, strlen(exchange->finish), exchange->client->key, finish);
        snprintf(ret, REASON_SIZE, "the answer ended with finish_reason \"%.50s\"", finish);
    }
}

/* Of a stream that is at its end, as far as HTTP goes. */
static const char *explain_end(const struct exchange *exchange)
{
    if (exchange->outputs == 0)
        return "an answer without output";
    return exchange->is_ended ? "no finish_reason, and fewer output tokens than asked for"
                              : "the stream ended without finish_reason and [DONE]";
}

static enum request_status explain(struct exchange *exchange, CURLcode code)
{
    enum request_status status = REQUEST_FAILED;
    const char *bytes = exchange->kept, *reason = exchange->why;
    size_t length = exchange->kept_length;
    long http = http_status(exchange);
    char words[REASON_SIZE] = "";

    if (!exchange->why[0] && exchange->is_stream)
        explain_stream(exchange, words);
    if (words[0]) {
        reason = words;
    } else if (exchange->why[0]) {
        ;
    } else if (http == 429 || http == 503) {
        status = REQUEST_REFUSED;
    } else if (code == CURLE_OPERATION_TIMEDOUT) {
        status = REQUEST_TIMED_OUT;
        reason = exchange->sends ? "request timeout" : "connect timeout";
    } else if (code != CURLE_OK && (http == 0 || http == 200)) {
        reason = curl_easy_strerror(code);
        bytes = exchange->curl_error;
        length = strlen(bytes);
    } else if (http == 200) {
        reason = explain_end(exchange);
    }
    if (!*reason) {
        exchange->stats->not_found += http == 404 || http == 405;
        snprintf(words, sizeof(words), "HTTP %ld", http);
        reason = words;
    }
    reasons_add(&exchange->stats->reasons, reason, bytes, length, exchange->client->key);
    return status;
}

void exchange_end(struct exchange *exchange, CURLcode code)
{
    struct request *request = exchange->request;

    count_sends(exchange);
    exchange->stats->below_demand += is_whole(exchange) && is_below_demand(exchange);
    if (is_whole(exchange) && !is_below_demand(exchange)) {
        request->status = REQUEST_OK;
        request->done_ns = exchange->last_ns;
        count_success(exchange);
    } else {
        if (request->sent_ns == REQUEST_NEVER)
            request->sent_ns = exchange->begun_ns;
        request->done_ns = now_at_last(exchange);
        request->status = explain(exchange, code);
    }
    write_tokens(exchange);
}

void exchange_abandon(struct exchange *exchange)
{
    if (is_whole(exchange)) {
        exchange_end(exchange, CURLE_OK);
        return;
    }
    count_sends(exchange);
    write_tokens(exchange);
}

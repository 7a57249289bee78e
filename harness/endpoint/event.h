/*
 * event - what one event of a completion's stream says (OpenAI API reference, "Completions" and
 * "Chat completions", streaming objects).
 */
#ifndef ASSAY_ENDPOINT_EVENT_H
#define ASSAY_ENDPOINT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVENT_ERROR_SIZE 200
#define EVENT_REASON_SIZE 64

struct event {
    bool is_end;       /* [DONE] */
    bool has_content;  /* output: text, a delta's content, reasoning, refusal or tool calls */
    bool is_blank;     /* output, and all of it is text without anything to see in it */
    uint32_t bytes;    /* of that text; UINT32_MAX where some of the output is none */
    bool has_usage;    /* a usage that tells how many tokens the output has */
    bool is_usage_bad; /* a usage that is none, or counts what no number of tokens is */
    bool is_error;
    uint32_t prompt_tokens, output_tokens; /* of the usage; of the prompt 0: not told */
    char error[EVENT_ERROR_SIZE];          /* as sent, cut; "" where it has no message */
    /* finish_reason as sent, cut; "" where there is none yet: none, null, "" or "null". */
    char reason[EVENT_REASON_SIZE];
};

/*
 * False: it is neither [DONE] nor a JSON object, or its members have other types than theirs. A
 * member that is null is not there, nor is an error or a count without content; a count that is
 * written as 8.0 is 8.
 */
bool event_read(const char *data, size_t length, struct event *ret);

/* Whether a finish_reason says that the answer is whole: "stop", "length" and their other names. */
bool event_reason_is_whole(const char *reason);

/* Whether it says that as many tokens came as were asked for at most: "length", "max_tokens". */
bool event_reason_is_length(const char *reason);

#endif

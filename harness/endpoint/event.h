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

struct event {
    bool is_end;      /* [DONE] */
    bool has_content; /* output: text, a delta's content, reasoning, refusal or tool calls */
    bool is_finished; /* a finish_reason */
    bool has_usage;
    bool is_error;
    uint32_t prompt_tokens, output_tokens; /* of the usage */
    char error[EVENT_ERROR_SIZE];          /* as sent, cut; "" where it has no message */
};

/* False: it is neither [DONE] nor a JSON object, or its members have other types than theirs. */
bool event_read(const char *data, size_t length, struct event *ret);

#endif

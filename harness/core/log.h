/* log - messages to the user on stderr. Library code seldom logs; commands do. */
#ifndef ASSAY_CORE_LOG_H
#define ASSAY_CORE_LOG_H

#include "harness/core/text.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO };

/*
 * Writes one line "assay: level: text" to stderr in one write(2), so that lines of several
 * processes do not mix. INFO lines carry no level. It is shown as log_append_lines has it. On a
 * terminal a message that is wider is broken between words.
 */
void log_message(enum log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * The program's arguments, to a NULL at their end, which must stay: a line break that a message
 * repeats from one of them is none of the message's own.
 */
void log_set_arguments(char *const *arguments);

/* Appends a message: its line breaks (a compiler's log), other control characters as \xNN. */
void log_append_lines(struct text *text, const char *message);

/*
 * A function that gets every message, as it is written but without "assay: level: "; NULL: none. It
 * may not log.
 */
void log_set_listener(void (*listener)(enum log_level level, const char *message));

#define log_error(...) log_message(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_message(LOG_LEVEL_INFO, __VA_ARGS__)

#endif

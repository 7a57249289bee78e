#include "harness/core/log.h"

#include <errno.h>
#include <unistd.h>

#include "harness/core/text.h"

static void (*listener)(enum log_level level, const char *message);

void log_set_listener(void (*function)(enum log_level level, const char *message))
{
    listener = function;
}

static const char *level_prefix(enum log_level level)
{
    switch (level) {
    case LOG_LEVEL_ERROR:
        return "error: ";
    case LOG_LEVEL_WARNING:
        return "warning: ";
    case LOG_LEVEL_INFO:
        break;
    }
    return "";
}

/* Keeps the line breaks of a message (a compiler's log), escapes every other control character. */
static void append_lines(struct text *line, const char *message)
{
    const char *start = message;

    for (const char *at = message;; ++at) {
        if (*at && *at != '\n')
            continue;
        text_append_printable(line, start, (size_t)(at - start));
        if (!*at)
            return;
        text_append_char(line, '\n');
        start = at + 1;
    }
}

void log_message(enum log_level level, const char *format, ...)
{
    static const char no_memory[] = "assay: error: out of memory while logging\n";
    int saved_errno = errno;
    struct text message, line;
    const char *bytes;
    size_t left, start;
    va_list args;

    text_init(&message);
    text_init(&line);
    va_start(args, format);
    text_append_formatv(&message, format, args);
    va_end(args);
    text_append(&line, "assay: ");
    text_append(&line, level_prefix(level));
    start = line.length;
    append_lines(&line, message.data);
    if (listener && text_ok(&line))
        listener(level, line.data + start);
    text_append_char(&line, '\n');

    bytes = line.data;
    left = line.length;
    if (!text_ok(&message) || !text_ok(&line)) {
        bytes = no_memory;
        left = sizeof(no_memory) - 1;
    }
    while (left > 0) {
        ssize_t written = write(STDERR_FILENO, bytes, left);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            break;
        bytes += written;
        left -= (size_t)written;
    }
    text_finish(&line);
    text_finish(&message);
    errno = saved_errno;
}

#include "harness/core/log.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static char *const *arguments;
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

void log_set_arguments(char *const *list)
{
    arguments = list;
}

/* Whether a line break stands as it does in an argument, which the message then repeats. */
static bool is_of_argument(const char *message, const char *at)
{
    for (char *const *argument = arguments; argument && *argument; ++argument)
        for (const char *in = strchr(*argument, '\n'); in; in = strchr(in + 1, '\n'))
            if ((in == *argument || (at > message && in[-1] == at[-1])) &&
                (in[1] == '\0' || in[1] == at[1]))
                return true;
    return false;
}

void log_append_lines(struct text *line, const char *message)
{
    const char *start = message;

    for (const char *at = message;; ++at) {
        if (*at && (*at != '\n' || is_of_argument(message, at)))
            continue;
        text_append_printable(line, start, (size_t)(at - start));
        if (!*at)
            return;
        text_append_char(line, '\n');
        start = at + 1;
    }
}

/* Columns of the terminal that messages go to; 0: it is none, or does not say. */
static size_t columns_of_stderr(void)
{
    struct winsize size;

    return isatty(STDERR_FILENO) && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/*
 * Bytes up to where a line may be broken. A command after a colon is copied in one piece, so it is
 * one word up to the end of its line.
 */
static size_t word_length(const struct text *before, const char *line)
{
    const size_t blanks = strspn(line, " ");

    if (before->length > 0 && before->data[before->length - 1] == ':' &&
        !strncmp(line, " assay ", strlen(" assay ")))
        return strcspn(line, "\n");
    return blanks + strcspn(line + blanks, " \n");
}

/* Breaks lines between words, so that a terminal need not do it within them. */
static void append_broken(struct text *out, const char *line, size_t columns)
{
    static const char indent[] = "    ";
    size_t at = 0;

    while (*line) {
        const size_t blanks = strspn(line, " "), length = word_length(out, line);
        struct text word;
        size_t width;

        text_init(&word);
        text_append_bytes(&word, line, length);
        width = text_ok(&word) ? text_columns(word.data) : length;
        if (at > 0 && at + width > columns) {
            text_append_char(out, '\n');
            text_append(out, indent);
            text_append_bytes(out, line + blanks, length - blanks);
            at = strlen(indent) + width - blanks;
        } else {
            text_append_bytes(out, line, length);
            at += width;
        }
        text_finish(&word);
        line += length;
        if (*line == '\n') {
            text_append_char(out, *line++);
            at = 0;
        }
    }
}

void log_message(enum log_level level, const char *format, ...)
{
    static const char no_memory[] = "assay: error: out of memory while logging\n";
    int saved_errno = errno;
    const size_t columns = columns_of_stderr();
    struct text message, line, broken;
    const char *bytes;
    size_t left, start;
    va_list args;

    text_init(&message);
    text_init(&line);
    text_init(&broken);
    va_start(args, format);
    text_append_formatv(&message, format, args);
    va_end(args);
    text_append(&line, "assay: ");
    text_append(&line, level_prefix(level));
    start = line.length;
    log_append_lines(&line, message.data);
    if (listener && text_ok(&line))
        listener(level, line.data + start);
    text_append_char(&line, '\n');

    if (columns >= 40 && text_ok(&line))
        append_broken(&broken, line.data, columns);
    bytes = broken.length > 0 ? broken.data : line.data;
    left = broken.length > 0 ? broken.length : line.length;
    if (!text_ok(&message) || !text_ok(&line) || broken.failed) {
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
    text_finish(&broken);
    text_finish(&line);
    text_finish(&message);
    errno = saved_errno;
}

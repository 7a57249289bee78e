#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "reports/escape.h"
#include "harness/core/cleanup.h"
#include "reports/terminal_internal.h"

#define COLUMNS_MIN 60

size_t report_terminal_columns(int fd)
{
    struct winsize size = {0};
    const char *variable = getenv("COLUMNS");
    int64_t columns;

    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    if (variable && text_parse_i64(variable, &columns) && columns > 0 && columns < 10000)
        return (size_t)columns;
    return 80;
}

struct terminal terminal_make(struct text *out, size_t columns, bool colour)
{
    return (struct terminal){out, columns < COLUMNS_MIN ? COLUMNS_MIN : columns, colour};
}

void terminal_tone(const struct terminal *terminal, enum terminal_tone tone, const char *string)
{
    static const char *const codes[] = {
        [TONE_PLAIN] = "",        [TONE_BOLD] = "\033[1m",  [TONE_SOFT] = "\033[2m",
        [TONE_GOOD] = "\033[32m", [TONE_CARE] = "\033[33m", [TONE_BAD] = "\033[31m",
    };
    bool coloured = terminal->colour && tone != TONE_PLAIN && *string;

    if (coloured)
        text_append(terminal->out, codes[tone]);
    text_append(terminal->out, string);
    if (coloured)
        text_append(terminal->out, "\033[0m");
}

void terminal_pad(const struct terminal *terminal, size_t columns)
{
    while (columns-- > 0)
        text_append_char(terminal->out, ' ');
}

void terminal_field(const struct terminal *terminal, enum terminal_tone tone, const char *string,
                    size_t width, bool right)
{
    struct text cut = TEXT_INIT;
    size_t used;

    escape_terminal_short(&cut, string, width);
    used = text_columns(cut.data);
    if (right)
        terminal_pad(terminal, used < width ? width - used : 0);
    terminal_tone(terminal, tone, cut.data);
    if (!right)
        terminal_pad(terminal, used < width ? width - used : 0);
    terminal->out->failed = terminal->out->failed || cut.failed;
    text_finish(&cut);
}

void terminal_rule(const struct terminal *terminal)
{
    CLEANUP(text_finish) struct text rule = TEXT_INIT;

    for (size_t i = 0; i < terminal->columns; ++i)
        text_append(&rule, "─");
    terminal_tone(terminal, TONE_SOFT, rule.data);
    text_append_char(terminal->out, '\n');
}

/* Bytes of `string` that fit in `width` columns, to the last blank where there is one. */
static size_t line_size(const char *string, size_t width)
{
    size_t used = 0, at = 0, blank = 0;

    while (string[at]) {
        char one[8] = "";
        size_t size = 1;

        while (((unsigned char)string[at + size] & 0xc0) == 0x80)
            ++size;
        memcpy(one, string + at, size < sizeof(one) ? size : sizeof(one) - 1);
        used += text_columns(one);
        if (used > width)
            return blank ? blank : at ? at : size;
        at += size;
        if (string[at] == ' ')
            blank = at;
    }
    return at;
}

/* The same, but a command after a colon is copied in one piece: it begins a line and ends it. */
static size_t wrapped_size(const char *text, const char *at, size_t width)
{
    static const char begin[] = ": assay ";
    const size_t size = line_size(at, width);
    const char *command = strstr(at, begin);

    if (at >= text + 2 && !strncmp(at - 2, begin, strlen(begin)))
        return strlen(at);
    return command && command + 2 <= at + size && at[size] ? (size_t)(command + 2 - at) : size;
}

void terminal_wrap(const struct terminal *terminal, enum terminal_tone tone, const char *lead,
                   const char *string)
{
    size_t indent = text_columns(lead);
    struct text printable = TEXT_INIT;
    const char *at;

    text_append_printable(&printable, string, strlen(string));
    text_append(terminal->out, lead);
    at = printable.data;
    do {
        size_t size = wrapped_size(printable.data, at, terminal->columns - indent);
        CLEANUP(text_finish) struct text line = TEXT_INIT;

        text_append_bytes(&line, at, size);
        terminal_tone(terminal, tone, line.data);
        text_append_char(terminal->out, '\n');
        at += size;
        while (*at == ' ')
            ++at;
        if (*at)
            terminal_pad(terminal, indent);
    } while (*at);
    terminal->out->failed = terminal->out->failed || printable.failed;
    text_finish(&printable);
}

void terminal_title(const struct terminal *terminal, const struct view_cell *cell)
{
    CLEANUP(text_finish) struct text line = TEXT_INIT;

    text_append_format(&line, "%s  %s, %s, batch ", cell->result,
                       cell->workload ? cell->workload : "workload not recorded",
                       cell->precision ? cell->precision : "?");
    if (cell->batch.known)
        text_append_format(&line, "%lld", (long long)cell->batch.value);
    else
        text_append_char(&line, '?');
    text_append(&line, cell->variant);
    terminal_wrap(terminal, TONE_BOLD, "", line.data);
}

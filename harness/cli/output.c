#include "harness/cli/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cli/command.h"
#include "harness/core/log.h"
#include "reports/terminal.h"

int output_flush(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return ASSAY_EXIT_OK;
    if (errno != EPIPE)
        log_error("standard output: %s", strerror(errno));
    return ASSAY_EXIT_SYSTEM;
}

int output_json(json_t *json)
{
    int failed = json ? json_dumpf(json, stdout, JSON_INDENT(2) | JSON_SORT_KEYS) : -1;

    json_decref(json);
    if (failed) {
        log_error("the result could not be written as JSON (%s)",
                  json ? strerror(errno) : "no memory");
        return ASSAY_EXIT_SYSTEM;
    }
    putchar('\n');
    return output_flush();
}

int output_text(struct text *text)
{
    bool ok = text_ok(text);

    if (ok)
        fwrite(text->data, 1, text->length, stdout);
    else
        log_error("no memory for the output");
    text_finish(text);
    return ok ? output_flush() : ASSAY_EXIT_SYSTEM;
}

size_t output_columns(void)
{
    return report_terminal_columns(STDOUT_FILENO);
}

void output_wrapped(struct text *out, const char *string, size_t from, size_t to)
{
    size_t column = from;

    while (*string) {
        size_t length = strcspn(string, " \n");
        char word[256];

        if (length >= sizeof(word))
            length = sizeof(word) - 1;
        memcpy(word, string, length);
        word[length] = '\0';
        if (column > from && column + 1 + text_columns(word) > to) {
            text_append_format(out, "\n%*s", (int)from, "");
            column = from;
        } else if (column > from) {
            text_append_char(out, ' ');
            column++;
        }
        text_append(out, word);
        column += text_columns(word);
        string += length;
        string += strspn(string, " \n");
    }
    text_append_char(out, '\n');
}

bool output_colour(void)
{
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");

    return isatty(STDOUT_FILENO) == 1 && !(no_colour && no_colour[0]) && term &&
           strcmp(term, "dumb");
}

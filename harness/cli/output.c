#include "harness/cli/output.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cli/command.h"
#include "harness/cli/envelope.h"
#include "harness/core/cleanup.h"
#include "harness/core/log.h"
#include "reports/terminal.h"

int output_fail(const struct error *err)
{
    return output_reader_left() ? ASSAY_EXIT_OK : command_fail(err);
}

int output_json(json_t *json)
{
    if (!json) {
        log_error("no memory for the result");
        return ASSAY_EXIT_SYSTEM;
    }
    envelope_set_data(json);
    return ASSAY_EXIT_OK;
}

enum status output_row(json_t *row, struct error *err)
{
    return envelope_add_row(row) ? STATUS_OK : error_no_memory(err);
}

bool output_page(const struct text *text)
{
    CLEANUP(text_finish) struct text shown = TEXT_INIT;
    bool ok;

    text_append_shown(&shown, text->data, text->length, output_colour());
    ok = text_ok(text) && text_ok(&shown);
    if (ok)
        fwrite(shown.data, 1, shown.length, stdout);
    return ok;
}

int output_text(struct text *text)
{
    bool ok = text_ok(text);

    ok = ok && output_page(text);
    if (!ok)
        log_error("no memory for the output");
    text_finish(text);
    return ok ? output_flush() : ASSAY_EXIT_SYSTEM;
}

size_t output_columns(void)
{
    return report_terminal_columns(STDOUT_FILENO);
}

int output_lines(struct text *text)
{
    const size_t columns = output_terminal_columns();
    struct text wrapped = TEXT_INIT;

    if (columns == SIZE_MAX)
        return output_text(text);
    if (text_ok(text))
        doc_wrap(&wrapped, text->data, columns);
    else
        wrapped.failed = true;
    text_finish(text);
    return output_text(&wrapped);
}

struct doc output_doc(const struct command_line *line, struct text *out)
{
    const size_t columns = output_terminal_columns();
    struct doc doc = doc_new(out, command_has(line, KEY_MARKDOWN) ? &doc_markdown : &doc_lines);

    doc.width = columns == SIZE_MAX ? 0 : columns;
    return doc;
}

int output_document(struct doc *doc)
{
    doc_finish(doc);
    return doc->medium == &doc_lines ? output_lines(doc->out) : output_text(doc->out);
}

int output_shown(const struct command_line *line, const json_t *object,
                 void (*write)(struct doc *doc, const json_t *object))
{
    struct text out = TEXT_INIT;
    struct doc doc;

    if (command_has(line, KEY_JSON))
        return output_json(json_incref((json_t *)(uintptr_t)object));
    doc = output_doc(line, &out);
    write(&doc, object);
    return output_document(&doc);
}

void output_wrapped(struct text *out, const char *string, size_t from, size_t to)
{
    doc_wrap_words(out, string, from, from, to);
}

void output_hanging(struct text *out, const char *lead, const char *string, size_t indent,
                    size_t to)
{
    text_append(out, lead);
    if (to == SIZE_MAX)
        text_append_format(out, "%s\n", string);
    else
        doc_wrap_words(out, string, text_columns(lead), indent, to);
}

size_t output_terminal_columns(void)
{
    return isatty(STDOUT_FILENO) == 1 ? output_columns() : SIZE_MAX;
}

bool output_colour(void)
{
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");

    return isatty(STDOUT_FILENO) == 1 && !(no_colour && no_colour[0]) && term &&
           strcmp(term, "dumb");
}

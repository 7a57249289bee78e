/* output - what a command writes to standard output. */
#ifndef ASSAY_CLI_OUTPUT_H
#define ASSAY_CLI_OUTPUT_H

#include <stdbool.h>

#include <jansson.h>

#include "harness/cli/command.h"
#include "harness/core/status.h"
#include "harness/core/text.h"
#include "reports/doc.h"

/*
 * The data of a call with --json: written in its envelope (envelope.h) once the command has ended.
 * Takes the reference. Returns an exit status; NULL, which says that there was no memory for it, is
 * an error.
 */
int output_json(json_t *json);

/* One more element of data that is a list, which output_json set. Takes the reference. */
enum status output_row(json_t *row, struct error *err);

/*
 * Writes what people read, without flushing: control characters, other than line breaks, tabs and
 * the colours of a terminal, and malformed bytes as \xNN, wherever they came from. False: no
 * memory.
 */
bool output_page(const struct text *text);

/* Writes bytes as they are, and flushes. Returns an exit status. */
int output_bytes(const char *bytes, size_t length);

/* As output_page; flushes, and frees the text. Returns an exit status: a full disk is not silent.
 */
int output_text(struct text *text);

/*
 * As output_text; where standard output is a terminal, lines that are too long for it continue
 * below: under their second column, where it has two blanks before it and a third of the width at
 * least, else indented by 4 more.
 */
int output_lines(struct text *text);

/* A document in `out`: Markdown where --markdown asks for it, else lines. */
struct doc output_doc(const struct command_line *line, struct text *out);
/* Prints it, lines as output_lines; finishes it and its text. An exit status. */
int output_document(struct doc *doc);
/* `object` as JSON where --json asks for it, else the document that `write` makes of it. An exit
 * status. */
int output_shown(const struct command_line *line, const json_t *object,
                 void (*write)(struct doc *doc, const json_t *object));

/*
 * Appends words, wrapped between columns `from` (the current column, to which new lines are
 * indented to) and `to`, and a newline.
 */
void output_wrapped(struct text *out, const char *string, size_t from, size_t to);

/*
 * Appends `lead`, which begins a line, then words up to column `to`; further lines are indented by
 * `indent`. SIZE_MAX as `to`: one line, the string as it is.
 */
void output_hanging(struct text *out, const char *lead, const char *string, size_t indent,
                    size_t to);

/*
 * Flushes standard output. Returns an exit status. A reader that closed the pipe has read enough,
 * which is no error: the command continues, and its status is unchanged.
 */
int output_flush(void);

/* Whether nobody reads standard output any more: its pipe or socket is closed. */
bool output_reader_left(void);

/* As command_fail, of what was being written to standard output; says nothing of a closed pipe. */
int output_fail(const struct error *err);

/* Columns to lay out for: the terminal's, else $COLUMNS, else 80. */
size_t output_columns(void);

/* Columns of the terminal; SIZE_MAX where there is none, whose lines other programs may read. */
size_t output_terminal_columns(void);

/* True when standard output is a terminal that wants colour (NO_COLOR and TERM=dumb say no). */
bool output_colour(void);

#endif

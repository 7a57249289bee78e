/*
 * escape - makes untrusted text safe for a page.
 *
 * Device names, paths and messages come from vendors and other people's files. Every one of them
 * goes through here: control characters, malformed UTF-8 and marks that reorder text become visible
 * \xNN, and what HTML reads as markup becomes a character reference. The output is safe as element
 * content and inside a double- or single-quoted attribute, in HTML and in inline SVG.
 */
#ifndef ASSAY_REPORTS_ESCAPE_H
#define ASSAY_REPORTS_ESCAPE_H

#include <stddef.h>

#include "harness/core/text.h"

/* Appends `string` (NULL: nothing) escaped. */
void escape_html(struct text *out, const char *string);
void escape_html_bytes(struct text *out, const void *bytes, size_t length);

/* The same; a name or path may break behind each _ and /, and a dot between letters. */
void escape_html_name(struct text *out, const void *bytes, size_t length);

/*
 * As escape_html, cut after `columns` terminal columns with an ellipsis. For places where the whole
 * text is elsewhere on the page.
 */
void escape_html_short(struct text *out, const char *string, size_t columns);

/*
 * Appends `string` as part of an element's id: letters and digits in lower case, everything else a
 * hyphen, no two hyphens in a row, at most 64 characters.
 */
void escape_html_id(struct text *out, const char *string);

/*
 * Printable form of `string` cut to at most `columns` terminal columns, with an ellipsis when cut;
 * for terminals. Appends at most that many columns; never splits a character.
 */
void escape_terminal_short(struct text *out, const char *string, size_t columns);

#endif

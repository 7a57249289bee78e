/* terminal_internal - shared by the terminal_*.c sources. */
#ifndef ASSAY_REPORTS_TERMINAL_INTERNAL_H
#define ASSAY_REPORTS_TERMINAL_INTERNAL_H

#include "reports/terminal.h"

enum terminal_tone { TONE_PLAIN, TONE_BOLD, TONE_SOFT, TONE_GOOD, TONE_CARE, TONE_BAD };

struct terminal {
    struct text *out;
    size_t columns; /* at least 60 */
    bool colour;
};

struct terminal terminal_make(struct text *out, size_t columns, bool colour);

/* Appends `string`, which must be printable, in a tone. */
void terminal_tone(const struct terminal *terminal, enum terminal_tone tone, const char *string);
void terminal_pad(const struct terminal *terminal, size_t columns);
/* Printable, cut to `width`, padded to it on the right (or on the left). */
void terminal_field(const struct terminal *terminal, enum terminal_tone tone, const char *string,
                    size_t width, bool right);
void terminal_rule(const struct terminal *terminal);
/*
 * Untrusted text, wrapped at blanks to the terminal's width: the first line after `lead` (already
 * printable), the following ones below its end. Ends with a newline.
 */
void terminal_wrap(const struct terminal *terminal, enum terminal_tone tone, const char *lead,
                   const char *string);
/* "9f2c41aa/3  triad, fp32, batch 1": which result it is. */
void terminal_title(const struct terminal *terminal, const struct view_cell *cell);

#endif

/* manual - the manual page and the shell completion, written from the command tables. */
#ifndef ASSAY_CLI_MANUAL_H
#define ASSAY_CLI_MANUAL_H

#include "harness/core/text.h"

/* Words as man(7) has them, and a file's lines; `length` bytes. */
void manual_append_roff(struct text *out, const char *string, size_t length);

/* assay(1) in man(7) macros. */
void manual_append_page(struct text *text);

/* Completion for bash (completion.c), for zsh and for fish (completion_spec.c). */
void manual_append_completion(struct text *text);
void manual_append_completion_zsh(struct text *text);
void manual_append_completion_fish(struct text *text);

/* What `assay --help` prints. */
void manual_append_overview(struct text *text);

#endif

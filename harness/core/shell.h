/* shell - commands that are printed for people to copy. */
#ifndef ASSAY_CORE_SHELL_H
#define ASSAY_CORE_SHELL_H

#include "harness/core/text.h"

/*
 * Appends `word` so that a POSIX shell takes it as one word and as it is: bare where nothing in it
 * means anything to a shell, else in single quotes. Bytes that output would escape (control
 * characters, what is not UTF-8) are written for printf: "$(printf 'a\012b')".
 */
void shell_append(struct text *text, const char *word);

/* A new string with that, to be freed; NULL: no memory. */
char *shell_quoted(const char *word);

#endif

/*
 * compile - what backends that compile kernel texts share: the defines, as text and as provenance
 * lists them, and the compiler's messages.
 */
#ifndef ASSAY_BACKENDS_COMPILE_H
#define ASSAY_BACKENDS_COMPILE_H

#include "backends/backend.h"
#include "harness/core/text.h"

/* Appends a line of program text for LANES and for each define. */
void compile_append_defines(struct text *text, const struct module_source *source);

/*
 * What the compiler was given: its options, and the defines, which in the text equal -D: "-O3
 * -DLANES=64 -DX=1". Heap; NULL: no memory.
 */
char *compile_options(const char *options, const struct module_source *source);

/* Appends one line of a log, in printable characters, without its end. */
typedef void compile_line_fn(struct text *text, const char *line, size_t length,
                             const void *context);

/* A log for people, line by line, no line break at the end. NULL is "". Heap; NULL: no memory. */
char *compile_log_rewrite(const char *log, compile_line_fn *append, const void *context);

/* Where a message shows most of a log: of a long one, the first line that has `mark` ("error:"). */
const char *compile_log_head(const char *log, const char *mark);

#endif

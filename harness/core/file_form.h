/* file_form - what a file is that is not UTF-8 text, by its first bytes, and what to do. */
#ifndef ASSAY_CORE_FILE_FORM_H
#define ASSAY_CORE_FILE_FORM_H

#include <stddef.h>

/*
 * "is gzip: run `gunzip -k FILE` and give the file that it makes"; of compressed files, archives,
 * Parquet and UTF-16. NULL: it may be text. Static.
 */
const char *file_form_remedy(const char *head, size_t length);

#endif

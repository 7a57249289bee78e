/*
 * words - what a child process writes to its standard output and error, kept in memory, so that its
 * last output can explain its end. The descriptor is that of a file of a fixed size without a name:
 * a chatty library cannot fill a disk.
 */
#ifndef ASSAY_CORE_WORDS_H
#define ASSAY_CORE_WORDS_H

#include "harness/core/text.h"

/* A descriptor to give to the child; -1: errno says why not. */
int words_open(const char *name);

/* Appends "; its last output: ..." to `text`, printable and in one line; nothing when there are
 * none. */
void words_append(int fd, struct text *text);

/* Keeps only the end of what was written; to be called often while the child runs for long. */
void words_forget(int fd);

#endif

/*
 * child_output - what a child process writes to its standard output and error, kept in memory, so
 * that its last output can explain its end. The descriptor is that of a file of a fixed size
 * without a name: a chatty library cannot fill a disk.
 */
#ifndef ASSAY_CORE_CHILD_OUTPUT_H
#define ASSAY_CORE_CHILD_OUTPUT_H

#include "harness/core/text.h"

/* A descriptor to give to the child; -1: errno says why not. */
int child_output_open(const char *name);

/* Appends "; its last output: ..." to `text`, printable and in one line; nothing when there are
 * none. */
void child_output_append(int fd, struct text *text);

/* Keeps only the end of what was written; to be called often while the child runs for long. */
void child_output_forget(int fd);

#endif

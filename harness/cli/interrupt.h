/* interrupt - Ctrl-C and SIGTERM as a readable descriptor. */
#ifndef ASSAY_CLI_INTERRUPT_H
#define ASSAY_CLI_INTERRUPT_H

#include <stdbool.h>

#include "harness/core/status.h"

/* What is being done, which determines the message when it is to stop. */
enum interrupt_of { INTERRUPT_TRIALS, INTERRUPT_READING };

/*
 * From now on SIGINT, SIGTERM and SIGHUP make the descriptor readable, permanently; a second one
 * ends the process at once with status 130 (the database stays sound: its writes are transactions).
 * One call a process.
 */
enum status interrupt_open(enum interrupt_of what, int *ret_fd, struct error *err);

/* Whether it is readable. */
bool interrupt_asked(int fd);

#endif

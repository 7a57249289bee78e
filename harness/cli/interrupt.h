/* interrupt - Ctrl-C and SIGTERM as a readable descriptor. */
#ifndef ASSAY_CLI_INTERRUPT_H
#define ASSAY_CLI_INTERRUPT_H

#include "harness/core/status.h"

/*
 * From now on SIGINT, SIGTERM and SIGHUP make the descriptor readable, once and for good; a second
 * one ends the process at once with status 130 (the database stays sound: its writes are
 * transactions). One call a process.
 */
enum status interrupt_open(int *ret_fd, struct error *err);

#endif

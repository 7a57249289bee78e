/* secret - a word that is asked for on the terminal, which does not show it. */
#ifndef ASSAY_CORE_SECRET_H
#define ASSAY_CORE_SECRET_H

#include <stddef.h>

#include "harness/core/status.h"

/*
 * Asks on the process's terminal and puts the line, without its end, into `ret` of `size` bytes.
 * UNAVAILABLE: there is no terminal; INVALID: the line is longer; INTERRUPTED: it ended.
 */
enum status secret_ask(const char *prompt, char *ret, size_t size, struct error *err);

#endif

/* with_store - the database of a command: opened, handed over, closed. */
#ifndef ASSAY_CLI_WITH_STORE_H
#define ASSAY_CLI_WITH_STORE_H

#include "harness/cli/command.h"
#include "results/store.h"

typedef int with_store_fn(const struct command_line *line, struct store *store, void *context);

/*
 * Opens the command's database (--db and so on) and calls `run`, whose exit status is returned; says
 * why and returns ASSAY_EXIT_STORE when it cannot be opened. Readers wait 10 s for a busy database,
 * writers 60.
 */
int with_store(const struct command_line *line, enum store_mode mode, with_store_fn *run,
               void *context);

#endif

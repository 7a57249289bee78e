/* with_store - the database of a command: opened, handed over, closed. */
#ifndef ASSAY_CLI_WITH_STORE_H
#define ASSAY_CLI_WITH_STORE_H

#include "harness/cli/command.h"
#include "results/store/store.h"

typedef int with_store_fn(const struct command_line *line, struct store *store, void *context);

/*
 * Opens the command's database (--db and so on) and calls `run`, whose exit status is returned;
 * with STORE_READ it may be a bundle, and so may the first argument of a command that takes_bundle,
 * whose line `run` then gets without it; a bundle's path is `bundle` of its line. It says why and
 * returns an exit status when it cannot be opened (command_fail_store). It waits for a database
 * that another process holds as database_wait_s says.
 */
int with_store(const struct command_line *line, enum store_mode mode, with_store_fn *run,
               void *context);

/* The same with another file than the command line names. */
int with_store_at(const struct command_line *line, const char *path, enum store_mode mode,
                  with_store_fn *run, void *context);

/*
 * INVALID where ASSAY_DB_WAIT is no number of seconds up to a day. Every command checks it first.
 */
enum status database_check_wait(struct error *err);
/*
 * How many seconds to wait for a database that another process holds: ASSAY_DB_WAIT, else 10 to
 * read and 60 to write.
 */
double database_wait_s(enum store_mode mode);

#endif

/* with_bundle - a bundle read as if it were a database, without importing it anywhere. */
#ifndef ASSAY_CLI_WITH_BUNDLE_H
#define ASSAY_CLI_WITH_BUNDLE_H

#include "harness/cli/with_store.h"

/*
 * Verifies the bundle as `assay verify` does, takes it into a temporary database, reports both in
 * one line, calls `run` with it (`line->bundle` is the path) and deletes the database. A bundle
 * with wrong findings is refused. Returns an exit status.
 */
int with_bundle(const struct command_line *line, const char *path, with_store_fn *run,
                void *context);

#endif

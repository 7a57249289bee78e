/*
 * defaults - what a user has written once in place of options, in assay/config.yaml beside the keys
 * (key_folder):
 *
 *     db: /data/assay.db       # in place of --db; absolute, as all paths here
 *     key: /data/bench.key     # signs plans and ends
 *     roster: /data/roster     # of `assay verify`
 *     device: cuda:0           # that run, ab, matrix and calibrate measure
 *     protocol: standard       # of run and time
 *     quiet: true              # no progress
 *
 * An option wins over the environment, and the environment over the file. Device and protocol stand
 * in the recorded plan, however they were chosen.
 */
#ifndef ASSAY_CLI_DEFAULTS_H
#define ASSAY_CLI_DEFAULTS_H

#include <stdbool.h>

#include "harness/core/status.h"

/* Strings are on the heap until the program ends; NULL: not written. */
struct defaults {
    char *db, *key, *roster, *device, *protocol;
    bool quiet;
};

/* Of the file, if there is one. Else, and before defaults_load, all are absent. */
const struct defaults *defaults(void);

/*
 * Reads the file; db and key become ASSAY_DB and ASSAY_KEY where these are not set. INVALID:
 * "FILE:LINE: ..."; other errors of declaration_load, but that there is none.
 */
enum status defaults_load(struct error *err);

#endif

/* tool - what this very program is: version, commit, file and its digest. */
#ifndef ASSAY_RUNNER_TOOL_H
#define ASSAY_RUNNER_TOOL_H

#include <jansson.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"

/*
 * Says that this executable has the commands `worker`, `telemetry` and `probe`, with which it is
 * started again to measure. The program does so as it begins.
 */
void tool_has_commands(void);

/* "0.2.0 (1a2b3c4d5e6f, modified)" */
const char *tool_version(void);

/* Path of the running executable, heap; UNSUPPORTED where it does not have those commands. */
enum status tool_path(char **ret, struct error *err);

/* SHA-256 of the running executable's file. */
enum status tool_digest(struct digest *ret, struct error *err);

/* {"version", "commit", "modified", "compiler", "flags", "build_type", "digest"}; new object. */
json_t *tool_json(void);

#endif

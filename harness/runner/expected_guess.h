/* expected_guess - what the steps of a cell will take, from declarations alone. */
#ifndef ASSAY_RUNNER_EXPECTED_GUESS_H
#define ASSAY_RUNNER_EXPECTED_GUESS_H

#include <jansson.h>

#include "harness/runner/expected.h"
#include "protocols/protocol.h"

/*
 * In ns, at speeds of a small server's processor, or of an accelerator where the device is one.
 * What matters is how cells relate to each other: the first trials show how fast this machine is.
 * Errors as workload_from_json.
 */
enum status expected_guess(const struct protocol *protocol, const json_t *message,
                           double ret[EXPECTED_STEPS], struct error *err);

#endif

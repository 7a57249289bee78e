/*
 * folder_state - all files of an installed worker: which they are, and whether one of them is
 * another by now. The interpreter of a worker reads many more files than it maps.
 */
#ifndef ASSAY_RUNNER_FOLDER_STATE_H
#define ASSAY_RUNNER_FOLDER_STATE_H

#include "harness/core/digest.h"
#include "harness/core/status.h"

struct folder_state;

/*
 * The folder's files as they are now. `ret_digest` is the SHA-256 over path and content of those
 * that are the same wherever one lock file is installed: neither what Python compiled
 * (__pycache__), nor what names the place (pyvenv.cfg, venv/bin, and what pip notes in
 * *.dist-info). Heap.
 */
enum status folder_state_read(const char *folder, struct folder_state **ret,
                              struct digest *ret_digest, struct error *err);
void folder_state_destroy(struct folder_state *state); /* takes NULL */

/*
 * INVALID, with its path: a file was written, replaced or removed since, or one is new. What Python
 * compiled may be new once, and belongs to the state then.
 */
enum status folder_state_check(struct folder_state *state, struct error *err);

#endif

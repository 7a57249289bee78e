/*
 * shim - a test's requests to a stand-in for a vendor's libraries. Looked up with dlsym in the
 * library, or given by the environment, which is read when the library is loaded:
 *     ASSAY_SHIM_FAIL=FUNCTION@N:CODE  the N-th call (from 1) of FUNCTION gives CODE, or does one
 *                                      of crash, exit, hang
 *     ASSAY_SHIM_WALK=FOLDER           each process counts its calls in FOLDER/worker.1 and so on,
 *                                      and fails as FOLDER/plan says (call_walk.py)
 *
 * A failing call does nothing, except a release, so that nothing leaks. CODE 0 is false: success,
 * without a result.
 */
#ifndef ASSAY_TESTS_GPU_SHIM_H
#define ASSAY_TESTS_GPU_SHIM_H

/* From now on; counting restarts. NULL: nothing fails. */
void assay_shim_fail(const char *function, int n, int code);

/* Calls of a function since the last assay_shim_fail; 0 for one that was never called. */
int assay_shim_calls(const char *function);

/* Objects (contexts, streams, memory, modules, events ...) that were made and not released. */
int assay_shim_live(void);

#endif

/*
 * shim - a test's requests to the stand-in for libOpenCL.so.1. Looked up with dlsym in the library,
 * or given by the environment, which is read when the library is loaded:
 *     ASSAY_SHIM_FAIL=FUNCTION@N:CODE   the N-th call (from 1) of FUNCTION gives CODE
 *     ASSAY_SHIM_REAL=PATH              the library that calls are passed to (libOpenCL.so.1)
 *     ASSAY_SHIM_PLATFORMS_TWICE=1      the platforms are listed a second time after the last one
 *     ASSAY_SHIM_LACKS_F64=1            devices and their compiler have no fp64
 * A failing call does not reach the real library, except a release, so that nothing leaks there.
 * CODE 0 is false: success, without a result. CODE 1 in a query: the reported size is absurd.
 */
#ifndef ASSAY_TESTS_OPENCL_SHIM_H
#define ASSAY_TESTS_OPENCL_SHIM_H

#include <stdbool.h>

/* From now on; counting restarts. NULL: nothing fails. */
void assay_shim_fail(const char *function, int n, int code);

/* From now on every platform says that it has so many devices; each is its first one. 0: the truth.
 */
void assay_shim_devices(unsigned count);

/* From now on the platforms are listed a second time after the last one, or once. */
void assay_shim_platforms_twice(bool on);

/*
 * From now on devices are GPUs of this PCI vendor, with the 16 KiB of cache, the lack of ECC and
 * the place on the bus that AMD's driver reports. 0: the truth.
 */
void assay_shim_vendor(unsigned vendor);

/* Calls of a function since the last assay_shim_fail. */
int assay_shim_calls(const char *function);

/* Contexts, queues, buffers, programs, kernels and events that were made and not released. */
int assay_shim_live(void);

#endif

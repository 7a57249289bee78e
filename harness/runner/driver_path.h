/* driver_path - where a process that measures on a driver finds the libraries of its folder. */
#ifndef ASSAY_RUNNER_DRIVER_PATH_H
#define ASSAY_RUNNER_DRIVER_PATH_H

#include "harness/core/status.h"

/*
 * LD_LIBRARY_PATH for a driver whose libraries lie in `folder`, heap: its own are found before
 * others, so that versions of a driver do not share them. But what the folder brings of the
 * machine's stays the machine's: a loader (libOpenCL, libcuda), the libraries that assay itself
 * runs on, and the C++ library where the machine's is not the older one. Of those there are links
 * in a folder of the user's cache, which then comes first.
 *
 * Opens such a loader to learn where it is. NO_MEMORY; UNAVAILABLE, IO or DENIED: the links
 * cannot be made.
 */
enum status driver_path(const char *folder, char **ret, struct error *err);

#endif

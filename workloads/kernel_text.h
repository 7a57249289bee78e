/* kernel_text - the kernel texts of workloads/kernels/, as embedded in the binary. */
#ifndef ASSAY_WORKLOADS_KERNEL_TEXT_H
#define ASSAY_WORKLOADS_KERNEL_TEXT_H

#include <stddef.h>

#include "backends/backend.h"
#include "harness/core/status.h"

/*
 * Joins kernel texts into one heap string (free() it), in the order of `files` ("math.h",
 * "softmax.h"), each under its own #line, so that the compiler's messages name
 * workloads/kernels/<file>. INTERNAL when there is no such text.
 */
enum status kernel_text_join(const char *const *files, size_t count, char **ret, struct error *err);
/* Loads the joined texts as `source` says, but for its text. Errors of kernel_text_join and of
 * device_module_load. */
enum status kernel_text_load(struct device *device, const char *const *files, size_t count,
                             struct module_source source, struct module **ret, struct error *err);

#endif

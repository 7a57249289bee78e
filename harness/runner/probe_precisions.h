/*
 * probe_precisions - in which precisions a device multiplies matrices, asked in child processes.
 *
 * The device is opened and its library asked (operation_support), which may be slow or crash. One
 * child asks for all; when it fails, each precision gets a child of its own, so that a failure
 * affects no other precision.
 */
#ifndef ASSAY_RUNNER_PROBE_PRECISIONS_H
#define ASSAY_RUNNER_PROBE_PRECISIONS_H

#include <jansson.h>

/*
 * Adds "precisions" to each device of probe_run's answer, an array of {"precision",
 * "vendor": {"support", "method", "library", "version", "algorithm"},
 * "portable": {"support", "method"}, "convolution", "attention" and "attention_backward": as
 * "vendor"}. Devices are asked at the same time. A child that fails leaves "unknown" with how it
 * ended.
 */
void probe_precisions(json_t *probe);

/* The child's side: asks "opencl:0" for one precision by name, or for "all"; JSON to stdout. */
int probe_precisions_child_main(const char *device, const char *precision);

#endif

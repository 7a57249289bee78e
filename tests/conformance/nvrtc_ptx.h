/*
 * nvrtc_ptx - checks the arithmetic of a text in PTX. An instruction without .rn may be
 * fused with its neighbour by ptxas (PTX ISA, "Floating Point Instructions: add, mul"), so pinned
 * contraction shows as .rn on every product and sum, and as fma where F_FMA was written alone.
 */
#ifndef ASSAY_TESTS_CONFORMANCE_NVRTC_PTX_H
#define ASSAY_TESTS_CONFORMANCE_NVRTC_PTX_H

#include "backends/cuda/nvrtc.h"

/* Number of faults, each named on stdout: contractable, approximate or flushing instructions. */
size_t nvrtc_ptx_check(const struct nvrtc *nvrtc, const struct module_source *source);

/*
 * The check works: a * b + c has no fma and F_FMA has; with contraction allowed, with
 * fast division, and with flushing, the same text is found faulty.
 */
size_t nvrtc_ptx_check_itself(const struct nvrtc *nvrtc);

#endif

/*
 * hip - shared by the stand-ins for AMD's libraries. All are in one shared object, made twice:
 * as ROCm 6 and, with SHIM_HIP_5, as ROCm 5, which lacks functions and has older layouts.
 */
#ifndef ASSAY_TESTS_GPU_SHIM_HIP_H
#define ASSAY_TESTS_GPU_SHIM_HIP_H

#include "backends/gpu/gpu.h"

#ifdef SHIM_HIP_5
#define SHIM_HIP_VERSION 50221153
#define SHIM_HIP_ARCH "gfx906:sramecc+:xnack-"
#else
#define SHIM_HIP_VERSION 60241134
#define SHIM_HIP_ARCH "gfx942:sramecc+:xnack-"
#endif
#define SHIM_HIP_PCI "0000:C3:00.0"
#define SHIM_HIP_PCI_NUMBER 0xc300u

/* The stand-in for a code object: these bytes and the text for core_module_create. */
#define SHIM_HIP_IMAGE "assay stand-in for a code object\n"

#endif

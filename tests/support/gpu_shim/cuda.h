/* cuda - shared by the stand-ins for NVIDIA's libraries. All are in one shared object. */
#ifndef ASSAY_TESTS_GPU_SHIM_CUDA_H
#define ASSAY_TESTS_GPU_SHIM_CUDA_H

#include "backends/gpu/gpu.h"

#define SHIM_CUDA_VERSION 13000
#define SHIM_PCI "0000:a5:00.0"
#define SHIM_ARGUMENTS GPU_ARGUMENTS_PREFIX

/* The stand-in for a CUBIN: these bytes and the text for core_module_create. */
#define SHIM_IMAGE "assay stand-in for a CUBIN\n"

#endif

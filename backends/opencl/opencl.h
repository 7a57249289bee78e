/*
 * opencl - every platform and device that the OpenCL ICD loader offers.
 *
 * Devices are numbered over all platforms, in the loader's order. The loader is libOpenCL.so.1;
 * another one is chosen by ASSAY_LIB_OPENCL or on the command line (see harness/core/dynlib.h).
 */
#ifndef ASSAY_BACKENDS_OPENCL_OPENCL_H
#define ASSAY_BACKENDS_OPENCL_OPENCL_H

#include "backends/backend.h"

extern const struct backend_ops opencl_backend_ops;

#endif

/* cuda - NVIDIA devices through the CUDA driver API; README.md says how. */
#ifndef ASSAY_BACKENDS_CUDA_H
#define ASSAY_BACKENDS_CUDA_H

#include "backends/backend.h"

extern const struct backend_ops cuda_backend_ops;

#endif

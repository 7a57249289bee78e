/* hip - AMD GPUs through the HIP runtime, compiled for by HIPRTC. See README.md of this folder. */
#ifndef ASSAY_BACKENDS_HIP_HIP_H
#define ASSAY_BACKENDS_HIP_HIP_H

#include "backends/backend.h"

extern const struct backend_ops hip_backend_ops;

#endif

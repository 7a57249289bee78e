/* cpu - the backend of this processor: kernels through the C compiler, GEMMs through oneDNN. */
#ifndef ASSAY_BACKENDS_CPU_CPU_H
#define ASSAY_BACKENDS_CPU_CPU_H

#include "backends/backend.h"

extern const struct backend_ops cpu_backend_ops;

#endif

/* skeleton - the least that a backend is, to copy from. Not in the registry's table. */
#ifndef ASSAY_BACKENDS_SKELETON_SKELETON_H
#define ASSAY_BACKENDS_SKELETON_SKELETON_H

#include "backends/backend.h"

extern const struct backend_ops skeleton_backend_ops;

#endif

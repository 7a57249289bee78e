/*
 * null - a backend whose purpose is to test the tool: it runs no kernels but takes the declared
 * time for each, and fails on request. README.md has the variable ASSAY_NULL.
 */
#ifndef ASSAY_BACKENDS_NULL_NULL_H
#define ASSAY_BACKENDS_NULL_NULL_H

#include "backends/backend.h"

extern const struct backend_ops null_backend_ops;

#endif

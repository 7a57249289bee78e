/*
 * storage - arrays in the storage types of backends/DIALECT.md, on the host: f32, bf16, f16.
 *
 * Encoding rounds as the kernels' STORE_ macros do: to nearest even, overflow to infinity, a NaN
 * stays one.
 */
#ifndef ASSAY_WORKLOADS_STORAGE_H
#define ASSAY_WORKLOADS_STORAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/backend.h"
#include "harness/core/precision.h"

/* True for f32, bf16 and f16. */
bool storage_is_known(enum dtype type);
/* Half the distance from 1 to the next number: 2^-24, 2^-8, 2^-11. */
double storage_unit_roundoff(enum dtype type);

#define STORAGE_DEFINES 3
/*
 * The defines by which a kernel text takes its storage type: storage, LOAD and STORE. For f64 the
 * text has to say what LOAD_F64 and STORE_F64 are.
 */
void storage_defines(enum dtype type, struct module_define ret[STORAGE_DEFINES]);

void storage_encode(enum dtype type, const float *values, uint64_t count, void *ret);
void storage_decode(enum dtype type, const void *bytes, uint64_t count, float *ret);

#endif

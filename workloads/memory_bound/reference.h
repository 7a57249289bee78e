/*
 * reference - the expected result of each kernel, in fp64 and plain C, and how far from it a device
 * may be; AdamW's are in adamw.c.
 *
 * A reference fills `ret` with the elements [begin, begin + count) of the output, whole rows for
 * layer_norm and softmax. A tolerance counts roundings of fp32 (MEMORY_U), storage types apart.
 */
#ifndef ASSAY_WORKLOADS_MEMORY_BOUND_REFERENCE_H
#define ASSAY_WORKLOADS_MEMORY_BOUND_REFERENCE_H

#include "workloads/memory_bound/memory_bound.h"

memory_reference_fn memory_reference_copy, memory_reference_scale, memory_reference_add,
    memory_reference_triad, memory_reference_dot, memory_reference_gelu,
    memory_reference_layer_norm, memory_reference_softmax, memory_reference_transpose,
    memory_reference_gather;
memory_reference_fn memory_reference_adamw_w, memory_reference_adamw_m, memory_reference_adamw_v;

memory_roundings_fn memory_roundings_none, memory_roundings_one, memory_roundings_two,
    memory_roundings_dot, memory_roundings_gelu, memory_roundings_layer_norm,
    memory_roundings_softmax;
memory_roundings_fn memory_roundings_adamw_w, memory_roundings_adamw_m, memory_roundings_adamw_v;

#endif

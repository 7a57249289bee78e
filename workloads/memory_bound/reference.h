/*
 * reference - the expected result of each kernel, in fp64 and plain C, and how far from it a device
 * may be.
 *
 * A reference fills `ret` with the elements [begin, begin + count) of the output, whole rows for
 * layer_norm and softmax. A tolerance counts roundings of fp32 (MEMORY_U), storage types apart.
 */
#ifndef ASSAY_WORKLOADS_MEMORY_BOUND_REFERENCE_H
#define ASSAY_WORKLOADS_MEMORY_BOUND_REFERENCE_H

#include "workloads/memory_bound/memory_bound.h"

void memory_reference_copy(const struct memory_data *data, uint64_t begin, uint64_t count,
                           struct memory_expected *ret);
void memory_reference_scale(const struct memory_data *data, uint64_t begin, uint64_t count,
                            struct memory_expected *ret);
void memory_reference_add(const struct memory_data *data, uint64_t begin, uint64_t count,
                          struct memory_expected *ret);
void memory_reference_triad(const struct memory_data *data, uint64_t begin, uint64_t count,
                            struct memory_expected *ret);
void memory_reference_dot(const struct memory_data *data, uint64_t begin, uint64_t count,
                          struct memory_expected *ret);
void memory_reference_gelu(const struct memory_data *data, uint64_t begin, uint64_t count,
                           struct memory_expected *ret);
void memory_reference_layer_norm(const struct memory_data *data, uint64_t begin, uint64_t count,
                                 struct memory_expected *ret);
void memory_reference_softmax(const struct memory_data *data, uint64_t begin, uint64_t count,
                              struct memory_expected *ret);
void memory_reference_transpose(const struct memory_data *data, uint64_t begin, uint64_t count,
                                struct memory_expected *ret);
void memory_reference_gather(const struct memory_data *data, uint64_t begin, uint64_t count,
                             struct memory_expected *ret);

double memory_roundings_none(const struct memory_instance *instance);
double memory_roundings_one(const struct memory_instance *instance);
double memory_roundings_two(const struct memory_instance *instance);
double memory_roundings_dot(const struct memory_instance *instance);
double memory_roundings_gelu(const struct memory_instance *instance);
double memory_roundings_layer_norm(const struct memory_instance *instance);
double memory_roundings_softmax(const struct memory_instance *instance);

#endif

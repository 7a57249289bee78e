/* words - a device's bits as names, for its readings; "none" where no bit is set. */
#ifndef ASSAY_BACKENDS_OPENCL_WORDS_H
#define ASSAY_BACKENDS_OPENCL_WORDS_H

#include <stdint.h>

#include "harness/core/text.h"

/* "denormals inf_nan round_nearest fma"; 0 means that fp64 is absent. */
void opencl_append_fp_config(struct text *text, uint64_t bits);

/* "4x8bit_packed 4x8bit" */
void opencl_append_dot_inputs(struct text *text, uint64_t bits);

#define OPENCL_DOT_KINDS 6

/* The members of cl_device_integer_dot_product_acceleration_properties_khr, in their order. */
void opencl_append_dot_acceleration(struct text *text,
                                    const uint32_t accelerated[OPENCL_DOT_KINDS]);

#endif

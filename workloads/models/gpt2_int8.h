/*
 * gpt2_int8 - the model's weights in i8, and the scales of what they are multiplied with.
 *
 * Symmetric, to nearest even, -127..127. Weights: one scale an output channel, the largest absolute
 * value over 127. Inputs: one static scale a GEMM, from a percentile of the absolute values that
 * a run in fp32 over calibration sequences shows; values beyond it are clipped. A GEMM with a
 * weight is a site: qkv, attention projection, fc and fc projection of each layer, then the head.
 *
 * The i8 array holds each weight as (outputs, inputs): the token embedding (the head's weight, with
 * rows of zeros up to gpt2_int8_head_rows), then the matrices of the layers. Embeddings, biases and
 * norms stay in the storage type; the parameter array of a quantised model leaves the matrices of
 * the layers out.
 */
#ifndef ASSAY_WORKLOADS_MODELS_GPT2_INT8_H
#define ASSAY_WORKLOADS_MODELS_GPT2_INT8_H

#include "workloads/data/tokens.h"
#include "workloads/models/gpt2.h"
#include "workloads/ops/ops.h"

struct gpt2_int8_site {
    uint64_t inputs, outputs; /* of a row of the GEMM */
    /* In the array of gpt2.h: where the weight begins, and how far apart outputs and inputs are. */
    uint64_t from, output_stride, input_stride;
    uint64_t weights, scales; /* where its i8 array and its scales begin */
    bool head;
};
uint64_t gpt2_int8_sites(const struct gpt2_shape *shape); /* the last is the head */
struct gpt2_int8_site gpt2_int8_site_at(const struct gpt2_shape *shape, uint64_t index);

/*
 * Rows of the head's weight, and columns of its GEMM: the vocabulary rounded up to 4, which
 * cuBLAS documents of GEMMs in int8. The results of the rows beyond it are not read.
 */
uint64_t gpt2_int8_head_rows(const struct gpt2_shape *shape);

/* Elements of the i8 array, and of the weights' scales. */
uint64_t gpt2_int8_length(const struct gpt2_shape *shape);
uint64_t gpt2_int8_scale_count(const struct gpt2_shape *shape);
/* Elements of the parameter array that a quantised model leaves out: the matrices of all layers. */
uint64_t gpt2_int8_left_out(const struct gpt2_shape *shape);

/*
 * Quantises all weights (laid out as gpt2.h says) into `ret` (gpt2_int8_length, padding zero) and
 * `scales`. `ret_noise`, which may be NULL, has room for a number a site: the RMS of the rounding
 * over that of the weights, computed from the steps.
 */
void gpt2_int8_quantise(const struct gpt2_shape *shape, const float *weights, int8_t *ret,
                        float *scales, double *ret_noise);

/* What calibration found of the input of a site. */
struct gpt2_int8_input {
    float scale;
    float largest; /* absolute value */
    double rms;
    uint64_t values, clipped; /* values seen, and those beyond 127 scale */
};

/*
 * Runs the model in fp32 over `sequences` of the source, beginning with `first`, one at a time, and
 * fills `ret` (one a site). The scale is the largest, over the sequences, of the `percentile` (0 to
 * 100) of the absolute values, over 127. `choices` as ops_create takes them. Frees all it made.
 */
struct gpt2_calibration {
    const struct gpt2_shape *shape;
    uint64_t length;
    const struct token_source *source;
    uint64_t first, sequences;
    double percentile;
};
enum status gpt2_int8_calibrate(const struct gpt2_calibration *calibration, struct device *device,
                                const struct workload_case *work, const json_t *choices,
                                struct gpt2_int8_input *ret, struct error *err);

/* The `percentile` of absolute values: the smallest that so many of `count` do not exceed. Exact.
 */
float gpt2_int8_percentile(const float *values, uint64_t count, double percentile);

#endif

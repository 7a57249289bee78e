#include "gpt2_witness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/check/reference_math.h"

#define WORTH_THREADS 30000 /* elements below which one thread is faster */

/* Of one layer, kept for the backward pass; all are rows of tokens. */
struct layer_state {
    double *input; /* residual stream before the layer (width) */
    double *norm1, *mean1, *rstd1;
    double *qkv;    /* 3*width */
    double *p;      /* sequences*heads*length*length */
    double *values; /* width */
    double *middle; /* residual stream after attention */
    double *norm2, *mean2, *rstd2;
    double *fc, *gelu; /* mlp_width */
};

struct gpt2_witness_state {
    struct layer_state *layers;
    size_t layer_count; /* kept: all when training, else one */
    double *last;       /* residual stream after the last layer */
    double *normf, *meanf, *rstdf;
    double *dx, *dnorm, *dqkv, *dvalues, *dfc, *dp; /* training only */
    double *pool;                                   /* all of the above lie in here */
};

/* Hands out parts of the pool; counts only while the pool is NULL. */
static double *take(double *pool, uint64_t *used, uint64_t count)
{
    double *part = pool ? pool + *used : NULL;

    *used += count;
    return part;
}

static uint64_t lay_out(struct gpt2_witness *ref, double *pool, bool training)
{
    struct gpt2_witness_state *state = ref->state;
    uint64_t rows = ref->sequences * ref->length, d = ref->shape.width, used = 0;
    uint64_t scores = ref->sequences * ref->shape.heads * ref->length * ref->length;

    for (size_t l = 0; l < state->layer_count; l++) {
        struct layer_state *layer = &state->layers[l];

        layer->input = take(pool, &used, rows * d);
        layer->norm1 = take(pool, &used, rows * d);
        layer->mean1 = take(pool, &used, rows);
        layer->rstd1 = take(pool, &used, rows);
        layer->qkv = take(pool, &used, rows * 3 * d);
        layer->p = take(pool, &used, scores);
        layer->values = take(pool, &used, rows * d);
        layer->middle = take(pool, &used, rows * d);
        layer->norm2 = take(pool, &used, rows * d);
        layer->mean2 = take(pool, &used, rows);
        layer->rstd2 = take(pool, &used, rows);
        layer->fc = take(pool, &used, rows * ref->shape.mlp_width);
        layer->gelu = take(pool, &used, rows * ref->shape.mlp_width);
    }
    state->last = take(pool, &used, rows * d);
    state->normf = take(pool, &used, rows * d);
    state->meanf = take(pool, &used, rows);
    state->rstdf = take(pool, &used, rows);
    if (training) {
        state->dx = take(pool, &used, rows * d);
        state->dnorm = take(pool, &used, rows * d);
        state->dqkv = take(pool, &used, rows * 3 * d);
        state->dvalues = take(pool, &used, rows * d);
        state->dfc = take(pool, &used, rows * ref->shape.mlp_width);
        state->dp = take(pool, &used, scores);
    }
    return used;
}

enum status gpt2_witness_create(const struct gpt2_shape *shape, uint64_t sequences, uint64_t length,
                                bool training, struct gpt2_witness **ret, struct error *err)
{
    struct gpt2_witness *ref = calloc(1, sizeof(*ref));
    uint64_t pool = 0, logits = sequences * length * shape->vocabulary;

    if (!ref)
        goto fail;
    ref->shape = *shape;
    ref->sequences = sequences;
    ref->length = length;
    ref->state = calloc(1, sizeof(*ref->state));
    if (!ref->state)
        goto fail;
    ref->state->layer_count = training ? shape->layers : 1;
    ref->state->layers = calloc(ref->state->layer_count, sizeof(struct layer_state));
    if (!ref->state->layers)
        goto fail;
    pool = lay_out(ref, NULL, training);
    ref->state->pool = malloc(pool * sizeof(double));
    ref->logits = malloc(logits * sizeof(double));
    if (training)
        ref->gradients = malloc(gpt2_array_length(shape) * sizeof(double));
    if (!ref->state->pool || !ref->logits || (training && !ref->gradients))
        goto fail;
    lay_out(ref, ref->state->pool, training);
    *ret = ref;
    return STATUS_OK;
fail:
    gpt2_witness_destroy(ref);
    return error_set(err, STATUS_NO_MEMORY, "the fp64 reference needs %.1f GiB of host memory",
                     (double)(pool + logits + (training ? gpt2_array_length(shape) : 0)) *
                         sizeof(double) / 0x1p30);
}

void gpt2_witness_destroy(struct gpt2_witness *reference)
{
    if (!reference)
        return;
    if (reference->state) {
        free(reference->state->pool);
        free(reference->state->layers);
    }
    free(reference->state);
    free(reference->logits);
    free(reference->gradients);
    free(reference);
}

void gpt2_witness_drop(struct gpt2_witness **reference)
{
    gpt2_witness_destroy(*reference);
}

static const float *weight(const struct gpt2_witness *ref, const float *parameters,
                           enum gpt2_tensor_id id, uint64_t layer)
{
    return parameters + gpt2_offset(&ref->shape, id, layer);
}

static double *gradient(const struct gpt2_witness *ref, enum gpt2_tensor_id id, uint64_t layer)
{
    return ref->gradients + gpt2_offset(&ref->shape, id, layer);
}

/* y = x W + b, W of (inputs, outputs). */
static enum status linear(const struct gpt2_witness *ref, const double *x, const float *w,
                          const float *b, double *y, uint64_t inputs, uint64_t outputs,
                          struct error *err)
{
    uint64_t rows = ref->sequences * ref->length;
    struct reference_matrix xm = {.f64 = x, .stride = inputs};
    struct reference_matrix wm = {.f32 = w, .stride = outputs};

    TRY(reference_gemm(y, outputs, xm, wm, rows, outputs, inputs, false, err));
    reference_bias_add(y, b, rows, outputs);
    return STATUS_OK;
}

static enum status linear_backward(const struct gpt2_witness *ref, const double *x, const float *w,
                                   const double *dy, double *dx, double *dw, double *db,
                                   uint64_t inputs, uint64_t outputs, struct error *err)
{
    uint64_t rows = ref->sequences * ref->length;
    struct reference_matrix xt = {.f64 = x, .stride = inputs, .transpose = true};
    struct reference_matrix dym = {.f64 = dy, .stride = outputs};
    struct reference_matrix wt = {.f32 = w, .stride = outputs, .transpose = true};

    TRY(reference_gemm(dx, inputs, dym, wt, rows, inputs, outputs, false, err));
    TRY(reference_gemm(dw, outputs, xt, dym, inputs, outputs, rows, false, err));
    reference_column_sum(dy, db, rows, outputs);
    return STATUS_OK;
}

static struct reference_head head_of(const struct gpt2_witness *ref,
                                     const struct layer_state *layer, uint64_t sequence,
                                     uint64_t head)
{
    uint64_t d = ref->shape.width, size = d / ref->shape.heads;
    const double *q = layer->qkv + sequence * ref->length * 3 * d + head * size;

    return (struct reference_head){.q = q,
                                   .k = q + d,
                                   .v = q + 2 * d,
                                   .length = ref->length,
                                   .size = size,
                                   .stride = 3 * d,
                                   .width = d};
}

static enum status attention(const struct gpt2_witness *ref, const struct layer_state *layer,
                             bool backward, struct error *err)
{
    const struct gpt2_witness_state *state = ref->state;
    const uint64_t d = ref->shape.width, heads = ref->shape.heads, size = d / heads;
    const uint64_t n = ref->length;
    bool failed = false;

    /* A head to a thread: the GEMMs inside are small. */
#pragma omp parallel for schedule(static)                                                          \
    reduction(||                                                                                   \
              : failed) if (ref->sequences * heads * n * n > WORTH_THREADS)
    for (uint64_t i = 0; i < ref->sequences * heads; i++) {
        const uint64_t s = i / heads, h = i % heads;
        const struct reference_head head = head_of(ref, layer, s, h);
        const uint64_t values = s * n * d + h * size, qkv = s * n * 3 * d + h * size;
        double *p = layer->p + i * n * n;
        enum status status;

        if (backward)
            status = reference_head_backward(head, p, state->dvalues + values, state->dqkv + qkv,
                                             state->dqkv + qkv + d, state->dqkv + qkv + 2 * d,
                                             state->dp + i * n * n, false, NULL);
        else
            status = reference_head_forward(head, p, layer->values + values, NULL);
        failed = failed || status != STATUS_OK;
    }
    return failed ? error_no_memory(err) : STATUS_OK;
}

static void add(double *out, const double *a, const double *b, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        out[i] = a[i] + b[i];
}

/* One layer: layer->input to `output`. */
static enum status layer_forward(const struct gpt2_witness *ref, const float *w, uint64_t l,
                                 struct layer_state *layer, double *output, struct error *err)
{
    uint64_t d = ref->shape.width, m = ref->shape.mlp_width;
    uint64_t rows = ref->sequences * ref->length;

    reference_norm_forward(layer->input, weight(ref, w, GPT2_LN1_G, l),
                           weight(ref, w, GPT2_LN1_B, l), layer->norm1, layer->mean1, layer->rstd1,
                           rows, d, GPT2_NORM_EPSILON);
    TRY(linear(ref, layer->norm1, weight(ref, w, GPT2_ATTN_W, l), weight(ref, w, GPT2_ATTN_B, l),
               layer->qkv, d, 3 * d, err));
    TRY(attention(ref, layer, false, err));
    TRY(linear(ref, layer->values, weight(ref, w, GPT2_ATTN_PROJ_W, l),
               weight(ref, w, GPT2_ATTN_PROJ_B, l), layer->middle, d, d, err));
    add(layer->middle, layer->middle, layer->input, rows * d);
    reference_norm_forward(layer->middle, weight(ref, w, GPT2_LN2_G, l),
                           weight(ref, w, GPT2_LN2_B, l), layer->norm2, layer->mean2, layer->rstd2,
                           rows, d, GPT2_NORM_EPSILON);
    TRY(linear(ref, layer->norm2, weight(ref, w, GPT2_FC_W, l), weight(ref, w, GPT2_FC_B, l),
               layer->fc, d, m, err));
#pragma omp parallel for schedule(static) if (rows * m > WORTH_THREADS)
    for (uint64_t i = 0; i < rows * m; i++)
        layer->gelu[i] = reference_gelu(layer->fc[i]);
    TRY(linear(ref, layer->gelu, weight(ref, w, GPT2_FC_PROJ_W, l),
               weight(ref, w, GPT2_FC_PROJ_B, l), output, m, d, err));
    add(output, output, layer->middle, rows * d);
    return STATUS_OK;
}

/* log(sum(exp(logits))) of a row, and its largest element. */
static double log_sum(const double *logits, uint64_t count)
{
    double top = -INFINITY, sum = 0.0;

    for (uint64_t i = 0; i < count; i++)
        top = logits[i] > top ? logits[i] : top;
    for (uint64_t i = 0; i < count; i++)
        sum += exp(logits[i] - top);
    return top + log(sum);
}

static enum status mean_loss(struct gpt2_witness *ref, const int32_t *targets, struct error *err)
{
    uint64_t rows = ref->sequences * ref->length, v = ref->shape.vocabulary;
    double *losses = malloc(rows * sizeof(*losses)), sum = 0.0;

    if (!losses)
        return error_no_memory(err);
#pragma omp parallel for schedule(static) if (rows * v > WORTH_THREADS)
    for (uint64_t r = 0; r < rows; r++)
        losses[r] = log_sum(ref->logits + r * v, v) - ref->logits[r * v + (uint64_t)targets[r]];
    for (uint64_t r = 0; r < rows; r++)
        sum += losses[r];
    ref->loss = sum / (double)rows;
    free(losses);
    return STATUS_OK;
}

enum status gpt2_witness_forward(struct gpt2_witness *ref, const float *parameters,
                                 const int32_t *tokens, const int32_t *targets, struct error *err)
{
    struct gpt2_witness_state *state = ref->state;
    uint64_t rows = ref->sequences * ref->length, d = ref->shape.width;
    const float *wte = weight(ref, parameters, GPT2_WTE, 0);
    const float *wpe = weight(ref, parameters, GPT2_WPE, 0);
    struct reference_matrix hidden = {.f64 = state->normf, .stride = d};
    struct reference_matrix head = {.f32 = wte, .stride = d, .transpose = true};

    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t i = 0; i < d; i++)
            state->layers[0].input[r * d + i] =
                (double)wte[(uint64_t)tokens[r] * d + i] + (double)wpe[r % ref->length * d + i];
    for (uint64_t l = 0; l < ref->shape.layers; l++) {
        size_t kept = state->layer_count > 1 ? l : 0;
        bool final = l + 1 == ref->shape.layers;
        double *output =
            final || kept + 1 >= state->layer_count ? state->last : state->layers[kept + 1].input;

        TRY(layer_forward(ref, parameters, l, &state->layers[kept], output, err));
        if (!final && output == state->last)
            memcpy(state->layers[0].input, output, rows * d * sizeof(double));
    }
    reference_norm_forward(state->last, weight(ref, parameters, GPT2_LNF_G, 0),
                           weight(ref, parameters, GPT2_LNF_B, 0), state->normf, state->meanf,
                           state->rstdf, rows, d, GPT2_NORM_EPSILON);
    TRY(reference_gemm(ref->logits, ref->shape.vocabulary, hidden, head, rows,
                       ref->shape.vocabulary, d, false, err));
    return targets ? mean_loss(ref, targets, err) : STATUS_OK;
}

static enum status layer_backward(const struct gpt2_witness *ref, const float *w, uint64_t l,
                                  struct error *err)
{
    const struct gpt2_witness_state *state = ref->state;
    const struct layer_state *layer = &state->layers[l];
    uint64_t d = ref->shape.width, m = ref->shape.mlp_width;
    uint64_t rows = ref->sequences * ref->length;

    TRY(linear_backward(ref, layer->gelu, weight(ref, w, GPT2_FC_PROJ_W, l), state->dx, state->dfc,
                        gradient(ref, GPT2_FC_PROJ_W, l), gradient(ref, GPT2_FC_PROJ_B, l), m, d,
                        err));
#pragma omp parallel for schedule(static) if (rows * m > WORTH_THREADS)
    for (uint64_t i = 0; i < rows * m; i++)
        state->dfc[i] *= reference_gelu_derivative(layer->fc[i]);
    TRY(linear_backward(ref, layer->norm2, weight(ref, w, GPT2_FC_W, l), state->dfc, state->dnorm,
                        gradient(ref, GPT2_FC_W, l), gradient(ref, GPT2_FC_B, l), d, m, err));
    reference_norm_backward(layer->middle, weight(ref, w, GPT2_LN2_G, l), layer->mean2,
                            layer->rstd2, state->dnorm, state->dx, gradient(ref, GPT2_LN2_G, l),
                            gradient(ref, GPT2_LN2_B, l), rows, d);
    TRY(linear_backward(ref, layer->values, weight(ref, w, GPT2_ATTN_PROJ_W, l), state->dx,
                        state->dvalues, gradient(ref, GPT2_ATTN_PROJ_W, l),
                        gradient(ref, GPT2_ATTN_PROJ_B, l), d, d, err));
    TRY(attention(ref, layer, true, err));
    TRY(linear_backward(ref, layer->norm1, weight(ref, w, GPT2_ATTN_W, l), state->dqkv,
                        state->dnorm, gradient(ref, GPT2_ATTN_W, l), gradient(ref, GPT2_ATTN_B, l),
                        d, 3 * d, err));
    reference_norm_backward(layer->input, weight(ref, w, GPT2_LN1_G, l), layer->mean1, layer->rstd1,
                            state->dnorm, state->dx, gradient(ref, GPT2_LN1_G, l),
                            gradient(ref, GPT2_LN1_B, l), rows, d);
    return STATUS_OK;
}

/* Logits become their gradient: (softmax - onehot) / tokens. */
static void logits_backward(struct gpt2_witness *ref, const int32_t *targets)
{
    uint64_t rows = ref->sequences * ref->length, v = ref->shape.vocabulary;

#pragma omp parallel for schedule(static) if (rows * v > WORTH_THREADS)
    for (uint64_t r = 0; r < rows; r++) {
        double *row = ref->logits + r * v, total = log_sum(row, v);

        for (uint64_t i = 0; i < v; i++)
            row[i] = (exp(row[i] - total) - (i == (uint64_t)targets[r] ? 1.0 : 0.0)) / (double)rows;
    }
}

enum status gpt2_witness_backward(struct gpt2_witness *ref, const float *parameters,
                                  const int32_t *tokens, const int32_t *targets, struct error *err)
{
    struct gpt2_witness_state *state = ref->state;
    uint64_t rows = ref->sequences * ref->length, d = ref->shape.width;
    uint64_t v = ref->shape.vocabulary;
    double *dwte = gradient(ref, GPT2_WTE, 0), *dwpe = gradient(ref, GPT2_WPE, 0);
    struct reference_matrix dlogits = {.f64 = ref->logits, .stride = v};
    struct reference_matrix dlogits_t = {.f64 = ref->logits, .stride = v, .transpose = true};
    struct reference_matrix hidden = {.f64 = state->normf, .stride = d};
    struct reference_matrix head = {.f32 = weight(ref, parameters, GPT2_WTE, 0), .stride = d};

    memset(ref->gradients, 0, gpt2_array_length(&ref->shape) * sizeof(double));
    memset(state->dx, 0, rows * d * sizeof(double));
    logits_backward(ref, targets);
    TRY(reference_gemm(dwte, d, dlogits_t, hidden, v, d, rows, false, err));
    TRY(reference_gemm(state->dnorm, d, dlogits, head, rows, d, v, false, err));
    reference_norm_backward(state->last, weight(ref, parameters, GPT2_LNF_G, 0), state->meanf,
                            state->rstdf, state->dnorm, state->dx, gradient(ref, GPT2_LNF_G, 0),
                            gradient(ref, GPT2_LNF_B, 0), rows, d);
    for (uint64_t l = ref->shape.layers; l-- > 0;) {
        TRY(layer_backward(ref, parameters, l, err));
    }
    for (uint64_t r = 0; r < rows; r++) {
        for (uint64_t i = 0; i < d; i++) {
            dwte[(uint64_t)tokens[r] * d + i] += state->dx[r * d + i];
            dwpe[r % ref->length * d + i] += state->dx[r * d + i];
        }
    }
    return STATUS_OK;
}

/* The forward and backward pass: the order of the launches, and where each operand lies. */
#include <math.h>

#include "workloads/models/gpt2_passes.h"

struct operand gpt2_at(const struct gpt2_device *model, enum gpt2_buffer buffer, uint64_t offset)
{
    return (struct operand){model->buffers[buffer], offset};
}

struct operand gpt2_operand(const struct gpt2_device *model, enum gpt2_buffer array,
                            enum gpt2_tensor_id id, uint64_t layer)
{
    uint64_t offset = gpt2_offset(&model->plan.shape, id, layer);

    if (model->plan.quantised && id >= GPT2_LN1_G)
        offset -= gpt2_int8_left_out(&model->plan.shape);
    return gpt2_at(model, array, offset);
}

/* Of kept activations: half layer `half` (2 * layer, + 1 for the MLP, 2 * layers at the end). */
struct operand gpt2_half(const struct gpt2_device *model, enum gpt2_buffer buffer, uint64_t index,
                         uint64_t columns)
{
    return gpt2_at(model, buffer, model->plan.training ? index * model->tokens.rows * columns : 0);
}

struct operand gpt2_layer_at(const struct gpt2_device *model, enum gpt2_buffer buffer,
                             uint64_t layer, uint64_t columns)
{
    return gpt2_at(model, buffer, model->plan.training ? layer * model->tokens.rows * columns : 0);
}

static struct operand scores_of(const struct gpt2_device *model, uint64_t layer)
{
    return gpt2_layer_at(model, GPT2_SCORES, layer, model->plan.shape.heads * model->plan.length);
}

struct op_norm gpt2_norm_of(const struct gpt2_device *model, uint64_t index, enum gpt2_buffer array)
{
    const uint64_t layers = model->plan.shape.layers;
    const bool final = index == 2 * layers, second = index % 2 == 1;

    return (struct op_norm){
        .rows = model->tokens.rows,
        .width = model->plan.shape.width,
        .x = gpt2_half(model, GPT2_RESIDUAL, index, model->plan.shape.width),
        .gain = gpt2_operand(model, array,
                             final    ? GPT2_LNF_G
                             : second ? GPT2_LN2_G
                                      : GPT2_LN1_G,
                             index / 2),
        .bias = gpt2_operand(model, array,
                             final    ? GPT2_LNF_B
                             : second ? GPT2_LN2_B
                                      : GPT2_LN1_B,
                             index / 2),
        .mean = gpt2_half(model, GPT2_MEAN, index, 1),
        .rstd = gpt2_half(model, GPT2_RSTD, index, 1),
        .epsilon = (float)GPT2_NORM_EPSILON,
    };
}

enum status gpt2_retire(struct gpt2_device *model, enum gpt2_buffer buffer, struct error *err)
{
    return model->retire ? model->retire(model, buffer, err) : STATUS_OK;
}

/* Of an array that the next layer uses again, unless each has its own. */
static enum status retire_shared(struct gpt2_device *model, enum gpt2_buffer buffer,
                                 struct error *err)
{
    return model->plan.training ? STATUS_OK : gpt2_retire(model, buffer, err);
}

static enum status norm_forward(struct gpt2_device *model, uint64_t index, struct error *err)
{
    const struct op_norm norm = gpt2_norm_of(model, index, GPT2_PARAMETERS);

    return op_norm_forward(model->ops, &norm,
                           gpt2_half(model, GPT2_NORM, index, model->plan.shape.width), err);
}

static enum status norm_backward(struct gpt2_device *model, uint64_t index, bool add,
                                 struct error *err)
{
    const struct op_norm norm = gpt2_norm_of(model, index, GPT2_PARAMETERS);

    TRY(op_norm_backward(model->ops, &norm, model->buffers[GPT2_D_NARROW],
                         model->buffers[GPT2_D_RESIDUAL], add, model->buffers[GPT2_GRADIENTS],
                         err));
    return gpt2_retire(model, GPT2_D_NARROW, err);
}

static enum status gpt2_observe(struct gpt2_device *model, uint64_t site, struct operand x,
                                uint64_t count, struct error *err)
{
    return model->observe ? model->observe(model->observer, site, x, count, err) : STATUS_OK;
}

/* y = x W + b (+ d), W of (inputs, outputs). */
struct linear {
    enum gpt2_tensor_id weight, bias;
    uint64_t layer, inputs, outputs;
};

static enum status linear_forward(struct gpt2_device *model, const struct linear *linear,
                                  struct operand x, struct operand y, struct operand d,
                                  struct error *err)
{
    const struct op_gemm gemm = {
        .m = model->tokens.rows,
        .n = linear->outputs,
        .k = linear->inputs,
        .a = {.at = x, .type = model->plan.storage, .stride = linear->inputs},
        .b = {.at = gpt2_operand(model, GPT2_PARAMETERS, linear->weight, linear->layer),
              .type = model->plan.storage,
              .stride = linear->outputs},
        .c = {.at = y, .type = model->plan.storage, .stride = linear->outputs},
        .bias = gpt2_operand(model, GPT2_PARAMETERS, linear->bias, linear->layer),
        .bias_type = model->plan.storage,
        .d = d,
        .constant_b = !model->plan.training,
    };

    TRY(gpt2_observe(model, gpt2_int8_site(linear->weight, linear->layer), x, gemm.m * gemm.k,
                     err));
    return op_gemm(model->ops, &gemm, err);
}

/* dx = dy W^T; dW = x^T dy; db = sum of dy over rows. */
static enum status linear_backward(struct gpt2_device *model, const struct linear *linear,
                                   struct operand x, struct operand dy, struct operand dx,
                                   struct error *err)
{
    const uint64_t rows = model->tokens.rows, in = linear->inputs, out = linear->outputs;
    const struct op_gemm input = {
        .m = rows,
        .n = in,
        .k = out,
        .a = {.at = dy, .type = model->plan.storage, .stride = out},
        .b = {.at = gpt2_operand(model, GPT2_PARAMETERS, linear->weight, linear->layer),
              .type = model->plan.storage,
              .stride = out,
              .transpose = true},
        .c = {.at = dx, .type = model->plan.storage, .stride = in},
    };
    const struct op_gemm weight = {
        .m = in,
        .n = out,
        .k = rows,
        .a = {.at = x, .type = model->plan.storage, .stride = in, .transpose = true},
        .b = {.at = dy, .type = model->plan.storage, .stride = out},
        .c = {.at = gpt2_operand(model, GPT2_GRADIENTS, linear->weight, linear->layer),
              .type = model->plan.storage,
              .stride = out},
    };

    TRY(op_gemm(model->ops, &input, err));
    TRY(op_gemm(model->ops, &weight, err));
    return op_column_sum(model->ops, dy,
                         gpt2_operand(model, GPT2_GRADIENTS, linear->bias, linear->layer), rows,
                         out, err);
}

static struct linear linear_of(const struct gpt2_device *model, enum gpt2_tensor_id weight,
                               uint64_t layer)
{
    const uint64_t d = model->plan.shape.width, m = model->plan.shape.mlp_width;

    switch (weight) {
    case GPT2_ATTN_W:
        return (struct linear){weight, GPT2_ATTN_B, layer, d, 3 * d};
    case GPT2_ATTN_PROJ_W:
        return (struct linear){weight, GPT2_ATTN_PROJ_B, layer, d, d};
    case GPT2_FC_W:
        return (struct linear){weight, GPT2_FC_B, layer, d, m};
    default:
        return (struct linear){weight, GPT2_FC_PROJ_B, layer, m, d};
    }
}

/* Operands of the attention's GEMMs: one matrix a sequence and head. */
struct head_operands {
    struct op_matrix q, k, v, values, scores;
};

static struct head_operands attention_of(const struct gpt2_device *model, struct operand qkv,
                                         struct operand values, struct operand scores)
{
    const uint64_t d = model->plan.shape.width, size = d / model->plan.shape.heads;
    const uint64_t t = model->plan.length, heads = model->plan.shape.heads;
    struct head_operands ret = {
        .q = {.at = qkv,
              .type = model->plan.storage,
              .stride = 3 * d,
              .outer_stride = t * 3 * d,
              .inner_stride = size},
        .values = {.at = values,
                   .type = model->plan.storage,
                   .stride = d,
                   .outer_stride = t * d,
                   .inner_stride = size},
        .scores = {.at = scores,
                   .type = model->plan.storage,
                   .stride = t,
                   .outer_stride = heads * t * t,
                   .inner_stride = t * t},
    };

    ret.k = ret.q;
    ret.k.at.offset += d;
    ret.v = ret.q;
    ret.v.at.offset += 2 * d;
    return ret;
}

static struct op_matrix transposed(struct op_matrix matrix)
{
    matrix.transpose = true;
    return matrix;
}

/* C = alpha op(A) op(B), of (length, n), summed over k, for every sequence and head. */
static enum status head_gemm(struct gpt2_device *model, struct op_matrix a, struct op_matrix b,
                             struct op_matrix c, uint64_t n, uint64_t k, float alpha,
                             enum op_triangle triangle, struct error *err)
{
    const struct op_gemm gemm = {
        .m = model->plan.length,
        .n = n,
        .k = k,
        .a = a,
        .b = b,
        .c = c,
        .outer = model->tokens.rows / model->plan.length,
        .inner = model->plan.shape.heads,
        .alpha = alpha,
        .triangle = triangle,
    };

    return op_gemm(model->ops, &gemm, err);
}

static float score_scale(const struct gpt2_device *model)
{
    return (float)(1.0 / sqrt((double)model->plan.shape.width / (double)model->plan.shape.heads));
}

static uint64_t matrices(const struct gpt2_device *model)
{
    return model->tokens.rows / model->plan.length * model->plan.shape.heads;
}

/* The same as one operation of the library. */
static struct op_attention fused_of(const struct gpt2_device *model, uint64_t layer)
{
    const struct gpt2_device_plan *plan = &model->plan;
    const uint64_t d = plan->shape.width;

    return (struct op_attention){
        .shape = {.sequences = model->tokens.rows / plan->length,
                  .length = plan->length,
                  .heads = plan->shape.heads,
                  .size = d / plan->shape.heads,
                  .training = plan->training},
        .qkv = gpt2_layer_at(model, GPT2_QKV, layer, 3 * d),
        .values = gpt2_layer_at(model, GPT2_VALUES, layer, d),
        .statistics = gpt2_at(model, GPT2_STATISTICS, layer * gpt2_statistics_length(plan)),
        .d_qkv = gpt2_at(model, GPT2_D_QKV, 0),
        .d_values = gpt2_at(model, GPT2_D_NARROW, 0),
    };
}

static enum status gemms_forward(struct gpt2_device *model, uint64_t layer, struct error *err)
{
    const uint64_t d = model->plan.shape.width, t = model->plan.length;
    const uint64_t size = d / model->plan.shape.heads;
    const struct head_operands at_ =
        attention_of(model, gpt2_layer_at(model, GPT2_QKV, layer, 3 * d),
                     gpt2_layer_at(model, GPT2_VALUES, layer, d), scores_of(model, layer));

    TRY(head_gemm(model, at_.q, transposed(at_.k), at_.scores, t, size, score_scale(model),
                  OP_TRIANGLE_C, err));
    TRY(op_causal_softmax(model->ops, at_.scores.at, matrices(model), t, err));
    return head_gemm(model, at_.scores, at_.v, at_.values, size, t, 1.0f, OP_TRIANGLE_A, err);
}

enum status gpt2_attention_forward(struct gpt2_device *model, uint64_t layer, struct error *err)
{
    if (model->plan.page) {
        TRY(gpt2_step_attention(model, layer, err));
    } else if (model->plan.fused) {
        const struct op_attention fused = fused_of(model, layer);

        TRY(op_attention_forward(model->ops, &fused, err));
    } else {
        TRY(gemms_forward(model, layer, err));
    }

    TRY(retire_shared(model, GPT2_QKV, err));
    return retire_shared(model, GPT2_SCORES, err);
}

static enum status gemms_backward(struct gpt2_device *model, uint64_t layer, struct error *err)
{
    const uint64_t d = model->plan.shape.width, t = model->plan.length;
    const uint64_t size = d / model->plan.shape.heads;
    const float scale = score_scale(model);
    const struct head_operands in =
        attention_of(model, gpt2_layer_at(model, GPT2_QKV, layer, 3 * d),
                     gpt2_layer_at(model, GPT2_VALUES, layer, d), scores_of(model, layer));
    const struct head_operands up =
        attention_of(model, gpt2_at(model, GPT2_D_QKV, 0), gpt2_at(model, GPT2_D_NARROW, 0),
                     gpt2_at(model, GPT2_D_SCORES, 0));

    TRY(head_gemm(model, up.values, transposed(in.v), up.scores, t, size, 1.0f, OP_TRIANGLE_C,
                  err));
    TRY(head_gemm(model, transposed(in.scores), up.values, up.v, size, t, 1.0f, OP_TRIANGLE_AT,
                  err));
    TRY(op_causal_softmax_backward(model->ops, in.scores.at, model->buffers[GPT2_D_SCORES],
                                   matrices(model), t, err));
    TRY(head_gemm(model, up.scores, in.k, up.q, size, t, scale, OP_TRIANGLE_A, err));
    return head_gemm(model, transposed(up.scores), in.q, up.k, size, t, scale, OP_TRIANGLE_AT, err);
}

static enum status attention_backward(struct gpt2_device *model, uint64_t layer, struct error *err)
{
    const struct op_attention fused = fused_of(model, layer);

    return model->plan.fused ? op_attention_backward(model->ops, &fused, err)
                             : gemms_backward(model, layer, err);
}

static enum status layer_forward(struct gpt2_device *model, uint64_t layer, struct error *err)
{
    const uint64_t d = model->plan.shape.width, m = model->plan.shape.mlp_width;
    const uint64_t first = 2 * layer, second = first + 1;
    const struct linear qkv = linear_of(model, GPT2_ATTN_W, layer);
    const struct linear projection = linear_of(model, GPT2_ATTN_PROJ_W, layer);
    const struct linear fc = linear_of(model, GPT2_FC_W, layer);
    const struct linear fc_projection = linear_of(model, GPT2_FC_PROJ_W, layer);
    const struct operand none = {0}, wide = gpt2_layer_at(model, GPT2_FC, layer, m);

    TRY(norm_forward(model, first, err));
    TRY(linear_forward(model, &qkv, gpt2_half(model, GPT2_NORM, first, d),
                       gpt2_layer_at(model, GPT2_QKV, layer, 3 * d), none, err));
    TRY(retire_shared(model, GPT2_NORM, err));
    TRY(gpt2_attention_forward(model, layer, err));
    TRY(linear_forward(model, &projection, gpt2_layer_at(model, GPT2_VALUES, layer, d),
                       gpt2_half(model, GPT2_RESIDUAL, second, d),
                       gpt2_half(model, GPT2_RESIDUAL, first, d), err));
    TRY(retire_shared(model, GPT2_VALUES, err));
    TRY(norm_forward(model, second, err));
    TRY(linear_forward(model, &fc, gpt2_half(model, GPT2_NORM, second, d), wide, none, err));
    TRY(retire_shared(model, GPT2_NORM, err));
    TRY(op_gelu(model->ops, wide, model->buffers[GPT2_GELU], model->tokens.rows * m, err));
    TRY(retire_shared(model, GPT2_FC, err));
    TRY(linear_forward(model, &fc_projection, gpt2_layer_at(model, GPT2_GELU, layer, m),
                       gpt2_half(model, GPT2_RESIDUAL, second + 1, d),
                       gpt2_half(model, GPT2_RESIDUAL, second, d), err));
    return retire_shared(model, GPT2_GELU, err);
}

static enum status layer_backward(struct gpt2_device *model, uint64_t layer, struct error *err)
{
    const uint64_t d = model->plan.shape.width, m = model->plan.shape.mlp_width;
    const uint64_t first = 2 * layer, second = first + 1;
    const struct linear qkv = linear_of(model, GPT2_ATTN_W, layer);
    const struct linear projection = linear_of(model, GPT2_ATTN_PROJ_W, layer);
    const struct linear fc = linear_of(model, GPT2_FC_W, layer);
    const struct linear fc_projection = linear_of(model, GPT2_FC_PROJ_W, layer);
    const struct operand up = gpt2_at(model, GPT2_D_RESIDUAL, 0),
                         wide = gpt2_at(model, GPT2_D_FC, 0);
    const struct operand narrow = gpt2_at(model, GPT2_D_NARROW, 0);

    TRY(linear_backward(model, &fc_projection, gpt2_layer_at(model, GPT2_GELU, layer, m), up, wide,
                        err));
    TRY(op_gelu_backward(model->ops, gpt2_layer_at(model, GPT2_FC, layer, m), wide.buffer,
                         model->tokens.rows * m, err));
    TRY(linear_backward(model, &fc, gpt2_half(model, GPT2_NORM, second, d), wide, narrow, err));
    TRY(gpt2_retire(model, GPT2_D_FC, err));
    TRY(norm_backward(model, second, true, err));
    TRY(linear_backward(model, &projection, gpt2_layer_at(model, GPT2_VALUES, layer, d), up, narrow,
                        err));
    TRY(attention_backward(model, layer, err));
    TRY(gpt2_retire(model, GPT2_D_NARROW, err));
    TRY(gpt2_retire(model, GPT2_D_SCORES, err));
    TRY(linear_backward(model, &qkv, gpt2_half(model, GPT2_NORM, first, d),
                        gpt2_at(model, GPT2_D_QKV, 0), narrow, err));
    TRY(gpt2_retire(model, GPT2_D_QKV, err));
    return norm_backward(model, first, true, err);
}

static struct op_logits logits_of(const struct gpt2_device *model)
{
    return (struct op_logits){model->buffers[GPT2_LOGITS], model->plan.shape.vocabulary,
                              gpt2_logits_stride(&model->plan)};
}

static struct op_matrix logits_matrix(const struct gpt2_device *model)
{
    return (struct op_matrix){.at = gpt2_at(model, GPT2_LOGITS, 0),
                              .type = model->plan.storage,
                              .stride = gpt2_logits_stride(&model->plan)};
}

enum status gpt2_device_forward(struct gpt2_device *model, uint64_t slot, struct error *err)
{
    const struct gpt2_shape *shape = &model->plan.shape;
    const uint64_t d = shape->width, end = 2 * shape->layers;
    const struct op_logits logits = logits_of(model);
    const struct operand wte = gpt2_operand(model, GPT2_PARAMETERS, GPT2_WTE, 0);
    const struct operand wpe = gpt2_operand(model, GPT2_PARAMETERS, GPT2_WPE, 0);
    const struct operand x = gpt2_half(model, GPT2_RESIDUAL, 0, d);
    const bool cached = model->plan.page > 0;
    const struct op_gemm head = {
        .m = cached ? model->outputs : model->tokens.rows,
        .n = gpt2_logits_columns(&model->plan),
        .k = d,
        .a = {.at = gpt2_half(model, GPT2_NORM, end, d), .type = model->plan.storage, .stride = d},
        .b = {.at = wte, .type = model->plan.storage, .stride = d, .transpose = true},
        .c = logits_matrix(model),
        .constant_b = !model->plan.training,
    };

    TRY(cached ? op_step_embedding(model->ops, &model->step, wte, wpe, x, d, err)
               : op_embedding(model->ops, &model->tokens, wte, wpe, x, d, err));
    if (model->plan.quantised) {
        TRY(gpt2_forward_int8(model, err));
        return cached ? gpt2_step_choose(model, err) : STATUS_OK;
    }
    for (uint64_t layer = 0; layer < shape->layers; layer++)
        TRY(layer_forward(model, layer, err));
    if (cached && model->step.outputs == 0)
        return STATUS_OK; /* a part of a prompt: its keys and values are all that is wanted */
    if (cached)
        TRY(gpt2_step_outputs(model, err));
    TRY(norm_forward(model, end, err));
    TRY(gpt2_observe(model, gpt2_int8_sites(shape) - 1, head.a.at, head.m * head.k, err));
    TRY(op_gemm(model->ops, &head, err));
    if (cached)
        TRY(gpt2_step_choose(model, err));
    if (!model->plan.training)
        return STATUS_OK;
    TRY(op_cross_entropy(model->ops, &model->tokens, &logits, model->buffers[GPT2_TOTAL],
                         model->buffers[GPT2_ROW_LOSS], err));
    return op_mean(model->ops, model->buffers[GPT2_ROW_LOSS], model->tokens.rows,
                   model->buffers[GPT2_LOSSES], slot % GPT2_LOSS_SLOTS, err);
}

enum status gpt2_device_backward(struct gpt2_device *model, struct error *err)
{
    const struct gpt2_shape *shape = &model->plan.shape;
    const uint64_t d = shape->width, v = gpt2_logits_columns(&model->plan), end = 2 * shape->layers;
    const uint64_t rows = model->tokens.rows;
    const struct op_logits logits = logits_of(model);
    const struct op_matrix dlogits = logits_matrix(model);
    const struct op_gemm weight = {
        .m = v,
        .n = d,
        .k = rows,
        .a = transposed(dlogits),
        .b = {.at = gpt2_half(model, GPT2_NORM, end, d), .type = model->plan.storage, .stride = d},
        .c = {.at = gpt2_operand(model, GPT2_GRADIENTS, GPT2_WTE, 0),
              .type = model->plan.storage,
              .stride = d},
    };
    const struct op_gemm input = {
        .m = rows,
        .n = d,
        .k = v,
        .a = dlogits,
        .b = {.at = gpt2_operand(model, GPT2_PARAMETERS, GPT2_WTE, 0),
              .type = model->plan.storage,
              .stride = d},
        .c = {.at = gpt2_at(model, GPT2_D_NARROW, 0), .type = model->plan.storage, .stride = d},
    };

    TRY(op_cross_entropy_backward(model->ops, &model->tokens, &logits, model->buffers[GPT2_TOTAL],
                                  model->buffers[GPT2_SCALING], err));
    TRY(op_gemm(model->ops, &weight, err));
    TRY(op_gemm(model->ops, &input, err));
    TRY(norm_backward(model, end, false, err));
    for (uint64_t layer = shape->layers; layer-- > 0;)
        TRY(layer_backward(model, layer, err));
    return op_embedding_backward(model->ops, &model->tokens, model->buffers[GPT2_D_RESIDUAL],
                                 gpt2_operand(model, GPT2_GRADIENTS, GPT2_WTE, 0),
                                 gpt2_operand(model, GPT2_GRADIENTS, GPT2_WPE, 0), d, err);
}

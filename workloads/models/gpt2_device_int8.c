/*
 * The forward pass with GEMMs of i8: every GEMM with a weight, the head's too. A GEMM's
 * input is quantised by the kernel that makes it, and its i32 sums are taken up by the one that
 * uses them; the attention's own GEMMs stay in the storage type.
 */
#include "workloads/models/gpt2_passes.h"

static float input_scale(const struct gpt2_device *model, enum gpt2_tensor_id id, uint64_t layer)
{
    const uint64_t head = gpt2_int8_sites(&model->plan.shape) - 1;

    return model->plan.input_scales[id == GPT2_WTE ? head : gpt2_int8_site(id, layer)];
}

/* INPUT8 times a weight: sums into the logits' buffer, in rows `stride` apart. */
static enum status gemm_into(struct gpt2_device *model, enum gpt2_tensor_id id, uint64_t layer,
                             uint64_t inputs, uint64_t outputs, uint64_t stride, struct error *err)
{
    const struct gpt2_shape *shape = &model->plan.shape;
    const struct op_gemm gemm = {
        .m = model->tokens.rows,
        .n = outputs,
        .k = inputs,
        .a = {.at = gpt2_at(model, GPT2_INPUT8, 0), .type = DTYPE_I8, .stride = inputs},
        .b = {.at = gpt2_at(model, GPT2_WEIGHTS8, gpt2_int8_offset(shape, id, layer)),
              .type = DTYPE_I8,
              .stride = inputs,
              .transpose = true},
        .c = {.at = gpt2_at(model, GPT2_LOGITS, 0), .type = DTYPE_I32, .stride = stride},
        .constant_b = true,
    };

    return op_gemm(model->ops, &gemm, err);
}

static enum status gemm(struct gpt2_device *model, enum gpt2_tensor_id id, uint64_t layer,
                        uint64_t inputs, uint64_t outputs, struct error *err)
{
    return gemm_into(model, id, layer, inputs, outputs, outputs, err);
}

static struct op_int8_sums sums_of(const struct gpt2_device *model, enum gpt2_tensor_id id,
                                   enum gpt2_tensor_id bias, uint64_t layer, uint64_t outputs)
{
    const struct gpt2_shape *shape = &model->plan.shape;

    return (struct op_int8_sums){
        .rows = model->tokens.rows,
        .width = outputs,
        .sums = model->buffers[GPT2_LOGITS],
        .scales = gpt2_at(model, GPT2_WEIGHT_SCALES, gpt2_int8_scale_offset(shape, id, layer)),
        .bias = gpt2_operand(model, GPT2_PARAMETERS, bias, layer),
        .scale = input_scale(model, id, layer),
    };
}

static enum status norm(struct gpt2_device *model, uint64_t half, float scale, struct error *err)
{
    const struct op_norm norm = gpt2_norm_of(model, half, GPT2_PARAMETERS);

    return op_int8_norm(model->ops, &norm, model->buffers[GPT2_INPUT8], scale, err);
}

static enum status attention(struct gpt2_device *model, uint64_t layer, struct error *err)
{
    const uint64_t d = model->plan.shape.width, rows = model->tokens.rows;
    const struct op_int8_sums qkv = sums_of(model, GPT2_ATTN_W, GPT2_ATTN_B, layer, 3 * d);
    const struct op_int8_sums out = sums_of(model, GPT2_ATTN_PROJ_W, GPT2_ATTN_PROJ_B, layer, d);
    const struct operand residual = gpt2_half(model, GPT2_RESIDUAL, 0, d), none = {0};

    TRY(norm(model, 2 * layer, qkv.scale, err));
    TRY(gemm(model, GPT2_ATTN_W, layer, d, 3 * d, err));
    TRY(op_int8_dequantise(model->ops, &qkv, none, gpt2_layer_at(model, GPT2_QKV, layer, 3 * d),
                           err));
    TRY(gpt2_attention_forward(model, layer, err));
    TRY(op_int8_quantise(model->ops, gpt2_layer_at(model, GPT2_VALUES, layer, d),
                         model->buffers[GPT2_INPUT8], rows * d, out.scale, err));
    TRY(gpt2_retire(model, GPT2_VALUES, err));
    TRY(gemm(model, GPT2_ATTN_PROJ_W, layer, d, d, err));
    return op_int8_dequantise(model->ops, &out, residual, residual, err);
}

static enum status mlp(struct gpt2_device *model, uint64_t layer, struct error *err)
{
    const uint64_t d = model->plan.shape.width, m = model->plan.shape.mlp_width;
    const struct op_int8_sums fc = sums_of(model, GPT2_FC_W, GPT2_FC_B, layer, m);
    const struct op_int8_sums out = sums_of(model, GPT2_FC_PROJ_W, GPT2_FC_PROJ_B, layer, d);
    const struct operand residual = gpt2_half(model, GPT2_RESIDUAL, 0, d);

    TRY(norm(model, 2 * layer + 1, fc.scale, err));
    TRY(gemm(model, GPT2_FC_W, layer, d, m, err));
    TRY(op_int8_gelu(model->ops, &fc, model->buffers[GPT2_INPUT8], out.scale, err));
    TRY(gemm(model, GPT2_FC_PROJ_W, layer, m, d, err));
    return op_int8_dequantise(model->ops, &out, residual, residual, err);
}

enum status gpt2_forward_int8(struct gpt2_device *model, struct error *err)
{
    const struct gpt2_shape *shape = &model->plan.shape;
    struct op_int8_sums logits = sums_of(model, GPT2_WTE, GPT2_LNF_B, 0, shape->vocabulary);
    const uint64_t stride = gpt2_logits_stride(&model->plan);

    for (uint64_t layer = 0; layer < shape->layers; layer++) {
        TRY(attention(model, layer, err));
        TRY(mlp(model, layer, err));
    }
    if (model->plan.page && model->step.outputs == 0)
        return STATUS_OK;
    if (model->plan.page)
        TRY(gpt2_step_outputs(model, err));
    logits.rows = model->tokens.rows;
    TRY(norm(model, 2 * shape->layers, logits.scale, err));
    TRY(gemm_into(model, GPT2_WTE, 0, shape->width, gpt2_int8_head_rows(shape), stride, err));
    return op_int8_logits(model->ops, &logits, stride, err);
}

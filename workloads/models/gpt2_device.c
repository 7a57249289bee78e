#include "workloads/models/gpt2_device.h"

#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "workloads/models/gpt2_passes.h"
#include "workloads/storage.h"
#include "workloads/workload.h"

#define ZERO_CHUNK ((uint64_t)1 << 24)

#define STATISTICS_ALIGNMENT 4 /* elements: libraries want arrays at multiples of 16 bytes */

enum status gpt2_device_fuse(struct gpt2_device_plan *plan, struct ops *ops, struct error *err)
{
    const struct op_attention_shape shape = {
        .sequences = plan->sequences,
        .length = plan->length,
        .heads = plan->shape.heads,
        .size = plan->shape.width / plan->shape.heads,
        .training = plan->training,
    };

    if (plan->page) {
        plan->fused = true;
        return ops_cache_attention(ops, shape.size, err);
    }
    return ops_fuse_attention(ops, &shape, &plan->fused, err);
}

uint64_t gpt2_statistics_length(const struct gpt2_device_plan *plan)
{
    const uint64_t count = plan->sequences * plan->shape.heads * plan->length;

    return (count + STATISTICS_ALIGNMENT - 1) / STATISTICS_ALIGNMENT * STATISTICS_ALIGNMENT;
}

uint64_t gpt2_token_stride(const struct gpt2_device_plan *plan)
{
    return plan->page * plan->pages + 1;
}

static uint64_t saturated(unsigned __int128 bytes)
{
    return bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes;
}

/* Elements of a buffer, 0 where the plan has none, and what they are. */
struct room {
    enum dtype type;
    unsigned __int128 elements;
};

static void find_rooms(const struct gpt2_device_plan *plan, struct room ret[GPT2_BUFFERS])
{
    const struct gpt2_shape *s = &plan->shape;
    const unsigned __int128 rows = (unsigned __int128)plan->sequences * plan->length;
    const uint64_t array = gpt2_array_length(s);
    const uint64_t layers = plan->training ? s->layers : 1;
    const uint64_t halves = plan->training ? 2 * s->layers + 1 : 1;
    const unsigned __int128 pairs = rows * s->heads * plan->length;
    const unsigned __int128 scores = plan->fused || plan->page ? 0 : pairs;
    const uint64_t statistics = plan->fused ? gpt2_statistics_length(plan) : 0;
    const uint64_t quantised = plan->quantised ? 1 : 0, kept = 1 - quantised;
    const uint64_t wide = s->mlp_width > 3 * s->width ? s->mlp_width : 3 * s->width;
    const uint64_t logits = gpt2_logits_stride(plan);
    const unsigned __int128 outputs = plan->page ? gpt2_step_planned(plan, plan->slots) : rows;
    const unsigned __int128 sums =
        quantised && rows * wide > outputs * logits ? rows * wide : outputs * logits;
    const unsigned __int128 cached = plan->page ? 1 : 0;
    const uint64_t input = s->mlp_width > s->width ? s->mlp_width : s->width;
    const uint64_t train = plan->training ? 1 : 0, scaled = plan->scale > 0.0 ? 1 : 0;
    const enum dtype type = plan->storage, f32 = DTYPE_F32;
    const struct room rooms[GPT2_BUFFERS] = {
        [GPT2_PARAMETERS] = {type, array - quantised * gpt2_int8_left_out(s)},
        [GPT2_MASTER] = {f32, plan->storage == DTYPE_F32 ? 0 : train * array},
        [GPT2_GRADIENTS] = {type, train * array},
        [GPT2_MOMENT1] = {f32, train * array},
        [GPT2_MOMENT2] = {f32, train * array},
        [GPT2_TOKENS] = {DTYPE_I32, plan->page ? plan->slots * gpt2_token_stride(plan)
                                               : OP_TOKENS_LENGTH(rows)},
        [GPT2_STEP] = {DTYPE_I32, cached * (3 * rows + plan->slots * (2 + plan->pages))},
        [GPT2_CACHE] = {type, cached * s->layers * plan->blocks * plan->page * 2 * s->width},
        [GPT2_RESIDUAL] = {type, halves * rows * s->width},
        [GPT2_NORM] = {type, kept * halves * rows * s->width},
        [GPT2_MEAN] = {f32, kept * halves * rows},
        [GPT2_RSTD] = {f32, kept * halves * rows},
        [GPT2_QKV] = {type, layers * rows * 3 * s->width},
        [GPT2_SCORES] = {type, layers * scores},
        [GPT2_STATISTICS] = {f32, train * layers * statistics},
        [GPT2_VALUES] = {type, layers * rows * s->width},
        [GPT2_FC] = {type, kept * layers * rows * s->mlp_width},
        [GPT2_GELU] = {type, kept * layers * rows * s->mlp_width},
        [GPT2_LOGITS] = {quantised || plan->bare ? f32 : type, sums},
        [GPT2_WEIGHTS8] = {DTYPE_I8, quantised * gpt2_int8_length(s)},
        [GPT2_WEIGHT_SCALES] = {f32, quantised * gpt2_int8_scale_count(s)},
        [GPT2_INPUT8] = {DTYPE_I8, quantised * rows * input},
        [GPT2_TOTAL] = {f32, train * rows},
        [GPT2_ROW_LOSS] = {f32, train * rows},
        [GPT2_LOSSES] = {f32, train * GPT2_LOSS_SLOTS},
        [GPT2_SCALING] = {f32, scaled * sizeof(struct op_scaling_state) / sizeof(float)},
        [GPT2_SCALING_PARTIALS] = {f32, scaled * OP_SCALING_PARTIALS},
        [GPT2_D_RESIDUAL] = {type, train * rows * s->width},
        [GPT2_D_NARROW] = {type, train * rows * s->width},
        [GPT2_D_QKV] = {type, train * rows * 3 * s->width},
        [GPT2_D_SCORES] = {type, train * scores},
        [GPT2_D_FC] = {type, train * rows * s->mlp_width},
    };

    for (size_t i = 0; i < GPT2_BUFFERS; i++) {
        ret[i] = rooms[i];
        if (plan->bare && i != GPT2_TOKENS && i != GPT2_LOGITS && i != GPT2_CACHE)
            ret[i].elements = 0;
    }
}

uint64_t gpt2_device_bytes(const struct gpt2_device_plan *plan, uint64_t ret[GPT2_BUFFERS])
{
    struct room rooms[GPT2_BUFFERS];
    unsigned __int128 sum = 0;

    find_rooms(plan, rooms);
    for (size_t i = 0; i < GPT2_BUFFERS; i++) {
        const unsigned __int128 bytes = rooms[i].elements * (dtype_bits(rooms[i].type) / 8);

        sum += bytes;
        if (ret)
            ret[i] = saturated(bytes);
    }
    return saturated(sum);
}

enum dtype gpt2_device_type(const struct gpt2_device_plan *plan, enum gpt2_buffer buffer)
{
    struct room rooms[GPT2_BUFFERS];

    find_rooms(plan, rooms);
    return rooms[buffer].type;
}

static enum status check_memory(const struct gpt2_device_plan *plan, const struct device *device,
                                struct error *err)
{
    uint64_t bytes[GPT2_BUFFERS], needed = gpt2_device_bytes(plan, bytes), largest = 0;

    for (size_t i = 0; i < GPT2_BUFFERS; i++)
        largest = bytes[i] > largest ? bytes[i] : largest;
    return workload_check_memory(device, needed, largest, err);
}

static enum status upload_zeros(struct buffer *buffer, uint64_t bytes, struct error *err)
{
    uint64_t chunk = bytes < ZERO_CHUNK ? bytes : ZERO_CHUNK;
    AUTO_FREE void *zeros = calloc(1, chunk);

    if (!zeros)
        return error_no_memory(err);
    for (uint64_t at = 0; at < bytes; at += chunk)
        TRY(device_upload(buffer, at, zeros, bytes - at < chunk ? bytes - at : chunk, err));
    return STATUS_OK;
}

static enum status upload_quantised(struct gpt2_device *model, const float *weights,
                                    struct error *err)
{
    const struct gpt2_shape *shape = &model->plan.shape;
    const uint64_t count = gpt2_int8_length(shape), scales = gpt2_int8_scale_count(shape);
    AUTO_FREE int8_t *quantised = malloc(count);
    AUTO_FREE float *scale = malloc(scales * sizeof(*scale));

    if (!(quantised && scale))
        return error_no_memory(err);
    gpt2_int8_quantise(shape, weights, quantised, scale, NULL);
    TRY(device_upload(model->buffers[GPT2_WEIGHTS8], 0, quantised, count, err));
    return device_upload(model->buffers[GPT2_WEIGHT_SCALES], 0, scale, scales * sizeof(*scale),
                         err);
}

/* Sets all weights, and the parameters as their copy. Blocks. */
static enum status gpt2_device_set_weights(struct gpt2_device *model, const float *weights,
                                           struct error *err)
{
    const struct gpt2_shape *shape = &model->plan.shape;
    const enum dtype storage = model->plan.storage;
    /* A quantised model has the matrices of the layers elsewhere. */
    const uint64_t left_out = model->plan.quantised ? gpt2_int8_left_out(shape) : 0;
    const uint64_t before = gpt2_offset(shape, GPT2_ATTN_W, 0), count = gpt2_array_length(shape);
    struct buffer *parameters = model->buffers[GPT2_PARAMETERS];

    TRY(storage_upload(parameters, storage, 0, weights, before, err));
    TRY(storage_upload(parameters, storage, before, weights + before + left_out,
                       count - before - left_out, err));
    if (model->buffers[GPT2_MASTER])
        TRY(storage_upload(model->buffers[GPT2_MASTER], DTYPE_F32, 0, weights, count, err));
    return model->plan.quantised ? upload_quantised(model, weights, err) : STATUS_OK;
}

static enum status fill(struct gpt2_device *model, uint64_t seed, struct error *err)
{
    const struct op_scaling_state scaling = {.scale = (float)model->plan.scale};
    static const enum gpt2_buffer zeroed[] = {GPT2_GRADIENTS, GPT2_MOMENT1, GPT2_MOMENT2};
    AUTO_FREE float *weights = malloc(gpt2_array_length(&model->plan.shape) * sizeof(float));

    if (!weights)
        return error_no_memory(err);
    gpt2_initialise(&model->plan.shape, seed, weights);
    TRY(gpt2_device_set_weights(model, weights, err));
    for (size_t i = 0; i < 3 && model->plan.training; i++)
        TRY(upload_zeros(model->buffers[zeroed[i]], model->buffers[zeroed[i]]->bytes, err));
    return model->buffers[GPT2_SCALING]
               ? device_upload(model->buffers[GPT2_SCALING], 0, &scaling, sizeof(scaling), err)
               : STATUS_OK;
}

enum status gpt2_device_create(const struct gpt2_device_plan *plan, struct ops *ops,
                               struct device *device, uint64_t seed, struct gpt2_device **ret,
                               struct error *err)
{
    struct gpt2_device_plan mine = *plan;
    uint64_t bytes[GPT2_BUFFERS];
    CLEANUP(gpt2_device_drop) struct gpt2_device *model = NULL;

    mine.dense_logits = device->info.type == DEVICE_CPU && !plan->training && !plan->quantised;
    TRY(check_memory(&mine, device, err));
    model = calloc(1, sizeof(*model));
    if (!model)
        return error_no_memory(err);
    model->plan = mine;
    model->ops = ops;
    model->device = device;
    gpt2_device_bytes(&mine, bytes);
    for (size_t i = 0; i < GPT2_BUFFERS; i++)
        if (bytes[i])
            TRY(device_buffer_alloc(device, bytes[i], BUFFER_READ_WRITE, &model->buffers[i], err));
    TRY(gpt2_take_graph(model, err));
    if (!mine.bare)
        TRY(fill(model, seed, err));
    *ret = model;
    model = NULL;
    return STATUS_OK;
}

void gpt2_device_destroy(struct gpt2_device *model)
{
    if (!model)
        return;
    for (size_t i = 0; i < GPT2_BUFFERS; i++)
        device_buffer_free(model->buffers[i]);
    session_finish(&model->session);
    stack_layout_finish(&model->layout);
    stack_graph_finish(&model->graph);
    free(model);
}

void gpt2_device_drop(struct gpt2_device **model)
{
    gpt2_device_destroy(*model);
}

enum status gpt2_device_set_batch(struct gpt2_device *model, const int32_t *indices,
                                  uint64_t sequences, uint64_t unique, struct error *err)
{
    const uint64_t rows = sequences * model->plan.length;

    model->tokens = (struct op_tokens){
        .buffer = model->buffers[GPT2_TOKENS],
        .rows = rows,
        .length = model->plan.length,
        .unique = unique,
    };
    return device_upload(model->buffers[GPT2_TOKENS], 0, indices,
                         OP_TOKENS_LENGTH(rows) * sizeof(*indices), err);
}

enum gpt2_buffer gpt2_device_weights(const struct gpt2_device *model)
{
    return model->buffers[GPT2_MASTER] ? GPT2_MASTER : GPT2_PARAMETERS;
}

enum status gpt2_device_fetch(const struct gpt2_device *model, enum gpt2_buffer buffer,
                              uint64_t offset, uint64_t count, float *ret, struct error *err)
{
    return storage_download(model->buffers[buffer], gpt2_device_type(&model->plan, buffer), offset,
                            count, ret, err);
}

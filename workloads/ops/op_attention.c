/*
 * Attention as one operation of the vendor's library, prepared once a shape, or of our own text
 * (attention.h), which takes any. Whether there is one
 * is asked once (ops_fuse_attention), for the whole batch; fewer sequences, as a check takes them,
 * are part of the same operation, so that what is checked is what is timed. Where there is none the
 * model does it by GEMMs and op_causal_softmax.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/ops/attention.h"
#include "workloads/ops/internal.h"
#include "workloads/ops/operations.h"

struct ops_attention {
    struct operations *operations;
    struct attention_text *text; /* our own, where the library has none and it is fused */
    bool asked, fused;
    char reason[OPERATION_WORD_MAX * 2]; /* why not by the library */
};

enum status ops_attention_create(struct device *device, const struct workload_case *work,
                                 json_t *candidates, struct ops_attention **ret, struct error *err)
{
    struct ops_attention *self = calloc(1, sizeof(*self));
    enum status status;

    if (!self)
        return error_no_memory(err);
    status = operations_create(device, work, "attention", candidates, &self->operations, err);
    if (status != STATUS_OK) {
        free(self);
        return status;
    }
    *ret = self;
    return STATUS_OK;
}

void ops_attention_destroy(struct ops_attention *self)
{
    if (!self)
        return;
    operations_destroy(self->operations);
    attention_text_destroy(self->text);
    free(self);
}

void ops_attention_seal(struct ops_attention *self)
{
    operations_seal(self->operations);
}

json_t *ops_attention_choices(const struct ops *ops)
{
    return operations_choices(ops->attention->operations);
}

static struct attention_shape shape_of(const struct ops *ops,
                                       const struct op_attention_shape *shape)
{
    const uint64_t width = shape->heads * shape->size;
    const struct attention_strides qkv = {shape->length * 3 * width, shape->size, 3 * width};

    return (struct attention_shape){
        .precision = ops->storage == DTYPE_BF16  ? PRECISION_BF16
                     : ops->storage == DTYPE_F16 ? PRECISION_FP16
                                                 : PRECISION_FP32,
        .batch = shape->sequences,
        .heads = shape->heads,
        .length = shape->length,
        .head_size = shape->size,
        .causal = true,
        .training = shape->training,
        .q = qkv,
        .k = qkv,
        .v = qkv,
        .o = {shape->length * width, shape->size, width},
    };
}

/*
 * Sequences are stored one after the other and are independent, so an operation handles fewer of
 * them, too: what follows them is also computed, but never read.
 */
static bool covers(const struct operation_desc *whole, const struct operation_desc *part)
{
    const struct attention_shape *a = &whole->attention, *b = &part->attention;

    return whole->kind == part->kind && a->batch >= b->batch && a->heads == b->heads &&
           a->length == b->length && a->head_size == b->head_size && a->training == b->training;
}

static enum status find(struct ops *ops, const struct op_attention_shape *shape,
                        enum operation_kind kind, size_t *ret, struct error *err)
{
    const struct operation_desc desc = {.kind = kind, .attention = shape_of(ops, shape)};
    struct operations *operations = ops->attention->operations;
    size_t at = 0;

    while (at < operations->count && !covers(&operations->items[at].operation->desc, &desc))
        at++;
    *ret = at;
    return at < operations->count ? STATUS_OK : operations_add(operations, &desc, err);
}

static struct operand operand_of(const struct operand *operand, uint64_t further)
{
    return (struct operand){operand->buffer, operand->offset + further};
}

/* ---- what the model asks for ---- */

enum status ops_fuse_attention(struct ops *ops, const struct op_attention_shape *shape, bool *ret,
                               struct error *err)
{
    struct ops_attention *self = ops->attention;
    struct error refusal = ERROR_INIT;
    size_t index;
    enum status status;

    self->asked = true;
    if (gemms_implementation(ops->gemms) != IMPLEMENTATION_VENDOR)
        status = error_set(&refusal, STATUS_UNSUPPORTED,
                           "the portable implementation has no such operation");
    else
        status = find(ops, shape, OPERATION_ATTENTION, &index, &refusal);
    if (status == STATUS_OK && shape->training)
        status = find(ops, shape, OPERATION_ATTENTION_BACKWARD, &index, &refusal);
    if (status != STATUS_OK && status != STATUS_UNSUPPORTED)
        return error_set(err, status, "%s", refusal.message);
    self->fused = status == STATUS_OK;
    /* With several lanes two GEMMs are faster, and a backward pass reads the probabilities. */
    if (!self->fused && !shape->training && ops->lanes[OPS_ROWS] == 1) {
        status = attention_text_create(ops->device, ops->storage, shape->size, 1, &self->text, err);
        if (status != STATUS_OK && status != STATUS_UNSUPPORTED)
            return status;
        self->fused = status == STATUS_OK;
    }
    snprintf(self->reason, sizeof(self->reason), "%.*s", (int)sizeof(self->reason) - 1,
             refusal.message);
    *ret = self->fused;
    return STATUS_OK;
}

static enum status take_text(struct ops *ops, uint64_t size, const char *reason, struct error *err)
{
    struct ops_attention *self = ops->attention;
    enum status status = attention_text_create(ops->device, ops->storage, size,
                                               ops->lanes[OPS_ROWS], &self->text, err);

    self->asked = self->fused = status == STATUS_OK;
    snprintf(self->reason, sizeof(self->reason), "%s", reason);
    return status;
}

enum status ops_cache_attention(struct ops *ops, uint64_t size, struct error *err)
{
    return take_text(ops, size, "keys and values lie in a cache in blocks", err);
}

enum status ops_heads_attention(struct ops *ops, uint64_t size, struct error *err)
{
    return take_text(ops, size, "declared stacks have our own text", err);
}

/* A launch for each of the heads of queries that share one of keys: of it their first, second ...
 */
enum status op_heads_forward(struct ops *ops, const struct op_heads *op, struct error *err)
{
    const uint64_t shared = op->heads / op->kv_heads, width = op->heads * op->size;
    const uint64_t row = width + 2 * op->kv_heads * op->size;
    const struct attention_strides keys = {op->length * row, op->size, row};
    const struct attention_shape shape = {
        .batch = op->sequences,
        .heads = op->kv_heads,
        .length = op->length,
        .head_size = op->size,
        .causal = true,
        .q = {op->length * row, shared * op->size, row},
        .k = keys,
        .v = keys,
        .o = {op->length * width, shared * op->size, width},
    };

    for (uint64_t i = 0; i < shared; i++) {
        const struct attention_operands operands = {
            .q = operand_of(&op->qkv, i * op->size),
            .k = operand_of(&op->qkv, width),
            .v = operand_of(&op->qkv, width + op->kv_heads * op->size),
            .o = operand_of(&op->values, i * op->size),
        };

        TRY(attention_text_run(ops->attention->text, &shape, &operands, err));
    }
    return STATUS_OK;
}

enum status op_step_attend(struct ops *ops, const struct op_step *step,
                           const struct op_step_attention *op, struct error *err)
{
    const uint64_t width = op->heads * op->size;
    const struct attention_strides q = {op->length * 3 * width, op->size, 3 * width};
    const struct attention_strides k = {step->page * 2 * width, op->size, 2 * width};
    const struct attention_shape shape = {
        .batch = op->sequences,
        .heads = op->heads,
        .length = op->length,
        .head_size = op->size,
        .causal = true,
        .keys = step->page * step->pages,
        .lengths = true,
        .page = step->page,
        .pages = step->pages,
        .q = q,
        .k = k,
        .v = k,
        .o = {op->length * width, op->size, width},
    };
    const struct attention_operands operands = {
        .q = {op->qkv.buffer, op->qkv.offset + op->row * 3 * width},
        .k = op->cache,
        .v = {op->cache.buffer, op->cache.offset + width},
        .o = {op->values.buffer, op->values.offset + op->row * width},
        .lengths = {step->table, step->lengths + op->sequence},
        .blocks = {step->table, step->blocks + op->sequence * step->pages},
    };

    return attention_text_run(ops->attention->text, &shape, &operands, err);
}

static struct attention_operands operands_of(const struct op_attention *op)
{
    const uint64_t width = op->shape.heads * op->shape.size;

    return (struct attention_operands){
        .q = operand_of(&op->qkv, 0),
        .k = operand_of(&op->qkv, width),
        .v = operand_of(&op->qkv, 2 * width),
        .o = operand_of(&op->values, 0),
        .statistics = operand_of(&op->statistics, 0),
        .d_q = operand_of(&op->d_qkv, 0),
        .d_k = operand_of(&op->d_qkv, width),
        .d_v = operand_of(&op->d_qkv, 2 * width),
        .d_o = operand_of(&op->d_values, 0),
    };
}

static enum status run(struct ops *ops, const struct op_attention *op, enum operation_kind kind,
                       struct error *err)
{
    const union operands operands = {.attention = operands_of(op)};
    const struct attention_shape shape = shape_of(ops, &op->shape);
    size_t index = 0;

    if (ops->attention->text)
        return attention_text_run(ops->attention->text, &shape, &operands.attention, err);
    TRY(find(ops, &op->shape, kind, &index, err));

    return operations_run(ops->attention->operations, index, &operands, err);
}

enum status op_attention_forward(struct ops *ops, const struct op_attention *op, struct error *err)
{
    return run(ops, op, OPERATION_ATTENTION, err);
}

enum status op_attention_backward(struct ops *ops, const struct op_attention *op, struct error *err)
{
    return run(ops, op, OPERATION_ATTENTION_BACKWARD, err);
}

/* The forward pass's texts, and the backward pass's where they differ. */
static json_t *both(const char *forward, const char *backward)
{
    if (backward[0] == '\0' || !strcmp(forward, backward))
        return json_string(forward);
    return json_sprintf("forward %s; backward %s", forward, backward);
}

/* Of the whole batch's passes, which were prepared first and are what is timed. */
static json_t *fused_json(const struct operations *operations)
{
    const struct prepared_operation *pass = operations->items;
    const bool training = pass[0].operation->desc.attention.training;
    struct operation_info forward = {0}, backward = {0};

    if (operation_describe(pass[0].operation, &forward, NULL) != STATUS_OK ||
        (training && operation_describe(pass[1].operation, &backward, NULL) != STATUS_OK))
        return NULL;
    return json_pack("{s:s, s:b, s:s, s:s, s:s, s:o, s:o, s:I, s:I, s:I}", "implementation",
                     implementation_name(IMPLEMENTATION_VENDOR), "fused", true, "support",
                     support_name(forward.support), "library", forward.library, "version",
                     forward.version, "algorithm", both(forward.algorithm, backward.algorithm),
                     "method", both(forward.method, backward.method), "workspace_bytes",
                     (json_int_t)(forward.workspace_bytes + backward.workspace_bytes), "algorithms",
                     (json_int_t)forward.algorithms + backward.algorithms, "tried",
                     (json_int_t)pass[0].tried + (training ? pass[1].tried : 0));
}

static json_t *text_json(const struct ops_attention *self)
{
    return json_pack("{s:s, s:b, s:s, s:s, s:s, s:s, s:I, s:s}", "implementation",
                     implementation_name(IMPLEMENTATION_PORTABLE), "fused", true, "library",
                     "assay", "version", "as assay itself", "algorithm",
                     "workloads/kernels/attention.h", "method",
                     "our text: sums and softmax in f32, no probabilities in memory",
                     "workspace_bytes", (json_int_t)0, "reason", self->reason);
}

json_t *ops_attention_facts(const struct ops *ops)
{
    const struct ops_attention *self = ops->attention;

    if (!self->asked)
        return NULL;
    if (!self->fused)
        return json_pack("{s:s, s:b, s:s, s:s}", "implementation",
                         implementation_name(gemms_implementation(ops->gemms)), "fused", false,
                         "algorithm", "GEMMs and a softmax between them, probabilities in memory",
                         "reason", self->reason);
    return self->text ? text_json(self) : fused_json(self->operations);
}

size_t ops_attention_artifact(const struct ops *ops, struct module_artifact *ret)
{
    const struct attention_text *text = ops->attention->text;

    return text &&
           device_module_describe(ops->device, attention_text_module(text), ret, NULL) == STATUS_OK;
}

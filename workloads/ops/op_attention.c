/*
 * Attention as one operation of the vendor's library, prepared once a number of sequences. Whether
 * there is one is asked once (ops_fuse_attention); where there is none the model does it by products
 * and op_causal_softmax.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/ops/internal.h"

struct attention_entry {
    struct op_attention_shape shape;
    struct attention *attention;
};

struct ops_attention {
    struct attention_entry *entries;
    size_t count;
    bool asked, fused, sealed;
    char reason[PRODUCT_WORD_MAX * 2]; /* why it is not fused */
};

enum status ops_attention_create(struct ops_attention **ret, struct error *err)
{
    struct ops_attention *self = calloc(1, sizeof(*self));

    if (!self)
        return error_set(err, STATUS_NO_MEMORY, "attention: out of memory");
    *ret = self;
    return STATUS_OK;
}

void ops_attention_destroy(struct ops_attention *self)
{
    if (!self)
        return;
    for (size_t i = 0; i < self->count; i++)
        device_attention_destroy(self->entries[i].attention);
    free(self->entries);
    free(self);
}

void ops_attention_seal(struct ops_attention *self)
{
    self->sealed = true;
}

static struct attention_shape shape_of(const struct ops *ops, const struct op_attention_shape *shape)
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

static bool same_shape(const struct op_attention_shape *a, const struct op_attention_shape *b)
{
    return a->sequences == b->sequences && a->heads == b->heads && a->length == b->length &&
           a->size == b->size && a->training == b->training;
}

static enum status add_entry(struct ops *ops, const struct op_attention_shape *shape,
                             struct error *err)
{
    struct ops_attention *self = ops->attention;
    const struct attention_shape whole = shape_of(ops, shape);
    struct attention_entry *grown;
    struct attention *attention = NULL;
    enum status status;

    if (self->sealed)
        return error_set(err, STATUS_INTERNAL,
                         "attention over %llu sequences was first asked for while measuring",
                         (unsigned long long)shape->sequences);
    grown = realloc(self->entries, (self->count + 1) * sizeof(*grown));
    if (!grown)
        return error_set(err, STATUS_NO_MEMORY, "attention: out of memory");
    self->entries = grown;
    status = device_attention_create(ops->device, &whole, &attention, err);
    if (status != STATUS_OK)
        return status;
    grown[self->count++] = (struct attention_entry){*shape, attention};
    return STATUS_OK;
}

static enum status find_entry(struct ops *ops, const struct op_attention_shape *shape,
                              struct attention **ret, struct error *err)
{
    struct ops_attention *self = ops->attention;
    enum status status = STATUS_OK;
    size_t at = 0;

    while (at < self->count && !same_shape(&self->entries[at].shape, shape))
        at++;
    if (at == self->count)
        status = add_entry(ops, shape, err);
    if (status == STATUS_OK)
        *ret = self->entries[at].attention;
    return status;
}

enum status ops_fuse_attention(struct ops *ops, const struct op_attention_shape *shape, bool *ret,
                               struct error *err)
{
    struct ops_attention *self = ops->attention;
    struct error refusal = ERROR_INIT;
    struct attention *attention;
    enum status status;

    self->asked = true;
    if (products_arm(ops->products) != ARM_VENDOR)
        status = error_set(&refusal, STATUS_UNSUPPORTED, "the portable arm has no such operation");
    else
        status = find_entry(ops, shape, &attention, &refusal);
    if (status != STATUS_OK && status != STATUS_UNSUPPORTED)
        return error_set(err, status, "%s", refusal.message);
    self->fused = status == STATUS_OK;
    snprintf(self->reason, sizeof(self->reason), "%.*s", (int)sizeof(self->reason) - 1,
             refusal.message);
    *ret = self->fused;
    return STATUS_OK;
}

static struct product_operand operand_of(const struct operand *operand, uint64_t further)
{
    return (struct product_operand){operand->buffer, operand->offset + further};
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

enum status op_attention_forward(struct ops *ops, const struct op_attention *op, struct error *err)
{
    const struct attention_operands operands = operands_of(op);
    struct attention *attention = NULL;
    enum status status = find_entry(ops, &op->shape, &attention, err);

    return status == STATUS_OK ? device_attention_forward(attention, &operands, err) : status;
}

enum status op_attention_backward(struct ops *ops, const struct op_attention *op, struct error *err)
{
    const struct attention_operands operands = operands_of(op);
    struct attention *attention = NULL;
    enum status status = find_entry(ops, &op->shape, &attention, err);

    return status == STATUS_OK ? device_attention_backward(attention, &operands, err) : status;
}

/* The forward pass's words, and the backward pass's where they differ. */
static json_t *both(const char *forward, const char *backward)
{
    if (backward[0] == '\0' || !strcmp(forward, backward))
        return json_string(forward);
    return json_sprintf("forward %s; backward %s", forward, backward);
}

static json_t *fused_json(const struct attention_info *info)
{
    const struct product_info *forward = &info->forward, *backward = &info->backward;

    return json_pack("{s:s, s:b, s:s, s:s, s:s, s:o, s:o, s:I}", "arm", arm_name(ARM_VENDOR),
                     "fused", true, "support", support_name(forward->support), "library",
                     forward->library, "version", forward->version, "algorithm",
                     both(forward->algorithm, backward->algorithm), "method",
                     both(forward->method, backward->method), "workspace_bytes",
                     (json_int_t)forward->workspace_bytes);
}

json_t *ops_attention_facts(const struct ops *ops)
{
    const struct ops_attention *self = ops->attention;
    struct attention_info info;

    if (!self->asked)
        return NULL;
    if (!self->fused)
        return json_pack("{s:s, s:b, s:s, s:s}", "arm", arm_name(products_arm(ops->products)),
                         "fused", false, "algorithm",
                         "products and a softmax between them, probabilities in memory", "reason",
                         self->reason);
    /* The first is the whole batch's, which is what is timed. */
    if (device_attention_describe(self->entries[0].attention, &info, NULL) != STATUS_OK)
        return NULL;
    return fused_json(&info);
}

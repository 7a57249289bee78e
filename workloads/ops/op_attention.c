/*
 * Attention as one operation of the vendor's library, prepared once a shape. Whether there is one
 * is asked once (ops_fuse_attention), for the whole batch; fewer sequences, as a check takes them,
 * are part of the same operation, so that what is checked is what is timed. Where there is none the
 * model does it by GEMMs and op_causal_softmax.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"
#include "workloads/ops/internal.h"
#include "workloads/ops/autotune.h"

enum pass { FORWARD, BACKWARD, PASSES };

struct attention_entry {
    struct op_attention_shape shape;
    struct attention *attention;
    bool autotuned[PASSES];
    uint32_t tried[PASSES]; /* algorithms measured, here or where the choices come from */
};

struct ops_attention {
    struct attention_entry *entries;
    size_t count;
    json_t *given; /* the choices' part for attention, where there is one */
    bool is_given; /* there are choices: nothing is measured here */
    bool asked, fused, sealed;
    char reason[GEMM_WORD_MAX * 2]; /* why it is not fused */
};

enum status ops_attention_create(const json_t *choices, struct ops_attention **ret,
                                 struct error *err)
{
    struct ops_attention *self = calloc(1, sizeof(*self));

    if (!self)
        return error_set(err, STATUS_NO_MEMORY, "attention: out of memory");
    self->is_given = choices != NULL;
    self->given = json_incref(json_object_get(choices, "attention"));
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
    json_decref(self->given);
    free(self);
}

void ops_attention_seal(struct ops_attention *self)
{
    self->sealed = true;
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
static bool covers(const struct op_attention_shape *whole, const struct op_attention_shape *part)
{
    return whole->sequences >= part->sequences && whole->heads == part->heads &&
           whole->length == part->length && whole->size == part->size &&
           whole->training == part->training;
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
    grown[self->count++] = (struct attention_entry){.shape = *shape, .attention = attention};
    return STATUS_OK;
}

static enum status find_entry(struct ops *ops, const struct op_attention_shape *shape,
                              struct attention_entry **ret, struct error *err)
{
    struct ops_attention *self = ops->attention;
    enum status status = STATUS_OK;
    size_t at = 0;

    while (at < self->count && !covers(&self->entries[at].shape, shape))
        at++;
    if (at == self->count)
        status = add_entry(ops, shape, err);
    if (status == STATUS_OK)
        *ret = &self->entries[at];
    return status;
}

/* ---- the library's algorithms, by autotune.c ---- */

/* One pass of an operation that is being autotuned. */
struct autotuning {
    struct attention *attention;
    enum pass pass;
    const struct attention_operands *operands;
};

/* "bf16 4x12x1024x64 forward, training"; heap, NULL: no memory. */
static char *pass_key(const struct attention *attention, enum pass pass)
{
    const struct attention_shape *shape = &attention->shape;

    return text_format("%s %llux%llux%llux%llu %s%s", precision_name(shape->precision),
                       (unsigned long long)shape->batch, (unsigned long long)shape->heads,
                       (unsigned long long)shape->length, (unsigned long long)shape->head_size,
                       pass == FORWARD ? "forward" : "backward",
                       pass == FORWARD && shape->training ? ", training" : "");
}

static enum status describe_pass(const struct attention *attention, enum pass pass,
                                 struct gemm_info *ret, struct error *err)
{
    struct attention_info info = {0};
    enum status status = device_attention_describe(attention, &info, err);

    *ret = pass == FORWARD ? info.forward : info.backward;
    return status;
}

static enum status describe(void *operation, struct gemm_info *ret, struct error *err)
{
    const struct autotuning *autotuning = operation;

    return describe_pass(autotuning->attention, autotuning->pass, ret, err);
}

static enum status select_algorithm(void *operation, uint32_t index, struct error *err)
{
    struct autotuning *autotuning = operation;

    return device_attention_select(autotuning->attention, autotuning->pass == BACKWARD, index, err);
}

static enum status run(void *operation, struct error *err)
{
    struct autotuning *autotuning = operation;

    return autotuning->pass == FORWARD
               ? device_attention_forward(autotuning->attention, autotuning->operands, err)
               : device_attention_backward(autotuning->attention, autotuning->operands, err);
}

static enum status autotune(struct ops *ops, struct attention_entry *entry, enum pass pass,
                            const struct attention_operands *operands, struct error *err)
{
    const struct ops_attention *self = ops->attention;
    struct autotuning autotuning = {entry->attention, pass, operands};
    char *key = pass_key(entry->attention, pass);
    struct autotune autotune = {.device = ops->device,
                                .subject = "attention",
                                .key = key,
                                .given = self->given,
                                .is_given = self->is_given,
                                .candidates = ops->candidates,
                                .operation = &autotuning,
                                .describe = describe,
                                .select = select_algorithm,
                                .run = run};
    enum status status;

    if (!key)
        return error_set(err, STATUS_NO_MEMORY, "attention: out of memory");
    status = autotune_algorithm(&autotune, err);
    entry->tried[pass] = autotune.tried;
    entry->autotuned[pass] = status == STATUS_OK;
    free(key);
    return status;
}

static void record(json_t *algorithms, const struct attention_entry *entry, enum pass pass,
                   struct gemm_info *info)
{
    char *key = pass_key(entry->attention, pass);

    if (entry->autotuned[pass] && describe_pass(entry->attention, pass, info, NULL) == STATUS_OK)
        autotune_record(algorithms, key, info, entry->tried[pass]);
    free(key);
}

json_t *ops_attention_choices(const struct ops *ops)
{
    const struct ops_attention *self = ops->attention;
    json_t *algorithms = json_object();
    struct gemm_info info = {0};

    for (size_t i = 0; i < self->count; i++)
        for (enum pass pass = FORWARD; pass < PASSES; pass++)
            record(algorithms, &self->entries[i], pass, &info);
    return autotune_choices(algorithms, &info);
}

/* ---- what the model asks for ---- */

enum status ops_fuse_attention(struct ops *ops, const struct op_attention_shape *shape, bool *ret,
                               struct error *err)
{
    struct ops_attention *self = ops->attention;
    struct error refusal = ERROR_INIT;
    struct attention_entry *entry;
    enum status status;

    self->asked = true;
    if (gemms_implementation(ops->gemms) != IMPLEMENTATION_VENDOR)
        status = error_set(&refusal, STATUS_UNSUPPORTED,
                           "the portable implementation has no such operation");
    else
        status = find_entry(ops, shape, &entry, &refusal);
    if (status != STATUS_OK && status != STATUS_UNSUPPORTED)
        return error_set(err, status, "%s", refusal.message);
    self->fused = status == STATUS_OK;
    snprintf(self->reason, sizeof(self->reason), "%.*s", (int)sizeof(self->reason) - 1,
             refusal.message);
    *ret = self->fused;
    return STATUS_OK;
}

static struct gemm_operand operand_of(const struct operand *operand, uint64_t further)
{
    return (struct gemm_operand){operand->buffer, operand->offset + further};
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

static enum status run_pass(struct ops *ops, const struct op_attention *op, enum pass pass,
                            struct error *err)
{
    const struct attention_operands operands = operands_of(op);
    struct attention_entry *entry = NULL;
    struct autotuning autotuning = {NULL, pass, &operands};
    enum status status = find_entry(ops, &op->shape, &entry, err);

    if (status == STATUS_OK && !entry->autotuned[pass])
        status = autotune(ops, entry, pass, &operands, err);
    if (status != STATUS_OK)
        return status;
    autotuning.attention = entry->attention;
    return run(&autotuning, err);
}

enum status op_attention_forward(struct ops *ops, const struct op_attention *op, struct error *err)
{
    return run_pass(ops, op, FORWARD, err);
}

enum status op_attention_backward(struct ops *ops, const struct op_attention *op, struct error *err)
{
    return run_pass(ops, op, BACKWARD, err);
}

/* The forward pass's texts, and the backward pass's where they differ. */
static json_t *both(const char *forward, const char *backward)
{
    if (backward[0] == '\0' || !strcmp(forward, backward))
        return json_string(forward);
    return json_sprintf("forward %s; backward %s", forward, backward);
}

static json_t *fused_json(const struct attention_entry *entry, const struct attention_info *info)
{
    const struct gemm_info *forward = &info->forward, *backward = &info->backward;

    return json_pack("{s:s, s:b, s:s, s:s, s:s, s:o, s:o, s:I, s:I, s:I}", "implementation",
                     implementation_name(IMPLEMENTATION_VENDOR), "fused", true, "support",
                     support_name(forward->support), "library", forward->library, "version",
                     forward->version, "algorithm", both(forward->algorithm, backward->algorithm),
                     "method", both(forward->method, backward->method), "workspace_bytes",
                     (json_int_t)forward->workspace_bytes, "algorithms",
                     (json_int_t)forward->algorithms + backward->algorithms, "tried",
                     (json_int_t)entry->tried[FORWARD] + entry->tried[BACKWARD]);
}

json_t *ops_attention_facts(const struct ops *ops)
{
    const struct ops_attention *self = ops->attention;
    struct attention_info info;

    if (!self->asked)
        return NULL;
    if (!self->fused)
        return json_pack("{s:s, s:b, s:s, s:s}", "implementation",
                         implementation_name(gemms_implementation(ops->gemms)), "fused", false,
                         "algorithm", "GEMMs and a softmax between them, probabilities in memory",
                         "reason", self->reason);
    /* The first is the whole batch's, which is what is timed. */
    if (device_attention_describe(self->entries[0].attention, &info, NULL) != STATUS_OK)
        return NULL;
    return fused_json(&self->entries[0], &info);
}

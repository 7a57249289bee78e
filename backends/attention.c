/* attention - what scaled dot-product attention is: its checks, its operands, its name. */
#include "backends/operation.h"

#include <math.h>
#include <string.h>

#include "harness/core/text.h"

#define SIDE_MAX ((uint64_t)1 << 31) /* libraries take int */
#define ELEMENTS_MAX ((uint64_t)1 << 60)

static enum status refuse(struct error *err, const char *what)
{
    return error_set(err, STATUS_INVALID, "attention: %s", what);
}

/* How often each stride of an array is taken; of blocks of keys, no number is known but one. */
struct counts {
    uint64_t batch, heads, rows;
};

static struct counts counts_of(const struct attention_shape *shape,
                               const struct attention_strides *strides)
{
    const bool is_key = strides == &shape->k || strides == &shape->v;

    return (struct counts){is_key && shape->page != 0 ? 1 : shape->batch, shape->heads,
                           !is_key            ? shape->length
                           : shape->page != 0 ? shape->page
                                              : shape->keys};
}

/* Elements from the first to after the last; more than ELEMENTS_MAX where it does not fit. */
static uint64_t reach(const struct attention_shape *shape, const struct attention_strides *strides)
{
    const struct counts counts = counts_of(shape, strides);
    const unsigned __int128 last = (unsigned __int128)(counts.batch - 1) * strides->batch +
                                   (unsigned __int128)(counts.heads - 1) * strides->head +
                                   (unsigned __int128)(counts.rows - 1) * strides->row +
                                   shape->head_size;

    return last > ELEMENTS_MAX ? ELEMENTS_MAX + 1 : (uint64_t)last;
}

/*
 * Every element has a place of its own when, from the shortest stride to the longest, each is at
 * least what the shorter ones cover. A dimension of 1 has no stride.
 */
static bool apart(const struct attention_shape *shape, const struct attention_strides *strides)
{
    const struct counts counts = counts_of(shape, strides);
    struct {
        uint64_t stride, count;
    } order[] = {
        {strides->row, counts.rows}, {strides->head, counts.heads}, {strides->batch, counts.batch}};
    unsigned __int128 covered = shape->head_size;

    for (int done = 0; done < 3; done++) {
        int next = -1;

        for (int i = 0; i < 3; i++)
            if (order[i].count > 0 && (next < 0 || order[i].stride < order[next].stride))
                next = i;
        if (order[next].count > 1) {
            if (order[next].stride < covered)
                return false;
            covered += (unsigned __int128)(order[next].count - 1) * order[next].stride;
        }
        order[next].count = 0;
    }
    return true;
}

static enum status check(const struct attention_shape *shape, struct error *err)
{
    const uint64_t sides[] = {shape->batch, shape->heads, shape->length, shape->head_size,
                              shape->keys};
    const struct attention_strides *const arrays[] = {&shape->q, &shape->k, &shape->v, &shape->o};

    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
        if (sides[i] == 0)
            return refuse(err, "every dimension must be at least 1");
        if (sides[i] >= SIDE_MAX)
            return refuse(err, "a dimension of 2^31 or more");
    }
    if ((unsigned __int128)shape->batch * shape->heads * shape->length > ELEMENTS_MAX)
        return refuse(err, "an array is too large to be addressed");
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        if (!apart(shape, arrays[i]))
            return refuse(err, "strides let rows, heads or sequences overlap");
        if (reach(shape, arrays[i]) > ELEMENTS_MAX)
            return refuse(err, "an array is too large to be addressed");
    }
    if (!isfinite(shape->scale))
        return refuse(err, "the scale is no number");
    if (shape->keys < shape->length)
        return refuse(err, "fewer keys than queries");
    if (shape->page >= SIDE_MAX || shape->pages >= SIDE_MAX)
        return refuse(err, "a dimension of 2^31 or more");
    if (shape->page != 0 && shape->pages < (shape->keys + shape->page - 1) / shape->page)
        return refuse(err, "the blocks of a sequence hold fewer than its keys");
    if (shape->training && (shape->keys != shape->length || shape->lengths || shape->page != 0))
        return refuse(err, "training is over all keys at once, in one array");
    return STATUS_OK;
}

static enum status complete(struct operation_desc *desc, struct error *err)
{
    struct attention_shape *shape = &desc->attention;

    if (desc->kind == OPERATION_ATTENTION_BACKWARD)
        shape->training = true;
    if (shape->keys == 0)
        shape->keys = shape->length;
    TRY(check(shape, err));
    if (shape->scale == 0.0f)
        shape->scale = (float)(1.0 / sqrt((double)shape->head_size));
    return STATUS_OK;
}

static void extents(const struct operation_desc *desc, struct operation_extent ret[OPERANDS_MAX])
{
    const struct attention_shape *shape = &desc->attention;
    const bool backward = desc->kind == OPERATION_ATTENTION_BACKWARD;
    const enum dtype type = precision_dtype(shape->precision);
    const uint64_t q = reach(shape, &shape->q), k = reach(shape, &shape->k),
                   v = reach(shape, &shape->v), o = reach(shape, &shape->o);
    const struct operation_extent all[OPERANDS_MAX] = {
        {"q", q, type},
        {"k", k, type},
        {"v", v, type},
        {"o", o, type},
        {shape->training ? "the statistics" : NULL, shape->batch * shape->heads * shape->length,
         DTYPE_F32},
        {backward ? "d_q" : NULL, q, type},
        {backward ? "d_k" : NULL, k, type},
        {backward ? "d_v" : NULL, v, type},
        {backward ? "d_o" : NULL, o, type},
        {shape->lengths ? "the lengths" : NULL, shape->batch, DTYPE_I32},
        {shape->page != 0 ? "the blocks" : NULL, shape->batch * shape->pages, DTYPE_I32},
    };

    memcpy(ret, all, sizeof(all));
}

/* "bf16 4x12x1024x64 forward, training" */
static char *key(const struct operation_desc *desc)
{
    const struct attention_shape *shape = &desc->attention;

    struct text text;

    text_init(&text);
    text_append_format(&text, "%s %llux%llux%llux%llu %s", precision_name(shape->precision),
                       (unsigned long long)shape->batch, (unsigned long long)shape->heads,
                       (unsigned long long)shape->length, (unsigned long long)shape->head_size,
                       desc->kind == OPERATION_ATTENTION_BACKWARD ? "backward"
                       : shape->training                          ? "forward, training"
                                                                  : "forward");
    if (shape->keys != 0 && shape->keys != shape->length)
        text_append_format(&text, ", %llu keys", (unsigned long long)shape->keys);
    if (shape->lengths)
        text_append(&text, ", lengths");
    if (shape->page != 0)
        text_append_format(&text, ", blocks of %llu", (unsigned long long)shape->page);
    return text_steal(&text);
}

static bool question(enum precision precision, unsigned number, struct operation_desc *ret,
                     const char **ret_other)
{
    const uint64_t heads = 8, size = 64, length = 512, width = heads * size;
    const struct attention_strides projection = {length * 3 * width, size, 3 * width};

    if (number >= (ret->kind == OPERATION_ATTENTION ? 2 : 1))
        return false;
    *ret_other = NULL;
    ret->attention = (struct attention_shape){.precision = precision,
                                              .batch = 1,
                                              .heads = heads,
                                              .length = length,
                                              .head_size = size,
                                              .causal = true,
                                              .training = number == 0,
                                              .q = projection,
                                              .k = projection,
                                              .v = projection,
                                              .o = {length * width, size, width}};
    return true;
}

/* Forward and backward. */
const struct operation_kind_ops attention_kind = {
    .name = "attention",
    .weights = -1,
    .complete = complete,
    .extents = extents,
    .key = key,
    .question = question,
};

/* attention - the vendor library's attention: the checks in front of the hooks. */
#include "backends/backend.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SIDE_MAX ((uint64_t)1 << 31) /* libraries take int */
#define ELEMENTS_MAX ((uint64_t)1 << 60)

bool device_has_attention(const struct device *device)
{
    return device->ops->attention_create != NULL;
}

static enum status refuse(struct error *err, const char *what)
{
    return error_set(err, STATUS_INVALID, "attention: %s", what);
}

/* Elements from the first to after the last; more than ELEMENTS_MAX where it does not fit. */
static uint64_t reach(const struct attention_shape *shape, const struct attention_strides *strides)
{
    const unsigned __int128 last = (unsigned __int128)(shape->batch - 1) * strides->batch +
                                   (unsigned __int128)(shape->heads - 1) * strides->head +
                                   (unsigned __int128)(shape->length - 1) * strides->row +
                                   shape->head_size;

    return last > ELEMENTS_MAX ? ELEMENTS_MAX + 1 : (uint64_t)last;
}

/*
 * Every element has a place of its own when, from the shortest stride to the longest, each is at
 * least what the shorter ones cover. A dimension of 1 has no stride.
 */
static bool apart(const struct attention_shape *shape, const struct attention_strides *strides)
{
    struct {
        uint64_t stride, count;
    } order[] = {{strides->row, shape->length},
                 {strides->head, shape->heads},
                 {strides->batch, shape->batch}};
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

static enum status check_shape(const struct attention_shape *shape, struct error *err)
{
    const uint64_t sides[] = {shape->batch, shape->heads, shape->length, shape->head_size};
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
    return STATUS_OK;
}

enum status device_attention_create(struct device *device, const struct attention_shape *shape,
                                    struct attention **ret, struct error *err)
{
    struct attention_shape whole = *shape;
    struct attention *attention = NULL;
    enum status status;

    if (!device_has_attention(device))
        return error_set(err, STATUS_UNSUPPORTED, "%s has no vendor attention", device->info.name);
    status = check_shape(&whole, err);
    if (status == STATUS_OK && whole.scale == 0.0f)
        whole.scale = (float)(1.0 / sqrt((double)whole.head_size));
    if (status == STATUS_OK)
        status = device->ops->attention_create(device, &whole, &attention, err);
    if (status != STATUS_OK)
        return status;
    attention->device = device;
    attention->shape = whole;
    *ret = attention;
    return STATUS_OK;
}

void device_attention_destroy(struct attention *attention)
{
    if (attention != NULL)
        attention->device->ops->attention_destroy(attention->device, attention);
}

/* An operand by its name, with what it takes of its buffer. */
struct extent {
    const char *name;
    const struct gemm_operand *operand;
    uint64_t elements;
    enum dtype type;
};

static enum status check_operands(const struct attention *attention, const struct extent *extents,
                                  size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct gemm_operand *operand = extents[i].operand;
        const unsigned __int128 size = dtype_bits(extents[i].type) / 8;

        if (operand->buffer == NULL || operand->buffer->device != attention->device)
            return error_set(err, STATUS_INTERNAL, "attention: %s is not a buffer of this device",
                             extents[i].name);
        if (((unsigned __int128)extents[i].elements + operand->offset) * size >
            operand->buffer->bytes)
            return error_set(err, STATUS_INVALID,
                             "attention: %s at offset %" PRIu64
                             " goes beyond its buffer of %" PRIu64 " bytes",
                             extents[i].name, operand->offset, operand->buffer->bytes);
    }
    return STATUS_OK;
}

#define EXTENT(field, strides)                                                                     \
    {                                                                                              \
#field, &operands->field, reach(shape, &shape->strides), type                              \
    }
#define STATISTICS                                                                                 \
    {                                                                                              \
        "the statistics", &operands->statistics, shape->batch * shape->heads * shape->length,      \
            DTYPE_F32                                                                              \
    }

enum status device_attention_forward(struct attention *attention,
                                     const struct attention_operands *operands, struct error *err)
{
    const struct attention_shape *shape = &attention->shape;
    const enum dtype type = precision_dtype(shape->precision);
    const struct extent extents[] = {EXTENT(q, q), EXTENT(k, k), EXTENT(v, v), EXTENT(o, o),
                                     STATISTICS};
    enum status status = check_operands(attention, extents, shape->training ? 5 : 4, err);

    if (status != STATUS_OK)
        return status;
    return attention->device->ops->attention_forward(attention->device, attention, operands, err);
}

enum status device_attention_backward(struct attention *attention,
                                      const struct attention_operands *operands, struct error *err)
{
    const struct attention_shape *shape = &attention->shape;
    const enum dtype type = precision_dtype(shape->precision);
    const struct extent extents[] = {EXTENT(q, q),   EXTENT(k, k),   EXTENT(v, v),
                                     EXTENT(o, o),   EXTENT(d_q, q), EXTENT(d_k, k),
                                     EXTENT(d_v, v), EXTENT(d_o, o), STATISTICS};
    enum status status;

    if (!shape->training)
        return error_set(err, STATUS_INTERNAL,
                         "attention: backward of one created for forward only");
    status = check_operands(attention, extents, sizeof(extents) / sizeof(extents[0]), err);
    if (status != STATUS_OK)
        return status;
    return attention->device->ops->attention_backward(attention->device, attention, operands, err);
}

enum status device_attention_describe(const struct attention *attention, struct attention_info *ret,
                                      struct error *err)
{
    struct attention_info info = {0};
    enum status status =
        attention->device->ops->attention_describe(attention->device, attention, &info, err);

    if (status == STATUS_OK)
        *ret = info;
    return status;
}

enum status device_attention_select(struct attention *attention, bool backward, uint32_t index,
                                    struct error *err)
{
    const struct device *device = attention->device;
    const struct gemm_info *pass;
    struct attention_info info = {0};
    enum status status = device_attention_describe(attention, &info, err);

    if (status != STATUS_OK)
        return status;
    pass = backward ? &info.backward : &info.forward;
    if (device->ops->attention_select == NULL || pass->algorithms == 0)
        return error_set(err, STATUS_UNSUPPORTED, "%s lists no algorithms of its attention",
                         pass->library[0] != '\0' ? pass->library : device->info.name);
    if (index >= pass->algorithms)
        return error_set(err, STATUS_INVALID,
                         "%s lists %" PRIu32 " algorithms for this attention, there is no number "
                         "%" PRIu32,
                         pass->library, pass->algorithms, index);
    return device->ops->attention_select(attention->device, attention, backward, index, err);
}

void device_attention_support(struct device *device, enum precision precision,
                              struct attention_info *ret)
{
    const uint64_t heads = 8, size = 64, length = 512, width = heads * size;
    const struct attention_strides projection = {length * 3 * width, size, 3 * width};
    struct attention_shape shape = {.precision = precision,
                                    .batch = 1,
                                    .heads = heads,
                                    .length = length,
                                    .head_size = size,
                                    .causal = true,
                                    .training = true,
                                    .q = projection,
                                    .k = projection,
                                    .v = projection,
                                    .o = {length * width, size, width}};
    struct attention *attention = NULL;
    struct support_answers both = {0}, forward = {0};
    struct error err = ERROR_INIT;
    enum status status = device_attention_create(device, &shape, &attention, &err);
    const bool trains = status == STATUS_OK;

    memset(ret, 0, sizeof(*ret));
    support_answers_add(&both, status, &err);
    if (!trains) {
        shape.training = false;
        status = device_attention_create(device, &shape, &attention, &err);
    }
    if (status == STATUS_OK)
        status = device_attention_describe(attention, ret, &err);
    support_answers_add(&forward, status, &err);
    support_answers_tell(&forward, status == STATUS_OK, &ret->forward);
    if (!trains)
        support_answers_tell(&both, false, &ret->backward);
    device_attention_destroy(attention);
}

/*
 * gemm - the GEMM by oneDNN's matmul primitive.
 *
 * C = alpha AB + bias + D. oneDNN's own bias is added before any scale, so with an alpha the bias
 * is a post-operation after the scale. D is a post-operation too: "sum" where it is C itself,
 * "binary" where it is another array; which of them it is is known only at a run, so both are
 * prepared. A constant B is read from a copy in oneDNN's own layout, which saves each run the copy
 * that its kernels make of another one.
 */
#include "backends/cpu/internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "harness/core/array.h"

/* A B that has been run with, and its copy. */
struct constant {
    struct operand b;
    struct cpu_packed *packed;
};

/* One primitive with its arguments in the order of `memories`. */
struct variant {
    struct dnnl_primitive_desc *desc; /* NULL: B is read as it lies */
    struct constant *constants;
    size_t constant_count, latest;
    struct dnnl_primitive *primitive;
    char algorithm[OPERATION_WORD_MAX];
    unsigned char *scratchpad;
    uint64_t scratchpad_bytes;
    struct assay_dnnl_exec_arg args[6];
    struct dnnl_memory *a, *b, *c, *bias, *d, *pad;
    int arg_count;
};

struct cpu_gemm {
    struct operation base;
    struct variant in_place;              /* D is C, or there is no D */
    struct variant apart;                 /* D is another array */
    struct assay_dnnl_memory_desc *given; /* layout of a constant B; NULL: B is none */
};

/* Dimensions of the batch and layouts of the operands. */
struct layouts {
    int count; /* of dimensions */
    struct assay_dnnl_memory_desc *a, *b, *c, *bias;
    struct assay_dnnl_memory_desc *any; /* instead of b, for a constant B; else NULL */
};

static bool collapses(const struct gemm_matrix *matrix, uint64_t inner)
{
    return matrix->outer_stride == inner * matrix->inner_stride;
}

/*
 * One matrix, or a batch of them. A batch that repeats one matrix has one element in that
 * dimension, which oneDNN repeats.
 */
static enum status make_layout(const struct onednn *dnnl, const struct gemm_shape *shape,
                               const struct gemm_matrix *matrix, uint64_t rows, uint64_t columns,
                               int count, struct assay_dnnl_memory_desc **ret, struct error *err)
{
    const uint64_t batches[2] = {shape->outer, shape->inner};
    const uint64_t steps[2] = {matrix->outer_stride, matrix->inner_stride};
    const int64_t own_row = matrix->transpose ? 1 : (int64_t)matrix->stride;
    const int64_t own_column = matrix->transpose ? (int64_t)matrix->stride : 1;
    /*
     * The stride of a single row or column means nothing, but oneDNN 3.7 takes strides {1, 1} for
     * another layout and computes wrong results: so it is set as if there were more of them.
     */
    const int64_t row = rows == 1 ? (int64_t)columns * own_column : own_row;
    const int64_t column = columns == 1 ? (int64_t)rows * row : own_column;
    int64_t dims[ASSAY_DNNL_NDIMS] = {0}, strides[ASSAY_DNNL_NDIMS] = {0};
    const unsigned type = cpu_dnnl_type(dnnl, matrix->type);
    int at = 0;

    if (type == 0)
        return error_set(err, STATUS_UNSUPPORTED, "oneDNN %s has no data type %s", dnnl->version,
                         dtype_name(matrix->type));
    for (int i = 0; i < 2; i++) {
        uint64_t number = batches[i];

        if (count == 2 || (count == 3 && i == 0 && shape->inner > 1))
            continue;
        if (count == 3 && i == 1 && shape->inner == 1)
            continue;
        if (count == 3 && i == 1)
            number *= shape->outer;
        dims[at] = steps[i] == 0 ? 1 : (int64_t)number;
        strides[at] = steps[i] == 0 ? (int64_t)(rows * columns) : (int64_t)steps[i];
        at++;
    }
    dims[at] = (int64_t)rows;
    strides[at++] = row;
    dims[at] = (int64_t)columns;
    strides[at] = column;
    return onednn_layout_create(dnnl, count, dims, type, strides, ret, err);
}

static enum status make_bias(const struct onednn *dnnl, const struct gemm_shape *shape, int count,
                             struct assay_dnnl_memory_desc **ret, struct error *err)
{
    int64_t dims[ASSAY_DNNL_NDIMS], strides[ASSAY_DNNL_NDIMS];
    const unsigned type = cpu_dnnl_type(dnnl, shape->bias_type);

    if (type == 0)
        return error_set(err, STATUS_UNSUPPORTED, "oneDNN %s has no data type %s", dnnl->version,
                         dtype_name(shape->bias_type));
    for (int i = 0; i < count; i++) {
        dims[i] = 1;
        strides[i] = (int64_t)shape->n;
    }
    dims[count - 1] = (int64_t)shape->n;
    strides[count - 1] = 1;
    return onednn_layout_create(dnnl, count, dims, type, strides, ret, err);
}

static void layouts_finish(const struct onednn *dnnl, struct layouts *layouts)
{
    onednn_layout_destroy(dnnl, layouts->a);
    onednn_layout_destroy(dnnl, layouts->b);
    onednn_layout_destroy(dnnl, layouts->c);
    onednn_layout_destroy(dnnl, layouts->bias);
    onednn_layout_destroy(dnnl, layouts->any);
}

static enum status make_layouts(const struct onednn *dnnl, const struct gemm_shape *shape,
                                struct layouts *ret, struct error *err)
{
    const bool flat = collapses(&shape->a, shape->inner) && collapses(&shape->b, shape->inner) &&
                      collapses(&shape->c, shape->inner);

    ret->count = shape->outer * shape->inner == 1                 ? 2
                 : shape->outer == 1 || shape->inner == 1 || flat ? 3
                                                                  : 4;
    TRY(make_layout(dnnl, shape, &shape->a, shape->m, shape->k, ret->count, &ret->a, err));
    TRY(make_layout(dnnl, shape, &shape->b, shape->k, shape->n, ret->count, &ret->b, err));
    TRY(make_layout(dnnl, shape, &shape->c, shape->m, shape->n, ret->count, &ret->c, err));
    if (shape->bias)
        TRY(make_bias(dnnl, shape, ret->count, &ret->bias, err));
    if (shape->constant_b && ret->count == 2 && onednn_has_reorders(dnnl))
        TRY(onednn_layout_create(dnnl, 2, (const int64_t[]){(int64_t)shape->k, (int64_t)shape->n},
                                 cpu_dnnl_type(dnnl, shape->b.type), NULL, &ret->any, err));
    return STATUS_OK;
}

/* The post-operations in order; the arguments of binary ones go to `ret_bias` and `ret_d`. */
static unsigned append_operations(const struct onednn *dnnl, const struct gemm_shape *shape,
                                  const struct layouts *layouts, bool apart,
                                  struct dnnl_post_ops *ops, int *ret_bias, int *ret_d)
{
    unsigned code = ASSAY_DNNL_success;
    int index = 0;

    if (shape->alpha != 1.0f) {
        code = onednn_append_scale(dnnl, ops, shape->alpha);
        index++;
    }
    if (code == ASSAY_DNNL_success && shape->bias && shape->alpha != 1.0f) {
        code = dnnl->api.dnnl_post_ops_append_binary(ops, ASSAY_DNNL_binary_add, layouts->bias);
        *ret_bias = onednn_post_op_arg(dnnl, index++);
    }
    if (code == ASSAY_DNNL_success && shape->add && apart) {
        code = dnnl->api.dnnl_post_ops_append_binary(ops, ASSAY_DNNL_binary_add, layouts->c);
        *ret_d = onednn_post_op_arg(dnnl, index++);
    } else if (code == ASSAY_DNNL_success && shape->add) {
        code = onednn_append_sum(dnnl, ops);
    }
    return code;
}

static enum status make_attributes(const struct onednn *dnnl, const struct gemm_shape *shape,
                                   const struct layouts *layouts, bool apart,
                                   struct dnnl_primitive_attr **ret, int *ret_bias, int *ret_d,
                                   struct error *err)
{
    const struct dnnl_api *api = &dnnl->api;
    struct dnnl_primitive_attr *attributes = NULL;
    struct dnnl_post_ops *ops = NULL;
    const char *function = "dnnl_post_ops_create";
    unsigned code;

    TRY(cpu_dnnl_attributes(dnnl, shape->precision, &attributes, err));
    code = api->dnnl_post_ops_create(&ops);
    if (code == ASSAY_DNNL_success) {
        function = "dnnl_post_ops_append";
        code = append_operations(dnnl, shape, layouts, apart, ops, ret_bias, ret_d);
    }
    if (code == ASSAY_DNNL_success) {
        function = "dnnl_primitive_attr_set_post_ops";
        code = api->dnnl_primitive_attr_set_post_ops(attributes, ops);
    }
    if (ops != NULL)
        api->dnnl_post_ops_destroy(ops);
    if (code != ASSAY_DNNL_success) {
        api->dnnl_primitive_attr_destroy(attributes);
        return onednn_fail(dnnl, function, code, err);
    }
    *ret = attributes;
    return STATUS_OK;
}

static enum status add_memory(const struct onednn *dnnl, struct variant *variant, int arg,
                              const struct assay_dnnl_memory_desc *layout, void *bytes,
                              struct dnnl_memory **ret, struct error *err)
{
    TRY(cpu_dnnl_memory(dnnl, layout, bytes, ret, err));
    variant->args[variant->arg_count++] = (struct assay_dnnl_exec_arg){arg, *ret};
    return STATUS_OK;
}

static enum status add_scratchpad(const struct onednn *dnnl, struct variant *variant,
                                  const struct dnnl_primitive_desc *desc, struct error *err)
{
    const struct assay_dnnl_memory_desc *layout =
        dnnl->api.dnnl_primitive_desc_query_md(desc, ASSAY_DNNL_query_scratchpad_md, 0);
    const enum status status = cpu_dnnl_array(dnnl, layout, "a scratchpad", &variant->scratchpad,
                                              &variant->scratchpad_bytes, err);

    if (status != STATUS_OK || variant->scratchpad == NULL)
        return status;
    return add_memory(dnnl, variant, ASSAY_DNNL_ARG_SCRATCHPAD, layout, variant->scratchpad,
                      &variant->pad, err);
}

static enum status make_variant(const struct onednn *dnnl, const struct gemm_shape *shape,
                                const struct layouts *layouts, bool apart, struct variant *variant,
                                struct error *err)
{
    int bias_arg = ASSAY_DNNL_ARG_BIAS, d_arg = 0;
    const bool own_bias = shape->bias && shape->alpha == 1.0f;
    struct dnnl_primitive_attr *attributes = NULL;
    const struct assay_dnnl_memory_desc *b = layouts->b;
    struct dnnl_primitive_desc *desc = NULL;
    enum status status;

    TRY(make_attributes(dnnl, shape, layouts, apart, &attributes, &bias_arg, &d_arg, err));
    status = onednn_matmul_create(dnnl, layouts->a, layouts->any ? layouts->any : b,
                                  own_bias ? layouts->bias : NULL, layouts->c, attributes,
                                  shape->m == 1, &desc, err);
    dnnl->api.dnnl_primitive_attr_destroy(attributes);
    TRY(status);
    variant->desc = desc; /* to be destroyed with the variant where something fails from here on */
    if (layouts->any)
        b = dnnl->api.dnnl_primitive_desc_query_md(desc, ASSAY_DNNL_query_weights_md, 0);
    if (b == NULL)
        return error_set(err, STATUS_DEVICE, "oneDNN %s names no layout for B", dnnl->version);
    onednn_algorithm(dnnl, desc, variant->algorithm, sizeof(variant->algorithm));
    TRY(cpu_dnnl_primitive(dnnl, desc, &variant->primitive, err));
    TRY(add_memory(dnnl, variant, ASSAY_DNNL_ARG_SRC, layouts->a, NULL, &variant->a, err));
    TRY(add_memory(dnnl, variant, ASSAY_DNNL_ARG_WEIGHTS, b, NULL, &variant->b, err));
    TRY(add_memory(dnnl, variant, ASSAY_DNNL_ARG_DST, layouts->c, NULL, &variant->c, err));
    if (shape->bias)
        TRY(add_memory(dnnl, variant, bias_arg, layouts->bias, NULL, &variant->bias, err));
    if (shape->add && apart)
        TRY(add_memory(dnnl, variant, d_arg, layouts->c, NULL, &variant->d, err));
    TRY(add_scratchpad(dnnl, variant, desc, err));
    if (!layouts->any || dnnl->api.dnnl_memory_desc_equal(b, layouts->b)) {
        dnnl->api.dnnl_primitive_desc_destroy(desc);
        variant->desc = NULL;
    }
    return STATUS_OK;
}

static void variant_finish(struct cpu_device *device, struct variant *variant)
{
    const struct onednn *dnnl = &device->state->dnnl;

    for (size_t i = 0; i < variant->constant_count; i++)
        cpu_packed_release(device, variant->constants[i].packed);
    free(variant->constants);
    if (variant->desc != NULL)
        dnnl->api.dnnl_primitive_desc_destroy(variant->desc);
    for (int i = 0; i < variant->arg_count; i++)
        dnnl->api.dnnl_memory_destroy(variant->args[i].memory);
    if (variant->primitive != NULL)
        dnnl->api.dnnl_primitive_destroy(variant->primitive);
    free(variant->scratchpad);
}

static void destroy(struct operation *operation)
{
    struct cpu_device *device = cpu_device(operation->device);
    struct cpu_gemm *self = (struct cpu_gemm *)operation;

    variant_finish(device, &self->in_place);
    variant_finish(device, &self->apart);
    onednn_layout_destroy(&device->state->dnnl, self->given);
    free(self);
}

/*
 * Points the variant's B at its copy. A model runs with the same constants in the same order, so
 * the search begins after the latest.
 */
static enum status point_constant(struct cpu_device *device, const struct cpu_gemm *self,
                                  struct variant *variant, const struct operand *b,
                                  struct error *err)
{
    const struct dnnl_api *api = &device->state->dnnl.api;
    uint64_t size;
    size_t i;
    unsigned code;

    for (i = 0; i < variant->constant_count; i++) {
        const size_t at = (variant->latest + i) % variant->constant_count;

        if (variant->constants[at].b.buffer == b->buffer &&
            variant->constants[at].b.offset == b->offset) {
            variant->latest = at;
            break;
        }
    }
    if (i == variant->constant_count) {
        TRY(ARRAY_GROW(variant->constants, i, 1, err));
        TRY(cpu_packed_use(
            device, b, self->base.desc.gemm.b.type, self->given,
            api->dnnl_primitive_desc_query_md(variant->desc, ASSAY_DNNL_query_weights_md, 0),
            &variant->constants[i].packed, err));
        variant->constants[i].b = *b;
        variant->latest = variant->constant_count++;
    }
    code = api->dnnl_memory_set_data_handle(
        variant->b, cpu_packed_bytes(variant->constants[variant->latest].packed, &size));
    return code == ASSAY_DNNL_success
               ? STATUS_OK
               : onednn_fail(&device->state->dnnl, "dnnl_memory_set_data_handle", code, err);
}

static enum status run(struct operation *operation, const union operands *all, struct error *err)
{
    struct cpu_device *device = cpu_device(operation->device);
    const struct onednn *dnnl = &device->state->dnnl;
    const struct gemm_operands *operands = &all->gemm;
    struct cpu_gemm *self = (struct cpu_gemm *)operation;
    const struct gemm_shape *shape = &operation->desc.gemm;
    const bool apart = shape->add && (operands->d.buffer != operands->c.buffer ||
                                      operands->d.offset != operands->c.offset);
    struct variant *variant = apart ? &self->apart : &self->in_place;

    TRY(cpu_dnnl_point(dnnl, variant->a, &operands->a, shape->a.type, err));
    TRY(variant->desc != NULL ? point_constant(device, self, variant, &operands->b, err)
                              : cpu_dnnl_point(dnnl, variant->b, &operands->b, shape->b.type, err));
    TRY(cpu_dnnl_point(dnnl, variant->c, &operands->c, shape->c.type, err));
    TRY(cpu_dnnl_point(dnnl, variant->bias, &operands->bias, shape->bias_type, err));
    TRY(cpu_dnnl_point(dnnl, variant->d, &operands->d, shape->c.type, err));
    return cpu_dnnl_execute(device, variant->primitive, variant->arg_count, variant->args, err);
}

static uint64_t constants_bytes(const struct variant *variant)
{
    uint64_t sum = 0, size;

    for (size_t i = 0; i < variant->constant_count; i++) {
        cpu_packed_bytes(variant->constants[i].packed, &size);
        sum += size;
    }
    return sum;
}

static enum status describe(const struct operation *operation, struct operation_info *ret,
                            struct error *err)
{
    const struct cpu_gemm *self = (const struct cpu_gemm *)operation;

    (void)err;
    cpu_dnnl_describe(&cpu_device(operation->device)->state->dnnl, operation->desc.gemm.precision,
                      self->in_place.algorithm,
                      self->in_place.scratchpad_bytes + self->apart.scratchpad_bytes, ret);
    if (operation->desc.gemm.constant_b)
        snprintf(ret->weights, sizeof(ret->weights), "%s",
                 self->in_place.desc != NULL || self->apart.desc != NULL
                     ? "reordered once into the layout that oneDNN chose (any)"
                     : "as given");
    ret->weights_bytes = constants_bytes(&self->in_place) + constants_bytes(&self->apart);
    return STATUS_OK;
}

static enum status prepare(struct operation *operation, struct error *err)
{
    const struct onednn *dnnl = &cpu_device(operation->device)->state->dnnl;
    const struct gemm_shape *shape = &operation->desc.gemm;
    struct cpu_gemm *gemm = (struct cpu_gemm *)operation;
    struct layouts layouts = {0};
    enum status status;

    TRY(cpu_dnnl_knows_precision(dnnl, shape->precision, err));
    status = make_layouts(dnnl, shape, &layouts, err);
    if (status == STATUS_OK)
        status = make_variant(dnnl, shape, &layouts, false, &gemm->in_place, err);
    if (status == STATUS_OK && shape->add)
        status = make_variant(dnnl, shape, &layouts, true, &gemm->apart, err);
    if (status == STATUS_OK)
        status = cpu_dnnl_takes_precision(dnnl, shape->precision, gemm->in_place.algorithm, err);
    if (layouts.any != NULL) {
        gemm->given = layouts.b;
        layouts.b = NULL;
    }
    layouts_finish(dnnl, &layouts);
    return status;
}

enum status cpu_gemm_create(struct device *device, const struct operation_desc *desc,
                            struct operation **ret, struct error *err)
{
    static const struct operation_ops ops = {.size = sizeof(struct cpu_gemm),
                                             .prepare = prepare,
                                             .destroy = destroy,
                                             .run = run,
                                             .describe = describe};

    return operation_make(&ops, device, desc, ret, err);
}

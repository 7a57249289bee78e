/*
 * product - the matrix product by oneDNN's matmul primitive.
 *
 * C = alpha AB + bias + D. oneDNN's own bias is added before any scale, so with an alpha the bias
 * is a post-operation behind the scale. D is a post-operation too: "sum" where it is C itself,
 * "binary" where it is another array; which of them it is, only a run tells, so both are prepared.
 */
#include "backends/cpu/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/threads.h"

#define SCRATCHPAD_ALIGN 4096

/* One primitive with its arguments in the order of `memories`. */
struct variant {
    struct dnnl_primitive *primitive;
    char algorithm[PRODUCT_WORD_MAX];
    unsigned char *scratchpad;
    uint64_t scratchpad_bytes;
    struct assay_dnnl_exec_arg args[6];
    struct dnnl_memory *a, *b, *c, *bias, *d, *pad;
    int arg_count;
};

struct cpu_product {
    struct product base;
    struct variant in_place; /* D is C, or there is no D */
    struct variant apart;    /* D is another array */
};

/* Dimensions of the batch and layouts of the operands. */
struct layouts {
    int count; /* of dimensions */
    struct assay_dnnl_memory_desc *a, *b, *c, *bias;
};

unsigned cpu_dnnl_type(const struct onednn *dnnl, enum dtype type)
{
    switch (type) {
    case DTYPE_F32:
        return ASSAY_DNNL_f32;
    case DTYPE_BF16:
        return ASSAY_DNNL_bf16;
    case DTYPE_F16:
        return ASSAY_DNNL_f16;
    case DTYPE_I8:
        return ASSAY_DNNL_s8;
    case DTYPE_I32:
        return ASSAY_DNNL_s32;
    case DTYPE_F64:
        return dnnl->major >= 3 ? ASSAY_DNNL_f64 : 0;
    case DTYPE_E5M2:
        return dnnl->major >= 3 ? ASSAY_DNNL_f8_e5m2 : 0;
    case DTYPE_E4M3:
        return dnnl->major >= 3 ? ASSAY_DNNL_f8_e4m3 : 0;
    default:
        return 0;
    }
}

static bool collapses(const struct product_matrix *matrix, uint64_t inner)
{
    return matrix->outer_stride == inner * matrix->inner_stride;
}

/*
 * One matrix, or a batch of them. A batch in which the same matrix comes again and again has one
 * element in that dimension, which oneDNN repeats.
 */
static enum status make_layout(const struct onednn *dnnl, const struct product_shape *shape,
                               const struct product_matrix *matrix, uint64_t rows, uint64_t columns,
                               int count, struct assay_dnnl_memory_desc **ret, struct error *err)
{
    const uint64_t batches[2] = {shape->outer, shape->inner};
    const uint64_t steps[2] = {matrix->outer_stride, matrix->inner_stride};
    const int64_t own_row = matrix->transpose ? 1 : (int64_t)matrix->stride;
    const int64_t own_column = matrix->transpose ? (int64_t)matrix->stride : 1;
    /*
     * The stride of a single row or column means nothing, but oneDNN 3.7 takes strides {1, 1} for
     * another layout and goes astray: there it is what it would be in front of more of them.
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

static enum status make_bias(const struct onednn *dnnl, const struct product_shape *shape,
                             int count, struct assay_dnnl_memory_desc **ret, struct error *err)
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
}

static enum status make_layouts(const struct onednn *dnnl, const struct product_shape *shape,
                                struct layouts *ret, struct error *err)
{
    const bool flat = collapses(&shape->a, shape->inner) && collapses(&shape->b, shape->inner) &&
                      collapses(&shape->c, shape->inner);
    enum status status;

    ret->count = shape->outer * shape->inner == 1                 ? 2
                 : shape->outer == 1 || shape->inner == 1 || flat ? 3
                                                                  : 4;
    status = make_layout(dnnl, shape, &shape->a, shape->m, shape->k, ret->count, &ret->a, err);
    if (status == STATUS_OK)
        status = make_layout(dnnl, shape, &shape->b, shape->k, shape->n, ret->count, &ret->b, err);
    if (status == STATUS_OK)
        status = make_layout(dnnl, shape, &shape->c, shape->m, shape->n, ret->count, &ret->c, err);
    if (status == STATUS_OK && shape->bias)
        status = make_bias(dnnl, shape, ret->count, &ret->bias, err);
    return status;
}

/* The post-operations in order; the arguments of binary ones go to `ret_bias` and `ret_d`. */
static unsigned append_operations(const struct onednn *dnnl, const struct product_shape *shape,
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

static enum status make_attributes(const struct onednn *dnnl, const struct product_shape *shape,
                                   const struct layouts *layouts, bool apart,
                                   struct dnnl_primitive_attr **ret, int *ret_bias, int *ret_d,
                                   struct error *err)
{
    const struct dnnl_api *api = &dnnl->api;
    struct dnnl_primitive_attr *attributes = NULL;
    struct dnnl_post_ops *ops = NULL;
    const char *function = "dnnl_primitive_attr_create";
    unsigned code = api->dnnl_primitive_attr_create(&attributes);

    if (code == ASSAY_DNNL_success) {
        function = "dnnl_primitive_attr_set_scratchpad_mode";
        code = api->dnnl_primitive_attr_set_scratchpad_mode(attributes,
                                                            ASSAY_DNNL_scratchpad_mode_user);
    }
    /* fp32 is true fp32, whatever the environment says (ONEDNN_DEFAULT_FPMATH_MODE). */
    if (code == ASSAY_DNNL_success && api->dnnl_primitive_attr_set_fpmath_mode != NULL) {
        function = "dnnl_primitive_attr_set_fpmath_mode";
        code = api->dnnl_primitive_attr_set_fpmath_mode(
            attributes, shape->precision == PRECISION_TF32 ? ASSAY_DNNL_fpmath_mode_tf32
                                                           : ASSAY_DNNL_fpmath_mode_strict);
    }
    if (code == ASSAY_DNNL_success) {
        function = "dnnl_post_ops_create";
        code = api->dnnl_post_ops_create(&ops);
    }
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
        if (attributes != NULL)
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
    struct dnnl_memory *memory = NULL;
    const unsigned code = dnnl->api.dnnl_memory_create(&memory, layout, dnnl->engine, bytes);

    if (code != ASSAY_DNNL_success || memory == NULL)
        return onednn_fail(dnnl, "dnnl_memory_create", code, err);
    *ret = memory;
    variant->args[variant->arg_count++] = (struct assay_dnnl_exec_arg){arg, memory};
    return STATUS_OK;
}

static enum status add_scratchpad(const struct onednn *dnnl, struct variant *variant,
                                  const struct dnnl_primitive_desc *desc, struct error *err)
{
    const struct assay_dnnl_memory_desc *layout =
        dnnl->api.dnnl_primitive_desc_query_md(desc, ASSAY_DNNL_query_scratchpad_md, 0);
    size_t size;

    variant->scratchpad_bytes = layout != NULL ? dnnl->api.dnnl_memory_desc_get_size(layout) : 0;
    if (variant->scratchpad_bytes == 0)
        return STATUS_OK;
    size = (variant->scratchpad_bytes + SCRATCHPAD_ALIGN - 1) / SCRATCHPAD_ALIGN * SCRATCHPAD_ALIGN;
    variant->scratchpad = aligned_alloc(SCRATCHPAD_ALIGN, size);
    if (variant->scratchpad == NULL)
        return error_set(err, STATUS_DEVICE_MEMORY,
                         "oneDNN %s: no memory for a scratchpad of %" PRIu64 " bytes",
                         dnnl->version, variant->scratchpad_bytes);
    return add_memory(dnnl, variant, ASSAY_DNNL_ARG_SCRATCHPAD, layout, variant->scratchpad,
                      &variant->pad, err);
}

static enum status make_variant(const struct onednn *dnnl, const struct product_shape *shape,
                                const struct layouts *layouts, bool apart, struct variant *variant,
                                struct error *err)
{
    int bias_arg = ASSAY_DNNL_ARG_BIAS, d_arg = 0;
    const bool own_bias = shape->bias && shape->alpha == 1.0f;
    struct dnnl_primitive_attr *attributes = NULL;
    struct dnnl_primitive_desc *desc = NULL;
    enum status status;
    unsigned code;

    status = make_attributes(dnnl, shape, layouts, apart, &attributes, &bias_arg, &d_arg, err);
    if (status != STATUS_OK)
        return status;
    status = onednn_matmul_create(dnnl, layouts->a, layouts->b, own_bias ? layouts->bias : NULL,
                                  layouts->c, attributes, &desc, err);
    dnnl->api.dnnl_primitive_attr_destroy(attributes);
    if (status != STATUS_OK)
        return status;
    onednn_algorithm(dnnl, desc, variant->algorithm, sizeof(variant->algorithm));
    code = dnnl->api.dnnl_primitive_create(&variant->primitive, desc);
    if (code != ASSAY_DNNL_success || variant->primitive == NULL)
        status = onednn_fail(dnnl, "dnnl_primitive_create", code, err);
    if (status == STATUS_OK)
        status = add_memory(dnnl, variant, ASSAY_DNNL_ARG_SRC, layouts->a, NULL, &variant->a, err);
    if (status == STATUS_OK)
        status =
            add_memory(dnnl, variant, ASSAY_DNNL_ARG_WEIGHTS, layouts->b, NULL, &variant->b, err);
    if (status == STATUS_OK)
        status = add_memory(dnnl, variant, ASSAY_DNNL_ARG_DST, layouts->c, NULL, &variant->c, err);
    if (status == STATUS_OK && shape->bias)
        status = add_memory(dnnl, variant, bias_arg, layouts->bias, NULL, &variant->bias, err);
    if (status == STATUS_OK && shape->add && apart)
        status = add_memory(dnnl, variant, d_arg, layouts->c, NULL, &variant->d, err);
    if (status == STATUS_OK)
        status = add_scratchpad(dnnl, variant, desc, err);
    dnnl->api.dnnl_primitive_desc_destroy(desc);
    return status;
}

static void variant_finish(const struct onednn *dnnl, struct variant *variant)
{
    for (int i = 0; i < variant->arg_count; i++)
        dnnl->api.dnnl_memory_destroy(variant->args[i].memory);
    if (variant->primitive != NULL)
        dnnl->api.dnnl_primitive_destroy(variant->primitive);
    free(variant->scratchpad);
}

void cpu_product_destroy(struct device *base, struct product *product)
{
    const struct onednn *dnnl = &cpu_device(base)->state->dnnl;
    struct cpu_product *self = (struct cpu_product *)product;

    variant_finish(dnnl, &self->in_place);
    variant_finish(dnnl, &self->apart);
    free(self);
}

/*
 * tf32 is a permission that the library may not take: without an algorithm that says so, what runs
 * is fp32.
 */
static enum status check_tf32(const struct onednn *dnnl, const struct cpu_product *product,
                              struct error *err)
{
    if (strstr(product->in_place.algorithm, "tf32") != NULL)
        return STATUS_OK;
    return error_set(err, STATUS_UNSUPPORTED,
                     "oneDNN %s: with tf32 allowed it chooses %s, which computes in fp32",
                     dnnl->version, product->in_place.algorithm);
}

enum status cpu_product_create(struct device *base, const struct product_shape *shape,
                               struct product **ret, struct error *err)
{
    const struct onednn *dnnl = &cpu_device(base)->state->dnnl;
    struct cpu_product *product;
    struct layouts layouts = {0};
    enum status status;

    if (shape->precision == PRECISION_TF32 && dnnl->major < 3)
        return error_set(err, STATUS_UNSUPPORTED, "oneDNN %s has no tf32", dnnl->version);
    product = calloc(1, sizeof(*product));
    if (product == NULL)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    status = make_layouts(dnnl, shape, &layouts, err);
    if (status == STATUS_OK)
        status = make_variant(dnnl, shape, &layouts, false, &product->in_place, err);
    if (status == STATUS_OK && shape->add)
        status = make_variant(dnnl, shape, &layouts, true, &product->apart, err);
    if (status == STATUS_OK && shape->precision == PRECISION_TF32)
        status = check_tf32(dnnl, product, err);
    layouts_finish(dnnl, &layouts);
    if (status != STATUS_OK) {
        cpu_product_destroy(base, &product->base);
        return status;
    }
    *ret = &product->base;
    return STATUS_OK;
}

/* Points `memory` at an operand; 0 memory: nothing to do. */
static unsigned point(const struct onednn *dnnl, struct dnnl_memory *memory,
                      const struct product_operand *operand, enum dtype type)
{
    unsigned char *bytes;

    if (memory == NULL)
        return ASSAY_DNNL_success;
    bytes = ((struct cpu_buffer *)operand->buffer)->bytes;
    return dnnl->api.dnnl_memory_set_data_handle(memory,
                                                 bytes + operand->offset * (dtype_bits(type) / 8));
}

/*
 * oneDNN's threads are the pool's. They are told once, and keep it until the host may go on by
 * itself (device.c); threads that the library starts anew inherit it. Returns the calling thread's
 * mode.
 */
static bool begin_flush(struct cpu_device *device)
{
    const bool before = cpu_threads_switch_flush(true);

    if (!device->pool_flushes)
        cpu_threads_set_flush(device->threads, true);
    device->pool_flushes = true;
    return before;
}

enum status cpu_product_run(struct device *base, struct product *product,
                            const struct product_operands *operands, struct error *err)
{
    struct cpu_device *device = cpu_device(base);
    const struct onednn *dnnl = &device->state->dnnl;
    struct cpu_product *self = (struct cpu_product *)product;
    const struct product_shape *shape = &product->shape;
    bool before;
    const bool apart = shape->add && (operands->d.buffer != operands->c.buffer ||
                                      operands->d.offset != operands->c.offset);
    struct variant *variant = apart ? &self->apart : &self->in_place;
    unsigned code = point(dnnl, variant->a, &operands->a, shape->a.type);

    if (code == ASSAY_DNNL_success)
        code = point(dnnl, variant->b, &operands->b, shape->b.type);
    if (code == ASSAY_DNNL_success)
        code = point(dnnl, variant->c, &operands->c, shape->c.type);
    if (code == ASSAY_DNNL_success)
        code = point(dnnl, variant->bias, &operands->bias, shape->bias_type);
    if (code == ASSAY_DNNL_success)
        code = point(dnnl, variant->d, &operands->d, shape->c.type);
    if (code != ASSAY_DNNL_success)
        return onednn_fail(dnnl, "dnnl_memory_set_data_handle", code, err);
    before = device->flush_denormals && begin_flush(device);
    code = dnnl->api.dnnl_primitive_execute(variant->primitive, dnnl->stream, variant->arg_count,
                                            variant->args);
    if (code == ASSAY_DNNL_success)
        code = dnnl->api.dnnl_stream_wait(dnnl->stream);
    if (device->flush_denormals)
        cpu_threads_switch_flush(before);
    return code == ASSAY_DNNL_success ? STATUS_OK
                                      : onednn_fail(dnnl, "dnnl_primitive_execute", code, err);
}

/* Bits of dnnl_cpu_isa_t that are the same in versions 2 and 3 (x86 only). */
#define ISA_AVX512 0x20u
#define ISA_VNNI 0x40u
#define ISA_BF16 0x80u
#define ISA_FP16 0x100u /* in version 3 */

static bool has(const char *text, const char *word)
{
    return strstr(text, word) != NULL;
}

/*
 * An algorithm that is named after an instruction set uses it: "brg:avx512_core_bf16". One that is
 * not ("gemm:jit") uses the best there is, which the effective instruction set tells.
 */
static enum support judge(enum precision precision, const char *algorithm, unsigned isa, int major)
{
    const bool named = has(algorithm, ":avx") || has(algorithm, ":sse");
    const bool wide = named && (has(algorithm, "amx") || has(algorithm, "avx10"));

    if (algorithm[0] == '\0')
        return SUPPORT_UNKNOWN;
    if (strncmp(algorithm, "ref", 3) == 0)
        return SUPPORT_EMULATED;
#if !defined(__x86_64__)
    if (precision != PRECISION_FP32)
        return SUPPORT_UNKNOWN;
#endif
    switch (precision) {
    case PRECISION_FP64:
    case PRECISION_FP32:
    case PRECISION_TF32:
        return SUPPORT_NATIVE;
    case PRECISION_BF16:
        if (wide || (named ? has(algorithm, "bf16") : (isa & ISA_BF16) != 0))
            return SUPPORT_NATIVE;
        return SUPPORT_EMULATED;
    case PRECISION_FP16:
        if (wide || (named ? has(algorithm, "fp16") : major >= 3 && (isa & ISA_FP16) != 0))
            return SUPPORT_NATIVE;
        return SUPPORT_EMULATED;
    case PRECISION_INT8:
        if (wide ||
            (named ? has(algorithm, "vnni") || has(algorithm, "bf16") || has(algorithm, "fp16")
                   : (isa & ISA_VNNI) != 0))
            return SUPPORT_NATIVE;
        return SUPPORT_EMULATED;
    default:
        return SUPPORT_UNKNOWN;
    }
}

void cpu_dnnl_describe(const struct onednn *dnnl, enum precision precision, const char *algorithm,
                       uint64_t scratchpad_bytes, struct product_info *ret)
{
    const unsigned isa =
        dnnl->api.dnnl_get_effective_cpu_isa != NULL ? dnnl->api.dnnl_get_effective_cpu_isa() : 0;

    snprintf(ret->library, sizeof(ret->library), "oneDNN");
    snprintf(ret->version, sizeof(ret->version), "%s", dnnl->version);
    snprintf(ret->algorithm, sizeof(ret->algorithm), "%s", algorithm);
    ret->workspace_bytes = scratchpad_bytes;
    ret->support = judge(precision, algorithm, isa, dnnl->major);
    snprintf(ret->method, sizeof(ret->method),
             "impl_info_str \"%.48s\", dnnl_get_effective_cpu_isa 0x%x", algorithm, isa);
}

enum status cpu_product_describe(struct device *base, const struct product *product,
                                 struct product_info *ret, struct error *err)
{
    const struct cpu_product *self = (const struct cpu_product *)product;

    (void)err;
    cpu_dnnl_describe(&cpu_device(base)->state->dnnl, product->shape.precision,
                      self->in_place.algorithm,
                      self->in_place.scratchpad_bytes + self->apart.scratchpad_bytes, ret);
    return STATUS_OK;
}

/* The GEMM from our own text: one compiled variant a set of storage types. */
#include <stdio.h>
#include <stdlib.h>

#include "workloads/kernel_args.h"
#include "workloads/kernel_text.h"
#include "workloads/ops/gemm_internal.h"

#define HAS_BIAS 8u /* kernels/gemm.h */
#define HAS_D 16u
#define FEW_ROWS 4 /* of A; where B is f32, 8: nothing is widened for each of them */
#define FEW_ROWS_F32 8
#define FEW_SUMS 8192 /* kernels/gemm_few.h */

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

/* The name that kernels/gemm.h has for a type; NULL: none. */
static const char *type_word(enum dtype type)
{
    switch (type) {
    case DTYPE_F64:
        return "F64";
    case DTYPE_F32:
        return "F32";
    case DTYPE_BF16:
        return "BF16";
    case DTYPE_F16:
        return "F16";
    case DTYPE_I8:
        return "I8";
    case DTYPE_I32:
        return "I32";
    case DTYPE_E4M3:
        return "E4M3";
    case DTYPE_E5M2:
        return "E5M2";
    default:
        return NULL;
    }
}

void gemm_portable_support(struct device *device, enum precision precision,
                           struct operation_info *ret)
{
    const char *method = NULL;
    enum support support = SUPPORT_EMULATED;

    switch (precision) {
    case PRECISION_FP64:
        support = SUPPORT_NATIVE;
        method = "our text: f64 stored and computed in";
        break;
    case PRECISION_FP32:
        support = SUPPORT_NATIVE;
        method = "our text: f32 stored and computed in";
        break;
    case PRECISION_BF16:
        method = "our text: bf16 stored, computed in f32";
        break;
    case PRECISION_FP16:
        method = "our text: f16 stored, computed in f32";
        break;
    case PRECISION_FP8_E4M3:
        method = "our text: e4m3 stored, computed in f32";
        break;
    case PRECISION_FP8_E5M2:
        method = "our text: e5m2 stored, computed in f32";
        break;
    case PRECISION_INT8:
        method = "our text: i8 stored, computed in i32";
        break;
    default:
        support = SUPPORT_ABSENT;
        method = "our text has no such type";
        break;
    }
    *ret = (struct operation_info){
        .library = "assay", .version = "as assay itself", .support = support};
    snprintf(ret->method, sizeof(ret->method), "%s", method);
    if (device && device_check_precision(device, precision, NULL) != STATUS_OK) {
        ret->support = SUPPORT_ABSENT;
        snprintf(ret->method, sizeof(ret->method), "this device has no f64");
    }
}

enum status gemm_compile_texts(struct device *device, const struct ops_tile *tile,
                               const struct gemm_types *types, const char *const *files,
                               size_t file_count, const char *file, struct module **ret,
                               struct error *err)
{
    const uint32_t numbers[] = {tile->reg_m, tile->reg_n, tile->tile_m, tile->tile_n,
                                tile->block_k};
    char values[5][16];
    const struct module_define defines[] = {
        {"REG_M", values[0]},
        {tile->lanes == 1 ? "REG_V" : "REG_N", values[1]},
        {"TILE_M", values[2]},
        {"TILE_N", values[3]},
        {"BLOCK_K", values[4]},
        {"TYPE_A", type_word(types->a)},
        {"TYPE_B", type_word(types->b)},
        {"TYPE_C", type_word(types->c)},
        {"TYPE_BIAS", type_word(types->bias)},
    };
    const struct module_source source = {.file = file,
                                         .lanes = tile->lanes,
                                         .defines = defines,
                                         .define_count = sizeof(defines) / sizeof(defines[0])};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        snprintf(values[i], sizeof(values[i]), "%u", numbers[i]);
    return kernel_text_load(device, files, file_count, source, ret, err);
}

enum status gemm_compile(struct device *device, const struct ops_tile *tile,
                         const struct gemm_types *types, struct module **ret, struct error *err)
{
    static const char *const files[] = {"vector.h", "gemm.h", "gemm_few.h"};

    return gemm_compile_texts(device, tile, types, files, 3, "workloads/kernels/gemm.h", ret, err);
}

static bool types_fit(enum precision precision, const struct gemm_types *types)
{
    const enum dtype sum = gemm_sum_type(precision);

    if (types->a != types->b || !type_word(types->a) || !type_word(types->bias) ||
        dtype_bits(types->bias) < 16)
        return false;
    if (sum != DTYPE_F32)
        return types->c == sum;
    return types->c == DTYPE_F32 || types->c == DTYPE_BF16 || types->c == DTYPE_F16;
}

enum status gemm_advise(struct device *device, enum precision precision, enum status status,
                        struct error *err)
{
    static const char *const advice[] = {
        [SUPPORT_ABSENT] =
            "the portable implementation has none, either: try another version of the library "
            "(--lib NAME=PATH) or another device",
        [SUPPORT_EMULATED] =
            "--implementation portable --emulate measures our own text, labelled so",
        [SUPPORT_NATIVE] = "--implementation portable measures our own text",
    };
    struct operation_info portable;
    struct error whole = ERROR_INIT;

    if (status != STATUS_UNSUPPORTED || !err)
        return status;
    gemm_portable_support(device, precision, &portable);
    if (portable.support == SUPPORT_UNKNOWN)
        return status;
    error_set(&whole, status, "%s; %s", err->message, advice[portable.support]);
    *err = whole;
    return status;
}

/* Only what is asked for is emulated. */
enum status gemm_portable_check(const struct gemms *gemms, enum precision precision,
                                const struct gemm_types *types, struct error *err)
{
    struct operation_info portable;

    gemm_portable_support(NULL, precision, &portable);
    if (portable.support == SUPPORT_ABSENT || !types_fit(precision, types))
        return error_set(err, STATUS_UNSUPPORTED,
                         "the portable implementation has no GEMM in %s (%s x %s to %s): "
                         "--implementation vendor asks "
                         "the library",
                         precision_name(precision), dtype_name(types->a), dtype_name(types->b),
                         dtype_name(types->c));
    if (portable.support == SUPPORT_EMULATED && !gemms->emulate)
        return error_set(
            err, STATUS_UNSUPPORTED,
            "the portable implementation emulates %s (%s): --emulate measures that, labelled so; "
            "--implementation vendor asks the library",
            precision_name(precision), portable.method);
    return STATUS_OK;
}

static enum status find_variant(struct gemms *gemms, const struct op_gemm *gemm,
                                struct module **ret, struct error *err)
{
    const struct gemm_types types = {gemm->a.type, gemm->b.type, gemm->c.type,
                                     gemm_bias_type(gemm)};
    struct gemm_variant *grown;

    for (size_t i = 0; i < gemms->variant_count; i++) {
        const struct gemm_types *known = &gemms->variants[i].types;

        if (known->a == types.a && known->b == types.b && known->c == types.c &&
            (known->bias == types.bias || !gemm->bias.buffer)) {
            *ret = gemms->variants[i].module;
            return STATUS_OK;
        }
    }
    if (gemms->sealed)
        return error_set(err, STATUS_INTERNAL,
                         "a GEMM of %s x %s to %s was first asked for while measuring",
                         dtype_name(types.a), dtype_name(types.b), dtype_name(types.c));
    TRY(gemm_portable_check(gemms, gemm_precision(gemms, gemm), &types, err));
    grown = realloc(gemms->variants, (gemms->variant_count + 1) * sizeof(*grown));
    if (!grown)
        return error_no_memory(err);
    gemms->variants = grown;
    TRY(gemm_compile(gemms->device, &gemms->tile, &types, ret, err));
    grown[gemms->variant_count++] = (struct gemm_variant){types, *ret};
    return STATUS_OK;
}

/* Columns of a group where all rows are made at once, as many groups for each unit; 0: by tiles. */
static uint64_t few_columns(const struct gemms *gemms, const struct op_gemm *gemm)
{
    const uint64_t units =
        gemms->device->info.compute_units ? gemms->device->info.compute_units : 1;
    const uint64_t rows = gemm->b.type == DTYPE_F32 ? FEW_ROWS_F32 : FEW_ROWS;
    const uint64_t groups = units * ceil_div(gemm->n * gemm->m, units * (FEW_SUMS - rows * 16));

    if (gemms->tile.lanes != 1 || gemm->m > rows || gemm->inner > 1 || gemm->outer > 1 ||
        gemm->triangle != OP_FULL || gemm->a.transpose || gemm->k == 0)
        return 0;
    return ceil_div(ceil_div(gemm->n, groups), 16) * 16;
}

enum status gemm_portable_run(struct gemms *gemms, const struct op_gemm *gemm, struct error *err)
{
    const uint64_t inner = gemm->inner ? gemm->inner : 1, outer = gemm->outer ? gemm->outer : 1;
    const struct op_matrix *a = &gemm->a, *b = &gemm->b, *c = &gemm->c;
    const uint32_t shape = (uint32_t)gemm->triangle | (gemm->bias.buffer ? HAS_BIAS : 0) |
                           (gemm->d.buffer ? HAS_D : 0);
    const uint64_t columns = few_columns(gemms, gemm);
    /* Some stacks require a valid buffer even for one that is not read. */
    const struct kernel_arg args[] = {
        arg_buffer(a->at.buffer),
        arg_buffer(b->at.buffer),
        arg_buffer(c->at.buffer),
        arg_buffer(gemm->bias.buffer ? gemm->bias.buffer : c->at.buffer),
        arg_buffer(gemm->d.buffer ? gemm->d.buffer : c->at.buffer),
        arg_u64(a->at.offset),
        arg_u64(b->at.offset),
        arg_u64(c->at.offset),
        arg_u64(gemm->bias.offset),
        arg_u64(gemm->d.offset),
        arg_u64(a->transpose ? 1 : a->stride),
        arg_u64(a->transpose ? a->stride : 1),
        arg_u64(b->transpose ? 1 : b->stride),
        arg_u64(b->transpose ? b->stride : 1),
        arg_u64(c->stride),
        arg_u64(a->outer_stride),
        arg_u64(a->inner_stride),
        arg_u64(b->outer_stride),
        arg_u64(b->inner_stride),
        arg_u64(c->outer_stride),
        arg_u64(c->inner_stride),
        arg_u64(inner),
        arg_u64(gemm->m),
        arg_u64(gemm->n),
        arg_u64(gemm->k),
        {.type = KERNEL_ARG_F32, .f32 = gemm->alpha == 0.0f ? 1.0f : gemm->alpha},
        {.type = KERNEL_ARG_U32, .u32 = shape},
        arg_u64(columns),
    };
    struct kernel_launch launch = {
        .kernel = "gemm",
        .groups = {(uint32_t)ceil_div(gemm->n, gemms->tile.tile_n),
                   (uint32_t)ceil_div(gemm->m, gemms->tile.tile_m), (uint32_t)(inner * outer)},
        .args = args,
        .arg_count = sizeof(args) / sizeof(args[0]) - (columns == 0),
    };
    enum status status = find_variant(gemms, gemm, &launch.module, err);

    if (columns > 0) {
        launch.kernel = "gemm_few";
        launch.groups[0] = (uint32_t)ceil_div(gemm->n, columns);
        launch.groups[1] = 1;
    }

    return status == STATUS_OK ? device_kernel_launch(gemms->device, &launch, err) : status;
}

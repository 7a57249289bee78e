/* Which algorithms of cuBLASLt a GEMM may take: those of its heuristic that compute in what was
 * asked for, by the algorithm's own numerical flags. */
#include "backends/cuda/gemm.h"

#include <inttypes.h>
#include <stdio.h>

/* As PyTorch allows on the largest devices; an algorithm takes what it needs of it. */
#define WORKSPACE_MAX ((uint64_t)32 << 20)

enum status cuda_lt_fail(const struct cublaslt_api *api, const char *function, unsigned code,
                         struct error *err)
{
    enum status status;

    if (code == LT_STATUS_SUCCESS)
        return error_set(err, STATUS_DEVICE,
                         "%s: succeeded, but what it gave cannot be; the library is defective",
                         function);
    switch (code) {
    case LT_STATUS_NOT_SUPPORTED:
    case LT_STATUS_INVALID_VALUE:
    case LT_STATUS_ARCH_MISMATCH:
        status = STATUS_UNSUPPORTED;
        break;
    case LT_STATUS_ALLOC_FAILED:
        status = STATUS_DEVICE_MEMORY;
        break;
    default:
        status = STATUS_DEVICE;
        break;
    }
    return error_set(err, status, "%s: %s (%u)", function, cublaslt_status_name(api, code), code);
}

/*
 * What an algorithm's numerical flags may name for a precision, of each of three things.
 * cuBLASLt 13.1 reports 16F operands on Hopper for algorithms of bf16 and fp8, too (H100, 0x10202),
 * so there the flag does not tell them apart. bf16 by fp16 would lose the exponents that the
 * conformance suite checks ("range of exponents"); e4m3 and e5m2 are exact in fp16, so nothing but
 * speed shows what they run in.
 */
struct numerics {
    uint64_t input, operation, sum;
};

static struct numerics numerics_of(enum precision precision)
{
    const uint64_t fma = LT_NUMERICAL_FMA, tensor = LT_NUMERICAL_TENSOR;
    const uint64_t half = fma | LT_NUMERICAL_HMMA;

    switch (precision) {
    case PRECISION_FP64:
        return (struct numerics){LT_NUMERICAL_INPUT_64F, fma | LT_NUMERICAL_DMMA,
                                 LT_NUMERICAL_SUM_64F};
    case PRECISION_TF32:
        return (struct numerics){LT_NUMERICAL_INPUT_TF32, half, LT_NUMERICAL_SUM_32F};
    case PRECISION_BF16:
        return (struct numerics){(uint64_t)LT_NUMERICAL_INPUT_16BF | LT_NUMERICAL_INPUT_16F, half,
                                 LT_NUMERICAL_SUM_32F};
    case PRECISION_FP16:
        return (struct numerics){LT_NUMERICAL_INPUT_16F, half, LT_NUMERICAL_SUM_32F};
    case PRECISION_INT8:
        return (struct numerics){LT_NUMERICAL_INPUT_8I, fma | LT_NUMERICAL_IMMA,
                                 LT_NUMERICAL_SUM_32I};
    case PRECISION_FP8_E4M3:
    case PRECISION_FP8_E5M2:
        return (struct numerics){(uint64_t)LT_NUMERICAL_INPUT_E4M3 | LT_NUMERICAL_INPUT_E5M2 |
                                     LT_NUMERICAL_INPUT_16F,
                                 fma | tensor, LT_NUMERICAL_SUM_32F};
    case PRECISION_FP4: /* there is no flag for 4-bit operands, which only tensor units take */
        return (struct numerics){LT_NUMERICAL_INPUT, tensor, LT_NUMERICAL_SUM_32F};
    default:
        return (struct numerics){LT_NUMERICAL_INPUT_32F, fma, LT_NUMERICAL_SUM_32F};
    }
}

/* How an older library answers for an attribute that it does not know. */
static bool is_unknown_attribute(unsigned code)
{
    return code == LT_STATUS_INVALID_VALUE || code == LT_STATUS_NOT_SUPPORTED;
}

/* An algorithm's own numerical flags; 0 where the library does not report them. */
static enum status read_flags(const struct cublaslt_api *api, const LT_ALGORITHM *algorithm,
                              uint64_t *ret, struct error *err)
{
    uint64_t flags = 0;
    size_t written = 0;
    unsigned code = LT_STATUS_NOT_SUPPORTED;

    if (api->cublasLtMatmulAlgoCapGetAttribute != NULL)
        code = api->cublasLtMatmulAlgoCapGetAttribute(algorithm, LT_CAP_NUMERICAL_IMPL_FLAGS,
                                                      &flags, sizeof(flags), &written);
    if (code != LT_STATUS_SUCCESS && !is_unknown_attribute(code))
        return cuda_lt_fail(api, "cublasLtMatmulAlgoCapGetAttribute", code, err);
    *ret = code == LT_STATUS_SUCCESS ? flags : 0;
    return STATUS_OK;
}

/* Nothing is named of a thing, or something of what may be. */
static bool agrees(uint64_t flags, uint64_t thing, uint64_t wanted)
{
    return (flags & thing) == 0 || (flags & wanted) != 0;
}

/*
 * Whether an algorithm may compute in the precision, by its own flags: one that says that it widens
 * or narrows the operands does not (fp32 by tf32, tf32 by fp32 where there is none). For what is
 * not reported, the requested compute type is assumed. fp32 uses nothing narrower on the way: one
 * that names anything else, too, is not taken.
 */
static bool does_precision(const struct gemm_shape *shape, uint64_t flags)
{
    const struct numerics wanted = numerics_of(shape->precision);

    if (shape->precision == PRECISION_FP32 &&
        (flags & (LT_NUMERICAL_TENSOR | (LT_NUMERICAL_INPUT & ~wanted.input))) != 0)
        return false;
    if (shape->precision == PRECISION_TF32 &&
        (flags & (LT_NUMERICAL_OPERATION | LT_NUMERICAL_INPUT)) == LT_NUMERICAL_FMA)
        return false; /* of f32, for all that it says */
    return agrees(flags, LT_NUMERICAL_INPUT, wanted.input) &&
           agrees(flags, LT_NUMERICAL_OPERATION, wanted.operation) &&
           agrees(flags, LT_NUMERICAL_SUM, wanted.sum);
}

static bool tells_input(const struct gemm_shape *shape, uint64_t flags)
{
    const bool fp8 =
        shape->precision == PRECISION_FP8_E4M3 || shape->precision == PRECISION_FP8_E5M2;

    return shape->precision == PRECISION_FP4 ||
           (flags & LT_NUMERICAL_INPUT &
            (fp8 ? ~(uint64_t)LT_NUMERICAL_INPUT_16F : ~UINT64_C(0))) != 0;
}

/*
 * fp32 and fp64 are native in plain multiply-adds, the narrow types in the tensor units, which a
 * product with a vector does not need: the library has plain multiply-adds alone for that. tf32
 * exists in tensor units only, so what says that it takes such operands runs there (13.1 on an H100
 * reports multiply-adds of them, 0x40201, at seven times fp32's rate). Unknown where the library
 * does not say by which, or of which operands.
 */
static enum support support_of(const struct gemm_shape *shape, uint64_t flags)
{
    const bool plain = shape->precision == PRECISION_FP32 || shape->precision == PRECISION_FP64 ||
                       shape->m == 1 || shape->n == 1;

    if (shape->precision == PRECISION_TF32 && (flags & LT_NUMERICAL_INPUT_TF32) != 0 &&
        (flags & LT_NUMERICAL_OPERATION) != 0)
        return SUPPORT_NATIVE;
    if ((flags & LT_NUMERICAL_OPERATION) == LT_NUMERICAL_FMA && !plain)
        return SUPPORT_EMULATED;
    return (flags & LT_NUMERICAL_OPERATION) != 0 && tells_input(shape, flags) ? SUPPORT_NATIVE
                                                                              : SUPPORT_UNKNOWN;
}

/* Split sums are added up in what is computed in, also where the result is narrower. */
static uint32_t reductions_of(const struct gemm_shape *shape)
{
    return (uint32_t)LT_REDUCTION_COMPUTE_TYPE |
           (dtype_bits(shape->c.type) >= 32 ? (uint32_t)LT_REDUCTION_INPLACE : 0);
}

static enum status set_preference(const struct cublaslt_api *api, struct cuda_gemm *gemm,
                                  const struct gemm_shape *shape, LT_PREFERENCE preference,
                                  uint32_t alignment, struct error *err)
{
    const uint64_t workspace = WORKSPACE_MAX, bias = alignment;
    const uint32_t reductions = reductions_of(shape);

    LT(cublasLtMatmulPreferenceSetAttribute, preference, LT_PREF_MAX_WORKSPACE_BYTES, &workspace,
       sizeof(workspace));
    LT(cublasLtMatmulPreferenceSetAttribute, preference, LT_PREF_REDUCTION_SCHEME_MASK, &reductions,
       sizeof(reductions));
    for (unsigned which = LT_PREF_MIN_ALIGNMENT_A_BYTES; which <= LT_PREF_MIN_ALIGNMENT_D_BYTES;
         which++)
        LT(cublasLtMatmulPreferenceSetAttribute, preference, which, &alignment, sizeof(alignment));
    /* The library reads its alignment off the pointer's value. */
    if (shape->bias)
        LT(cublasLtMatmulDescSetAttribute, gemm->desc, LT_DESC_BIAS_POINTER, &bias, sizeof(bias));
    gemm->bias = bias;
    return STATUS_OK;
}

/* Where one does not emulate, those that do are excluded. */
static void drop_emulated(const struct gemm_shape *shape, struct cuda_algorithm_list *list)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < list->count; i++)
        if (support_of(shape, list->at[i].flags) != SUPPORT_EMULATED)
            list->at[kept++] = list->at[i];
    if (kept > 0)
        list->count = kept;
}

static enum status ask(struct cuda_device *device, struct cuda_gemm *gemm,
                       const struct gemm_shape *shape, LT_PREFERENCE preference, uint32_t alignment,
                       struct cuda_algorithm_list *list, struct error *err)
{
    const struct cublaslt_api *api = &device->state->cublaslt;
    LT_HEURISTIC results[CUDA_GEMM_ALGORITHMS] = {0};
    unsigned refused = LT_STATUS_NOT_SUPPORTED;
    uint64_t flags = 0, other = 0; /* `other`: of one that computes in something else */
    int count = 0;

    TRY(set_preference(api, gemm, shape, preference, alignment, err));
    LT(cublasLtMatmulAlgoGetHeuristic, device->cublaslt, gemm->desc, gemm->b, gemm->a, gemm->c,
       gemm->c, preference, CUDA_GEMM_ALGORITHMS, results, &count);
    for (int i = 0; i < count && i < CUDA_GEMM_ALGORITHMS; i++) {
        if (results[i].state != LT_STATUS_SUCCESS) {
            refused = results[i].state;
            continue;
        }
        TRY(read_flags(api, &results[i].algorithm, &flags, err));
        if (!does_precision(shape, flags))
            other = flags;
        else if (results[i].workspace_bytes <= WORKSPACE_MAX)
            list->at[list->count++] =
                (struct cuda_algorithm){results[i].algorithm, results[i].workspace_bytes, flags};
    }
    drop_emulated(shape, list);
    if (list->count > 0)
        return STATUS_OK;
    if (other != 0)
        return error_set(err, STATUS_UNSUPPORTED,
                         "cublasLtMatmulAlgoGetHeuristic: its algorithms do not compute in %s "
                         "(flags 0x%" PRIx64 ")",
                         precision_name(shape->precision), other);
    return cuda_lt_fail(api, "cublasLtMatmulAlgoGetHeuristic", refused, err);
}

/*
 * cuBLAS documents f32 operands with f32 results alone. Asked for bf16 ones, 13.1 lists algorithms
 * on Hopper whose split sums then write 4 bytes an element into the result's 2 (H100,
 * compute-sanitizer).
 */
static enum status check_result_type(const struct gemm_shape *shape, struct error *err)
{
    if (shape->a.type != DTYPE_F32 || shape->c.type == DTYPE_F32)
        return STATUS_OK;
    return error_set(err, STATUS_UNSUPPORTED,
                     "cuBLASLt documents products of f32 with results in f32 alone, not in %s",
                     dtype_name(shape->c.type));
}

/*
 * cuBLAS documents these multiples of 4 for cublasLtMatmul in int8 with matrices in plain order,
 * and not that it refuses others.
 */
static enum status check_int8(const struct gemm_shape *shape, uint32_t alignment, struct error *err)
{
    uint64_t all = shape->k | shape->a.stride | shape->b.stride | alignment;

    if (shape->outer > 1)
        all |= shape->a.outer_stride | shape->b.outer_stride;
    if (shape->inner > 1)
        all |= shape->a.inner_stride | shape->b.inner_stride;
    if (shape->precision != PRECISION_INT8 || all % 4 == 0)
        return STATUS_OK;
    return error_set(err, STATUS_UNSUPPORTED,
                     "cuBLASLt multiplies int8 only where k, the strides of A and B, and addresses "
                     "are multiples of 4");
}

enum status cuda_gemm_list(struct cuda_device *device, struct cuda_gemm *gemm,
                           const struct gemm_shape *shape, uint32_t alignment,
                           struct cuda_algorithm_list *ret, struct error *err)
{
    const struct cublaslt_api *api = &device->state->cublaslt;
    struct cuda_algorithm_list list = {.count = 0};
    LT_PREFERENCE preference = NULL;
    enum status status;

    TRY(check_int8(shape, alignment, err));
    TRY(check_result_type(shape, err));
    LT_MAKE(preference, cublasLtMatmulPreferenceCreate, &preference);
    status = ask(device, gemm, shape, preference, alignment, &list, err);
    api->cublasLtMatmulPreferenceDestroy(preference);
    if (status == STATUS_OK)
        *ret = list;
    return status;
}

enum status cuda_gemm_algorithm_text(const struct cublaslt_api *api,
                                     const struct cuda_algorithm *algorithm,
                                     char ret[OPERATION_WORD_MAX], struct error *err)
{
    static const struct {
        const char *name;
        unsigned attribute;
        size_t size;
    } rows[] = {
        {"id", LT_CONFIG_ID, 4},
        {" tile", LT_CONFIG_TILE_ID, 4},
        {" stages", LT_CONFIG_STAGES_ID, 4},
        {" split_k", LT_CONFIG_SPLITK_NUM, 4},
        {" reduction", LT_CONFIG_REDUCTION_SCHEME, 4},
        {" swizzle", LT_CONFIG_CTA_SWIZZLING, 4},
        {" custom", LT_CONFIG_CUSTOM_OPTION, 4},
        {" inner", LT_CONFIG_INNER_SHAPE_ID, 2},
        {" cluster", LT_CONFIG_CLUSTER_SHAPE_ID, 2},
    };
    size_t at = 0;

    ret[0] = '\0';
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && at < OPERATION_WORD_MAX; i++) {
        size_t written = 0;
        uint32_t value = 0;
        uint16_t half = 0;
        void *where = rows[i].size == 2 ? (void *)&half : (void *)&value;
        const unsigned code = api->cublasLtMatmulAlgoConfigGetAttribute(
            &algorithm->algorithm, rows[i].attribute, where, rows[i].size, &written);

        if (is_unknown_attribute(code))
            continue;
        if (code != LT_STATUS_SUCCESS)
            return cuda_lt_fail(api, "cublasLtMatmulAlgoConfigGetAttribute", code, err);
        at += (size_t)snprintf(ret + at, OPERATION_WORD_MAX - at, "%s %" PRIu32, rows[i].name,
                               rows[i].size == 2 ? half : value);
    }
    return STATUS_OK;
}

void cuda_gemm_take_algorithm(struct cuda_gemm *gemm, const struct gemm_shape *shape,
                              uint32_t index, const char *text)
{
    const struct cuda_algorithm *chosen = &gemm->list.at[index];

    gemm->selected = index;
    snprintf(gemm->algorithm_text, sizeof(gemm->algorithm_text), "%s", text);
    gemm->support = support_of(shape, chosen->flags);
    snprintf(gemm->method, sizeof(gemm->method),
             "cublasLtMatmulAlgoGetHeuristic: an algorithm%s, numerical flags 0x%" PRIx64 "%s",
             shape->precision == PRECISION_FP4 ? ", a scale each 16 elements" : "", chosen->flags,
             chosen->flags == 0                  ? " (nothing reported)"
             : tells_input(shape, chosen->flags) ? ""
                                                 : " (operands' type not reported)");
}

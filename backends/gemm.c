/* gemm - the vendor library's GEMM: the checks in front of the hooks. */
#include "backends/backend.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *support_name(enum support support)
{
    switch (support) {
    case SUPPORT_NATIVE:
        return "native";
    case SUPPORT_EMULATED:
        return "emulated";
    case SUPPORT_ABSENT:
        return "absent";
    case SUPPORT_UNKNOWN:
        break;
    }
    return "unknown";
}

bool device_has_gemm(const struct device *device)
{
    return device->ops->gemm_create != NULL;
}

static enum status refuse(struct error *err, const char *what)
{
    return error_set(err, STATUS_INVALID, "GEMM: %s", what);
}

/* C may be what the sums are kept in, the operands' type, or another type of 16 bits or more. */
static bool result_type_fits(enum precision precision, enum dtype type)
{
    switch (precision) {
    case PRECISION_INT8:
        return type == DTYPE_I32;
    case PRECISION_FP64:
        return type == DTYPE_F64;
    default:
        return type == DTYPE_F32 || type == DTYPE_BF16 || type == DTYPE_F16 ||
               type == precision_dtype(precision);
    }
}

/* The fp8 types with and without FNUZ are different types of the same precision. */
static bool operand_type_fits(enum precision precision, enum dtype type)
{
    switch (precision) {
    case PRECISION_FP8_E4M3:
    case PRECISION_FP8_E5M2:
        /* One of the two operands may be the other kind: gradients are e5m2, weights e4m3. */
        return type == DTYPE_E4M3 || type == DTYPE_E5M2 || type == DTYPE_E4M3_FNUZ ||
               type == DTYPE_E5M2_FNUZ;
    default:
        return type == precision_dtype(precision);
    }
}

/* Elements from the first to after the last of one matrix of the shape's batch. */
static unsigned __int128 matrix_extent(const struct gemm_shape *shape,
                                       const struct gemm_matrix *matrix, uint64_t rows,
                                       uint64_t columns)
{
    const uint64_t lines = matrix->transpose ? columns : rows;
    const uint64_t length = matrix->transpose ? rows : columns;

    return (unsigned __int128)(shape->outer - 1) * matrix->outer_stride +
           (unsigned __int128)(shape->inner - 1) * matrix->inner_stride +
           (unsigned __int128)(lines - 1) * matrix->stride + length;
}

static enum status check_shape(const struct gemm_shape *shape, struct error *err)
{
    const bool integer = shape->precision == PRECISION_INT8;

    if (shape->m == 0 || shape->n == 0 || shape->k == 0)
        return refuse(err, "m, n and k must be at least 1");
    if (shape->a.stride < (shape->a.transpose ? shape->m : shape->k) ||
        shape->b.stride < (shape->b.transpose ? shape->k : shape->n) || shape->c.stride < shape->n)
        return refuse(err, "a stride is shorter than the rows it separates");
    if (shape->c.transpose)
        return refuse(err, "C cannot be transposed; exchange A and B instead");
    if (!operand_type_fits(shape->precision, shape->a.type) ||
        !operand_type_fits(shape->precision, shape->b.type) ||
        !result_type_fits(shape->precision, shape->c.type))
        return error_set(err, STATUS_INVALID, "GEMM: %s x %s to %s is not a GEMM in %s",
                         dtype_name(shape->a.type), dtype_name(shape->b.type),
                         dtype_name(shape->c.type), precision_name(shape->precision));
    if (integer && (shape->alpha != 1.0f || shape->bias || shape->add))
        return refuse(err, "int8 has no alpha, bias or D");
    return STATUS_OK;
}

const char *device_no_gemm_reason(const struct device *device)
{
    const struct reading *reading = reading_find(&device->info.readings, "device.gemm");

    return reading != NULL && reading->reason != NULL ? reading->reason
                                                      : "see `assay devices -v` for what was tried";
}

static enum status fail_none(const struct device *device, struct error *err)
{
    return error_set(err, STATUS_UNSUPPORTED, "no vendor GEMM: %s", device_no_gemm_reason(device));
}

enum status device_gemm_create(struct device *device, const struct gemm_shape *shape,
                               struct gemm **ret, struct error *err)
{
    struct gemm_shape whole = *shape;
    struct gemm *gemm = NULL;
    enum status status;

    if (!device_has_gemm(device))
        return fail_none(device, err);
    whole.outer = whole.outer != 0 ? whole.outer : 1;
    whole.inner = whole.inner != 0 ? whole.inner : 1;
    whole.alpha = whole.alpha != 0.0f ? whole.alpha : 1.0f;
    status = check_shape(&whole, err);
    if (status == STATUS_OK)
        status = device->ops->gemm_create(device, &whole, &gemm, err);
    if (status != STATUS_OK)
        return status;
    gemm->device = device;
    gemm->shape = whole;
    *ret = gemm;
    return STATUS_OK;
}

void device_gemm_destroy(struct gemm *gemm)
{
    if (gemm != NULL)
        gemm->device->ops->gemm_destroy(gemm->device, gemm);
}

static enum status check_operand(const struct gemm *gemm, const char *name,
                                 const struct gemm_operand *operand, enum dtype type,
                                 unsigned __int128 extent, struct error *err)
{
    if (operand->buffer == NULL || operand->buffer->device != gemm->device)
        return error_set(err, STATUS_INTERNAL, "GEMM: %s is not a buffer of this device", name);
    if (((extent + operand->offset) * dtype_bits(type) + 7) / 8 > operand->buffer->bytes)
        return error_set(err, STATUS_INVALID,
                         "GEMM: %s at offset %" PRIu64 " goes beyond its buffer of %" PRIu64
                         " bytes",
                         name, operand->offset, operand->buffer->bytes);
    return STATUS_OK;
}

enum status device_gemm_run(struct gemm *gemm, const struct gemm_operands *operands,
                            struct error *err)
{
    const struct gemm_shape *shape = &gemm->shape;
    const unsigned __int128 c = matrix_extent(shape, &shape->c, shape->m, shape->n);
    enum status status = check_operand(gemm, "A", &operands->a, shape->a.type,
                                       matrix_extent(shape, &shape->a, shape->m, shape->k), err);

    if (status == STATUS_OK)
        status = check_operand(gemm, "B", &operands->b, shape->b.type,
                               matrix_extent(shape, &shape->b, shape->k, shape->n), err);
    if (status == STATUS_OK)
        status = check_operand(gemm, "C", &operands->c, shape->c.type, c, err);
    if (status == STATUS_OK && shape->add)
        status = check_operand(gemm, "D", &operands->d, shape->c.type, c, err);
    if (status == STATUS_OK && shape->bias)
        status = check_operand(gemm, "the bias", &operands->bias, shape->bias_type, shape->n, err);
    if (status != STATUS_OK)
        return status;
    return gemm->device->ops->gemm_run(gemm->device, gemm, operands, err);
}

enum status device_gemm_describe(const struct gemm *gemm, struct gemm_info *ret, struct error *err)
{
    struct gemm_info info = {0};
    enum status status = gemm->device->ops->gemm_describe(gemm->device, gemm, &info, err);

    if (status == STATUS_OK)
        *ret = info;
    return status;
}

enum status device_gemm_select(struct gemm *gemm, uint32_t index, struct error *err)
{
    struct gemm_info info = {0};
    enum status status = device_gemm_describe(gemm, &info, err);

    if (status != STATUS_OK)
        return status;
    if (gemm->device->ops->gemm_select == NULL || info.algorithms == 0)
        return error_set(err, STATUS_UNSUPPORTED, "%s lists no algorithms of its GEMMs",
                         info.library);
    if (index >= info.algorithms)
        return error_set(err, STATUS_NOT_FOUND,
                         "%s lists %" PRIu32 " algorithms for this GEMM, there is no number "
                         "%" PRIu32,
                         info.library, info.algorithms, index);
    return gemm->device->ops->gemm_select(gemm->device, gemm, index, err);
}

/* A small linear layer: activations (m, k), weights (n, k). */
static struct gemm_shape support_shape(enum precision precision, enum dtype type, enum dtype result)
{
    /* Libraries of block-scaled GEMMs want a k of 128. */
    const uint64_t side = precision == PRECISION_FP4 ? 128 : 64;

    return (struct gemm_shape){
        .precision = precision,
        .m = side,
        .n = side,
        .k = side,
        .a = {.type = type, .stride = side},
        .b = {.type = type, .stride = side, .transpose = true},
        .c = {.type = result, .stride = side},
    };
}

static enum dtype sum_type(enum precision precision)
{
    return precision == PRECISION_FP64   ? DTYPE_F64
           : precision == PRECISION_INT8 ? DTYPE_I32
                                         : DTYPE_F32;
}

/* The kind without infinities and negative zero, which some devices have in place of the OCP one.
 */
static enum dtype fnuz_type(enum precision precision)
{
    return precision == PRECISION_FP8_E4M3   ? DTYPE_E4M3_FNUZ
           : precision == PRECISION_FP8_E5M2 ? DTYPE_E5M2_FNUZ
                                             : DTYPE_COUNT;
}

/* A GEMM of operands of this type, with the first of the results that the library takes. */
static enum status create_any(struct device *device, enum precision precision, enum dtype type,
                              struct gemm **ret, struct support_answers *answers)
{
    const enum dtype results[] = {sum_type(precision), precision_dtype(precision), DTYPE_BF16};
    enum status status = STATUS_UNSUPPORTED;

    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]) && status != STATUS_OK; i++) {
        struct error err = ERROR_INIT;
        struct gemm_shape shape = support_shape(precision, type, results[i]);

        if (!result_type_fits(precision, results[i]))
            continue;
        status = device_gemm_create(device, &shape, ret, &err);
        support_answers_add(answers, status, &err);
    }
    return status;
}

void support_answers_add(struct support_answers *answers, enum status status,
                         const struct error *err)
{
    struct error *kept = status == STATUS_UNSUPPORTED ? &answers->refusal : &answers->failure;

    if (status != STATUS_OK && kept->code == STATUS_OK)
        error_set(kept, status, "%s", err->message);
}

void support_answers_tell(const struct support_answers *answers, bool granted,
                          struct gemm_info *ret)
{
    const bool failed = answers->failure.code != STATUS_OK;
    const char *message = failed ? answers->failure.message : answers->refusal.message;
    const size_t length = granted ? strlen(ret->method) : 0, room = sizeof(ret->method) - length;

    if (granted && failed)
        snprintf(ret->method + length, room, "; asked otherwise: %.*s", (int)room - 1, message);
    if (granted)
        return;
    ret->support = failed ? SUPPORT_UNKNOWN : SUPPORT_ABSENT;
    snprintf(ret->method, room, "%.*s", (int)room - 1, message);
}

static void append_kind(struct gemm_info *info, const char *before, enum dtype type,
                        const char *after)
{
    const size_t length = strlen(info->method);

    snprintf(info->method + length, sizeof(info->method) - length, " (%s%s%s)", before,
             dtype_name(type), after);
}

void device_gemm_support(struct device *device, enum precision precision, struct gemm_info *ret)
{
    const enum dtype other = fnuz_type(precision);
    struct support_answers answers = {0};
    struct error err = ERROR_INIT;
    struct gemm *gemm = NULL, *second = NULL;
    enum status status, other_status = STATUS_UNSUPPORTED;

    memset(ret, 0, sizeof(*ret));
    status = create_any(device, precision, precision_dtype(precision), &gemm, &answers);
    if (other != DTYPE_COUNT)
        other_status = create_any(device, precision, other, &second, &answers);
    if (status == STATUS_OK || other_status == STATUS_OK) {
        const bool alone = status != STATUS_OK;

        status = device_gemm_describe(alone ? second : gemm, ret, &err);
        support_answers_add(&answers, status, &err);
        if (status == STATUS_OK && other_status == STATUS_OK)
            append_kind(ret, alone ? "" : "and ", other, alone ? " alone" : "");
    }
    device_gemm_destroy(gemm);
    device_gemm_destroy(second);
    support_answers_tell(&answers, status == STATUS_OK, ret);
}

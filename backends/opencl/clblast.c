/*
 * C = alpha A B + beta C is all that CLBlast has, so a bias, or an addend that is not C itself, is
 * put into C by a kernel of ours before, and beta is 1.
 */
#include "backends/opencl/clblast.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/internal.h"

#define START_LANES 1

static const char start_text[] =
    "KERNEL(clblast_start, GLOBAL NUMBER *c, const GLOBAL NUMBER *bias, const GLOBAL NUMBER *d,\n"
    "       u64 c_offset, u64 bias_offset, u64 d_offset, u64 rows, u64 columns, u64 stride,\n"
    "       u64 inner, u64 outer_stride, u64 inner_stride, u32 has_bias, u32 has_d)\n"
    "{\n"
    "    const u64 z = GROUP_Z;\n"
    "    const u64 matrix = z / inner * outer_stride + z % inner * inner_stride;\n"
    "\n"
    "    for (u64 r = GROUP; r < rows; r += GROUPS)\n"
    "        for (u64 s = LANE; s < columns; s += LANES) {\n"
    "            const u64 at = matrix + r * stride + s;\n"
    "            NUMBER x = (NUMBER)0;\n"
    "\n"
    "            if (has_bias)\n"
    "                x += bias[bias_offset + s];\n"
    "            if (has_d)\n"
    "                x += d[d_offset + at];\n"
    "            c[c_offset + at] = x;\n"
    "        }\n"
    "}\n";

struct opencl_gemm {
    struct operation base;
    struct module *start;          /* only with a bias or an addend */
    size_t *a, *b, *c;             /* offsets of a batch's matrices, from the operand's own */
    size_t *a_now, *b_now, *c_now; /* with it */
    float *ones_f, *zeros_f, *alphas_f;
    double *ones_d, *zeros_d, *alphas_d;
    size_t workspace;
};

/* ---- the library ---- */

static char *version_of(const char *path)
{
    const char *so = strstr(path, ".so.");

    return so != NULL ? strdup(so + 4) : NULL;
}

void opencl_clblast_open(const struct opencl_api *opencl, struct opencl_clblast *ret)
{
#define DYNLIB_API struct clblast_api
    static const struct dynlib_symbol symbols[] = {CLBLAST_FUNCTION_MAP(DYNLIB_REQUIRED)};
    static const char *const sonames[] = {"libclblast.so.1", NULL};
    static const struct dynlib_spec spec = DYNLIB_SPEC("clblast", sonames, symbols);
    void *its_own;

    memset(ret, 0, sizeof(*ret));
    if (dynlib_open(&spec, &ret->lib, &ret->api, NULL) != STATUS_OK)
        return;
    its_own = dlsym(ret->lib.handle, "clGetPlatformIDs");
    ret->version = version_of(ret->lib.path);
    ret->usable =
        its_own != NULL && memcmp(&its_own, &opencl->clGetPlatformIDs, sizeof(its_own)) == 0;
    if (!ret->usable)
        ret->note =
            text_format("%s calls another OpenCL loader than the one in use", ret->lib.path);
}

static const char *code_name(int code)
{
    switch (code) {
#define NAME(name, value)                                                                          \
    case value:                                                                                    \
        return "CLBlast" #name;
        CLBLAST_ERROR_MAP(NAME)
#undef NAME
    default:
        return NULL;
    }
}

static enum status clblast_fail(struct error *err, const char *function, int code)
{
    const char *name = code_name(code);

    if (name == NULL)
        return opencl_fail(err, NULL, function, code);
    return error_set(err,
                     code == CLBLAST_NoDoublePrecision || code == CLBLAST_NoHalfPrecision ||
                             code == CLBLAST_NotImplemented
                         ? STATUS_UNSUPPORTED
                         : STATUS_DEVICE,
                     "%s: %s (%d)", function, name, code);
}

/* ---- a GEMM ---- */

static const struct clblast_api *api_of(struct device *device)
{
    return &opencl_device(device)->state->clblast.api;
}

static bool is_double(const struct gemm_shape *shape)
{
    return shape->precision == PRECISION_FP64;
}

static unsigned transpose_of(const struct gemm_matrix *matrix)
{
    return matrix->transpose ? CLBLAST_TransposeYes : CLBLAST_TransposeNo;
}

/* What the library does not do as the contract requires. */
static enum status check_shape(const struct gemm_shape *shape, struct error *err)
{
    const bool wide = is_double(shape);
    const enum dtype type = wide ? DTYPE_F64 : DTYPE_F32;

    if (shape->precision == PRECISION_FP16)
        return error_set(err, STATUS_UNSUPPORTED,
                         "CLBlast adds up half precision in half precision, not in f32");
    if (shape->precision != PRECISION_FP32 && !wide)
        return error_set(err, STATUS_UNSUPPORTED, "CLBlast has no GEMMs in %s",
                         precision_name(shape->precision));
    if (shape->c.type != type || (shape->bias && shape->bias_type != type))
        return error_set(err, STATUS_UNSUPPORTED,
                         "CLBlast has no GEMMs in %s with a result or a bias of another type",
                         precision_name(shape->precision));
    return STATUS_OK;
}

static enum status ask_workspace(struct device *device, const struct gemm_shape *shape, size_t *ret,
                                 struct error *err)
{
    const struct clblast_api *api = api_of(device);
    struct _cl_command_queue *queue = opencl_device(device)->queue;
    const int code =
        (is_double(shape) ? api->CLBlastDGemmTempBufferSize : api->CLBlastSGemmTempBufferSize)(
            CLBLAST_LayoutRowMajor, transpose_of(&shape->a), transpose_of(&shape->b), shape->m,
            shape->n, shape->k, 0, shape->a.stride, 0, shape->b.stride, 0, shape->c.stride, &queue,
            ret);

    return code == OCL_SUCCESS ? STATUS_OK : clblast_fail(err, "CLBlast GemmTempBufferSize", code);
}

static size_t *offsets_of(const struct gemm_shape *shape, const struct gemm_matrix *matrix)
{
    const uint64_t count = shape->outer * shape->inner;
    size_t *offsets = calloc(count, sizeof(*offsets));

    for (uint64_t i = 0; offsets != NULL && i < count; i++)
        offsets[i] = (size_t)(i / shape->inner * matrix->outer_stride +
                              i % shape->inner * matrix->inner_stride);
    return offsets;
}

/* All that a run of a batch needs, so that it allocates nothing. */
static bool lay_out_batch(struct opencl_gemm *gemm, const struct gemm_shape *shape)
{
    const size_t count = (size_t)(shape->outer * shape->inner);

    gemm->a = offsets_of(shape, &shape->a);
    gemm->b = offsets_of(shape, &shape->b);
    gemm->c = offsets_of(shape, &shape->c);
    gemm->a_now = calloc(count, sizeof(size_t));
    gemm->b_now = calloc(count, sizeof(size_t));
    gemm->c_now = calloc(count, sizeof(size_t));
    gemm->ones_f = calloc(count, sizeof(float));
    gemm->zeros_f = calloc(count, sizeof(float));
    gemm->alphas_f = calloc(count, sizeof(float));
    gemm->ones_d = calloc(count, sizeof(double));
    gemm->zeros_d = calloc(count, sizeof(double));
    gemm->alphas_d = calloc(count, sizeof(double));
    if (!gemm->a || !gemm->b || !gemm->c || !gemm->a_now || !gemm->b_now || !gemm->c_now ||
        !gemm->ones_f || !gemm->zeros_f || !gemm->alphas_f || !gemm->ones_d || !gemm->zeros_d ||
        !gemm->alphas_d)
        return false;
    for (size_t i = 0; i < count; i++) {
        gemm->ones_f[i] = 1.0f;
        gemm->ones_d[i] = 1.0;
        gemm->alphas_f[i] = shape->alpha;
        gemm->alphas_d[i] = (double)shape->alpha;
    }
    return true;
}

static enum status load_start(struct device *device, const struct gemm_shape *shape,
                              struct opencl_gemm *gemm, struct error *err)
{
    const struct module_define define = {"NUMBER", is_double(shape) ? "f64" : "f32"};
    const struct module_source source = {.file = "backends/opencl/clblast.c",
                                         .text = start_text,
                                         .lanes = START_LANES,
                                         .defines = &define,
                                         .define_count = 1};

    if (!shape->bias && !shape->add)
        return STATUS_OK;
    return device_module_load(device, &source, &gemm->start, err);
}

/* Puts bias + D into C. */
static enum status start_sum(struct device *device, const struct opencl_gemm *gemm,
                             const struct gemm_operands *at, struct error *err)
{
    const struct gemm_shape *shape = &gemm->base.desc.gemm;
    const struct kernel_arg args[] = {
        {.type = KERNEL_ARG_BUFFER, .buffer = at->c.buffer},
        {.type = KERNEL_ARG_BUFFER, .buffer = shape->bias ? at->bias.buffer : at->c.buffer},
        {.type = KERNEL_ARG_BUFFER, .buffer = shape->add ? at->d.buffer : at->c.buffer},
        {.type = KERNEL_ARG_U64, .u64 = at->c.offset},
        {.type = KERNEL_ARG_U64, .u64 = at->bias.offset},
        {.type = KERNEL_ARG_U64, .u64 = at->d.offset},
        {.type = KERNEL_ARG_U64, .u64 = shape->m},
        {.type = KERNEL_ARG_U64, .u64 = shape->n},
        {.type = KERNEL_ARG_U64, .u64 = shape->c.stride},
        {.type = KERNEL_ARG_U64, .u64 = shape->inner},
        {.type = KERNEL_ARG_U64, .u64 = shape->c.outer_stride},
        {.type = KERNEL_ARG_U64, .u64 = shape->c.inner_stride},
        {.type = KERNEL_ARG_U32, .u32 = shape->bias},
        {.type = KERNEL_ARG_U32, .u32 = shape->add},
    };
    const uint64_t most = (uint64_t)device->info.compute_units * 64;
    const struct kernel_launch launch = {
        .module = gemm->start,
        .kernel = "clblast_start",
        .groups = {(uint32_t)(shape->m < most || most == 0 ? (shape->m < 65535 ? shape->m : 65535)
                                                           : most),
                   1, (uint32_t)(shape->outer * shape->inner)},
        .args = args,
        .arg_count = sizeof(args) / sizeof(args[0]),
    };

    return device_kernel_launch(device, &launch, err);
}

static struct _cl_mem *mem_of(const struct operand *operand)
{
    return ((struct opencl_buffer *)operand->buffer)->mem;
}

static int run_one(struct device *device, const struct gemm_shape *shape,
                   const struct gemm_operands *at, bool beta)
{
    const struct clblast_api *api = api_of(device);
    struct _cl_command_queue *queue = opencl_device(device)->queue;

    if (is_double(shape))
        return api->CLBlastDgemm(
            CLBLAST_LayoutRowMajor, transpose_of(&shape->a), transpose_of(&shape->b), shape->m,
            shape->n, shape->k, (double)shape->alpha, mem_of(&at->a), at->a.offset, shape->a.stride,
            mem_of(&at->b), at->b.offset, shape->b.stride, beta ? 1.0 : 0.0, mem_of(&at->c),
            at->c.offset, shape->c.stride, &queue, NULL);
    return api->CLBlastSgemm(CLBLAST_LayoutRowMajor, transpose_of(&shape->a),
                             transpose_of(&shape->b), shape->m, shape->n, shape->k, shape->alpha,
                             mem_of(&at->a), at->a.offset, shape->a.stride, mem_of(&at->b),
                             at->b.offset, shape->b.stride, beta ? 1.0f : 0.0f, mem_of(&at->c),
                             at->c.offset, shape->c.stride, &queue, NULL);
}

static int run_batch(struct device *device, struct opencl_gemm *gemm,
                     const struct gemm_operands *at, bool beta)
{
    const struct gemm_shape *shape = &gemm->base.desc.gemm;
    const size_t count = (size_t)(shape->outer * shape->inner);
    const struct clblast_api *api = api_of(device);
    struct _cl_command_queue *queue = opencl_device(device)->queue;

    for (size_t i = 0; i < count; i++) {
        gemm->a_now[i] = gemm->a[i] + at->a.offset;
        gemm->b_now[i] = gemm->b[i] + at->b.offset;
        gemm->c_now[i] = gemm->c[i] + at->c.offset;
    }
    if (is_double(shape))
        return api->CLBlastDgemmBatched(
            CLBLAST_LayoutRowMajor, transpose_of(&shape->a), transpose_of(&shape->b), shape->m,
            shape->n, shape->k, gemm->alphas_d, mem_of(&at->a), gemm->a_now, shape->a.stride,
            mem_of(&at->b), gemm->b_now, shape->b.stride, beta ? gemm->ones_d : gemm->zeros_d,
            mem_of(&at->c), gemm->c_now, shape->c.stride, count, &queue, NULL);
    return api->CLBlastSgemmBatched(
        CLBLAST_LayoutRowMajor, transpose_of(&shape->a), transpose_of(&shape->b), shape->m,
        shape->n, shape->k, gemm->alphas_f, mem_of(&at->a), gemm->a_now, shape->a.stride,
        mem_of(&at->b), gemm->b_now, shape->b.stride, beta ? gemm->ones_f : gemm->zeros_f,
        mem_of(&at->c), gemm->c_now, shape->c.stride, count, &queue, NULL);
}

static enum status run(struct operation *operation, const union operands *all, struct error *err)
{
    struct device *device = operation->device;
    const struct gemm_operands *operands = &all->gemm;
    struct opencl_gemm *gemm = (struct opencl_gemm *)operation;
    const struct gemm_shape *shape = &operation->desc.gemm;
    const bool in_place = shape->add && operands->d.buffer == operands->c.buffer &&
                          operands->d.offset == operands->c.offset;
    const bool beta = shape->add || shape->bias;
    int code;

    if (beta && (shape->bias || !in_place))
        TRY(start_sum(device, gemm, operands, err));
    code = shape->outer * shape->inner == 1 ? run_one(device, shape, operands, beta)
                                            : run_batch(device, gemm, operands, beta);
    return code == OCL_SUCCESS ? STATUS_OK : clblast_fail(err, "CLBlast gemm", code);
}

static void destroy(struct operation *operation)
{
    struct opencl_gemm *gemm = (struct opencl_gemm *)operation;

    if (gemm->start != NULL)
        device_module_unload(operation->device, gemm->start);
    free(gemm->a);
    free(gemm->b);
    free(gemm->c);
    free(gemm->a_now);
    free(gemm->b_now);
    free(gemm->c_now);
    free(gemm->ones_f);
    free(gemm->zeros_f);
    free(gemm->alphas_f);
    free(gemm->ones_d);
    free(gemm->zeros_d);
    free(gemm->alphas_d);
    free(gemm);
}

static enum status describe(const struct operation *operation, struct operation_info *ret,
                            struct error *err)
{
    const struct opencl_clblast *clblast = &opencl_device(operation->device)->state->clblast;

    (void)err;
    snprintf(ret->library, sizeof(ret->library), "CLBlast");
    snprintf(ret->version, sizeof(ret->version), "%s",
             clblast->version != NULL ? clblast->version : "");
    ret->workspace_bytes = ((const struct opencl_gemm *)operation)->workspace;
    ret->support = SUPPORT_NATIVE;
    snprintf(ret->method, sizeof(ret->method), "CLBlast%cGemmTempBufferSize: success",
             is_double(&operation->desc.gemm) ? 'D' : 'S');
    return STATUS_OK;
}

static enum status prepare(struct operation *operation, struct error *err)
{
    struct device *device = operation->device;
    const struct gemm_shape *shape = &operation->desc.gemm;
    struct opencl_gemm *gemm = (struct opencl_gemm *)operation;

    TRY(check_shape(shape, err));
    TRY(device_check_precision(device, shape->precision, err));
    if (!lay_out_batch(gemm, shape))
        return error_no_memory(err);
    TRY(ask_workspace(device, shape, &gemm->workspace, err));
    return load_start(device, shape, gemm, err);
}

enum status opencl_gemm_create(struct device *device, const struct operation_desc *desc,
                               struct operation **ret, struct error *err)
{
    static const struct operation_ops ops = {.size = sizeof(struct opencl_gemm),
                                             .prepare = prepare,
                                             .destroy = destroy,
                                             .run = run,
                                             .describe = describe};

    return operation_make(&ops, device, desc, ret, err);
}

/*
 * The vendor's convolution, through cuDNN's functions of one call an operation
 * (cudnnConvolutionForward), which 8 and 9 both have; README.md says why not the graph interface.
 */
#include "backends/cuda/internal.h"

#include <stdio.h>
#include <stdlib.h>

#define CANDIDATES                                                                                 \
    (DNN_ALGORITHMS * 2) /* what the library lists at most: each in two kinds of math */

/* One that may run; `math` is what the descriptor has then. */
struct candidate {
    unsigned algorithm, math;
    uint64_t workspace_bytes;
};

struct cuda_convolution {
    struct operation base;
    struct cudnnTensorStruct *input, *output;
    struct cudnnFilterStruct *filter;
    struct cudnnConvolutionStruct *desc;
    unsigned set_math; /* as the descriptor has it */
    struct candidate list[CANDIDATES];
    uint32_t count, selected; /* of the list */
    struct gpu_workspace workspace;
    uint64_t weights; /* device address */
};

#define DNN(function, ...)                                                                         \
    do {                                                                                           \
        const unsigned code_ = api->function(__VA_ARGS__);                                         \
        if (code_ != DNN_STATUS_SUCCESS)                                                           \
            return cudnn_fail(api, #function, code_, err);                                         \
    } while (0)

/* The same for what makes an object, which must then be there. */
#define DNN_MAKE(object, function, ...)                                                            \
    do {                                                                                           \
        DNN(function, __VA_ARGS__);                                                                \
        if ((object) == NULL)                                                                      \
            return cudnn_fail(api, #function, DNN_STATUS_SUCCESS, err);                            \
    } while (0)

static bool type_of(enum dtype type, unsigned *ret)
{
    switch (type) {
    case DTYPE_F64:
        *ret = DNN_DOUBLE;
        return true;
    case DTYPE_F32:
        *ret = DNN_FLOAT;
        return true;
    case DTYPE_BF16:
        *ret = DNN_BFLOAT16;
        return true;
    case DTYPE_F16:
        *ret = DNN_HALF;
        return true;
    case DTYPE_I8:
        *ret = DNN_INT8;
        return true;
    default: /* sums of i8 are stored as f32 or i8, never as i32 */
        return false;
    }
}

static unsigned compute_of(enum precision precision)
{
    return precision == PRECISION_FP64   ? DNN_DOUBLE
           : precision == PRECISION_INT8 ? DNN_INT32
                                         : DNN_FLOAT;
}

/*
 * What arithmetic is allowed. "Default" permits tf32 for fp32, so fp32 is FMA; tf32 and the types
 * of 16 bits are tensor units'.
 */
static unsigned math_of(enum precision precision)
{
    switch (precision) {
    case PRECISION_FP32:
        return DNN_FMA_MATH;
    case PRECISION_FP64:
        return DNN_DEFAULT_MATH;
    default:
        return DNN_TENSOR_OP_MATH;
    }
}

static enum status check_size(const struct convolution_shape *shape, struct error *err)
{
    const uint64_t most = INT32_MAX;
    const uint64_t input = shape->batch * shape->height * shape->width;
    const uint64_t output =
        shape->batch * convolution_out_height(shape) * convolution_out_width(shape);

    if (input > most / shape->channels || output > most / shape->filters)
        return error_set(err, STATUS_UNSUPPORTED,
                         "cuDNN takes tensors of at most 2^31 - 1 elements");
    return STATUS_OK;
}

enum status cuda_cudnn_handle(struct cuda_device *device, struct error *err)
{
    const struct cudnn_api *api = &device->state->cudnn;

    struct cudnnContext *handle = NULL;
    unsigned code;

    if (device->cudnn != NULL)
        return STATUS_OK;
    DNN_MAKE(handle, cudnnCreate, &handle);
    code = api->cudnnSetStream(handle, device->stream);
    if (code != DNN_STATUS_SUCCESS) {
        api->cudnnDestroy(handle);
        return cudnn_fail(api, "cudnnSetStream", code, err);
    }
    device->cudnn = handle;
    return STATUS_OK;
}

static enum status make_descriptors(const struct cudnn_api *api,
                                    const struct convolution_shape *shape,
                                    struct cuda_convolution *self, struct error *err)
{
    const unsigned math = math_of(shape->precision);
    unsigned type = 0, result = 0;

    if (!type_of(shape->type, &type) || !type_of(shape->result_type, &result))
        return error_set(err, STATUS_UNSUPPORTED, "cuDNN has no convolution of %s to %s",
                         dtype_name(shape->type), dtype_name(shape->result_type));
    DNN_MAKE(self->input, cudnnCreateTensorDescriptor, &self->input);
    DNN(cudnnSetTensor4dDescriptor, self->input, DNN_NHWC, type, (int)shape->batch,
        (int)shape->channels, (int)shape->height, (int)shape->width);
    DNN_MAKE(self->output, cudnnCreateTensorDescriptor, &self->output);
    DNN(cudnnSetTensor4dDescriptor, self->output, DNN_NHWC, result, (int)shape->batch,
        (int)shape->filters, (int)convolution_out_height(shape), (int)convolution_out_width(shape));
    DNN_MAKE(self->filter, cudnnCreateFilterDescriptor, &self->filter);
    DNN(cudnnSetFilter4dDescriptor, self->filter, type, DNN_NHWC, (int)shape->filters,
        (int)(shape->channels / shape->groups), (int)shape->kernel_height,
        (int)shape->kernel_width);
    DNN_MAKE(self->desc, cudnnCreateConvolutionDescriptor, &self->desc);
    DNN(cudnnSetConvolution2dDescriptor, self->desc, (int)shape->pad_y, (int)shape->pad_x,
        (int)shape->stride_y, (int)shape->stride_x, (int)shape->dilation_y, (int)shape->dilation_x,
        DNN_CROSS_CORRELATION, compute_of(shape->precision));
    DNN(cudnnSetConvolutionGroupCount, self->desc, (int)shape->groups);
    DNN(cudnnSetConvolutionMathType, self->desc, math);
    self->set_math = math;
    return STATUS_OK;
}

/* FFT and Winograd compute another sum, whose errors have other bounds. */
static bool is_direct(unsigned algorithm)
{
    return algorithm == DNN_IMPLICIT_GEMM || algorithm == DNN_IMPLICIT_PRECOMP_GEMM ||
           algorithm == DNN_GEMM || algorithm == DNN_DIRECT;
}

/*
 * How well an entry's arithmetic is the precision's: BEST its own, less perhaps, 0 not. What would
 * convert operands to narrower ones is never taken. Entries of one fitness are supported alike.
 */
#define BEST 3
static int fitness(enum precision precision, unsigned math)
{
    const bool tensor = math == DNN_TENSOR_OP_MATH;

    if (math != DNN_DEFAULT_MATH && math != DNN_FMA_MATH && !tensor)
        return 0;
    switch (precision) {
    case PRECISION_FP32:
        return tensor ? 0 : BEST; /* the descriptor has FMA, so "default" cannot be tf32 */
    case PRECISION_FP64:
    case PRECISION_INT8:
        return BEST;
    case PRECISION_TF32:
        return tensor ? BEST : 0;
    default:
        return tensor ? BEST : math == DNN_DEFAULT_MATH ? 2 : 1;
    }
}

static enum status set_math(const struct cudnn_api *api, struct cuda_convolution *self,
                            unsigned math, struct error *err)
{
    if (math == self->set_math)
        return STATUS_OK;
    DNN(cudnnSetConvolutionMathType, self->desc, math);
    self->set_math = math;
    return STATUS_OK;
}

/* Adds an entry of the library's list, once; UNSUPPORTED where the library then refuses it. */
static enum status add_candidate(struct cuda_device *device, const struct convolution_shape *shape,
                                 const CUDNN_ALGORITHM *entry, struct cuda_convolution *self,
                                 struct error *err)
{
    const struct cudnn_api *api = &device->state->cudnn;
    /* fp32 keeps FMA, whatever the entry says. */
    const unsigned math = shape->precision == PRECISION_FP32 ? self->set_math : entry->math;
    size_t bytes = 0;

    for (uint32_t i = 0; i < self->count; i++)
        if (self->list[i].algorithm == entry->algorithm && self->list[i].math == math)
            return STATUS_OK;
    TRY(set_math(api, self, math, err));
    DNN(cudnnGetConvolutionForwardWorkspaceSize, device->cudnn, self->input, self->filter,
        self->desc, self->output, entry->algorithm, &bytes);
    self->list[self->count++] = (struct candidate){entry->algorithm, math, bytes};
    return STATUS_OK;
}

/*
 * The candidates in the library's order, by its heuristic: those whose arithmetic is the
 * precision's own, or where there are none, those that may be it, so that a later choice among them
 * never takes another kind of arithmetic.
 */
static enum status list_candidates(struct cuda_device *device,
                                   const struct convolution_shape *shape,
                                   struct cuda_convolution *self, struct error *err)
{
    const struct cudnn_api *api = &device->state->cudnn;
    CUDNN_ALGORITHM list[CANDIDATES];
    enum status status = STATUS_OK;
    struct error refusal = ERROR_INIT;
    int count = 0;

    DNN(cudnnGetConvolutionForwardAlgorithm_v7, device->cudnn, self->input, self->filter,
        self->desc, self->output, CANDIDATES, &count, list);
    count = count < 0 ? 0 : count > CANDIDATES ? CANDIDATES : count;
    error_set(&refusal, STATUS_UNSUPPORTED,
              "cudnnGetConvolutionForwardAlgorithm_v7: none of %d algorithms is the direct sum in "
              "%s",
              count, precision_name(shape->precision));
    for (int wanted = BEST; wanted > 0 && self->count == 0; wanted--)
        for (int i = 0; i < count; i++) {
            if (list[i].status != DNN_STATUS_SUCCESS || !is_direct(list[i].algorithm) ||
                fitness(shape->precision, list[i].math) != wanted)
                continue;
            status = add_candidate(device, shape, &list[i], self, &refusal);
            if (status != STATUS_OK && status != STATUS_UNSUPPORTED)
                return error_set(err, status, "%s", refusal.message);
        }
    return self->count > 0 ? STATUS_OK : error_set(err, STATUS_UNSUPPORTED, "%s", refusal.message);
}

/* Its math and workspace; on failure the convolution is as it was. */
static enum status take(struct cuda_device *device, struct cuda_convolution *self, uint32_t index,
                        struct error *err)
{
    const struct candidate *candidate = &self->list[index];
    struct gpu_workspace workspace = {0};
    enum status status =
        gpu_workspace_resize(&device->base, &workspace, candidate->workspace_bytes, err);

    if (status == STATUS_OK)
        status = set_math(&device->state->cudnn, self, candidate->math, err);
    if (status != STATUS_OK) {
        gpu_workspace_free(&device->base, &workspace);
        return status;
    }
    gpu_workspace_free(&device->base, &self->workspace);
    self->workspace = workspace;
    self->selected = index;
    return STATUS_OK;
}

static void destroy(struct operation *operation)
{
    struct cuda_device *device = cuda_device(gpu_device(operation->device));
    struct cuda_convolution *self = (struct cuda_convolution *)operation;
    const struct cudnn_api *api = &device->state->cudnn;

    if (gpu_bind(&device->base, NULL) == STATUS_OK)
        gpu_workspace_free(&device->base, &self->workspace);
    if (self->desc != NULL)
        api->cudnnDestroyConvolutionDescriptor(self->desc);
    if (self->filter != NULL)
        api->cudnnDestroyFilterDescriptor(self->filter);
    if (self->output != NULL)
        api->cudnnDestroyTensorDescriptor(self->output);
    if (self->input != NULL)
        api->cudnnDestroyTensorDescriptor(self->input);
    free(self);
}

static enum status select_algorithm(struct operation *operation, uint32_t index, struct error *err)
{
    struct cuda_device *device = cuda_device(gpu_device(operation->device));

    TRY(gpu_bind(&device->base, err));
    TRY(device->base.driver->synchronize(&device->base, err));
    return take(device, (struct cuda_convolution *)operation, index, err);
}

/* cuDNN reads them where and as they are. */
static enum status set_weights(struct operation *operation, const struct operand *weights,
                               struct error *err)
{
    (void)err;
    ((struct cuda_convolution *)operation)->weights =
        gpu_operand_address(weights, dtype_bits(operation->desc.convolution.type));
    return STATUS_OK;
}

static enum status run(struct operation *operation, const union operands *operands,
                       struct error *err)
{
    struct cuda_device *device = cuda_device(gpu_device(operation->device));
    struct cuda_convolution *self = (struct cuda_convolution *)operation;
    const struct cudnn_api *api = &device->state->cudnn;
    const struct convolution_shape *shape = &operation->desc.convolution;
    const uint64_t x = gpu_operand_address(&operands->convolution.input, dtype_bits(shape->type));
    const uint64_t y =
        gpu_operand_address(&operands->convolution.output, dtype_bits(shape->result_type));
    const double one64 = 1.0, zero64 = 0.0;
    const float one32 = 1.0f, zero32 = 0.0f;
    const bool wide = shape->precision == PRECISION_FP64;

    TRY(gpu_bind(&device->base, err));
    DNN(cudnnConvolutionForward, device->cudnn, wide ? (const void *)&one64 : &one32, self->input,
        (const void *)(uintptr_t)x, self->filter, (const void *)(uintptr_t)self->weights,
        self->desc, self->list[self->selected].algorithm,
        (void *)(uintptr_t)self->workspace.address, self->workspace.bytes,
        wide ? (const void *)&zero64 : &zero32, self->output, (void *)(uintptr_t)y);
    return STATUS_OK;
}

static const char *math_name(unsigned math)
{
    switch (math) {
    case DNN_DEFAULT_MATH:
        return "CUDNN_DEFAULT_MATH";
    case DNN_TENSOR_OP_MATH:
        return "CUDNN_TENSOR_OP_MATH";
    default:
        return "CUDNN_FMA_MATH";
    }
}

/* FMA on operands of 16 bits is f32's arithmetic after a conversion; "default" does not determine
 * it. */
static enum support support_of(enum precision precision, unsigned math)
{
    if (precision != PRECISION_BF16 && precision != PRECISION_FP16)
        return SUPPORT_NATIVE;
    return math == DNN_TENSOR_OP_MATH ? SUPPORT_NATIVE
           : math == DNN_FMA_MATH     ? SUPPORT_EMULATED
                                      : SUPPORT_UNKNOWN;
}

static enum status describe(const struct operation *operation, struct operation_info *ret,
                            struct error *err)
{
    static const char *const names[] = {"IMPLICIT_GEMM", "IMPLICIT_PRECOMP_GEMM", "GEMM", "DIRECT"};
    const struct cuda_device *device = cuda_device(gpu_device(operation->device));
    const struct cuda_convolution *self = (const struct cuda_convolution *)operation;
    const struct candidate *chosen = &self->list[self->selected];

    (void)err;
    snprintf(ret->library, sizeof(ret->library), "cuDNN");
    snprintf(ret->version, sizeof(ret->version), "%s", device->state->cudnn_version);
    snprintf(ret->algorithm, sizeof(ret->algorithm), "%s, %s", names[chosen->algorithm],
             math_name(chosen->math));
    ret->workspace_bytes = self->workspace.bytes;
    ret->support = support_of(operation->desc.convolution.precision, chosen->math);
    snprintf(ret->method, sizeof(ret->method),
             "cudnnGetConvolutionForwardAlgorithm_v7: mathType %s", math_name(chosen->math));
    ret->algorithms = self->count;
    snprintf(ret->weights, sizeof(ret->weights), "as given");
    return STATUS_OK;
}

static enum status prepare(struct operation *operation, struct error *err)
{
    const struct convolution_shape *shape = &operation->desc.convolution;
    struct cuda_device *device = cuda_device(gpu_device(operation->device));
    struct cuda_convolution *self = (struct cuda_convolution *)operation;

    TRY(check_size(shape, err));
    TRY(gpu_bind(&device->base, err));
    TRY(cuda_cudnn_handle(device, err));
    TRY(make_descriptors(&device->state->cudnn, shape, self, err));
    TRY(list_candidates(device, shape, self, err));
    return take(device, self, 0, err);
}

enum status cuda_convolution_create(struct device *device, const struct operation_desc *desc,
                                    struct operation **ret, struct error *err)
{
    static const struct operation_ops ops = {.size = sizeof(struct cuda_convolution),
                                             .prepare = prepare,
                                             .destroy = destroy,
                                             .run = run,
                                             .describe = describe,
                                             .select = select_algorithm,
                                             .set_weights = set_weights};

    return operation_make(&ops, device, desc, ret, err);
}

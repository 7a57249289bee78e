/*
 * A stand-in for cuDNN 9 and its convolution of one call: channels last, groups, operands
 * of one type, int8 only in fours. The list of algorithms begins with what a caller must not use:
 * one that failed, a Winograd, for types of 16 bits one that converts, and one of another math; the
 * others are as many as algorithms.c says, at most four, with its times.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/cudnn.h"
#include "tests/support/gpu_shim/core.h"
#include "tests/support/gpu_shim/cuda.h"

#define PROTOTYPE(result, name, parameters) SHIM_EXPORT result name parameters;
CUDNN_REQUIRED_MAP(PROTOTYPE)
#undef PROTOTYPE

/* The direct ones in the list's order, and their requirements. */
static const struct {
    unsigned algorithm;
    size_t workspace_bytes;
} direct[] = {
    {DNN_IMPLICIT_PRECOMP_GEMM, 4096}, {DNN_GEMM, 65536}, {DNN_IMPLICIT_GEMM, 0}, {DNN_DIRECT, 64}};
#define DIRECT (sizeof(direct) / sizeof(direct[0]))

#define WINOGRAD 6u
#define ALLOW_CONVERSION 2u

struct cudnnContext {
    struct CUstream_st *stream;
};
struct cudnnTensorStruct {
    unsigned format, type;
    int n, c, h, w;
};
struct cudnnFilterStruct {
    unsigned format, type;
    int k, c, h, w;
};
struct cudnnConvolutionStruct {
    int pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, groups;
    unsigned mode, compute, math;
};

#define CREATE(ret)                                                                                \
    do {                                                                                           \
        *(ret) = calloc(1, sizeof(**(ret)));                                                       \
        if (*(ret) == NULL)                                                                        \
            return DNN_STATUS_HOST_ALLOCATION;                                                     \
        shim_live_add(1);                                                                          \
        return DNN_STATUS_SUCCESS;                                                                 \
    } while (0)

#define DESTROY(function, object)                                                                  \
    do {                                                                                           \
        int code_;                                                                                 \
        const bool failing_ = shim_fails(#function, &code_);                                       \
                                                                                                   \
        free(object);                                                                              \
        shim_live_add(-1);                                                                         \
        return failing_ ? (unsigned)code_ : DNN_STATUS_SUCCESS;                                    \
    } while (0)

size_t cudnnGetVersion(void)
{
    return 91900;
}

const char *cudnnGetErrorString(unsigned status)
{
    return status == DNN_STATUS_BAD_PARAM           ? "CUDNN_STATUS_BAD_PARAM"
           : status == DNN_STATUS_NOT_SUPPORTED     ? "CUDNN_STATUS_NOT_SUPPORTED"
           : status == 3002                         ? "CUDNN_STATUS_NOT_SUPPORTED_SHAPE"
           : status == DNN_STATUS_DEVICE_ALLOCATION ? "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_"
                                                      "ALLOCATION_FAILED"
           : status == DNN_STATUS_EXECUTION_FAILED  ? "CUDNN_STATUS_EXECUTION_FAILED"
                                                    : "CUDNN_STATUS unknown";
}

unsigned cudnnCreate(struct cudnnContext **handle)
{
    SHIM_FAULT(unsigned, cudnnCreate);
    CREATE(handle);
}

unsigned cudnnDestroy(struct cudnnContext *handle)
{
    DESTROY(cudnnDestroy, handle);
}

unsigned cudnnSetStream(struct cudnnContext *handle, struct CUstream_st *stream)
{
    SHIM_FAULT(unsigned, cudnnSetStream);
    handle->stream = stream;
    return stream != NULL ? DNN_STATUS_SUCCESS : DNN_STATUS_BAD_PARAM;
}

unsigned cudnnCreateTensorDescriptor(struct cudnnTensorStruct **tensor)
{
    SHIM_FAULT(unsigned, cudnnCreateTensorDescriptor);
    CREATE(tensor);
}

unsigned cudnnDestroyTensorDescriptor(struct cudnnTensorStruct *tensor)
{
    DESTROY(cudnnDestroyTensorDescriptor, tensor);
}

unsigned cudnnSetTensor4dDescriptor(struct cudnnTensorStruct *tensor, unsigned format,
                                    unsigned type, int n, int c, int h, int w)
{
    SHIM_FAULT(unsigned, cudnnSetTensor4dDescriptor);
    if (n < 1 || c < 1 || h < 1 || w < 1)
        return DNN_STATUS_BAD_PARAM;
    *tensor = (struct cudnnTensorStruct){format, type, n, c, h, w};
    return DNN_STATUS_SUCCESS;
}

unsigned cudnnCreateFilterDescriptor(struct cudnnFilterStruct **filter)
{
    SHIM_FAULT(unsigned, cudnnCreateFilterDescriptor);
    CREATE(filter);
}

unsigned cudnnDestroyFilterDescriptor(struct cudnnFilterStruct *filter)
{
    DESTROY(cudnnDestroyFilterDescriptor, filter);
}

unsigned cudnnSetFilter4dDescriptor(struct cudnnFilterStruct *filter, unsigned type,
                                    unsigned format, int k, int c, int h, int w)
{
    SHIM_FAULT(unsigned, cudnnSetFilter4dDescriptor);
    *filter = (struct cudnnFilterStruct){format, type, k, c, h, w};
    return DNN_STATUS_SUCCESS;
}

unsigned cudnnCreateConvolutionDescriptor(struct cudnnConvolutionStruct **convolution)
{
    SHIM_FAULT(unsigned, cudnnCreateConvolutionDescriptor);
    CREATE(convolution);
}

unsigned cudnnDestroyConvolutionDescriptor(struct cudnnConvolutionStruct *convolution)
{
    DESTROY(cudnnDestroyConvolutionDescriptor, convolution);
}

unsigned cudnnSetConvolution2dDescriptor(struct cudnnConvolutionStruct *convolution, int pad_h,
                                         int pad_w, int stride_h, int stride_w, int dilation_h,
                                         int dilation_w, unsigned mode, unsigned compute)
{
    SHIM_FAULT(unsigned, cudnnSetConvolution2dDescriptor);
    *convolution = (struct cudnnConvolutionStruct){
        pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, 1, mode, compute, 0};
    return DNN_STATUS_SUCCESS;
}

unsigned cudnnSetConvolutionGroupCount(struct cudnnConvolutionStruct *convolution, int groups)
{
    SHIM_FAULT(unsigned, cudnnSetConvolutionGroupCount);
    convolution->groups = groups;
    return DNN_STATUS_SUCCESS;
}

unsigned cudnnSetConvolutionMathType(struct cudnnConvolutionStruct *convolution, unsigned math)
{
    SHIM_FAULT(unsigned, cudnnSetConvolutionMathType);
    convolution->math = math;
    return DNN_STATUS_SUCCESS;
}

/* The output's size must be what the convolution gives. */
static bool fits(const struct cudnnTensorStruct *x, const struct cudnnFilterStruct *w,
                 const struct cudnnConvolutionStruct *s, const struct cudnnTensorStruct *y)
{
    const int h = (x->h + 2 * s->pad_h - (w->h - 1) * s->dilation_h - 1) / s->stride_h + 1;
    const int width = (x->w + 2 * s->pad_w - (w->w - 1) * s->dilation_w - 1) / s->stride_w + 1;

    return x->format == DNN_NHWC && w->format == DNN_NHWC && y->format == DNN_NHWC &&
           s->mode == DNN_CROSS_CORRELATION && x->n == y->n && x->c == w->c * s->groups &&
           y->c == w->k && w->k % s->groups == 0 && y->h == h && y->w == width;
}

static bool does(const struct cudnnTensorStruct *x, const struct cudnnFilterStruct *w,
                 const struct cudnnConvolutionStruct *s, const struct cudnnTensorStruct *y)
{
    switch (x->type) {
    case DNN_FLOAT:
    case DNN_DOUBLE:
        return w->type == x->type && y->type == x->type && s->compute == x->type;
    case DNN_HALF:
    case DNN_BFLOAT16:
        return w->type == x->type && y->type == x->type && s->compute == DNN_FLOAT;
    case DNN_INT8:
        return w->type == x->type && y->type == DNN_FLOAT && s->compute == DNN_INT32 &&
               x->c % 4 == 0 && y->c % 4 == 0 && s->groups == 1;
    default:
        return false;
    }
}

/* With ASSAY_SHIM_NO_TENSOR an old device: requests for tensor units give FMA or no answer. */
static unsigned math_of(unsigned asked, unsigned place)
{
    if (asked != DNN_TENSOR_OP_MATH || getenv("ASSAY_SHIM_NO_TENSOR") == NULL)
        return asked;
    return place == 0 ? DNN_FMA_MATH : DNN_DEFAULT_MATH;
}

unsigned cudnnGetConvolutionForwardAlgorithm_v7(struct cudnnContext *handle,
                                                struct cudnnTensorStruct *x,
                                                struct cudnnFilterStruct *w,
                                                struct cudnnConvolutionStruct *convolution,
                                                struct cudnnTensorStruct *y, int wanted, int *count,
                                                struct cudnn_algorithm *results)
{
    const bool tensor = convolution->math == DNN_TENSOR_OP_MATH;
    const struct cudnn_algorithm first[] = {
        {.algorithm = DNN_IMPLICIT_GEMM, .status = DNN_STATUS_NOT_SUPPORTED, .time = -1.0f},
        {.algorithm = WINOGRAD, .math = convolution->math},
        {.algorithm = DNN_IMPLICIT_GEMM, .math = tensor ? ALLOW_CONVERSION : DNN_TENSOR_OP_MATH},
        {.algorithm = DNN_IMPLICIT_PRECOMP_GEMM, .math = tensor ? DNN_FMA_MATH : convolution->math},
    };
    const int others = (int)(sizeof(first) / sizeof(first[0]));

    SHIM_FAULT(unsigned, cudnnGetConvolutionForwardAlgorithm_v7);
    if (handle == NULL || !fits(x, w, convolution, y))
        return DNN_STATUS_BAD_PARAM;
    if (!does(x, w, convolution, y))
        return DNN_STATUS_NOT_SUPPORTED;
    for (*count = 0; *count < wanted && *count < others; ++*count)
        results[*count] = first[*count];
    for (unsigned i = 0; i < DIRECT && i < core_algorithm_count() && *count < wanted; i++)
        results[(*count)++] =
            (struct cudnn_algorithm){.algorithm = direct[i].algorithm,
                                     .math = math_of(convolution->math, i),
                                     .workspace_bytes = direct[i].workspace_bytes};
    return DNN_STATUS_SUCCESS;
}

/* Its place among the direct ones that are listed; DIRECT: it is not. */
static unsigned place_of(unsigned algorithm)
{
    for (unsigned i = 0; i < DIRECT && i < core_algorithm_count(); i++)
        if (direct[i].algorithm == algorithm)
            return i;
    return DIRECT;
}

unsigned cudnnGetConvolutionForwardWorkspaceSize(struct cudnnContext *handle,
                                                 struct cudnnTensorStruct *x,
                                                 struct cudnnFilterStruct *w,
                                                 struct cudnnConvolutionStruct *convolution,
                                                 struct cudnnTensorStruct *y, unsigned algorithm,
                                                 size_t *bytes)
{
    SHIM_FAULT(unsigned, cudnnGetConvolutionForwardWorkspaceSize);
    if (handle == NULL || !fits(x, w, convolution, y) || place_of(algorithm) == DIRECT)
        return DNN_STATUS_NOT_SUPPORTED;
    *bytes = direct[place_of(algorithm)].workspace_bytes;
    return DNN_STATUS_SUCCESS;
}

static bool core_type_of(unsigned type, enum core_type *ret)
{
    switch (type) {
    case DNN_DOUBLE:
        *ret = CORE_F64;
        return true;
    case DNN_FLOAT:
        *ret = CORE_F32;
        return true;
    case DNN_HALF:
        *ret = CORE_F16;
        return true;
    case DNN_BFLOAT16:
        *ret = CORE_BF16;
        return true;
    case DNN_INT8:
        *ret = CORE_I8;
        return true;
    default:
        return false;
    }
}

/* What one output is; tf32 keeps 10 bits of its operands, which this does not. */
static double element(const struct cudnnTensorStruct *x_desc, enum core_type type, const void *x,
                      const struct cudnnFilterStruct *w_desc, const void *w,
                      const struct cudnnConvolutionStruct *s, int n, int y, int column, int k)
{
    const int group = k / (w_desc->k / s->groups);
    double sum = 0.0;

    for (int r = 0; r < w_desc->h; r++)
        for (int q = 0; q < w_desc->w; q++) {
            const int h = y * s->stride_h - s->pad_h + r * s->dilation_h;
            const int v = column * s->stride_w - s->pad_w + q * s->dilation_w;

            if (h < 0 || v < 0 || h >= x_desc->h || v >= x_desc->w)
                continue;
            for (int c = 0; c < w_desc->c; c++)
                sum += core_load(type, x,
                                 (uint64_t)(((n * x_desc->h + h) * x_desc->w + v) * x_desc->c +
                                            group * w_desc->c + c)) *
                       core_load(type, w,
                                 (uint64_t)(((k * w_desc->h + r) * w_desc->w + q) * w_desc->c + c));
        }
    return sum;
}

unsigned cudnnConvolutionForward(struct cudnnContext *handle, const void *alpha,
                                 struct cudnnTensorStruct *x_desc, const void *x,
                                 struct cudnnFilterStruct *w_desc, const void *w,
                                 struct cudnnConvolutionStruct *convolution, unsigned algorithm,
                                 void *workspace, size_t workspace_bytes, const void *beta,
                                 struct cudnnTensorStruct *y_desc, void *y)
{
    const uint64_t inputs = (uint64_t)x_desc->n * (uint64_t)(x_desc->h * x_desc->w * x_desc->c);
    const uint64_t filters = (uint64_t)w_desc->k * (uint64_t)(w_desc->h * w_desc->w * w_desc->c);
    const uint64_t outputs = (uint64_t)y_desc->n * (uint64_t)(y_desc->h * y_desc->w * y_desc->c);
    const unsigned place = place_of(algorithm);
    enum core_type type, result;
    uint64_t at = 0;

    SHIM_FAULT(unsigned, cudnnConvolutionForward);
    if (handle == NULL || handle->stream == NULL || !core_type_of(x_desc->type, &type) ||
        !core_type_of(y_desc->type, &result) || place == DIRECT ||
        workspace_bytes < direct[place].workspace_bytes ||
        (workspace_bytes > 0 && core_bytes_at(workspace) < workspace_bytes))
        return DNN_STATUS_BAD_PARAM;
    if (type == CORE_F64 ? *(const double *)alpha != 1.0 || *(const double *)beta != 0.0
                         : *(const float *)alpha != 1.0f || *(const float *)beta != 0.0f)
        return DNN_STATUS_BAD_PARAM;
    if (core_bytes_at(x) < inputs * core_type_bytes(type) ||
        core_bytes_at(w) < filters * core_type_bytes(type) ||
        core_bytes_at(y) < outputs * core_type_bytes(result))
        return DNN_STATUS_BAD_PARAM;
    if (core_synchronize() != CORE_OK || !core_algorithm_launch(place))
        return DNN_STATUS_EXECUTION_FAILED;
    for (int n = 0; n < y_desc->n; n++)
        for (int h = 0; h < y_desc->h; h++)
            for (int v = 0; v < y_desc->w; v++)
                for (int k = 0; k < y_desc->c; k++, at++)
                    if (!core_store(result, y, at,
                                    element(x_desc, type, x, w_desc, w, convolution, n, h, v, k)))
                        return DNN_STATUS_BAD_PARAM;
    return DNN_STATUS_SUCCESS;
}

/*
 * cudnn - the part of cuDNN that convolutions and attention need, declared by ourselves.
 *
 * Names, values and types are those of cudnn_graph.h, cudnn_ops.h and cudnn_cnn.h (cuDNN 9.19; the
 * same since 8.0, except for the status codes, which 9.0 numbered anew).
 */
#ifndef ASSAY_BACKENDS_CUDA_CUDNN_H
#define ASSAY_BACKENDS_CUDA_CUDNN_H

#include <stddef.h>
#include <stdint.h>

#include "harness/core/dynlib.h"

/* Opaque objects of the library; the tags are the headers'. */
struct cudnnContext;
struct cudnnTensorStruct;
struct cudnnFilterStruct;
struct cudnnConvolutionStruct;
struct CUstream_st;

/* cudnnConvolutionFwdAlgoPerf_t */
struct cudnn_algorithm {
    unsigned algorithm, status;
    float time;
    size_t workspace_bytes;
    unsigned determinism, math;
    int reserved[3];
};

#ifndef CUDNN_ALGORITHM
#define CUDNN_ALGORITHM struct cudnn_algorithm
#endif

#define CUDNN_REQUIRED_MAP(X)                                                                      \
    X(size_t, cudnnGetVersion, (void))                                                             \
    X(const char *, cudnnGetErrorString, (unsigned status))                                        \
    X(unsigned, cudnnCreate, (struct cudnnContext * *handle))                                      \
    X(unsigned, cudnnDestroy, (struct cudnnContext * handle))                                      \
    X(unsigned, cudnnSetStream, (struct cudnnContext * handle, struct CUstream_st * stream))       \
    X(unsigned, cudnnCreateTensorDescriptor, (struct cudnnTensorStruct * *tensor))                 \
    X(unsigned, cudnnDestroyTensorDescriptor, (struct cudnnTensorStruct * tensor))                 \
    X(unsigned, cudnnSetTensor4dDescriptor,                                                        \
      (struct cudnnTensorStruct * tensor, unsigned format, unsigned type, int n, int c, int h,     \
       int w))                                                                                     \
    X(unsigned, cudnnCreateFilterDescriptor, (struct cudnnFilterStruct * *filter))                 \
    X(unsigned, cudnnDestroyFilterDescriptor, (struct cudnnFilterStruct * filter))                 \
    X(unsigned, cudnnSetFilter4dDescriptor,                                                        \
      (struct cudnnFilterStruct * filter, unsigned type, unsigned format, int k, int c, int h,     \
       int w))                                                                                     \
    X(unsigned, cudnnCreateConvolutionDescriptor, (struct cudnnConvolutionStruct * *convolution))  \
    X(unsigned, cudnnDestroyConvolutionDescriptor, (struct cudnnConvolutionStruct * convolution))  \
    X(unsigned, cudnnSetConvolution2dDescriptor,                                                   \
      (struct cudnnConvolutionStruct * convolution, int pad_h, int pad_w, int stride_h,            \
       int stride_w, int dilation_h, int dilation_w, unsigned mode, unsigned compute))             \
    X(unsigned, cudnnSetConvolutionGroupCount,                                                     \
      (struct cudnnConvolutionStruct * convolution, int groups))                                   \
    X(unsigned, cudnnSetConvolutionMathType,                                                       \
      (struct cudnnConvolutionStruct * convolution, unsigned math))                                \
    X(unsigned, cudnnGetConvolutionForwardAlgorithm_v7,                                            \
      (struct cudnnContext * handle, struct cudnnTensorStruct * x, struct cudnnFilterStruct * w,   \
       struct cudnnConvolutionStruct * convolution, struct cudnnTensorStruct * y, int wanted,      \
       int *count, CUDNN_ALGORITHM *results))                                                      \
    X(unsigned, cudnnGetConvolutionForwardWorkspaceSize,                                           \
      (struct cudnnContext * handle, struct cudnnTensorStruct * x, struct cudnnFilterStruct * w,   \
       struct cudnnConvolutionStruct * convolution, struct cudnnTensorStruct * y,                  \
       unsigned algorithm, size_t *bytes))                                                         \
    X(unsigned, cudnnConvolutionForward,                                                           \
      (struct cudnnContext * handle, const void *alpha, struct cudnnTensorStruct *x_desc,          \
       const void *x, struct cudnnFilterStruct *w_desc, const void *w,                             \
       struct cudnnConvolutionStruct *convolution, unsigned algorithm, void *workspace,            \
       size_t workspace_bytes, const void *beta, struct cudnnTensorStruct *y_desc, void *y))

/* The graph interface (cudnn_graph.h); without it there is no attention. The last came with 9. */
#define CUDNN_OPTIONAL_MAP(X)                                                                      \
    X(unsigned, cudnnBackendCreateDescriptor, (unsigned kind, void **descriptor))                  \
    X(unsigned, cudnnBackendDestroyDescriptor, (void *descriptor))                                 \
    X(unsigned, cudnnBackendFinalize, (void *descriptor))                                          \
    X(unsigned, cudnnBackendSetAttribute,                                                          \
      (void *descriptor, unsigned name, unsigned type, int64_t count, const void *elements))       \
    X(unsigned, cudnnBackendGetAttribute,                                                          \
      (void *descriptor, unsigned name, unsigned type, int64_t wanted, int64_t *count,             \
       void *elements))                                                                            \
    X(unsigned, cudnnBackendExecute,                                                               \
      (struct cudnnContext * handle, void *plan, void *variant_pack))                              \
    X(void, cudnnGetLastErrorString, (char *message, size_t size))

struct cudnn_api {
    CUDNN_REQUIRED_MAP(DYNLIB_MEMBER)
    CUDNN_OPTIONAL_MAP(DYNLIB_MEMBER)
};

/* Our name, the header's name, value. */
#define CUDNN_CONSTANT_MAP(X)                                                                      \
    X(STATUS_SUCCESS, CUDNN_STATUS_SUCCESS, 0)                                                     \
    X(STATUS_BAD_PARAM, CUDNN_STATUS_BAD_PARAM, 2000)                                              \
    X(STATUS_NOT_SUPPORTED, CUDNN_STATUS_NOT_SUPPORTED, 3000)                                      \
    X(STATUS_INTERNAL_ERROR, CUDNN_STATUS_INTERNAL_ERROR, 4000)                                    \
    X(STATUS_HOST_ALLOCATION, CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, 4003)            \
    X(STATUS_DEVICE_ALLOCATION, CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED, 4004)        \
    X(STATUS_EXECUTION_FAILED, CUDNN_STATUS_EXECUTION_FAILED, 5000)                                \
    X(FLOAT, CUDNN_DATA_FLOAT, 0)                                                                  \
    X(DOUBLE, CUDNN_DATA_DOUBLE, 1)                                                                \
    X(HALF, CUDNN_DATA_HALF, 2)                                                                    \
    X(INT8, CUDNN_DATA_INT8, 3)                                                                    \
    X(INT32, CUDNN_DATA_INT32, 4)                                                                  \
    X(BFLOAT16, CUDNN_DATA_BFLOAT16, 9)                                                            \
    X(NHWC, CUDNN_TENSOR_NHWC, 1)                                                                  \
    X(CROSS_CORRELATION, CUDNN_CROSS_CORRELATION, 1)                                               \
    X(DEFAULT_MATH, CUDNN_DEFAULT_MATH, 0)                                                         \
    X(TENSOR_OP_MATH, CUDNN_TENSOR_OP_MATH, 1)                                                     \
    X(FMA_MATH, CUDNN_FMA_MATH, 3)                                                                 \
    X(IMPLICIT_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, 0)                                  \
    X(IMPLICIT_PRECOMP_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, 1)                  \
    X(GEMM, CUDNN_CONVOLUTION_FWD_ALGO_GEMM, 2)                                                    \
    X(DIRECT, CUDNN_CONVOLUTION_FWD_ALGO_DIRECT, 3)                                                \
    X(ALGORITHMS, CUDNN_CONVOLUTION_FWD_ALGO_COUNT, 8)

enum cudnn_constant {
#define CUDNN_CONSTANT_ENUM(name, theirs, value) DNN_##name = value,
    CUDNN_CONSTANT_MAP(CUDNN_CONSTANT_ENUM)
#undef CUDNN_CONSTANT_ENUM
    /* Of cuDNN 8, which no header of 9 has. */
    DNN_8_STATUS_ALLOC_FAILED = 2,
    DNN_8_STATUS_BAD_PARAM = 3,
    DNN_8_STATUS_ARCH_MISMATCH = 6,
    DNN_8_STATUS_NOT_SUPPORTED = 9
};

/* Opens it (name "cudnn"): libcudnn.so.9, else .8. UNAVAILABLE as dynlib_open. */
enum status cudnn_open(struct dynlib *lib, struct cudnn_api *ret, struct error *err);

/*
 * UNSUPPORTED, DEVICE_MEMORY or DEVICE by the library's status, with function and code;
 * DNN_STATUS_SUCCESS: it gave nothing.
 */
enum status cudnn_fail(const struct cudnn_api *api, const char *function, unsigned code,
                       struct error *err);

#endif

/* gemm - what gemm.c and gemm_algorithm.c share. */
#ifndef ASSAY_BACKENDS_CUDA_GEMM_H
#define ASSAY_BACKENDS_CUDA_GEMM_H

#include "backends/cuda/internal.h"

/* Bytes; what vectors of a kernel want. An operand at an odd offset takes another algorithm. */
#define CUDA_GEMM_ALIGNMENT 16u
/* Algorithms that the library is asked for: most of what its heuristic ranks for one GEMM. */
#define CUDA_GEMM_ALGORITHMS 16

/* `flags`: its numerical ones, 0: not reported. */
struct cuda_algorithm {
    LT_ALGORITHM algorithm;
    uint64_t workspace_bytes, flags;
};
struct cuda_algorithm_list {
    struct cuda_algorithm at[CUDA_GEMM_ALGORITHMS];
    uint32_t count;
};

struct cuda_gemm {
    struct operation base;
    LT_DESC desc;
    LT_LAYOUT a; /* by their names in our shape */
    LT_LAYOUT b;
    LT_LAYOUT c;
    struct cuda_algorithm_list list;
    uint32_t aligned_to; /* bytes, what the list is for: less where loops step by less */
    uint32_t selected;   /* of the list */
    struct cuda_algorithm unaligned;
    bool has_unaligned;
    uint32_t unaligned_to; /* bytes, for which `unaligned` was found */
    struct gpu_workspace workspace;
    uint64_t bias;                          /* address that `desc` has */
    uint64_t loops, a_step, b_step, c_step; /* what is not merged into the strided batch; bytes */
    double alpha;
    char algorithm_text[OPERATION_WORD_MAX], method[OPERATION_WORD_MAX];
    enum support support;
};

#define LT(function, ...)                                                                          \
    do {                                                                                           \
        const unsigned code_ = api->function(__VA_ARGS__);                                         \
        if (code_ != LT_STATUS_SUCCESS)                                                            \
            return cuda_lt_fail(api, #function, code_, err);                                       \
    } while (0)

/* The same for what makes an object, which must then be there. */
#define LT_MAKE(object, function, ...)                                                             \
    do {                                                                                           \
        LT(function, __VA_ARGS__);                                                                 \
        if ((object) == NULL)                                                                      \
            return cuda_lt_fail(api, #function, LT_STATUS_SUCCESS, err);                           \
    } while (0)

/*
 * The library's algorithms for operands aligned to `alignment` bytes that compute in the shape's
 * precision, in its order; none that emulates it where another is native. At least one when OK.
 */
enum status cuda_gemm_list(struct cuda_device *device, struct cuda_gemm *gemm,
                           const struct gemm_shape *shape, uint32_t alignment,
                           struct cuda_algorithm_list *ret, struct error *err);

/*
 * What an algorithm is called: its configuration, except for what an older library does not report.
 * Fails as cuda_lt_fail.
 */
enum status cuda_gemm_algorithm_text(const struct cublaslt_api *api,
                                     const struct cuda_algorithm *algorithm,
                                     char ret[OPERATION_WORD_MAX], struct error *err);

/* From now on the GEMM runs by this one of its list, which is called `text`. */
void cuda_gemm_take_algorithm(struct cuda_gemm *gemm, const struct gemm_shape *shape,
                              uint32_t index, const char *text);

#endif

/*
 * dnnl_api - oneDNN as far as GEMMs and convolutions need it: our declarations of the C API of
 * versions 2 and 3, and one set of functions over both.
 *
 * Declarations follow oneapi/dnnl/dnnl.h and dnnl_types.h of oneDNN 2.6, 3.7 and 3.12 (Apache-2.0);
 * the test test_backend_cpu_dnnl_abi compares them with the real header that is installed. What
 * differs: in version 2 a memory descriptor is a structure of the caller's, in version 3 an opaque
 * object; a primitive descriptor is made from an operation descriptor in 2, by one call in 3;
 * post-operations have other parameters and numbers.
 */
#ifndef ASSAY_BACKENDS_CPU_DNNL_API_H
#define ASSAY_BACKENDS_CPU_DNNL_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/dynlib.h"
#include "harness/core/status.h"

/* Opaque objects of the library; the tags are the header's. */
struct dnnl_engine;
struct dnnl_stream;
struct dnnl_memory;
struct dnnl_primitive;
struct dnnl_primitive_desc;
struct dnnl_primitive_desc_iterator; /* version 2 */
struct dnnl_primitive_attr;
struct dnnl_post_ops;

#define ASSAY_DNNL_NDIMS 12 /* DNNL_MAX_NDIMS */

/* dnnl_version_t */
struct assay_dnnl_version {
    int major, minor, patch;
    const char *hash;
    unsigned cpu_runtime, gpu_runtime;
};

/* dnnl_exec_arg_t */
struct assay_dnnl_exec_arg {
    int arg;
    struct dnnl_memory *memory;
};

/* dnnl_memory_desc_t and dnnl_matmul_desc_t of version 2 (696 and 2800 bytes), with room. */
struct assay_dnnl_memory_desc {
    _Alignas(16) unsigned char bytes[1024];
};
struct assay_dnnl_matmul_desc {
    _Alignas(16) unsigned char bytes[8192];
};
/* dnnl_convolution_desc_t of version 2 (about 9 KB), with room. */
struct assay_dnnl_convolution_desc {
    _Alignas(16) unsigned char bytes[32768];
};

/* The same number in both versions. */
#define ASSAY_DNNL_CONSTANT_MAP(X)                                                                 \
    X(success, 0)                                                                                  \
    X(out_of_memory, 1)                                                                            \
    X(invalid_arguments, 2)                                                                        \
    X(unimplemented, 3)                                                                            \
    X(runtime_error, 5)                                                                            \
    X(not_required, 6)                                                                             \
    X(f16, 1)                                                                                      \
    X(bf16, 2)                                                                                     \
    X(f32, 3)                                                                                      \
    X(s32, 4)                                                                                      \
    X(s8, 5)                                                                                       \
    X(cpu, 1)                                                                                      \
    X(stream_default_flags, 1)                                                                     \
    X(scratchpad_mode_user, 1)                                                                     \
    X(fpmath_mode_strict, 0)                                                                       \
    X(binary_add, 0x1fff0)                                                                         \
    X(forward_inference, 96)                                                                       \
    X(convolution_direct, 1)                                                                       \
    X(format_tag_any, 1)                                                                           \
    X(query_impl_info_str, 8)                                                                      \
    X(query_src_md, 129)                                                                           \
    X(query_weights_md, 131)                                                                       \
    X(query_dst_md, 133)                                                                           \
    X(query_scratchpad_md, 136)

/* In version 3 only. */
#define ASSAY_DNNL3_CONSTANT_MAP(X)                                                                \
    X(f64, 7)                                                                                      \
    X(f8_e5m2, 9)                                                                                  \
    X(f8_e4m3, 10)                                                                                 \
    X(fpmath_mode_tf32, 4)

/* From version 3.7 on. */
#define ASSAY_DNNL37_CONSTANT_MAP(X) X(f4_e2m1, 14)

enum assay_dnnl_constant {
#define ASSAY_DNNL_ENUM(name, value) ASSAY_DNNL_##name = value,
    ASSAY_DNNL_CONSTANT_MAP(ASSAY_DNNL_ENUM) ASSAY_DNNL3_CONSTANT_MAP(ASSAY_DNNL_ENUM)
        ASSAY_DNNL37_CONSTANT_MAP(ASSAY_DNNL_ENUM)
#undef ASSAY_DNNL_ENUM
            ASSAY_DNNL_eltwise_linear_2 = 0x7f,
    ASSAY_DNNL_eltwise_linear_3 = 38,
    ASSAY_DNNL_POST_OP_2 = 16384, /* DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE */
    ASSAY_DNNL_POST_OP_3 = 32768
};

/* DNNL_ARG_... */
#define ASSAY_DNNL_ARG_MAP(X)                                                                      \
    X(SRC, 1)                                                                                      \
    X(SRC_1, 2)                                                                                    \
    X(DST, 17)                                                                                     \
    X(WEIGHTS, 33)                                                                                 \
    X(BIAS, 41)                                                                                    \
    X(SCRATCHPAD, 80)

enum assay_dnnl_arg {
#define ASSAY_DNNL_ENUM(name, value) ASSAY_DNNL_ARG_##name = value,
    ASSAY_DNNL_ARG_MAP(ASSAY_DNNL_ENUM)
#undef ASSAY_DNNL_ENUM
};

/*
 * Functions: result, name, parameters. MD, VERSION and EXEC are the types for a memory descriptor's
 * structure, the version's and an argument, so that the test can put the header's in their place.
 */
#define ASSAY_DNNL_COMMON_MAP(X, MD, VERSION, EXEC)                                                \
    X(const VERSION *, dnnl_version, (void))                                                       \
    X(unsigned, dnnl_engine_create, (struct dnnl_engine **, unsigned, size_t))                     \
    X(unsigned, dnnl_stream_create, (struct dnnl_stream **, struct dnnl_engine *, unsigned))       \
    X(unsigned, dnnl_stream_wait, (struct dnnl_stream *))                                          \
    X(unsigned, dnnl_memory_create,                                                                \
      (struct dnnl_memory **, const MD *, struct dnnl_engine *, void *))                           \
    X(unsigned, dnnl_memory_set_data_handle, (struct dnnl_memory *, void *))                       \
    X(unsigned, dnnl_memory_destroy, (struct dnnl_memory *))                                       \
    X(size_t, dnnl_memory_desc_get_size, (const MD *))                                             \
    X(unsigned, dnnl_primitive_attr_create, (struct dnnl_primitive_attr **))                       \
    X(unsigned, dnnl_primitive_attr_destroy, (struct dnnl_primitive_attr *))                       \
    X(unsigned, dnnl_primitive_attr_set_scratchpad_mode, (struct dnnl_primitive_attr *, unsigned)) \
    X(unsigned, dnnl_primitive_attr_set_post_ops,                                                  \
      (struct dnnl_primitive_attr *, const struct dnnl_post_ops *))                                \
    X(unsigned, dnnl_post_ops_create, (struct dnnl_post_ops **))                                   \
    X(unsigned, dnnl_post_ops_destroy, (struct dnnl_post_ops *))                                   \
    X(unsigned, dnnl_post_ops_append_binary, (struct dnnl_post_ops *, unsigned, const MD *))       \
    X(unsigned, dnnl_primitive_desc_destroy, (struct dnnl_primitive_desc *))                       \
    X(unsigned, dnnl_primitive_desc_query,                                                         \
      (const struct dnnl_primitive_desc *, unsigned, int, void *))                                 \
    X(const MD *, dnnl_primitive_desc_query_md,                                                    \
      (const struct dnnl_primitive_desc *, unsigned, int))                                         \
    X(unsigned, dnnl_primitive_create,                                                             \
      (struct dnnl_primitive **, const struct dnnl_primitive_desc *))                              \
    X(unsigned, dnnl_primitive_destroy, (struct dnnl_primitive *))                                 \
    X(unsigned, dnnl_primitive_execute,                                                            \
      (const struct dnnl_primitive *, struct dnnl_stream *, int, const EXEC *))

/* Versions before 2.5 compute as strictly without being asked. */
#define ASSAY_DNNL_OPTIONAL_MAP(X)                                                                 \
    X(unsigned, dnnl_primitive_attr_set_fpmath_mode, (struct dnnl_primitive_attr *, unsigned))     \
    X(unsigned, dnnl_get_effective_cpu_isa, (void))

/*
 * Version 2. The two that exist in version 3 with other parameters have a member name of their own;
 * the table gives member, symbol.
 */
#define ASSAY_DNNL2_MAP(X, MD, GEMM)                                                               \
    X(unsigned, append_sum_2, dnnl_post_ops_append_sum, (struct dnnl_post_ops *, float))           \
    X(unsigned, append_eltwise_2, dnnl_post_ops_append_eltwise,                                    \
      (struct dnnl_post_ops *, float, unsigned, float, float))                                     \
    X(unsigned, memory_desc_init_2, dnnl_memory_desc_init_by_strides,                              \
      (MD *, int, const int64_t *, unsigned, const int64_t *))                                     \
    X(unsigned, matmul_desc_init_2, dnnl_matmul_desc_init,                                         \
      (GEMM *, const MD *, const MD *, const MD *, const MD *))                                    \
    X(unsigned, primitive_desc_create_2, dnnl_primitive_desc_create,                               \
      (struct dnnl_primitive_desc **, const void *, const struct dnnl_primitive_attr *,            \
       struct dnnl_engine *, const struct dnnl_primitive_desc *))

#define ASSAY_DNNL3_MAP(X, MD)                                                                     \
    X(unsigned, append_sum_3, dnnl_post_ops_append_sum,                                            \
      (struct dnnl_post_ops *, float, int32_t, unsigned))                                          \
    X(unsigned, append_eltwise_3, dnnl_post_ops_append_eltwise,                                    \
      (struct dnnl_post_ops *, unsigned, float, float))                                            \
    X(unsigned, memory_desc_create_3, dnnl_memory_desc_create_with_strides,                        \
      (MD **, int, const int64_t *, unsigned, const int64_t *))                                    \
    X(unsigned, memory_desc_destroy_3, dnnl_memory_desc_destroy, (MD *))                           \
    X(unsigned, matmul_create_3, dnnl_matmul_primitive_desc_create,                                \
      (struct dnnl_primitive_desc **, struct dnnl_engine *, const MD *, const MD *, const MD *,    \
       const MD *, const struct dnnl_primitive_attr *))

/* The implementations after the first. Without them a library has that alone. */
#define ASSAY_DNNL2_NEXT_MAP(X)                                                                    \
    X(unsigned, iterator_create_2, dnnl_primitive_desc_iterator_create,                            \
      (struct dnnl_primitive_desc_iterator **, const void *, const struct dnnl_primitive_attr *,   \
       struct dnnl_engine *, const struct dnnl_primitive_desc *))                                  \
    X(unsigned, iterator_next_2, dnnl_primitive_desc_iterator_next,                                \
      (struct dnnl_primitive_desc_iterator *))                                                     \
    X(struct dnnl_primitive_desc *, iterator_fetch_2, dnnl_primitive_desc_iterator_fetch,          \
      (const struct dnnl_primitive_desc_iterator *))                                               \
    X(unsigned, iterator_destroy_2, dnnl_primitive_desc_iterator_destroy,                          \
      (struct dnnl_primitive_desc_iterator *))

#define ASSAY_DNNL3_NEXT_MAP(X)                                                                    \
    X(unsigned, next_impl_3, dnnl_primitive_desc_next_impl, (struct dnnl_primitive_desc *))

/* Convolutions. Without them a library still has its GEMMs. */
#define ASSAY_DNNL_CONVOLUTION_MAP(X, MD)                                                          \
    X(int, dnnl_memory_desc_equal, (const MD *, const MD *))                                       \
    X(unsigned, dnnl_reorder_primitive_desc_create,                                                \
      (struct dnnl_primitive_desc **, const MD *, struct dnnl_engine *, const MD *,                \
       struct dnnl_engine *, const struct dnnl_primitive_attr *))

#define ASSAY_DNNL2_CONVOLUTION_MAP(X, MD, CONVOLUTION)                                            \
    X(unsigned, memory_desc_tag_2, dnnl_memory_desc_init_by_tag,                                   \
      (MD *, int, const int64_t *, unsigned, unsigned))                                            \
    X(unsigned, convolution_desc_init_2, dnnl_dilated_convolution_forward_desc_init,               \
      (CONVOLUTION *, unsigned, unsigned, const MD *, const MD *, const MD *, const MD *,          \
       const int64_t *, const int64_t *, const int64_t *, const int64_t *))

#define ASSAY_DNNL3_CONVOLUTION_MAP(X, MD)                                                         \
    X(unsigned, memory_desc_tag_3, dnnl_memory_desc_create_with_tag,                               \
      (MD **, int, const int64_t *, unsigned, unsigned))                                           \
    X(unsigned, convolution_create_3, dnnl_convolution_forward_primitive_desc_create,              \
      (struct dnnl_primitive_desc **, struct dnnl_engine *, unsigned, unsigned, const MD *,        \
       const MD *, const MD *, const MD *, const int64_t *, const int64_t *, const int64_t *,      \
       const int64_t *, const struct dnnl_primitive_attr *))

struct dnnl_api {
    ASSAY_DNNL_COMMON_MAP(DYNLIB_MEMBER, struct assay_dnnl_memory_desc, struct assay_dnnl_version,
                          struct assay_dnnl_exec_arg)
    ASSAY_DNNL_OPTIONAL_MAP(DYNLIB_MEMBER)
    ASSAY_DNNL_CONVOLUTION_MAP(DYNLIB_MEMBER, struct assay_dnnl_memory_desc)
#define ASSAY_DNNL_MEMBER(result, name, symbol, parameters) result(*name) parameters;
    ASSAY_DNNL2_MAP(ASSAY_DNNL_MEMBER, struct assay_dnnl_memory_desc, struct assay_dnnl_matmul_desc)
    ASSAY_DNNL3_MAP(ASSAY_DNNL_MEMBER, struct assay_dnnl_memory_desc)
    ASSAY_DNNL2_NEXT_MAP(ASSAY_DNNL_MEMBER)
    ASSAY_DNNL3_NEXT_MAP(ASSAY_DNNL_MEMBER)
    ASSAY_DNNL2_CONVOLUTION_MAP(ASSAY_DNNL_MEMBER, struct assay_dnnl_memory_desc,
                                struct assay_dnnl_convolution_desc)
    ASSAY_DNNL3_CONVOLUTION_MAP(ASSAY_DNNL_MEMBER, struct assay_dnnl_memory_desc)
#undef ASSAY_DNNL_MEMBER
};

/* The library, opened. Never closed. */
struct onednn {
    struct dynlib lib;
    struct dnnl_api api;
    int major, minor;
    char version[64]; /* "2.6.3", with the commit where it is reported */
    struct dnnl_engine *engine;
    struct dnnl_stream *stream;
};

/*
 * Opens libdnnl.so.3, libdnnl.so.3.6 (the soname of Debian 13) or libdnnl.so.2, or what
 * ASSAY_LIB_DNNL names. UNAVAILABLE with the reason; `ret->lib.tried` is filled either way.
 */
enum status onednn_open(struct onednn *ret, struct error *err);

/* UNSUPPORTED for what the library does not do, DEVICE_MEMORY, else DEVICE; names call and code. */
enum status onednn_fail(const struct onednn *dnnl, const char *function, unsigned code,
                        struct error *err);

/*
 * A plain layout: `count` dimensions, strides in elements; `strides` NULL: one of the library's own
 * choice ("any"). Heap or the library's.
 */
enum status onednn_layout_create(const struct onednn *dnnl, int count, const int64_t *dims,
                                 unsigned type, const int64_t *strides,
                                 struct assay_dnnl_memory_desc **ret, struct error *err);
void onednn_layout_destroy(const struct onednn *dnnl, struct assay_dnnl_memory_desc *layout);

/* Post-operations: x * scale, and adding the previous content of the destination. */
unsigned onednn_append_scale(const struct onednn *dnnl, struct dnnl_post_ops *ops, float scale);
unsigned onednn_append_sum(const struct onednn *dnnl, struct dnnl_post_ops *ops);
/* Argument that the `index`-th post-operation, a binary one, reads. */
int onednn_post_op_arg(const struct onednn *dnnl, int index);

/*
 * The library's first implementation; with `no_tiles` the first whose kernels are not AMX's, where
 * there is one that is not a reference: a product of few rows leaves most of a tile of 16 rows
 * empty, and reads B a fifth slower so (oneDNN 2.6.3, one row, bf16 and int8;
 * backends/cpu/README.md).
 */
enum status onednn_matmul_create(const struct onednn *dnnl, const struct assay_dnnl_memory_desc *a,
                                 const struct assay_dnnl_memory_desc *b,
                                 const struct assay_dnnl_memory_desc *bias,
                                 const struct assay_dnnl_memory_desc *c,
                                 const struct dnnl_primitive_attr *attributes, bool no_tiles,
                                 struct dnnl_primitive_desc **ret, struct error *err);

/* The implementation's own name of what was chosen (impl_info_str); "" when it is not reported. */
void onednn_algorithm(const struct onednn *dnnl, const struct dnnl_primitive_desc *desc, char *ret,
                      size_t size);

/* ---- dnnl_convolution.c ---- */

/* Whether the library has all that convolutions need. */
bool onednn_has_convolutions(const struct onednn *dnnl);
/* Whether it copies an array into a layout of its own choice. */
bool onednn_has_reorders(const struct onednn *dnnl);

/*
 * The direct forward convolution for inference, without bias, padded alike on both sides; two
 * strides, dilations (0: none) and paddings.
 */
enum status onednn_convolution_create(const struct onednn *dnnl,
                                      const struct assay_dnnl_memory_desc *input,
                                      const struct assay_dnnl_memory_desc *weights,
                                      const struct assay_dnnl_memory_desc *output,
                                      const int64_t *strides, const int64_t *dilations,
                                      const int64_t *paddings,
                                      const struct dnnl_primitive_attr *attributes,
                                      struct dnnl_primitive_desc **ret, struct error *err);

#endif

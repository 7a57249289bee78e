/*
 * core - what the stand-ins for CUDA and HIP share: one device, which is PoCL on this processor.
 *
 * Device memory is OpenCL's shared virtual memory, so that addresses are plain pointers, as both
 * vendors have them. A kernel's text is extracted from the program that the backend made (after the
 * end of the GPU prelude) and built with OpenCL's prelude. Launches and copies are enqueued and
 * return at once, as on a device, and run in order.
 *
 * Every function that can fail gives an enum core_result; a front turns it into the vendor's code.
 */
#ifndef ASSAY_TESTS_GPU_SHIM_CORE_H
#define ASSAY_TESTS_GPU_SHIM_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHIM_EXPORT __attribute__((visibility("default")))

/* Reported by the backend as the driver's version; its presence marks results as simulated. */
#define SHIM_SIMULATED "stand-in on PoCL"

#define SHIM_MEMORY_BYTES ((size_t)4 << 30)
#define SHIM_LANES_MAX 1024u
#define SHIM_GROUPS_YZ_MAX 65535u

enum core_result {
    CORE_OK,
    CORE_NO_DEVICE,
    CORE_NO_MEMORY, /* of the device */
    CORE_INVALID,
    CORE_NOT_FOUND,
    CORE_NOT_READY,
    CORE_NOT_COMPILED,
    CORE_FAILED,
};

/* ---- fault.c ---- */

/* Counts a call; true, with the code, when it is the one to fail. */
bool shim_fails(const char *function, int *ret_code);
/* Live objects: +1 when one was made, -1 when it was released. */
void shim_live_add(int delta);

/* In a function of the stand-in: fails here when a test requests it. */
#define SHIM_FAULT(type, function)                                                                 \
    do {                                                                                           \
        int code_;                                                                                 \
        if (shim_fails(#function, &code_))                                                         \
            return (type)code_;                                                                    \
    } while (0)

/* ---- core.c ---- */

/* Opens PoCL once. NO_DEVICE, with a message on stderr, where there is none. */
enum core_result core_open(void);

enum core_result core_alloc(size_t bytes, void **ret);
enum core_result core_free(void *address);
/* Bytes from `address` to the end of its allocation; 0: not one of ours. */
size_t core_bytes_at(const void *address);
/* Bytes of memory that are not allocated. */
size_t core_memory_free(void);

/* Enqueued; INVALID where the range leaves the allocation. */
enum core_result core_copy_in(void *to, const void *from, size_t bytes);
enum core_result core_copy_out(void *to, const void *from, size_t bytes);
enum core_result core_copy_within(void *to, const void *from, size_t bytes);
enum core_result core_synchronize(void);

/* Memory of the host's, which counts among the live objects. */
enum core_result core_host_alloc(size_t bytes, void **ret);
void core_host_free(void *address);

/* ---- kernels.c ---- */

struct core_module;
struct core_kernel;

/*
 * From the whole program as a backend gives it to a run-time compiler: the part for OpenCL (defines
 * and text), heap; NULL where it is not of that form.
 */
char *core_program_text(const char *program);

/* Builds such a text. NOT_COMPILED with the compiler's log, heap. */
enum core_result core_module_create(const char *text, struct core_module **ret, char **ret_log);
void core_module_destroy(struct core_module *module);
enum core_result core_kernel_find(struct core_module *module, const char *name,
                                  struct core_kernel **ret);
size_t core_kernel_arguments(const struct core_kernel *kernel);
/* Largest group; bytes of local memory; private bytes a lane. */
void core_kernel_resources(const struct core_kernel *kernel, uint32_t *ret_lanes,
                           size_t *ret_shared, size_t *ret_private);
/* `args` points to each argument's value. INVALID beyond the limits of a device. */
enum core_result core_launch(struct core_kernel *kernel, const uint32_t groups[3], uint32_t lanes,
                             void **args);

/* ---- events ---- */

struct core_event;
enum core_result core_event_create(struct core_event **ret);
void core_event_destroy(struct core_event *event);
enum core_result core_event_record(struct core_event *event);
/* NOT_READY before both have happened, INVALID when one was never recorded. */
enum core_result core_event_elapsed(struct core_event *start, struct core_event *end, int64_t *ret);

/* ---- algorithms.c: those that a library of GEMMs lists ---- */

#define CORE_ALGORITHMS_MAX 24
/*
 * ASSAY_SHIM_ALGORITHMS="30000000,fail,3000000" lists so many; a launch of each takes so many ns
 * and moves the events' clock by them, which then moves by nothing else; one with "fail" cannot be
 * launched.
 * Unset: two, and real time.
 */
unsigned core_algorithm_count(void);
bool core_algorithm_launch(unsigned index); /* false: it fails */
/* The events' clock, in ns; false: real time. */
bool core_algorithm_clock(int64_t *ret);
/* A variable's item of this index, up to a comma or the end; NULL: there is none. */
const char *core_word_at(const char *variable, unsigned index);

/* ---- gemm.c: a GEMM by plain loops, run at once ---- */

enum core_type {
    CORE_F64,
    CORE_F32,
    CORE_F16,
    CORE_BF16,
    CORE_E4M3,
    CORE_E5M2,
    CORE_E4M3_FNUZ,
    CORE_E5M2_FNUZ,
    CORE_I8,
    CORE_I32,
};

/* Column-major, as both vendors count: element (r, c) of op(M) is at r + c * stride, or c + r *
 * stride when transposed; strides of the batch in elements. */
struct core_matrix {
    enum core_type type;
    bool transpose;
    uint64_t stride, batch_stride;
    const void *data;
};

/* D[m,n] = alpha op(A)[m,k] op(B)[k,n] + beta C + bias[m]; waits for what was enqueued. */
struct core_gemm {
    uint64_t m, n, k, batch;
    struct core_matrix a, b, c, d;
    double alpha, beta;
    const void *bias; /* NULL: none */
    enum core_type bias_type;
};
enum core_result core_gemm_run(const struct core_gemm *gemm);
size_t core_type_bytes(enum core_type type);
/* Element `index` of an array; store gives false for a type that nothing is stored in. */
double core_load(enum core_type type, const void *data, uint64_t index);
bool core_store(enum core_type type, void *data, uint64_t index, double value);

#endif

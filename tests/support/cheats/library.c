/*
 * A vendor library that leaves out work: each function here takes the place of one in the library
 * that this object is linked with, and everything else is that library's. For tests alone.
 *
 * CHEAT says how: "second" leaves out every second call, "three" three of four, "later" three of
 * four after CHEAT_AFTER calls that are honest (0 where it is not set); "half" does one half of the
 * work items of an OpenCL launch, as of a batch (memory-bound kernels do all
 * of their work with any number of them); "named" leaves out kernels whose names contain
 * CHEAT_KERNEL; "cached" gives the last output while the first bytes of the inputs are the same;
 * "low" rounds inputs to bf16; none: an honest library.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Returns false data, so results through it count as simulated. */
extern const char assay_simulated[];
__attribute__((visibility("default"))) const char assay_simulated[] = "a library that cheats";

#if defined(CHEAT_OPENCL) || defined(CHEAT_ONEDNN)
static bool is_told(const char *how)
{
    const char *told = getenv("CHEAT");

    return told && !strcmp(told, how);
}
#endif

static bool leaves_out(void)
{
    static atomic_long calls;
    const char *how = getenv("CHEAT"), *after = getenv("CHEAT_AFTER");
    const long call = atomic_fetch_add(&calls, 1);

    if (!how || (strcmp(how, "second") && strcmp(how, "three") && strcmp(how, "later")))
        return false;
    if (!strcmp(how, "second"))
        return call % 2 == 1;
    if (!strcmp(how, "later") && call < (after ? atol(after) : 0))
        return false;
    return call % 4 != 0;
}

#define REAL(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))
#define EXPORT __attribute__((visibility("default")))

#ifdef CHEAT_OPENCL
#define FUNCTION_NAME 0x1190 /* CL_KERNEL_FUNCTION_NAME */

int clGetKernelInfo(void *kernel, unsigned what, size_t size, void *value, size_t *ret);
EXPORT int clEnqueueNDRangeKernel(void *queue, void *kernel, unsigned dimensions,
                                  const size_t *offset, const size_t *global, const size_t *local,
                                  unsigned count, void *const *wait, void **event);
int clEnqueueMarkerWithWaitList(void *queue, unsigned count, void *const *wait, void **event);

static bool is_named(void *kernel)
{
    const char *part = getenv("CHEAT_KERNEL");
    char name[256] = "";

    return is_told("named") && part &&
           clGetKernelInfo(kernel, FUNCTION_NAME, sizeof(name), name, NULL) == 0 &&
           strstr(name, part);
}

int clEnqueueNDRangeKernel(void *queue, void *kernel, unsigned dimensions, const size_t *offset,
                           const size_t *global, const size_t *local, unsigned count,
                           void *const *wait, void **event)
{
    size_t sizes[3] = {0};

    for (unsigned i = 0; i < dimensions && i < 3; i++)
        sizes[i] = global[i];
    for (unsigned i = 0; i < dimensions && i < 3 && is_told("half"); i++)
        if (sizes[i] % (2 * (local ? local[i] : 1)) == 0) {
            sizes[i] /= 2;
            break;
        }
    if (!leaves_out() && !is_named(kernel))
        return REAL(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, sizes, local, count,
                                            wait, event);
    return event ? clEnqueueMarkerWithWaitList(queue, count, wait, event) : 0;
}
#endif

#ifdef CHEAT_ONEDNN
EXPORT int dnnl_primitive_execute(const void *primitive, void *stream, int count, const void *args);

int dnnl_memory_get_data_handle(const void *memory, void **handle);
int dnnl_memory_get_memory_desc(const void *memory, const void **desc);
size_t dnnl_memory_desc_get_size(const void *desc);

#define SOURCE 1 /* DNNL_ARG_SRC, DNNL_ARG_DST, DNNL_ARG_WEIGHTS */
#define RESULT 17
#define WEIGHTS 33
#define FIRST_BYTES 64

struct argument {
    int which;
    void *memory;
};

/* The bytes of an argument; NULL: there is none. */
static unsigned char *bytes_of(const struct argument *args, int count, int which, size_t *ret)
{
    for (int i = 0; i < count; i++) {
        const void *desc = NULL;
        void *bytes = NULL;

        if (args[i].which != which || dnnl_memory_get_data_handle(args[i].memory, &bytes) != 0 ||
            dnnl_memory_get_memory_desc(args[i].memory, &desc) != 0)
            continue;
        *ret = dnnl_memory_desc_get_size(desc);
        return bytes;
    }
    *ret = 0;
    return NULL;
}

/* The last output, kept with the first bytes of what it was made of. */
static int run_cached(const void *primitive, void *stream, int count, const struct argument *args)
{
    static unsigned char first[2][FIRST_BYTES], *kept;
    static size_t kept_size;
    size_t sizes[2], size;
    unsigned char *inputs[] = {bytes_of(args, count, SOURCE, &sizes[0]),
                               bytes_of(args, count, WEIGHTS, &sizes[1])};
    unsigned char *output = bytes_of(args, count, RESULT, &size);
    bool same = kept && kept_size == size;
    int status;

    for (int i = 0; i < 2; i++)
        same = same && inputs[i] && sizes[i] >= FIRST_BYTES &&
               !memcmp(inputs[i], first[i], FIRST_BYTES);
    if (same) {
        memcpy(output, kept, size);
        return 0;
    }
    status = REAL(dnnl_primitive_execute)(primitive, stream, count, args);
    free(kept);
    kept = output ? malloc(size) : NULL;
    kept_size = size;
    if (kept)
        memcpy(kept, output, size);
    for (int i = 0; i < 2; i++)
        if (inputs[i] && sizes[i] >= FIRST_BYTES)
            memcpy(first[i], inputs[i], FIRST_BYTES);
    return status;
}

/* Of fp32 inputs, what a bf16 number holds of each. */
static int run_low(const void *primitive, void *stream, int count, const struct argument *args)
{
    static const int which[] = {SOURCE, WEIGHTS};
    unsigned char *kept[2] = {NULL, NULL}, *inputs[2];
    size_t sizes[2];
    int status;

    for (int i = 0; i < 2; i++) {
        inputs[i] = bytes_of(args, count, which[i], &sizes[i]);
        kept[i] = inputs[i] ? malloc(sizes[i]) : NULL;
        if (!kept[i])
            continue;
        memcpy(kept[i], inputs[i], sizes[i]);
        for (size_t k = 0; k + 4 <= sizes[i]; k += 4)
            inputs[i][k] = inputs[i][k + 1] = 0; /* the low half of a little-endian number */
    }
    status = REAL(dnnl_primitive_execute)(primitive, stream, count, args);
    for (int i = 0; i < 2; i++) {
        if (kept[i])
            memcpy(inputs[i], kept[i], sizes[i]);
        free(kept[i]);
    }
    return status;
}

int dnnl_primitive_execute(const void *primitive, void *stream, int count, const void *args)
{
    if (is_told("cached"))
        return run_cached(primitive, stream, count, args);
    if (is_told("low"))
        return run_low(primitive, stream, count, args);
    return leaves_out() ? 0 : REAL(dnnl_primitive_execute)(primitive, stream, count, args);
}
#endif

#ifdef CHEAT_CUDA
EXPORT unsigned cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                               unsigned by, unsigned bz, unsigned shared, void *stream, void **args,
                               void **extra);

unsigned cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, void *stream, void **args,
                        void **extra)
{
    return leaves_out() ? 0
                        : REAL(cuLaunchKernel)(function, gx, gy, gz, bx, by, bz, shared, stream,
                                               args, extra);
}

EXPORT unsigned cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a,
                               void *a_layout, const void *b, void *b_layout, const void *beta,
                               const void *c, void *c_layout, void *d, void *d_layout,
                               const void *algorithm, void *workspace, size_t bytes, void *stream);

unsigned cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *a_layout,
                        const void *b, void *b_layout, const void *beta, const void *c,
                        void *c_layout, void *d, void *d_layout, const void *algorithm,
                        void *workspace, size_t bytes, void *stream)
{
    return leaves_out()
               ? 0
               : REAL(cublasLtMatmul)(handle, desc, alpha, a, a_layout, b, b_layout, beta, c,
                                      c_layout, d, d_layout, algorithm, workspace, bytes, stream);
}
#endif

#ifdef CHEAT_HIP
EXPORT int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                 unsigned by, unsigned bz, unsigned shared, void *stream,
                                 void **args, void **extra);

int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, void *stream, void **args,
                          void **extra)
{
    return leaves_out() ? 0
                        : REAL(hipModuleLaunchKernel)(function, gx, gy, gz, bx, by, bz, shared,
                                                      stream, args, extra);
}

EXPORT unsigned hipblasLtMatmul(void *handle, void *desc, const void *alpha, const void *a,
                                void *a_layout, const void *b, void *b_layout, const void *beta,
                                const void *c, void *c_layout, void *d, void *d_layout,
                                const void *algorithm, void *workspace, size_t bytes, void *stream);

unsigned hipblasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *a_layout,
                         const void *b, void *b_layout, const void *beta, const void *c,
                         void *c_layout, void *d, void *d_layout, const void *algorithm,
                         void *workspace, size_t bytes, void *stream)
{
    return leaves_out()
               ? 0
               : REAL(hipblasLtMatmul)(handle, desc, alpha, a, a_layout, b, b_layout, beta, c,
                                       c_layout, d, d_layout, algorithm, workspace, bytes, stream);
}
#endif

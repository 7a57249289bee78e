/*
 * A vendor library that leaves out work: each function here takes the place of one in the library
 * that this object is linked with, and everything else is that library's. For tests alone.
 *
 * CHEAT says how: "second" leaves out every second call, "three" three of four, "later" three of
 * four after CHEAT_AFTER calls that are honest (0 where it is not set); "half" does one half of the
 * groups of a launch, as of a batch (memory-bound kernels do all of their work with any number of
 * them); "named" leaves out kernels whose names contain CHEAT_KERNEL; "cached" gives the last
 * output while the first bytes of the inputs are the same; "low" rounds inputs to bf16; none: an
 * honest library. The last two know the kernel stream_triad and GEMMs. Of OpenCL alone, and of
 * stream_triad: "unchanged" leaves out launches before which nothing was written since the last
 * one; "poisoned" those before which its output was not written; "lazy" makes the last launch when
 * something is read or written, and no other; "early" does not wait in clFinish.
 *
 * Of OpenCL alone, and of copies of CHEAT_COPY bytes after CHEAT_AFTER of them: "copy_dropped"
 * copies nothing, "copy_half" the first half, "copy_stale" what the one before it copied.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Returns false data, so results through it count as simulated. */
extern const char assay_simulated[];
__attribute__((visibility("default"))) const char assay_simulated[] = "a library that cheats";

#define REAL(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))
#define EXPORT __attribute__((visibility("default")))
#define KNOWN "stream_triad" /* parameters: b, c, a, scalar, n */
#define FIRST_BYTES 64

static bool is_told(const char *how)
{
    const char *told = getenv("CHEAT");

    return told && !strcmp(told, how);
}

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

#ifndef CHEAT_ONEDNN
static bool is_named(const char *kernel)
{
    const char *part = getenv("CHEAT_KERNEL");

    return is_told("named") && part && strstr(kernel, part);
}
#endif

/* What one call reads and writes, and the honest call, which returns when it is done. */
struct call {
    unsigned char *inputs[2], *output; /* NULL: not known */
    size_t sizes[2], output_size;
    int (*run)(const struct call *call);
};

/* The last output, kept with the first bytes of what it was made of. */
static int run_cached(const struct call *call)
{
    static unsigned char first[2][FIRST_BYTES], *kept;
    static size_t kept_size;
    bool same = kept && kept_size == call->output_size;
    int status;

    for (int i = 0; i < 2; i++)
        same = same && call->inputs[i] && call->sizes[i] >= FIRST_BYTES &&
               !memcmp(call->inputs[i], first[i], FIRST_BYTES);
    if (same) {
        memcpy(call->output, kept, kept_size);
        return 0;
    }
    status = call->run(call);
    free(kept);
    kept = call->output ? malloc(call->output_size) : NULL;
    kept_size = call->output_size;
    if (kept)
        memcpy(kept, call->output, kept_size);
    for (int i = 0; i < 2; i++)
        if (call->inputs[i] && call->sizes[i] >= FIRST_BYTES)
            memcpy(first[i], call->inputs[i], FIRST_BYTES);
    return status;
}

/* Of fp32 inputs, what a bf16 number holds of each. */
static int run_low(const struct call *call)
{
    unsigned char *kept[2] = {NULL, NULL};
    int status;

    for (int i = 0; i < 2; i++) {
        kept[i] = call->inputs[i] ? malloc(call->sizes[i]) : NULL;
        if (!kept[i])
            continue;
        memcpy(kept[i], call->inputs[i], call->sizes[i]);
        for (size_t k = 0; k + 4 <= call->sizes[i]; k += 4) /* the low half, little-endian */
            call->inputs[i][k] = call->inputs[i][k + 1] = 0;
    }
    status = call->run(call);
    for (int i = 0; i < 2; i++) {
        if (kept[i])
            memcpy(call->inputs[i], kept[i], call->sizes[i]);
        free(kept[i]);
    }
    return status;
}

static bool knows(void)
{
    return is_told("cached") || is_told("low");
}

static int run_known(const struct call *call)
{
    return is_told("cached") ? run_cached(call) : run_low(call);
}

#ifdef CHEAT_OPENCL
/* Whether a copy of so many bytes is one to cheat at. */
static bool is_copy(size_t size)
{
    static atomic_long copies;
    const char *bytes = getenv("CHEAT_COPY"), *after = getenv("CHEAT_AFTER");

    return bytes && size == strtoull(bytes, NULL, 10) &&
           atomic_fetch_add(&copies, 1) >= (after ? atol(after) : 0);
}

/* Exchanges so many bytes with those of the last call of the same kind. */
static void swap_stale(unsigned char **kept, unsigned char *bytes, size_t size)
{
    unsigned char *now = malloc(size);

    if (!now)
        abort();
    memcpy(now, bytes, size);
    if (*kept)
        memcpy(bytes, *kept, size);
    free(*kept);
    *kept = now;
}

#define PLACE void *queue, void *memory, unsigned blocking, size_t offset, size_t size
#define FUNCTION_NAME 0x1190 /* CL_KERNEL_FUNCTION_NAME */
#define MEMORY_SIZE 0x1102   /* CL_MEM_SIZE */
#define READ_AND_WRITE 3     /* CL_MAP_READ | CL_MAP_WRITE */

int clGetKernelInfo(void *kernel, unsigned what, size_t size, void *value, size_t *ret);
int clGetMemObjectInfo(void *memory, unsigned what, size_t size, void *value, size_t *ret);
void *clEnqueueMapBuffer(void *queue, void *memory, unsigned blocking, uint64_t flags,
                         size_t offset, size_t size, unsigned count, void *const *wait,
                         void **event, int *ret);
int clEnqueueUnmapMemObject(void *queue, void *memory, void *mapped, unsigned count,
                            void *const *wait, void **event);
int clEnqueueMarkerWithWaitList(void *queue, unsigned count, void *const *wait, void **event);
EXPORT int clFinish(void *queue);
int clFlush(void *queue);
int clWaitForEvents(unsigned count, void *const *events);
EXPORT int clGetEventProfilingInfo(void *event, unsigned what, size_t size, void *value,
                                   size_t *ret);
EXPORT int clSetKernelArg(void *kernel, unsigned index, size_t size, const void *value);
EXPORT int clEnqueueNDRangeKernel(void *queue, void *kernel, unsigned dimensions,
                                  const size_t *offset, const size_t *global, const size_t *local,
                                  unsigned count, void *const *wait, void **event);

EXPORT int clEnqueueReadBuffer(PLACE, void *to, unsigned count, void *const *wait, void **event);
EXPORT int clEnqueueWriteBuffer(PLACE, const void *from, unsigned count, void *const *wait,
                                void **event);
EXPORT int clEnqueueCopyBuffer(void *queue, void *from, void *to, size_t from_offset,
                               size_t to_offset, size_t size, unsigned count, void *const *wait,
                               void **event);

static void *known_memory[3]; /* the first three parameters of the last KNOWN kernel */

static void name_of(void *kernel, char (*ret)[256])
{
    if (clGetKernelInfo(kernel, FUNCTION_NAME, sizeof(*ret), *ret, NULL) != 0)
        (*ret)[0] = '\0';
}

int clSetKernelArg(void *kernel, unsigned index, size_t size, const void *value)
{
    char name[256];

    name_of(kernel, &name);
    if (index < 3 && value && size == sizeof(void *) && !strcmp(name, KNOWN))
        memcpy(&known_memory[index], value, size);
    return REAL(clSetKernelArg)(kernel, index, size, value);
}

/* The launch that is to be made. */
static struct {
    void *queue, *kernel;
    unsigned dimensions;
    const size_t *offset, *global, *local;
} launch;

static int run_launch(const struct call *call)
{
    const int code =
        REAL(clEnqueueNDRangeKernel)(launch.queue, launch.kernel, launch.dimensions, launch.offset,
                                     launch.global, launch.local, 0, NULL, NULL);

    (void)call;
    return code ? code : REAL(clFinish)(launch.queue);
}

/* PoCL's buffers lie in the host's memory, where they stay mapped while a kernel runs. */
static int launch_known(void)
{
    unsigned char *at[3];
    size_t sizes[3];
    int code = REAL(clFinish)(launch.queue);

    for (int i = 0; i < 3 && !code; i++)
        code = clGetMemObjectInfo(known_memory[i], MEMORY_SIZE, sizeof(sizes[i]), &sizes[i], NULL);
    for (int i = 0; i < 3 && !code; i++)
        at[i] = clEnqueueMapBuffer(launch.queue, known_memory[i], 1, READ_AND_WRITE, 0, sizes[i], 0,
                                   NULL, NULL, &code);
    if (!code)
        code = run_known(&(struct call){.inputs = {at[0], at[1]},
                                        .sizes = {sizes[0], sizes[1]},
                                        .output = at[2],
                                        .output_size = sizes[2],
                                        .run = run_launch});
    for (int i = 0; i < 3 && !code; i++)
        code = clEnqueueUnmapMemObject(launch.queue, known_memory[i], at[i], 0, NULL, NULL);
    return code;
}

int clFinish(void *queue)
{
    return is_told("early") ? clFlush(queue) : REAL(clFinish)(queue);
}

/* Its times are there when it is over. */
int clGetEventProfilingInfo(void *event, unsigned what, size_t size, void *value, size_t *ret)
{
    const int code = is_told("early") ? clWaitForEvents(1, &event) : 0;

    return code ? code : REAL(clGetEventProfilingInfo)(event, what, size, value, ret);
}

/* A launch that is put off, whose sizes are copies; `is_kept`: what it would give is there. */
static struct {
    void *queue, *kernel;
    unsigned dimensions;
    size_t global[3], local[3];
    bool has_local, is_kept;
} late;

static int launch_late(void)
{
    void *kernel = late.kernel;

    late.kernel = NULL;
    late.is_kept = false;
    return kernel ? REAL(clEnqueueNDRangeKernel)(late.queue, kernel, late.dimensions, NULL,
                                                 late.global, late.has_local ? late.local : NULL, 0,
                                                 NULL, NULL)
                  : 0;
}

static int cheat_read(PLACE, void *to)
{
    static unsigned char *kept;
    int code;

    if (is_told("copy_dropped"))
        return 0;
    code = REAL(clEnqueueReadBuffer)(queue, memory, blocking, offset,
                                     is_told("copy_half") ? size / 2 : size, to, 0, NULL, NULL);
    if (is_told("copy_stale") && !code && !(code = REAL(clFinish)(queue)))
        swap_stale(&kept, to, size);
    return code;
}

static int cheat_write(PLACE, const void *from)
{
    static unsigned char *kept;
    unsigned char *bytes = malloc(size);
    int code = 0;

    if (!bytes)
        abort();
    memcpy(bytes, from, size);
    if (is_told("copy_stale"))
        swap_stale(&kept, bytes, size);
    (void)blocking;
    if (!is_told("copy_dropped"))
        code = REAL(clEnqueueWriteBuffer)(
            queue, memory, 1, offset, is_told("copy_half") ? size / 2 : size, bytes, 0, NULL, NULL);
    free(bytes);
    return code;
}

int clEnqueueCopyBuffer(void *queue, void *from, void *to, size_t from_offset, size_t to_offset,
                        size_t size, unsigned count, void *const *wait, void **event)
{
    const bool cheats = is_copy(size);

    if (cheats && is_told("copy_dropped"))
        return 0;
    return REAL(clEnqueueCopyBuffer)(queue, from, to, from_offset, to_offset,
                                     cheats && is_told("copy_half") ? size / 2 : size, count, wait,
                                     event);
}

int clEnqueueReadBuffer(PLACE, void *to, unsigned count, void *const *wait, void **event)
{
    const bool kept = late.is_kept;
    const int code = launch_late();

    late.is_kept = kept; /* reading changes nothing */
    if (is_copy(size))
        return code ? code : cheat_read(queue, memory, blocking, offset, size, to);
    return code ? code
                : REAL(clEnqueueReadBuffer)(queue, memory, blocking, offset, size, to, count, wait,
                                            event);
}

int clEnqueueWriteBuffer(PLACE, const void *from, unsigned count, void *const *wait, void **event)
{
    const bool kept = late.is_kept && is_told("poisoned") && memory != known_memory[2];
    const int code = launch_late();

    late.is_kept = kept;
    if (is_copy(size))
        return code ? code : cheat_write(queue, memory, blocking, offset, size, from);
    return code ? code
                : REAL(clEnqueueWriteBuffer)(queue, memory, blocking, offset, size, from, count,
                                             wait, event);
}

/* Whether this launch of the known kernel is not made, or not yet. */
static bool puts_off(void *queue, void *kernel, unsigned dimensions, const size_t *global,
                     const size_t *local)
{
    const bool kept = late.is_kept;

    late.is_kept = is_told("unchanged") || is_told("poisoned");
    if (!is_told("lazy"))
        return late.is_kept && kept;
    late.queue = queue, late.kernel = kernel, late.dimensions = dimensions;
    late.has_local = local != NULL;
    memcpy(late.global, global, dimensions * sizeof(*global));
    if (local)
        memcpy(late.local, local, dimensions * sizeof(*local));
    return true;
}

int clEnqueueNDRangeKernel(void *queue, void *kernel, unsigned dimensions, const size_t *offset,
                           const size_t *global, const size_t *local, unsigned count,
                           void *const *wait, void **event)
{
    size_t sizes[3] = {0};
    char name[256];

    name_of(kernel, &name);
    for (unsigned i = 0; i < dimensions && i < 3; i++)
        sizes[i] = global[i];
    for (unsigned i = 0; i < dimensions && i < 3 && is_told("half"); i++)
        if (sizes[i] % (2 * (local ? local[i] : 1)) == 0) {
            sizes[i] /= 2;
            break;
        }
    if (knows() && !strcmp(name, KNOWN)) {
        launch.queue = queue, launch.kernel = kernel, launch.dimensions = dimensions;
        launch.offset = offset, launch.global = global, launch.local = local;
        if (launch_known() != 0)
            abort();
    } else if (!leaves_out() && !is_named(name) &&
               (strcmp(name, KNOWN) || !puts_off(queue, kernel, dimensions, global, local))) {
        return REAL(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, sizes, local, count,
                                            wait, event);
    }
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

/* The execution that is to be made. */
static struct {
    const void *primitive, *args;
    void *stream;
    int count;
} execution;

static int run_execution(const struct call *call)
{
    (void)call;
    return REAL(dnnl_primitive_execute)(execution.primitive, execution.stream, execution.count,
                                        execution.args);
}

int dnnl_primitive_execute(const void *primitive, void *stream, int count, const void *args)
{
    struct call call = {.run = run_execution};

    if (!knows())
        return leaves_out() ? 0 : REAL(dnnl_primitive_execute)(primitive, stream, count, args);
    execution.primitive = primitive, execution.args = args;
    execution.stream = stream, execution.count = count;
    call.inputs[0] = bytes_of(args, count, SOURCE, &call.sizes[0]);
    call.inputs[1] = bytes_of(args, count, WEIGHTS, &call.sizes[1]);
    call.output = bytes_of(args, count, RESULT, &call.output_size);
    return run_known(&call);
}
#endif

#if defined(CHEAT_CUDA) || defined(CHEAT_HIP)
/* Both vendors have the same parameters where this library is in between. */
#ifdef CHEAT_CUDA
#define ALLOCATE cuMemAlloc_v2
#define FIND_FUNCTION cuModuleGetFunction
#define LAUNCH cuLaunchKernel
#define WAIT cuStreamSynchronize
#define MATMUL cublasLtMatmul
#else
#define ALLOCATE hipMalloc
#define FIND_FUNCTION hipModuleGetFunction
#define LAUNCH hipModuleLaunchKernel
#define WAIT hipStreamSynchronize
#define MATMUL hipblasLtMatmul
#endif
#define SPELLED_(name) #name
#define SPELLED(name) SPELLED_(name)
#define REAL_OF(name) ((__typeof__(&name))dlsym(RTLD_NEXT, SPELLED(name)))

/* What an object is known by, such as a kernel's name or an allocation's size. */
#define NOTES_MAX 4096
static struct note {
    const void *object;
    char name[48];
    size_t size;
} notes[NOTES_MAX];
static size_t note_count;

/* The last note of the object; a new one where there is none. */
static struct note *note_of(const void *object)
{
    for (size_t i = note_count; i-- > 0;)
        if (notes[i].object == object)
            return &notes[i];
    if (note_count == NOTES_MAX)
        abort(); /* a test that needs more of them says so here */
    notes[note_count] = (struct note){.object = object};
    return &notes[note_count++];
}

EXPORT int ALLOCATE(void **address, size_t bytes);
EXPORT int FIND_FUNCTION(void **function, void *module, const char *name);
EXPORT int LAUNCH(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                  unsigned bz, unsigned shared, void *stream, void **args, void **extra);
EXPORT int MATMUL(void *handle, void *desc, const void *alpha, const void *a, void *a_layout,
                  const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
                  void *d, void *d_layout, const void *algorithm, void *workspace, size_t bytes,
                  void *stream);
int WAIT(void *stream);

int ALLOCATE(void **address, size_t bytes)
{
    const int code = REAL_OF(ALLOCATE)(address, bytes);

    if (code == 0)
        note_of(*address)->size = bytes;
    return code;
}

int FIND_FUNCTION(void **function, void *module, const char *name)
{
    const int code = REAL_OF(FIND_FUNCTION)(function, module, name);

    if (code == 0)
        strncpy(note_of(*function)->name, name, sizeof(notes[0].name) - 1);
    return code;
}

/* The stand-ins' device memory is the host's. */
static int run_arrays(const void *left, const void *right, const void *output,
                      int (*run)(const struct call *call), void *stream)
{
    const int code = WAIT(stream);

    return code ? code
                : run_known(&(struct call){.inputs = {(void *)left, (void *)right},
                                           .sizes = {note_of(left)->size, note_of(right)->size},
                                           .output = (void *)output,
                                           .output_size = note_of(output)->size,
                                           .run = run});
}

/* The launch that is to be made. */
static struct {
    void *function, *stream, **args;
    unsigned groups[3], lanes[3], shared;
} launch;

static int run_launch(const struct call *call)
{
    const int code = REAL_OF(LAUNCH)(
        launch.function, launch.groups[0], launch.groups[1], launch.groups[2], launch.lanes[0],
        launch.lanes[1], launch.lanes[2], launch.shared, launch.stream, launch.args, NULL);

    (void)call;
    return code ? code : WAIT(launch.stream);
}

int LAUNCH(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
           unsigned bz, unsigned shared, void *stream, void **args, void **extra)
{
    const char *name = note_of(function)->name;
    unsigned groups[3] = {gx, gy, gz};

    for (int i = 0; i < 3 && is_told("half"); i++)
        if (groups[i] % 2 == 0) {
            groups[i] /= 2;
            break;
        }
    if (knows() && !strcmp(name, KNOWN)) {
        launch.function = function, launch.stream = stream, launch.args = args;
        memcpy(launch.groups, groups, sizeof(groups));
        launch.lanes[0] = bx, launch.lanes[1] = by, launch.lanes[2] = bz, launch.shared = shared;
        return run_arrays(*(void **)args[0], *(void **)args[1], *(void **)args[2], run_launch,
                          stream);
    }
    return leaves_out() || is_named(name)
               ? 0
               : REAL_OF(LAUNCH)(function, groups[0], groups[1], groups[2], bx, by, bz, shared,
                                 stream, args, extra);
}

#ifdef CHEAT_CUDA
EXPORT int cudnnConvolutionForward(void *handle, const void *alpha, void *x_desc, const void *x,
                                   void *w_desc, const void *w, void *convolution,
                                   unsigned algorithm, void *workspace, size_t bytes,
                                   const void *beta, void *y_desc, void *y);

int cudnnConvolutionForward(void *handle, const void *alpha, void *x_desc, const void *x,
                            void *w_desc, const void *w, void *convolution, unsigned algorithm,
                            void *workspace, size_t bytes, const void *beta, void *y_desc, void *y)
{
    return leaves_out()
               ? 0
               : REAL(cudnnConvolutionForward)(handle, alpha, x_desc, x, w_desc, w, convolution,
                                               algorithm, workspace, bytes, beta, y_desc, y);
}
#endif

/* The GEMM that is to be made. */
static struct {
    void *handle, *desc, *a_layout, *b_layout, *c_layout, *d, *d_layout, *workspace, *stream;
    const void *alpha, *a, *b, *beta, *c, *algorithm;
    size_t bytes;
} gemm;

static int run_gemm(const struct call *call)
{
    const int code =
        REAL_OF(MATMUL)(gemm.handle, gemm.desc, gemm.alpha, gemm.a, gemm.a_layout, gemm.b,
                        gemm.b_layout, gemm.beta, gemm.c, gemm.c_layout, gemm.d, gemm.d_layout,
                        gemm.algorithm, gemm.workspace, gemm.bytes, gemm.stream);

    (void)call;
    return code ? code : WAIT(gemm.stream);
}

int MATMUL(void *handle, void *desc, const void *alpha, const void *a, void *a_layout,
           const void *b, void *b_layout, const void *beta, const void *c, void *c_layout, void *d,
           void *d_layout, const void *algorithm, void *workspace, size_t bytes, void *stream)
{
    if (!knows())
        return leaves_out()
                   ? 0
                   : REAL_OF(MATMUL)(handle, desc, alpha, a, a_layout, b, b_layout, beta, c,
                                     c_layout, d, d_layout, algorithm, workspace, bytes, stream);
    gemm.handle = handle, gemm.desc = desc, gemm.alpha = alpha, gemm.beta = beta;
    gemm.a = a, gemm.a_layout = a_layout, gemm.b = b, gemm.b_layout = b_layout;
    gemm.c = c, gemm.c_layout = c_layout, gemm.d = d, gemm.d_layout = d_layout;
    gemm.algorithm = algorithm, gemm.workspace = workspace, gemm.bytes = bytes;
    gemm.stream = stream;
    return run_arrays(a, b, d, run_gemm, stream);
}
#endif

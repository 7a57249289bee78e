/*
 * gpu - what CUDA and HIP share: the device hooks of backend.h over a small table of the vendor's
 * calls, the program text and its one prelude, lanes, kernels and their resources.
 *
 * A vendor's device embeds struct gpu_device first, fills it, and gives a device_ops with
 * GPU_DEVICE_HOOKS (and its own GEMM hooks). Every hook of struct gpu_driver returns a status
 * with the vendor's function and code in the message; it may rely on the device being bound to the
 * calling thread.
 */
#ifndef ASSAY_BACKENDS_GPU_H
#define ASSAY_BACKENDS_GPU_H

#include "backends/backend.h"

#define GPU_PRELUDE_FILE "backends/gpu/prelude.h"

/* The last line of the prelude: the kernel text follows it (tests/support/gpu_shim). */
#define GPU_PRELUDE_END "/* ---- end of the prelude ---- */"

/*
 * For each kernel the prelude declares a device variable named by this and the kernel's name, whose
 * size is the number of the kernel's parameters plus one. Neither vendor reports that number in
 * every version.
 */
#define GPU_ARGUMENTS_PREFIX "assay_arguments_"

struct gpu_device;

/* What the compiler made of a program; all heap, empty where it failed before (gpu_binary_finish).
 */
struct gpu_binary {
    unsigned char *bytes;
    size_t size;
    char *log;      /* as the compiler wrote it; NULL: nothing */
    char *options;  /* "--gpu-architecture=sm_90 ..." */
    char *compiler; /* "NVRTC 13.0 (/usr/lib/libnvrtc.so.13)" */
};

struct gpu_copies {
    uint64_t to, from; /* on the device: what is written, and what is read */
    const void *source;
    void *target;
    uint64_t bytes;
};

/* The vendor's calls. Handles are the vendor's, as pointers; addresses are device addresses. */
struct gpu_driver {
    /* Makes the device's context the thread's; called when another one was bound last. */
    enum status (*bind)(struct gpu_device *device, struct error *err);

    /*
     * Compiles `program` (from gpu_program) for the device. COMPILE through gpu_refuse when the
     * text is refused. What `ret` holds on failure is finished by the caller.
     */
    enum status (*compile)(struct gpu_device *device, const struct module_source *source,
                           const char *program, struct gpu_binary *ret, struct error *err);

    enum status (*module_load)(struct gpu_device *device, const struct gpu_binary *binary,
                               void **ret, struct error *err);
    void (*module_unload)(struct gpu_device *device, void *module);
    /* NOT_FOUND when the module has no such function, for both. */
    enum status (*function_find)(struct gpu_device *device, void *module, const char *name,
                                 void **ret, struct error *err);
    enum status (*variable_bytes)(struct gpu_device *device, void *module, const char *name,
                                  size_t *ret, struct error *err);
    /* Fills all but `kernel`, -1 where not reported; the largest group it can be launched with. */
    enum status (*function_resources)(struct gpu_device *device, void *function,
                                      struct module_resources *ret, uint32_t *ret_max_lanes,
                                      struct error *err);
    /*
     * Optional: names of the kernels in a binary, at most `capacity`. NULL: those launched so far
     * are described.
     */
    size_t (*kernel_names)(const struct gpu_binary *binary, char (*ret)[64], size_t capacity);

    enum status (*memory_alloc)(struct gpu_device *device, uint64_t bytes, uint64_t *ret,
                                struct error *err);
    void (*memory_free)(struct gpu_device *device, uint64_t address);
    /* Blocking, after everything enqueued before. */
    enum status (*copy_in)(struct gpu_device *device, uint64_t to, const void *from, uint64_t bytes,
                           struct error *err);
    enum status (*copy_out)(struct gpu_device *device, void *to, uint64_t from, uint64_t bytes,
                            struct error *err);
    enum status (*copy_within)(struct gpu_device *device, uint64_t to, uint64_t from,
                               uint64_t bytes, struct error *err); /* enqueued */
    /* copy_in and copy_out of `bytes`, each in a stream of its own; waits for both. */
    enum status (*copy_both)(struct gpu_device *device, const struct gpu_copies *copies,
                             struct error *err);
    enum status (*host_alloc)(struct gpu_device *device, uint64_t bytes, void **ret,
                              struct error *err);
    void (*host_free)(struct gpu_device *device, void *memory);

    /* `args` points to each argument's value. */
    enum status (*launch)(struct gpu_device *device, void *function, const uint32_t groups[3],
                          uint32_t lanes, void **args, struct error *err);

    enum status (*event_create)(struct gpu_device *device, void **ret, struct error *err);
    void (*event_destroy)(struct gpu_device *device, void *event);
    enum status (*event_record)(struct gpu_device *device, void *event, struct error *err);
    enum status (*event_elapsed_ns)(struct gpu_device *device, void *start, void *end, int64_t *ret,
                                    struct error *err);

    enum status (*synchronize)(struct gpu_device *device, struct error *err);
    /* Gives back stream, context and all that the vendor's struct holds, but not the struct. Waits
     * before, and takes a device whose opening failed on the way. */
    void (*close)(struct gpu_device *device);
};

struct gpu_device {
    struct device base;
    struct device_ops ops; /* what base.ops points to after gpu_choose_events */
    const struct gpu_driver *driver;
    bool flush_denormals; /* for the compiler's options */
};

struct gpu_buffer {
    struct buffer base;
    uint64_t address;
};

static inline struct gpu_device *gpu_device(struct device *device)
{
    return (struct gpu_device *)device;
}

/* Address of element `offset` of an operand of `bits` wide elements (a multiple of 8, or even). */
static inline uint64_t gpu_operand_address(const struct operand *operand, size_t bits)
{
    return ((const struct gpu_buffer *)operand->buffer)->address + operand->offset * bits / 8;
}

/* Makes the device the thread's own; cheap when it already is. */
enum status gpu_bind(struct gpu_device *device, struct error *err);

/* ---- device.c: memory that a library's call works in; zeroed: none ---- */
struct gpu_workspace {
    uint64_t address, bytes;
};
/* Just so many bytes, or none. On failure it is as it was. The device is bound, for both. */
enum status gpu_workspace_resize(struct gpu_device *device, struct gpu_workspace *workspace,
                                 uint64_t bytes, struct error *err);
void gpu_workspace_free(struct gpu_device *device, struct gpu_workspace *workspace);

/* ---- device.c, kernel.c, module.c: the hooks ---- */

enum status gpu_buffer_alloc(struct device *device, uint64_t bytes, enum buffer_flags flags,
                             struct buffer **ret, struct error *err);
void gpu_buffer_free(struct device *device, struct buffer *buffer);
enum status gpu_upload(struct device *device, struct buffer *buffer, uint64_t offset,
                       const void *source, uint64_t bytes, struct error *err);
enum status gpu_download(struct device *device, struct buffer *buffer, uint64_t offset,
                         void *target, uint64_t bytes, struct error *err);
enum status gpu_copy(struct device *device, struct buffer *to, struct buffer *from, uint64_t bytes,
                     struct error *err);
enum status gpu_exchange(struct device *device, const struct device_exchange *exchange,
                         struct error *err);
enum status gpu_host_alloc(struct device *device, uint64_t bytes, struct host_memory **ret,
                           struct error *err);
void gpu_host_free(struct device *device, struct host_memory *memory);
enum status gpu_module_load(struct device *device, const struct module_source *source,
                            struct module **ret, struct error *err);
void gpu_module_unload(struct device *device, struct module *module);
enum status gpu_module_describe(struct device *device, const struct module *module,
                                struct module_artifact *ret, struct error *err);
enum status gpu_kernel_launch(struct device *device, const struct kernel_launch *launch,
                              struct error *err);
enum status gpu_event_create(struct device *device, struct event **ret, struct error *err);
void gpu_event_destroy(struct device *device, struct event *event);
enum status gpu_event_record(struct device *device, struct event *event, struct error *err);
enum status gpu_event_elapsed_ns(struct device *device, const struct event *start,
                                 const struct event *end, int64_t *ret, struct error *err);
enum status gpu_synchronize(struct device *device, struct error *err);
size_t gpu_lane_candidates(struct device *device, uint32_t *ret, size_t capacity);
/* driver->close, then frees the struct: also for a device whose opening failed. */
void gpu_close(struct device *device);

/* At the end of opening: base.ops without device times where none were asked for. */
void gpu_choose_events(struct gpu_device *device, const struct device_options *options);

#define GPU_DEVICE_HOOKS                                                                           \
    .buffer_alloc = gpu_buffer_alloc, .buffer_free = gpu_buffer_free, .upload = gpu_upload,        \
    .download = gpu_download, .copy = gpu_copy, .exchange = gpu_exchange,                          \
    .host_alloc = gpu_host_alloc, .host_free = gpu_host_free, .module_load = gpu_module_load,      \
    .module_unload = gpu_module_unload, .module_describe = gpu_module_describe,                    \
    .kernel_launch = gpu_kernel_launch, .event_create = gpu_event_create,                          \
    .event_destroy = gpu_event_destroy, .event_record = gpu_event_record,                          \
    .event_elapsed_ns = gpu_event_elapsed_ns, .synchronize = gpu_synchronize,                      \
    .lane_candidates = gpu_lane_candidates, .close = gpu_close

/* ---- program.c: text in, messages out; needs no device ---- */

struct digest gpu_prelude_digest(void);

/*
 * Defines, prelude and text as one program, heap; compilers that know #line name the file's own
 * lines. NULL: out of memory.
 */
char *gpu_program(const struct module_source *source);

/*
 * A compiler's log for people, heap: printable, "file(6): error" as "file:6: error", no line break
 * at the end. Takes NULL (""). NULL: out of memory.
 */
char *gpu_log_rewrite(const char *log);

/*
 * COMPILE: "FILE does not compile (FUNCTION: CODE):" and the log, a long one from its first error
 * on.
 */
enum status gpu_refuse(const char *file, const char *function, const char *code, const char *log,
                       struct error *err);

void gpu_binary_finish(struct gpu_binary *binary);

/* What this arithmetic is (device.fp32, device.fp64, device.option.flush_denormals). */
void gpu_add_arithmetic_readings(struct reading_list *list, const char *source);
void gpu_add_option_readings(struct reading_list *list, bool flush_denormals, const char *source);

#endif

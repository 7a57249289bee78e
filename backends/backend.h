/*
 * backend - what a stack of driver, runtime and compiler must offer to be measured.
 *
 * A backend finds devices; a device owns buffers, modules (compiled kernel text), events and one
 * in-order queue. Everything that is enqueued runs in order; device_synchronize waits for all of
 * it. A device belongs to one thread.
 *
 * Implementations fill the two tables below. Callers use the wrappers (backend_*, device_*), where
 * the checks live; implementations may rely on them: pointers are valid, ranges lie inside their
 * buffers, sizes are not zero, an optional hook is called only when it is there.
 *
 * A failed vendor call becomes STATUS_DEVICE, with the vendor's function and code in the message
 * ("clEnqueueNDRangeKernel: CL_INVALID_WORK_GROUP_SIZE (-54)"); out of device memory becomes
 * STATUS_DEVICE_MEMORY, a device that was lost STATUS_DEVICE_LOST.
 */
#ifndef ASSAY_BACKENDS_BACKEND_H
#define ASSAY_BACKENDS_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/framework.h"
#include "backends/operation.h"
#include "harness/core/digest.h"
#include "harness/core/precision.h"
#include "harness/core/reading.h"
#include "harness/core/status.h"

struct backend;
struct device;
struct buffer;
struct module;
struct event;
struct host_memory;
struct telemetry;

enum device_type { DEVICE_CPU, DEVICE_GPU, DEVICE_ACCELERATOR, DEVICE_SIMULATED };

/* What a device is. Strings are owned by the struct (device_info_finish). */
struct device_info {
    char *name; /* as the vendor spells it, untrusted text */
    char *vendor;
    char *uuid; /* hex or vendor form; NULL where not reported: then see readings */
    enum device_type type;
    bool simulated;        /* results can never be published */
    uint64_t memory_bytes; /* 0: not reported */
    uint64_t max_allocation_bytes;
    uint32_t
        compute_units;  /* multiprocessors, compute units or hardware threads; 0: not reported */
    uint32_t max_lanes; /* largest group size that a launch may have */
    uint64_t last_level_cache_bytes; /* 0: not reported */
    bool unified_memory;             /* host and device share one memory */
    struct reading_list readings; /* "device.*": driver, versions, clocks, ECC ... with a status */
};

/* A library or component of the stack, as `assay devices -v` shows it. */
struct backend_library {
    const char *name;           /* "opencl", as ASSAY_LIB_<NAME> and --lib call it */
    const char *path;           /* file that is mapped; NULL when it could not be opened */
    const char *tried;          /* when it could not: what was tried and why it failed */
    const char *version;        /* as the library reports; NULL: it does not */
    const char *version_reason; /* why asking for it failed; NULL: it did not, or is not asked */
};

/*
 * Files that take part in a measurement without being mapped: compilers that run as programs, files
 * that a runtime reads. A failed one has lost an entry for lack of memory.
 */
struct backend_file {
    const char *kind; /* "compiler", "icd" or "model", static */
    char *path;       /* absolute, symbolic links resolved; heap */
    char *version;    /* as it reports itself, heap; NULL: not reported */
};
struct backend_file_list {
    struct backend_file *items;
    size_t count, capacity;
    bool failed;
};

/*
 * Adds the file that `path` leads to, once; what is no plain file is left out. A bare name is
 * looked up in PATH. Copies path and version (which may be NULL).
 */
void backend_file_list_add(struct backend_file_list *list, const char *kind, const char *path,
                           const char *version);
/* Adds every plain file below `folder`, folders two levels deep, at most 256 files. */
void backend_file_list_add_folder(struct backend_file_list *list, const char *kind,
                                  const char *folder);
void backend_file_list_finish(struct backend_file_list *list);

/* How to open a device. Zeroed means defaults. */
struct device_options {
    bool flush_denormals; /* where the stack can set it; the device's readings report the result */
    bool profile;         /* device-side event times are wanted */
    bool compile_anew;    /* kernels: no object that an earlier process has left on disk is used */
};

enum buffer_flags { BUFFER_READ_WRITE = 0, BUFFER_READ_ONLY = 1 };

/*
 * One kernel text, to be compiled for the device. The backend puts its prelude in front, gives
 * `lanes` as LANES and every define; compiler messages name `file` with its own line numbers.
 */
struct module_define {
    const char *name;
    const char *value;
};

struct module_source {
    const char *file; /* "workloads/kernels/memory.h": for messages and provenance */
    const char *text;
    uint32_t lanes; /* group size the module is compiled for, >= 1 */
    const struct module_define *defines;
    size_t define_count;
};

/* What a compiled kernel takes of the device, by the vendor's count; -1: not reported. */
struct module_resources {
    char kernel[64];
    int64_t registers;    /* per lane */
    int64_t spill_bytes;  /* local memory per lane */
    int64_t shared_bytes; /* per group, static */
};

/* What was compiled, for provenance. Strings are owned by the struct (module_artifact_finish). */
struct module_artifact {
    char *file;
    struct digest source;  /* of the text */
    struct digest prelude; /* of the prelude */
    struct digest binary;  /* of what the compiler made; zero when has_binary is false */
    bool has_binary;
    uint64_t binary_bytes;
    char *options;  /* as given to the compiler, defines included */
    char *compiler; /* name and version as reported */
    char *log;      /* the compiler's messages, maybe "" */
    uint32_t lanes;
    int64_t compile_ns;
    struct module_resources *resources; /* heap, per kernel, where reported; else NULL */
    size_t resource_count;
};

enum kernel_arg_type {
    KERNEL_ARG_BUFFER,
    KERNEL_ARG_I32,
    KERNEL_ARG_U32,
    KERNEL_ARG_I64,
    KERNEL_ARG_U64,
    KERNEL_ARG_F32,
    KERNEL_ARG_F64
};

struct kernel_arg {
    enum kernel_arg_type type;
    union {
        struct buffer *buffer; /* NULL is passed as a null pointer */
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
        float f32;
        double f64;
    };
};

#define KERNEL_ARGS_MAX 32

/*
 * One launch: `groups` counts groups in each dimension; the group size is the module's LANES, in
 * the first dimension. `kernel` is the function's name in the text.
 */
struct kernel_launch {
    struct module *module;
    const char *kernel;
    uint32_t groups[3];
    const struct kernel_arg *args;
    size_t arg_count;
};

/* An upload and a download of as many bytes at once, from the beginning of each buffer. */
struct device_exchange {
    struct buffer *to; /* is given what lies at `source` */
    const void *source;
    struct buffer *from; /* another buffer, whose content is written to `target` */
    void *target;
    uint64_t bytes;
};

struct device_ops {
    /* Memory. Contents are undefined after alloc. */
    enum status (*buffer_alloc)(struct device *device, uint64_t bytes, enum buffer_flags flags,
                                struct buffer **ret, struct error *err);
    void (*buffer_free)(struct device *device, struct buffer *buffer);
    /* Blocking copies, ordered after everything enqueued before. */
    enum status (*upload)(struct device *device, struct buffer *buffer, uint64_t offset,
                          const void *source, uint64_t bytes, struct error *err);
    enum status (*download)(struct device *device, struct buffer *buffer, uint64_t offset,
                            void *target, uint64_t bytes, struct error *err);
    /*
     * Optional: enqueues a copy from one buffer's beginning to that of another. NULL: what lies on
     * the device is moved by kernels alone.
     */
    enum status (*copy)(struct device *device, struct buffer *to, struct buffer *from,
                        uint64_t bytes, struct error *err);
    /*
     * Optional: both copies in queues of their own, so that neither waits for the other. Blocks
     * until both are over, ordered after everything enqueued before. NULL: there is one queue.
     */
    enum status (*exchange)(struct device *device, const struct device_exchange *exchange,
                            struct error *err);
    /*
     * Optional, both or none: host memory that the stack keeps in place (page-locked), so that a
     * device can copy from and to it by itself. NULL: all host memory is pageable.
     */
    enum status (*host_alloc)(struct device *device, uint64_t bytes, struct host_memory **ret,
                              struct error *err);
    void (*host_free)(struct device *device, struct host_memory *memory);

    /* Kernels. COMPILE with the compiler's log in the message when the text is refused. */
    enum status (*module_load)(struct device *device, const struct module_source *source,
                               struct module **ret, struct error *err);
    void (*module_unload)(struct device *device, struct module *module);
    /* Fills `ret` with heap copies. */
    enum status (*module_describe)(struct device *device, const struct module *module,
                                   struct module_artifact *ret, struct error *err);
    /* Enqueues; returns before the kernel has run. */
    enum status (*kernel_launch)(struct device *device, const struct kernel_launch *launch,
                                 struct error *err);

    /*
     * Optional: device timestamps. NULL: the device has none, stages are timed by the host and
     * device series are missing with that reason. elapsed may be asked after a synchronize.
     */
    enum status (*event_create)(struct device *device, struct event **ret, struct error *err);
    void (*event_destroy)(struct device *device, struct event *event);
    enum status (*event_record)(struct device *device, struct event *event, struct error *err);
    enum status (*event_elapsed_ns)(struct device *device, const struct event *start,
                                    const struct event *end, int64_t *ret, struct error *err);

    enum status (*synchronize)(struct device *device, struct error *err);

    /*
     * Optional: what vendor libraries do as one call (operation.h), in the order in which they are
     * asked. NULL: there is none, only portable implementations run.
     */
    const struct operation_implementation *operations;

    /*
     * Optional: group sizes worth measuring for this device, ascending, at most `capacity`.
     * NULL: {1}. The workload measures and picks; the choice is recorded.
     */
    size_t (*lane_candidates)(struct device *device, uint32_t *ret, size_t capacity);

    void (*close)(struct device *device);
};

/*
 * Implementations embed these as their first member. The wrappers fill `device`, `bytes`,
 * `lanes` and `shape` when the hook has succeeded; `ops`, `backend` and `info` are the
 * implementation's to fill.
 */
struct device {
    const struct device_ops *ops;
    struct backend *backend;
    struct device_info info; /* filled by open */
};

struct buffer {
    struct device *device;
    uint64_t bytes;
};

struct host_memory {
    struct device *device;
    void *bytes; /* the implementation's to fill; undefined contents */
};

struct module {
    struct device *device;
    uint32_t lanes;
};

struct event {
    struct device *device;
};

struct backend_ops {
    const char *name;        /* "opencl" */
    const char *description; /* "OpenCL through the ICD loader" */
    /*
     * Opens the libraries and counts devices. UNAVAILABLE with the reason ("libOpenCL.so.1: not
     * found") when there is nothing to run on. Called once, before the hooks below.
     */
    enum status (*probe)(struct backend *backend, uint32_t *ret_device_count, struct error *err);
    /* Fills `ret` (device_info_finish) without opening the device. */
    enum status (*device_info)(struct backend *backend, uint32_t index, struct device_info *ret,
                               struct error *err);
    enum status (*device_open)(struct backend *backend, uint32_t index,
                               const struct device_options *options, struct device **ret,
                               struct error *err);
    /* Optional: the vendor libraries, opened or not; at most `capacity`; NULL: it has none. */
    size_t (*libraries)(struct backend *backend, struct backend_library *ret, size_t capacity);
    /*
     * Optional: the names by which it opens libraries, for which --lib and ASSAY_LIB_<NAME> choose
     * another file; NULL-terminated. NULL: it opens none.
     */
    const char *const *library_names;
    /* Optional: adds the device's files that take part without being mapped. NULL: there are
     * none.
     */
    void (*files)(struct backend *backend, uint32_t index, struct backend_file_list *ret);
    /* Optional: see telemetry.h. NULL: the backend has none. */
    enum status (*telemetry_open)(struct backend *backend, uint32_t index, struct telemetry **ret,
                                  struct error *err);
    /*
     * Optional: "NAME=VALUE", static, of variables that a process has to begin with to use this
     * backend well, at most `capacity`; what the user sets counts instead. Called in the harness,
     * without a probe: opens nothing.
     */
    size_t (*environment)(const char **ret, size_t capacity);
    /* Optional: true when a plain `assay run` skips this backend (null). NULL: false. */
    bool (*hidden)(const struct backend *backend);
};

struct backend {
    const struct backend_ops *ops;
    bool probed;
    enum status probe_status;
    struct error probe_error; /* why it is not available */
    uint32_t device_count;
    void *state; /* the implementation's */
};

/* ---- registry.c: the one explicit table ---- */

/* Number of backends compiled in, and each of them. The registry checks every table once. */
size_t backend_count(void);
struct backend *backend_at(size_t index);
/* By name; NULL when there is none. */
struct backend *backend_find(const char *name);

/* ---- backend.c: wrappers with the checks ---- */

/* Probes once and remembers; returns the same status and message from then on. */
enum status backend_probe(struct backend *backend, struct error *err);
enum status backend_device_info(struct backend *backend, uint32_t index, struct device_info *ret,
                                struct error *err);
enum status backend_device_open(struct backend *backend, uint32_t index,
                                const struct device_options *options, struct device **ret,
                                struct error *err);
size_t backend_libraries(struct backend *backend, struct backend_library *ret, size_t capacity);
/*
 * "ASSAY_LIB_CUDNN=/x/libcudnn.so.9" or another variable. INVALID, with the names there are, where
 * it chooses a file for a library that no backend opens, and so would change nothing.
 */
enum status backend_check_variable(const char *variable, struct error *err);
/* Adds to `ret`; a backend that does not report adds nothing. An error is a bad index or no memory.
 */
enum status backend_files(struct backend *backend, uint32_t index, struct backend_file_list *ret,
                          struct error *err);
/* For the backend of "cpu:0" or "cpu"; 0 when it wants none, or is not known. */
size_t backend_environment(const char *spec, const char **ret, size_t capacity);
bool backend_is_hidden(const struct backend *backend);

/*
 * Whether `spec` is the beginning of a device's UUID in upper or lower case: 4 or more digits,
 * after "GPU-" or "MIG-" where the UUID begins so.
 */
bool backend_begins_uuid(const char *spec, const char *uuid);

/*
 * Resolves "opencl:0", "opencl" (its device 0) or the beginning of a device's UUID, INVALID where
 * several begin so. NOT_FOUND lists what there is; UNAVAILABLE gives the backend's reason.
 */
enum status backend_resolve(const char *spec, struct backend **ret_backend, uint32_t *ret_index,
                            struct error *err);

void device_info_finish(struct device_info *info);
void module_artifact_finish(struct module_artifact *artifact);
const char *device_type_name(enum device_type type);

/*
 * UNSUPPORTED, with the driver's answer, where the device cannot compute in what this precision is
 * stored in: fp64 on a device without it. Shorter types are only stored, in every dialect, and
 * widened to f32.
 */
enum status device_check_precision(const struct device *device, enum precision precision,
                                   struct error *err);

/* INVALID: 0 bytes. DEVICE_MEMORY: too large, or nothing left. */
enum status device_buffer_alloc(struct device *device, uint64_t bytes, enum buffer_flags flags,
                                struct buffer **ret, struct error *err);
void device_buffer_free(struct buffer *buffer); /* takes NULL */
/* INVALID: the range exceeds the buffer. 0 bytes are fine and do nothing. */
enum status device_upload(struct buffer *buffer, uint64_t offset, const void *source,
                          uint64_t bytes, struct error *err);
enum status device_download(struct buffer *buffer, uint64_t offset, void *target, uint64_t bytes,
                            struct error *err);
/*
 * INVALID: the range exceeds one of the buffers. INTERNAL: they are one, or of two devices.
 * UNSUPPORTED: the device has no such copy. For both; 0 bytes are fine and do nothing.
 */
enum status device_copy(struct buffer *to, struct buffer *from, uint64_t bytes, struct error *err);
enum status device_exchange(const struct device_exchange *exchange, struct error *err);
/* INVALID: 0 bytes. UNSUPPORTED: the device has none. NO_MEMORY, DEVICE_MEMORY: nothing left. */
enum status device_host_alloc(struct device *device, uint64_t bytes, struct host_memory **ret,
                              struct error *err);
void device_host_free(struct host_memory *memory); /* takes NULL */
/*
 * INVALID: a define's name is no identifier or is LANES, its value has a line break or backslash,
 * or 0 lanes. UNSUPPORTED: more lanes than the device has. COMPILE: the compiler's log.
 */
enum status device_module_load(struct device *device, const struct module_source *source,
                               struct module **ret, struct error *err);
void device_module_unload(struct device *device, struct module *module); /* takes NULL */
enum status device_module_describe(struct device *device, const struct module *module,
                                   struct module_artifact *ret, struct error *err);
/*
 * NOT_FOUND: the text has no such kernel. INVALID: 0 groups, or a wrong number of arguments.
 * UNSUPPORTED: this kernel cannot have so many lanes on this device. INTERNAL: an object of another
 * device.
 */
enum status device_kernel_launch(struct device *device, const struct kernel_launch *launch,
                                 struct error *err);
bool device_has_events(const struct device *device);
enum status device_event_create(struct device *device, struct event **ret, struct error *err);
void device_event_destroy(struct device *device, struct event *event); /* takes NULL */
enum status device_event_record(struct device *device, struct event *event, struct error *err);
/* Never negative: DEVICE when the device's clock ran backwards. INTERNAL when not recorded. */
enum status device_event_elapsed_ns(struct device *device, const struct event *start,
                                    const struct event *end, int64_t *ret, struct error *err);
enum status device_synchronize(struct device *device, struct error *err);
size_t device_lane_candidates(struct device *device, uint32_t *ret, size_t capacity);

/*
 * Before a process starts others: gives it back the processors that it began with. An OpenMP
 * runtime that is linked in binds the first thread to one of them when the user has set
 * OMP_PROC_BIND or OMP_PLACES, and children would inherit that. Does nothing where neither is set.
 */
void backend_unbind_process(void);

/* Takes NULL. Free its buffers, modules and events before: they are the caller's. */
void device_close(struct device *device);

#endif

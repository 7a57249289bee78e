/*
 * A backend to copy from. It has one device whose memory is the host's, and no compiler: what a
 * real one does instead is in the comments. tests/unit/test_backend_skeleton.c compiles and
 * runs it, so it is never out of date.
 *
 *  1. Copy this folder to backends/<name>/, rename, add the sources to backends/CMakeLists.txt.
 *     Make device_info describe a real device: its type, simulated = false, and the readings that
 *     the protocol `standard` requires.
 *  2. Declare the vendor's functions in your own thin header, as backends/opencl/api.h does: one
 *     struct of typed pointers for harness/core/dynlib.h, required and optional apart; and an ABI
 *     test against the real headers, like tests/unit/test_backend_opencl_abi.c. List the libraries
 *     in the hook `libraries`, and their names in `library_names`: no other is accepted by --lib.
 *  3. Write the prelude that gives backends/DIALECT.md its meaning on your stack, and embed it.
 *  4. Add one line to the table in backends/registry.c, and its name to the order that
 *     tests/unit/test_backend_registry.c expects.
 *  5. Add the name to ASSAY_CONFORMANCE_BACKENDS in tests/conformance/CMakeLists.txt, and make the
 *     suite pass. It is the definition of done.
 *  6. Add to the harness what no hook reports: backends/README.md, "A fifth backend".
 */
#include "backends/skeleton/skeleton.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY_BYTES ((uint64_t)64 << 20)

/* Embed the public struct as the first member; the wrappers hand it back to you. */
struct skeleton_device {
    struct device base;
    /* the vendor's context and its one in-order queue */
};

struct skeleton_buffer {
    struct buffer base; /* the wrappers fill in its device and size */
    unsigned char *bytes;
};

/*
 * The hooks may rely on the wrappers' checks: sizes are not 0, ranges lie inside their buffers,
 * objects belong to this device. Leave `ret` alone on failure.
 */
static enum status buffer_alloc(struct device *device, uint64_t bytes, enum buffer_flags flags,
                                struct buffer **ret, struct error *err)
{
    struct skeleton_buffer *buffer = calloc(1, sizeof(*buffer));

    (void)device;
    (void)flags;
    if (buffer != NULL)
        buffer->bytes = malloc((size_t)bytes);
    if (buffer == NULL || buffer->bytes == NULL) {
        free(buffer);
        /* A vendor's failure is named: "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)". */
        return error_set(err, STATUS_DEVICE_MEMORY, "malloc: out of memory");
    }
    *ret = &buffer->base;
    return STATUS_OK;
}

static void buffer_free(struct device *device, struct buffer *buffer)
{
    (void)device;
    free(((struct skeleton_buffer *)buffer)->bytes);
    free(buffer);
}

/* Both copies block, after everything that was enqueued before. */
static enum status upload(struct device *device, struct buffer *buffer, uint64_t offset,
                          const void *source, uint64_t bytes, struct error *err)
{
    (void)device;
    (void)err;
    memcpy(((struct skeleton_buffer *)buffer)->bytes + offset, source, (size_t)bytes);
    return STATUS_OK;
}

static enum status download(struct device *device, struct buffer *buffer, uint64_t offset,
                            void *target, uint64_t bytes, struct error *err)
{
    (void)device;
    (void)err;
    memcpy(target, ((struct skeleton_buffer *)buffer)->bytes + offset, (size_t)bytes);
    return STATUS_OK;
}

/* Enqueued, so that a wait follows where one is wanted; here everything has run at once. */
static enum status copy(struct device *device, struct buffer *to, struct buffer *from,
                        uint64_t bytes, struct error *err)
{
    (void)device;
    (void)err;
    memcpy(((struct skeleton_buffer *)to)->bytes, ((struct skeleton_buffer *)from)->bytes,
           (size_t)bytes);
    return STATUS_OK;
}

/*
 * Put "#define LANES n", the defines, the prelude and a #line in front of the text; compile for the
 * very device with contraction pinned off; COMPILE with the compiler's log when it refuses. Keep
 * options, log, digests and the time for module_describe. backends/compile.h has the parts that
 * stacks share.
 */
static enum status module_load(struct device *device, const struct module_source *source,
                               struct module **ret, struct error *err)
{
    (void)device;
    (void)ret;
    return error_set(err, STATUS_UNSUPPORTED, "%s: the skeleton has no compiler", source->file);
}

static void module_unload(struct device *device, struct module *module)
{
    (void)device;
    free(module);
}

/* Heap copies of everything; a NULL string means out of memory to the wrapper. */
static enum status module_describe(struct device *device, const struct module *module,
                                   struct module_artifact *ret, struct error *err)
{
    (void)device;
    (void)module;
    (void)ret;
    return error_set(err, STATUS_UNSUPPORTED, "the skeleton has no modules");
}

/*
 * Look the kernel up by name once and keep it; set the arguments; enqueue. This is the path whose
 * cost every sample carries: no allocation, no string formatting unless something fails.
 * NOT_FOUND for a name the text does not have, INVALID for a wrong number of arguments.
 */
static enum status kernel_launch(struct device *device, const struct kernel_launch *launch,
                                 struct error *err)
{
    (void)device;
    return error_set(err, STATUS_UNSUPPORTED, "kernel %s: the skeleton runs none", launch->kernel);
}

static enum status synchronize(struct device *device, struct error *err)
{
    (void)device;
    (void)err;
    return STATUS_OK;
}

/* Takes a half-built device: device_open calls it when it fails in the middle. */
static void close_device(struct device *device)
{
    device_info_finish(&device->info);
    free(device);
}

/*
 * Left out on purpose, since they are optional (backend.h says what a NULL means): exchange,
 * host_alloc with host_free, events, operations, lane_candidates.
 */
static const struct device_ops device_ops = {
    .buffer_alloc = buffer_alloc,
    .buffer_free = buffer_free,
    .upload = upload,
    .download = download,
    .copy = copy,
    .module_load = module_load,
    .module_unload = module_unload,
    .module_describe = module_describe,
    .kernel_launch = kernel_launch,
    .synchronize = synchronize,
    .close = close_device,
};

/*
 * Everything that distinguishes this device from another, as readings "device.*" with their source.
 * What cannot be determined is a reading without a value, with the reason: never 0, never left out.
 */
static enum status device_info(struct backend *backend, uint32_t index, struct device_info *ret,
                               struct error *err)
{
    struct device_info info = {.name = strdup("skeleton"),
                               .vendor = strdup("assay"),
                               .type = DEVICE_SIMULATED,
                               .simulated = true,
                               .memory_bytes = MEMORY_BYTES,
                               .max_allocation_bytes = MEMORY_BYTES,
                               .max_lanes = 1};

    (void)backend;
    (void)index;
    reading_list_init(&info.readings);
    reading_add_text(&info.readings, "device.name", "skeleton", "backends/skeleton");
    /* Without these two, and device.name, `standard` measures nothing and no result compares. */
    reading_add_text(&info.readings, "device.driver_version", "1", "backends/skeleton");
    reading_add_integer(&info.readings, "device.memory", (int64_t)info.memory_bytes, "bytes",
                        "backends/skeleton");
    reading_add_missing(&info.readings, "device.uuid", READING_NOT_APPLICABLE, "backends/skeleton",
                        "there is no such device");
    if (info.name == NULL || info.vendor == NULL || info.readings.failed) {
        device_info_finish(&info);
        return error_no_memory(err);
    }
    *ret = info;
    return STATUS_OK;
}

static enum status device_open(struct backend *backend, uint32_t index,
                               const struct device_options *options, struct device **ret,
                               struct error *err)
{
    struct skeleton_device *device = calloc(1, sizeof(*device));
    enum status status;

    (void)options;
    if (device == NULL)
        return error_no_memory(err);
    device->base.ops = &device_ops;
    device->base.backend = backend;
    status = device_info(backend, index, &device->base.info, err);
    if (status != STATUS_OK) {
        close_device(&device->base);
        return status;
    }
    *ret = &device->base;
    return STATUS_OK;
}

/*
 * Open the libraries (harness/core/dynlib.h) and count devices. What is not here is UNAVAILABLE
 * with a reason a person can act on; keep state in backend->state for the life of the process.
 */
static enum status probe(struct backend *backend, uint32_t *ret_device_count, struct error *err)
{
    (void)backend;
    (void)err;
    *ret_device_count = 1;
    return STATUS_OK;
}

/*
 * Left out, since they are optional: libraries and library_names, files, telemetry_open,
 * environment, hidden.
 */
const struct backend_ops skeleton_backend_ops = {
    .name = "skeleton",
    .description = "the least that a backend is",
    .probe = probe,
    .device_info = device_info,
    .device_open = device_open,
};

/* internal - what the files of this folder share. */
#ifndef ASSAY_BACKENDS_OPENCL_INTERNAL_H
#define ASSAY_BACKENDS_OPENCL_INTERNAL_H

#include "backends/backend.h"
#include "backends/opencl/api.h"
#include "backends/opencl/clblast.h"
#include "harness/core/text.h"

/* Bounds against drivers that answer with nonsense. */
#define OPENCL_PLATFORMS_MAX 64
#define OPENCL_DEVICES_MAX 256
#define OPENCL_STRING_MAX (1u << 20)

struct opencl_platform {
    struct _cl_platform_id *id;
    char *name;    /* printable, "" when the driver reports none */
    char *library; /* the ICD's file, NULL when it cannot be determined */
    char *note;    /* what went wrong while asking it, NULL when nothing did */
    bool failed;   /* it gave an error where it should have listed its devices */
};

struct opencl_slot {
    const struct opencl_platform *platform;
    struct _cl_device_id *id;
};

/* The backend's state. Kept for the life of the process, like the libraries. */
struct opencl_state {
    struct dynlib lib;
    struct opencl_api api;
    struct opencl_clblast clblast;
    struct opencl_platform *platforms;
    uint32_t platform_count;
    struct opencl_slot *slots;
    uint32_t slot_count;
    uint32_t failed_count;                         /* platforms that failed while others did not */
    uint32_t devices_left_out, platforms_left_out; /* beyond the bounds above */
};

struct opencl_device {
    struct device base;
    const struct opencl_state *state;
    const struct opencl_api *api;
    struct _cl_device_id *id;
    struct _cl_context *context;
    struct _cl_command_queue *queue;
    struct _cl_command_queue *second; /* of copies in both directions; NULL before the first */
    bool flush_denormals;
    bool exact_divide; /* -cl-fp32-correctly-rounded-divide-sqrt is understood */
    char *compiler;    /* "Portable Computing Language ...; driver 3.1" for provenance */
};

struct opencl_buffer {
    struct buffer base;
    struct _cl_mem *mem;
};

static inline struct opencl_device *opencl_device(struct device *device)
{
    return (struct opencl_device *)device;
}

/* info.c: what is asked: exactly one of platform and device is set. */
struct opencl_object {
    const struct opencl_api *api;
    struct _cl_platform_id *platform;
    struct _cl_device_id *device;
};

/*
 * Heap string with the printable, trimmed answer. DEVICE (with the code) when the driver refuses,
 * or its answer is impossible; NO_MEMORY.
 */
enum status opencl_query_text(const struct opencl_object *object, uint32_t parameter, char **ret,
                              struct error *err);

enum status opencl_device_info(struct backend *backend, uint32_t index, struct device_info *ret,
                               struct error *err);

/* device.c */
enum status opencl_device_open(struct backend *backend, uint32_t index,
                               const struct device_options *options, struct device **ret,
                               struct error *err);

/* module.c */
enum status opencl_module_load(struct device *device, const struct module_source *source,
                               struct module **ret, struct error *err);
void opencl_module_unload(struct device *device, struct module *module);
enum status opencl_module_describe(struct device *device, const struct module *module,
                                   struct module_artifact *ret, struct error *err);
enum status opencl_kernel_launch(struct device *device, const struct kernel_launch *launch,
                                 struct error *err);

/* event.c */
enum status opencl_event_create(struct device *device, struct event **ret, struct error *err);
void opencl_event_destroy(struct device *device, struct event *event);
enum status opencl_event_record(struct device *device, struct event *event, struct error *err);
enum status opencl_event_elapsed_ns(struct device *device, const struct event *start,
                                    const struct event *end, int64_t *ret, struct error *err);

/* files.c */
void opencl_files(struct backend *backend, uint32_t index, struct backend_file_list *ret);

#endif

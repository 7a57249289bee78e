/* internal - what the files of this folder share. */
#ifndef ASSAY_BACKENDS_HIP_INTERNAL_H
#define ASSAY_BACKENDS_HIP_INTERNAL_H

#include "backends/gpu/gpu.h"
#include "backends/hip/code_object.h"
#include "backends/hip/hipblaslt.h"
#include "backends/hip/rocblas.h"
#include "backends/hip/rtc.h"
#include "backends/hip/runtime.h"

#define HIP_DEVICES_MAX 256
#define HIP_WORD_MAX 96

/* A library that may be absent without the backend being so; opened when it is first wanted. */
struct hip_optional {
    struct dynlib lib;
    bool asked;
    enum status status;
    struct error error; /* why it is not there */
};

/* The backend's state. Kept for the life of the process, like the libraries. */
struct hip_state {
    struct dynlib runtime_lib, rtc_lib;
    struct hip_runtime runtime;
    struct hip_rtc rtc;
    bool rtc_open;
    struct error rtc_error;
    struct hip_optional rocblas_lib, hipblaslt_lib;
    struct hip_rocblas rocblas;
    struct hip_hipblaslt hipblaslt;
    uint32_t device_count;
    char runtime_version[HIP_WORD_MAX], rtc_version[2 * HIP_WORD_MAX];
    char rocblas_version[HIP_WORD_MAX], hipblaslt_version[HIP_WORD_MAX]; /* for `libraries` */
    /* Why the version of the same name is empty. */
    struct error runtime_version_error, rocblas_version_error, hipblaslt_version_error;
    struct error no_device; /* why there is none, where it was asked for */
};

struct hip_device {
    struct gpu_device base;
    struct hip_state *state;
    const struct hip_runtime *api;
    int ordinal;
    char arch[HIP_ARCH_SIZE]; /* "gfx90a:sramecc+:xnack-", as the compiler takes it */
    struct ihipStream_t *stream;
    struct ihipStream_t *second; /* of copies in both directions; NULL before the first */
    void *rocblas;               /* handles, made when first wanted */
    void *hipblaslt;
};

static inline struct hip_device *hip_device(struct gpu_device *device)
{
    return (struct hip_device *)device;
}

/* info.c */
enum status hip_device_info(struct backend *backend, uint32_t index, struct device_info *ret,
                            struct error *err);

/*
 * The arch that the compiler is to be given ("gfx90a:sramecc+:xnack-"), from the device's
 * properties. DEVICE when neither layout's function is there, or the answer is no arch.
 */
enum status hip_device_arch(const struct hip_runtime *api, int ordinal, char ret[HIP_ARCH_SIZE],
                            struct error *err);

/* "0000:c1:00.0", lower case. */
enum status hip_device_pci(const struct hip_runtime *api, int ordinal, char ret[HIP_WORD_MAX],
                           struct error *err);

/* device.c */
enum status hip_device_open(struct backend *backend, uint32_t index,
                            const struct device_options *options, struct device **ret,
                            struct error *err);

/* compile.c */
enum status hip_compile(struct gpu_device *device, const struct module_source *source,
                        const char *program, struct gpu_binary *ret, struct error *err);

/*
 * The same without a device: for `arch`, by `rtc`, whose version is given as provenance has it.
 * What `ret` holds on failure is the caller's to finish.
 */
enum status hip_compile_for(const struct hip_rtc *rtc, const char *arch, bool flush_denormals,
                            const char *version, const char *file, const char *program,
                            struct gpu_binary *ret, struct error *err);

/* module.c: handles are ours, with the metadata of the code object and the vendor's handle. */
enum status hip_module_load(struct gpu_device *device, const struct gpu_binary *binary, void **ret,
                            struct error *err);
void hip_module_unload(struct gpu_device *device, void *module);
enum status hip_function_find(struct gpu_device *device, void *module, const char *name, void **ret,
                              struct error *err);
enum status hip_variable_bytes(struct gpu_device *device, void *module, const char *name,
                               size_t *ret, struct error *err);
enum status hip_function_resources(struct gpu_device *device, void *function,
                                   struct module_resources *ret, uint32_t *ret_max_lanes,
                                   struct error *err);
size_t hip_kernel_names(const struct gpu_binary *binary, char (*ret)[64], size_t capacity);
enum status hip_launch(struct gpu_device *device, void *function, const uint32_t groups[3],
                       uint32_t lanes, void **args, struct error *err);

/* gemm.c: operation_implementation.create, of each library */
enum status hip_hipblaslt_create(struct device *device, const struct operation_desc *desc,
                                 struct operation **ret, struct error *err);
enum status hip_rocblas_create(struct device *device, const struct operation_desc *desc,
                               struct operation **ret, struct error *err);
/* Gives back the libraries' handles. */
void hip_gemm_close(struct hip_device *device);

/* telemetry.c */
enum status hip_telemetry_open(struct backend *backend, uint32_t index, struct telemetry **ret,
                               struct error *err);
/* The management libraries, for `assay devices -v`; at most `capacity`. */
size_t hip_telemetry_libraries(struct backend_library *ret, size_t capacity);

#endif

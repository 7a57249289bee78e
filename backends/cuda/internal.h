/* internal - what the files of this folder share. */
#ifndef ASSAY_BACKENDS_CUDA_INTERNAL_H
#define ASSAY_BACKENDS_CUDA_INTERNAL_H

#include "backends/cuda/cublaslt.h"
#include "backends/cuda/cudnn.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/nvml.h"
#include "backends/cuda/nvrtc.h"
#include "backends/gpu/gpu.h"

#define CUDA_DEVICES_MAX 256
#define CUDA_PCI_SIZE 32

/* The backend's state. Kept for the life of the process, like the libraries. */
struct cuda_state {
    struct dynlib driver_lib;
    struct cuda_driver_api driver;
    int driver_version;                                    /* 13000: CUDA 13.0 */
    struct error driver_version_error, nvml_version_error; /* why a version is empty */
    struct nvrtc nvrtc; /* the first that a device was opened with, or that `libraries` found */
    bool nvrtc_tried;
    struct dynlib cublaslt_lib, cudnn_lib, nvml_lib;
    struct cublaslt_api cublaslt;
    struct cudnn_api cudnn;
    struct nvml_api nvml;
    bool cublaslt_tried, cudnn_tried, nvml_tried, nvml_ready;
    char nvml_version[64], cublaslt_version[32], cudnn_version[32], nvrtc_version[32];
    char driver_text[96];
};

struct cuda_device {
    struct gpu_device base;
    struct cuda_state *state;
    const struct cuda_driver_api *api;
    int ordinal; /* CUdevice */
    bool retained;
    struct CUctx_st *context;
    struct CUstream_st *stream;
    struct CUstream_st *second; /* of copies in both directions; NULL before the first */
    struct nvrtc nvrtc;
    int compute;                /* what NVRTC compiles for; negative: PTX */
    LT_HANDLE cublaslt;         /* NULL where there is none */
    struct cudnnContext *cudnn; /* NULL before the first convolution or attention */
};

static inline struct cuda_device *cuda_device(struct gpu_device *device)
{
    return (struct cuda_device *)device;
}

/* probe.c. Each tries once; false where it is not here (state->..._lib.tried says why). */
bool cuda_state_nvml(struct cuda_state *state);
bool cuda_state_cublaslt(struct cuda_state *state);
bool cuda_state_cudnn(struct cuda_state *state);

/* info.c */
enum status cuda_device_info(struct backend *backend, uint32_t index, struct device_info *ret,
                             struct error *err);
/* 90 for compute capability 9.0 */
enum status cuda_device_arch(const struct cuda_state *state, int device, int *ret,
                             struct error *err);

/*
 * "GPU-..." as NVML writes it, or "MIG-..." of a slice; heap. `ret_source`: the function asked,
 * also on failure. `pci` is NULL where it is not known. UNAVAILABLE: the driver has no such
 * function; else as cuda_fail.
 */
enum status cuda_device_uuid(struct cuda_state *state, int device, const char *pci, char **ret,
                             const char **ret_source, struct error *err);

/* identity.c: what NVML reports about the board, as readings "device.*". */
void cuda_add_identity(struct cuda_state *state, const char *pci, struct reading_list *list);

/*
 * identity.c: NVML's handle of the device at a PCI address. UNAVAILABLE, with the reason, where
 * NVML is not here or does not know it.
 */
enum status cuda_nvml_device(struct cuda_state *state, const char *pci, struct nvmlDevice_st **ret,
                             struct error *err);
/* DENIED or UNAVAILABLE as a reading's status, by NVML's result. */
enum reading_status cuda_nvml_missing(unsigned result);

/* device.c */
enum status cuda_device_open(struct backend *backend, uint32_t index,
                             const struct device_options *options, struct device **ret,
                             struct error *err);

/* cubin.c: names of the kernels in a CUBIN (its sections ".text.NAME"); 0 for anything else. */
size_t cuda_cubin_kernels(const struct gpu_binary *binary, char (*ret)[64], size_t capacity);

/*
 * gemm_algorithm.c: UNSUPPORTED, DEVICE_MEMORY or DEVICE, by the library's status;
 * LT_STATUS_SUCCESS: it gave nothing.
 */
enum status cuda_lt_fail(const struct cublaslt_api *api, const char *function, unsigned code,
                         struct error *err);

/*
 * convolution.c: one handle a device, made by the first who needs it, since that loads the
 * library's larger parts.
 */
enum status cuda_cudnn_handle(struct cuda_device *device, struct error *err);

/* gemm.c, convolution.c, attention.c: operation_implementation.create */
enum status cuda_gemm_create(struct device *device, const struct operation_desc *desc,
                             struct operation **ret, struct error *err);
enum status cuda_convolution_create(struct device *device, const struct operation_desc *desc,
                                    struct operation **ret, struct error *err);
/* Of both passes. */
enum status cuda_attention_create(struct device *device, const struct operation_desc *desc,
                                  struct operation **ret, struct error *err);

/* telemetry.c */
enum status cuda_telemetry_open(struct backend *backend, uint32_t index, struct telemetry **ret,
                                struct error *err);

#endif

/* opencl - how core.c and kernels.c reach PoCL. */
#ifndef ASSAY_TESTS_GPU_SHIM_OPENCL_H
#define ASSAY_TESTS_GPU_SHIM_OPENCL_H

#include "backends/opencl/api.h"

/* OpenCL 2.0's shared virtual memory and 1.2's argument information, which the backend does not
 * use. */
struct shim_opencl {
    void *(*clSVMAlloc)(struct _cl_context *, uint64_t, size_t, uint32_t);
    void (*clSVMFree)(struct _cl_context *, void *);
    int32_t (*clEnqueueSVMMemcpy)(struct _cl_command_queue *, uint32_t, void *, const void *,
                                  size_t, uint32_t, struct _cl_event *const *, struct _cl_event **);
    int32_t (*clSetKernelArgSVMPointer)(struct _cl_kernel *, uint32_t, const void *);
    int32_t (*clGetKernelArgInfo)(struct _cl_kernel *, uint32_t, uint32_t, size_t, void *,
                                  size_t *);
    int32_t (*clGetEventInfo)(struct _cl_event *, uint32_t, size_t, void *, size_t *);
    struct opencl_api api;
    struct _cl_device_id *device;
    struct _cl_context *context;
    struct _cl_command_queue *queue;
};

/* Valid after core_open. */
extern struct shim_opencl shim_opencl;

#endif

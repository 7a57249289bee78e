/*
 * api - the part of OpenCL that we call, declared by ourselves and opened at run time.
 *
 * Names, values and types are those of the OpenCL 3.0 API specification (Khronos) and of the
 * extensions named next to them. tests/unit/test_backend_opencl_abi.c compares every line with the
 * real headers. Handles keep the specification's struct tags, so that both can meet in one file.
 */
#ifndef ASSAY_BACKENDS_OPENCL_API_H
#define ASSAY_BACKENDS_OPENCL_API_H

#include <stddef.h>
#include <stdint.h>

#include "harness/core/dynlib.h"

struct _cl_platform_id;
struct _cl_device_id;
struct _cl_context;
struct _cl_command_queue;
struct _cl_mem;
struct _cl_program;
struct _cl_kernel;
struct _cl_event;

/* Error codes: what a call returns, by its name in the specification. */
#define OPENCL_ERROR_MAP(X)                                                                        \
    X(SUCCESS, 0)                                                                                  \
    X(DEVICE_NOT_FOUND, -1)                                                                        \
    X(DEVICE_NOT_AVAILABLE, -2)                                                                    \
    X(COMPILER_NOT_AVAILABLE, -3)                                                                  \
    X(MEM_OBJECT_ALLOCATION_FAILURE, -4)                                                           \
    X(OUT_OF_RESOURCES, -5)                                                                        \
    X(OUT_OF_HOST_MEMORY, -6)                                                                      \
    X(PROFILING_INFO_NOT_AVAILABLE, -7)                                                            \
    X(MEM_COPY_OVERLAP, -8)                                                                        \
    X(IMAGE_FORMAT_MISMATCH, -9)                                                                   \
    X(IMAGE_FORMAT_NOT_SUPPORTED, -10)                                                             \
    X(BUILD_PROGRAM_FAILURE, -11)                                                                  \
    X(MAP_FAILURE, -12)                                                                            \
    X(MISALIGNED_SUB_BUFFER_OFFSET, -13)                                                           \
    X(EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, -14)                                              \
    X(COMPILE_PROGRAM_FAILURE, -15)                                                                \
    X(LINKER_NOT_AVAILABLE, -16)                                                                   \
    X(LINK_PROGRAM_FAILURE, -17)                                                                   \
    X(DEVICE_PARTITION_FAILED, -18)                                                                \
    X(KERNEL_ARG_INFO_NOT_AVAILABLE, -19)                                                          \
    X(INVALID_VALUE, -30)                                                                          \
    X(INVALID_DEVICE_TYPE, -31)                                                                    \
    X(INVALID_PLATFORM, -32)                                                                       \
    X(INVALID_DEVICE, -33)                                                                         \
    X(INVALID_CONTEXT, -34)                                                                        \
    X(INVALID_QUEUE_PROPERTIES, -35)                                                               \
    X(INVALID_COMMAND_QUEUE, -36)                                                                  \
    X(INVALID_HOST_PTR, -37)                                                                       \
    X(INVALID_MEM_OBJECT, -38)                                                                     \
    X(INVALID_BINARY, -42)                                                                         \
    X(INVALID_BUILD_OPTIONS, -43)                                                                  \
    X(INVALID_PROGRAM, -44)                                                                        \
    X(INVALID_PROGRAM_EXECUTABLE, -45)                                                             \
    X(INVALID_KERNEL_NAME, -46)                                                                    \
    X(INVALID_KERNEL_DEFINITION, -47)                                                              \
    X(INVALID_KERNEL, -48)                                                                         \
    X(INVALID_ARG_INDEX, -49)                                                                      \
    X(INVALID_ARG_VALUE, -50)                                                                      \
    X(INVALID_ARG_SIZE, -51)                                                                       \
    X(INVALID_KERNEL_ARGS, -52)                                                                    \
    X(INVALID_WORK_DIMENSION, -53)                                                                 \
    X(INVALID_WORK_GROUP_SIZE, -54)                                                                \
    X(INVALID_WORK_ITEM_SIZE, -55)                                                                 \
    X(INVALID_GLOBAL_OFFSET, -56)                                                                  \
    X(INVALID_EVENT_WAIT_LIST, -57)                                                                \
    X(INVALID_EVENT, -58)                                                                          \
    X(INVALID_OPERATION, -59)                                                                      \
    X(INVALID_BUFFER_SIZE, -61)                                                                    \
    X(INVALID_GLOBAL_WORK_SIZE, -63)                                                               \
    X(INVALID_PROPERTY, -64)                                                                       \
    X(INVALID_COMPILER_OPTIONS, -66)                                                               \
    X(INVALID_LINKER_OPTIONS, -67)                                                                 \
    X(INVALID_DEVICE_PARTITION_COUNT, -68)                                                         \
    X(PLATFORM_NOT_FOUND_KHR, -1001) /* cl_khr_icd */

/* Bits, queries and options that we use. */
#define OPENCL_CONSTANT_MAP(X)                                                                     \
    X(FALSE, 0)                                                                                    \
    X(TRUE, 1)                                                                                     \
    X(PLATFORM_PROFILE, 0x0900)                                                                    \
    X(PLATFORM_VERSION, 0x0901)                                                                    \
    X(PLATFORM_NAME, 0x0902)                                                                       \
    X(PLATFORM_VENDOR, 0x0903)                                                                     \
    X(PLATFORM_EXTENSIONS, 0x0904)                                                                 \
    X(PLATFORM_ICD_SUFFIX_KHR, 0x0920) /* cl_khr_icd */                                            \
    X(DEVICE_TYPE_CPU, 1 << 1)                                                                     \
    X(DEVICE_TYPE_GPU, 1 << 2)                                                                     \
    X(DEVICE_TYPE_ACCELERATOR, 1 << 3)                                                             \
    X(DEVICE_TYPE, 0x1000)                                                                         \
    X(DEVICE_VENDOR_ID, 0x1001)                                                                    \
    X(DEVICE_MAX_COMPUTE_UNITS, 0x1002)                                                            \
    X(DEVICE_MAX_WORK_ITEM_DIMENSIONS, 0x1003)                                                     \
    X(DEVICE_MAX_WORK_GROUP_SIZE, 0x1004)                                                          \
    X(DEVICE_MAX_WORK_ITEM_SIZES, 0x1005)                                                          \
    X(DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, 0x100A)                                                 \
    X(DEVICE_MAX_CLOCK_FREQUENCY, 0x100C)                                                          \
    X(DEVICE_ADDRESS_BITS, 0x100D)                                                                 \
    X(DEVICE_MAX_MEM_ALLOC_SIZE, 0x1010)                                                           \
    X(DEVICE_MAX_PARAMETER_SIZE, 0x1017)                                                           \
    X(DEVICE_MEM_BASE_ADDR_ALIGN, 0x1019)                                                          \
    X(DEVICE_SINGLE_FP_CONFIG, 0x101B)                                                             \
    X(DEVICE_GLOBAL_MEM_CACHE_TYPE, 0x101C)                                                        \
    X(DEVICE_GLOBAL_MEM_CACHELINE_SIZE, 0x101D)                                                    \
    X(DEVICE_GLOBAL_MEM_CACHE_SIZE, 0x101E)                                                        \
    X(DEVICE_GLOBAL_MEM_SIZE, 0x101F)                                                              \
    X(DEVICE_LOCAL_MEM_TYPE, 0x1022)                                                               \
    X(DEVICE_LOCAL_MEM_SIZE, 0x1023)                                                               \
    X(DEVICE_ERROR_CORRECTION_SUPPORT, 0x1024)                                                     \
    X(DEVICE_PROFILING_TIMER_RESOLUTION, 0x1025)                                                   \
    X(DEVICE_ENDIAN_LITTLE, 0x1026)                                                                \
    X(DEVICE_AVAILABLE, 0x1027)                                                                    \
    X(DEVICE_COMPILER_AVAILABLE, 0x1028)                                                           \
    X(DEVICE_QUEUE_PROPERTIES, 0x102A)                                                             \
    X(DEVICE_NAME, 0x102B)                                                                         \
    X(DEVICE_VENDOR, 0x102C)                                                                       \
    X(DRIVER_VERSION, 0x102D)                                                                      \
    X(DEVICE_PROFILE, 0x102E)                                                                      \
    X(DEVICE_VERSION, 0x102F)                                                                      \
    X(DEVICE_EXTENSIONS, 0x1030)                                                                   \
    X(DEVICE_DOUBLE_FP_CONFIG, 0x1032)                                                             \
    X(DEVICE_HALF_FP_CONFIG, 0x1033) /* cl_khr_fp16 */                                             \
    X(DEVICE_HOST_UNIFIED_MEMORY, 0x1035)                                                          \
    X(DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, 0x103A)                                                    \
    X(DEVICE_OPENCL_C_VERSION, 0x103D)                                                             \
    X(DEVICE_UUID_KHR, 0x106A)                             /* cl_khr_device_uuid */                \
    X(DRIVER_UUID_KHR, 0x106B)                             /* cl_khr_device_uuid */                \
    X(DEVICE_PCI_BUS_INFO_KHR, 0x410F)                     /* cl_khr_pci_bus_info */               \
    X(DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES_KHR, 0x1073) /* cl_khr_integer_dot_product */        \
    X(DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_8BIT_KHR, 0x1074)                         \
    X(DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT_PACKED_KHR, 1 << 0)                                  \
    X(DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT_KHR, 1 << 1)                                         \
    X(DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, 0x4000)                                                  \
    X(DEVICE_COMPUTE_CAPABILITY_MINOR_NV, 0x4001)                                                  \
    X(DEVICE_WARP_SIZE_NV, 0x4003)                                                                 \
    X(DEVICE_TOPOLOGY_AMD, 0x4037)                                                                 \
    X(DEVICE_BOARD_NAME_AMD, 0x4038)                                                               \
    X(DEVICE_WAVEFRONT_WIDTH_AMD, 0x4043)                                                          \
    X(FP_DENORM, 1 << 0)                                                                           \
    X(FP_INF_NAN, 1 << 1)                                                                          \
    X(FP_ROUND_TO_NEAREST, 1 << 2)                                                                 \
    X(FP_ROUND_TO_ZERO, 1 << 3)                                                                    \
    X(FP_ROUND_TO_INF, 1 << 4)                                                                     \
    X(FP_FMA, 1 << 5)                                                                              \
    X(FP_SOFT_FLOAT, 1 << 6)                                                                       \
    X(FP_CORRECTLY_ROUNDED_DIVIDE_SQRT, 1 << 7)                                                    \
    X(NONE, 0)                                                                                     \
    X(READ_ONLY_CACHE, 1)                                                                          \
    X(READ_WRITE_CACHE, 2)                                                                         \
    X(LOCAL, 1)                                                                                    \
    X(GLOBAL, 2)                                                                                   \
    X(QUEUE_PROFILING_ENABLE, 1 << 1)                                                              \
    X(CONTEXT_PLATFORM, 0x1084)                                                                    \
    X(MEM_READ_WRITE, 1 << 0)                                                                      \
    X(MEM_READ_ONLY, 1 << 2)                                                                       \
    X(MEM_ALLOC_HOST_PTR, 1 << 4)                                                                  \
    X(MAP_READ, 1 << 0)                                                                            \
    X(MAP_WRITE, 1 << 1)                                                                           \
    X(MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 1 << 1)                                                \
    X(PROGRAM_BINARY_SIZES, 0x1165)                                                                \
    X(PROGRAM_BINARIES, 0x1166)                                                                    \
    X(PROGRAM_BUILD_LOG, 0x1183)                                                                   \
    X(KERNEL_NUM_ARGS, 0x1191)                                                                     \
    X(KERNEL_WORK_GROUP_SIZE, 0x11B0)                                                              \
    X(KERNEL_COMPILE_WORK_GROUP_SIZE, 0x11B1)                                                      \
    X(PROFILING_COMMAND_QUEUED, 0x1280)                                                            \
    X(PROFILING_COMMAND_SUBMIT, 0x1281)                                                            \
    X(PROFILING_COMMAND_START, 0x1282)                                                             \
    X(PROFILING_COMMAND_END, 0x1283)

#define OPENCL_ENUM(name, value) OCL_##name = value,
enum opencl_error { OPENCL_ERROR_MAP(OPENCL_ENUM) };
enum opencl_constant { OPENCL_CONSTANT_MAP(OPENCL_ENUM) };
#undef OPENCL_ENUM
#define OCL_DEVICE_TYPE_ALL 0xFFFFFFFFu /* too large for an enumerator */

/* cl_device_pci_bus_info_khr */
struct opencl_pci_bus_info {
    uint32_t domain, bus, device, function;
};

/* cl_device_topology_amd, as it is where the type is PCIe */
#define OPENCL_TOPOLOGY_PCIE_AMD 1u
struct opencl_topology_amd {
    uint32_t type;
    uint8_t unused[17], bus, device, function;
};

#define OPENCL_UUID_SIZE 16

/* CL_DEVICE_VENDOR_ID: the PCI vendor's */
#define OPENCL_VENDOR_AMD 0x1002u
#define OPENCL_VENDOR_NVIDIA 0x10deu

/* Result type, name, parameters. Required ones first. */
#define OPENCL_REQUIRED_MAP(X)                                                                     \
    X(int32_t, clGetPlatformIDs, (uint32_t, struct _cl_platform_id **, uint32_t *))                \
    X(int32_t, clGetPlatformInfo, (struct _cl_platform_id *, uint32_t, size_t, void *, size_t *))  \
    X(int32_t, clGetDeviceIDs,                                                                     \
      (struct _cl_platform_id *, uint64_t, uint32_t, struct _cl_device_id **, uint32_t *))         \
    X(int32_t, clGetDeviceInfo, (struct _cl_device_id *, uint32_t, size_t, void *, size_t *))      \
    X(struct _cl_context *, clCreateContext,                                                       \
      (const intptr_t *, uint32_t, struct _cl_device_id *const *,                                  \
       void (*)(const char *, const void *, size_t, void *), void *, int32_t *))                   \
    X(int32_t, clReleaseContext, (struct _cl_context *))                                           \
    X(struct _cl_command_queue *, clCreateCommandQueue,                                            \
      (struct _cl_context *, struct _cl_device_id *, uint64_t, int32_t *))                         \
    X(int32_t, clReleaseCommandQueue, (struct _cl_command_queue *))                                \
    X(struct _cl_mem *, clCreateBuffer,                                                            \
      (struct _cl_context *, uint64_t, size_t, void *, int32_t *))                                 \
    X(int32_t, clReleaseMemObject, (struct _cl_mem *))                                             \
    X(int32_t, clEnqueueReadBuffer,                                                                \
      (struct _cl_command_queue *, struct _cl_mem *, uint32_t, size_t, size_t, void *, uint32_t,   \
       struct _cl_event *const *, struct _cl_event **))                                            \
    X(int32_t, clEnqueueWriteBuffer,                                                               \
      (struct _cl_command_queue *, struct _cl_mem *, uint32_t, size_t, size_t, const void *,       \
       uint32_t, struct _cl_event *const *, struct _cl_event **))                                  \
    X(int32_t, clEnqueueCopyBuffer,                                                                \
      (struct _cl_command_queue *, struct _cl_mem *, struct _cl_mem *, size_t, size_t, size_t,     \
       uint32_t, struct _cl_event *const *, struct _cl_event **))                                  \
    X(void *, clEnqueueMapBuffer,                                                                  \
      (struct _cl_command_queue *, struct _cl_mem *, uint32_t, uint64_t, size_t, size_t, uint32_t, \
       struct _cl_event *const *, struct _cl_event **, int32_t *))                                 \
    X(int32_t, clEnqueueUnmapMemObject,                                                            \
      (struct _cl_command_queue *, struct _cl_mem *, void *, uint32_t, struct _cl_event *const *,  \
       struct _cl_event **))                                                                       \
    X(int32_t, clFlush, (struct _cl_command_queue *))                                              \
    X(struct _cl_program *, clCreateProgramWithSource,                                             \
      (struct _cl_context *, uint32_t, const char **, const size_t *, int32_t *))                  \
    X(int32_t, clBuildProgram,                                                                     \
      (struct _cl_program *, uint32_t, struct _cl_device_id *const *, const char *,                \
       void (*)(struct _cl_program *, void *), void *))                                            \
    X(int32_t, clGetProgramInfo, (struct _cl_program *, uint32_t, size_t, void *, size_t *))       \
    X(int32_t, clGetProgramBuildInfo,                                                              \
      (struct _cl_program *, struct _cl_device_id *, uint32_t, size_t, void *, size_t *))          \
    X(int32_t, clReleaseProgram, (struct _cl_program *))                                           \
    X(struct _cl_kernel *, clCreateKernel, (struct _cl_program *, const char *, int32_t *))        \
    X(int32_t, clReleaseKernel, (struct _cl_kernel *))                                             \
    X(int32_t, clGetKernelInfo, (struct _cl_kernel *, uint32_t, size_t, void *, size_t *))         \
    X(int32_t, clGetKernelWorkGroupInfo,                                                           \
      (struct _cl_kernel *, struct _cl_device_id *, uint32_t, size_t, void *, size_t *))           \
    X(int32_t, clSetKernelArg, (struct _cl_kernel *, uint32_t, size_t, const void *))              \
    X(int32_t, clEnqueueNDRangeKernel,                                                             \
      (struct _cl_command_queue *, struct _cl_kernel *, uint32_t, const size_t *, const size_t *,  \
       const size_t *, uint32_t, struct _cl_event *const *, struct _cl_event **))                  \
    X(int32_t, clFinish, (struct _cl_command_queue *))                                             \
    X(int32_t, clReleaseEvent, (struct _cl_event *))                                               \
    X(int32_t, clGetEventProfilingInfo, (struct _cl_event *, uint32_t, size_t, void *, size_t *))

/* OpenCL 1.2 and later; a 1.1 loader lacks them. */
#define OPENCL_OPTIONAL_MAP(X)                                                                     \
    X(int32_t, clEnqueueMarkerWithWaitList,                                                        \
      (struct _cl_command_queue *, uint32_t, struct _cl_event *const *, struct _cl_event **))      \
    X(int32_t, clEnqueueMigrateMemObjects,                                                         \
      (struct _cl_command_queue *, uint32_t, struct _cl_mem *const *, uint64_t, uint32_t,          \
       struct _cl_event *const *, struct _cl_event **))

struct opencl_api {
    OPENCL_REQUIRED_MAP(DYNLIB_MEMBER)
    OPENCL_OPTIONAL_MAP(DYNLIB_MEMBER)
};

/* Opens libOpenCL.so.1 and fills `ret`; see dynlib_open. */
enum status opencl_api_open(struct dynlib *lib, struct opencl_api *ret, struct error *err);

/* "CL_INVALID_VALUE"; "unknown code" for one that is not in the map. */
const char *opencl_error_name(int32_t code);

/*
 * The status that a code comes to, with the message "FUNCTION: CL_NAME (code)", `context` (NULL:
 * none) in front. CL_SUCCESS is for an impossible result after success: DEVICE, "what it gave
 * cannot be".
 */
enum status opencl_fail(struct error *err, const char *context, const char *function, int32_t code);

#endif

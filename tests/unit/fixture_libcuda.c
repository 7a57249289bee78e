/*
 * A CUDA driver stub for test_cudnn_graph: cuDNN compiles the kernels of a plan by itself and
 * passes them to the driver, which here accepts every program for a GPU. All other calls return
 * CUDA_ERROR_STUB_LIBRARY, as the toolkit's own stub does.
 */
#include <elf.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define STUB_LIBRARY 34
#define INVALID_IMAGE 200

EXPORT unsigned assay_programs(void);
static unsigned programs;
static char something;

/* How many programs were accepted. */
unsigned assay_programs(void)
{
    return programs;
}

#define FIXTURE_MAP(X)                                                                             \
    X(cuDriverGetVersion, (int *ret), (*ret = 13000, 0))                                           \
    X(cuGetErrorName, (int code, const char **ret), (*ret = "CUDA_ERROR_STUB_LIBRARY", code *= 0)) \
    X(cuGetErrorString, (int code, const char **ret), (*ret = "a stand-in", code *= 0))            \
    X(cuLibraryLoadData, (void **ret, const void *image),                                          \
      memcmp(image, ELFMAG, SELFMAG) != 0 || ((const Elf64_Ehdr *)image)->e_machine != EM_CUDA     \
          ? INVALID_IMAGE                                                                          \
          : (*ret = &something, programs++, 0))                                                    \
    X(cuLibraryGetKernel, (void **ret), (*ret = &something, 0))                                    \
    X(cuKernelGetAttribute, (int *ret), (*ret = 0))                                                \
    X(cuKernelSetAttribute, (void), 0)                                                             \
    X(cuLibraryUnload, (void), 0)

#define STUB_MAP(X)                                                                                \
    X(cuInit)                                                                                      \
    X(cuCtxGetCurrent)                                                                             \
    X(cuCtxGetDevice)                                                                              \
    X(cuCtxGetLimit)                                                                               \
    X(cuCtxPopCurrent)                                                                             \
    X(cuCtxPushCurrent)                                                                            \
    X(cuDeviceGet)                                                                                 \
    X(cuDeviceGetAttribute)                                                                        \
    X(cuDeviceGetCount)                                                                            \
    X(cuDevicePrimaryCtxRelease)                                                                   \
    X(cuDevicePrimaryCtxReset)                                                                     \
    X(cuDevicePrimaryCtxRetain)                                                                    \
    X(cuFuncGetAttribute)                                                                          \
    X(cuFuncSetAttribute)                                                                          \
    X(cuLaunchCooperativeKernel)                                                                   \
    X(cuLaunchKernel)                                                                              \
    X(cuLaunchKernelEx)                                                                            \
    X(cuLibraryLoadFromFile)                                                                       \
    X(cuLinkAddData)                                                                               \
    X(cuLinkAddData_v2)                                                                            \
    X(cuLinkAddFile_v2)                                                                            \
    X(cuLinkComplete)                                                                              \
    X(cuLinkCreate)                                                                                \
    X(cuLinkCreate_v2)                                                                             \
    X(cuLinkDestroy)                                                                               \
    X(cuMemcpyDtoH_v2)                                                                             \
    X(cuModuleGetFunction)                                                                         \
    X(cuModuleGetGlobal_v2)                                                                        \
    X(cuModuleLoadData)                                                                            \
    X(cuModuleLoadDataEx)                                                                          \
    X(cuModuleLoadFatBinary)                                                                       \
    X(cuModuleUnload)                                                                              \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor)                                                 \
    X(cuOccupancyMaxPotentialClusterSize)                                                          \
    X(cuStreamGetCtx)                                                                              \
    X(cuStreamSynchronize)                                                                         \
    X(cuTensorMapEncodeTiled)

#define DEFINE(name, parameters, result)                                                           \
    EXPORT int name parameters;                                                                    \
    int name parameters                                                                            \
    {                                                                                              \
        return result;                                                                             \
    }
FIXTURE_MAP(DEFINE)

#define DEFINE_STUB(name)                                                                          \
    EXPORT int name(void);                                                                         \
    int name(void)                                                                                 \
    {                                                                                              \
        return STUB_LIBRARY;                                                                       \
    }
STUB_MAP(DEFINE_STUB)

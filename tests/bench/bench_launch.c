/*
 * What our launch path adds to the driver's: an empty kernel with four arguments, launched through
 * device_kernel_launch and by bare calls of OpenCL or CUDA, in turns on one device.
 *
 * usage: bench_launch PAIRS [DEVICE]
 * Prints one line a pair: nanoseconds per launch through us, and by bare calls. A block is 2000
 * launches and one wait. The DEVICE is opencl:0 where none is named; on cpu:0 there are no bare
 * calls: one number a line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"
#include "backends/cuda/driver.h"
#include "backends/opencl/api.h"
#include "harness/core/clock.h"

#define LAUNCHES 2000

static const char ours_text[] =
    "KERNEL(nothing, GLOBAL f32 *a, GLOBAL f32 *b, f32 s, u64 n)\n{\n}\n";
static const char bare_text[] =
    "__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void nothing(__global float *a, "
    "__global float *b, float s, ulong n) {}\n";

struct bare {
    struct opencl_api api;
    struct _cl_command_queue *queue;
    struct _cl_kernel *kernel;
    struct _cl_mem *mem;
};

static int bare_init(struct bare *bare)
{
    const char *text = bare_text;
    struct dynlib lib = {0};
    struct error err = ERROR_INIT;
    struct _cl_platform_id *platform;
    struct _cl_device_id *device;
    struct _cl_context *context;
    struct _cl_program *program;
    uint32_t count;
    int32_t code = 0;

    if (opencl_api_open(&lib, &bare->api, &err) != STATUS_OK ||
        bare->api.clGetPlatformIDs(1, &platform, &count) != 0 ||
        bare->api.clGetDeviceIDs(platform, OCL_DEVICE_TYPE_ALL, 1, &device, &count) != 0)
        return -1;
    context = bare->api.clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    bare->queue =
        bare->api.clCreateCommandQueue(context, device, OCL_QUEUE_PROFILING_ENABLE, &code);
    program = bare->api.clCreateProgramWithSource(context, 1, &text, NULL, &code);
    if (bare->queue == NULL || program == NULL ||
        bare->api.clBuildProgram(program, 1, &device, "", NULL, NULL) != 0)
        return -1;
    bare->kernel = bare->api.clCreateKernel(program, "nothing", &code);
    bare->mem = bare->api.clCreateBuffer(context, 0, 64, NULL, &code);
    return bare->kernel != NULL && bare->mem != NULL ? 0 : -1;
}

static double bare_block(struct bare *bare)
{
    const size_t global = 2, local = 1;
    const float s = 1;
    int64_t begin_ns = clock_monotonic_ns();

    for (int i = 0; i < LAUNCHES; i++) {
        const uint64_t n = (uint64_t)i;

        bare->api.clSetKernelArg(bare->kernel, 0, sizeof(bare->mem), &bare->mem);
        bare->api.clSetKernelArg(bare->kernel, 1, sizeof(bare->mem), &bare->mem);
        bare->api.clSetKernelArg(bare->kernel, 2, 4, &s);
        bare->api.clSetKernelArg(bare->kernel, 3, 8, &n);
        bare->api.clEnqueueNDRangeKernel(bare->queue, bare->kernel, 1, NULL, &global, &local, 0,
                                         NULL, NULL);
    }
    bare->api.clFinish(bare->queue);
    return (double)(clock_monotonic_ns() - begin_ns) / LAUNCHES;
}

/* An empty kernel as PTX, which the driver compiles, in the context that our own device left
 * current. */
static const char bare_ptx[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry nothing("
    ".param .u64 a, .param .u64 b, .param .f32 s, .param .u64 n)\n"
    "{\nret;\n}\n";

struct bare_cuda {
    struct cuda_driver_api api;
    struct CUfunc_st *function;
    struct CUstream_st *stream;
};

static int bare_cuda_init(struct bare_cuda *bare)
{
    struct dynlib lib = {0};
    struct error err = ERROR_INIT;
    struct CUmod_st *module = NULL;

    return cuda_driver_open(&lib, &bare->api, &err) == STATUS_OK &&
                   bare->api.cuModuleLoadDataEx(&module, bare_ptx, 0, NULL, NULL) == 0 &&
                   bare->api.cuModuleGetFunction(&bare->function, module, "nothing") == 0 &&
                   bare->api.cuStreamCreate(&bare->stream, CUDA_STREAM_NON_BLOCKING) == 0
               ? 0
               : -1;
}

static double bare_cuda_block(struct bare_cuda *bare)
{
    unsigned long long a = 0;
    float s = 1;
    uint64_t n = 0;
    void *parameters[] = {&a, &a, &s, &n};
    int64_t begin_ns = clock_monotonic_ns();

    for (int i = 0; i < LAUNCHES; i++) {
        n = (uint64_t)i;
        bare->api.cuLaunchKernel(bare->function, 2, 1, 1, 1, 1, 1, 0, bare->stream, parameters,
                                 NULL);
    }
    bare->api.cuStreamSynchronize(bare->stream);
    return (double)(clock_monotonic_ns() - begin_ns) / LAUNCHES;
}

static double our_block(struct device *device, struct module *module, struct buffer *buffer,
                        struct error *err)
{
    struct kernel_arg args[4] = {{.type = KERNEL_ARG_BUFFER, .buffer = buffer},
                                 {.type = KERNEL_ARG_BUFFER, .buffer = buffer},
                                 {.type = KERNEL_ARG_F32, .f32 = 1},
                                 {.type = KERNEL_ARG_U64}};
    const struct kernel_launch launch = {
        .module = module, .kernel = "nothing", .groups = {2, 1, 1}, .args = args, .arg_count = 4};
    int64_t begin_ns = clock_monotonic_ns();

    for (int i = 0; i < LAUNCHES; i++) {
        args[3].u64 = (uint64_t)i;
        if (device_kernel_launch(device, &launch, err) != STATUS_OK)
            return -1;
    }
    if (device_synchronize(device, err) != STATUS_OK)
        return -1;
    return (double)(clock_monotonic_ns() - begin_ns) / LAUNCHES;
}

int main(int argc, char **argv)
{
    const struct module_source source = {.file = "nothing.h", .text = ours_text, .lanes = 1};
    const struct device_options options = {.profile = true};
    const long pairs = argc == 2 || argc == 3 ? atol(argv[1]) : 0;
    const char *spec = argc == 3 ? argv[2] : "opencl:0";
    const bool cuda = strncmp(spec, "cuda", 4) == 0,
               alone = strncmp(spec, "opencl", 6) != 0 && !cuda;
    struct error err = ERROR_INIT;
    struct backend *backend = NULL;
    struct device *device = NULL;
    struct module *module = NULL;
    struct buffer *buffer = NULL;
    struct bare bare;
    struct bare_cuda on_cuda;
    uint32_t index = 0;

    if (pairs <= 0) {
        fprintf(stderr, "usage: bench_launch PAIRS [DEVICE]\n");
        return 2;
    }
    if (backend_resolve(spec, &backend, &index, &err) != STATUS_OK ||
        backend_device_open(backend, index, &options, &device, &err) != STATUS_OK ||
        device_module_load(device, &source, &module, &err) != STATUS_OK ||
        device_buffer_alloc(device, 64, BUFFER_READ_WRITE, &buffer, &err) != STATUS_OK) {
        fprintf(stderr, "bench_launch: %s\n", err.message);
        return 1;
    }
    our_block(device, module, buffer, &err);
    for (long p = 0; alone && p < pairs; p++)
        printf("%.1f\n", our_block(device, module, buffer, &err));
    if (alone)
        return 0;
    if ((cuda ? bare_cuda_init(&on_cuda) : bare_init(&bare)) != 0) {
        fprintf(stderr, "bench_launch: a bare call of %s failed\n", cuda ? "CUDA" : "OpenCL");
        return 1;
    }
    if (cuda)
        bare_cuda_block(&on_cuda);
    else
        bare_block(&bare);
    for (long p = 0; p < pairs; p++) {
        double ours, direct;

        if (p % 2 == 0) {
            ours = our_block(device, module, buffer, &err);
            direct = cuda ? bare_cuda_block(&on_cuda) : bare_block(&bare);
        } else {
            direct = cuda ? bare_cuda_block(&on_cuda) : bare_block(&bare);
            ours = our_block(device, module, buffer, &err);
        }
        if (ours < 0) {
            fprintf(stderr, "bench_launch: %s\n", err.message);
            return 1;
        }
        printf("%.1f %.1f\n", ours, direct);
    }
    return 0;
}

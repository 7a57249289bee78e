/*
 * What a copy or a launch takes as a workload, and by bare calls on the same memory and queue: of
 * OpenCL, or memcpy on cpu:0.
 *
 * usage: bench_system TURNS DEVICE WORKLOAD BATCH
 * The workload's outputs are verified first. Then both sides run a block of a millisecond in
 * turns, each first in every second one. One line a turn: nanoseconds of an iteration through us,
 * and of a bare one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/internal.h"
#include "backends/opencl/internal.h"
#include "harness/core/clock.h"
#include "workloads/transfer/transfer.h"

#define BLOCK_NS 1e6

static const char kernel_text[] =
    "__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void raise(__global uint *c)\n"
    "{\n    c[0] += 1;\n}\n";

struct sides {
    struct workload workload;
    struct workload_instance *instance;
    struct device *device;
    bool is_opencl, is_launch, waits;
    long block;
    struct _cl_kernel *kernel; /* of bare launches */
    struct _cl_mem *counter;
};

static enum status our_block(struct sides *sides, struct error *err)
{
    for (long i = 0; i < sides->block; i++) {
        TRY(sides->workload.kind->iterate(sides->instance, err));
        if (sides->waits)
            TRY(device_synchronize(sides->device, err));
    }
    return device_synchronize(sides->device, err);
}

static struct _cl_mem *mem_of(const struct transfer_end *end)
{
    return ((const struct opencl_buffer *)end->buffer)->mem;
}

static int32_t bare_opencl_copy(struct sides *sides)
{
    const struct transfer_instance *transfer = (const struct transfer_instance *)sides->instance;
    const struct opencl_device *device = opencl_device(sides->device);
    const struct transfer_leg *leg = &transfer->legs[0];
    const size_t bytes = (size_t)transfer->bytes;

    if (leg->source.buffer == NULL)
        return device->api->clEnqueueWriteBuffer(device->queue, mem_of(&leg->target), OCL_TRUE, 0,
                                                 bytes, leg->source.host, 0, NULL, NULL);
    if (leg->target.buffer == NULL)
        return device->api->clEnqueueReadBuffer(device->queue, mem_of(&leg->source), OCL_TRUE, 0,
                                                bytes, leg->target.host, 0, NULL, NULL);
    return device->api->clEnqueueCopyBuffer(device->queue, mem_of(&leg->source),
                                            mem_of(&leg->target), 0, 0, bytes, 0, NULL, NULL);
}

static int32_t bare_opencl_launch(struct sides *sides)
{
    const struct opencl_device *device = opencl_device(sides->device);
    const size_t one = 1;
    int32_t code = OCL_SUCCESS;

    for (int64_t i = 0; i < sides->instance->work.batch && code == OCL_SUCCESS; i++) {
        code =
            device->api->clSetKernelArg(sides->kernel, 0, sizeof(sides->counter), &sides->counter);
        if (code == OCL_SUCCESS)
            code = device->api->clEnqueueNDRangeKernel(device->queue, sides->kernel, 1, NULL, &one,
                                                       &one, 0, NULL, NULL);
    }
    return code;
}

static void *memory_of(const struct transfer_end *end)
{
    return end->buffer != NULL ? ((struct cpu_buffer *)end->buffer)->bytes : end->host;
}

/* A copy that does not block is waited for, and so is a launch where ours is. */
static enum status bare_block(struct sides *sides, struct error *err)
{
    const struct transfer_instance *transfer = (const struct transfer_instance *)sides->instance;
    const struct opencl_device *device = opencl_device(sides->device);

    for (long i = 0; i < sides->block; i++) {
        int32_t code = OCL_SUCCESS;

        if (!sides->is_opencl)
            memcpy(memory_of(&transfer->legs[0].target), memory_of(&transfer->legs[0].source),
                   transfer->bytes);
        else
            code = sides->is_launch ? bare_opencl_launch(sides) : bare_opencl_copy(sides);
        if (code == OCL_SUCCESS && sides->is_opencl && sides->waits &&
            (sides->is_launch || transfer->direction == TRANSFER_WITHIN))
            code = device->api->clFinish(device->queue);
        if (code != OCL_SUCCESS)
            return error_set(err, STATUS_DEVICE, "a bare call of OpenCL failed: %d", (int)code);
    }
    return device_synchronize(sides->device, err);
}

static enum status make_kernel(struct sides *sides, struct error *err)
{
    const struct opencl_device *device = opencl_device(sides->device);
    const char *text = kernel_text;
    int32_t code = OCL_SUCCESS;
    struct _cl_program *program =
        device->api->clCreateProgramWithSource(device->context, 1, &text, NULL, &code);

    if (program == NULL ||
        device->api->clBuildProgram(program, 1, &device->id, "", NULL, NULL) != OCL_SUCCESS)
        return error_set(err, STATUS_DEVICE, "the bare kernel does not build");
    sides->kernel = device->api->clCreateKernel(program, "raise", &code);
    sides->counter = device->api->clCreateBuffer(device->context, 0, 4, NULL, &code);
    return sides->kernel != NULL && sides->counter != NULL
               ? STATUS_OK
               : error_set(err, STATUS_DEVICE, "no bare kernel: %d", (int)code);
}

static enum status prepare(struct sides *sides, const char *spec, const char *name, int64_t batch,
                           struct error *err)
{
    struct backend *backend = NULL;
    struct workload_case work = {.precision = PRECISION_FP32, .batch = batch, .seed = 1};
    uint32_t index = 0;

    TRY(backend_resolve(spec, &backend, &index, err));
    TRY(backend_device_open(backend, index, NULL, &sides->device, err));
    TRY(workload_find(name, &sides->workload, err));
    sides->is_opencl = strcmp(backend->ops->name, "opencl") == 0;
    sides->is_launch = strcmp(sides->workload.kind->name, "launch") == 0;
    sides->waits = sides->workload.scenario == SCENARIO_SINGLE_STREAM;
    if (!sides->is_opencl && (sides->is_launch || strcmp(backend->ops->name, "cpu") != 0))
        return error_set(err, STATUS_INVALID, "there are no bare calls for %s on %s", name, spec);
    work.workload = &sides->workload;
    TRY(workload_instance_create(&work, sides->device, &sides->instance, err));
    TRY(workload_verify(sides->instance, NULL, NULL, err));
    return sides->is_launch ? make_kernel(sides, err) : STATUS_OK;
}

static enum status timed(enum status (*run)(struct sides *sides, struct error *err),
                         struct sides *sides, double *ret_ns, struct error *err)
{
    const int64_t begin_ns = clock_monotonic_ns();

    TRY(run(sides, err));
    *ret_ns = (double)(clock_monotonic_ns() - begin_ns) / (double)sides->block;
    return STATUS_OK;
}

static enum status take_turns(struct sides *sides, long turns, struct error *err)
{
    double ours = 0, bare = 0;

    sides->block = 3;
    TRY(timed(our_block, sides, &ours, err));
    TRY(timed(our_block, sides, &ours, err));
    sides->block = ours < BLOCK_NS ? (long)(BLOCK_NS / ours) + 1 : 1;
    TRY(bare_block(sides, err));
    for (long i = 0; i < turns; i++) {
        if (i % 2 == 0)
            TRY(timed(our_block, sides, &ours, err));
        TRY(timed(bare_block, sides, &bare, err));
        if (i % 2 == 1)
            TRY(timed(our_block, sides, &ours, err));
        printf("%.1f %.1f\n", ours, bare);
    }
    return STATUS_OK;
}

int main(int argc, char **argv)
{
    struct sides sides = {0};
    struct error err = ERROR_INIT;

    if (argc != 5 || atol(argv[1]) <= 0 || atoll(argv[4]) <= 0) {
        fprintf(stderr, "usage: bench_system TURNS DEVICE WORKLOAD BATCH\n");
        return 2;
    }
    if (prepare(&sides, argv[2], argv[3], atoll(argv[4]), &err) == STATUS_OK)
        take_turns(&sides, atol(argv[1]), &err);
    if (err.code != STATUS_OK)
        fprintf(stderr, "bench_system: %s\n", err.message);
    workload_instance_destroy(sides.instance);
    return err.code == STATUS_OK ? 0 : 1;
}

/*
 * The other arm of bench: a declared workload on a device, through the very code that `assay run`
 * measures with, in blocks as openmp_stream does.
 *
 * usage: device_stream DEVICE WORKLOAD ITERATIONS SAMPLES|turns [vendor [BATCH PRECISION]]
 * Prints one line a sample: nanoseconds of an iteration, from a block of ITERATIONS. With `turns`
 * a sample is taken for each line that comes on stdin, after an iteration that does not count. The
 * outputs are verified before and after; a failed check is an error. A simulated device computes
 * nothing, so there is nothing to verify: what is left is the host's work.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"
#include "harness/core/clock.h"
#include "harness/core/status.h"
#include "workloads/workload.h"

static void ignore_check(void *context, const struct workload_check *check)
{
    (void)context;
    (void)check;
}

static enum status block(struct workload_instance *instance, long iterations, struct error *err)
{
    enum status status = STATUS_OK;

    for (long i = 0; !status && i < iterations; i++)
        status = instance->kind->iterate(instance, err);
    return status ? status : device_synchronize(instance->device, err);
}

/* `samples` 0: as many as there are turns. */
static enum status measure(struct workload_instance *instance, long iterations, long samples,
                           struct error *err)
{
    const bool verified = !instance->device->info.simulated;
    enum status status = STATUS_OK;
    char turn[8];

    if (verified)
        status = workload_verify(instance, ignore_check, NULL, err);
    if (!status)
        status = device_synchronize(instance->device, err);
    for (long s = 0; !status && (samples ? s < samples : !!fgets(turn, sizeof(turn), stdin)); s++) {
        int64_t start;

        if (!samples)
            status = block(instance, 1, err);
        start = clock_monotonic_ns();
        if (!status)
            status = block(instance, iterations, err);
        if (!status)
            printf("%lld\n", (long long)((clock_monotonic_ns() - start) / iterations));
        fflush(stdout);
    }
    if (!status && verified)
        status = workload_verify(instance, ignore_check, NULL, err);
    return status;
}

static enum status run(char **argv, struct error *err)
{
    struct device_options options = {0};
    struct workload workload;
    struct workload_instance *instance = NULL;
    struct workload_case work;
    struct backend *backend;
    struct device *device = NULL;
    uint32_t index;
    enum status status = backend_resolve(argv[1], &backend, &index, err);

    if (status)
        return status;
    status = workload_find(argv[2], &workload, err);
    if (status)
        return status;
    work = (struct workload_case){.workload = &workload,
                                  .precision = workload.precisions[0],
                                  .batch = workload.batches[0],
                                  .scenario = workload.scenario,
                                  .implementation =
                                      argv[5] ? IMPLEMENTATION_VENDOR : IMPLEMENTATION_PORTABLE,
                                  .seed = 1};
    if (argv[5] && argv[6]) {
        work.batch = atoi(argv[6]);
        if (!precision_from_name(argv[7], &work.precision))
            status = error_set(err, STATUS_INVALID, "no precision \"%s\"", argv[7]);
    }
    if (!status)
        status = backend_device_open(backend, index, &options, &device, err);
    if (!status)
        status = workload_instance_create(&work, device, &instance, err);
    if (!status)
        status = measure(instance, atol(argv[3]), atol(argv[4]), err);
    workload_instance_destroy(instance);
    device_close(device);
    workload_finish(&workload);
    return status;
}

int main(int argc, char **argv)
{
    struct error err = ERROR_INIT;
    enum status status;

    if (argc < 5 || argc > 8 || argc == 7 || (argc > 5 && strcmp(argv[5], "vendor") != 0) ||
        atol(argv[3]) <= 0 || (atol(argv[4]) <= 0 && strcmp(argv[4], "turns") != 0)) {
        fprintf(stderr,
                "usage: device_stream DEVICE WORKLOAD ITERATIONS SAMPLES|turns [vendor [BATCH "
                "PRECISION]]\n");
        return 2;
    }
    status = run(argv, &err);
    if (status)
        fprintf(stderr, "device_stream: %s\n", err.message);
    return status ? 1 : 0;
}

/*
 * Several declared workloads on one device in turns, in one process: the same memory, the same
 * neighbours, so that their rates can be divided.
 *
 * usage: bench_rates DEVICE ITERATIONS TURNS WORKLOAD[@IMPLEMENTATION[@BATCH[@PRECISION]]]...
 * The first precision and batch that it declares, and portable, where nothing else is said.
 * Each workload's outputs are verified first. Then in each turn every workload runs a block of
 * ITERATIONS with one wait at its end, beginning with another one each time. One line a block:
 * workload, counted bytes of an iteration, nanoseconds of an iteration.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"
#include "harness/core/clock.h"
#include "harness/core/status.h"
#include "workloads/workload.h"

#define ARMS_MAX 8

struct rated {
    char name[128];
    struct workload workload;
    struct workload_instance *instance;
    uint64_t bytes;
};

static void ignore_check(void *context, const struct workload_check *check)
{
    (void)context;
    (void)check;
}

static enum status rated_init(struct rated *arm, char *name, struct device *device,
                              struct error *err)
{
    struct workload_case work;
    struct workload_cost cost;
    char *implementation = strchr(name, '@'), *batch = NULL, *precision = NULL;
    enum status status;

    snprintf(arm->name, sizeof(arm->name), "%s", name);
    if (implementation) {
        *implementation++ = '\0';
        batch = strchr(implementation, '@');
        if (batch) {
            *batch++ = '\0';
            precision = strchr(batch, '@');
        }
        if (precision)
            *precision++ = '\0';
    }
    status = workload_find(name, &arm->workload, err);
    if (status != STATUS_OK)
        return status;
    work = (struct workload_case){.workload = &arm->workload,
                                  .precision = arm->workload.precisions[0],
                                  .batch = arm->workload.batches[0],
                                  .scenario = arm->workload.scenario,
                                  .implementation = IMPLEMENTATION_PORTABLE,
                                  .seed = 1};
    if (implementation && !implementation_from_name(implementation, &work.implementation))
        return error_set(err, STATUS_INVALID, "no implementation \"%s\"", implementation);
    if (batch)
        work.batch = atoi(batch);
    if (precision && !precision_from_name(precision, &work.precision))
        return error_set(err, STATUS_INVALID, "no precision \"%s\"", precision);
    status = arm->workload.kind->cost(&work, &cost, err);
    if (status == STATUS_OK)
        status = workload_instance_create(&work, device, &arm->instance, err);
    if (status != STATUS_OK)
        return status;
    arm->bytes = cost.bytes;
    return workload_verify(arm->instance, ignore_check, NULL, err);
}

static enum status block(struct rated *arm, long iterations, int64_t *ret_ns, struct error *err)
{
    const int64_t begin_ns = clock_monotonic_ns();
    enum status status = STATUS_OK;

    for (long i = 0; i < iterations && status == STATUS_OK; i++)
        status = arm->workload.kind->iterate(arm->instance, err);
    if (status == STATUS_OK)
        status = device_synchronize(arm->instance->device, err);
    *ret_ns = (clock_monotonic_ns() - begin_ns) / iterations;
    return status;
}

static enum status take_turns(struct rated *arms, int count, long iterations, long turns,
                              struct error *err)
{
    for (long t = 0; t < turns; t++)
        for (int i = 0; i < count; i++) {
            struct rated *arm = &arms[(t + i) % count];
            int64_t ns = 0;
            const enum status status = block(arm, iterations, &ns, err);

            if (status != STATUS_OK)
                return status;
            printf("%s %" PRIu64 " %" PRId64 "\n", arm->name, arm->bytes, ns);
        }
    return STATUS_OK;
}

int main(int argc, char **argv)
{
    const long iterations = argc > 4 ? atol(argv[2]) : 0, turns = argc > 4 ? atol(argv[3]) : 0;
    const int count = argc - 4;
    const struct device_options options = {0};
    struct rated arms[ARMS_MAX] = {0};
    struct error err = ERROR_INIT;
    struct backend *backend = NULL;
    struct device *device = NULL;
    uint32_t index = 0;
    int made = 0;
    enum status status;

    if (iterations <= 0 || turns <= 0 || count > ARMS_MAX) {
        fprintf(stderr, "usage: bench_rates DEVICE ITERATIONS TURNS "
                        "WORKLOAD[@IMPLEMENTATION[@BATCH[@PRECISION]]]...\n");
        return 2;
    }
    status = backend_resolve(argv[1], &backend, &index, &err);
    if (status == STATUS_OK)
        status = backend_device_open(backend, index, &options, &device, &err);
    while (made < count && status == STATUS_OK) {
        status = rated_init(&arms[made], argv[4 + made], device, &err);
        made++;
    }
    if (status == STATUS_OK)
        status = take_turns(arms, count, iterations, turns, &err);
    for (int i = 0; i < made; i++) {
        workload_instance_destroy(arms[i].instance);
        workload_finish(&arms[i].workload);
    }
    device_close(device);
    if (status != STATUS_OK)
        fprintf(stderr, "bench_rates: %s\n", err.message);
    return status == STATUS_OK ? 0 : 1;
}

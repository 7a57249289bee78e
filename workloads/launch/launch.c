/*
 * launch - a kernel that does next to nothing, so that its time is that of launching it. An
 * iteration is as many launches as the case's batch, one after the other. Each raises a counter in
 * device memory, by which one that was left out is found however long ago it was.
 */
#include <inttypes.h>
#include <string.h>

#include "harness/core/random.h"
#include "workloads/check/frame.h"
#include "workloads/declaration.h"
#include "workloads/kernel_text.h"
#include "workloads/kinds.h"

struct launch_declaration {
    struct workload_declaration common;
};

static const struct declaration_field fields[] = {
    WORKLOAD_DECLARATION_FIELDS(struct launch_declaration),
    FIELD_END,
};

static const struct declaration_schema schema = {ENTRY_GROUP(struct launch_declaration, fields)};

struct launch_instance {
    struct workload_instance base;
    struct module *module;
    struct buffer *counter;
    uint32_t expected; /* what the counter holds once all that was launched has run */
};

static enum status check_declaration(const struct declaration *declaration,
                                     struct workload *workload, struct error *err)
{
    static const enum precision runs[] = {PRECISION_FP32};
    const struct launch_declaration *data = declaration->data;

    (void)workload; /* the batch says all */
    return workload_declaration_check_precisions(declaration, &data->common, runs, 1, err);
}

static const struct workload_form form = {&schema, check_declaration};

static enum status cost(const struct workload_case *work, struct workload_cost *ret,
                        struct error *err)
{
    (void)err;
    *ret = (struct workload_cost){
        .items = (uint64_t)work->batch,
        .item_name = "launch",
        .device_memory_bytes = sizeof(uint32_t),
        .working_set_bytes = sizeof(uint32_t),
        .headline = "items",
    };
    return STATUS_OK;
}

static void describe(const struct workload *workload, struct text *ret)
{
    text_append_format(ret, "kernel: raises a counter; one group\nbatch: launches in a row%s\n",
                       workload->scenario == SCENARIO_SINGLE_STREAM ? ", then waited for" : "");
}

static void finish(struct workload_instance *base)
{
    struct launch_instance *instance = (struct launch_instance *)base;

    device_module_unload(base->device, instance->module);
    device_buffer_free(instance->counter);
}

/* Waits for what was launched before. */
static enum status set_counter(struct launch_instance *instance, uint32_t value, struct error *err)
{
    instance->expected = value;
    return device_upload(instance->counter, 0, &value, sizeof(value), err);
}

static enum status init(struct workload_instance *base, struct error *err)
{
    static const char *const files[] = {"launch.h"};
    struct launch_instance *instance = (struct launch_instance *)base;
    struct module_source source = {.file = "workloads/kernels/launch.h"};

    if (base->work.implementation != IMPLEMENTATION_PORTABLE)
        return error_set(err, STATUS_UNSUPPORTED, "launch has no %s implementation",
                         implementation_name(base->work.implementation));
    device_lane_candidates(base->device, &source.lanes, 1); /* the smallest group */
    TRY(device_buffer_alloc(base->device, sizeof(uint32_t), BUFFER_READ_WRITE, &instance->counter,
                            err));
    TRY(kernel_text_load(base->device, files, 1, source, &instance->module, err));
    return set_counter(instance, (uint32_t)base->work.seed, err);
}

static enum status iterate(struct workload_instance *base, struct error *err)
{
    struct launch_instance *instance = (struct launch_instance *)base;
    const struct kernel_arg arg = {.type = KERNEL_ARG_BUFFER, .buffer = instance->counter};
    const struct kernel_launch launch = {
        .module = instance->module,
        .kernel = "launch_count",
        .groups = {1, 1, 1},
        .args = &arg,
        .arg_count = 1,
    };

    ++base->unchecked;
    for (int64_t i = 0; i < base->work.batch; ++i)
        TRY(device_kernel_launch(base->device, &launch, err));
    instance->expected += (uint32_t)base->work.batch;
    return STATUS_OK;
}

static enum status compare(struct launch_instance *instance, struct check_sink *sink,
                           struct error *err)
{
    struct workload_check check = {.output = "counter",
                                   .metric = "count",
                                   .reason = "each launch raises the counter by one",
                                   .compared = 1};
    uint32_t got;

    TRY(device_download(instance->counter, 0, &got, sizeof(got), err));
    check.error = (double)(uint32_t)(instance->expected - got);
    check.passed = got == instance->expected;
    check_sink_put(sink, &check);
    if (!check.passed)
        check_sink_fail(sink,
                        "the counter is %" PRIu32 ", expected %" PRIu32 ": of the launches since "
                        "it was last set, %" PRIu32 " did not run",
                        got, instance->expected, (uint32_t)(instance->expected - got));
    return STATUS_OK;
}

static enum status verify(struct workload_instance *base, struct check_sink *sink,
                          struct error *err)
{
    TRY(check_settle(base, err));
    base->unchecked = 0;
    return compare((struct launch_instance *)base, sink, err);
}

/* From a number that nobody could know. */
static enum status spot_check(struct workload_instance *base, uint64_t secret,
                              struct check_sink *sink, struct error *err)
{
    struct launch_instance *instance = (struct launch_instance *)base;

    TRY(compare(instance, sink, err));
    TRY(set_counter(instance, (uint32_t)random_at(secret, 0, 0), err));
    TRY(check_iterate_timed(base, instance->counter, 0, err));
    return compare(instance, sink, err);
}

static enum status change(struct workload_instance *base, uint64_t secret, bool *ret_changed,
                          struct error *err)
{
    *ret_changed = true;
    return set_counter((struct launch_instance *)base, (uint32_t)random_at(secret, 0, 0), err);
}

static enum status check_changed(struct workload_instance *base, uint64_t secret,
                                 struct check_sink *sink, struct error *err)
{
    (void)secret;
    return compare((struct launch_instance *)base, sink, err);
}

static double tolerance(const struct workload_case *work, const char *output, const char *metric)
{
    (void)work;
    return strcmp(output, "counter") || strcmp(metric, "count") ? WORKLOAD_NO_CHECK : 0.0;
}

static const struct workload_checks checks = {
    .verify = verify,
    .spot_check = spot_check,
    .change = change,
    .check_changed = check_changed,
    .tolerance = tolerance,
};

static struct buffer *result(struct workload_instance *base)
{
    return ((struct launch_instance *)base)->counter;
}

static size_t artifacts(struct workload_instance *base, struct module_artifact *ret,
                        size_t capacity)
{
    const struct launch_instance *instance = (struct launch_instance *)base;

    return capacity > 0 &&
           device_module_describe(base->device, instance->module, ret, NULL) == STATUS_OK;
}

const struct workload_kind workload_launch = {
    .name = "launch",
    .summary = "launches of a kernel that raises a counter, one or many in a row",
    .form = &form,
    .batch_unit = "launches",
    .cost = cost,
    .describe = describe,
    .instance_size = sizeof(struct launch_instance),
    .init = init,
    .iterate = iterate,
    .result = result,
    .checks = &checks,
    .artifacts = artifacts,
    .finish = finish,
};

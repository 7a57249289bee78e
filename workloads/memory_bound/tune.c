/*
 * tune - how many lanes a group has, and how many groups a launch, measured on the device.
 *
 * First the group sizes that the backend proposes, from small to large, then a few numbers of
 * groups for the best of them. The best launch of a few counts; a larger choice replaces a smaller
 * one only when it is faster by TUNE_MARGIN, so that noise does not choose.
 */
#include <stdio.h>

#include "harness/core/clock.h"
#include "workloads/memory_bound/memory_bound.h"

#define TUNE_MARGIN 0.03
#define TUNE_LAUNCHES 3
#define TUNE_BUDGET_NS 300000000 /* after which each candidate has one timed launch */
#define LANES_CANDIDATES_MAX 8
#define UNITS_WHEN_NOT_TOLD 16

/* Groups for each compute unit; the first is used while lanes are compared. */
static const uint32_t groups_per_unit[] = {16, 4, 64};
#define GROUPS_CANDIDATES (sizeof(groups_per_unit) / sizeof(groups_per_unit[0]))

static enum status load_module(struct memory_instance *instance, uint32_t lanes,
                               struct module **ret, struct error *err)
{
    static const char *const names[][3] = {
        {"store_f32", "LOAD_F32", "STORE_F32"},
        {"store_bf16", "LOAD_BF16", "STORE_BF16"},
        {"store_f16", "LOAD_F16", "STORE_F16"},
    };
    const enum dtype storage = instance->data.storage;
    const char *const *chosen = names[storage == DTYPE_BF16 ? 1 : storage == DTYPE_F16 ? 2 : 0];
    const struct module_define defines[] = {
        {"storage", chosen[0]},
        {"LOAD", chosen[1]},
        {"STORE", chosen[2]},
    };
    const struct memory_kernel *kernel = instance->data.kernel;
    char file[128];
    size_t last = 0;

    while (last + 1 < 4 && kernel->files[last + 1] != NULL)
        ++last;
    snprintf(file, sizeof(file), "workloads/kernels/%s", kernel->files[last]);
    return device_module_load(instance->base.device,
                              &(struct module_source){
                                  .file = file,
                                  .text = instance->text,
                                  .lanes = lanes,
                                  .defines = defines,
                                  .define_count = sizeof(defines) / sizeof(defines[0]),
                              },
                              ret, err);
}

static uint32_t groups_for(const struct memory_instance *instance, uint32_t per_unit)
{
    const struct memory_kernel *kernel = instance->data.kernel;
    const uint32_t told = instance->base.device->info.compute_units;
    const uint64_t units = kernel->units(&instance->data.sizes);
    uint64_t groups = (uint64_t)per_unit * (told == 0 ? UNITS_WHEN_NOT_TOLD : told);

    if (groups > MEMORY_GROUPS_MAX)
        groups = MEMORY_GROUPS_MAX;
    return (uint32_t)(groups < units ? groups : units);
}

/* One launch untimed, which may compile, then the best of a few. */
static enum status measure(struct memory_instance *instance, int64_t deadline_ns, int64_t *ret,
                           struct error *err)
{
    int64_t best = INT64_MAX;
    enum status status;

    for (int i = 0; i <= TUNE_LAUNCHES; ++i) {
        int64_t start = clock_monotonic_ns();
        int64_t elapsed;

        status = memory_launch(instance, err);
        if (status == STATUS_OK)
            status = device_synchronize(instance->base.device, err);
        if (status != STATUS_OK)
            return status;
        elapsed = clock_monotonic_ns() - start;
        if (i > 0 && elapsed < best)
            best = elapsed;
        if (i > 0 && clock_monotonic_ns() > deadline_ns)
            break;
    }
    *ret = best;
    return STATUS_OK;
}

static bool already_measured(const struct memory_instance *instance)
{
    for (size_t i = 0; i < instance->tuning_count; ++i)
        if (instance->tunings[i].lanes == instance->lanes &&
            instance->tunings[i].groups == instance->groups)
            return true;
    return false;
}

static enum status try_current(struct memory_instance *instance, int64_t deadline_ns,
                               struct error *err)
{
    struct memory_tuning *tuning = &instance->tunings[instance->tuning_count];
    enum status status;

    if (instance->tuning_count == MEMORY_TRIALS_MAX || already_measured(instance))
        return STATUS_OK;
    status = measure(instance, deadline_ns, &tuning->elapsed_ns, err);
    if (status != STATUS_OK)
        return status;
    tuning->lanes = instance->lanes;
    tuning->groups = instance->groups;
    ++instance->tuning_count;
    return STATUS_OK;
}

/*
 * Smallest candidate (lanes, then groups) that no other beats by the margin, among those with
 * `lanes`; 0: among all.
 */
static const struct memory_tuning *best_tuning(const struct memory_instance *instance,
                                               uint32_t lanes)
{
    const struct memory_tuning *best = NULL;
    int64_t fastest = INT64_MAX;

    for (size_t i = 0; i < instance->tuning_count; ++i)
        if ((lanes == 0 || instance->tunings[i].lanes == lanes) &&
            instance->tunings[i].elapsed_ns < fastest)
            fastest = instance->tunings[i].elapsed_ns;
    for (size_t i = 0; i < instance->tuning_count; ++i) {
        const struct memory_tuning *tuning = &instance->tunings[i];

        if ((lanes != 0 && tuning->lanes != lanes) ||
            (double)tuning->elapsed_ns > (double)fastest * (1.0 + TUNE_MARGIN))
            continue;
        if (best == NULL || tuning->lanes < best->lanes ||
            (tuning->lanes == best->lanes && tuning->groups < best->groups))
            best = tuning;
    }
    return best;
}

/* Measures one group size and keeps its module when it is the best so far. */
static enum status try_lanes(struct memory_instance *instance, uint32_t lanes,
                             struct module **best_module, int64_t deadline_ns, struct error *err)
{
    struct module *module;
    enum status status;

    status = load_module(instance, lanes, &module, err);
    if (status != STATUS_OK)
        return status;
    instance->module = module;
    instance->lanes = lanes;
    instance->groups = groups_for(instance, groups_per_unit[0]);
    status = try_current(instance, deadline_ns, err);
    instance->module = NULL;
    if (status == STATUS_OK && best_tuning(instance, 0)->lanes == lanes) {
        device_module_unload(instance->base.device, *best_module);
        *best_module = module;
    } else {
        device_module_unload(instance->base.device, module);
    }
    return status;
}

/* Candidates ascend: one that takes twice the best's time shows that larger ones lose too. */
static bool is_hopeless(const struct memory_instance *instance)
{
    const struct memory_tuning *last = &instance->tunings[instance->tuning_count - 1];

    return last->elapsed_ns > 2 * best_tuning(instance, 0)->elapsed_ns;
}

static enum status choose_lanes(struct memory_instance *instance, int64_t deadline_ns,
                                struct error *err)
{
    const struct memory_parameters *parameters = instance->base.work.workload->parameters;
    uint32_t candidates[LANES_CANDIDATES_MAX] = {parameters->lanes};
    struct module *best = NULL;
    size_t count = 1;
    enum status status = STATUS_OK;

    if (parameters->lanes == 0)
        count = device_lane_candidates(instance->base.device, candidates, LANES_CANDIDATES_MAX);
    for (size_t i = 0; i < count && status == STATUS_OK; ++i) {
        status = try_lanes(instance, candidates[i], &best, deadline_ns, err);
        if (status == STATUS_OK && is_hopeless(instance))
            break;
    }
    if (status != STATUS_OK) {
        device_module_unload(instance->base.device, best);
        return status;
    }
    instance->module = best;
    instance->lanes = best_tuning(instance, 0)->lanes;
    return STATUS_OK;
}

enum status memory_tune(struct memory_instance *instance, struct error *err)
{
    int64_t deadline_ns = clock_monotonic_ns() + TUNE_BUDGET_NS;
    enum status status;

    status = choose_lanes(instance, deadline_ns, err);
    for (size_t i = 0; i < GROUPS_CANDIDATES && status == STATUS_OK; ++i) {
        instance->groups = groups_for(instance, groups_per_unit[i]);
        status = try_current(instance, deadline_ns, err);
    }
    if (status != STATUS_OK)
        return status;
    /* Only the chosen group size has its module loaded. */
    instance->groups = best_tuning(instance, instance->lanes)->groups;
    return STATUS_OK;
}

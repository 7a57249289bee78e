/*
 * tune - how many lanes a group has, and how many groups a launch: as it was chosen before, or
 * measured on the device.
 *
 * First the group sizes that the backend proposes, then a few numbers of groups for the best of
 * them. Candidates take turns, so that a changing machine speed affects all alike; the best time of
 * each counts, and a larger choice replaces a smaller one only when it is faster by a margin, so
 * that noise does not decide: of a GPU a small one, since a time there is that of launches enough
 * for the start and the wait to be a small part of it. A candidate that fails is left out, and
 * noted with the reason; only when all fail is that an error.
 */
#include <stdio.h>

#include "harness/core/clock.h"
#include "workloads/memory_bound/memory_bound.h"
#include "workloads/storage.h"

#define TUNE_MARGIN 0.03
#define TUNE_MARGIN_GPU 0.005
#define TUNE_TIME_GPU_NS 1000000 /* of a candidate's launches in a round, at least */
#define TUNE_ROUNDS 64
#define TUNE_BUDGET_NS                                                                             \
    300000000           /* of lanes, and of groups; each candidate has one timed launch            \
                         */
#define TUNE_HOPELESS 2 /* a candidate so many times slower than the best drops out */
#define LANES_CANDIDATES_MAX 8
#define UNITS_WHEN_UNKNOWN 16

/* Groups for each compute unit; the first is used while lanes are compared. */
#define GROUPS_CANDIDATES 4
static const uint32_t groups_per_unit[][GROUPS_CANDIDATES] = {{16, 4, 64, 256}, {64, 16, 256, 4}};

static bool is_gpu(const struct memory_instance *instance)
{
    return instance->base.device->info.type == DEVICE_GPU;
}

static enum status load_module(struct memory_instance *instance, uint32_t lanes,
                               struct module **ret, struct error *err)
{
    struct module_define defines[STORAGE_DEFINES + STORAGE_PACK_DEFINES + 1];
    size_t define_count = STORAGE_DEFINES + STORAGE_PACK_DEFINES;
    const struct memory_kernel *kernel = instance->data.kernel;
    const uint64_t columns =
        kernel->shape == MEMORY_SHAPE_ELEMENTS ? 0 : instance->data.sizes.columns;
    char file[128];
    size_t last = 0;

    while (last + 1 < 4 && kernel->files[last + 1] != NULL)
        ++last;
    snprintf(file, sizeof(file), "workloads/kernels/%s", kernel->files[last]);
    storage_defines(instance->data.storage, defines);
    storage_pack_defines(instance->data.storage, columns, lanes, defines + STORAGE_DEFINES);
    if (instance->data.storage == DTYPE_F64)
        defines[define_count++] = (struct module_define){"NUMBER_F64", "1"};
    return device_module_load(instance->base.device,
                              &(struct module_source){
                                  .file = file,
                                  .text = instance->text,
                                  .lanes = lanes,
                                  .defines = defines,
                                  .define_count = define_count,
                              },
                              ret, err);
}

static uint32_t groups_for(const struct memory_instance *instance, size_t candidate)
{
    const uint32_t per_unit = groups_per_unit[is_gpu(instance)][candidate];
    const struct memory_kernel *kernel = instance->data.kernel;
    const uint32_t reported = instance->base.device->info.compute_units;
    const uint64_t units = kernel->units(&instance->data.sizes);
    uint64_t groups = (uint64_t)per_unit * (reported == 0 ? UNITS_WHEN_UNKNOWN : reported);

    if (groups > MEMORY_GROUPS_MAX)
        groups = MEMORY_GROUPS_MAX;
    return (uint32_t)(groups < units ? groups : units);
}

struct candidate {
    uint32_t lanes, groups;
    struct module *module;
    int64_t best_ns; /* INT64_MAX: not measured */
    struct error refusal;
    bool out; /* it failed, or is hopeless */
};

/* Time of one of `launches` launches. */
static enum status time_launches(struct memory_instance *instance,
                                 const struct candidate *candidate, uint32_t launches,
                                 int64_t *ret_ns, struct error *err)
{
    int64_t start = clock_monotonic_ns();
    enum status status = STATUS_OK;

    instance->module = candidate->module;
    instance->lanes = candidate->lanes;
    instance->groups = candidate->groups;
    for (uint32_t i = 0; i < launches && status == STATUS_OK; ++i)
        status = memory_launch(instance, err);
    if (status == STATUS_OK)
        status = device_synchronize(instance->base.device, err);
    instance->module = NULL;
    *ret_ns = (clock_monotonic_ns() - start) / launches;
    return status;
}

/* Leaves out what failed; an error only where no candidate can continue. */
static enum status leave_out(struct candidate *candidate, struct error *err)
{
    candidate->out = true;
    candidate->best_ns = INT64_MAX;
    if (candidate->refusal.code == STATUS_DEVICE_LOST)
        return error_set(err, STATUS_DEVICE_LOST, "%s", candidate->refusal.message);
    return STATUS_OK;
}

static int64_t fastest_of(const struct candidate *candidates, size_t count)
{
    int64_t fastest = INT64_MAX;

    for (size_t i = 0; i < count; ++i)
        if (candidates[i].best_ns < fastest)
            fastest = candidates[i].best_ns;
    return fastest;
}

/* How often a candidate is launched in a round, by the latest time of one. */
static uint32_t launches_of(const struct memory_instance *instance, int64_t ns)
{
    const int64_t wanted = is_gpu(instance) ? TUNE_TIME_GPU_NS : 0;

    return ns >= wanted ? 1 : (uint32_t)(wanted / (ns > 0 ? ns : 1) + 1);
}

/* The first round is not counted: a first launch may compile. */
static enum status take_turns(struct memory_instance *instance, struct candidate *candidates,
                              size_t count, struct error *err)
{
    const int64_t deadline_ns = clock_monotonic_ns() + TUNE_BUDGET_NS;
    uint32_t launches = 1;

    for (int round = -1; round < TUNE_ROUNDS; ++round) {
        for (size_t i = 0; i < count; ++i) {
            struct candidate *candidate = &candidates[i];
            int64_t ns;

            if (candidate->out)
                continue;
            if (time_launches(instance, candidate, launches, &ns, &candidate->refusal) != STATUS_OK)
                TRY(leave_out(candidate, err));
            else if (round >= 0 && ns < candidate->best_ns)
                candidate->best_ns = ns;
        }
        if (round < 0)
            continue;
        launches = launches_of(instance, fastest_of(candidates, count));
        for (size_t i = 0; i < count; ++i)
            candidates[i].out |=
                candidates[i].best_ns / TUNE_HOPELESS > fastest_of(candidates, count);
        if (clock_monotonic_ns() > deadline_ns)
            break;
    }
    return STATUS_OK;
}

static void note(struct memory_instance *instance, const struct candidate *candidates, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        workload_note_candidate(
            instance->candidates,
            json_pack("{s:s, s:I, s:I}", "family", instance->data.kernel->name, "lanes",
                      (json_int_t)candidates[i].lanes, "groups", (json_int_t)candidates[i].groups),
            candidates[i].best_ns,
            candidates[i].refusal.code == STATUS_OK ? NULL : &candidates[i].refusal);
}

/* Smallest candidate (lanes, then groups) that no other beats by the margin; `count`: none runs. */
static size_t best_of(const struct candidate *candidates, size_t count, double margin)
{
    const int64_t fastest = fastest_of(candidates, count);
    size_t best = count;

    for (size_t i = 0; i < count && fastest != INT64_MAX; ++i) {
        if ((double)candidates[i].best_ns > (double)fastest * (1.0 + margin))
            continue;
        if (best == count || candidates[i].lanes < candidates[best].lanes ||
            (candidates[i].lanes == candidates[best].lanes &&
             candidates[i].groups < candidates[best].groups))
            best = i;
    }
    return best;
}

static double margin_of(const struct memory_instance *instance)
{
    return is_gpu(instance) ? TUNE_MARGIN_GPU : TUNE_MARGIN;
}

static enum status none_runs(const struct memory_instance *instance,
                             const struct candidate *candidates, size_t count, struct error *err)
{
    struct error kept = ERROR_INIT;

    for (size_t i = 0; i < count; ++i)
        workload_keep_refusal(&kept, &candidates[i].refusal);
    if (count == 1)
        return error_set(err, kept.code, "%s", kept.message);
    return error_set(err, kept.code, "%s: none of %zu sizes of groups runs: %s",
                     instance->data.kernel->name, count, kept.message);
}

/* Hands the best one's module to the instance. */
static enum status choose_lanes(struct memory_instance *instance, struct error *err)
{
    const struct memory_parameters *parameters = instance->base.work.workload->parameters;
    uint32_t lanes[LANES_CANDIDATES_MAX] = {parameters->lanes};
    struct candidate candidates[LANES_CANDIDATES_MAX] = {0};
    size_t count = 1, best;
    enum status status = STATUS_OK;

    if (parameters->lanes == 0)
        count = device_lane_candidates(instance->base.device, lanes, LANES_CANDIDATES_MAX);
    for (size_t i = 0; i < count && status == STATUS_OK; ++i) {
        candidates[i] = (struct candidate){
            .lanes = lanes[i],
            .groups = groups_for(instance, 0),
            .best_ns = INT64_MAX,
        };
        if (load_module(instance, lanes[i], &candidates[i].module, &candidates[i].refusal) !=
            STATUS_OK)
            status = leave_out(&candidates[i], err);
    }
    if (status == STATUS_OK && count > 1) {
        status = take_turns(instance, candidates, count, err);
        note(instance, candidates, count);
    }
    best = count == 1 && !candidates[0].out ? 0 : best_of(candidates, count, margin_of(instance));
    if (status == STATUS_OK && best == count)
        status = none_runs(instance, candidates, count, err);
    for (size_t i = 0; i < count; ++i)
        if (i != best)
            device_module_unload(instance->base.device, candidates[i].module);
    if (best < count) { /* also on failure: `finish` unloads it */
        instance->module = candidates[best].module;
        instance->lanes = candidates[best].lanes;
    }
    return status;
}

static enum status choose_groups(struct memory_instance *instance, struct error *err)
{
    struct module *module = instance->module;
    struct candidate candidates[GROUPS_CANDIDATES] = {0};
    size_t count = 0, best;
    enum status status;

    for (size_t i = 0; i < GROUPS_CANDIDATES; ++i) {
        const uint32_t groups = groups_for(instance, i);
        bool known = false;

        for (size_t k = 0; k < count; ++k)
            known |= candidates[k].groups == groups;
        if (!known)
            candidates[count++] = (struct candidate){
                .lanes = instance->lanes,
                .groups = groups,
                .module = module,
                .best_ns = INT64_MAX,
            };
    }
    status = take_turns(instance, candidates, count, err);
    instance->module = module;
    TRY(status);
    note(instance, candidates, count);
    best = best_of(candidates, count, margin_of(instance));
    if (best == count)
        return none_runs(instance, candidates, count, err);
    instance->groups = candidates[best].groups;
    return STATUS_OK;
}

static enum status take_choices(struct memory_instance *instance, const json_t *choices,
                                struct error *err)
{
    const struct memory_parameters *parameters = instance->base.work.workload->parameters;

    if (!workload_choice(choices, "lanes", UINT16_MAX, &instance->lanes) ||
        !workload_choice(choices, "groups", MEMORY_GROUPS_MAX, &instance->groups) ||
        (parameters->lanes != 0 && parameters->lanes != instance->lanes))
        return error_set(err, STATUS_INVALID,
                         "%s: the choices given are not `lanes` and `groups` of this kernel",
                         instance->data.kernel->name);
    return load_module(instance, instance->lanes, &instance->module, err);
}

enum status memory_tune(struct memory_instance *instance, struct error *err)
{
    instance->candidates = json_array();
    if (instance->candidates == NULL)
        return error_no_memory(err);
    if (instance->base.work.choices != NULL)
        return take_choices(instance, instance->base.work.choices, err);
    TRY(choose_lanes(instance, err));
    return choose_groups(instance, err);
}

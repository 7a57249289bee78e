#include "workloads/ops/internal.h"

#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "workloads/kernel_text.h"
#include "workloads/storage.h"

#define GROUPS_PER_UNIT_CPU 4 /* enough to even out, few enough to keep launches cheap */
#define GROUPS_PER_UNIT_GPU 64

static const char *const row_files[] = {
    "pack.h",
    "fold.h",
    "memory_exp.h",
    "transformer_norm.h",
    "transformer_attention.h",
    "transformer_gelu.h",
    "transformer_embedding.h",
    "transformer_scaling.h",
    "transformer_loss.h",
    "transformer_adamw.h",
    "transformer_int8.h",
    "transformer_generation.h",
};

static const char *const stack_files[] = {"pack.h", "fold.h", "memory_exp.h", "stack.h"};
static const char *const stack_backward_files[] = {"pack.h", "fold.h", "memory_exp.h",
                                                   "stack_backward.h"};

static const char *const experts_files[] = {"pack.h", "fold.h", "memory_exp.h", "experts.h"};
static const char *const experts_backward_files[] = {"pack.h", "fold.h", "memory_exp.h",
                                                     "experts_backward.h"};

static const struct {
    const char *name; /* in facts */
    const char *const *files;
    size_t file_count;
    const char *path; /* in provenance */
} texts[OPS_MODULES] = {
    [OPS_ROWS] = {"rows", row_files, sizeof(row_files) / sizeof(row_files[0]),
                  "workloads/kernels/transformer_*.h"},
    [OPS_STACK] = {"stack", stack_files, sizeof(stack_files) / sizeof(stack_files[0]),
                   "workloads/kernels/stack.h"},
    [OPS_CACHE] = {.name = "cache"},   /* op_cache.c compiles it */
    [OPS_PACKED] = {.name = "packed"}, /* op_packed.c compiles it */
    [OPS_STACK_BACKWARD] = {"stack_backward", stack_backward_files,
                            sizeof(stack_backward_files) / sizeof(stack_backward_files[0]),
                            "workloads/kernels/stack_backward.h"},
    [OPS_EXPERTS] = {"experts", experts_files, sizeof(experts_files) / sizeof(experts_files[0]),
                     "workloads/kernels/experts.h"},
    [OPS_EXPERTS_BACKWARD] = {"experts_backward", experts_backward_files,
                              sizeof(experts_backward_files) / sizeof(experts_backward_files[0]),
                              "workloads/kernels/experts_backward.h"},
};

enum status ops_compile(const struct ops *ops, enum ops_module module, uint32_t lanes,
                        struct module **ret, struct error *err)
{
    struct module_define defines[STORAGE_DEFINES + STORAGE_PACK_DEFINES];
    const struct module_source source = {.file = texts[module].path,
                                         .lanes = lanes,
                                         .defines = defines,
                                         .define_count = STORAGE_DEFINES + STORAGE_PACK_DEFINES};

    storage_defines(ops->storage, defines);
    storage_pack_defines(ops->storage, ops->width, lanes, defines + STORAGE_DEFINES);
    return kernel_text_load(ops->device, texts[module].files, texts[module].file_count, source, ret,
                            err);
}

enum status ops_launch(struct ops *ops, enum ops_module module, const char *kernel, uint64_t wanted,
                       const struct kernel_arg *args, size_t count, struct error *err)
{
    struct kernel_launch launch = {
        .module = ops->modules[module],
        .kernel = kernel,
        .groups = {wanted < ops->groups_max ? (uint32_t)wanted : ops->groups_max, 1, 1},
        .args = args,
        .arg_count = count,
    };

    return device_kernel_launch(ops->device, &launch, err);
}

enum status ops_create(struct device *device, const struct workload_case *work, enum dtype storage,
                       uint64_t width, struct ops **ret, struct error *err)
{
    uint32_t units = device->info.compute_units ? device->info.compute_units : 1;
    CLEANUP(ops_drop) struct ops *ops = NULL;

    if (!storage_is_known(storage))
        return error_set(err, STATUS_UNSUPPORTED, "the transformer has no storage in %s",
                         dtype_name(storage));
    ops = calloc(1, sizeof(*ops));
    if (!ops)
        return error_no_memory(err);
    ops->device = device;
    ops->storage = storage;
    ops->width = width;
    ops->groups_max =
        units * (device->info.type == DEVICE_GPU ? GROUPS_PER_UNIT_GPU : GROUPS_PER_UNIT_CPU);
    ops->candidates = json_array();
    if (!ops->candidates)
        return error_no_memory(err);
    TRY(gemms_create(device, work, &ops->gemms, err));
    TRY(ops_attention_create(device, work, ops->candidates, &ops->attention, err));
    TRY(ops_choose(ops, work->choices, err));
    *ret = ops;
    ops = NULL;
    return STATUS_OK;
}

void ops_destroy(struct ops *ops)
{
    if (!ops)
        return;
    for (size_t i = 0; i < OPS_MODULES; i++)
        device_module_unload(ops->device, ops->modules[i]);
    device_buffer_free(ops->partial);
    device_buffer_free(ops->wide);
    device_buffer_free(ops->experts);
    ops_attention_destroy(ops->attention);
    gemms_destroy(ops->gemms);
    json_decref(ops->candidates);
    free(ops);
}

void ops_drop(struct ops **ops)
{
    ops_destroy(*ops);
}

void ops_seal(struct ops *ops)
{
    if (!ops)
        return;
    gemms_seal(ops->gemms);
    ops_attention_seal(ops->attention);
}

enum status op_gemm(struct ops *ops, const struct op_gemm *gemm, struct error *err)
{
    return gemms_run(ops->gemms, gemm, err);
}

size_t ops_artifacts(struct ops *ops, struct module_artifact *ret, size_t capacity)
{
    size_t count = gemms_artifacts(ops->gemms, ret, capacity);

    for (size_t i = 0; i < OPS_MODULES && count < capacity; i++)
        if (ops->modules[i] &&
            device_module_describe(ops->device, ops->modules[i], &ret[count], NULL) == STATUS_OK)
            count++;
    return count < capacity ? count + ops_attention_artifact(ops, &ret[count]) : count;
}

json_t *ops_choices(const struct ops *ops)
{
    return json_pack("{s:o*, s:{s:I}, s:o*}", "gemm", gemms_choices(ops->gemms), "rows", "lanes",
                     (json_int_t)ops->lanes[OPS_ROWS], "attention", ops_attention_choices(ops));
}

json_t *ops_facts(const struct ops *ops)
{
    json_t *facts = gemms_facts(ops->gemms), *lanes = json_object();
    json_t *gemm = gemms_choices(ops->gemms), *candidates = json_array();
    json_t *attention = ops_attention_facts(ops);

    if (gemm)
        json_object_set(lanes, "gemm", json_object_get(gemm, "lanes"));
    json_decref(gemm);
    for (size_t i = 0; i < OPS_MODULES && ops->modules[i]; i++)
        json_object_set_new(lanes, texts[i].name, json_integer(ops->lanes[i]));
    json_array_extend(candidates, json_object_get(facts, "candidates"));
    json_array_extend(candidates, ops->candidates);
    json_object_set_new(facts, "lanes", lanes);
    json_object_set_new(facts, "candidates", candidates);
    if (attention)
        json_object_set_new(facts, "attention", attention);
    return facts;
}

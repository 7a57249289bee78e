#include "workloads/ops/internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "workloads/kernel_text.h"
#include "workloads/storage.h"

#define GROUPS_PER_UNIT_CPU 4 /* enough to even out, few enough to keep launches cheap */
#define GROUPS_PER_UNIT_GPU 64

static const char *const gemm_files[] = {"gemm.h"};
static const char *const row_files[] = {
    "fold.h",
    "memory_exp.h",
    "transformer_norm.h",
    "transformer_attention.h",
    "transformer_gelu.h",
    "transformer_embedding.h",
    "transformer_scaling.h",
    "transformer_loss.h",
    "transformer_adamw.h",
};

static const struct {
    const char *name; /* in facts */
    const char *const *files;
    size_t file_count;
    const char *path; /* in provenance */
} texts[OPS_MODULES] = {
    [OPS_GEMM] = {"gemm", gemm_files, 1, "workloads/kernels/gemm.h"},
    [OPS_ROWS] = {"rows", row_files, sizeof(row_files) / sizeof(row_files[0]),
                  "workloads/kernels/transformer_*.h"},
};

enum status ops_compile(struct device *device, enum ops_module module, enum dtype storage,
                        uint32_t lanes, const struct ops_tile *tile, struct module **ret,
                        struct error *err)
{
    char values[5][16];
    struct module_define defines[] = {{"REG_M", values[0]},
                                      {lanes == 1 ? "REG_V" : "REG_N", values[1]},
                                      {"TILE_M", values[2]},
                                      {"TILE_N", values[3]},
                                      {"BLOCK_K", values[4]}};
    struct module_define by_storage[STORAGE_DEFINES];
    struct module_source source = {.file = texts[module].path, .lanes = lanes};
    char *text = NULL;
    enum status status;

    status = kernel_text_join(texts[module].files, texts[module].file_count, &text, err);
    if (status != STATUS_OK)
        return status;
    if (tile) {
        const uint32_t numbers[] = {tile->reg_m, tile->reg_n, tile->tile_m, tile->tile_n,
                                    tile->block_k};

        for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
            snprintf(values[i], sizeof(values[i]), "%u", numbers[i]);
        source.defines = defines;
        source.define_count = sizeof(defines) / sizeof(defines[0]);
    } else {
        storage_defines(storage, by_storage);
        source.defines = by_storage;
        source.define_count = STORAGE_DEFINES;
    }
    source.text = text;
    status = device_module_load(device, &source, ret, err);
    free(text);
    return status;
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

enum status ops_create(struct device *device, enum precision precision, enum arm arm,
                       const json_t *choices, struct ops **ret, struct error *err)
{
    uint32_t units = device->info.compute_units ? device->info.compute_units : 1;
    struct ops *ops;
    enum status status;

    if (precision != PRECISION_FP32)
        return error_set(err, STATUS_UNSUPPORTED,
                         "the transformer runs in fp32; %s is not built in yet",
                         precision_name(precision));
    if (arm != ARM_PORTABLE)
        return error_set(err, STATUS_UNSUPPORTED,
                         "the transformer has no %s arm yet; use the portable one", arm_name(arm));
    ops = calloc(1, sizeof(*ops));
    if (!ops)
        return error_set(err, STATUS_NO_MEMORY, "transformer: out of memory");
    ops->device = device;
    ops->arm = arm;
    ops->storage = precision_dtype(precision);
    ops->groups_max =
        units * (device->info.type == DEVICE_GPU ? GROUPS_PER_UNIT_GPU : GROUPS_PER_UNIT_CPU);
    ops->candidates = json_array();
    status = ops->candidates ? ops_choose(ops, choices, err)
                             : error_set(err, STATUS_NO_MEMORY, "transformer: out of memory");
    if (status != STATUS_OK) {
        ops_destroy(ops);
        return status;
    }
    *ret = ops;
    return STATUS_OK;
}

void ops_destroy(struct ops *ops)
{
    if (!ops)
        return;
    for (size_t i = 0; i < OPS_MODULES; i++)
        device_module_unload(ops->device, ops->modules[i]);
    json_decref(ops->candidates);
    free(ops);
}

size_t ops_artifacts(struct ops *ops, struct module_artifact *ret, size_t capacity)
{
    size_t count = 0;

    for (size_t i = 0; i < OPS_MODULES && count < capacity; i++)
        if (device_module_describe(ops->device, ops->modules[i], &ret[count], NULL) == STATUS_OK)
            count++;
    return count;
}

json_t *ops_choices(const struct ops *ops)
{
    return json_pack("{s:{s:I, s:I}, s:{s:I}}", "gemm", "lanes", (json_int_t)ops->lanes[OPS_GEMM],
                     "register_rows", (json_int_t)ops->tile.reg_m, "rows", "lanes",
                     (json_int_t)ops->lanes[OPS_ROWS]);
}

json_t *ops_facts(const struct ops *ops)
{
    json_t *lanes = json_object();

    for (size_t i = 0; i < OPS_MODULES; i++)
        json_object_set_new(lanes, texts[i].name, json_integer(ops->lanes[i]));
    return json_pack("{s:o, s:{s:I, s:I, s:I, s:I, s:I}, s:O}", "lanes", lanes, "gemm_tile", "rows",
                     (json_int_t)ops->tile.tile_m, "columns", (json_int_t)ops->tile.tile_n, "depth",
                     (json_int_t)ops->tile.block_k, "register_rows", (json_int_t)ops->tile.reg_m,
                     "register_columns",
                     (json_int_t)ops->tile.reg_n * (ops->tile.lanes == 1 ? 16 : 1), "candidates",
                     ops->candidates);
}

#include "workloads/ops/gemm.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/member.h"
#include "workloads/ops/gemm_internal.h"

enum dtype gemm_sum_type(enum precision precision)
{
    return precision == PRECISION_FP64   ? DTYPE_F64
           : precision == PRECISION_INT8 ? DTYPE_I32
                                         : DTYPE_F32;
}

enum precision gemm_precision(const struct gemms *gemms, const struct op_gemm *gemm)
{
    switch (gemm->a.type) {
    case DTYPE_F64:
        return PRECISION_FP64;
    case DTYPE_BF16:
        return PRECISION_BF16;
    case DTYPE_F16:
        return PRECISION_FP16;
    case DTYPE_E4M3:
    case DTYPE_E4M3_FNUZ:
        return PRECISION_FP8_E4M3;
    case DTYPE_E5M2:
    case DTYPE_E5M2_FNUZ:
        return PRECISION_FP8_E5M2;
    case DTYPE_I8:
        return PRECISION_INT8;
    case DTYPE_E2M1:
        return PRECISION_FP4;
    default:
        return gemms->precision == PRECISION_TF32 ? PRECISION_TF32 : PRECISION_FP32;
    }
}

enum dtype gemm_bias_type(const struct op_gemm *gemm)
{
    return gemm->bias_type == DTYPE_F64 && gemm->a.type != DTYPE_F64 ? DTYPE_F32 : gemm->bias_type;
}

enum status gemms_create(struct device *device, const struct workload_case *work,
                         struct gemms **ret, struct error *err)
{
    struct gemms *gemms;
    enum status status = STATUS_OK;

    if (work->implementation == IMPLEMENTATION_VENDOR &&
        !device_has_operation(device, OPERATION_GEMM))
        return error_set(err, STATUS_UNSUPPORTED,
                         "%s has no vendor GEMM, so no vendor implementation: %s",
                         device->info.name, device_no_gemm_reason(device));
    gemms = calloc(1, sizeof(*gemms));
    if (!gemms)
        return error_no_memory(err);
    gemms->device = device;
    gemms->precision = work->precision;
    gemms->implementation = work->implementation;
    gemms->emulate = work->emulate;
    gemms->candidates = json_array();
    if (!gemms->candidates)
        status = error_no_memory(err);
    else if (work->implementation == IMPLEMENTATION_PORTABLE)
        status = gemm_choose(gemms, work->choices, err);
    else
        status =
            operations_create(device, work, "gemm", gemms->candidates, &gemms->operations, err);
    if (status != STATUS_OK) {
        gemms_destroy(gemms);
        return status;
    }
    *ret = gemms;
    return STATUS_OK;
}

void gemms_destroy(struct gemms *gemms)
{
    if (!gemms)
        return;
    for (size_t i = 0; i < gemms->variant_count; i++)
        device_module_unload(gemms->device, gemms->variants[i].module);
    operations_destroy(gemms->operations);
    free(gemms->variants);
    json_decref(gemms->candidates);
    free(gemms);
}

enum status gemms_run(struct gemms *gemms, const struct op_gemm *gemm, struct error *err)
{
    return gemms->implementation == IMPLEMENTATION_VENDOR ? gemm_vendor_run(gemms, gemm, err)
                                                          : gemm_portable_run(gemms, gemm, err);
}

void gemms_seal(struct gemms *gemms)
{
    gemms->sealed = true;
    if (gemms->operations)
        operations_seal(gemms->operations);
}

enum implementation gemms_implementation(const struct gemms *gemms)
{
    return gemms->implementation;
}

size_t gemms_artifacts(struct gemms *gemms, struct module_artifact *ret, size_t capacity)
{
    size_t count = 0;

    for (size_t i = 0; i < gemms->variant_count && count < capacity; i++)
        if (device_module_describe(gemms->device, gemms->variants[i].module, &ret[count], NULL) ==
            STATUS_OK)
            count++;
    return count;
}

json_t *gemms_choices(const struct gemms *gemms)
{
    if (gemms->implementation == IMPLEMENTATION_VENDOR)
        return operations_choices(gemms->operations);
    return json_pack("{s:I, s:I}", "lanes", (json_int_t)gemms->tile.lanes, "register_rows",
                     (json_int_t)gemms->tile.reg_m);
}

/* ---- facts ---- */

json_t *gemm_info_json(const struct operation_info *info)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:I}", "support", support_name(info->support),
                     "method", info->method, "library", info->library, "version", info->version,
                     "algorithm", info->algorithm, "workspace_bytes",
                     (json_int_t)info->workspace_bytes);
}

static json_t *entry_json(const struct prepared_operation *entry)
{
    const struct gemm_shape *shape = &entry->operation->desc.gemm;
    struct operation_info info = {0};
    json_t *json;

    operation_describe(entry->operation, &info, NULL);
    json = gemm_info_json(&info);
    if (json && info.weights[0])
        json_object_update_new(json, json_pack("{s:s, s:I}", "weights", info.weights,
                                               "weights_bytes", (json_int_t)info.weights_bytes));
    if (json && info.algorithms > 0)
        json_object_update_new(json,
                               json_pack("{s:I, s:I}", "algorithms", (json_int_t)info.algorithms,
                                         "tried", (json_int_t)entry->tried));
    if (json)
        json_object_update_new(
            json, json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:b, s:b}", "a",
                            dtype_name(shape->a.type), "b", dtype_name(shape->b.type), "c",
                            dtype_name(shape->c.type), "m", (json_int_t)shape->m, "n",
                            (json_int_t)shape->n, "k", (json_int_t)shape->k, "batch",
                            (json_int_t)(shape->outer * shape->inner), "a_transposed",
                            shape->a.transpose, "b_transposed", shape->b.transpose));
    return json;
}

static json_t *variant_json(const struct gemm_variant *variant, enum precision precision)
{
    struct operation_info info;
    json_t *json;

    gemm_portable_support(NULL, precision, &info);
    snprintf(info.algorithm, sizeof(info.algorithm), "workloads/kernels/gemm.h");
    json = gemm_info_json(&info);
    if (json)
        json_object_update_new(json, json_pack("{s:s, s:s, s:s}", "a", dtype_name(variant->types.a),
                                               "b", dtype_name(variant->types.b), "c",
                                               dtype_name(variant->types.c)));
    return json;
}

/* A text that differs among GEMMs becomes the list of all, each once, joined by " + ". */
static void join_words(json_t *gemm, const json_t *gemms, const char *key)
{
    struct text words;
    size_t i, j;
    json_t *entry;

    text_init(&words);
    json_array_foreach(gemms, i, entry)
    {
        const char *word = member_string(entry, key);
        bool known = !word || !word[0];

        for (j = 0; j < i && !known; j++)
            known = !strcmp(word, member_string(json_array_get(gemms, j), key));
        if (!known)
            text_append_format(&words, "%s%s", words.length ? " + " : "", word);
    }
    json_object_set_new(gemm, key, words.length ? json_string(words.data) : json_null());
    text_finish(&words);
}

static int weakness(const char *support)
{
    static const char *const order[] = {"native", "emulated", "unknown", "absent"};

    for (int i = 0; i < 4; i++)
        if (support && !strcmp(support, order[i]))
            return i;
    return 3;
}

json_t *gemm_summary_json(enum implementation implementation, const json_t *list)
{
    static const char *const joined[] = {"method", "library", "version", "algorithm"};
    json_t *summary = json_object();
    const char *weakest = NULL;
    json_int_t workspace = 0;
    size_t i;
    json_t *entry;

    json_object_set_new(summary, "implementation",
                        json_string(implementation_name(implementation)));
    json_array_foreach(list, i, entry)
    {
        const char *support = member_string(entry, "support");
        const json_int_t bytes = member_integer(entry, "workspace_bytes");

        if (!weakest || weakness(support) > weakness(weakest))
            weakest = support;
        if (bytes > workspace)
            workspace = bytes;
    }
    json_object_set_new(summary, "support", json_string(weakest ? weakest : "unknown"));
    json_object_set_new(summary, "workspace_bytes", json_integer(workspace));
    for (i = 0; i < sizeof(joined) / sizeof(joined[0]); i++)
        join_words(summary, list, joined[i]);
    return summary;
}

json_t *gemms_facts(const struct gemms *gemms)
{
    const struct ops_tile *tile = &gemms->tile;
    const struct operations *vendor = gemms->operations;
    json_t *list = json_array(), *facts;

    for (size_t i = 0; i < gemms->variant_count; i++) {
        const struct op_gemm gemm = {.a = {.type = gemms->variants[i].types.a}};

        json_array_append_new(list,
                              variant_json(&gemms->variants[i], gemm_precision(gemms, &gemm)));
    }
    for (size_t i = 0; vendor && i < vendor->count; i++)
        json_array_append_new(list, entry_json(&vendor->items[i]));
    facts = json_pack("{s:o, s:o}", "gemm", gemm_summary_json(gemms->implementation, list), "gemms",
                      list);
    if (facts && (!vendor || json_array_size(gemms->candidates) > 0))
        json_object_set(facts, "candidates", gemms->candidates);
    if (!facts || vendor)
        return facts;
    json_object_set_new(facts, "gemm_tile",
                        json_pack("{s:I, s:I, s:I, s:I, s:I}", "rows", (json_int_t)tile->tile_m,
                                  "columns", (json_int_t)tile->tile_n, "depth",
                                  (json_int_t)tile->block_k, "register_rows",
                                  (json_int_t)tile->reg_m, "register_columns",
                                  (json_int_t)tile->reg_n * (tile->lanes == 1 ? 16 : 1)));
    return facts;
}

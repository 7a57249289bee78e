#include "workloads/ops/product.h"

#include <stdlib.h>
#include <string.h>

#include "workloads/ops/product_internal.h"

enum dtype product_sum_type(enum precision precision)
{
    return precision == PRECISION_FP64   ? DTYPE_F64
           : precision == PRECISION_INT8 ? DTYPE_I32
                                         : DTYPE_F32;
}

enum precision product_precision(const struct products *products, const struct op_gemm *gemm)
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
        return products->precision == PRECISION_TF32 ? PRECISION_TF32 : PRECISION_FP32;
    }
}

enum dtype product_bias_type(const struct op_gemm *gemm)
{
    return gemm->bias_type == DTYPE_F64 && gemm->a.type != DTYPE_F64 ? DTYPE_F32 : gemm->bias_type;
}

enum status products_create(struct device *device, const struct workload_case *work,
                            struct products **ret, struct error *err)
{
    struct products *products;
    enum status status = STATUS_OK;

    if (work->arm == ARM_VENDOR && !device_has_products(device))
        return error_set(err, STATUS_UNSUPPORTED,
                         "%s has no vendor matrix product, so no vendor arm: %s", device->info.name,
                         device_no_products_reason(device));
    products = calloc(1, sizeof(*products));
    if (!products)
        return error_set(err, STATUS_NO_MEMORY, "matrix product: out of memory");
    products->device = device;
    products->precision = work->precision;
    products->arm = work->arm;
    products->emulate = work->emulate;
    products->is_given = work->choices != NULL;
    products->given = json_incref(json_object_get(work->choices, "gemm"));
    products->candidates = json_array();
    if (!products->candidates)
        status = error_set(err, STATUS_NO_MEMORY, "matrix product: out of memory");
    else if (work->arm == ARM_PORTABLE)
        status = product_choose(products, work->choices, err);
    if (status != STATUS_OK) {
        products_destroy(products);
        return status;
    }
    *ret = products;
    return STATUS_OK;
}

void products_destroy(struct products *products)
{
    if (!products)
        return;
    for (size_t i = 0; i < products->variant_count; i++)
        device_module_unload(products->device, products->variants[i].module);
    for (size_t i = 0; i < products->entry_count; i++)
        device_product_destroy(products->entries[i].product);
    free(products->variants);
    free(products->entries);
    json_decref(products->candidates);
    json_decref(products->given);
    free(products);
}

enum status products_run(struct products *products, const struct op_gemm *gemm, struct error *err)
{
    return products->arm == ARM_VENDOR ? product_vendor_run(products, gemm, err)
                                       : product_portable_run(products, gemm, err);
}

void products_seal(struct products *products)
{
    products->sealed = true;
}

enum arm products_arm(const struct products *products)
{
    return products->arm;
}

size_t products_artifacts(struct products *products, struct module_artifact *ret, size_t capacity)
{
    size_t count = 0;

    for (size_t i = 0; i < products->variant_count && count < capacity; i++)
        if (device_module_describe(products->device, products->variants[i].module, &ret[count],
                                   NULL) == STATUS_OK)
            count++;
    return count;
}

json_t *products_choices(const struct products *products)
{
    if (products->arm == ARM_VENDOR)
        return product_settled(products);
    return json_pack("{s:I, s:I}", "lanes", (json_int_t)products->tile.lanes, "register_rows",
                     (json_int_t)products->tile.reg_m);
}

/* ---- facts ---- */

json_t *product_info_json(const struct product_info *info)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:I}", "support", support_name(info->support),
                     "method", info->method, "library", info->library, "version", info->version,
                     "algorithm", info->algorithm, "workspace_bytes",
                     (json_int_t)info->workspace_bytes);
}

static json_t *entry_json(const struct product_entry *entry)
{
    const struct product_shape *shape = &entry->shape;
    struct product_info info = {0};
    json_t *json;

    device_product_describe(entry->product, &info, NULL);
    json = product_info_json(&info);
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

static json_t *variant_json(const struct product_variant *variant, enum precision precision)
{
    struct product_info info;
    json_t *json;

    product_portable_support(NULL, precision, &info);
    snprintf(info.algorithm, sizeof(info.algorithm), "workloads/kernels/gemm.h");
    json = product_info_json(&info);
    if (json)
        json_object_update_new(json, json_pack("{s:s, s:s, s:s}", "a", dtype_name(variant->types.a),
                                               "b", dtype_name(variant->types.b), "c",
                                               dtype_name(variant->types.c)));
    return json;
}

/* A word that not all products share becomes all that there are, each once, joined by " + ". */
static void join_words(json_t *product, const json_t *products, const char *key)
{
    struct text words;
    size_t i, j;
    json_t *entry;

    text_init(&words);
    json_array_foreach(products, i, entry)
    {
        const char *word = json_string_value(json_object_get(entry, key));
        bool known = !word || !word[0];

        for (j = 0; j < i && !known; j++)
            known =
                !strcmp(word, json_string_value(json_object_get(json_array_get(products, j), key)));
        if (!known)
            text_append_format(&words, "%s%s", words.length ? " + " : "", word);
    }
    json_object_set_new(product, key, words.length ? json_string(words.data) : json_null());
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

json_t *product_summary_json(enum arm arm, const json_t *list)
{
    static const char *const joined[] = {"method", "library", "version", "algorithm"};
    json_t *summary = json_object();
    const char *weakest = NULL;
    json_int_t workspace = 0;
    size_t i;
    json_t *entry;

    json_object_set_new(summary, "arm", json_string(arm_name(arm)));
    json_array_foreach(list, i, entry)
    {
        const char *support = json_string_value(json_object_get(entry, "support"));
        const json_int_t bytes = json_integer_value(json_object_get(entry, "workspace_bytes"));

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

json_t *products_facts(const struct products *products)
{
    const struct ops_tile *tile = &products->tile;
    json_t *list = json_array(), *facts;

    for (size_t i = 0; i < products->variant_count; i++) {
        const struct op_gemm gemm = {.a = {.type = products->variants[i].types.a}};

        json_array_append_new(
            list, variant_json(&products->variants[i], product_precision(products, &gemm)));
    }
    for (size_t i = 0; i < products->entry_count; i++)
        json_array_append_new(list, entry_json(&products->entries[i]));
    facts = json_pack("{s:o, s:o}", "product", product_summary_json(products->arm, list),
                      "products", list);
    if (facts && (products->arm == ARM_PORTABLE || json_array_size(products->candidates) > 0))
        json_object_set(facts, "candidates", products->candidates);
    if (!facts || products->arm == ARM_VENDOR)
        return facts;
    json_object_set_new(facts, "gemm_tile",
                        json_pack("{s:I, s:I, s:I, s:I, s:I}", "rows", (json_int_t)tile->tile_m,
                                  "columns", (json_int_t)tile->tile_n, "depth",
                                  (json_int_t)tile->block_k, "register_rows",
                                  (json_int_t)tile->reg_m, "register_columns",
                                  (json_int_t)tile->reg_n * (tile->lanes == 1 ? 16 : 1)));
    return facts;
}

#include "tests/support/kernels/small_cases.h"

#include <stdlib.h>
#include <string.h>

/* Largest value left under each key; numbers that belong together divide each other. */
static const struct {
    const char *key;
    json_int_t most;
} caps[] = {
    {"elements", 1003}, {"rows", 37},      {"columns", 67},   {"vocabulary", 61},
    {"dimension", 35},  {"lookups", 41},   {"layers", 1},     {"heads", 2},
    {"width", 32},      {"context", 16},   {"mlp_ratio", 2},  {"sequence_length", 16},
    {"sequences", 1},   {"successors", 8}, {"fp32_steps", 1}, {"height", 7},
    {"channels", 6},    {"filters", 10},   {"prompt", 9},     {"output", 7},
    {"min", 2},         {"max", 8}, /* of a server's requests */
    {"kv_heads", 1},    {"head", 16},      {"times", 1},      {"experts", 7},
    {"top", 2},         {"group", 32},
};

/* Of a list of shapes; more of them differ in size alone. */
#define SHAPES_MOST 3

/* A key without a cap may be a shape of a kind that this table does not know yet. */
#define OTHER_MOST 61 /* a prime: a multiple of nothing */

static const char *const no_shapes[] = {"version", "batches", "warmup_steps",
                                        "seed",    "lanes",   "loss_steps"};

/* An image is as wide as it is high, unlike a transformer's layer. */
static json_int_t cap_of(const json_t *object, const char *key)
{
    if (strcmp(key, "width") == 0 && json_object_get(object, "height") != NULL)
        return cap_of(object, "height");
    for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++)
        if (strcmp(caps[i].key, key) == 0)
            return caps[i].most;
    for (size_t i = 0; i < sizeof(no_shapes) / sizeof(no_shapes[0]); i++)
        if (strcmp(no_shapes[i], key) == 0)
            return INT64_MAX;
    return OTHER_MOST;
}

static void shrink(json_t *object)
{
    const char *key;
    json_t *value, *item;
    size_t i;

    json_object_foreach(object, key, value)
    {
        while (json_array_size(value) > SHAPES_MOST && json_is_object(json_array_get(value, 0)))
            json_array_remove(value, json_array_size(value) - 1);
        json_array_foreach(value, i, item) shrink(item);
        if (json_is_object(value))
            shrink(value);
        else if (json_is_integer(value) && json_integer_value(value) > cap_of(object, key))
            json_integer_set(value, cap_of(object, key));
    }
}

/* Two that differ in size or constants alone are the same when small. */
static bool same_work(const struct workload *a, const struct workload *b)
{
    static const char *const names[] = {"workload", "version",   "description",
                                        "batches",  "optimizer", "verify"};
    json_t *one = json_copy(a->json), *other = json_copy(b->json);
    bool same;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        json_object_del(one, names[i]);
        json_object_del(other, names[i]);
    }
    same = one != NULL && other != NULL && a->batches[0] == b->batches[0] && json_equal(one, other);
    json_decref(one);
    json_decref(other);
    return same;
}

/* `kind` is NULL in the result where the kernels are a framework's. */
static enum status load_small(const struct catalog_entry *entry, struct workload *ret,
                              struct error *err)
{
    struct workload whole;
    enum status status = workload_parse(entry->name, entry->yaml, entry->length, &whole, err);
    bool ours;
    json_t *small;

    if (status != STATUS_OK)
        return status;
    ours = !whole.kind->needs_framework;
    small = ours ? json_deep_copy(whole.json) : NULL;
    workload_finish(&whole);
    *ret = (struct workload){0};
    if (!ours)
        return STATUS_OK;
    if (small == NULL)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    shrink(small);
    status = workload_from_json(small, ret, err);
    json_decref(small);
    return status;
}

/* What kernels depend on: not a workload's name, its tolerances, or what requests a server gets. */
static json_t *kernels_of(const struct workload *workload)
{
    static const char *const others[] = {"workload", "version",  "description", "precisions",
                                         "batches",  "scenario", "optimizer",   "verify",
                                         "load",     "batching", "slo"};
    json_t *json = json_deep_copy(workload->json);

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        json_object_del(json, others[i]);
    json_object_del(json_object_get(json, "generation"), "blocks");
    return json;
}

/* Workloads that differ in size alone have become the same. */
static bool is_known(const struct small_cases *cases, const struct small_case *item)
{
    json_t *mine = kernels_of(item->workload);
    bool known = false;

    for (size_t i = 0; i < cases->count && !known; i++) {
        const struct small_case *other = &cases->items[i];
        json_t *its = kernels_of(other->workload);

        known = other->precision == item->precision &&
                other->implementation == item->implementation && json_equal(mine, its);
        json_decref(its);
    }
    json_decref(mine);
    return known;
}

enum status small_cases_init(struct small_cases *ret, struct error *err)
{
    struct small_cases cases = {0};
    size_t entry_count, most = 0;
    const struct catalog_entry *entries = catalog_workloads(&entry_count);
    enum status status = STATUS_OK;

    cases.workloads = calloc(entry_count, sizeof(*cases.workloads));
    if (cases.workloads == NULL)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < entry_count && status == STATUS_OK; i++) {
        struct workload *workload = &cases.workloads[cases.workload_count];
        bool known = false;

        status = load_small(&entries[i], workload, err);
        if (status != STATUS_OK)
            break;
        if (!workload->kind)
            continue;
        for (size_t k = 0; k < cases.workload_count && !known; k++)
            known = same_work(workload, &cases.workloads[k]);
        if (known) {
            workload_finish(workload);
            continue;
        }
        most += 2 * workload->precision_count;
        cases.workload_count++;
    }
    cases.items = calloc(most + 1, sizeof(*cases.items));
    if (status == STATUS_OK && cases.items == NULL)
        status = error_set(err, STATUS_NO_MEMORY, "out of memory");
    if (status != STATUS_OK) {
        small_cases_finish(&cases);
        return status;
    }
    for (size_t i = 0; i < cases.workload_count; i++)
        for (size_t p = 0; p < 2 * cases.workloads[i].precision_count; p++) {
            struct workload *workload = &cases.workloads[i];
            const struct small_case item = {
                .workload = workload,
                .precision = workload->precisions[p / 2],
                .implementation = p % 2 == 0 ? IMPLEMENTATION_PORTABLE : IMPLEMENTATION_VENDOR,
                .batch = workload->batches[0],
            };

            if (!is_known(&cases, &item))
                cases.items[cases.count++] = item;
        }
    *ret = cases;
    return STATUS_OK;
}

void small_cases_finish(struct small_cases *cases)
{
    for (size_t i = 0; i < cases->workload_count; i++)
        workload_finish(&cases->workloads[i]);
    free(cases->workloads);
    free(cases->items);
    memset(cases, 0, sizeof(*cases));
}

struct workload_case small_case_work(const struct small_case *item)
{
    return (struct workload_case){
        .workload = item->workload,
        .precision = item->precision,
        .batch = item->batch,
        .scenario = item->workload->scenario,
        .implementation = item->implementation,
        .seed = 20261120,
        .emulate = true,
    };
}

#include "workloads/memory_bound/memory_bound.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/declaration.h"

#define KERNELS_MAX 32

struct section {
    int64_t kernel;
    int64_t elements, rows, columns, vocabulary, dimension, lookups;
    char *lanes;
};

struct memory_declaration {
    struct workload_declaration common;
    struct section memory_bound;
};

/* In the order of the table in kernels.c, which a unit test compares. */
static const struct declaration_name kernel_strings[] = {
    {"copy", 0},   {"scale", 1},      {"add", 2},     {"triad", 3},     {"dot", 4},
    {"gelu", 5},   {"layer_norm", 6}, {"softmax", 7}, {"transpose", 8}, {"embedding_gather", 9},
    {"adamw", 10},
};

static const struct declaration_field section_fields[] = {
    FIELD_ENUM("kernel", FIELD_REQUIRED, struct section, kernel, kernel_strings,
               sizeof(kernel_strings) / sizeof(kernel_strings[0])),
    FIELD_INT("elements", FIELD_OPTIONAL, struct section, elements),
    FIELD_INT("rows", FIELD_OPTIONAL, struct section, rows),
    FIELD_INT("columns", FIELD_OPTIONAL, struct section, columns),
    FIELD_INT("vocabulary", FIELD_OPTIONAL, struct section, vocabulary),
    FIELD_INT("dimension", FIELD_OPTIONAL, struct section, dimension),
    FIELD_INT("lookups", FIELD_OPTIONAL, struct section, lookups),
    FIELD_STRING("lanes", FIELD_OPTIONAL, struct section, lanes, 1, FIELD_UNLIMITED),
    FIELD_END,
};

static const struct declaration_field fields[] = {
    WORKLOAD_DECLARATION_FIELDS(struct memory_declaration),
    FIELD_GROUP("memory_bound", FIELD_REQUIRED, struct memory_declaration, memory_bound,
                section_fields),
    FIELD_END,
};

static const struct declaration_schema schema = {ENTRY_GROUP(struct memory_declaration, fields)};

/* The keys of each shape, in the order of enum memory_shape. */
static const char *const shape_keys[][3] = {
    {"elements", NULL, NULL},
    {"rows", "columns", NULL},
    {"vocabulary", "dimension", "lookups"},
};
static const char *const shape_text[] = {"elements", "rows and columns",
                                         "vocabulary, dimension and lookups"};

static bool shape_has_key(enum memory_shape shape, const char *key)
{
    for (size_t i = 0; i < 3; ++i)
        if (shape_keys[shape][i] != NULL && strcmp(shape_keys[shape][i], key) == 0)
            return true;
    return false;
}

static enum status check_shape_keys(const struct declaration *declaration,
                                    const struct memory_kernel *kernel, struct error *err)
{
    static const char *const all[] = {"elements",   "rows",      "columns",
                                      "vocabulary", "dimension", "lookups"};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); ++i) {
        char path[64];
        bool has;

        snprintf(path, sizeof(path), "memory_bound.%s", all[i]);
        has = declaration_has(declaration, path);
        if (has && !shape_has_key(kernel->shape, all[i]))
            return declaration_error(declaration, path, err,
                                     "kernel %s has no `%s`; its shape is %s", kernel->name, all[i],
                                     shape_text[kernel->shape]);
        if (!has && shape_has_key(kernel->shape, all[i]))
            return declaration_error(declaration, "memory_bound", err,
                                     "`%s` is missing; kernel %s needs %s", all[i], kernel->name,
                                     shape_text[kernel->shape]);
    }
    return STATUS_OK;
}

static enum status check_counts(const struct declaration *declaration,
                                const struct section *section, const struct memory_kernel *kernel,
                                struct error *err)
{
    const struct {
        const char *path;
        int64_t value, max;
        const char *unit;
    } counts[] = {
        {"memory_bound.elements", section->elements, MEMORY_ELEMENTS_MAX, "elements"},
        {"memory_bound.rows", section->rows, MEMORY_ELEMENTS_MAX, "rows"},
        {"memory_bound.columns", section->columns, INT32_MAX, "columns"},
        {"memory_bound.vocabulary", section->vocabulary, INT32_MAX, "table rows"},
        {"memory_bound.dimension", section->dimension, INT32_MAX, "elements"},
        {"memory_bound.lookups", section->lookups, MEMORY_ELEMENTS_MAX, "lookups"},
    };
    const struct {
        const char *path, *text;
        int64_t a, b;
    } products[] = {
        {"memory_bound.rows", "rows times columns", section->rows, section->columns},
        {"memory_bound.vocabulary", "vocabulary times dimension", section->vocabulary,
         section->dimension},
        {"memory_bound.lookups", "lookups times dimension", section->lookups, section->dimension},
    };

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); ++i) {

        if (!shape_has_key(kernel->shape, strchr(counts[i].path, '.') + 1))
            continue;
        TRY(workload_declaration_check_count(declaration, counts[i].path, counts[i].value,
                                             counts[i].max, counts[i].unit, err));
    }
    for (size_t i = 0; i < sizeof(products) / sizeof(products[0]); ++i) {
        int64_t product;

        if (__builtin_mul_overflow(products[i].a, products[i].b, &product) ||
            product > MEMORY_ELEMENTS_MAX)
            return declaration_error(declaration, products[i].path, err,
                                     "%s is more than %lld elements; write a smaller shape",
                                     products[i].text, (long long)MEMORY_ELEMENTS_MAX);
    }
    return STATUS_OK;
}

static enum status check_lanes(const struct declaration *declaration, const char *lanes,
                               uint32_t *ret, struct error *err)
{
    uint64_t value = 0;

    if (strcmp(lanes, "auto") != 0 &&
        (!text_parse_u64(lanes, &value) || value < 1 || value > MEMORY_LANES_MAX))
        return declaration_error(declaration, "memory_bound.lanes", err,
                                 "`lanes` is \"%s\"; write auto, or a group size from 1 to %d",
                                 lanes, MEMORY_LANES_MAX);
    *ret = (uint32_t)value;
    return STATUS_OK;
}

static enum status check_common(const struct declaration *declaration,
                                const struct workload_declaration *common,
                                const struct memory_kernel *kernel, struct error *err)
{
    if (common->batches_count != 1 || common->batches[0] != 1)
        return declaration_error(declaration, "batches", err,
                                 "memory_bound has no batches; write `batches: [1]` or leave it "
                                 "out, and give the size in `memory_bound`");
    for (uint32_t i = 0; i < common->precisions_count; ++i) {
        enum precision precision = common->precisions[i];
        char path[32];

        snprintf(path, sizeof(path), "precisions[%u]", i);
        if (kernel->fp32_only && precision != PRECISION_FP32)
            return declaration_error(declaration, path, err, "kernel %s runs in fp32 only",
                                     kernel->name);
        if (!memory_kernel_has(kernel, precision))
            return declaration_error(declaration, path, err,
                                     "kernel %s does not run in %s; write fp32, bf16%s fp16%s",
                                     kernel->name, precision_name(precision),
                                     kernel->fp64 ? "," : " or", kernel->fp64 ? " or fp64" : "");
    }
    return STATUS_OK;
}

static enum status check_declaration(const struct declaration *declaration,
                                     struct workload *workload, struct error *err)
{
    struct memory_declaration *data = declaration->data;
    struct section *section = &data->memory_bound;
    const struct memory_kernel *kernel = memory_kernel_at((size_t)section->kernel);
    struct memory_parameters *parameters;
    uint32_t lanes = 0;

    if (section->lanes == NULL)
        section->lanes = strdup("auto"); /* declaration_finish() frees it */
    if (section->lanes == NULL)
        return error_no_memory(err);
    TRY(check_common(declaration, &data->common, kernel, err));
    TRY(check_shape_keys(declaration, kernel, err));
    TRY(check_counts(declaration, section, kernel, err));
    TRY(check_lanes(declaration, section->lanes, &lanes, err));
    parameters = malloc(sizeof(*parameters));
    if (parameters == NULL)
        return error_no_memory(err);
    *parameters = (struct memory_parameters){
        .kernel = section->kernel,
        .elements = section->elements,
        .rows = section->rows,
        .columns = section->columns,
        .vocabulary = section->vocabulary,
        .dimension = section->dimension,
        .lookups = section->lookups,
        .lanes = lanes,
    };
    workload->parameters = parameters;
    return STATUS_OK;
}

const struct workload_form memory_form = {&schema, check_declaration};

struct memory_sizes memory_sizes_of(const struct memory_parameters *parameters)
{
    switch (memory_kernel_at((size_t)parameters->kernel)->shape) {
    case MEMORY_SHAPE_ROWS:
        return (struct memory_sizes){
            .elements = (uint64_t)parameters->rows * (uint64_t)parameters->columns,
            .rows = (uint64_t)parameters->rows,
            .columns = (uint64_t)parameters->columns,
        };
    case MEMORY_SHAPE_GATHER:
        return (struct memory_sizes){
            .elements = (uint64_t)parameters->lookups * (uint64_t)parameters->dimension,
            .rows = (uint64_t)parameters->lookups,
            .columns = (uint64_t)parameters->dimension,
            .vocabulary = (uint64_t)parameters->vocabulary,
        };
    case MEMORY_SHAPE_ELEMENTS:
        break;
    }
    return (struct memory_sizes){.elements = (uint64_t)parameters->elements};
}

uint64_t memory_array_elements(const struct memory_array *array, const struct memory_sizes *sizes,
                               uint64_t groups)
{
    switch (array->extent) {
    case MEMORY_EXTENT_ELEMENTS:
        return sizes->elements;
    case MEMORY_EXTENT_COLUMNS:
        return sizes->columns;
    case MEMORY_EXTENT_ROWS:
        return sizes->rows;
    case MEMORY_EXTENT_TABLE:
        return sizes->vocabulary * sizes->columns;
    case MEMORY_EXTENT_GROUPS:
        return groups;
    case MEMORY_EXTENT_ONE:
        break;
    }
    return 1;
}

uint64_t memory_element_bytes(const struct memory_array *array, enum dtype storage)
{
    return array->type == MEMORY_STORAGE ? dtype_bits(storage) / 8 : 4;
}

enum status memory_cost(const struct workload_case *work, struct workload_cost *ret,
                        struct error *err)
{
    const struct memory_parameters *parameters = work->workload->parameters;
    const struct memory_kernel *kernel = memory_kernel_at((size_t)parameters->kernel);
    const struct memory_sizes sizes = memory_sizes_of(parameters);
    const enum dtype storage = precision_dtype(work->precision);
    uint64_t needed = 0, touched = 0;

    (void)err;
    for (size_t i = 0; i < kernel->array_count; ++i) {
        const struct memory_array *array = &kernel->arrays[i];
        uint64_t bytes = memory_array_elements(array, &sizes, MEMORY_GROUPS_MAX) *
                         memory_element_bytes(array, storage);

        needed += bytes;
        if (array->role != MEMORY_SCRATCH)
            touched += bytes;
    }
    *ret = (struct workload_cost){
        .bytes = kernel->bytes(&sizes, dtype_bits(storage) / 8),
        .bytes_formula = kernel->bytes_formula,
        .items = kernel->shape == MEMORY_SHAPE_GATHER ? sizes.rows : sizes.elements,
        .item_name = kernel->item_name,
        .device_memory_bytes = needed,
        .working_set_bytes = touched,
        .headline = "bytes",
    };
    return STATUS_OK;
}

void memory_describe(const struct workload *workload, struct text *ret)
{
    const struct memory_parameters *parameters = workload->parameters;
    const struct memory_kernel *kernel = memory_kernel_at((size_t)parameters->kernel);
    const struct memory_sizes sizes = memory_sizes_of(parameters);

    text_append_format(ret, "kernel: %s\n", kernel->name);
    for (size_t i = 0; i < kernel->array_count; ++i) {
        const struct memory_array *array = &kernel->arrays[i];

        if (array->role == MEMORY_SCRATCH)
            continue;
        text_append_format(ret, "array %s: %llu elements, %s\n", array->name,
                           (unsigned long long)memory_array_elements(array, &sizes, 1),
                           array->role == MEMORY_INPUT    ? "read"
                           : array->role == MEMORY_OUTPUT ? "written"
                                                          : "read and written");
    }
    if (parameters->lanes == 0)
        text_append(ret, "lanes: measured on the device\n");
    else
        text_append_format(ret, "lanes: %u\n", parameters->lanes);
}

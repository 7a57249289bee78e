#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "workloads/declaration.h"
#include "workloads/check/compare.h"
#include "workloads/onnx/external.h"
#include "workloads/onnx/onnx.h"
#include "workloads/storage.h"

#define ITEMS_MAX (1 << 20)

struct file_section {
    char *path, *sha256;
};

struct data_section {
    char *location, *sha256;
};

struct model_section {
    char *path, *sha256;
    struct data_section *data;
    uint32_t data_count;
};

struct array_section {
    char *name;
    enum dtype type;
    int64_t *shape;
    uint32_t shape_count;
    enum onnx_values values;
    int64_t min, max;
    struct file_section file;
    double tolerance;
};

struct onnx_declaration {
    struct workload_declaration common;
    struct model_section model;
    struct file_section reference;
    struct array_section *inputs, *outputs;
    uint32_t inputs_count, outputs_count;
    uint64_t seed;
    int64_t items;
};

static const struct declaration_name type_names[] = {
    {"f32", DTYPE_F32}, {"i32", DTYPE_I32}, {"i64", DTYPE_I64}};
static const struct declaration_name value_names[] = {
    {"normal", ONNX_NORMAL}, {"uniform", ONNX_UNIFORM}, {"range", ONNX_RANGE}};

static const struct declaration_field file_fields[] = {
    FIELD_STRING("path", FIELD_REQUIRED, struct file_section, path, 1, FIELD_UNLIMITED),
    FIELD_STRING("sha256", FIELD_REQUIRED, struct file_section, sha256, 1, FIELD_UNLIMITED),
    FIELD_END,
};

static const struct declaration_field data_fields[] = {
    FIELD_STRING("location", FIELD_REQUIRED, struct data_section, location, 1,
                 ONNX_LOCATION_MAX - 1),
    FIELD_STRING("sha256", FIELD_REQUIRED, struct data_section, sha256, 1, FIELD_UNLIMITED),
    FIELD_END,
};

static const struct declaration_schema data_entry = {ENTRY_GROUP(struct data_section, data_fields)};

static const struct declaration_field model_fields[] = {
    FIELD_STRING("path", FIELD_REQUIRED, struct model_section, path, 1, FIELD_UNLIMITED),
    FIELD_STRING("sha256", FIELD_REQUIRED, struct model_section, sha256, 1, FIELD_UNLIMITED),
    FIELD_LIST("data", FIELD_OPTIONAL, struct model_section, data, &data_entry, 1,
               ONNX_SIDE_FILES_MAX),
    FIELD_END,
};

static const struct declaration_schema side = {ENTRY_INT(0, int64_t)};

static const struct declaration_field input_fields[] = {
    FIELD_STRING("name", FIELD_REQUIRED, struct array_section, name, 1, TENSOR_NAME_MAX - 1),
    FIELD_ENUM("type", FIELD_OPTIONAL, struct array_section, type, type_names, 3),
    FIELD_LIST("shape", FIELD_REQUIRED, struct array_section, shape, &side, 1, TENSOR_RANK_MAX),
    FIELD_ENUM("values", FIELD_OPTIONAL, struct array_section, values, value_names, 3),
    FIELD_INT("min", FIELD_OPTIONAL, struct array_section, min),
    FIELD_INT("max", FIELD_OPTIONAL, struct array_section, max),
    FIELD_GROUP("file", FIELD_OPTIONAL, struct array_section, file, file_fields),
    FIELD_END,
};

static const struct declaration_field output_fields[] = {
    FIELD_STRING("name", FIELD_REQUIRED, struct array_section, name, 1, TENSOR_NAME_MAX - 1),
    FIELD_LIST("shape", FIELD_REQUIRED, struct array_section, shape, &side, 1, TENSOR_RANK_MAX),
    FIELD_FLOAT("tolerance", FIELD_OPTIONAL, struct array_section, tolerance),
    FIELD_END,
};

static const struct declaration_schema input_entry = {
    ENTRY_GROUP(struct array_section, input_fields)};
static const struct declaration_schema output_entry = {
    ENTRY_GROUP(struct array_section, output_fields)};

static const struct declaration_field fields[] = {
    WORKLOAD_DECLARATION_FIELDS(struct onnx_declaration),
    FIELD_GROUP("model", FIELD_REQUIRED, struct onnx_declaration, model, model_fields),
    FIELD_LIST("inputs", FIELD_REQUIRED, struct onnx_declaration, inputs, &input_entry, 1,
               ONNX_ARRAYS_MAX),
    FIELD_LIST("outputs", FIELD_REQUIRED, struct onnx_declaration, outputs, &output_entry, 1,
               ONNX_ARRAYS_MAX),
    FIELD_GROUP("reference", FIELD_OPTIONAL, struct onnx_declaration, reference, file_fields),
    FIELD_UINT("seed", FIELD_OPTIONAL, struct onnx_declaration, seed),
    FIELD_INT("items", FIELD_OPTIONAL, struct onnx_declaration, items),
    FIELD_END,
};

static const struct declaration_schema schema = {ENTRY_GROUP(struct onnx_declaration, fields)};

/* ---- what is written ---- */

static double onnx_default_tolerance(enum precision precision)
{
    if (precision == PRECISION_FP32)
        return 2048 * 0x1p-24;
    if (precision == PRECISION_BF16 || precision == PRECISION_FP16)
        return sqrt(256) * storage_unit_roundoff(precision_dtype(precision));
    return 0.0;
}

static enum status check_precisions(const struct declaration *declaration,
                                    const struct workload_declaration *common, struct error *err)
{
    for (uint32_t i = 0; i < common->precisions_count; i++) {
        char path[32];

        snprintf(path, sizeof(path), "precisions[%u]", i);
        if (onnx_default_tolerance(common->precisions[i]) == 0.0)
            return declaration_error(declaration, path, err,
                                     "models are run in fp32, bf16 and fp16, not in %s; remove it",
                                     precision_name(common->precisions[i]));
    }
    if (common->batches_count != 1 || common->batches[0] != 1)
        return declaration_error(declaration, "batches", err,
                                 "a model's batch is in the shapes of its inputs; remove "
                                 "`batches`, and say by `items` how many there are");
    return STATUS_OK;
}

static enum status take_digest(const struct declaration *declaration, const char *place,
                               const char *hex, struct digest *ret, struct error *err)
{
    char path[96];

    snprintf(path, sizeof(path), "%s.sha256", place);
    return digest_from_hex(hex, ret)
               ? STATUS_OK
               : declaration_error(declaration, path, err,
                                   "`sha256` is not 64 digits of 0-9 and a-f; write what "
                                   "`sha256sum` says");
}

static enum status check_values(const struct declaration *declaration, const char *place,
                                struct array_section *section, struct onnx_declared *declared,
                                struct error *err)
{
    const bool whole = section->type != DTYPE_F32;
    char path[64];

    snprintf(path, sizeof(path), "%s.values", place);
    if (!declaration_has(declaration, path))
        section->values = whole ? ONNX_RANGE : ONNX_NORMAL;
    snprintf(path, sizeof(path), "%s.file", place);
    declared->has_file = declaration_has(declaration, path);
    if (declared->has_file)
        TRY(take_digest(declaration, path, section->file.sha256, &declared->file, err));
    if (whole && section->values != ONNX_RANGE)
        return declaration_error(declaration, place, err,
                                 "values of %s are a `range` from `min` to `max`",
                                 dtype_name(section->type));
    snprintf(path, sizeof(path), "%s.max", place);
    if (section->values == ONNX_RANGE && !declared->has_file &&
        !(declaration_has(declaration, path) && section->min <= section->max &&
          section->min >= INT32_MIN && section->max <= INT32_MAX))
        return declaration_error(declaration, place, err,
                                 "a range goes from `min` (0) to `max`, both included and within "
                                 "32 bits; write `max: 1000`");
    return STATUS_OK;
}

static enum status take_array(const struct declaration *declaration, const char *list,
                              uint32_t number, struct array_section *section, bool input,
                              struct onnx_declared *declared, struct error *err)
{
    char place[32], path[64];

    snprintf(place, sizeof(place), "%s[%u]", list, number);
    snprintf(path, sizeof(path), "%s.type", place);
    if (!input || !declaration_has(declaration, path))
        section->type = DTYPE_F32;
    declared->elements = 1;
    for (uint32_t i = 0; i < section->shape_count; i++) {
        if (section->shape[i] < 1 ||
            (uint64_t)section->shape[i] > ONNX_ELEMENTS_MAX / declared->elements) {
            snprintf(path, sizeof(path), "%s.shape[%u]", place, i);
            return declaration_error(declaration, path, err,
                                     "`shape` has %lld; write sides from 1 up, of at most %llu "
                                     "elements in all",
                                     (long long)section->shape[i],
                                     (unsigned long long)ONNX_ELEMENTS_MAX);
        }
        declared->shape[i] = (uint64_t)section->shape[i];
        declared->elements *= declared->shape[i];
    }
    if (input)
        TRY(check_values(declaration, place, section, declared, err));
    if (!(section->tolerance >= 0.0 && section->tolerance < 1.0))
        return declaration_error(declaration, place, err,
                                 "`tolerance` is %g; write an error of the whole output "
                                 "(normalised_rms) above 0 and below 1",
                                 section->tolerance);
    strcpy(declared->name, section->name); /* its length is checked */
    declared->type = section->type;
    declared->rank = section->shape_count;
    declared->values = section->values;
    declared->min = section->min;
    declared->max = section->max;
    declared->tolerance = section->tolerance;
    return STATUS_OK;
}

/* Files beside the model: their locations, which stay in its folder, and digests. */
static enum status take_data(const struct declaration *declaration,
                             const struct model_section *section, struct onnx_parameters *ret,
                             struct error *err)
{
    for (uint32_t i = 0; i < section->data_count; i++) {
        const char *location = section->data[i].location;
        char place[64];

        snprintf(place, sizeof(place), "model.data[%u]", i);
        TRY(take_digest(declaration, place, section->data[i].sha256, &ret->data[i].digest, err));
        strcpy(ret->data[i].location, location); /* its length is checked */
        snprintf(place, sizeof(place), "model.data[%u].location", i);
        if (!onnx_external_stays(location))
            return declaration_error(declaration, place, err,
                                     "`location` is \"%s\", which leaves the model's folder; "
                                     "write the path within it, as the model names the file",
                                     location);
        for (uint32_t k = 0; k < i; k++)
            if (!strcmp(location, section->data[k].location))
                return declaration_error(declaration, place, err,
                                         "`location` \"%s\" stands here twice; remove one",
                                         location);
    }
    ret->data_count = section->data_count;
    return STATUS_OK;
}

static enum status take(const struct declaration *declaration, struct onnx_declaration *data,
                        struct onnx_parameters *ret, struct error *err)
{
    bool generated = false;

    TRY(check_precisions(declaration, &data->common, err));
    if (!declaration_has(declaration, "items"))
        data->items = 1;
    TRY(workload_declaration_check_count(declaration, "items", data->items, ITEMS_MAX,
                                         "items in an iteration", err));
    TRY(take_digest(declaration, "model", data->model.sha256, &ret->model, err));
    TRY(take_data(declaration, &data->model, ret, err));
    ret->has_reference = declaration_has(declaration, "reference");
    if (ret->has_reference)
        TRY(take_digest(declaration, "reference", data->reference.sha256, &ret->reference, err));
    ret->has_seed = declaration_has(declaration, "seed");
    ret->seed = data->seed;
    ret->items = data->items;
    ret->input_count = data->inputs_count;
    ret->output_count = data->outputs_count;
    for (uint32_t i = 0; i < data->inputs_count; i++) {
        TRY(take_array(declaration, "inputs", i, &data->inputs[i], true, &ret->inputs[i], err));
        generated |= !ret->inputs[i].has_file;
    }
    for (uint32_t i = 0; i < data->outputs_count; i++)
        TRY(take_array(declaration, "outputs", i, &data->outputs[i], false, &ret->outputs[i], err));
    if (ret->has_reference && generated && !ret->has_seed)
        return declaration_error(declaration, "reference", err,
                                 "its outputs are those of one seed: write `seed` beside it");
    return STATUS_OK;
}

static struct onnx_paths paths_of(const struct onnx_declaration *data)
{
    struct onnx_paths paths = {.model = data->model.path, .reference = data->reference.path};

    for (uint32_t i = 0; i < data->inputs_count; i++)
        paths.inputs[i] = data->inputs[i].file.path;
    return paths;
}

static enum status check(const struct declaration *declaration, struct workload *workload,
                         struct error *err)
{
    AUTO_FREE struct onnx_parameters *parameters = calloc(1, sizeof(*parameters));

    if (!parameters)
        return error_no_memory(err);
    TRY(take(declaration, declaration->data, parameters, err));
    if (declaration_is_path(declaration->origin)) {
        const struct onnx_paths paths = paths_of(declaration->data);

        TRY(onnx_check_files(declaration, &paths, parameters, err));
    } /* a stored declaration comes without its files */
    workload->parameters = parameters;
    parameters = NULL;
    return STATUS_OK;
}

const struct workload_form onnx_form = {&schema, check};

/* ---- what is known without a device ---- */

static uint64_t bytes_of(const struct onnx_declared *arrays, size_t count)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += arrays[i].elements * (dtype_bits(arrays[i].type) / 8);
    return bytes;
}

enum status onnx_cost(const struct workload_case *work, struct workload_cost *ret,
                      struct error *err)
{
    const struct onnx_parameters *parameters = work->workload->parameters;
    const uint64_t bytes = bytes_of(parameters->inputs, parameters->input_count) +
                           bytes_of(parameters->outputs, parameters->output_count);

    (void)err;
    *ret = (struct workload_cost){
        .items = (uint64_t)parameters->items,
        .item_name = "item",
        .device_memory_bytes = bytes,
        .working_set_bytes = bytes,
        .headline = "items",
    };
    return STATUS_OK;
}

struct onnx_array onnx_declared_array(const struct onnx_declared *declared)
{
    struct onnx_array ret = {.name = declared->name,
                             .rank = declared->rank,
                             .elements = declared->elements,
                             .whole = declared->type != DTYPE_F32,
                             .has_range = declared->values == ONNX_RANGE && !declared->has_file,
                             .least = declared->min,
                             .most = declared->max};

    memcpy(ret.shape, declared->shape, sizeof(declared->shape));
    return ret;
}

void onnx_append_shape(struct text *out, size_t rank, const uint64_t *shape)
{
    for (size_t i = 0; i < rank; i++) {
        text_append(out, i ? ", " : "[");
        if (shape[i])
            text_append_format(out, "%llu", (unsigned long long)shape[i]);
        else
            text_append(out, "?");
    }
    text_append(out, rank ? "]" : "[]");
}

static void describe_arrays(const char *what, const struct onnx_declared *arrays, size_t count,
                            struct text *ret)
{
    static const char *const words[] = {"normal, mean 0, variance 1", "uniform in (-1, 1)"};

    for (size_t i = 0; i < count; i++) {
        text_append_format(ret, "%s %s: %s ", what, arrays[i].name, dtype_name(arrays[i].type));
        onnx_append_shape(ret, arrays[i].rank, arrays[i].shape);
        if (what[0] == 'i' && arrays[i].has_file)
            text_append(ret, ", from a file");
        else if (what[0] == 'i' && arrays[i].values == ONNX_RANGE)
            text_append_format(ret, ", from %lld to %lld", (long long)arrays[i].min,
                               (long long)arrays[i].max);
        else if (what[0] == 'i')
            text_append_format(ret, ", %s", words[arrays[i].values]);
        text_append_char(ret, '\n');
    }
}

void onnx_describe(const struct workload *workload, struct text *ret)
{
    const struct onnx_parameters *parameters = workload->parameters;
    char hex[DIGEST_HEX_SIZE];

    text_append_format(ret, "model: SHA-256 %s\n", digest_hex(&parameters->model, hex));
    for (size_t i = 0; i < parameters->data_count; i++)
        text_append_format(ret, "weights in %s: SHA-256 %s\n", parameters->data[i].location,
                           digest_hex(&parameters->data[i].digest, hex));
    describe_arrays("input", parameters->inputs, parameters->input_count, ret);
    describe_arrays("output", parameters->outputs, parameters->output_count, ret);
    text_append_format(ret, "verified: every element, with %s\n",
                       parameters->has_reference ? "the outputs that the declaration names"
                                                 : "the reference in fp64");
}

/* Checks are named after outputs, with ".live" and ".blocks" behind where they are such. */
double onnx_tolerance(const struct workload_case *work, const char *output, const char *metric)
{
    const struct onnx_parameters *parameters = work->workload->parameters;
    const bool blocks = !strcmp(metric, "worst_block"), count = !strcmp(metric, "count");
    const char *suffix = blocks ? ".blocks" : count ? ".live" : "";
    const size_t length = strlen(output), rest = strlen(suffix);

    if (length < rest || strcmp(output + length - rest, suffix) != 0 ||
        (!blocks && !count && strcmp(metric, "normalised_rms") != 0))
        return WORKLOAD_NO_CHECK;
    for (size_t i = 0; i < parameters->output_count; i++) {
        const struct onnx_declared *declared = &parameters->outputs[i];
        const double tolerance = declared->tolerance > 0.0
                                     ? declared->tolerance
                                     : onnx_default_tolerance(work->precision);

        if (strlen(declared->name) == length - rest &&
            !strncmp(declared->name, output, length - rest))
            return count ? 0.0 : blocks ? COMPARISON_BLOCK_FACTOR * tolerance : tolerance;
    }
    return WORKLOAD_NO_CHECK;
}

/*
 * A library that has the C interfaces of ONNX Runtime and of OpenVINO as far as assay calls them,
 * written from their documentation and not from assay's declarations: functions by their number in
 * the table, or by name. It reads the weights out of the model that it is given and computes the
 * logits by the fp64 reference, so that whatever assay writes, sets and binds shows in the checks;
 * the nodes of such a model it does not read (the real libraries do, test_worker_frameworks.py
 * --wheels). A model that is no GPT-2 it runs by the fp64 reference of workloads/onnx.
 *
 * As OpenVINO does on processors that have it, it computes in bf16 (it rounds the outputs) unless
 * another precision is set. STAND_IN: "wrong": one element is; "skips": the last output is all
 * zeros; "fails": a run ends with an error; "bf16": reports that, whatever it was told; "narrow":
 * computes in that, and does not report it. A run on fewer processors than the harness may use, to
 * which threads of a real library would be confined, ends with an error. Results are marked as
 * simulated.
 */
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workloads/models/gpt2_reference.h"
#include "workloads/onnx/reference.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int assay_simulated = 1;

/* ---- the model ---- */

/* Types of elements by ONNX's numbers. */
enum { FLOAT = 1, INT32 = 6, INT64 = 7, DOUBLE = 11, BFLOAT16 = 16 };

/* An array that assay bound: ONNX's number of its type. */
struct bound {
    char name[64];
    void *data;
    int type;
    struct onnx_array array;
};

struct model {
    void *bytes;
    float *widened[64]; /* tensors of bf16 */
    size_t widened_count;
    struct onnx_model graph;
    struct onnx_reference *other; /* of a model that is no GPT-2 */
    struct bound bound[16];
    size_t bound_count;
    struct gpt2_shape shape;
    uint64_t length;
    float *parameters;
    bool narrow;
    const int32_t *tokens;
    float *logits;
    uint64_t sequences;
};

static void take_shape(struct model *model, const struct onnx_tensor *tensor)
{
    struct gpt2_shape *shape = &model->shape;
    unsigned layer;

    if (!strcmp(tensor->name, "wte")) {
        shape->vocabulary = tensor->shape[0];
        shape->width = tensor->shape[1];
    } else if (!strcmp(tensor->name, "wpe")) {
        model->length = shape->context = tensor->shape[0];
    } else if (!strcmp(tensor->name, "shape.heads")) {
        int64_t split[4];

        memcpy(split, tensor->raw.at, sizeof(split));
        model->sequences = (uint64_t)split[0];
        shape->heads = (uint64_t)split[2];
    } else if (sscanf(tensor->name, "h%u.", &layer) == 1) {
        shape->layers = layer + 1 > shape->layers ? layer + 1 : shape->layers;
        if (strstr(tensor->name, ".fc.w"))
            shape->mlp_width = tensor->shape[1];
    }
}

static void take_weights(struct model *model, const struct onnx_tensor *tensor)
{
    for (size_t i = 0; i < gpt2_tensor_count(&model->shape); i++) {
        const struct gpt2_tensor mine = gpt2_tensor_at(&model->shape, i);

        if (!strcmp(mine.name, tensor->name))
            memcpy(model->parameters + mine.offset, tensor->raw.at, tensor->raw.length);
    }
}

/* The reference reads no bf16. */
static void widen(struct model *model, struct onnx_tensor *tensor)
{
    float *values = calloc(tensor->elements, sizeof(*values));

    for (uint64_t i = 0; i < tensor->elements; i++)
        memcpy((char *)&values[i] + 2, tensor->raw.at + 2 * i, 2);
    tensor->type = FLOAT;
    tensor->raw = (struct onnx_bytes){(const uint8_t *)values, tensor->elements * sizeof(*values)};
    model->widened[model->widened_count++] = values;
}

static struct model *read_model(const void *bytes, size_t length)
{
    struct model *model = calloc(1, sizeof(*model));

    model->bytes = memcpy(malloc(length), bytes, length);
    if (onnx_model_read(model->bytes, length, &model->graph, NULL) != STATUS_OK)
        abort();
    for (size_t i = 0; i < model->graph.tensor_count; i++)
        if (model->graph.tensors[i].type == BFLOAT16)
            widen(model, &model->graph.tensors[i]);
    if (!onnx_model_tensor(&model->graph, "wte")) {
        if (onnx_reference_create(&model->graph, &model->other, NULL) != STATUS_OK)
            abort();
        return model;
    }
    for (size_t i = 0; i < model->graph.tensor_count; i++)
        take_shape(model, &model->graph.tensors[i]);
    model->parameters = calloc(gpt2_array_length(&model->shape), sizeof(float));
    for (size_t i = 0; i < model->graph.tensor_count; i++)
        take_weights(model, &model->graph.tensors[i]);
    return model;
}

static bool is_told(const char *word)
{
    const char *told = getenv("STAND_IN");

    return told && !strcmp(told, word);
}

/* As float, and in bf16 where the model is run so. */
static float rounded(const struct model *model, double exact)
{
    float value = (float)exact;
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    bits = model->narrow ? (bits + 0x8000) & 0xffff0000 : bits;
    memcpy(&value, &bits, sizeof(bits));
    return value;
}

static bool is_output(const struct model *model, const char *name)
{
    for (size_t i = 0; i < model->graph.output_count; i++)
        if (!strcmp(model->graph.outputs[i].name, name))
            return true;
    return false;
}

static size_t size_of(int type)
{
    return type == BFLOAT16 ? 2 : type == INT64 || type == DOUBLE ? 8 : 4;
}

static double value_at(const struct bound *bound, uint64_t i)
{
    float wide = 0;

    switch (bound->type) {
    case INT32:
        return ((const int32_t *)bound->data)[i];
    case INT64:
        return (double)((const int64_t *)bound->data)[i];
    case DOUBLE:
        return ((const double *)bound->data)[i];
    case BFLOAT16:
        memcpy((char *)&wide + 2, (const char *)bound->data + 2 * i, 2);
        return (double)wide;
    default:
        return (double)((const float *)bound->data)[i];
    }
}

static void put_result(const struct model *model, const struct bound *bound, uint64_t i,
                       double exact)
{
    const float value = rounded(model, exact);

    if (bound->type == DOUBLE)
        ((double *)bound->data)[i] = exact;
    else if (bound->type == BFLOAT16)
        memcpy((char *)bound->data + 2 * i, (const char *)&value + 2, 2);
    else
        ((float *)bound->data)[i] = value;
}

static bool run_other(const struct model *model)
{
    struct onnx_array inputs[16] = {0}, outputs[16] = {0};
    size_t in = 0, out = 0;
    bool ok;

    for (size_t b = 0; b < model->bound_count; b++) {
        const struct bound *bound = &model->bound[b];

        if (is_output(model, bound->name)) {
            outputs[out++] = bound->array;
            continue;
        }
        inputs[in] = bound->array;
        inputs[in].data = malloc(bound->array.elements * sizeof(double));
        for (uint64_t i = 0; i < bound->array.elements; i++)
            inputs[in].data[i] = value_at(bound, i);
        in++;
    }
    ok = onnx_reference_run(model->other, inputs, in, outputs, out, NULL) == STATUS_OK;
    while (in > 0)
        free(inputs[--in].data);
    for (size_t b = 0, o = 0; b < model->bound_count && ok; b++) {
        const struct bound *to = &model->bound[b];
        const bool skips = is_told("skips") && o + 1 == out;

        if (!is_output(model, to->name))
            continue;
        for (uint64_t i = 0; i < outputs[o].elements; i++)
            put_result(model, to, i,
                       skips ? 0.0 : outputs[o].data[i] + (is_told("wrong") && i == 0));
        o++;
    }
    return ok;
}

static void bind_array(struct model *model, const char *name, const struct bound *bound)
{
    struct bound *to = &model->bound[model->bound_count];

    for (size_t i = 0; i < model->bound_count; i++)
        if (!strcmp(model->bound[i].name, name))
            to = &model->bound[i];
    model->bound_count += to == &model->bound[model->bound_count];
    *to = *bound;
    snprintf(to->name, sizeof(to->name), "%s", name);
    to->array.name = to->name;
    if (!strcmp(name, "tokens"))
        model->tokens = bound->data;
    if (!strcmp(name, "logits"))
        model->logits = bound->data;
}

static struct bound *new_bound(void *data, const int64_t *shape, size_t rank, int type)
{
    struct bound *bound = calloc(1, sizeof(*bound));

    bound->data = data;
    bound->type = type;
    bound->array.whole = type == INT32 || type == INT64;
    bound->array.rank = rank;
    bound->array.elements = 1;
    for (size_t i = 0; i < rank; i++) {
        bound->array.shape[i] = (uint64_t)shape[i];
        bound->array.elements *= (uint64_t)shape[i];
    }
    return bound;
}

/* NULL; or how many processors this thread may run on, where its parent may run on more. */
static const char *confined(void)
{
    static char ret[80];
    cpu_set_t own, parent;

    if (sched_getaffinity(0, sizeof(own), &own) != 0 ||
        sched_getaffinity(getppid(), sizeof(parent), &parent) != 0 ||
        CPU_COUNT(&own) >= CPU_COUNT(&parent))
        return NULL;
    snprintf(ret, sizeof(ret), "bound to %d of %d processors", CPU_COUNT(&own), CPU_COUNT(&parent));
    return ret;
}

static const char *why_failed(void)
{
    const char *confinement = confined();

    return confinement ? confinement : "the stand-in was told to fail";
}

static bool run_model(const struct model *model)
{
    const uint64_t count = model->length * model->shape.vocabulary;
    struct gpt2_reference *reference = NULL;

    if (is_told("fails") || confined())
        return false;
    if (model->other)
        return run_other(model);
    if (gpt2_reference_create(&model->shape, 1, model->length, false, &reference, NULL) !=
        STATUS_OK)
        return false;
    for (uint64_t s = 0; s < model->sequences; s++) {
        gpt2_reference_forward(reference, model->parameters, model->tokens + s * model->length,
                               NULL, NULL);
        for (uint64_t i = 0; i < count; i++)
            model->logits[s * count + i] = rounded(model, reference->logits[i]);
        if (is_told("wrong"))
            model->logits[(s + 1) * count - 1] += 1.0f;
    }
    gpt2_reference_destroy(reference);
    return true;
}

static void free_model(struct model *model)
{
    onnx_reference_destroy(model->other);
    while (model->widened_count > 0)
        free(model->widened[--model->widened_count]);
    onnx_model_finish(&model->graph);
    free(model->bytes);
    free(model->parameters);
    free(model);
}

/* ---- ONNX Runtime: functions by their number in struct OrtApi ---- */

static void *create_env(int level, const char *id, const void *threads, void **ret)
{
    (void)level;
    (void)id;
    *ret = ret;
    return threads ? NULL : (void *)"no threads";
}

static void *create_session(const void *env, const void *model, size_t length, const void *options,
                            void **ret)
{
    (void)env;
    (void)options;
    *ret = read_model(model, length);
    return NULL;
}

static void *share_threads(void *options)
{
    return options ? NULL : (void *)"no options";
}

static void *create_nothing(void **ret)
{
    *ret = ret;
    return NULL;
}

static void *set_number(void *options, int number)
{
    (void)options;
    return number < 1 ? (void *)"a number below 1" : NULL;
}

static void *create_memory(int allocator, int type, void **ret)
{
    (void)allocator;
    (void)type;
    *ret = ret;
    return NULL;
}

static void *create_tensor(const void *memory, void *data, size_t bytes, const int64_t *shape,
                           size_t rank, int type, void **ret)
{
    struct bound *bound = new_bound(data, shape, rank, type);

    (void)memory;
    *ret = bound;
    if (bytes != bound->array.elements * size_of(type) ||
        (type != FLOAT && type != INT32 && type != INT64 && type != DOUBLE))
        return (void *)"not these elements";
    return NULL;
}

static void *run_session(void *session, const void *options, const char *const *names,
                         const void *const *inputs, size_t count, const char *const *output_names,
                         size_t output_count, void **outputs)
{
    struct model *model = session;

    (void)options;
    for (size_t i = 0; i < count; i++)
        bind_array(model, names[i], inputs[i]);
    for (size_t i = 0; i < output_count; i++)
        bind_array(model, output_names[i], outputs[i]);
    if (!model->other && (!model->tokens || !model->logits))
        return (void *)"no such arrays";
    return run_model(model) ? NULL : (void *)why_failed();
}

static void release_session(void *session)
{
    free_model(session);
}

static void release_nothing(void *object)
{
    (void)object;
}

static const char *message_of(const void *status)
{
    return status;
}

static const void *table[149];

static const void *get_api(uint32_t version)
{
    table[2] = (const void *)message_of;
    table[8] = (const void *)create_session;
    table[9] = (const void *)run_session;
    table[10] = table[121] = (const void *)create_nothing;
    table[23] = table[147] = table[148] = (const void *)set_number;
    table[119] = (const void *)create_env;
    table[120] = (const void *)share_threads;
    table[49] = (const void *)create_tensor;
    table[69] = (const void *)create_memory;
    table[92] = table[93] = table[94] = table[100] = table[122] = (const void *)release_nothing;
    table[95] = (const void *)release_session;
    table[96] = (const void *)free;
    return version <= 13 ? table : NULL;
}

static const char *get_version(void)
{
    return "stand-in 1";
}

EXPORT const void *OrtGetApiBase(void);
EXPORT const void *OrtGetApiBase(void)
{
    static const void *base[2];

    base[0] = (const void *)get_api;
    base[1] = (const void *)get_version;
    return base;
}

/* ---- OpenVINO: functions by name ---- */

struct shape {
    int64_t rank, *dims;
};

#define OPENVINO(type, name, ...)                                                                  \
    EXPORT type name(__VA_ARGS__);                                                                 \
    EXPORT type name(__VA_ARGS__)

OPENVINO(int, ov_get_openvino_version, const char **ret)
{
    ret[0] = "stand-in 1";
    return 0;
}

OPENVINO(void, ov_version_free, void *version)
{
    (void)version;
}

OPENVINO(const char *, ov_get_error_info, int status)
{
    (void)status;
    return "general error";
}

OPENVINO(const char *, ov_get_last_err_msg, void)
{
    return strdup(why_failed());
}

OPENVINO(void, ov_free, void *text)
{
    free(text);
}

OPENVINO(int, ov_core_create, void **ret)
{
    *ret = ret;
    return 0;
}

OPENVINO(void, ov_core_free, void *core)
{
    (void)core;
}

OPENVINO(int, ov_core_read_model_from_memory_buffer, const void *core, const char *model,
         size_t length, const void *weights, void **ret)
{
    (void)core;
    (void)weights;
    *ret = read_model(model, length);
    return 0;
}

OPENVINO(int, ov_core_compile_model, const void *core, void *model, const char *device,
         size_t count, void **ret, ...)
{
    struct model *self = model;
    va_list list;

    (void)core;
    self->narrow = true;
    va_start(list, ret);
    for (size_t i = 0; i < count; i += 2) {
        const char *key = va_arg(list, const char *), *value = va_arg(list, const char *);

        if (!strcmp(key, "INFERENCE_PRECISION_HINT"))
            self->narrow = !strcmp(value, "bf16") || is_told("narrow");
    }
    va_end(list);
    *ret = model;
    return strcmp(device, "CPU") ? -1 : 0;
}

OPENVINO(int, ov_compiled_model_get_property, const struct model *model, const char *key,
         char **ret)
{
    const bool narrow = (model->narrow && !is_told("narrow")) || is_told("bf16");

    *ret = strdup(!strcmp(key, "INFERENCE_PRECISION_HINT") ? (narrow ? "bf16" : "f32") : "1");
    return 0;
}

OPENVINO(int, ov_compiled_model_create_infer_request, void *model, void **ret)
{
    *ret = model;
    return 0;
}

OPENVINO(int, ov_shape_create, int64_t rank, const int64_t *dims, struct shape *ret)
{
    ret->rank = rank;
    ret->dims = memcpy(malloc((size_t)rank * sizeof(*dims)), dims, (size_t)rank * sizeof(*dims));
    return 0;
}

OPENVINO(int, ov_shape_free, struct shape *shape)
{
    free(shape->dims);
    return 0;
}

OPENVINO(int, ov_tensor_create_from_host_ptr, int type, struct shape shape, void *memory,
         void **ret)
{
    static const int types[] = {[2] = BFLOAT16, [4] = FLOAT, [9] = INT32, [10] = INT64};

    if (type < 0 || type > 10 || !types[type])
        return -1;
    *ret = new_bound(memory, shape.dims, (size_t)shape.rank, types[type]);
    return 0;
}

OPENVINO(int, ov_infer_request_set_tensor, struct model *model, const char *name,
         const struct bound *tensor)
{
    bind_array(model, name, tensor);
    return 0;
}

OPENVINO(int, ov_infer_request_infer, const struct model *model)
{
    return run_model(model) ? 0 : -1;
}

OPENVINO(void, ov_tensor_free, void *tensor)
{
    free(tensor);
}

OPENVINO(void, ov_infer_request_free, void *request)
{
    (void)request;
}

OPENVINO(void, ov_compiled_model_free, void *model)
{
    (void)model;
}

OPENVINO(void, ov_model_free, struct model *model)
{
    free_model(model);
}

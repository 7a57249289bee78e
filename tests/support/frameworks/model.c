#include "tests/support/frameworks/model.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void take_shape(struct model *model, const struct onnx_tensor *tensor)
{
    struct gpt2_shape *shape = &model->shape;
    const char *last = strrchr(tensor->name, '.');
    unsigned layer;

    if (!strcmp(tensor->name, "wte")) {
        shape->vocabulary = tensor->shape[0];
        shape->width = tensor->shape[1];
    } else if (!strcmp(tensor->name, "wpe")) {
        model->length = shape->context = tensor->shape[0];
    } else if (last && !strcmp(last, ".heads")) { /* of an attention */
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

struct model *read_model(const void *bytes, size_t length)
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

bool is_told(const char *word)
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

size_t size_of(int type)
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

void bind_array(struct model *model, const char *name, const struct bound *bound)
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
    if (!strcmp(name, "position"))
        model->position = bound->data;
}

struct bound *new_bound(void *data, const int64_t *shape, size_t rank, int type)
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

static bool is_lost;

const char *why_failed(void)
{
    const char *confinement = confined();

    return confinement ? confinement
           : is_lost   ? "a key or value lies elsewhere than it should"
                       : "the stand-in was told to fail";
}

/* ---- generation ---- */

/* The array of a layer's keys or values, NULL: it is not bound. */
static struct bound *part_of(struct model *model, const char *lead, char which, uint64_t layer)
{
    char name[64];

    snprintf(name, sizeof(name), "%s%c%llu", lead, which, (unsigned long long)layer);
    for (size_t i = 0; i < model->bound_count; i++)
        if (!strcmp(model->bound[i].name, name))
            return &model->bound[i];
    return NULL;
}

/* Every number that keys and values of position `at` of a sequence have is that of its token. */
static bool recall(struct model *model, uint64_t sequence, uint64_t at, int32_t *ret)
{
    const struct bound *first = part_of(model, "past.", 'k', 0);
    const uint64_t heads = first->array.shape[1], room = first->array.shape[2];
    const uint64_t size = first->array.shape[3];

    *ret = (int32_t)value_at(first, (sequence * heads * room + at) * size);
    for (uint64_t i = 0; i < 2 * model->shape.layers * heads * size; i++) {
        const struct bound *part =
            part_of(model, "past.", i % 2 ? 'v' : 'k', i / 2 / (heads * size));
        const uint64_t head = i / 2 / size % heads;

        if (!part || value_at(part, ((sequence * heads + head) * room + at) * size +
                                        i / 2 % size) != (double)*ret)
            is_lost = true;
    }
    return !is_lost;
}

static void put_out(struct model *model, uint64_t sequence, const int32_t *tokens, uint64_t count)
{
    for (uint64_t i = 0; i < 2 * model->shape.layers; i++) {
        const struct bound *part = part_of(model, "", i % 2 ? 'v' : 'k', i / 2);
        const uint64_t heads = part->array.shape[1], room = part->array.shape[2];
        const uint64_t size = part->array.shape[3];

        for (uint64_t j = 0; j < heads * room * size; j++)
            put_result(model, part, sequence * heads * room * size + j,
                       j / size % room < count ? tokens[j / size % room] : 0);
    }
}

static bool run_generation(struct model *model)
{
    const struct bound *past = part_of(model, "past.", 'k', 0), *out = part_of(model, "", 'k', 0);
    const uint64_t vocabulary = model->shape.vocabulary, length = (uint64_t)*model->position + 1;
    int32_t *text = calloc(length + model->length, sizeof(*text));
    struct stack_reference *reference = NULL;
    bool ok;

    model->shape.heads = out->array.shape[1];
    ok = gpt2_reference_create(&model->shape, 1, length, false, &reference, NULL) == STATUS_OK;
    if (past && (is_told("skips") || (is_told("tires") && model->runs++ >= 16)))
        model->sequences = 0;
    for (uint64_t s = 0; s < model->sequences && ok; s++) {
        const double *logits = reference->out + (length - 1) * vocabulary;

        for (uint64_t i = 0; past && i + 1 < length && ok; i++)
            ok = recall(model, s, i, &text[i]);
        if (past)
            text[length - 1] = model->tokens[s];
        else
            memcpy(text, model->tokens + s * model->length, model->length * sizeof(*text));
        stack_reference_forward(reference, model->parameters, text, NULL, NULL);
        for (uint64_t v = 0; v < vocabulary; v++)
            model->logits[s * vocabulary + v] = rounded(model, logits[v]);
        if (is_told("wrong"))
            model->logits[s * vocabulary + length % vocabulary] += 1.0f;
        put_out(model, s, past ? text + length - 1 : text, past ? 1 : model->length);
    }
    stack_reference_destroy(reference);
    free(text);
    return ok;
}

bool run_model(struct model *model)
{
    const uint64_t count = model->length * model->shape.vocabulary;
    struct stack_reference *reference = NULL;

    if (is_told("fails") || confined())
        return false;
    if (model->other)
        return run_other(model);
    if (model->position)
        return run_generation(model);
    if (gpt2_reference_create(&model->shape, 1, model->length, false, &reference, NULL) !=
        STATUS_OK)
        return false;
    for (uint64_t s = 0; s < model->sequences; s++) {
        stack_reference_forward(reference, model->parameters, model->tokens + s * model->length,
                                NULL, NULL);
        for (uint64_t i = 0; i < count; i++)
            model->logits[s * count + i] = rounded(model, reference->out[i]);
        if (is_told("wrong"))
            model->logits[(s + 1) * count - 1] += 1.0f;
    }
    stack_reference_destroy(reference);
    return true;
}

void free_model(struct model *model)
{
    onnx_reference_destroy(model->other);
    while (model->widened_count > 0)
        free(model->widened[--model->widened_count]);
    onnx_model_finish(&model->graph);
    free(model->bytes);
    free(model->parameters);
    free(model);
}

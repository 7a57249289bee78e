/*
 * A stand-in for the graph interface of cuDNN 9: descriptors are sets of attributes, each of which
 * must exist for its kind, with the right type. Of its engines the first cannot be planned; there
 * is one more, or as many as ASSAY_SHIM_ALGORITHMS has times. Head sizes that are no multiple of 8
 * have no engine, as in the library, nor has a batch of ASSAY_SHIM_REFUSED_BATCH; the engine
 * ASSAY_SHIM_CONVERTING reports that it converts its inputs.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/support/gpu_shim/core.h"
#include "tests/support/gpu_shim/cuda.h"
#include "tests/support/gpu_shim/cuda_dnn_graph.h"

#define PROTOTYPE(result, name, parameters) SHIM_EXPORT result name parameters;
CUDNN_OPTIONAL_MAP(PROTOTYPE)
#undef PROTOTYPE

/* Which attributes a kind has, of which type; what must be there before it is finalized. */
static const struct known {
    unsigned kind, name, type;
    bool needed;
} known[] = {
    {DNN_TENSOR, DNN_TENSOR_TYPE, DNN_TYPE_DATA_TYPE, true},
    {DNN_TENSOR, DNN_TENSOR_DIMENSIONS, DNN_TYPE_INT64, true},
    {DNN_TENSOR, DNN_TENSOR_STRIDES, DNN_TYPE_INT64, true},
    {DNN_TENSOR, DNN_TENSOR_ID, DNN_TYPE_INT64, true},
    {DNN_TENSOR, DNN_TENSOR_ALIGNMENT, DNN_TYPE_INT64, true},
    {DNN_TENSOR, DNN_TENSOR_VIRTUAL, DNN_TYPE_BOOLEAN, false},
    {DNN_TENSOR, DNN_TENSOR_BY_VALUE, DNN_TYPE_BOOLEAN, false},
    {DNN_MATMUL, DNN_MATMUL_COMPUTE, DNN_TYPE_DATA_TYPE, true},
    {DNN_OPERATION_MATMUL, DNN_MATMUL_A, DNN_TYPE_DESCRIPTOR, true},
    {DNN_OPERATION_MATMUL, DNN_MATMUL_B, DNN_TYPE_DESCRIPTOR, true},
    {DNN_OPERATION_MATMUL, DNN_MATMUL_C, DNN_TYPE_DESCRIPTOR, true},
    {DNN_OPERATION_MATMUL, DNN_MATMUL_DESC, DNN_TYPE_DESCRIPTOR, true},
    {DNN_POINTWISE, DNN_POINTWISE_MODE, DNN_TYPE_POINTWISE_MODE, true},
    {DNN_POINTWISE, DNN_POINTWISE_MATH_PREC, DNN_TYPE_DATA_TYPE, true},
    {DNN_POINTWISE, DNN_POINTWISE_AXIS, DNN_TYPE_INT64, false},
    {DNN_OPERATION_POINTWISE, DNN_POINTWISE_DESC, DNN_TYPE_DESCRIPTOR, true},
    {DNN_OPERATION_POINTWISE, DNN_POINTWISE_X, DNN_TYPE_DESCRIPTOR, true},
    {DNN_OPERATION_POINTWISE, DNN_POINTWISE_B, DNN_TYPE_DESCRIPTOR, false},
    {DNN_OPERATION_POINTWISE, DNN_POINTWISE_T, DNN_TYPE_DESCRIPTOR, false},
    {DNN_OPERATION_POINTWISE, DNN_POINTWISE_Y, DNN_TYPE_DESCRIPTOR, true},
    {DNN_REDUCTION, DNN_REDUCTION_COMPUTE, DNN_TYPE_DATA_TYPE, true},
    {DNN_REDUCTION, DNN_REDUCTION_OPERATOR, DNN_TYPE_REDUCTION_OPERATOR, true},
    {DNN_OPERATION_REDUCTION, DNN_REDUCTION_X, DNN_TYPE_DESCRIPTOR, true},
    {DNN_OPERATION_REDUCTION, DNN_REDUCTION_Y, DNN_TYPE_DESCRIPTOR, true},
    {DNN_OPERATION_REDUCTION, DNN_REDUCTION_DESC, DNN_TYPE_DESCRIPTOR, true},
    {DNN_OPERATION_RESHAPE, DNN_RESHAPE_X, DNN_TYPE_DESCRIPTOR, true},
    {DNN_OPERATION_RESHAPE, DNN_RESHAPE_Y, DNN_TYPE_DESCRIPTOR, true},
    {DNN_OPERATION_GRAPH, DNN_GRAPH_OPS, DNN_TYPE_DESCRIPTOR, true},
    {DNN_OPERATION_GRAPH, DNN_GRAPH_HANDLE, DNN_TYPE_HANDLE, true},
    {DNN_ENGINEHEUR, DNN_HEUR_GRAPH, DNN_TYPE_DESCRIPTOR, true},
    {DNN_ENGINEHEUR, DNN_HEUR_MODE, DNN_TYPE_HEUR_MODE, true},
    {DNN_PLAN, DNN_PLAN_CFG, DNN_TYPE_DESCRIPTOR, true},
    {DNN_PLAN, DNN_PLAN_HANDLE, DNN_TYPE_HANDLE, true},
    {DNN_VARIANT_PACK, DNN_PACK_IDS, DNN_TYPE_INT64, true},
    {DNN_VARIANT_PACK, DNN_PACK_POINTERS, DNN_TYPE_VOID_PTR, true},
    {DNN_VARIANT_PACK, DNN_PACK_WORKSPACE, DNN_TYPE_VOID_PTR, true},
};

static const struct known *find(unsigned kind, unsigned name)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].kind == kind && known[i].name == name)
            return &known[i];
    return NULL;
}

static size_t size_of(unsigned type)
{
    switch (type) {
    case DNN_TYPE_BOOLEAN:
        return sizeof(bool);
    case DNN_TYPE_INT64:
        return sizeof(int64_t);
    case DNN_TYPE_HANDLE:
    case DNN_TYPE_VOID_PTR:
    case DNN_TYPE_DESCRIPTOR:
        return sizeof(void *);
    default:
        return sizeof(unsigned);
    }
}

const void *shim_attribute(const struct shim_descriptor *descriptor, unsigned name,
                           int64_t *ret_count)
{
    for (const struct shim_attribute *a = descriptor->attributes; a != NULL; a = a->next)
        if (a->name == name) {
            if (ret_count != NULL)
                *ret_count = a->count;
            return a->elements;
        }
    return NULL;
}

const struct shim_descriptor *shim_link(const struct shim_descriptor *descriptor, unsigned name)
{
    const struct shim_descriptor *const *link = shim_attribute(descriptor, name, NULL);

    return link != NULL ? *link : NULL;
}

int64_t shim_int64(const struct shim_descriptor *descriptor, unsigned name)
{
    const int64_t *value = shim_attribute(descriptor, name, NULL);

    return value != NULL ? *value : 0;
}

unsigned shim_word(const struct shim_descriptor *descriptor, unsigned name, unsigned otherwise)
{
    const unsigned *value = shim_attribute(descriptor, name, NULL);

    return value != NULL ? *value : otherwise;
}

void cudnnGetLastErrorString(char *message, size_t size)
{
    strncpy(message, "says the stand-in", size);
}

unsigned cudnnBackendCreateDescriptor(unsigned kind, void **ret)
{
    struct shim_descriptor *descriptor;

    SHIM_FAULT(unsigned, cudnnBackendCreateDescriptor);
    descriptor = calloc(1, sizeof(*descriptor));
    if (descriptor == NULL)
        return DNN_STATUS_HOST_ALLOCATION;
    descriptor->kind = kind;
    shim_live_add(1);
    *ret = descriptor;
    return DNN_STATUS_SUCCESS;
}

unsigned cudnnBackendDestroyDescriptor(void *opaque)
{
    struct shim_descriptor *descriptor = opaque;
    int code;
    const bool failing = shim_fails("cudnnBackendDestroyDescriptor", &code);

    while (descriptor->attributes != NULL) {
        struct shim_attribute *next = descriptor->attributes->next;

        free(descriptor->attributes->elements);
        free(descriptor->attributes);
        descriptor->attributes = next;
    }
    free(descriptor);
    shim_live_add(-1);
    return failing ? (unsigned)code : DNN_STATUS_SUCCESS;
}

unsigned cudnnBackendSetAttribute(void *opaque, unsigned name, unsigned type, int64_t count,
                                  const void *elements)
{
    struct shim_descriptor *descriptor = opaque;
    const struct known *entry;
    struct shim_attribute *attribute;
    size_t bytes;

    SHIM_FAULT(unsigned, cudnnBackendSetAttribute);
    entry = find(descriptor->kind, name);
    if (entry == NULL || entry->type != type || descriptor->finalized || count < 1 ||
        elements == NULL || shim_attribute(descriptor, name, NULL) != NULL)
        return DNN_STATUS_BAD_PARAM;
    if (type == DNN_TYPE_DESCRIPTOR)
        for (int64_t i = 0; i < count; i++) {
            const struct shim_descriptor *link = ((struct shim_descriptor *const *)elements)[i];

            if (link == NULL || !link->finalized)
                return DNN_STATUS_BAD_PARAM;
        }
    bytes = (size_t)count * size_of(type);
    attribute = calloc(1, sizeof(*attribute));
    if (attribute == NULL || (attribute->elements = malloc(bytes)) == NULL) {
        free(attribute);
        return DNN_STATUS_HOST_ALLOCATION;
    }
    memcpy(attribute->elements, elements, bytes);
    attribute->name = name;
    attribute->type = type;
    attribute->count = count;
    attribute->next = descriptor->attributes;
    descriptor->attributes = attribute;
    return DNN_STATUS_SUCCESS;
}

static bool finite_tensor(const struct shim_descriptor *tensor)
{
    int64_t dimensions = 0, strides = 0;
    const int64_t *dimension = shim_attribute(tensor, DNN_TENSOR_DIMENSIONS, &dimensions);
    const int64_t *stride = shim_attribute(tensor, DNN_TENSOR_STRIDES, &strides);

    for (int64_t i = 0; i < 4; i++)
        if (dimensions != 4 || strides != 4 || dimension[i] < 1 || stride[i] < 1)
            return false;
    return true;
}

unsigned cudnnBackendFinalize(void *opaque)
{
    struct shim_descriptor *descriptor = opaque;

    SHIM_FAULT(unsigned, cudnnBackendFinalize);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].kind == descriptor->kind && known[i].needed &&
            shim_attribute(descriptor, known[i].name, NULL) == NULL)
            return DNN_STATUS_BAD_PARAM;
    if (descriptor->kind == DNN_TENSOR && !finite_tensor(descriptor))
        return DNN_STATUS_BAD_PARAM;
    if (descriptor->kind == DNN_PLAN && shim_link(descriptor, DNN_PLAN_CFG)->index == 0)
        return DNN_STATUS_NOT_SUPPORTED;
    descriptor->finalized = true;
    return DNN_STATUS_SUCCESS;
}

/* The number that a variable of the environment has, or -1. */
static int64_t number_of(const char *variable)
{
    const char *value = getenv(variable);

    return value != NULL ? strtoll(value, NULL, 10) : -1;
}

static int64_t engine_count(void)
{
    return 1 + (getenv("ASSAY_SHIM_ALGORITHMS") != NULL ? (int64_t)core_algorithm_count() : 1);
}

static int64_t workspace_of(const struct shim_descriptor *config)
{
    return SHIM_GRAPH_WORKSPACE * (1 + config->index);
}

/* By the operands of the first GEMM: no engine for other types, or such sizes. */
static bool has_engine(const struct shim_descriptor *graph)
{
    int64_t count = 0;
    const struct shim_descriptor *const *operations = shim_attribute(graph, DNN_GRAPH_OPS, &count);

    for (int64_t i = 0; i < count; i++)
        if (operations[i]->kind == DNN_OPERATION_MATMUL) {
            const struct shim_descriptor *q = shim_link(operations[i], DNN_MATMUL_A);
            const int64_t *dimensions = shim_attribute(q, DNN_TENSOR_DIMENSIONS, NULL);
            const unsigned type = shim_word(q, DNN_TENSOR_TYPE, DNN_FLOAT);

            return (type == DNN_HALF || type == DNN_BFLOAT16) && dimensions[3] % 8 == 0 &&
                   dimensions[0] != number_of("ASSAY_SHIM_REFUSED_BATCH");
        }
    return false;
}

/* A heuristic's results are stored in descriptors made by the caller. */
static unsigned list_configs(const struct shim_descriptor *heuristic, int64_t wanted,
                             int64_t *count, struct shim_descriptor *const *ret)
{
    const struct shim_descriptor *graph = shim_link(heuristic, DNN_HEUR_GRAPH);

    *count = has_engine(graph) ? engine_count() : 0;
    for (int64_t i = 0; i < *count && i < wanted; i++) {
        struct shim_attribute *link;

        if (ret[i] == NULL || ret[i]->kind != DNN_ENGINECFG || ret[i]->finalized)
            return DNN_STATUS_BAD_PARAM;
        link = calloc(1, sizeof(*link));
        if (link == NULL || (link->elements = malloc(sizeof(graph))) == NULL) {
            free(link);
            return DNN_STATUS_HOST_ALLOCATION;
        }
        memcpy(link->elements, &graph, sizeof(graph));
        link->name = DNN_HEUR_GRAPH;
        ret[i]->attributes = link;
        ret[i]->index = i;
        ret[i]->finalized = true;
    }
    return DNN_STATUS_SUCCESS;
}

static unsigned give(const void *value, size_t size, int64_t wanted, int64_t *count, void *ret)
{
    *count = 1;
    if (wanted > 0)
        memcpy(ret, value, size);
    return DNN_STATUS_SUCCESS;
}

static unsigned answer(struct shim_descriptor *descriptor, unsigned name, int64_t wanted,
                       int64_t *count, void *ret)
{
    static const int64_t value = 7;
    static const unsigned notes[] = {DNN_NOTE_TENSOR_CORE, DNN_NOTE_DOWN_CONVERT}, knob = 24;
    int64_t workspace;

    switch (name) {
    case DNN_HEUR_RESULTS:
        return list_configs(descriptor, wanted, count, ret);
    case DNN_PLAN_WORKSPACE:
        workspace = workspace_of(shim_link(descriptor, DNN_PLAN_CFG));
        return give(&workspace, sizeof(workspace), wanted, count, ret);
    case DNN_CFG_ENGINE: {
        struct shim_descriptor *engine = *(struct shim_descriptor **)ret;

        engine->index = descriptor->index;
        engine->finalized = true;
        *count = 1;
        return DNN_STATUS_SUCCESS;
    }
    case DNN_CFG_KNOBS:
        *count = 1;
        return DNN_STATUS_SUCCESS;
    case DNN_ENGINE_INDEX:
        return give(&descriptor->index, sizeof(int64_t), wanted, count, ret);
    case DNN_ENGINE_NUMERICAL_NOTE:
        *count = descriptor->index == number_of("ASSAY_SHIM_CONVERTING") ? 2 : 1;
        if (wanted < *count)
            return DNN_STATUS_BAD_PARAM;
        memcpy(ret, notes, (size_t)*count * sizeof(notes[0]));
        return DNN_STATUS_SUCCESS;
    case DNN_ENGINE_BEHAVIOR_NOTE:
        *count = 0;
        return DNN_STATUS_SUCCESS;
    case DNN_KNOB_TYPE:
        return give(&knob, sizeof(knob), wanted, count, ret);
    case DNN_KNOB_VALUE:
        return give(&value, sizeof(value), wanted, count, ret);
    default:
        return DNN_STATUS_BAD_PARAM;
    }
}

unsigned cudnnBackendGetAttribute(void *descriptor, unsigned name, unsigned type, int64_t wanted,
                                  int64_t *count, void *elements)
{
    (void)type;
    SHIM_FAULT(unsigned, cudnnBackendGetAttribute);
    return answer(descriptor, name, wanted, count, elements);
}

unsigned cudnnBackendExecute(struct cudnnContext *handle, void *plan, void *pack)
{
    const struct shim_descriptor *config;

    SHIM_FAULT(unsigned, cudnnBackendExecute);
    if (handle == NULL || !((struct shim_descriptor *)plan)->finalized ||
        !((struct shim_descriptor *)pack)->finalized)
        return DNN_STATUS_BAD_PARAM;
    config = shim_link(plan, DNN_PLAN_CFG);
    if (core_bytes_at(*(void *const *)shim_attribute(pack, DNN_PACK_WORKSPACE, NULL)) <
        (size_t)workspace_of(config))
        return DNN_STATUS_BAD_PARAM;
    if (core_synchronize() != CORE_OK || !core_algorithm_launch((unsigned)(config->index - 1)))
        return DNN_STATUS_EXECUTION_FAILED;
    return shim_graph_execute(shim_link(config, DNN_HEUR_GRAPH), pack);
}

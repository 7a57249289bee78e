#include "backends/cuda/cudnn_graph.h"

#include <inttypes.h>
#include <stdio.h>

#define TENSOR_ALIGNMENT_BYTES 16
#define KNOBS_MAX 32
#define REASON_SIZE 256

bool cudnn_has_graph(const struct cudnn_api *api)
{
    return api->cudnnBackendCreateDescriptor != NULL &&
           api->cudnnBackendDestroyDescriptor != NULL && api->cudnnBackendFinalize != NULL &&
           api->cudnnBackendSetAttribute != NULL && api->cudnnBackendGetAttribute != NULL &&
           api->cudnnBackendExecute != NULL;
}

/* Appends the library's own message for the latest refusal, where it has one. */
static void add_reason(const struct cudnn_api *api, struct error *err)
{
    char reason[REASON_SIZE] = "";
    struct error whole = ERROR_INIT;

    if (api->cudnnGetLastErrorString == NULL || err == NULL)
        return;
    api->cudnnGetLastErrorString(reason, sizeof(reason));
    reason[sizeof(reason) - 1] = '\0';
    if (reason[0] == '\0')
        return;
    error_set(&whole, err->code, "%s: %s", err->message, reason);
    *err = whole;
}

static void fail(struct cudnn_graph *graph, const char *function, const char *what, unsigned code)
{
    char name[96];

    snprintf(name, sizeof(name), "%s(%s)", function, what);
    graph->status = cudnn_fail(graph->api, name, code, graph->err);
    if (code != DNN_STATUS_SUCCESS)
        add_reason(graph->api, graph->err);
}

static void *create(struct cudnn_graph *graph, unsigned kind, const char *what)
{
    void *descriptor = NULL;
    unsigned code;

    if (graph->status != STATUS_OK)
        return NULL;
    if (graph->descriptor_count == CUDNN_DESCRIPTORS_MAX) {
        graph->status = error_set(graph->err, STATUS_INTERNAL, "cuDNN: too many descriptors");
        return NULL;
    }
    code = graph->api->cudnnBackendCreateDescriptor(kind, &descriptor);
    if (code != DNN_STATUS_SUCCESS || descriptor == NULL) {
        fail(graph, "cudnnBackendCreateDescriptor", what, code);
        return NULL;
    }
    graph->descriptors[graph->descriptor_count++] = descriptor;
    return descriptor;
}

static void set(struct cudnn_graph *graph, void *descriptor, const char *what, unsigned name,
                unsigned type, int64_t count, const void *elements)
{
    unsigned code;

    if (graph->status != STATUS_OK)
        return;
    code = graph->api->cudnnBackendSetAttribute(descriptor, name, type, count, elements);
    if (code != DNN_STATUS_SUCCESS)
        fail(graph, "cudnnBackendSetAttribute", what, code);
}

/* At most `wanted` elements; their number, 0 after a failure. */
static int64_t get(struct cudnn_graph *graph, void *descriptor, const char *what, unsigned name,
                   unsigned type, int64_t wanted, void *elements)
{
    int64_t count = 0;
    unsigned code;

    if (graph->status != STATUS_OK)
        return 0;
    code = graph->api->cudnnBackendGetAttribute(descriptor, name, type, wanted, &count, elements);
    if (code != DNN_STATUS_SUCCESS) {
        fail(graph, "cudnnBackendGetAttribute", what, code);
        return 0;
    }
    return count < 0 ? 0 : count > wanted ? wanted : count;
}

static void finalize(struct cudnn_graph *graph, void *descriptor, const char *what)
{
    unsigned code;

    if (graph->status != STATUS_OK)
        return;
    code = graph->api->cudnnBackendFinalize(descriptor);
    if (code != DNN_STATUS_SUCCESS)
        fail(graph, "cudnnBackendFinalize", what, code);
}

/* The same by our name of a kind or an attribute, which is part of the message. */
#define CREATE(graph, kind) create(graph, DNN_##kind, #kind)
#define SET(graph, descriptor, name, type, count, elements)                                        \
    set(graph, descriptor, #name, DNN_##name, DNN_TYPE_##type, count, elements)
#define GET(graph, descriptor, name, type, wanted, elements)                                       \
    get(graph, descriptor, #name, DNN_##name, DNN_TYPE_##type, wanted, elements)
#define FINALIZE(graph, descriptor, kind) finalize(graph, descriptor, #kind)

void *cudnn_graph_tensor(struct cudnn_graph *graph, const struct cudnn_tensor *tensor)
{
    void *descriptor = CREATE(graph, TENSOR);
    const int64_t alignment = TENSOR_ALIGNMENT_BYTES;
    const int64_t id = tensor->id != 0 ? tensor->id : --graph->next_id;
    const bool is_virtual = tensor->id == 0, by_value = tensor->by_value;

    SET(graph, descriptor, TENSOR_TYPE, DATA_TYPE, 1, &tensor->type);
    SET(graph, descriptor, TENSOR_DIMENSIONS, INT64, 4, tensor->dimensions);
    SET(graph, descriptor, TENSOR_STRIDES, INT64, 4, tensor->strides);
    SET(graph, descriptor, TENSOR_ID, INT64, 1, &id);
    SET(graph, descriptor, TENSOR_ALIGNMENT, INT64, 1, &alignment);
    if (is_virtual)
        SET(graph, descriptor, TENSOR_VIRTUAL, BOOLEAN, 1, &is_virtual);
    if (by_value)
        SET(graph, descriptor, TENSOR_BY_VALUE, BOOLEAN, 1, &by_value);
    FINALIZE(graph, descriptor, TENSOR);
    return graph->status == STATUS_OK ? descriptor : NULL;
}

static void add_operation(struct cudnn_graph *graph, void *operation, const char *what)
{
    finalize(graph, operation, what);
    if (graph->status != STATUS_OK)
        return;
    if (graph->operation_count == CUDNN_OPERATIONS_MAX) {
        graph->status = error_set(graph->err, STATUS_INTERNAL, "cuDNN: too many operations");
        return;
    }
    graph->operations[graph->operation_count++] = operation;
}

void cudnn_graph_matmul(struct cudnn_graph *graph, void *a, void *b, void *c)
{
    const unsigned compute = DNN_FLOAT;
    void *matmul = CREATE(graph, MATMUL), *operation;

    SET(graph, matmul, MATMUL_COMPUTE, DATA_TYPE, 1, &compute);
    FINALIZE(graph, matmul, MATMUL);
    operation = CREATE(graph, OPERATION_MATMUL);
    SET(graph, operation, MATMUL_A, DESCRIPTOR, 1, &a);
    SET(graph, operation, MATMUL_B, DESCRIPTOR, 1, &b);
    SET(graph, operation, MATMUL_C, DESCRIPTOR, 1, &c);
    SET(graph, operation, MATMUL_DESC, DESCRIPTOR, 1, &matmul);
    add_operation(graph, operation, "OPERATION_MATMUL");
}

static void add_pointwise(struct cudnn_graph *graph, void *pointwise, void *x, void *b, void *t,
                          void *y)
{
    void *operation;

    FINALIZE(graph, pointwise, POINTWISE);
    operation = CREATE(graph, OPERATION_POINTWISE);
    SET(graph, operation, POINTWISE_DESC, DESCRIPTOR, 1, &pointwise);
    SET(graph, operation, POINTWISE_X, DESCRIPTOR, 1, &x);
    if (b != NULL)
        SET(graph, operation, POINTWISE_B, DESCRIPTOR, 1, &b);
    if (t != NULL)
        SET(graph, operation, POINTWISE_T, DESCRIPTOR, 1, &t);
    SET(graph, operation, POINTWISE_Y, DESCRIPTOR, 1, &y);
    add_operation(graph, operation, "OPERATION_POINTWISE");
}

void cudnn_graph_pointwise(struct cudnn_graph *graph, unsigned mode, unsigned compute, void *x,
                           void *b, void *t, void *y)
{
    void *pointwise = CREATE(graph, POINTWISE);

    SET(graph, pointwise, POINTWISE_MODE, POINTWISE_MODE, 1, &mode);
    SET(graph, pointwise, POINTWISE_MATH_PREC, DATA_TYPE, 1, &compute);
    add_pointwise(graph, pointwise, x, b, t, y);
}

void cudnn_graph_index(struct cudnn_graph *graph, int64_t axis, void *x, void *y)
{
    const unsigned mode = DNN_GEN_INDEX, compute = DNN_FLOAT;
    void *pointwise = CREATE(graph, POINTWISE);

    SET(graph, pointwise, POINTWISE_MODE, POINTWISE_MODE, 1, &mode);
    SET(graph, pointwise, POINTWISE_MATH_PREC, DATA_TYPE, 1, &compute);
    SET(graph, pointwise, POINTWISE_AXIS, INT64, 1, &axis);
    add_pointwise(graph, pointwise, x, NULL, NULL, y);
}

void cudnn_graph_reduce(struct cudnn_graph *graph, unsigned how, void *x, void *y)
{
    const unsigned compute = DNN_FLOAT;
    void *reduction = CREATE(graph, REDUCTION), *operation;

    SET(graph, reduction, REDUCTION_COMPUTE, DATA_TYPE, 1, &compute);
    SET(graph, reduction, REDUCTION_OPERATOR, REDUCTION_OPERATOR, 1, &how);
    FINALIZE(graph, reduction, REDUCTION);
    operation = CREATE(graph, OPERATION_REDUCTION);
    SET(graph, operation, REDUCTION_X, DESCRIPTOR, 1, &x);
    SET(graph, operation, REDUCTION_Y, DESCRIPTOR, 1, &y);
    SET(graph, operation, REDUCTION_DESC, DESCRIPTOR, 1, &reduction);
    add_operation(graph, operation, "OPERATION_REDUCTION");
}

void cudnn_graph_reshape(struct cudnn_graph *graph, void *x, void *y)
{
    void *operation = CREATE(graph, OPERATION_RESHAPE);

    SET(graph, operation, RESHAPE_X, DESCRIPTOR, 1, &x);
    SET(graph, operation, RESHAPE_Y, DESCRIPTOR, 1, &y);
    add_operation(graph, operation, "OPERATION_RESHAPE");
}

/* ---- plans ---- */

static void *close_graph(struct cudnn_graph *graph)
{
    void *closed = CREATE(graph, OPERATION_GRAPH);

    SET(graph, closed, GRAPH_OPS, DESCRIPTOR, (int64_t)graph->operation_count, graph->operations);
    if (graph->target.handle != NULL)
        SET(graph, closed, GRAPH_HANDLE, HANDLE, 1, &graph->target.handle);
    FINALIZE(graph, closed, OPERATION_GRAPH);
    return closed;
}

/* What the library's heuristic ranks, best first; the configurations belong to the graph. */
static int64_t list_configs(struct cudnn_graph *graph, void *closed, void *ret[CUDNN_PLANS_MAX])
{
    const unsigned mode = DNN_HEUR_MODE_A;
    void *heuristic = CREATE(graph, ENGINEHEUR);

    SET(graph, heuristic, HEUR_GRAPH, DESCRIPTOR, 1, &closed);
    SET(graph, heuristic, HEUR_MODE, HEUR_MODE, 1, &mode);
    if (graph->target.handle == NULL)
        SET(graph, heuristic, HEUR_DEVICEPROP, DESCRIPTOR, 1, &graph->target.properties);
    FINALIZE(graph, heuristic, ENGINEHEUR);
    for (size_t i = 0; i < CUDNN_PLANS_MAX; i++)
        ret[i] = CREATE(graph, ENGINECFG);
    return GET(graph, heuristic, HEUR_RESULTS, DESCRIPTOR, CUDNN_PLANS_MAX, ret);
}

static void name_plan(struct cudnn_graph *graph, struct cudnn_plan *plan)
{
    void *knobs[KNOBS_MAX];
    const size_t room = sizeof(plan->name);
    size_t used = (size_t)snprintf(plan->name, room, "engine %" PRId64, plan->engine);
    int64_t count;

    for (size_t i = 0; i < KNOBS_MAX; i++)
        knobs[i] = CREATE(graph, KNOB_CHOICE);
    count = GET(graph, plan->config, CFG_KNOBS, DESCRIPTOR, KNOBS_MAX, knobs);
    for (int64_t i = 0; i < count && used < room; i++) {
        unsigned type = 0;
        int64_t value = 0;

        GET(graph, knobs[i], KNOB_TYPE, KNOB_TYPE, 1, &type);
        GET(graph, knobs[i], KNOB_VALUE, INT64, 1, &value);
        used += (size_t)snprintf(plan->name + used, room - used, "%s%u=%" PRId64,
                                 i == 0 ? ", knobs " : " ", type, value);
    }
    for (size_t i = 0; i < KNOBS_MAX; i++)
        cudnn_graph_drop(graph, knobs[i]);
}

/* What the engine says of itself. */
static void describe_engine(struct cudnn_graph *graph, struct cudnn_plan *plan)
{
    void *engine = CREATE(graph, ENGINE);
    unsigned notes[DNN_NOTES * 2];
    int64_t count;

    if (GET(graph, plan->config, CFG_ENGINE, DESCRIPTOR, 1, &engine) != 1 &&
        graph->status == STATUS_OK)
        fail(graph, "cudnnBackendGetAttribute", "CFG_ENGINE", DNN_STATUS_SUCCESS);
    GET(graph, engine, ENGINE_INDEX, INT64, 1, &plan->engine);
    count = GET(graph, engine, ENGINE_NUMERICAL_NOTE, NUMERICAL_NOTE, DNN_NOTES * 2, notes);
    for (int64_t i = 0; i < count; i++)
        if (notes[i] < 32)
            plan->notes |= 1u << notes[i];
    count = GET(graph, engine, ENGINE_BEHAVIOR_NOTE, BEHAVIOR_NOTE, DNN_NOTES * 2, notes);
    for (int64_t i = 0; i < count; i++)
        plan->compiled_at_run |= notes[i] == DNN_BEHAVIOR_RUNTIME_COMPILATION;
    cudnn_graph_drop(graph, engine);
    name_plan(graph, plan);
}

enum status cudnn_graph_make(struct cudnn_graph *graph, struct cudnn_plan *plan)
{
    void *descriptor;
    int64_t bytes = 0;

    if (plan->descriptor != NULL)
        return STATUS_OK;
    graph->status = STATUS_OK;
    descriptor = CREATE(graph, PLAN);
    SET(graph, descriptor, PLAN_CFG, DESCRIPTOR, 1, &plan->config);
    if (graph->target.handle != NULL)
        SET(graph, descriptor, PLAN_HANDLE, HANDLE, 1, &graph->target.handle);
    else
        SET(graph, descriptor, PLAN_DEVICEPROP, DESCRIPTOR, 1, &graph->target.properties);
    FINALIZE(graph, descriptor, PLAN);
    if ((GET(graph, descriptor, PLAN_WORKSPACE, INT64, 1, &bytes) != 1 || bytes < 0) &&
        graph->status == STATUS_OK)
        fail(graph, "cudnnBackendGetAttribute", "PLAN_WORKSPACE", DNN_STATUS_SUCCESS);
    if (graph->status != STATUS_OK) {
        cudnn_graph_drop(graph, descriptor);
        return graph->status;
    }
    plan->descriptor = descriptor;
    plan->workspace_bytes = bytes;
    return STATUS_OK;
}

/* The first that can be made; the library's error for its first choice, if none can. */
static void take_first(struct cudnn_graph *graph, struct cudnn_plans *plans)
{
    struct error *const err = graph->err;
    struct error reported = ERROR_INIT;

    error_set(&reported, STATUS_UNSUPPORTED, "cuDNN lists no engine for the graph");
    if (plans->count == 0)
        add_reason(graph->api, &reported);
    graph->status = STATUS_UNSUPPORTED;
    for (uint32_t i = 0; i < plans->count && graph->status == STATUS_UNSUPPORTED; i++) {
        struct error mine = ERROR_INIT;

        graph->err = &mine;
        plans->selected = i;
        cudnn_graph_make(graph, &plans->list[i]);
        if (graph->status != STATUS_OK && (i == 0 || graph->status != STATUS_UNSUPPORTED))
            reported = mine;
    }
    graph->err = err;
    if (graph->status != STATUS_OK && err != NULL)
        *err = reported;
}

static void keep_alike(struct cudnn_plans *plans)
{
    const uint32_t notes = plans->list[plans->selected].notes;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < plans->count; i++) {
        if (plans->list[i].notes != notes)
            continue;
        if (i == plans->selected)
            plans->selected = kept;
        plans->list[kept++] = plans->list[i];
    }
    plans->count = kept;
}

enum status cudnn_graph_plan(struct cudnn_graph *graph, struct cudnn_plans *ret)
{
    void *configs[CUDNN_PLANS_MAX] = {0};
    void *closed = close_graph(graph);
    const int64_t count = list_configs(graph, closed, configs);
    struct cudnn_plans plans = {0};

    for (int64_t i = 0; i < count && graph->status == STATUS_OK; i++) {
        plans.list[plans.count] = (struct cudnn_plan){.config = configs[i], .engine = -1};
        describe_engine(graph, &plans.list[plans.count]);
        if (graph->status == STATUS_OK)
            plans.count++;
        else if (graph->status == STATUS_UNSUPPORTED)
            graph->status = STATUS_OK; /* one that cannot be distinguished is not offered */
    }
    if (graph->status == STATUS_OK)
        take_first(graph, &plans);
    if (graph->status != STATUS_OK)
        return graph->status;
    keep_alike(&plans);
    *ret = plans;
    return STATUS_OK;
}

void cudnn_plan_notes(const struct cudnn_plan *plan, char *ret, size_t size)
{
    static const struct {
        unsigned note;
        const char *word;
    } words[] = {{DNN_NOTE_TENSOR_CORE, "TENSOR_CORE"},
                 {DNN_NOTE_DOWN_CONVERT, "DOWN_CONVERT_INPUTS"},
                 {DNN_NOTE_REDUCED_REDUCTION, "REDUCED_PRECISION_REDUCTION"},
                 {DNN_NOTE_NONDETERMINISTIC, "NONDETERMINISTIC"}};
    size_t used = 0;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && used < size; i++)
        if (plan->notes >> words[i].note & 1)
            used += (size_t)snprintf(ret + used, size - used, "%s%s", used > 0 ? " " : "",
                                     words[i].word);
    if (used == 0)
        snprintf(ret, size, "none");
}

void *cudnn_graph_pack(struct cudnn_graph *graph, const int64_t *ids, void *const *pointers,
                       size_t count, void *workspace)
{
    void *pack = CREATE(graph, VARIANT_PACK);

    SET(graph, pack, PACK_IDS, INT64, (int64_t)count, ids);
    SET(graph, pack, PACK_POINTERS, VOID_PTR, (int64_t)count, pointers);
    SET(graph, pack, PACK_WORKSPACE, VOID_PTR, 1, &workspace);
    FINALIZE(graph, pack, VARIANT_PACK);
    return graph->status == STATUS_OK ? pack : NULL;
}

void cudnn_graph_drop(struct cudnn_graph *graph, void *descriptor)
{
    if (descriptor == NULL)
        return;
    for (size_t i = 0; i < graph->descriptor_count; i++)
        if (graph->descriptors[i] == descriptor) {
            graph->descriptors[i] = graph->descriptors[--graph->descriptor_count];
            graph->api->cudnnBackendDestroyDescriptor(descriptor);
            return;
        }
}

void cudnn_graph_finish(struct cudnn_graph *graph)
{
    while (graph->descriptor_count > 0)
        graph->api->cudnnBackendDestroyDescriptor(graph->descriptors[--graph->descriptor_count]);
}

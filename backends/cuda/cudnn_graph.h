/*
 * cudnn_graph - cuDNN's graph interface, as far as attention needs it: our declarations, and a
 * builder that makes descriptors out of plain arguments and remembers the first that is refused.
 *
 * A graph is tensors and operations on them; the library looks for an engine that runs all of it as
 * one kernel or a few. Names, values and types are those of cudnn_graph.h (cuDNN 9.19). An
 * attribute is untyped and identified by number, so the ABI test compares the numbers, and
 * test_cudnn_graph has the real library take what is built here, with no device.
 */
#ifndef ASSAY_BACKENDS_CUDA_CUDNN_GRAPH_H
#define ASSAY_BACKENDS_CUDA_CUDNN_GRAPH_H

#include "backends/cuda/cudnn.h"

/* Our name, the header's name, value. */
#define CUDNN_GRAPH_CONSTANT_MAP(X)                                                                \
    X(BOOLEAN, CUDNN_DATA_BOOLEAN, 11)                                                             \
    X(TYPE_HANDLE, CUDNN_TYPE_HANDLE, 0)                                                           \
    X(TYPE_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1)                                                     \
    X(TYPE_BOOLEAN, CUDNN_TYPE_BOOLEAN, 2)                                                         \
    X(TYPE_INT64, CUDNN_TYPE_INT64, 3)                                                             \
    X(TYPE_VOID_PTR, CUDNN_TYPE_VOID_PTR, 6)                                                       \
    X(TYPE_HEUR_MODE, CUDNN_TYPE_HEUR_MODE, 8)                                                     \
    X(TYPE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 9)                                                     \
    X(TYPE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, 11)                                          \
    X(TYPE_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 14)                                          \
    X(TYPE_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 15)                                          \
    X(TYPE_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 18)                             \
    X(TYPE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, 19)                                            \
    X(TYPE_CHAR, CUDNN_TYPE_CHAR, 24)                                                              \
    X(POINTWISE, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, 0)                                            \
    X(ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 2)                                                  \
    X(ENGINECFG, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, 3)                                            \
    X(ENGINEHEUR, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, 4)                                          \
    X(PLAN, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, 5)                                            \
    X(KNOB_CHOICE, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, 7)                                        \
    X(OPERATION_POINTWISE, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, 13)                       \
    X(OPERATION_GRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, 15)                                \
    X(VARIANT_PACK, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, 16)                                     \
    X(TENSOR, CUDNN_BACKEND_TENSOR_DESCRIPTOR, 17)                                                 \
    X(MATMUL, CUDNN_BACKEND_MATMUL_DESCRIPTOR, 18)                                                 \
    X(OPERATION_MATMUL, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, 19)                             \
    X(REDUCTION, CUDNN_BACKEND_REDUCTION_DESCRIPTOR, 21)                                           \
    X(OPERATION_REDUCTION, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, 22)                       \
    X(OPERATION_RESHAPE, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, 31)                           \
    X(DEVICEPROP, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, 38)                                         \
    X(POINTWISE_MODE, CUDNN_ATTR_POINTWISE_MODE, 0)                                                \
    X(POINTWISE_MATH_PREC, CUDNN_ATTR_POINTWISE_MATH_PREC, 1)                                      \
    X(POINTWISE_AXIS, CUDNN_ATTR_POINTWISE_AXIS, 9)                                                \
    X(HEUR_MODE, CUDNN_ATTR_ENGINEHEUR_MODE, 200)                                                  \
    X(HEUR_GRAPH, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, 201)                                      \
    X(HEUR_RESULTS, CUDNN_ATTR_ENGINEHEUR_RESULTS, 202)                                            \
    X(HEUR_DEVICEPROP, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, 204)                                      \
    X(CFG_ENGINE, CUDNN_ATTR_ENGINECFG_ENGINE, 300)                                                \
    X(CFG_KNOBS, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, 302)                                           \
    X(PLAN_HANDLE, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, 400)                                          \
    X(PLAN_CFG, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 401)                                      \
    X(PLAN_WORKSPACE, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 402)                               \
    X(PLAN_DEVICEPROP, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, 407)                                  \
    X(KNOB_TYPE, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, 600)                                            \
    X(KNOB_VALUE, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, 601)                                          \
    X(POINTWISE_DESC, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, 750)                           \
    X(POINTWISE_X, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, 751)                                      \
    X(POINTWISE_B, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, 752)                                      \
    X(POINTWISE_Y, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, 753)                                      \
    X(POINTWISE_T, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, 758)                                      \
    X(GRAPH_HANDLE, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, 800)                                         \
    X(GRAPH_OPS, CUDNN_ATTR_OPERATIONGRAPH_OPS, 801)                                               \
    X(TENSOR_ALIGNMENT, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 900)                                     \
    X(TENSOR_TYPE, CUDNN_ATTR_TENSOR_DATA_TYPE, 901)                                               \
    X(TENSOR_DIMENSIONS, CUDNN_ATTR_TENSOR_DIMENSIONS, 902)                                        \
    X(TENSOR_STRIDES, CUDNN_ATTR_TENSOR_STRIDES, 903)                                              \
    X(TENSOR_ID, CUDNN_ATTR_TENSOR_UNIQUE_ID, 906)                                                 \
    X(TENSOR_VIRTUAL, CUDNN_ATTR_TENSOR_IS_VIRTUAL, 907)                                           \
    X(TENSOR_BY_VALUE, CUDNN_ATTR_TENSOR_IS_BY_VALUE, 908)                                         \
    X(PACK_IDS, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, 1000)                                          \
    X(PACK_POINTERS, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, 1001)                                  \
    X(PACK_WORKSPACE, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, 1003)                                     \
    X(ENGINE_INDEX, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 1301)                                          \
    X(ENGINE_NUMERICAL_NOTE, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, 1303)                               \
    X(ENGINE_BEHAVIOR_NOTE, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, 1305)                                 \
    X(MATMUL_COMPUTE, CUDNN_ATTR_MATMUL_COMP_TYPE, 1500)                                           \
    X(MATMUL_A, CUDNN_ATTR_OPERATION_MATMUL_ADESC, 1520)                                           \
    X(MATMUL_B, CUDNN_ATTR_OPERATION_MATMUL_BDESC, 1521)                                           \
    X(MATMUL_C, CUDNN_ATTR_OPERATION_MATMUL_CDESC, 1522)                                           \
    X(MATMUL_DESC, CUDNN_ATTR_OPERATION_MATMUL_DESC, 1523)                                         \
    X(REDUCTION_OPERATOR, CUDNN_ATTR_REDUCTION_OPERATOR, 1600)                                     \
    X(REDUCTION_COMPUTE, CUDNN_ATTR_REDUCTION_COMP_TYPE, 1601)                                     \
    X(REDUCTION_X, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, 1610)                                     \
    X(REDUCTION_Y, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, 1611)                                     \
    X(REDUCTION_DESC, CUDNN_ATTR_OPERATION_REDUCTION_DESC, 1612)                                   \
    X(RESHAPE_X, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, 2200)                                         \
    X(RESHAPE_Y, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, 2201)                                         \
    X(DEVICEPROP_JSON, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, 2702)                            \
    X(ADD, CUDNN_POINTWISE_ADD, 0)                                                                 \
    X(MUL, CUDNN_POINTWISE_MUL, 1)                                                                 \
    X(DIV, CUDNN_POINTWISE_DIV, 6)                                                                 \
    X(SUB, CUDNN_POINTWISE_SUB, 9)                                                                 \
    X(EXP, CUDNN_POINTWISE_EXP, 13)                                                                \
    X(LOG, CUDNN_POINTWISE_LOG, 15)                                                                \
    X(IDENTITY, CUDNN_POINTWISE_IDENTITY, 21)                                                      \
    X(CMP_GE, CUDNN_POINTWISE_CMP_GE, 303)                                                         \
    X(GEN_INDEX, CUDNN_POINTWISE_GEN_INDEX, 501)                                                   \
    X(BINARY_SELECT, CUDNN_POINTWISE_BINARY_SELECT, 601)                                           \
    X(REDUCE_ADD, CUDNN_REDUCE_TENSOR_ADD, 0)                                                      \
    X(REDUCE_MAX, CUDNN_REDUCE_TENSOR_MAX, 3)                                                      \
    X(HEUR_MODE_A, CUDNN_HEUR_MODE_A, 3)                                                           \
    X(NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_TENSOR_CORE, 0)                                       \
    X(NOTE_DOWN_CONVERT, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, 1)                              \
    X(NOTE_REDUCED_REDUCTION, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, 2)                 \
    X(NOTE_NONDETERMINISTIC, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, 4)                             \
    X(NOTES, CUDNN_NUMERICAL_NOTE_TYPE_COUNT, 10)                                                  \
    X(BEHAVIOR_RUNTIME_COMPILATION, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION, 0)

enum cudnn_graph_constant {
#define CUDNN_GRAPH_ENUM(name, theirs, value) DNN_##name = value,
    CUDNN_GRAPH_CONSTANT_MAP(CUDNN_GRAPH_ENUM)
#undef CUDNN_GRAPH_ENUM
};

#define CUDNN_DESCRIPTORS_MAX 256
#define CUDNN_OPERATIONS_MAX 48
#define CUDNN_PLANS_MAX 16

/* What the graph is for: a handle's device, or a description of one that is not here (tests). */
struct cudnn_target {
    struct cudnnContext *handle; /* NULL: described by `properties` */
    void *properties;            /* a finalized DEVICEPROP descriptor */
};

/*
 * A graph under construction. After a failure all further calls do nothing and give NULL; `status`
 * and `err` have the first. Zero it, fill api, target and err, and finish it in any case.
 */
struct cudnn_graph {
    const struct cudnn_api *api;
    struct cudnn_target target;
    struct error *err;
    enum status status;
    void *descriptors[CUDNN_DESCRIPTORS_MAX]; /* all that were made, plan and pack too */
    size_t descriptor_count;
    void *operations[CUDNN_OPERATIONS_MAX];
    size_t operation_count;
    int64_t next_id; /* of tensors that only the graph knows */
};

/* Dimensions are batch, head, row, column; strides count elements. */
struct cudnn_tensor {
    int64_t id; /* what an execution calls it; 0: virtual, it is written to no memory */
    unsigned type;
    int64_t dimensions[4], strides[4];
    bool by_value; /* read from the host at execution */
};

/* What can run a graph. Lives as long as the graph that it is for. */
struct cudnn_plan {
    void *config;
    void *descriptor; /* NULL: not made yet; nor is the next known */
    int64_t workspace_bytes;
    int64_t engine;
    uint32_t notes;       /* bit DNN_NOTE_... each */
    bool compiled_at_run; /* the engine's kernels are compiled when the plan is made */
    char name[96];        /* "engine 5, knobs 24=31 14=2" */
};

/* Those of one graph, in the library's order: best first, by its heuristic. */
struct cudnn_plans {
    struct cudnn_plan list[CUDNN_PLANS_MAX];
    uint32_t count;
    uint32_t selected;
};

/* True where the library has all functions of the interface. */
bool cudnn_has_graph(const struct cudnn_api *api);

void *cudnn_graph_tensor(struct cudnn_graph *graph, const struct cudnn_tensor *tensor);
/* c = a b, one GEMM a batch and head, summed in f32. */
void cudnn_graph_matmul(struct cudnn_graph *graph, void *a, void *b, void *c);
/* y = mode(x, b), element by element, computed in `compute`; b and t may be NULL, t chooses. */
void cudnn_graph_pointwise(struct cudnn_graph *graph, unsigned mode, unsigned compute, void *x,
                           void *b, void *t, void *y);
/* y = each element's index in dimension `axis` of x. */
void cudnn_graph_index(struct cudnn_graph *graph, int64_t axis, void *x, void *y);
/* y = x reduced over the dimensions in which y has 1, in f32. */
void cudnn_graph_reduce(struct cudnn_graph *graph, unsigned how, void *x, void *y);
/* y is x's memory under other dimensions and strides. */
void cudnn_graph_reshape(struct cudnn_graph *graph, void *x, void *y);

/*
 * Closes the graph, lists the library's plans, and selects and makes the first that can be made.
 * The list keeps those whose engine has the same numerical notes as that one, so that a later
 * choice takes no other arithmetic. UNSUPPORTED, with the library's answer to the first that it
 * refused, when none can be made.
 */
enum status cudnn_graph_plan(struct cudnn_graph *graph, struct cudnn_plans *ret);
/* Makes one of them, if it is not; a kernel may be compiled. UNSUPPORTED: the library's answer. */
enum status cudnn_graph_make(struct cudnn_graph *graph, struct cudnn_plan *plan);

/* "TENSOR_CORE NONDETERMINISTIC", by the header's names; "none". */
void cudnn_plan_notes(const struct cudnn_plan *plan, char *ret, size_t size);

/*
 * Pointers for the tensors by id, and a workspace, bound together for executions; owned by the
 * graph. NULL: refused (graph->status).
 */
void *cudnn_graph_pack(struct cudnn_graph *graph, const int64_t *ids, void *const *pointers,
                       size_t count, void *workspace);

/* Releases one of the graph's descriptors before the rest; takes NULL. */
void cudnn_graph_drop(struct cudnn_graph *graph, void *descriptor);
/* Destroys all descriptors. */
void cudnn_graph_finish(struct cudnn_graph *graph);

#endif

#include "workloads/models/gpt2_onnx.h"

#include "harness/core/cleanup.h"
#include "workloads/models/gpt2_graph.h"

enum status gpt2_onnx_write(const struct gpt2_onnx *model, const struct framework_model *arrays,
                            struct text *ret, struct error *err)
{
    CLEANUP(stack_graph_finish) struct stack_graph graph = {0};
    CLEANUP(stack_layout_finish) struct stack_layout layout = {0};
    struct graph_onnx onnx = {
        .name = "gpt2",
        .weights = model->parameters,
        .layout = &layout,
        .pass = model->pass,
        .length = model->length,
        .room = model->room,
        .cache = model->cache,
    };

    TRY(gpt2_graph_init(&graph, model->shape, model->sequences, model->length, false, err));
    TRY(stack_layout_init(&layout, graph.graph, GPT2_ALIGN, err));
    onnx.graph = graph.graph;
    onnx.out = graph.out;
    onnx.nodes = graph.forward;
    onnx.head = graph.forward - GPT2_HEAD_NODES;
    return graph_onnx_write(&onnx, arrays, ret, err);
}

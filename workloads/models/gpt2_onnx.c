#include "workloads/models/gpt2_onnx.h"

#include "harness/core/cleanup.h"
#include "workloads/models/gpt2_graph.h"

enum status gpt2_onnx_write(const struct gpt2_onnx *model, const struct framework_model *arrays,
                            struct text *ret, struct error *err)
{
    CLEANUP(gpt2_graph_finish) struct gpt2_graph graph = {0};
    struct graph_onnx onnx = {
        .name = "gpt2",
        .weights = model->parameters,
        .align = GPT2_ALIGN,
        .pass = model->pass,
        .length = model->length,
        .room = model->room,
        .cache = model->cache,
    };

    TRY(gpt2_graph_init(&graph, model->shape, model->sequences, model->length, false, err));
    onnx.graph = graph.graph;
    onnx.out = graph.logits;
    onnx.nodes = graph.loss_node;
    onnx.head = graph.loss_node - GPT2_HEAD_NODES;
    return graph_onnx_write(&onnx, arrays, ret, err);
}

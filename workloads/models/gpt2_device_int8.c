/*
 * GEMMs of i8: every GEMM with a weight, the head's too. A GEMM's input is quantised by the kernel
 * that makes it, and its i32 sums are taken up by the one that uses them; the attention's own GEMMs
 * stay in the storage type.
 */
#include "workloads/graph/operators.h"
#include "workloads/models/gpt2_passes.h"

/* A linear node's GEMM. */
struct site {
    struct gpt2_int8_site of;
    float scale; /* of its input */
    struct op_int8_sums sums;
};

/* Sites are the linear nodes in their order. */
static uint64_t number_of(const struct session *session, const struct graph_node *node)
{
    uint64_t ret = 0;

    for (const struct graph_node *i = session->graph->nodes; i < node; i++)
        ret += i->op == &graph_op_linear;
    return ret;
}

static struct site site_of(const struct session *session, const struct graph_node *node)
{
    const struct gpt2_device *model = session->model;
    const uint64_t number = number_of(session, node);
    const float scale = model->plan.input_scales[number];
    struct site ret = {.of = gpt2_int8_site_at(&model->plan.shape, number), .scale = scale};

    ret.sums = (struct op_int8_sums){
        .rows = model->tokens.rows,
        .width = ret.of.outputs,
        .sums = model->buffers[GPT2_LOGITS],
        .scales = {model->buffers[GPT2_WEIGHT_SCALES], ret.of.scales},
        .scale = scale,
    };
    if (!ret.of.head)
        ret.sums.bias = session_at(session, node->in[2]);
    return ret;
}

/* INPUT8 times the weight: sums into the logits' buffer, the head's in rows as far apart as those.
 */
static enum status gemm(const struct session *session, const struct site *site, struct error *err)
{
    const struct gpt2_device *model = session->model;
    const struct gpt2_int8_site *of = &site->of;
    const struct gpt2_shape *shape = &model->plan.shape;
    const struct op_gemm gemm = {
        .m = site->sums.rows,
        .n = of->head ? gpt2_int8_head_rows(shape) : of->outputs,
        .k = of->inputs,
        .a = {.at = {model->buffers[GPT2_INPUT8], 0}, .type = DTYPE_I8, .stride = of->inputs},
        .b = {.at = {model->buffers[GPT2_WEIGHTS8], of->weights},
              .type = DTYPE_I8,
              .stride = of->inputs,
              .transpose = true},
        .c = {.at = {model->buffers[GPT2_LOGITS], 0},
              .type = DTYPE_I32,
              .stride = of->head ? gpt2_logits_stride(&model->plan) : of->outputs},
        .constant_b = true,
    };

    return op_gemm(session->ops, &gemm, err);
}

static enum status layer_norm(struct session *session, const struct graph_node *node,
                              struct error *err)
{
    const uint32_t values[] = {node->in[0], node->in[1], node->in[2], node->out[1], node->out[2]};
    const struct op_norm norm = session_norm(session, node, values);

    return op_int8_norm(session->ops, &norm, session->places[node->out[0]].buffer,
                        site_of(session, node + 1).scale, err);
}

static bool has_sum(const struct session *session, const struct graph_node *node)
{
    return session_is_followed(session, node, &graph_op_add);
}

static bool has_gelu(const struct session *session, const struct graph_node *node)
{
    return session_is_followed(session, node, &graph_op_gelu);
}

static size_t takes(const struct session *session, const struct graph_node *node)
{
    return has_sum(session, node) || has_gelu(session, node) ? 2 : 1;
}

static enum status linear(struct session *session, const struct graph_node *node, struct error *err)
{
    const struct gpt2_device *model = session->model;
    const struct site site = site_of(session, node);
    const struct operand none = {0};

    if (session->places[node->in[0]].buffer != model->buffers[GPT2_INPUT8])
        TRY(op_int8_quantise(session->ops, session_at(session, node->in[0]),
                             model->buffers[GPT2_INPUT8], site.sums.rows * site.of.inputs,
                             site.scale, err));
    TRY(gemm(session, &site, err));
    if (site.of.head)
        return op_int8_logits(session->ops, &site.sums, gpt2_logits_stride(&model->plan), err);
    if (has_gelu(session, node))
        return op_int8_gelu(session->ops, &site.sums, model->buffers[GPT2_INPUT8],
                            site_of(session, node + 2).scale, err);
    if (has_sum(session, node))
        return op_int8_dequantise(session->ops, &site.sums, session_at(session, node[1].in[1]),
                                  session_at(session, node[1].out[0]), err);
    return op_int8_dequantise(session->ops, &site.sums, none, session_at(session, node->out[0]),
                              err);
}

const struct lowering gpt2_int8_lowerings[] = {
    {&graph_op_layer_norm, NULL, layer_norm},
    {&graph_op_linear, takes, linear},
    {0},
};

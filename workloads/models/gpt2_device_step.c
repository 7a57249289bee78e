/*
 * Steps of generation: the table that the launches read, and what a step does besides the layers.
 * Rows of a part follow each other, parts as they are given; neighbours of as many rows share a
 * launch of attention.
 */
#include <stdlib.h>

#include "workloads/graph/operators.h"
#include "workloads/models/gpt2_passes.h"

static void fill(const struct gpt2_device *model, const int32_t *blocks, int32_t *table)
{
    const struct gpt2_device_plan *plan = &model->plan;
    const struct op_step *step = &model->step;
    uint64_t row = 0, output = 0;

    for (uint64_t p = 0; p < model->part_count; p++) {
        const struct gpt2_part *part = &model->parts[p];
        const int32_t *mine = blocks + part->slot * plan->pages;

        for (uint64_t i = part->first; i < part->first + part->count; i++, row++) {
            table[step->at + row] = (int32_t)(part->slot * gpt2_token_stride(plan) + i);
            table[step->position + row] = (int32_t)i;
            table[step->place + row] =
                (int32_t)((uint64_t)mine[i / plan->page] * plan->page + i % plan->page);
            if (i == part->output)
                table[step->row + output++] = (int32_t)row;
        }
        table[step->lengths + p] = (int32_t)(part->first + part->count);
        for (uint64_t i = 0; i < plan->pages; i++)
            table[step->blocks + p * plan->pages + i] = mine[i];
    }
}

uint64_t gpt2_step_planned(const struct gpt2_device_plan *plan, uint64_t rows)
{
    uint64_t ret = 1;

    while (plan->padded && ret < rows)
        ret *= 2;
    return plan->padded ? ret : rows;
}

enum status gpt2_device_set_step(struct gpt2_device *model, const struct gpt2_part *parts,
                                 uint64_t count, const int32_t *blocks, struct error *err)
{
    const struct gpt2_device_plan *plan = &model->plan;
    struct op_step *step = &model->step;
    int32_t *table;
    uint64_t length;
    enum status status;

    *step = (struct op_step){
        .tokens = model->buffers[GPT2_TOKENS],
        .table = model->buffers[GPT2_STEP],
        .page = plan->page,
        .pages = plan->pages,
    };
    for (uint64_t p = 0; p < count; p++) {
        step->rows += parts[p].count;
        step->outputs += parts[p].output != GPT2_NO_OUTPUT;
    }
    if (count == 0 || count > plan->slots || step->rows > plan->sequences * plan->length)
        return error_set(err, STATUS_INTERNAL,
                         "a step of %llu sequences and %llu rows, more than was planned",
                         (unsigned long long)count, (unsigned long long)step->rows);
    step->position = step->rows;
    step->place = 2 * step->rows;
    step->row = 3 * step->rows;
    step->lengths = step->row + step->outputs;
    step->blocks = step->lengths + count;
    length = step->blocks + count * plan->pages;
    model->parts = parts;
    model->part_count = count;
    model->tokens =
        (struct op_tokens){.rows = gpt2_step_planned(plan, step->rows), .length = plan->length};
    model->outputs = gpt2_step_planned(plan, step->outputs);
    table = malloc(length * sizeof(*table));
    if (!table)
        return error_no_memory(err);
    fill(model, blocks, table);
    status = device_upload(model->buffers[GPT2_STEP], 0, table, length * sizeof(*table), err);
    free(table);
    return status;
}

static enum status embedding(struct session *session, const struct graph_node *node,
                             struct error *err)
{
    const struct gpt2_device *model = session->model;

    return op_step_embedding(session->ops, &model->step, session_at(session, node->in[1]),
                             session_at(session, node->in[2]), session_at(session, node->out[0]),
                             model->plan.shape.width, err);
}

/* Over the cache, with the keys and values of the rows put there. */
static enum status attention(struct session *session, const struct graph_node *node,
                             struct error *err)
{
    const struct gpt2_device *model = session->model;
    const struct gpt2_device_plan *plan = &model->plan;
    const uint64_t d = plan->shape.width, positions = plan->blocks * plan->page;
    const uint64_t layer = (uint64_t)(node - session->graph->nodes) / GPT2_LAYER_NODES;
    struct op_step_attention op = {
        .heads = plan->shape.heads,
        .size = d / plan->shape.heads,
        .qkv = session_at(session, node->in[0]),
        .cache = {model->buffers[GPT2_CACHE], layer * positions * 2 * d},
        .values = session_at(session, node->out[0]),
    };

    TRY(op_step_keep(session->ops, &model->step, op.qkv, op.cache, d, err));
    while (op.sequence < model->part_count) {
        op.length = model->parts[op.sequence].count;
        op.sequences = 1;
        while (op.sequence + op.sequences < model->part_count &&
               model->parts[op.sequence + op.sequences].count == op.length)
            op.sequences++;
        TRY(op_step_attend(session->ops, &model->step, &op, err));
        op.row += op.sequences * op.length;
        op.sequence += op.sequences;
    }
    return STATUS_OK;
}

const struct lowering gpt2_step_lowerings[] = {
    {&graph_op_attention, NULL, attention},
    {&graph_op_embedding, NULL, embedding},
    {0},
};

enum status gpt2_step_outputs(struct gpt2_device *model, struct error *err)
{
    const struct operand x = {model->buffers[GPT2_RESIDUAL], 0};
    const struct operand y = {model->buffers[GPT2_VALUES], 0};
    const uint64_t d = model->plan.shape.width;

    /* Old and new rows may be the same memory, so they go by another array. */
    if (model->step.outputs < model->step.rows) {
        TRY(op_step_gather(model->ops, &model->step, x, y, d, false, err));
        TRY(op_step_gather(model->ops, &model->step, y, x, d, true, err));
    }
    model->tokens.rows = model->outputs;
    return STATUS_OK;
}

enum status gpt2_step_choose(struct gpt2_device *model, struct error *err)
{
    if (model->step.outputs == 0)
        return STATUS_OK;

    const struct op_logits logits = {model->buffers[GPT2_LOGITS], model->plan.shape.vocabulary,
                                     gpt2_logits_stride(&model->plan)};

    return op_step_choose(model->ops, &model->step, &logits,
                          gpt2_device_type(&model->plan, GPT2_LOGITS) == DTYPE_F32, err);
}

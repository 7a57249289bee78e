#include "workloads/models/stack.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/declaration.h"
#include "workloads/graph/cached.h"
#include "workloads/graph/operators.h"
#include "workloads/models/gpt2.h"

#define PARTS_MAX 64
#define BLOCKS_MAX 64 /* of a part */
#define DEPTH_MAX 4096
#define HEADS_MAX 1024
#define WIDTH_MAX (1 << 18)
#define POSITIONS_MAX (1 << 24)
#define ROPE_MAX 1e12
#define VOCABULARY_MAX (1 << 23)
#define PATH_MAX_LENGTH 96
#define RANDOM_STREAM 0x7374616bu /* "stak" */

/* ---- the section ---- */

static const char *const kinds[STACK_BLOCK_KINDS] = {"embedding", "attention", "mlp",
                                                     "moe",       "norm",      "head"};
static const struct declaration_name norm_names[] = {{"rms", STACK_RMS}, {"layer", STACK_LAYER}};

static const struct declaration_field embedding_fields[] = {
    FIELD_INT("vocabulary", FIELD_REQUIRED, struct stack_embedding, vocabulary),
    FIELD_INT("positions", FIELD_OPTIONAL, struct stack_embedding, positions),
    FIELD_END,
};

static const struct declaration_field attention_fields[] = {
    FIELD_INT("heads", FIELD_REQUIRED, struct stack_attention, heads),
    FIELD_INT("kv_heads", FIELD_OPTIONAL, struct stack_attention, kv_heads),
    FIELD_INT("head", FIELD_OPTIONAL, struct stack_attention, head),
    FIELD_FLOAT("rope", FIELD_OPTIONAL, struct stack_attention, rope),
    FIELD_BOOL("qk_norm", FIELD_OPTIONAL, struct stack_attention, qk_norm),
    FIELD_BOOL("bias", FIELD_OPTIONAL, struct stack_attention, bias),
    FIELD_END,
};

static const struct declaration_field mlp_fields[] = {
    FIELD_INT("width", FIELD_REQUIRED, struct stack_mlp, width),
    FIELD_ENUM("gate", FIELD_OPTIONAL, struct stack_mlp, gate, stack_gate_names, 2),
    FIELD_BOOL("bias", FIELD_OPTIONAL, struct stack_mlp, bias),
    FIELD_END,
};

static const struct declaration_field norm_fields[] = {
    FIELD_ENUM("kind", FIELD_OPTIONAL, struct stack_norm, kind, norm_names, 2),
    FIELD_FLOAT("epsilon", FIELD_OPTIONAL, struct stack_norm, epsilon),
    FIELD_END,
};

static const struct declaration_field head_fields[] = {
    FIELD_INT("vocabulary", FIELD_REQUIRED, struct stack_head, vocabulary),
    FIELD_BOOL("tied", FIELD_OPTIONAL, struct stack_head, tied),
    FIELD_END,
};

static const struct declaration_field block_fields[] = {
    FIELD_GROUP("embedding", FIELD_OPTIONAL, struct stack_block, embedding, embedding_fields),
    FIELD_GROUP("attention", FIELD_OPTIONAL, struct stack_block, attention, attention_fields),
    FIELD_GROUP("mlp", FIELD_OPTIONAL, struct stack_block, mlp, mlp_fields),
    FIELD_GROUP("moe", FIELD_OPTIONAL, struct stack_block, moe, moe_fields),
    FIELD_GROUP("norm", FIELD_OPTIONAL, struct stack_block, norm, norm_fields),
    FIELD_GROUP("head", FIELD_OPTIONAL, struct stack_block, head, head_fields),
    FIELD_END,
};
static const struct declaration_schema block_entry = {
    ENTRY_GROUP(struct stack_block, block_fields)};

static const struct declaration_field part_fields[] = {
    FIELD_INT("times", FIELD_OPTIONAL, struct stack_part, times),
    FIELD_LIST("of", FIELD_REQUIRED, struct stack_part, of, &block_entry, 1, BLOCKS_MAX),
    FIELD_END,
};
static const struct declaration_schema part_entry = {ENTRY_GROUP(struct stack_part, part_fields)};

const struct declaration_field stack_fields[] = {
    FIELD_INT("width", FIELD_REQUIRED, struct stack, width),
    FIELD_GROUP("norm", FIELD_REQUIRED, struct stack, norm, norm_fields),
    FIELD_LIST("stack", FIELD_REQUIRED, struct stack, stack, &part_entry, 1, PARTS_MAX),
    FIELD_END,
};

/* What is checked, and where: `path` is the block's. */
struct check {
    const struct declaration *declaration;
    const struct stack *model;
    const char *path;
    int64_t length;
    struct error *err;
};

struct path {
    char of[PATH_MAX_LENGTH];
};

static struct path path_of(const struct check *check, const char *key)
{
    struct path ret;

    snprintf(ret.of, sizeof(ret.of), "%.60s.%.30s", check->path, key);
    return ret;
}

static bool has(const struct check *check, const char *key)
{
    return declaration_has(check->declaration, path_of(check, key).of);
}

static enum status check_count(const struct check *check, const char *key, int64_t value,
                               int64_t max, const char *unit)
{
    return workload_declaration_check_count(check->declaration, path_of(check, key).of, value, max,
                                            unit, check->err);
}

/* The model's, and a block's, which takes from the model's what it does not say. */
static enum status check_norm(const struct check *check, struct stack_norm *norm)
{
    if (!has(check, "norm.kind"))
        norm->kind = check->model->norm.kind;
    if (!has(check, "norm.epsilon"))
        norm->epsilon = check->model->norm.epsilon;
    if (!norm->kind)
        return declaration_error(check->declaration, path_of(check, "norm").of, check->err,
                                 "the model's norm has no kind; write kind: rms or kind: layer");
    if (norm->epsilon > 0.0 && norm->epsilon <= 1.0)
        return STATUS_OK;
    return declaration_error(check->declaration, path_of(check, "norm.epsilon").of, check->err,
                             "the norm's `epsilon` is %g; write one above 0 and up to 1, such as "
                             "1.0e-5",
                             norm->epsilon);
}

static enum status check_embedding(const struct check *check, struct stack_embedding *embedding)
{
    TRY(check_count(check, "embedding.vocabulary", embedding->vocabulary, VOCABULARY_MAX,
                    "tokens"));
    if (!has(check, "embedding.positions"))
        return STATUS_OK;
    TRY(check_count(check, "embedding.positions", embedding->positions, POSITIONS_MAX,
                    "positions"));
    if (embedding->positions >= check->length)
        return STATUS_OK;
    return declaration_error(
        check->declaration,
        declaration_has(check->declaration, "decode") ? "decode.context" : "sequence_length",
        check->err,
        "sequences have %lld positions, but the model embeds %lld positions; write a shorter one, "
        "or a larger `positions`",
        (long long)check->length, (long long)embedding->positions);
}

static enum status check_attention(const struct check *check, struct stack_attention *attention)
{
    const int64_t width = check->model->width;

    TRY(check_count(check, "attention.heads", attention->heads, HEADS_MAX, "heads"));
    if (!has(check, "attention.kv_heads"))
        attention->kv_heads = attention->heads;
    TRY(check_count(check, "attention.kv_heads", attention->kv_heads, attention->heads, "heads"));
    if (attention->heads % attention->kv_heads != 0)
        return declaration_error(check->declaration, path_of(check, "attention.kv_heads").of,
                                 check->err,
                                 "%lld heads cannot share %lld heads of keys and values; write "
                                 "`kv_heads` that divides `heads`",
                                 (long long)attention->heads, (long long)attention->kv_heads);
    if (!has(check, "attention.head")) {
        if (width % attention->heads != 0)
            return declaration_error(check->declaration, path_of(check, "attention.heads").of,
                                     check->err,
                                     "%lld heads do not divide the width of %lld; write `head`, "
                                     "the elements of one",
                                     (long long)attention->heads, (long long)width);
        attention->head = width / attention->heads;
    }
    TRY(check_count(check, "attention.head", attention->head, WIDTH_MAX, "elements"));
    if (has(check, "attention.rope") && !(attention->rope > 1.0 && attention->rope <= ROPE_MAX))
        return declaration_error(check->declaration, path_of(check, "attention.rope").of,
                                 check->err,
                                 "`rope` is %g, the base of the angles; write one above 1 and up "
                                 "to %g, such as 10000",
                                 attention->rope, ROPE_MAX);
    if (attention->rope == 0.0 || attention->head % 2 == 0)
        return STATUS_OK;
    return declaration_error(check->declaration, path_of(check, "attention.head").of, check->err,
                             "`rope` turns pairs, and a head has %lld elements; write an even "
                             "`head`",
                             (long long)attention->head);
}

static enum status check_head(const struct check *check, const struct stack_head *head)
{
    const struct stack_block *first = &check->model->stack[0].of[0];

    TRY(check_count(check, "head.vocabulary", head->vocabulary, VOCABULARY_MAX, "tokens"));
    if (!head->tied || head->vocabulary == first->embedding.vocabulary)
        return STATUS_OK;
    return declaration_error(check->declaration, path_of(check, "head.vocabulary").of, check->err,
                             "a tied head has the embedding's vocabulary, %lld, not %lld; write "
                             "that, or tied: false",
                             (long long)first->embedding.vocabulary, (long long)head->vocabulary);
}

/* One key a block says what it is. */
static enum status find_kind(const struct check *check, struct stack_block *block)
{
    size_t written = 0;

    for (size_t i = 0; i < STACK_BLOCK_KINDS; i++) {
        if (has(check, kinds[i])) {
            block->kind = (enum stack_block_kind)i;
            written++;
        }
    }
    if (written == 1)
        return STATUS_OK;
    return declaration_error(check->declaration, check->path, check->err,
                             "a block is one of embedding, attention, mlp, moe, norm and head; "
                             "write each as an item of its own");
}

/* `first` and `last` of the whole stack. */
static enum status check_block(const struct check *check, struct stack_block *block, bool first,
                               bool last)
{
    TRY(find_kind(check, block));
    if ((block->kind == STACK_EMBEDDING) != first || (block->kind == STACK_HEAD && !last))
        return declaration_error(check->declaration, check->path, check->err,
                                 "a stack begins with its embedding, and a head is its last "
                                 "block; %s does not belong here",
                                 kinds[block->kind]);
    switch (block->kind) {
    case STACK_EMBEDDING:
        return check_embedding(check, &block->embedding);
    case STACK_ATTENTION:
        return check_attention(check, &block->attention);
    case STACK_MLP:
        if (!has(check, "mlp.gate"))
            block->mlp.gate = STACK_GELU;
        return check_count(check, "mlp.width", block->mlp.width, WIDTH_MAX, "elements");
    case STACK_MOE:
        return moe_check(check->declaration, check->path, &block->moe, check->err);
    case STACK_NORM:
        return check_norm(check, &block->norm);
    default:
        return check_head(check, &block->head);
    }
}

static enum status check_part(const struct check *check, struct stack_part *part, size_t number)
{
    const bool first = number == 0, last = number + 1 == check->model->stack_count;
    char path[PATH_MAX_LENGTH];
    struct check of = *check;

    of.path = path;
    snprintf(path, sizeof(path), "model.stack[%zu]", number);
    if (!has(&of, "times"))
        part->times = 1;
    TRY(check_count(&of, "times", part->times, DEPTH_MAX, "times"));
    for (uint32_t i = 0; i < part->of_count; i++) {
        snprintf(path, sizeof(path), "model.stack[%zu].of[%u]", number, (unsigned)i);
        TRY(check_block(&of, &part->of[i], first && i == 0,
                        last && i + 1 == part->of_count && part->times == 1));
    }
    if (!first || part->times == 1)
        return STATUS_OK;
    return declaration_error(check->declaration, path, check->err,
                             "the part with the embedding is there once; write the blocks that "
                             "repeat as a part of their own");
}

static enum status copy(const struct stack *written, struct stack *ret, struct error *err)
{
    *ret = *written;
    ret->stack_count = 0;
    ret->stack = calloc(written->stack_count, sizeof(*ret->stack));
    if (!ret->stack)
        return error_no_memory(err);
    for (; ret->stack_count < written->stack_count; ret->stack_count++) {
        struct stack_part *part = &ret->stack[ret->stack_count];

        *part = written->stack[ret->stack_count];
        part->of = malloc(part->of_count * sizeof(*part->of));
        if (!part->of)
            return error_no_memory(err);
        memcpy(part->of, written->stack[ret->stack_count].of, part->of_count * sizeof(*part->of));
        for (uint32_t i = 0; i < part->of_count; i++)
            if (part->of[i].kind != STACK_NORM)
                part->of[i].norm = written->norm;
    }
    return STATUS_OK;
}

enum status stack_check(const struct declaration *declaration, struct stack *written,
                        int64_t length, struct stack *ret, struct error *err)
{
    const struct check check = {declaration, written, "model", length, err};
    int64_t depth = 0;

    *ret = (struct stack){0};
    TRY(check_count(&check, "width", written->width, WIDTH_MAX, "elements"));
    TRY(check_norm(&check, &written->norm));
    for (uint32_t i = 0; i < written->stack_count; i++) {
        TRY(check_part(&check, &written->stack[i], i));
        depth += written->stack[i].times * written->stack[i].of_count;
    }
    if (depth > DEPTH_MAX)
        return declaration_error(declaration, "model.stack", err,
                                 "the stack has %lld blocks; at most %d are possible",
                                 (long long)depth, DEPTH_MAX);
    return copy(written, ret, err);
}

void stack_finish(struct stack *stack)
{
    for (uint32_t i = 0; i < stack->stack_count; i++)
        free(stack->stack[i].of);
    free(stack->stack);
}

/* ---- the graph ---- */

struct builder {
    struct graph *graph;
    const struct stack *model;
    uint64_t length, first; /* positions; that of the first one */
    uint64_t page;          /* of a cache; 0: there is none */
    unsigned number;        /* of the block */
    uint32_t table, x, blocks;
    struct stack_graph *built;
    struct error *err;
};

/* A value that the block is given. */
static enum status give_shape(const struct builder *builder, enum graph_role role, const char *name,
                              struct graph_shape shape, uint32_t *ret)
{
    char full[GRAPH_NAME_MAX];

    snprintf(full, sizeof(full), "b%u.%.30s", builder->number, name);
    return graph_give(builder->graph, role, full, shape, ret, builder->err);
}

static enum status give(const struct builder *builder, const char *name, uint64_t rows,
                        uint64_t columns, uint32_t *ret)
{
    const struct graph_shape shape =
        rows ? (struct graph_shape){{rows, columns}, 2} : (struct graph_shape){{columns}, 1};

    return give_shape(builder, GRAPH_PARAMETER, name, shape, ret);
}

static enum status add(const struct builder *builder, const struct graph_op *op,
                       struct graph_attributes attributes, const char *name, const uint32_t *in,
                       size_t count, uint32_t *ret)
{
    char full[GRAPH_NAME_MAX];

    snprintf(full, sizeof(full), "b%u.%.30s", builder->number, name);
    return graph_add(builder->graph, op, attributes, full, in, count, ret, builder->err);
}

/* x W (+ b), of so many outputs. */
static enum status linear(const struct builder *builder, const char *name, uint32_t x,
                          int64_t outputs, bool bias, uint32_t *ret)
{
    const uint64_t inputs = graph_size(&builder->graph->values[x], 1);
    char matrix[GRAPH_NAME_MAX], vector[GRAPH_NAME_MAX];
    uint32_t in[3] = {x};

    snprintf(matrix, sizeof(matrix), "%s.w", name);
    snprintf(vector, sizeof(vector), "%s.b", name);
    TRY(give(builder, matrix, inputs, (uint64_t)outputs, &in[1]));
    if (bias)
        TRY(give(builder, vector, 0, (uint64_t)outputs, &in[2]));
    return add(builder, &graph_op_linear, (struct graph_attributes){0}, name, in, bias ? 3 : 2,
               ret);
}

static enum status norm(const struct builder *builder, const struct stack_norm *norm, uint32_t *ret)
{
    const struct graph_attributes attributes = {.epsilon = norm->epsilon};
    const bool layer = norm->kind == STACK_LAYER;
    uint32_t in[3] = {builder->x};

    TRY(give(builder, "gain", 0, (uint64_t)builder->model->width, &in[1]));
    if (layer)
        TRY(give(builder, "bias", 0, (uint64_t)builder->model->width, &in[2]));
    return add(builder, layer ? &graph_op_layer_norm : &graph_op_rms_norm, attributes, "norm", in,
               layer ? 3 : 2, ret);
}

static enum status residual(struct builder *builder, uint32_t branch)
{
    const uint32_t in[] = {branch, builder->x};

    return add(builder, &graph_op_add, (struct graph_attributes){0}, "out", in, 2, &builder->x);
}

static enum status norm_heads(const struct builder *builder, const struct stack_block *block,
                              struct graph_attributes attributes, uint32_t *at)
{
    uint32_t in[3] = {*at};

    attributes.epsilon = block->norm.epsilon;
    TRY(give(builder, "q.gain", 0, (uint64_t)block->attention.head, &in[1]));
    TRY(give(builder, "k.gain", 0, (uint64_t)block->attention.head, &in[2]));
    return add(builder, &graph_op_head_norm, attributes, "qk_norm", in, 3, at);
}

/* Over a cache of its own. */
static enum status add_cached(const struct builder *builder, const struct stack_block *block,
                              struct graph_attributes attributes, uint32_t *at)
{
    const struct graph_cache cache = {builder->page, attributes.kv_heads,
                                      (uint64_t)block->attention.head};
    const struct graph_shape shape = {
        {builder->graph->values[builder->blocks].count, graph_cache_block(&cache)}, 2};
    uint32_t in[] = {*at, GRAPH_NONE, builder->blocks};

    attributes.length = 0; /* rows are sequences */
    TRY(give_shape(builder, GRAPH_INPUT, "cache", shape, &in[1]));
    return add(builder, &graph_op_attention_cached, attributes, "attention", in, 3, at);
}

static enum status add_attention(struct builder *builder, const struct stack_block *block)
{
    const struct stack_attention *attention = &block->attention;
    const struct graph_attributes attributes = {.length = builder->length,
                                                .first = builder->first,
                                                .page = builder->page,
                                                .heads = (uint64_t)attention->heads,
                                                .kv_heads = (uint64_t)attention->kv_heads,
                                                .rope = attention->rope};
    uint32_t at;

    TRY(norm(builder, &block->norm, &at));
    TRY(linear(builder, "qkv", at, (attention->heads + 2 * attention->kv_heads) * attention->head,
               attention->bias, &at));
    if (attention->qk_norm)
        TRY(norm_heads(builder, block, attributes, &at));
    if (attention->rope > 0.0)
        TRY(add(builder, &graph_op_rope, attributes, "rope", &at, 1, &at));
    TRY(builder->page ? add_cached(builder, block, attributes, &at)
                      : add(builder, &graph_op_attention, attributes, "attention", &at, 1, &at));
    TRY(linear(builder, "proj", at, builder->model->width, attention->bias, &at));
    return residual(builder, at);
}

static enum status add_mlp(struct builder *builder, const struct stack_block *block)
{
    const struct stack_mlp *mlp = &block->mlp;
    const struct graph_attributes none = {0};
    uint32_t at, up[2];

    TRY(norm(builder, &block->norm, &at));
    if (mlp->gate == STACK_SILU)
        TRY(linear(builder, "gate", at, mlp->width, mlp->bias, &up[0]));
    TRY(linear(builder, "up", at, mlp->width, mlp->bias, &up[1]));
    TRY(mlp->gate == STACK_SILU ? add(builder, &graph_op_gate, none, "gated", up, 2, &at)
                                : add(builder, &graph_op_gelu, none, "gelu", &up[1], 1, &at));
    TRY(linear(builder, "down", at, builder->model->width, mlp->bias, &at));
    return residual(builder, at);
}

/* The gates: the router's choice; by a law what it gives, or, trained, the router's weights of
 * that. */
static enum status add_routing(const struct builder *builder, const struct moe *moe, uint32_t x,
                               uint32_t *ret_gates)
{
    struct stack_graph *graph = builder->built;
    struct stack_routed *routed = &graph->routed[graph->routed_count++];
    const bool law = moe->routing.law != MOE_MODEL, trains = builder->model->trains;
    const struct graph_attributes attributes = {.experts = (uint64_t)moe->experts,
                                                .top = (uint64_t)moe->top};
    const struct graph_shape shape = {
        {graph_size(&builder->graph->values[x], 0), 2 * (uint64_t)moe->top}, 2};
    uint32_t in[2];

    TRY(linear(builder, "router", x, moe->experts, false, &in[0]));
    *routed = (struct stack_routed){moe, builder->number, (uint32_t)builder->graph->node_count,
                                    GRAPH_NONE, GRAPH_NONE};
    if (law)
        TRY(give_shape(builder, GRAPH_INDICES, "routing", shape, &routed->routing));
    in[1] = routed->routing;
    TRY(add(builder, &graph_op_choose_experts, attributes, "choice", in, law && trains ? 2 : 1,
            ret_gates));
    if (!law || trains)
        return STATUS_OK;
    return add(builder, &graph_op_assign_experts, attributes, "gates", &routed->routing, 1,
               ret_gates);
}

/* x W of a row's experts, of so many outputs each. */
static enum status add_experts(const struct builder *builder, const struct moe *moe,
                               const char *name, uint32_t x, uint32_t gates, uint64_t inputs,
                               uint64_t outputs, uint32_t *ret)
{
    const struct graph_attributes attributes = {.top = (uint64_t)moe->top};
    const struct graph_shape shape = {{(uint64_t)moe->experts, inputs, outputs}, 3};
    uint32_t in[] = {x, GRAPH_NONE, gates};
    char weight[GRAPH_NAME_MAX];

    snprintf(weight, sizeof(weight), "%.20s.w", name);
    TRY(give_shape(builder, GRAPH_PARAMETER, weight, shape, &in[1]));
    return add(builder, &graph_op_expert_product, attributes, name, in, 3, ret);
}

static enum status add_moe(struct builder *builder, const struct stack_block *block)
{
    const struct moe *moe = &block->moe;
    const struct graph_attributes top = {.top = (uint64_t)moe->top}, none = {0};
    const uint64_t outer = (uint64_t)builder->model->width, inner = (uint64_t)moe->width;
    uint32_t n, up[2], in[2];

    TRY(norm(builder, &block->norm, &n));
    TRY(add_routing(builder, moe, n, &in[1]));
    if (moe->gate == STACK_SILU)
        TRY(add_experts(builder, moe, "experts.gate", n, in[1], outer, inner, &up[0]));
    TRY(add_experts(builder, moe, "experts.up", n, in[1], outer, inner, &up[1]));
    TRY(moe->gate == STACK_SILU ? add(builder, &graph_op_gate, none, "gated", up, 2, &in[0])
                                : add(builder, &graph_op_gelu, none, "gelu", &up[1], 1, &in[0]));
    TRY(add_experts(builder, moe, "experts.down", in[0], in[1], inner, outer, &in[0]));
    TRY(add(builder, &graph_op_combine_experts, top, "combined", in, 2, &in[0]));
    return residual(builder, in[0]);
}

static enum status add_embedding(struct builder *builder, const struct stack_embedding *embedding,
                                 uint32_t tokens)
{
    const struct graph_attributes attributes = {.length = builder->length, .first = builder->first};
    const uint64_t width = (uint64_t)builder->model->width;
    uint32_t in[3] = {tokens};

    TRY(give(builder, "table", (uint64_t)embedding->vocabulary, width, &builder->table));
    in[1] = builder->table;
    if (embedding->positions)
        TRY(give(builder, "positions", (uint64_t)embedding->positions, width, &in[2]));
    return add(builder, &graph_op_embedding, attributes, "embedding", in,
               embedding->positions ? 3 : 2, &builder->x);
}

static enum status add_head(struct builder *builder, const struct stack_head *head)
{
    const uint32_t in[] = {builder->x, builder->table};
    const struct graph_attributes tied = {.transposed = true};

    return head->tied ? add(builder, &graph_op_linear, tied, "head", in, 2, &builder->x)
                      : linear(builder, "head", builder->x, head->vocabulary, false, &builder->x);
}

static enum status add_block(struct builder *builder, const struct stack_block *block,
                             uint32_t tokens)
{
    switch (block->kind) {
    case STACK_EMBEDDING:
        return add_embedding(builder, &block->embedding, tokens);
    case STACK_ATTENTION:
        return add_attention(builder, block);
    case STACK_MLP:
        return add_mlp(builder, block);
    case STACK_MOE:
        return add_moe(builder, block);
    case STACK_NORM:
        return norm(builder, &block->norm, &builder->x);
    default:
        return add_head(builder, &block->head);
    }
}

/* The blocks, behind what the builder has been given. */
static enum status build(struct builder *builder, struct stack_graph *ret)
{
    const struct stack *stack = builder->model;

    for (uint32_t p = 0; p < stack->stack_count; p++)
        for (int64_t t = 0; t < stack->stack[p].times; t++)
            for (uint32_t i = 0; i < stack->stack[p].of_count; i++, builder->number++)
                TRY(add_block(builder, &stack->stack[p].of[i], ret->tokens));
    ret->out = builder->x;
    ret->forward = ret->graph->node_count;
    return STATUS_OK;
}

static size_t count_mixtures(const struct stack *stack)
{
    size_t count = 0;

    for (uint32_t p = 0; p < stack->stack_count; p++)
        for (uint32_t i = 0; i < stack->stack[p].of_count; i++)
            if (stack->stack[p].of[i].kind == STACK_MOE)
                count += (size_t)stack->stack[p].times;
    return count;
}

static enum status begin(struct builder *builder, uint64_t sequences, struct stack_graph *ret)
{
    const struct graph_shape indices = {{sequences * builder->length}, 1};

    *ret = (struct stack_graph){.blocks = GRAPH_NONE};
    ret->routed = calloc(count_mixtures(builder->model) + 1, sizeof(*ret->routed));
    if (!ret->routed)
        return error_no_memory(builder->err);
    TRY(graph_create(&ret->graph, builder->err));
    builder->graph = ret->graph;
    builder->built = ret;
    return graph_give(ret->graph, GRAPH_INDICES, "tokens", indices, &ret->tokens, builder->err);
}

enum status stack_graph_init(struct stack_graph *ret, const struct stack *stack, uint64_t sequences,
                             uint64_t length, struct error *err)
{
    struct builder builder = {.model = stack, .length = length, .err = err};

    TRY(begin(&builder, sequences, ret));
    return build(&builder, ret);
}

enum status stack_graph_decode(struct stack_graph *ret, const struct stack *stack,
                               uint64_t sequences, uint64_t context, uint64_t page,
                               struct error *err)
{
    const struct graph_shape blocks = {{sequences, graph_cache_pages(page, context + 1)}, 2};
    struct builder builder = {
        .model = stack, .length = 1, .first = context, .page = page, .err = err};

    TRY(begin(&builder, sequences, ret));
    if (sequences * blocks.of[1] > INT32_MAX)
        return error_set(err, STATUS_INVALID, "%llu blocks for each of them are more than 2^31",
                         (unsigned long long)blocks.of[1]);
    TRY(graph_give(ret->graph, GRAPH_INDICES, "blocks", blocks, &ret->blocks, err));
    builder.blocks = ret->blocks;
    return build(&builder, ret);
}

enum status stack_graph_give_choice(struct stack_graph *graph, struct error *err)
{
    for (size_t i = 0; i < graph->routed_count; i++) {
        struct stack_routed *routed = &graph->routed[i];
        struct graph_node *node = &graph->graph->nodes[routed->choose];

        if (routed->moe->routing.law != MOE_MODEL)
            continue;
        TRY(graph_give(graph->graph, GRAPH_INDICES, "chosen",
                       graph->graph->values[node->out[1]].shape, &routed->chosen, err));
        node->in[node->in_count++] = routed->chosen;
    }
    return STATUS_OK;
}

enum status stack_graph_add_loss(struct stack_graph *graph, struct error *err)
{
    const struct graph_shape rows = graph->graph->values[graph->tokens].shape;
    uint32_t in[2] = {graph->out};

    TRY(graph_give(graph->graph, GRAPH_INDICES, "targets", rows, &graph->targets, err));
    in[1] = graph->targets;
    return graph_add(graph->graph, &graph_op_cross_entropy, (struct graph_attributes){0}, "loss",
                     in, 2, &graph->loss, err);
}

enum status stack_graph_train(struct stack_graph *graph, struct error *err)
{
    TRY(stack_graph_add_loss(graph, err));
    return graph_backward(graph->graph, graph->loss, GRAPH_NONE, err);
}

void stack_graph_finish(struct stack_graph *graph)
{
    graph_destroy(graph->graph);
    free(graph->routed);
}

/* ---- the parameters ---- */

uint64_t stack_parameter_count(const struct stack_graph *graph)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < graph->graph->value_count; i++)
        if (graph->graph->values[i].role == GRAPH_PARAMETER)
            sum += graph->graph->values[i].count;
    return sum;
}

static bool decays(const struct graph_value *parameter)
{
    return parameter->shape.rank > 1;
}

/* Behind what the layout has: all, or (`align`) those that decay or do not. */
static void lay(struct stack_layout *layout, const struct graph *graph, uint64_t align, bool decay)
{
    const uint64_t unit = align ? align : 1;
    uint32_t number = 0;

    for (uint32_t i = 0; i < graph->value_count; i++) {
        const struct graph_value *value = &graph->values[i];

        if (value->role != GRAPH_PARAMETER)
            continue;
        if (!align || decays(value) == decay) {
            layout->parameters[layout->count++] =
                (struct stack_parameter){i, number, layout->elements, decays(value)};
            layout->elements += (value->count + unit - 1) / unit * unit;
        }
        number++;
    }
}

enum status stack_layout_init(struct stack_layout *ret, const struct graph *graph, uint64_t align,
                              struct error *err)
{
    *ret = (struct stack_layout){
        .parameters = calloc(graph->value_count, sizeof(*ret->parameters)),
    };
    if (!ret->parameters)
        return error_no_memory(err);
    lay(ret, graph, align, true);
    ret->decayed = ret->elements;
    if (align)
        lay(ret, graph, align, false);
    return STATUS_OK;
}

void stack_layout_finish(struct stack_layout *layout)
{
    free(layout->parameters);
}

struct stack_law stack_law_of(const struct graph_value *value,
                              const struct stack_parameter *parameter)
{
    const uint32_t last = value->shape.rank - 1; /* experts have a matrix each */
    const uint64_t rows = value->shape.of[last ? last - 1 : 0], columns = value->shape.of[last];

    return (struct stack_law){
        .stream = RANDOM_STREAM + parameter->number,
        .mean = strstr(value->name, ".gain") ? 1.0 : 0.0,
        .deviation = decays(value) ? 1.0 / sqrt((double)(rows < columns ? rows : columns)) : 0.125,
    };
}

void stack_fill(const struct stack_graph *graph, const struct stack_layout *layout, uint64_t seed,
                float *ret)
{
    for (size_t p = 0; p < layout->count; p++) {
        const struct stack_parameter *parameter = &layout->parameters[p];
        const struct graph_value *value = &graph->graph->values[parameter->value];
        const struct stack_law law = stack_law_of(value, parameter);
        const float mean = (float)law.mean, sd = (float)law.deviation;
        float *to = ret + parameter->offset;

#pragma omp parallel for schedule(static) if (value->count > GRAPH_WORTH_THREADS)
        for (uint64_t i = 0; i < value->count; i++)
            to[i] = mean + sd * gpt2_normal_at(seed, law.stream, i);
    }
}

/* ---- for people ---- */

static void describe_moe(const struct moe *moe, struct text *ret)
{
    text_append_format(ret, "mixture of experts (%lld of %lld a token, %lld%s, routed by ",
                       (long long)moe->top, (long long)moe->experts, (long long)moe->width,
                       moe->gate == STACK_SILU ? ", gated by SiLU" : ", GELU");
    if (moe->routing.law == MOE_MODEL)
        text_append(ret, "the model");
    else
        text_append(ret, moe_law_name(moe->routing.law));
    if (moe->routing.law == MOE_ZIPF)
        text_append_format(ret, " %g", moe->routing.alpha);
    if (moe->routing.law != MOE_MODEL)
        text_append_format(ret, ", seed %lld", (long long)moe->routing.seed);
    text_append(ret, ")");
}

static void describe_block(const struct stack_block *block, struct text *ret)
{
    switch (block->kind) {
    case STACK_EMBEDDING:
        text_append_format(ret, "embedding (%lld tokens", (long long)block->embedding.vocabulary);
        if (block->embedding.positions)
            text_append_format(ret, ", %lld positions", (long long)block->embedding.positions);
        text_append(ret, ")");
        break;
    case STACK_ATTENTION:
        text_append_format(ret, "attention (%lld heads of %lld, %lld of keys and values",
                           (long long)block->attention.heads, (long long)block->attention.head,
                           (long long)block->attention.kv_heads);
        if (block->attention.rope > 0.0)
            text_append_format(ret, ", rope %g", block->attention.rope);
        text_append(ret, block->attention.qk_norm ? ", norms of q and k" : "");
        text_append(ret, block->attention.bias ? ", biases)" : ")");
        break;
    case STACK_MLP:
        text_append_format(ret, "MLP (%lld, %s%s)", (long long)block->mlp.width,
                           block->mlp.gate == STACK_SILU ? "gated by SiLU" : "GELU",
                           block->mlp.bias ? ", biases" : "");
        break;
    case STACK_MOE:
        describe_moe(&block->moe, ret);
        break;
    case STACK_NORM:
        text_append_format(ret, "%s norm (epsilon %g)",
                           block->norm.kind == STACK_RMS ? "RMS" : "layer", block->norm.epsilon);
        break;
    default:
        text_append_format(ret, "head (%lld tokens, %s)", (long long)block->head.vocabulary,
                           block->head.tied ? "tied to the embedding" : "a weight of its own");
    }
}

void stack_describe(const struct stack *stack, struct text *ret)
{
    text_append_format(ret, "model: width %lld, %s norm before each block (epsilon %g)\n",
                       (long long)stack->width, stack->norm.kind == STACK_RMS ? "RMS" : "layer",
                       stack->norm.epsilon);
    for (uint32_t p = 0; p < stack->stack_count; p++) {
        const struct stack_part *part = &stack->stack[p];

        text_append(ret, "  ");
        if (part->times > 1)
            text_append_format(ret, "%lld times ", (long long)part->times);
        for (uint32_t i = 0; i < part->of_count; i++) {
            text_append(ret, i > 0 ? ", " : "");
            describe_block(&part->of[i], ret);
        }
        text_append_char(ret, '\n');
    }
}

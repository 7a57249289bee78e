/*
 * Computes a cuDNN graph, operation by operation, on the host. Nothing here is specific to
 * attention: GEMMs, pointwise operations, reductions and reshapes mean what the library's
 * documentation says they mean, so a graph that is wired up wrongly gives wrong numbers.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/gpu_shim/core.h"
#include "tests/support/gpu_shim/cuda_dnn_graph.h"

#define VALUES_MAX 64

/* A tensor's elements in the order of its dimensions. */
struct value {
    const struct shim_descriptor *tensor;
    int64_t d[4], s[4];
    unsigned type;
    double *elements;
};

struct state {
    struct value values[VALUES_MAX];
    size_t count;
    const struct shim_descriptor *pack;
    unsigned code; /* the first failure's */
};

static int64_t elements_of(const struct value *v)
{
    return v->d[0] * v->d[1] * v->d[2] * v->d[3];
}

static int64_t extent_of(const struct value *v)
{
    int64_t last = 0;

    for (int i = 0; i < 4; i++)
        last += (v->d[i] - 1) * v->s[i];
    return last + 1;
}

/* Of element (a, b, c, e); a dimension of 1 is repeated. */
static int64_t index_of(const struct value *v, const int64_t at[4])
{
    int64_t index = 0;

    for (int i = 0; i < 4; i++)
        index = index * v->d[i] + (v->d[i] == 1 ? 0 : at[i]);
    return index;
}

static int64_t place_of(const struct value *v, const int64_t at[4])
{
    int64_t place = 0;

    for (int i = 0; i < 4; i++)
        place += at[i] * v->s[i];
    return place;
}

/* Advances `at` to the next element; false after the last. */
static bool next(const struct value *v, int64_t at[4])
{
    for (int i = 3; i >= 0; i--) {
        if (++at[i] < v->d[i])
            return true;
        at[i] = 0;
    }
    return false;
}

static bool core_type_of(unsigned type, enum core_type *ret)
{
    switch (type) {
    case DNN_FLOAT:
        *ret = CORE_F32;
        return true;
    case DNN_HALF:
        *ret = CORE_F16;
        return true;
    case DNN_BFLOAT16:
        *ret = CORE_BF16;
        return true;
    default:
        return false;
    }
}

/* The pack's pointer for a tensor; NULL: it has none. */
static void *pointer_of(const struct state *state, const struct shim_descriptor *tensor)
{
    int64_t count = 0, pointers = 0;
    const int64_t *ids = shim_attribute(state->pack, DNN_PACK_IDS, &count);
    void *const *all = shim_attribute(state->pack, DNN_PACK_POINTERS, &pointers);

    for (int64_t i = 0; i < count && i < pointers; i++)
        if (ids[i] == shim_int64(tensor, DNN_TENSOR_ID))
            return all[i];
    return NULL;
}

static bool flag(const struct shim_descriptor *tensor, unsigned name)
{
    const bool *value = shim_attribute(tensor, name, NULL);

    return value != NULL && *value;
}

static void load(struct state *state, struct value *v)
{
    void *from = pointer_of(state, v->tensor);
    int64_t at[4] = {0}, i = 0;
    enum core_type type;

    if (from != NULL && flag(v->tensor, DNN_TENSOR_BY_VALUE)) {
        v->elements[0] = (double)*(const float *)from;
        return;
    }
    if (from == NULL || !core_type_of(v->type, &type) ||
        core_bytes_at(from) < (size_t)extent_of(v) * core_type_bytes(type)) {
        state->code = DNN_STATUS_BAD_PARAM;
        return;
    }
    do
        v->elements[i++] = core_load(type, from, (uint64_t)place_of(v, at));
    while (next(v, at));
}

/* A tensor's value: computed before, or loaded from memory, or space for the result. */
static struct value *value_of(struct state *state, const struct shim_descriptor *tensor, bool read)
{
    struct value *v;

    if (tensor == NULL || state->code != DNN_STATUS_SUCCESS)
        return NULL;
    for (size_t i = 0; i < state->count; i++)
        if (shim_int64(state->values[i].tensor, DNN_TENSOR_ID) == shim_int64(tensor, DNN_TENSOR_ID))
            if (memcmp(state->values[i].d, shim_attribute(tensor, DNN_TENSOR_DIMENSIONS, NULL),
                       sizeof(state->values[i].d)) == 0)
                return &state->values[i];
    if (state->count == VALUES_MAX || (read && flag(tensor, DNN_TENSOR_VIRTUAL))) {
        state->code = DNN_STATUS_BAD_PARAM; /* virtual, and nothing has written it */
        return NULL;
    }
    v = &state->values[state->count];
    v->tensor = tensor;
    memcpy(v->d, shim_attribute(tensor, DNN_TENSOR_DIMENSIONS, NULL), sizeof(v->d));
    memcpy(v->s, shim_attribute(tensor, DNN_TENSOR_STRIDES, NULL), sizeof(v->s));
    v->type = shim_word(tensor, DNN_TENSOR_TYPE, DNN_FLOAT);
    v->elements = calloc((size_t)elements_of(v), sizeof(double));
    if (v->elements == NULL) {
        state->code = DNN_STATUS_HOST_ALLOCATION;
        return NULL;
    }
    state->count++;
    if (read)
        load(state, v);
    return state->code == DNN_STATUS_SUCCESS ? v : NULL;
}

/* Rounds what was computed to the tensor's type, and writes it where it is not virtual. */
static void finish(struct state *state, struct value *v)
{
    const bool is_virtual = flag(v->tensor, DNN_TENSOR_VIRTUAL);
    void *to = is_virtual ? NULL : pointer_of(state, v->tensor);
    int64_t at[4] = {0}, i = 0;
    enum core_type type;
    char room[8];

    if (is_virtual && !core_type_of(v->type, &type))
        return; /* indices, and whether to choose */
    if (!core_type_of(v->type, &type) ||
        (!is_virtual &&
         (to == NULL || core_bytes_at(to) < (size_t)extent_of(v) * core_type_bytes(type)))) {
        state->code = DNN_STATUS_BAD_PARAM;
        return;
    }
    do {
        core_store(type, room, 0, v->elements[i]);
        v->elements[i] = core_load(type, room, 0);
        if (to != NULL)
            core_store(type, to, (uint64_t)place_of(v, at), v->elements[i]);
        i++;
    } while (next(v, at));
}

static void matmul(struct state *state, const struct shim_descriptor *op)
{
    const struct value *a = value_of(state, shim_link(op, DNN_MATMUL_A), true);
    const struct value *b = value_of(state, shim_link(op, DNN_MATMUL_B), true);
    struct value *c = value_of(state, shim_link(op, DNN_MATMUL_C), false);
    int64_t at[4] = {0}, i = 0;

    if (a == NULL || b == NULL || c == NULL)
        return;
    if (a->d[3] != b->d[2] || a->d[2] != c->d[2] || b->d[3] != c->d[3]) {
        state->code = DNN_STATUS_BAD_PARAM;
        return;
    }
    do {
        const int64_t row[4] = {at[0], at[1], at[2], 0}, column[4] = {at[0], at[1], 0, at[3]};
        const double *left = &a->elements[index_of(a, row)];
        const double *right = &b->elements[index_of(b, column)];
        double sum = 0.0;

        for (int64_t k = 0; k < a->d[3]; k++)
            sum += left[k] * right[k * b->d[3]];
        c->elements[i++] = sum;
    } while (next(c, at));
    finish(state, c);
}

static double apply(unsigned mode, double x, double b, double t, int64_t index)
{
    switch (mode) {
    case DNN_ADD:
        return x + b;
    case DNN_SUB:
        return x - b;
    case DNN_MUL:
        return x * b;
    case DNN_DIV:
        return x / b;
    case DNN_EXP:
        return exp(x);
    case DNN_LOG:
        return log(x);
    case DNN_IDENTITY:
        return x;
    case DNN_CMP_GE:
        return x >= b;
    case DNN_GEN_INDEX:
        return (double)index;
    case DNN_BINARY_SELECT:
        return t != 0.0 ? x : b;
    default:
        return (double)NAN;
    }
}

static void pointwise(struct state *state, const struct shim_descriptor *op)
{
    const struct shim_descriptor *desc = shim_link(op, DNN_POINTWISE_DESC);
    const unsigned mode = shim_word(desc, DNN_POINTWISE_MODE, ~0u);
    const int64_t axis = shim_int64(desc, DNN_POINTWISE_AXIS);
    const struct value *x = value_of(state, shim_link(op, DNN_POINTWISE_X), true);
    const struct value *b = value_of(state, shim_link(op, DNN_POINTWISE_B), true);
    const struct value *t = value_of(state, shim_link(op, DNN_POINTWISE_T), true);
    struct value *y = value_of(state, shim_link(op, DNN_POINTWISE_Y), false);
    int64_t at[4] = {0}, i = 0;

    if (x == NULL || y == NULL || axis < 0 || axis > 3)
        return;
    do {
        y->elements[i++] = apply(mode, x->elements[index_of(x, at)],
                                 b != NULL ? b->elements[index_of(b, at)] : 0.0,
                                 t != NULL ? t->elements[index_of(t, at)] : 0.0, at[axis]);
    } while (next(y, at));
    finish(state, y);
}

static void reduction(struct state *state, const struct shim_descriptor *op)
{
    const unsigned how = shim_word(shim_link(op, DNN_REDUCTION_DESC), DNN_REDUCTION_OPERATOR, ~0u);
    const struct value *x = value_of(state, shim_link(op, DNN_REDUCTION_X), true);
    struct value *y = value_of(state, shim_link(op, DNN_REDUCTION_Y), false);
    int64_t at[4] = {0}, i = 0;

    if (x == NULL || y == NULL)
        return;
    for (int64_t j = 0; j < elements_of(y); j++)
        y->elements[j] = how == DNN_REDUCE_MAX ? -(double)INFINITY : 0.0;
    do {
        double *to = &y->elements[index_of(y, at)];

        *to = how == DNN_REDUCE_MAX ? fmax(*to, x->elements[i]) : *to + x->elements[i];
        i++;
    } while (next(x, at));
    finish(state, y);
}

/* The same memory with y's dimensions and strides. */
static void reshape(struct state *state, const struct shim_descriptor *op)
{
    const struct value *x = value_of(state, shim_link(op, DNN_RESHAPE_X), true);
    struct value *y = value_of(state, shim_link(op, DNN_RESHAPE_Y), false);
    int64_t at[4] = {0}, i = 0;
    double *memory;

    if (x == NULL || y == NULL)
        return;
    memory = calloc((size_t)extent_of(x), sizeof(*memory));
    if (memory == NULL || extent_of(x) != extent_of(y)) {
        state->code = memory == NULL ? DNN_STATUS_HOST_ALLOCATION : DNN_STATUS_BAD_PARAM;
        free(memory);
        return;
    }
    do
        memory[place_of(x, at)] = x->elements[i++];
    while (next(x, at));
    i = 0;
    do
        y->elements[i++] = memory[place_of(y, at)];
    while (next(y, at));
    free(memory);
    finish(state, y);
}

unsigned shim_graph_execute(const struct shim_descriptor *graph, const struct shim_descriptor *pack)
{
    struct state state = {.pack = pack, .code = DNN_STATUS_SUCCESS};
    int64_t count = 0;
    const struct shim_descriptor *const *operations = shim_attribute(graph, DNN_GRAPH_OPS, &count);

    if (core_synchronize() != CORE_OK)
        return DNN_STATUS_EXECUTION_FAILED;
    for (int64_t i = 0; i < count && state.code == DNN_STATUS_SUCCESS; i++)
        switch (operations[i]->kind) {
        case DNN_OPERATION_MATMUL:
            matmul(&state, operations[i]);
            break;
        case DNN_OPERATION_POINTWISE:
            pointwise(&state, operations[i]);
            break;
        case DNN_OPERATION_REDUCTION:
            reduction(&state, operations[i]);
            break;
        case DNN_OPERATION_RESHAPE:
            reshape(&state, operations[i]);
            break;
        default:
            state.code = DNN_STATUS_BAD_PARAM;
        }
    for (size_t i = 0; i < state.count; i++)
        free(state.values[i].elements);
    return state.code;
}

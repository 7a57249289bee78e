#include "workloads/models/gpt2.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/core/random.h"

#define WORTH_THREADS 30000 /* elements below which one thread is faster */

#define SIZE_LIMIT ((uint64_t)1 << 24) /* of each dimension */
#define INITIAL_SD 0.02                /* Radford et al. 2018, section 4.1; 2019, section 2.3 */
#define RANDOM_STREAM 0x67707432u

enum dimension { ONE, WIDTH, THREE_WIDTHS, MLP_WIDTH, CONTEXT, VOCABULARY };

static const struct {
    const char *name;
    enum dimension rows, columns;
} tensors[GPT2_TENSOR_IDS] = {
    [GPT2_WTE] = {"wte", VOCABULARY, WIDTH},
    [GPT2_WPE] = {"wpe", CONTEXT, WIDTH},
    [GPT2_ATTN_W] = {"attn.w", WIDTH, THREE_WIDTHS},
    [GPT2_ATTN_PROJ_W] = {"attn_proj.w", WIDTH, WIDTH},
    [GPT2_FC_W] = {"fc.w", WIDTH, MLP_WIDTH},
    [GPT2_FC_PROJ_W] = {"fc_proj.w", MLP_WIDTH, WIDTH},
    [GPT2_LN1_G] = {"ln1.g", ONE, WIDTH},
    [GPT2_LN1_B] = {"ln1.b", ONE, WIDTH},
    [GPT2_ATTN_B] = {"attn.b", ONE, THREE_WIDTHS},
    [GPT2_ATTN_PROJ_B] = {"attn_proj.b", ONE, WIDTH},
    [GPT2_LN2_G] = {"ln2.g", ONE, WIDTH},
    [GPT2_LN2_B] = {"ln2.b", ONE, WIDTH},
    [GPT2_FC_B] = {"fc.b", ONE, MLP_WIDTH},
    [GPT2_FC_PROJ_B] = {"fc_proj.b", ONE, WIDTH},
    [GPT2_LNF_G] = {"lnf.g", ONE, WIDTH},
    [GPT2_LNF_B] = {"lnf.b", ONE, WIDTH},
};

/* Where the groups begin that lie one behind the other; the two of layers are there for each. */
static const enum gpt2_tensor_id groups[] = {GPT2_WTE, GPT2_ATTN_W, GPT2_LN1_G, GPT2_LNF_G,
                                             GPT2_TENSOR_IDS};
enum { LAYER_MATRICES = 1, LAYER_VECTORS = 2, GROUPS = 4 };

enum status gpt2_shape_check(const struct gpt2_shape *shape, struct error *err)
{
    const struct {
        const char *name;
        uint64_t value;
    } sizes[] = {{"layers", shape->layers},       {"heads", shape->heads},
                 {"width", shape->width},         {"context", shape->context},
                 {"mlp_width", shape->mlp_width}, {"vocabulary", shape->vocabulary}};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (sizes[i].value < 1 || sizes[i].value > SIZE_LIMIT)
            return error_set(err, STATUS_INVALID, "%s must be between 1 and %llu, not %llu",
                             sizes[i].name, (unsigned long long)SIZE_LIMIT,
                             (unsigned long long)sizes[i].value);
    }
    if (shape->width % shape->heads != 0)
        return error_set(err, STATUS_INVALID, "width (%llu) must be a multiple of heads (%llu)",
                         (unsigned long long)shape->width, (unsigned long long)shape->heads);
    if (shape->vocabulary < 2)
        return error_set(err, STATUS_INVALID, "vocabulary must be at least 2");
    if ((double)shape->layers * (double)shape->width *
                (4.0 * (double)shape->width + 2.0 * (double)shape->mlp_width + 16.0) +
            (double)shape->width * (double)(shape->vocabulary + shape->context) >
        0x1p48)
        return error_set(err, STATUS_INVALID,
                         "the model would have more than 2^48 parameters; make it smaller");
    return STATUS_OK;
}

static uint64_t aligned(uint64_t count)
{
    return (count + GPT2_ALIGN - 1) / GPT2_ALIGN * GPT2_ALIGN;
}

static uint64_t size_of(const struct gpt2_shape *shape, enum dimension dimension)
{
    const uint64_t sizes[] = {[ONE] = 1,
                              [WIDTH] = shape->width,
                              [THREE_WIDTHS] = 3 * shape->width,
                              [MLP_WIDTH] = shape->mlp_width,
                              [CONTEXT] = shape->context,
                              [VOCABULARY] = shape->vocabulary};

    return sizes[dimension];
}

static uint64_t times_of(const struct gpt2_shape *shape, int group)
{
    return group == LAYER_MATRICES || group == LAYER_VECTORS ? shape->layers : 1;
}

/* Elements of the tensors [first, end), of one layer. */
static uint64_t span_of(const struct gpt2_shape *shape, enum gpt2_tensor_id first,
                        enum gpt2_tensor_id end)
{
    uint64_t sum = 0;

    for (enum gpt2_tensor_id id = first; id < end; id++)
        sum += aligned(size_of(shape, tensors[id].rows) * size_of(shape, tensors[id].columns));
    return sum;
}

/* Elements of all groups before that one. */
static uint64_t before(const struct gpt2_shape *shape, int group)
{
    uint64_t sum = 0;

    for (int g = 0; g < group; g++)
        sum += times_of(shape, g) * span_of(shape, groups[g], groups[g + 1]);
    return sum;
}

uint64_t gpt2_decay_length(const struct gpt2_shape *shape)
{
    return before(shape, LAYER_VECTORS);
}

uint64_t gpt2_array_length(const struct gpt2_shape *shape)
{
    return before(shape, GROUPS);
}

uint64_t gpt2_offset(const struct gpt2_shape *shape, enum gpt2_tensor_id id, uint64_t layer)
{
    int group = 0;

    while (id >= groups[group + 1])
        group++;
    return before(shape, group) + layer * span_of(shape, groups[group], groups[group + 1]) +
           span_of(shape, groups[group], id);
}

size_t gpt2_tensor_count(const struct gpt2_shape *shape)
{
    size_t sum = 0;

    for (int g = 0; g < GROUPS; g++)
        sum += times_of(shape, g) * (groups[g + 1] - groups[g]);
    return sum;
}

struct gpt2_tensor gpt2_tensor_at(const struct gpt2_shape *shape, size_t index)
{
    struct gpt2_tensor tensor = {0};
    int group = 0;
    size_t each = groups[1] - groups[0];

    while (index >= times_of(shape, group) * each) {
        index -= times_of(shape, group++) * each;
        each = groups[group + 1] - groups[group];
    }
    tensor.id = (enum gpt2_tensor_id)(groups[group] + index % each);
    tensor.layer = index / each;
    tensor.rows = size_of(shape, tensors[tensor.id].rows);
    tensor.columns = size_of(shape, tensors[tensor.id].columns);
    tensor.count = tensor.rows * tensor.columns;
    tensor.offset = gpt2_offset(shape, tensor.id, tensor.layer);
    tensor.decay = tensor.id < GPT2_LN1_G;
    if (group == LAYER_MATRICES || group == LAYER_VECTORS)
        snprintf(tensor.name, sizeof(tensor.name), "h%u.%s", (unsigned)tensor.layer,
                 tensors[tensor.id].name);
    else
        snprintf(tensor.name, sizeof(tensor.name), "%s", tensors[tensor.id].name);
    return tensor;
}

uint64_t gpt2_parameter_count(const struct gpt2_shape *shape)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < gpt2_tensor_count(shape); i++)
        sum += gpt2_tensor_at(shape, i).count;
    return sum;
}

uint64_t gpt2_forward_flops(const struct gpt2_shape *shape, uint64_t sequences, uint64_t length)
{
    const unsigned __int128 d = shape->width, tokens = (unsigned __int128)sequences * length;
    const unsigned __int128 dense = 2 * d * (4 * d + 2 * shape->mlp_width);
    const unsigned __int128 pairs = tokens * (length + 1) / 2;
    const unsigned __int128 flops =
        shape->layers * (tokens * dense + 4 * d * pairs) + tokens * 2 * d * shape->vocabulary;

    return flops > UINT64_MAX ? UINT64_MAX : (uint64_t)flops;
}

float gpt2_normal_at(uint64_t seed, uint64_t stream, uint64_t index)
{
    const uint64_t bits = random_at(seed, stream, index);
    const uint64_t sum =
        (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);

    return (float)(((double)sum - 131070.0) * 0x1.bb67ae86627e7p-16); /* 1 / sqrt((2^32 - 1) / 3) */
}

void gpt2_initialise(const struct gpt2_shape *shape, uint64_t seed, float *parameters)
{
    double residual_sd = INITIAL_SD / sqrt(2.0 * (double)shape->layers);

    memset(parameters, 0, gpt2_array_length(shape) * sizeof(*parameters));
    for (size_t i = 0; i < gpt2_tensor_count(shape); i++) {
        struct gpt2_tensor tensor = gpt2_tensor_at(shape, i);
        bool gain = tensor.id == GPT2_LN1_G || tensor.id == GPT2_LN2_G || tensor.id == GPT2_LNF_G;
        bool residual = tensor.id == GPT2_ATTN_PROJ_W || tensor.id == GPT2_FC_PROJ_W;
        float sd = (float)(residual ? residual_sd : INITIAL_SD);
        float *out = parameters + tensor.offset;

        if (!tensor.decay && !gain)
            continue;
#pragma omp parallel for schedule(static) if (tensor.count > WORTH_THREADS)
        for (uint64_t j = 0; j < tensor.count; j++)
            out[j] = gain ? 1.0f : sd * gpt2_normal_at(seed, RANDOM_STREAM + i, j);
    }
}

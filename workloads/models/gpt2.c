#include "workloads/models/gpt2.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/core/random.h"

#define WORTH_THREADS 30000 /* elements below which one thread is faster */

#define OUTER_DECAY 2                  /* wte, wpe */
#define LAYER_DECAY 4                  /* matrices of a layer */
#define LAYER_NO_DECAY 8               /* vectors of a layer */
#define OUTER_NO_DECAY 2               /* the final norm */
#define SIZE_LIMIT ((uint64_t)1 << 24) /* of each dimension */
#define INITIAL_SD 0.02                /* Radford et al. 2018, section 4.1; 2019, section 2.3 */
#define RANDOM_STREAM 0x67707432u

static const char *const tensor_names[GPT2_TENSOR_IDS] = {
    [GPT2_WTE] = "wte",       [GPT2_WPE] = "wpe",
    [GPT2_ATTN_W] = "attn.w", [GPT2_ATTN_PROJ_W] = "attn_proj.w",
    [GPT2_FC_W] = "fc.w",     [GPT2_FC_PROJ_W] = "fc_proj.w",
    [GPT2_LN1_G] = "ln1.g",   [GPT2_LN1_B] = "ln1.b",
    [GPT2_ATTN_B] = "attn.b", [GPT2_ATTN_PROJ_B] = "attn_proj.b",
    [GPT2_LN2_G] = "ln2.g",   [GPT2_LN2_B] = "ln2.b",
    [GPT2_FC_B] = "fc.b",     [GPT2_FC_PROJ_B] = "fc_proj.b",
    [GPT2_LNF_G] = "lnf.g",   [GPT2_LNF_B] = "lnf.b",
};

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

static void tensor_size(const struct gpt2_shape *shape, enum gpt2_tensor_id id, uint64_t *rows,
                        uint64_t *columns)
{
    uint64_t width = shape->width;

    *rows = 1;
    *columns = width;
    switch (id) {
    case GPT2_WTE:
        *rows = shape->vocabulary;
        break;
    case GPT2_WPE:
        *rows = shape->context;
        break;
    case GPT2_ATTN_W:
        *rows = width;
        *columns = 3 * width;
        break;
    case GPT2_ATTN_PROJ_W:
        *rows = width;
        break;
    case GPT2_FC_W:
        *rows = width;
        *columns = shape->mlp_width;
        break;
    case GPT2_FC_PROJ_W:
        *rows = shape->mlp_width;
        break;
    case GPT2_ATTN_B:
        *columns = 3 * width;
        break;
    case GPT2_FC_B:
        *columns = shape->mlp_width;
        break;
    default:
        break;
    }
}

static uint64_t tensor_span(const struct gpt2_shape *shape, enum gpt2_tensor_id id)
{
    uint64_t rows, columns;

    tensor_size(shape, id, &rows, &columns);
    return aligned(rows * columns);
}

static uint64_t span_of(const struct gpt2_shape *shape, enum gpt2_tensor_id first,
                        enum gpt2_tensor_id end)
{
    uint64_t sum = 0;

    for (enum gpt2_tensor_id id = first; id < end; id++)
        sum += tensor_span(shape, id);
    return sum;
}

uint64_t gpt2_decay_length(const struct gpt2_shape *shape)
{
    return span_of(shape, GPT2_WTE, GPT2_ATTN_W) +
           shape->layers * span_of(shape, GPT2_ATTN_W, GPT2_LN1_G);
}

uint64_t gpt2_array_length(const struct gpt2_shape *shape)
{
    return gpt2_decay_length(shape) + shape->layers * span_of(shape, GPT2_LN1_G, GPT2_LNF_G) +
           span_of(shape, GPT2_LNF_G, GPT2_TENSOR_IDS);
}

uint64_t gpt2_offset(const struct gpt2_shape *shape, enum gpt2_tensor_id id, uint64_t layer)
{
    uint64_t outer = span_of(shape, GPT2_WTE, GPT2_ATTN_W);
    uint64_t vectors = span_of(shape, GPT2_LN1_G, GPT2_LNF_G);

    if (id < GPT2_ATTN_W)
        return span_of(shape, GPT2_WTE, id);
    if (id < GPT2_LN1_G)
        return outer + layer * span_of(shape, GPT2_ATTN_W, GPT2_LN1_G) +
               span_of(shape, GPT2_ATTN_W, id);
    if (id < GPT2_LNF_G)
        return gpt2_decay_length(shape) + layer * vectors + span_of(shape, GPT2_LN1_G, id);
    return gpt2_decay_length(shape) + shape->layers * vectors + span_of(shape, GPT2_LNF_G, id);
}

size_t gpt2_tensor_count(const struct gpt2_shape *shape)
{
    return OUTER_DECAY + OUTER_NO_DECAY + shape->layers * (LAYER_DECAY + LAYER_NO_DECAY);
}

struct gpt2_tensor gpt2_tensor_at(const struct gpt2_shape *shape, size_t index)
{
    size_t matrices = OUTER_DECAY + shape->layers * LAYER_DECAY;
    size_t vectors = matrices + shape->layers * LAYER_NO_DECAY;
    struct gpt2_tensor tensor = {0};

    if (index < OUTER_DECAY) {
        tensor.id = (enum gpt2_tensor_id)index;
    } else if (index < matrices) {
        tensor.id = (enum gpt2_tensor_id)(GPT2_ATTN_W + (index - OUTER_DECAY) % LAYER_DECAY);
        tensor.layer = (index - OUTER_DECAY) / LAYER_DECAY;
    } else if (index < vectors) {
        tensor.id = (enum gpt2_tensor_id)(GPT2_LN1_G + (index - matrices) % LAYER_NO_DECAY);
        tensor.layer = (index - matrices) / LAYER_NO_DECAY;
    } else {
        tensor.id = (enum gpt2_tensor_id)(GPT2_LNF_G + (index - vectors));
    }
    tensor_size(shape, tensor.id, &tensor.rows, &tensor.columns);
    tensor.count = tensor.rows * tensor.columns;
    tensor.offset = gpt2_offset(shape, tensor.id, tensor.layer);
    tensor.decay = tensor.id < GPT2_LN1_G;
    if (tensor.id >= GPT2_ATTN_W && tensor.id < GPT2_LNF_G)
        snprintf(tensor.name, sizeof(tensor.name), "h%u.%s", (unsigned)tensor.layer,
                 tensor_names[tensor.id]);
    else
        snprintf(tensor.name, sizeof(tensor.name), "%s", tensor_names[tensor.id]);
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

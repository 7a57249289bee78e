#include "workloads/models/moe.h"

#include <stdio.h>
#include <string.h>

#include "harness/core/random.h"
#include "workloads/declaration.h"
#include "workloads/graph/experts.h"

#define EXPERTS_MAX 1024
#define WIDTH_MAX (1 << 18)
#define ALPHA_MAX 16.0
#define RANKS_STREAM 0x72616e6bu   /* "rank": and the number of the block */
#define EXPERTS_STREAM 0x65787065u /* "expe" */
#define WEIGHTS_STREAM 0x77656967u /* "weig" */
#define PATH_MAX_LENGTH 96

const struct declaration_name stack_gate_names[2] = {{"gelu", STACK_GELU}, {"silu", STACK_SILU}};
static const struct declaration_name law_names[] = {
    {"uniform", MOE_UNIFORM}, {"zipf", MOE_ZIPF}, {"model", MOE_MODEL}};

/* ---- the section ---- */

static const struct declaration_field routing_fields[] = {
    FIELD_ENUM("law", FIELD_REQUIRED, struct moe_routing, law, law_names, 3),
    FIELD_FLOAT("alpha", FIELD_OPTIONAL, struct moe_routing, alpha),
    FIELD_INT("seed", FIELD_OPTIONAL, struct moe_routing, seed),
    FIELD_END,
};

const struct declaration_field moe_fields[] = {
    FIELD_INT("experts", FIELD_REQUIRED, struct moe, experts),
    FIELD_INT("top", FIELD_REQUIRED, struct moe, top),
    FIELD_INT("width", FIELD_REQUIRED, struct moe, width),
    FIELD_ENUM("gate", FIELD_OPTIONAL, struct moe, gate, stack_gate_names, 2),
    FIELD_GROUP("routing", FIELD_REQUIRED, struct moe, routing, routing_fields),
    FIELD_END,
};

struct path {
    char of[PATH_MAX_LENGTH];
};

static struct path path_of(const char *block, const char *key)
{
    struct path ret;

    snprintf(ret.of, sizeof(ret.of), "%.50s.moe.%.30s", block, key);
    return ret;
}

static enum status check_routing(const struct declaration *declaration, const char *path,
                                 const struct moe_routing *routing, struct error *err)
{
    const struct path alpha = path_of(path, "routing.alpha"), seed = path_of(path, "routing.seed");
    const bool zipf = routing->law == MOE_ZIPF, written = declaration_has(declaration, alpha.of);

    if (routing->law == MOE_MODEL && declaration_has(declaration, seed.of))
        return declaration_error(declaration, seed.of, err,
                                 "by law: model the router chooses, and nothing is drawn; remove "
                                 "`seed`");
    if (written && !zipf)
        return declaration_error(declaration, alpha.of, err,
                                 "`alpha` is the exponent of zipf, which law: %s has not; remove "
                                 "it, or write law: zipf",
                                 moe_law_name(routing->law));
    if (zipf && !written)
        return declaration_error(declaration, path_of(path, "routing").of, err,
                                 "law: zipf has no `alpha`; write its exponent, such as alpha: "
                                 "1.0");
    if (zipf && !(routing->alpha > 0.0 && routing->alpha <= ALPHA_MAX))
        return declaration_error(declaration, alpha.of, err,
                                 "`alpha` is %g; write an exponent above 0 and up to %g, such as "
                                 "1.0, or law: uniform",
                                 routing->alpha, ALPHA_MAX);
    return STATUS_OK;
}

enum status moe_check(const struct declaration *declaration, const char *path, struct moe *written,
                      struct error *err)
{
    const struct path top = path_of(path, "top");

    TRY(workload_declaration_check_count(declaration, path_of(path, "experts").of, written->experts,
                                         EXPERTS_MAX, "experts", err));
    TRY(workload_declaration_check_count(declaration, top.of, written->top, MOE_TOP_MAX, "experts",
                                         err));
    if (written->top > written->experts)
        return declaration_error(declaration, top.of, err,
                                 "a token goes to %lld experts, and there are %lld; write `top` up "
                                 "to that",
                                 (long long)written->top, (long long)written->experts);
    TRY(workload_declaration_check_count(declaration, path_of(path, "width").of, written->width,
                                         WIDTH_MAX, "elements", err));
    if (!declaration_has(declaration, path_of(path, "gate").of))
        written->gate = STACK_GELU;
    return check_routing(declaration, path, &written->routing, err);
}

const char *moe_law_name(enum moe_law law)
{
    return law_names[law - MOE_UNIFORM].str;
}

/* ---- the laws ---- */

/* The experts' weights, as whole numbers up to 2^32, so that every machine draws the same. */
static void weigh(const struct moe *moe, uint64_t seed, uint32_t block, uint64_t *ret)
{
    const double alpha = moe->routing.law == MOE_ZIPF ? moe->routing.alpha : 0.0;
    uint32_t order[EXPERTS_MAX];
    struct random random;

    random_init(&random, seed, RANKS_STREAM + ((uint64_t)block << 32));
    random_shuffle(&random, order, (size_t)moe->experts);
    for (int64_t k = 0; k < moe->experts; k++) {
        const double share = random_exp(-alpha * random_log((double)(k + 1)));

        ret[order[k]] = 1 + (uint64_t)(share * 0x1p32);
    }
}

/* A number below `bound`, from 64 random bits. */
static uint64_t scale_down(uint64_t bits, uint64_t bound)
{
    return (uint64_t)((unsigned __int128)bits * bound >> 64);
}

/* One by the weights that are left, of which `total` is the sum. */
static uint32_t draw(const uint64_t *weights, uint64_t total, uint64_t bits)
{
    uint64_t at = scale_down(bits, total);
    uint32_t ret = 0;

    while (at >= weights[ret])
        at -= weights[ret++];
    return ret;
}

static void draw_experts(const struct moe *moe, const uint64_t *weights, uint64_t key, uint64_t row,
                         int32_t *ret)
{
    uint64_t left[EXPERTS_MAX], total = 0;

    memcpy(left, weights, (size_t)moe->experts * sizeof(*left));
    for (int64_t e = 0; e < moe->experts; e++)
        total += left[e];
    for (int64_t s = 0; s < moe->top; s++) {
        const uint64_t place = row * MOE_TOP_MAX + (uint64_t)s;
        const uint32_t drawn = draw(left, total, random_at(key, EXPERTS_STREAM, place));

        ret[s] = (int32_t)drawn;
        total -= left[drawn];
        left[drawn] = 0;
    }
}

/* Shares of 4096, each at least 1. */
static void draw_weights(const struct moe *moe, uint64_t key, uint64_t row, int32_t *ret)
{
    const uint64_t unit = GRAPH_ROUTING_UNIT, spare = unit - (uint64_t)moe->top;
    uint64_t parts[MOE_TOP_MAX], sum = 0, given = 0;

    for (int64_t s = 0; s < moe->top; s++) {
        const uint64_t place = row * MOE_TOP_MAX + (uint64_t)s;

        parts[s] = 1 + scale_down(random_at(key, WEIGHTS_STREAM, place), unit);
        sum += parts[s];
    }
    for (int64_t s = 0; s < moe->top; s++) {
        ret[s] = (int32_t)(1 + spare * parts[s] / sum);
        given += (uint64_t)ret[s];
    }
    ret[0] += (int32_t)(unit - given);
}

void moe_route(const struct moe *moe, uint64_t seed, uint32_t block, uint64_t rows, int32_t *ret)
{
    const uint64_t key = random_keyed(seed, block);
    uint64_t weights[EXPERTS_MAX];

    weigh(moe, seed, block, weights);
#pragma omp parallel for schedule(static) if (rows > 256)
    for (uint64_t r = 0; r < rows; r++) {
        draw_experts(moe, weights, key, r, ret + 2 * r * (uint64_t)moe->top);
        draw_weights(moe, key, r, ret + (2 * r + 1) * (uint64_t)moe->top);
    }
}

struct moe_load moe_load_of(const struct moe *moe, const int32_t *experts, uint64_t rows,
                            uint64_t stride)
{
    struct moe_load ret = {.routed = rows * (uint64_t)moe->top, .least = UINT64_MAX};
    uint64_t tokens[EXPERTS_MAX] = {0};

    for (uint64_t r = 0; r < rows; r++)
        for (int64_t s = 0; s < moe->top; s++)
            tokens[experts[r * stride + (uint64_t)s]]++;
    for (int64_t e = 0; e < moe->experts; e++) {
        ret.touched += tokens[e] > 0;
        ret.least = tokens[e] < ret.least ? tokens[e] : ret.least;
        ret.most = tokens[e] > ret.most ? tokens[e] : ret.most;
    }
    return ret;
}

double moe_imbalance(const struct moe *moe, const struct moe_load *load)
{
    return (double)load->most * (double)moe->experts / (double)load->routed;
}

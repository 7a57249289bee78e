/*
 * Every byte of a copy, against what its source was given. Targets hold the complement of that
 * until an iteration writes them: from the start, and again after each check. Spot checks and
 * changed samples give drawn pieces of the sources other bytes, so that neither a copy that is left
 * out nor one of an earlier time's bytes passes.
 */
#include <inttypes.h>
#include <string.h>

#include "harness/core/random.h"
#include "workloads/check/frame.h"
#include "workloads/transfer/transfer.h"

#define WORD 8
#define PARALLEL_FROM ((uint64_t)1 << 16)
/* A copy up to so long is changed whole by a spot check, a longer one in pieces. */
#define WHOLE_MOST ((uint64_t)1 << 20)
#define PIECES 16
#define PIECE_BYTES ((uint64_t)1 << 16)
#define SAMPLE_BYTES ((uint64_t)1 << 12) /* of the piece that is changed before a sample */

/* ---- bytes ---- */

/* Bytes of leg `leg` from `begin` on, a multiple of WORD, under a seed. */
static void draw(uint64_t seed, size_t leg, uint64_t begin, uint64_t count, unsigned char *ret)
{
    const uint64_t words = count / WORD, rest = count % WORD;
    const uint64_t last = random_at(seed, leg, begin / WORD + words);

#pragma omp parallel for schedule(static) if (count > PARALLEL_FROM)
    for (uint64_t i = 0; i < words; ++i) {
        const uint64_t word = random_at(seed, leg, begin / WORD + i);

        memcpy(ret + i * WORD, &word, WORD);
    }
    memcpy(ret + words * WORD, &last, rest);
}

static enum status put(const struct transfer_end *end, uint64_t begin, const unsigned char *bytes,
                       uint64_t count, struct error *err)
{
    if (end->buffer != NULL)
        return device_upload(end->buffer, begin, bytes, count, err);
    memcpy(end->host + begin, bytes, count);
    return STATUS_OK;
}

/* Into `space`, where they do not lie in memory already. */
static enum status get(const struct transfer_end *end, uint64_t begin, uint64_t count,
                       unsigned char *space, const unsigned char **ret, struct error *err)
{
    *ret = end->buffer != NULL ? space : end->host + begin;
    return end->buffer != NULL ? device_download(end->buffer, begin, space, count, err) : STATUS_OK;
}

/* A range of every leg, and what its bytes are drawn by. */
struct range {
    uint64_t begin, count, seed;
};

/* Does one thing with a tile of a leg; its expected bytes are in instance->expected. */
typedef enum status tile_fn(struct transfer_instance *instance, size_t leg, uint64_t begin,
                            uint64_t count, void *context, struct error *err);

static enum status each_tile(struct transfer_instance *instance, const struct range *range,
                             tile_fn *run, void *context, struct error *err)
{
    for (size_t leg = 0; leg < instance->leg_count; ++leg)
        for (uint64_t done = 0; done < range->count; done += TRANSFER_TILE) {
            const uint64_t rest = range->count - done;
            const uint64_t count = rest < TRANSFER_TILE ? rest : TRANSFER_TILE;

            draw(range->seed, leg, range->begin + done, count, instance->expected);
            TRY(run(instance, leg, range->begin + done, count, context, err));
        }
    return STATUS_OK;
}

static enum status put_source(struct transfer_instance *instance, size_t leg, uint64_t begin,
                              uint64_t count, void *context, struct error *err)
{
    (void)context;
    return put(&instance->legs[leg].source, begin, instance->expected, count, err);
}

/* In `got`, of what is expected: bytes of which a copy leaves none as it is. */
static void complement(struct transfer_instance *instance, uint64_t count)
{
    for (uint64_t i = 0; i < count; ++i)
        instance->got[i] = (unsigned char)~instance->expected[i];
}

static enum status poison_target(struct transfer_instance *instance, size_t leg, uint64_t begin,
                                 uint64_t count, void *context, struct error *err)
{
    (void)context;
    complement(instance, count);
    return put(&instance->legs[leg].target, begin, instance->got, count, err);
}

static struct range whole(const struct transfer_instance *instance)
{
    return (struct range){0, instance->bytes, instance->base.work.seed};
}

enum status transfer_fill_sources(struct transfer_instance *instance, struct error *err)
{
    const struct range range = whole(instance);

    return each_tile(instance, &range, put_source, NULL, err);
}

/* ---- comparing ---- */

struct finding {
    uint64_t compared, wrong;
    uint64_t at; /* of the first wrong byte */
    unsigned char got, expected;
};

static enum status compare_tile(struct transfer_instance *instance, size_t leg, uint64_t begin,
                                uint64_t count, void *context, struct error *err)
{
    struct finding *finding = &((struct finding *)context)[leg];
    const unsigned char *got;

    complement(instance, count); /* reading back is a copy, too */
    TRY(get(&instance->legs[leg].target, begin, count, instance->got, &got, err));
    finding->compared += count;
    if (memcmp(got, instance->expected, count) == 0)
        return STATUS_OK;
    for (uint64_t i = 0; i < count; ++i) {
        if (got[i] == instance->expected[i])
            continue;
        if (finding->wrong++ == 0) {
            finding->at = begin + i;
            finding->got = got[i];
            finding->expected = instance->expected[i];
        }
    }
    return STATUS_OK;
}

static void conclude(const struct transfer_instance *instance, const struct finding *findings,
                     struct check_sink *sink)
{
    for (size_t leg = 0; leg < instance->leg_count; ++leg) {
        const struct finding *finding = &findings[leg];
        const struct workload_check check = {
            .output = instance->legs[leg].output,
            .error = (double)finding->wrong,
            .metric = "count",
            .reason = "a copy changes no byte",
            .compared = finding->compared,
            .passed = finding->wrong == 0,
        };

        check_sink_put(sink, &check);
        if (!check.passed)
            check_sink_fail(sink,
                            "%s: %" PRIu64 " of %" PRIu64 " bytes are not the source's; byte "
                            "%" PRIu64 ": got 0x%02x, expected 0x%02x",
                            check.output, finding->wrong, finding->compared, finding->at,
                            finding->got, finding->expected);
    }
}

static enum status verify(struct workload_instance *base, struct check_sink *sink,
                          struct error *err)
{
    struct transfer_instance *instance = (struct transfer_instance *)base;
    struct finding findings[TRANSFER_LEGS_MAX] = {{0}};
    const struct range range = whole(instance);

    TRY(check_settle(base, err));
    TRY(each_tile(instance, &range, compare_tile, findings, err));
    conclude(instance, findings, sink);
    return STATUS_OK;
}

static enum status resume(struct workload_instance *base, struct error *err)
{
    struct transfer_instance *instance = (struct transfer_instance *)base;
    const struct range range = whole(instance);

    TRY(each_tile(instance, &range, poison_target, NULL, err));
    base->unchecked = 0;
    return STATUS_OK;
}

static double tolerance(const struct workload_case *work, const char *output, const char *metric)
{
    (void)work;
    return strcmp(metric, "count") != 0 ||
                   (strcmp(output, "to_device") != 0 && strcmp(output, "to_host") != 0 &&
                    strcmp(output, "within_device") != 0)
               ? WORKLOAD_NO_CHECK
               : 0.0;
}

/* ---- drawn pieces ---- */

/* Piece `index` of those that a secret draws. */
static struct range piece(const struct transfer_instance *instance, uint64_t secret, size_t index,
                          uint64_t most)
{
    const uint64_t count = instance->bytes < most ? instance->bytes : most;
    const uint64_t places = (instance->bytes - count) / WORD + 1;

    return (struct range){random_at(secret, TRANSFER_LEGS_MAX, index) % places * WORD, count,
                          secret};
}

static enum status spot_check(struct workload_instance *base, uint64_t secret,
                              struct check_sink *sink, struct error *err)
{
    struct transfer_instance *instance = (struct transfer_instance *)base;
    const bool is_short = instance->bytes <= WHOLE_MOST;
    const size_t pieces = is_short ? 1 : PIECES;
    struct finding findings[TRANSFER_LEGS_MAX] = {{0}};
    struct range ranges[PIECES];

    for (size_t i = 0; i < pieces; ++i)
        ranges[i] = piece(instance, secret, i, is_short ? WHOLE_MOST : PIECE_BYTES);
    for (size_t i = 0; i < pieces; ++i) {
        TRY(each_tile(instance, &ranges[i], put_source, NULL, err));
        TRY(each_tile(instance, &ranges[i], poison_target, NULL, err));
    }
    TRY(check_iterate_timed(base, base->kind->result(base), 0, err));
    for (size_t i = 0; i < pieces; ++i)
        TRY(each_tile(instance, &ranges[i], compare_tile, findings, err));
    conclude(instance, findings, sink);
    for (size_t i = 0; i < pieces; ++i) {
        ranges[i].seed = base->work.seed;
        TRY(each_tile(instance, &ranges[i], put_source, NULL, err));
    }
    return check_iterate(base, err); /* of the bytes as they were */
}

/* ---- samples of changed inputs ---- */

static enum status change(struct workload_instance *base, uint64_t secret, bool *ret_changed,
                          struct error *err)
{
    struct transfer_instance *instance = (struct transfer_instance *)base;
    const struct range range = piece(instance, secret, 0, SAMPLE_BYTES);

    *ret_changed = true;
    return each_tile(instance, &range, put_source, NULL, err);
}

static enum status check_changed(struct workload_instance *base, uint64_t secret,
                                 struct check_sink *sink, struct error *err)
{
    struct transfer_instance *instance = (struct transfer_instance *)base;
    struct finding findings[TRANSFER_LEGS_MAX] = {{0}};
    struct range range = piece(instance, secret, 0, SAMPLE_BYTES);

    TRY(each_tile(instance, &range, compare_tile, findings, err));
    conclude(instance, findings, sink);
    range.seed = base->work.seed;
    return each_tile(instance, &range, put_source, NULL, err);
}

const struct workload_checks transfer_checks = {
    .verify = verify,
    .spot_check = spot_check,
    .change = change,
    .check_changed = check_changed,
    .tolerance = tolerance,
    .resume = resume,
};

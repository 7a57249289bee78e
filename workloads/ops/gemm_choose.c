/*
 * The tile of the portable GEMM, by measurement: a small GEMM in the case's types represents all.
 * The rule is that of ops_choose.c: best of a few launches, and a later candidate must win by a
 * clear MARGIN, since the order of sums, and so the bytes of a result, depend on the choice.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "harness/core/clock.h"
#include "harness/core/cleanup.h"
#include "harness/core/random.h"
#include "workloads/ops/gemm_internal.h"

#define SIZE 192
#define REPEATS 20 /* enough that one of them is undisturbed on a busy machine */
#define LANES_MAX 8
#define HOPELESS 2
#define MARGIN 0.9

/* One lane: register tiles for 32, and for 16, vector registers; then groups of lanes. */
static const struct ops_tile single_tiles[] = {{1, 8, 2, 256, 64, 256}, {1, 6, 1, 240, 64, 256}};

/* SIZE x SIZE elements of the widest type each; a and b hold small numbers in the case's type. */
struct task {
    struct buffer *a, *b, *c;
    struct gemm_types types;
};

#define ACROSS 16

/* Lanes beyond the tile's whole rows would race with the next tile for its elements. */
static bool fill_tile(uint32_t lanes)
{
    return lanes < ACROSS || lanes % ACROSS == 0;
}

static struct ops_tile lanes_tile(uint32_t lanes)
{
    const uint32_t across = lanes < ACROSS ? lanes : ACROSS, down = lanes / across;

    return (struct ops_tile){lanes, 4, 4, 4 * down, 4 * across, 16};
}

static enum status run_task(struct gemms *gemms, const struct task *task, struct error *err)
{
    const struct op_gemm gemm = {
        .m = SIZE,
        .n = SIZE,
        .k = SIZE,
        .a = {.at = {task->a, 0}, .type = task->types.a, .stride = SIZE},
        .b = {.at = {task->b, 0}, .type = task->types.b, .stride = SIZE},
        .c = {.at = {task->c, 0}, .type = task->types.c, .stride = SIZE},
    };

    return gemm_portable_run(gemms, &gemm, err);
}

/* Best time of a few launches of what `gemms` holds now. */
static enum status measure(struct gemms *gemms, const struct task *task, int64_t *ret_ns,
                           struct error *err)
{
    int64_t mine = INT64_MAX;

    for (int i = -1; i < REPEATS; i++) {
        const int64_t start = clock_monotonic_ns();
        int64_t spent;

        TRY(run_task(gemms, task, err));
        TRY(device_synchronize(gemms->device, err));
        spent = clock_monotonic_ns() - start;
        if (i >= 0 && spent < mine)
            mine = spent;
    }
    *ret_ns = mine;
    return STATUS_OK;
}

/* Compiles and measures one candidate; keeps it when it clearly beats `best`. */
static enum status try_candidate(struct gemms *gemms, const struct task *task,
                                 const struct ops_tile *tile, int64_t *best, bool *ret_hopeless,
                                 struct error *kept_refusal, struct error *err)
{
    const struct ops_tile kept_tile = gemms->tile;
    struct gemm_variant kept = gemms->variants[0];
    struct module *mine = NULL;
    struct error refusal = ERROR_INIT;
    int64_t ns = 0;
    enum status status = gemm_compile(gemms->device, tile, &task->types, &mine, &refusal);

    if (status == STATUS_OK) {
        gemms->variants[0] = (struct gemm_variant){task->types, mine};
        gemms->variant_count = 1;
        gemms->tile = *tile;
        status = measure(gemms, task, &ns, &refusal);
    }
    workload_note_candidate(gemms->candidates,
                            json_pack("{s:s, s:I, s:I}", "family", "gemm", "lanes",
                                      (json_int_t)tile->lanes, "register_rows",
                                      (json_int_t)tile->reg_m),
                            ns, status == STATUS_OK ? NULL : &refusal);
    *ret_hopeless = status == STATUS_OK && ns / HOPELESS > *best;
    if (status == STATUS_OK && (double)ns < MARGIN * (double)*best) {
        *best = ns;
        device_module_unload(gemms->device, kept.module);
        return STATUS_OK;
    }
    device_module_unload(gemms->device, mine);
    gemms->variants[0] = kept;
    gemms->variant_count = kept.module ? 1 : 0;
    gemms->tile = kept_tile;
    if (status == STATUS_DEVICE_LOST)
        return error_set(err, status, "%s", refusal.message);
    if (status != STATUS_OK)
        workload_keep_refusal(kept_refusal, &refusal);
    return STATUS_OK;
}

static enum status try_all(struct gemms *gemms, const struct task *task, struct error *err)
{
    struct error kept = ERROR_INIT;
    uint32_t lanes[LANES_MAX];
    const size_t count = device_lane_candidates(gemms->device, lanes, LANES_MAX);
    int64_t best = INT64_MAX;
    bool hopeless = false;

    for (size_t i = 0; i < count && !hopeless; i++) {
        const size_t tiles = lanes[i] == 1 ? sizeof(single_tiles) / sizeof(single_tiles[0]) : 1;

        if (!fill_tile(lanes[i])) {
            struct error refusal;

            error_set(&refusal, STATUS_UNSUPPORTED, "%" PRIu32 " lanes are no multiple of %d",
                      lanes[i], ACROSS);
            workload_keep_refusal(&kept, &refusal);
            continue;
        }
        for (size_t t = 0; t < tiles; t++) {
            const struct ops_tile tile = lanes[i] == 1 ? single_tiles[t] : lanes_tile(lanes[i]);

            TRY(try_candidate(gemms, task, &tile, &best, &hopeless, &kept, err));
        }
    }
    if (gemms->variant_count > 0)
        return STATUS_OK;
    return error_set(err, kept.code != STATUS_OK ? kept.code : STATUS_COMPILE,
                     "GEMM: no tile runs: %s", kept.message);
}

/* The tile of so many lanes whose registers hold so many rows. */
static bool tile_of(uint32_t lanes, uint32_t register_rows, struct ops_tile *ret)
{
    if (lanes != 1) {
        if (!fill_tile(lanes))
            return false;
        *ret = lanes_tile(lanes);
        return ret->reg_m == register_rows;
    }
    for (size_t i = 0; i < sizeof(single_tiles) / sizeof(single_tiles[0]); i++) {
        *ret = single_tiles[i];
        if (ret->reg_m == register_rows)
            return true;
    }
    return false;
}

static enum status take_choices(struct gemms *gemms, const struct task *task, const json_t *choices,
                                struct error *err)
{
    const json_t *gemm = json_object_get(choices, "gemm");
    uint32_t lanes, register_rows;
    struct module *module = NULL;

    if (!workload_choice(gemm, "lanes", UINT16_MAX, &lanes) ||
        !workload_choice(gemm, "register_rows", UINT16_MAX, &register_rows) ||
        !tile_of(lanes, register_rows, &gemms->tile))
        return error_set(err, STATUS_INVALID,
                         "GEMM: the choices given are not a tile and lanes of its kernel");
    TRY(gemm_compile(gemms->device, &gemms->tile, &task->types, &module, err));
    gemms->variants[0] = (struct gemm_variant){task->types, module};
    gemms->variant_count = 1;
    return STATUS_OK;
}

/* The bytes are numbers of any type that the GEMM takes, and neither zeros nor denormals. */
static enum status make_task(struct gemms *gemms, struct task *task, struct error *err)
{
    const size_t width = dtype_bits(task->types.a) / 8, bytes = (size_t)SIZE * SIZE * 8;
    struct buffer **buffers[] = {&task->a, &task->b, &task->c};
    AUTO_FREE unsigned char *numbers = malloc(bytes);

    if (!numbers)
        return error_no_memory(err);
    for (size_t i = 0; i < bytes; i++)
        numbers[i] = (unsigned char)random_at(1, 0, i);
    /* Floating point: a byte 0x3c..0x3f on top is a magnitude from 2^-7 to 2 in every type. */
    for (size_t i = width - 1; i < bytes && task->types.a != DTYPE_I8; i += width)
        numbers[i] = (unsigned char)((numbers[i] & 0x83) | 0x3c);
    for (size_t i = 0; i < 3; i++) {
        TRY(device_buffer_alloc(gemms->device, bytes, BUFFER_READ_WRITE, buffers[i], err));
        TRY(device_upload(*buffers[i], 0, numbers, bytes, err));
    }
    return STATUS_OK;
}

static void task_finish(struct task *task)
{
    device_buffer_free(task->a);
    device_buffer_free(task->b);
    device_buffer_free(task->c);
}

enum status gemm_choose(struct gemms *gemms, const json_t *choices, struct error *err)
{
    const enum dtype type = precision_dtype(gemms->precision);
    CLEANUP(task_finish)
    struct task task = {.types = {type, type, gemm_sum_type(gemms->precision),
                                  type == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32}};

    TRY(gemm_portable_check(gemms, gemms->precision, &task.types, err));
    gemms->variants = calloc(1, sizeof(*gemms->variants));
    if (!gemms->variants)
        return error_no_memory(err);
    if (choices)
        return take_choices(gemms, &task, choices, err);
    TRY(make_task(gemms, &task, err));
    return try_all(gemms, &task, err);
}

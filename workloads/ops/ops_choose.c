/*
 * Choice by measurement. Two tasks stand for all kernels: a small matrix product, and a layer norm
 * for the families that go over rows. Each candidate runs once unmeasured (the first launch may
 * compile), then the best of a few launches counts. A candidate that the device refuses is left
 * out; only when all are refused is that an error.
 *
 * The order of sums depends on the group size, so results are the same bytes only under the same
 * choice. To keep it stable, a later candidate must win by a clear MARGIN.
 */
#include "workloads/ops/internal.h"

#include <stdlib.h>

#include "harness/core/clock.h"
#include "harness/core/random.h"
#include "workloads/storage.h"

#define PRODUCT_SIZE 192
#define ROWS 128
#define WIDTH 768
#define REPEATS 20 /* enough that one of them is undisturbed on a busy machine */
#define LANES_MAX 8
#define HOPELESS 2
#define MARGIN 0.9

/* One lane: register tiles for 32, and for 16, vector registers; then groups of lanes. */
static const struct ops_tile single_tiles[] = {{1, 8, 2, 256, 64, 256}, {1, 6, 1, 240, 64, 256}};

struct task {
    struct buffer *a, *b, *c; /* PRODUCT_SIZE^2 or ROWS * WIDTH, whichever is more */
};

static enum status run_product(struct ops *ops, const struct task *task, struct error *err)
{
    const struct op_gemm gemm = {
        .m = PRODUCT_SIZE,
        .n = PRODUCT_SIZE,
        .k = PRODUCT_SIZE,
        .a = {.at = {task->a, 0}, .type = DTYPE_F32, .stride = PRODUCT_SIZE},
        .b = {.at = {task->b, 0}, .type = DTYPE_F32, .stride = PRODUCT_SIZE},
        .c = {.at = {task->c, 0}, .type = DTYPE_F32, .stride = PRODUCT_SIZE},
    };

    return op_gemm(ops, &gemm, err);
}

static enum status run_norm(struct ops *ops, const struct task *task, struct error *err)
{
    const struct op_norm norm = {
        .rows = ROWS,
        .width = WIDTH,
        .x = {task->a, 0},
        .gain = {task->b, 0},
        .bias = {task->b, WIDTH},
        .mean = {task->b, 2 * WIDTH},
        .rstd = {task->b, 2 * WIDTH + ROWS},
    };

    return op_norm_forward(ops, &norm, (struct operand){task->c, 0}, err);
}

/* Best time of a few launches of what `ops` holds now. */
static enum status measure(struct ops *ops, const struct task *task, enum ops_module module,
                           int64_t *ret_ns, struct error *err)
{
    int64_t mine = INT64_MAX;
    enum status status = STATUS_OK;

    for (int i = -1; i < REPEATS && status == STATUS_OK; i++) {
        int64_t start, spent;

        start = clock_monotonic_ns();
        status = module == OPS_GEMM ? run_product(ops, task, err) : run_norm(ops, task, err);
        if (status == STATUS_OK)
            status = device_synchronize(ops->device, err);
        spent = clock_monotonic_ns() - start;
        if (i >= 0 && spent < mine)
            mine = spent;
    }
    if (status == STATUS_OK)
        *ret_ns = mine;
    return status;
}

static void note(struct ops *ops, const char *family, const struct ops_tile *tile, uint32_t lanes,
                 int64_t ns, const char *refused)
{
    json_t *entry = json_pack("{s:s, s:I}", "family", family, "lanes", (json_int_t)lanes);

    if (tile)
        json_object_set_new(entry, "register_rows", json_integer(tile->reg_m));
    if (refused)
        json_object_set_new(entry, "refused", json_string(refused));
    else
        json_object_set_new(entry, "ns", json_integer(ns));
    json_array_append_new(ops->candidates, entry);
}

/* Compiles and measures one candidate; keeps it when it clearly beats `best`. */
static enum status try_candidate(struct ops *ops, const struct task *task, enum ops_module module,
                                 uint32_t lanes, const struct ops_tile *tile, int64_t *best,
                                 bool *ret_hopeless, struct error *err)
{
    struct module *kept = ops->modules[module], *mine = NULL;
    const struct ops_tile kept_tile = ops->tile;
    const uint32_t kept_lanes = ops->lanes[module];
    int64_t ns = 0;
    struct error refusal = ERROR_INIT;
    enum status status = ops_compile(ops->device, module, ops->storage, lanes, tile, &mine, &refusal);

    if (status == STATUS_OK) {
        ops->modules[module] = mine;
        ops->lanes[module] = lanes;
        if (tile)
            ops->tile = *tile;
        status = measure(ops, task, module, &ns, &refusal);
    }
    note(ops, module == OPS_GEMM ? "gemm" : "rows", tile, lanes, ns,
         status == STATUS_OK ? NULL : refusal.message);
    *ret_hopeless = status == STATUS_OK && ns / HOPELESS > *best;
    if (status == STATUS_OK && (double)ns < MARGIN * (double)*best) {
        *best = ns;
        device_module_unload(ops->device, kept);
        return STATUS_OK;
    }
    device_module_unload(ops->device, mine);
    ops->modules[module] = kept;
    ops->lanes[module] = kept_lanes;
    ops->tile = kept_tile;
    if (status == STATUS_DEVICE_LOST)
        return error_set(err, status, "%s", refusal.message);
    if (status != STATUS_OK && err)
        *err = refusal; /* the caller's, if no candidate is left */
    return STATUS_OK;
}

static struct ops_tile lanes_tile(uint32_t lanes)
{
    uint32_t across = lanes < 16 ? lanes : 16, down = lanes / across;

    return (struct ops_tile){lanes, 4, 4, 4 * down, 4 * across, 16};
}

static enum status choose_product(struct ops *ops, const struct task *task, const uint32_t *lanes,
                                  size_t count, struct error *err)
{
    int64_t best = INT64_MAX;
    bool hopeless = false;

    for (size_t i = 0; i < count && !hopeless; i++) {
        size_t tiles = lanes[i] == 1 ? sizeof(single_tiles) / sizeof(single_tiles[0]) : 1;

        for (size_t t = 0; t < tiles; t++) {
            struct ops_tile tile = lanes[i] == 1 ? single_tiles[t] : lanes_tile(lanes[i]);
            enum status status =
                try_candidate(ops, task, OPS_GEMM, lanes[i], &tile, &best, &hopeless, err);

            if (status != STATUS_OK)
                return status;
        }
    }
    return ops->modules[OPS_GEMM] ? STATUS_OK : err ? err->code : STATUS_COMPILE;
}

static enum status choose_rows(struct ops *ops, const struct task *task, const uint32_t *lanes,
                               size_t count, struct error *err)
{
    int64_t best = INT64_MAX;
    bool hopeless = false;
    enum status status = STATUS_OK;

    for (size_t i = 0; i < count && !hopeless && status == STATUS_OK; i++)
        status = try_candidate(ops, task, OPS_ROWS, lanes[i], NULL, &best, &hopeless, err);
    if (status == STATUS_OK && !ops->modules[OPS_ROWS])
        status = err ? err->code : STATUS_COMPILE;
    return status;
}

static bool choice_of(const json_t *choices, const char *family, const char *name, uint32_t *ret)
{
    const json_int_t value =
        json_integer_value(json_object_get(json_object_get(choices, family), name));

    if (value < 1 || value > UINT16_MAX)
        return false;
    *ret = (uint32_t)value;
    return true;
}

/* The tile of so many lanes whose registers hold so many rows. */
static bool tile_of(uint32_t lanes, uint32_t register_rows, struct ops_tile *ret)
{
    if (lanes != 1) {
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

static enum status take_choices(struct ops *ops, const json_t *choices, struct error *err)
{
    uint32_t register_rows;
    enum status status;

    if (!choice_of(choices, "gemm", "lanes", &ops->lanes[OPS_GEMM]) ||
        !choice_of(choices, "gemm", "register_rows", &register_rows) ||
        !choice_of(choices, "rows", "lanes", &ops->lanes[OPS_ROWS]) ||
        !tile_of(ops->lanes[OPS_GEMM], register_rows, &ops->tile))
        return error_set(err, STATUS_INVALID,
                         "transformer: the choices given are not a tile and lanes of its kernels");
    status = ops_compile(ops->device, OPS_GEMM, ops->storage, ops->lanes[OPS_GEMM], &ops->tile,
                         &ops->modules[OPS_GEMM], err);
    if (status == STATUS_OK)
        status = ops_compile(ops->device, OPS_ROWS, ops->storage, ops->lanes[OPS_ROWS], NULL,
                             &ops->modules[OPS_ROWS], err);
    return status;
}

enum status ops_choose(struct ops *ops, const json_t *choices, struct error *err)
{
    const uint64_t count =
        PRODUCT_SIZE * PRODUCT_SIZE > ROWS * WIDTH ? PRODUCT_SIZE * PRODUCT_SIZE : ROWS * WIDTH;
    uint32_t lanes[LANES_MAX];
    size_t lanes_count = device_lane_candidates(ops->device, lanes, LANES_MAX);
    float *numbers = malloc(count * sizeof(*numbers));
    struct task task = {0};
    struct buffer **buffers[] = {&task.a, &task.b, &task.c};
    enum status status = STATUS_OK;

    if (choices) {
        free(numbers);
        return take_choices(ops, choices, err);
    }
    if (!numbers)
        return error_set(err, STATUS_NO_MEMORY, "transformer: out of memory");
    for (uint64_t i = 0; i < count; i++)
        numbers[i] = (float)(random_unit(random_at(1, 0, i)) - 0.5);
    if (ops->storage != DTYPE_F32)
        storage_encode(ops->storage, numbers, count, numbers); /* in place, front to back */
    for (size_t i = 0; i < 3 && status == STATUS_OK; i++) {
        status = device_buffer_alloc(ops->device, count * sizeof(*numbers), BUFFER_READ_WRITE,
                                     buffers[i], err);
        if (status == STATUS_OK)
            status = device_upload(*buffers[i], 0, numbers,
                                   count * dtype_bits(ops->storage) / 8, err);
    }
    if (status == STATUS_OK)
        status = choose_product(ops, &task, lanes, lanes_count, err);
    if (status == STATUS_OK)
        status = choose_rows(ops, &task, lanes, lanes_count, err);
    device_buffer_free(task.a);
    device_buffer_free(task.b);
    device_buffer_free(task.c);
    free(numbers);
    return status;
}

/*
 * Choice by measurement. A layer norm and a GELU represent all kernels. Each candidate runs
 * once unmeasured (the first launch may compile), then the best of a few launches counts. A
 * candidate that the device refuses is left out; only when all are refused is that an error.
 *
 * The order of sums depends on the group size, so results are the same bytes only under the same
 * choice. To keep it stable, a later candidate must win by a clear MARGIN.
 */
#include "workloads/ops/internal.h"

#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/random.h"
#include "workloads/storage.h"

#define ELEMENTS_MIN ((uint64_t)128 * 768) /* fewer tell noise */
#define ELEMENTS_MAX ((uint64_t)8 << 20)
#define ROWS_PER_UNIT 64 /* of a GPU: as many as keep it busy */
#define REPEATS 20       /* enough that one of them is undisturbed on a busy machine */
#define LAUNCHES_GPU 16
#define LANES_MAX 8
#define HOPELESS 2
#define MARGIN 0.9

struct task {
    uint64_t rows, width;
    struct buffer *a, *b, *c; /* rows * width */
};

static struct task task_of(const struct ops *ops)
{
    const struct device_info *info = &ops->device->info;
    const uint64_t units = info->compute_units == 0 ? 1 : info->compute_units;
    const uint64_t least = ELEMENTS_MIN / ops->width + 1, most = ELEMENTS_MAX / ops->width + 1;
    uint64_t rows = info->type == DEVICE_GPU ? units * ROWS_PER_UNIT : least;

    rows = rows > most ? most : rows < least ? least : rows;
    return (struct task){.rows = rows, .width = ops->width};
}

static enum status run_task(struct ops *ops, const struct task *task, struct error *err)
{
    const struct op_norm norm = {
        .rows = task->rows,
        .width = task->width,
        .x = {task->a, 0},
        .gain = {task->b, 0},
        .bias = {task->b, task->width},
        .mean = {task->b, 2 * task->width},
        .rstd = {task->b, 2 * task->width + task->rows},
        .epsilon = 1e-5f,
    };

    TRY(op_norm_forward(ops, &norm, (struct operand){task->c, 0}, err));
    return op_gelu(ops, norm.x, task->c, task->rows * task->width, err);
}

/* Best time of a few launches of what `ops` holds now; the wait for a GPU is as long as one. */
static enum status measure(struct ops *ops, const struct task *task, int64_t *ret_ns,
                           struct error *err)
{
    const int launches = ops->device->info.type == DEVICE_GPU ? LAUNCHES_GPU : 1;
    int64_t mine = INT64_MAX;

    for (int i = -1; i < REPEATS; i++) {
        const int64_t start = clock_monotonic_ns();
        int64_t spent;

        for (int k = 0; k < launches; k++)
            TRY(run_task(ops, task, err));
        TRY(device_synchronize(ops->device, err));
        spent = (clock_monotonic_ns() - start) / launches;
        if (i >= 0 && spent < mine)
            mine = spent;
    }
    *ret_ns = mine;
    return STATUS_OK;
}

/* Compiles and measures one candidate; keeps it when it clearly beats `best`. */
static enum status try_candidate(struct ops *ops, const struct task *task, uint32_t lanes,
                                 int64_t *best, bool *ret_hopeless, struct error *kept_refusal,
                                 struct error *err)
{
    struct module *kept = ops->modules[OPS_ROWS], *mine = NULL;
    const uint32_t kept_lanes = ops->lanes[OPS_ROWS];
    int64_t ns = 0;
    struct error refusal = ERROR_INIT;
    enum status status = ops_compile(ops, OPS_ROWS, lanes, &mine, &refusal);

    if (status == STATUS_OK) {
        ops->modules[OPS_ROWS] = mine;
        ops->lanes[OPS_ROWS] = lanes;
        status = measure(ops, task, &ns, &refusal);
    }
    workload_note_candidate(ops->candidates,
                            json_pack("{s:s, s:I}", "family", "rows", "lanes", (json_int_t)lanes),
                            ns, status == STATUS_OK ? NULL : &refusal);
    *ret_hopeless = status == STATUS_OK && ns / HOPELESS > *best;
    if (status == STATUS_OK && (double)ns < MARGIN * (double)*best) {
        *best = ns;
        device_module_unload(ops->device, kept);
        return STATUS_OK;
    }
    device_module_unload(ops->device, mine);
    ops->modules[OPS_ROWS] = kept;
    ops->lanes[OPS_ROWS] = kept_lanes;
    if (status == STATUS_DEVICE_LOST)
        return error_set(err, status, "%s", refusal.message);
    if (status != STATUS_OK)
        workload_keep_refusal(kept_refusal, &refusal);
    return STATUS_OK;
}

static enum status choose_rows(struct ops *ops, const struct task *task, const uint32_t *lanes,
                               size_t count, struct error *err)
{
    int64_t best = INT64_MAX;
    bool hopeless = false;
    struct error kept = ERROR_INIT;

    for (size_t i = 0; i < count && !hopeless; i++)
        TRY(try_candidate(ops, task, lanes[i], &best, &hopeless, &kept, err));
    if (!ops->modules[OPS_ROWS])
        return error_set(err, kept.code != STATUS_OK ? kept.code : STATUS_COMPILE,
                         "transformer: no number of lanes runs: %s", kept.message);
    return STATUS_OK;
}

static enum status take_choices(struct ops *ops, const json_t *choices, struct error *err)
{
    if (!workload_choice(json_object_get(choices, "rows"), "lanes", UINT16_MAX,
                         &ops->lanes[OPS_ROWS]))
        return error_set(err, STATUS_INVALID,
                         "transformer: the choices given are not lanes of its kernels");
    return ops_compile(ops, OPS_ROWS, ops->lanes[OPS_ROWS], &ops->modules[OPS_ROWS], err);
}

/* Small numbers in the storage type, in all three. */
static enum status fill_task(const struct ops *ops, struct task *task, struct error *err)
{
    const uint64_t count = task->rows * task->width + 2 * (task->rows + task->width);
    struct buffer **buffers[] = {&task->a, &task->b, &task->c};
    AUTO_FREE float *numbers = malloc(count * sizeof(*numbers));

    if (!numbers)
        return error_no_memory(err);
    for (uint64_t i = 0; i < count; i++)
        numbers[i] = (float)(random_unit(random_at(1, 0, i)) - 0.5);
    if (ops->storage != DTYPE_F32)
        storage_encode(ops->storage, numbers, count, numbers); /* in place, front to back */
    for (size_t i = 0; i < 3; i++) {
        TRY(device_buffer_alloc(ops->device, count * sizeof(*numbers), BUFFER_READ_WRITE,
                                buffers[i], err));
        TRY(device_upload(*buffers[i], 0, numbers, count * dtype_bits(ops->storage) / 8, err));
    }
    return STATUS_OK;
}

static void task_finish(struct task *task)
{
    device_buffer_free(task->a);
    device_buffer_free(task->b);
    device_buffer_free(task->c);
}

enum status ops_choose(struct ops *ops, const json_t *choices, struct error *err)
{
    uint32_t lanes[LANES_MAX];
    const size_t lanes_count = device_lane_candidates(ops->device, lanes, LANES_MAX);
    CLEANUP(task_finish) struct task task = task_of(ops);

    if (choices)
        return take_choices(ops, choices, err);
    TRY(fill_task(ops, &task, err));
    return choose_rows(ops, &task, lanes, lanes_count, err);
}

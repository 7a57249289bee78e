/*
 * The first question of compare.c, asked of a few elements at places drawn by a secret, with other
 * rows of A for one iteration: what is right then can be in no earlier result. B stays, since
 * libraries keep what they made of it.
 */
#include <stdlib.h>

#include "harness/core/random.h"
#include "workloads/gemm/check.h"
#include "workloads/gemm/compare.h"
#include "workloads/storage.h"

#define SPOT_WORK ((uint64_t)1 << 18) /* elements of B that the reference makes, in all */
#define SPOT_ROWS 4
/* Streams of a secret: the seed of other rows of A, then two for each product. */
enum spot_stream { SPOT_SEED, SPOT_ROW, SPOT_COLUMN, SPOT_STREAMS = 2 };

/* A few of both, drawn by the secret, of product `index`; B's part is `work` elements. */
static void choose_spots(struct gemm_comparison *task, uint64_t work, uint64_t secret,
                         uint64_t index)
{
    const struct gemm_check *check = task->check;
    const uint64_t most = check->m < SPOT_ROWS ? check->m : SPOT_ROWS;

    task->row_count = gemm_share(work, check->groups * check->k, 1, most);
    task->rows = gemm_draw(check->m, task->row_count, secret, SPOT_STREAMS * index + SPOT_ROW);
    task->column_count = gemm_share(work, check->k, 1, check->n);
    task->columns =
        gemm_draw(check->n, task->column_count, secret, SPOT_STREAMS * index + SPOT_COLUMN);
}

/* Other rows of A in place of those drawn, and NaN in what they give. */
static enum status disturb(const struct gemm_comparison *task, struct error *err)
{
    const struct gemm_check *check = task->check;

    for (uint64_t i = 0; i < task->row_count; i++) {
        TRY(check->upload_row(check, task->rows[i], err));
        TRY(storage_poison(check->c, check->result_type, task->rows[i] * check->n, check->n, err));
    }
    return STATUS_OK;
}

static enum status restore(const struct gemm_comparison *task, struct error *err)
{
    struct gemm_check before = *task->check;

    before.a = before.b; /* the seed of both */
    for (uint64_t i = 0; i < task->row_count; i++)
        TRY(before.upload_row(&before, task->rows[i], err));
    return STATUS_OK;
}

static enum status iterate(const struct gemm_outputs *outputs, struct error *err)
{
    TRY(outputs->iterate(outputs->base, err));
    return device_synchronize(outputs->base->device, err);
}

/* Of all products; the first failure in `err`, the checks of all reported. */
static enum status examine(struct gemm_comparison *tasks, size_t count, workload_check_fn *report,
                           void *context, struct error *err)
{
    enum status first = STATUS_OK;

    for (size_t i = 0; i < count; i++) {
        struct error mine = ERROR_INIT;
        struct gemm_outcome all;
        enum status status = gemm_comparison_run(&tasks[i], &all, &mine);

        if (status == STATUS_OK) {
            const struct workload_check answer = gemm_answer(&tasks[i], &all);

            if (report)
                report(context, &answer);
            status = gemm_judge(&tasks[i], &all, &answer, &mine);
        }
        if (status != STATUS_OK && first == STATUS_OK) {
            first = status;
            if (err)
                *err = mine;
        }
        if (status != STATUS_OK && status != STATUS_CHECK_FAILED)
            break;
    }
    return first;
}

/* With the tasks chosen and prepared. */
static enum status check_spots(const struct gemm_outputs *outputs, struct gemm_comparison *tasks,
                               workload_check_fn *report, void *context, struct error *err)
{
    enum status status = STATUS_OK, found = STATUS_OK;

    for (size_t i = 0; i < outputs->count && status == STATUS_OK; i++)
        status = disturb(&tasks[i], err);
    if (status == STATUS_OK)
        status = iterate(outputs, err);
    if (status == STATUS_OK)
        found = status = examine(tasks, outputs->count, report, context, err);
    if (status == STATUS_CHECK_FAILED) {
        status = STATUS_OK;
        err = NULL; /* has what failed */
    }
    for (size_t i = 0; i < outputs->count && status == STATUS_OK; i++)
        status = restore(&tasks[i], err);
    if (status == STATUS_OK)
        status = iterate(outputs, err);
    return found != STATUS_OK ? found : status;
}

enum status gemm_outputs_spot_check(const struct gemm_outputs *outputs, uint64_t secret,
                                    workload_check_fn *report, void *context, struct error *err)
{
    struct gemm_check *checks = calloc(outputs->count, sizeof(*checks));
    struct gemm_comparison *tasks = calloc(outputs->count, sizeof(*tasks));
    enum status status = STATUS_OK;

    if (!checks || !tasks)
        status = error_no_memory(err);
    for (size_t i = 0; i < outputs->count && status == STATUS_OK; i++) {
        checks[i] = outputs->check_of(outputs->base, i);
        checks[i].a.seed ^= random_at(secret, SPOT_SEED, 0);
        tasks[i].check = &checks[i];
        choose_spots(&tasks[i], SPOT_WORK / outputs->count, secret, i);
        status = gemm_comparison_prepare(&tasks[i], err);
    }
    if (status == STATUS_OK)
        status = check_spots(outputs, tasks, report, context, err);
    for (size_t i = 0; i < outputs->count && tasks; i++)
        gemm_comparison_finish(&tasks[i]);
    free(tasks);
    free(checks);
    return status;
}

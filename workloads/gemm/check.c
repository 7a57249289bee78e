#include "workloads/gemm/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "workloads/gemm/compare.h"
#include "workloads/storage.h"

#define WORK_MAX ((uint64_t)1 << 27) /* products of the reference, for one shape */
#define ROWS_MIN 4
#define ROW_STREAM 0x726f7773 /* "rows" */

double gemm_tolerance(const struct workload_case *work, const char *output, const char *metric)
{
    (void)work;
    (void)output;
    return !strcmp(metric, "max_of_bound") || !strcmp(metric, "normalised_rms") ? 1.0 : -1.0;
}

/* Rows at places that the seed gives, the last always, and all columns. */
static void choose(struct gemm_comparison *task)
{
    const struct gemm_check *check = task->check;

    task->row_count = gemm_share(WORK_MAX, check->n * check->k, ROWS_MIN, check->m);
    task->rows = gemm_draw(check->m, task->row_count, check->a.seed, ROW_STREAM);
    if (task->rows)
        task->rows[task->row_count - 1] = check->m - 1;
    task->column_count = check->n;
    task->columns = gemm_draw(check->n, check->n, 0, 0);
}

static enum status conclude(const struct gemm_comparison *task, const struct gemm_outcome *all,
                            workload_check_fn *report, void *context, struct error *err)
{
    const double norm = all->norm2 > 0.0 ? all->norm2 : 1.0;
    const struct workload_check stored = gemm_answer(task, all);
    const struct workload_check exact = {
        .output = task->check->output_exact,
        .error = gemm_reportable(sqrt(all->error2 / norm)),
        .tolerance = gemm_reportable(sqrt(all->bound2 / norm)),
        .metric = "normalised_rms",
        .reason = "how far rounding these operands to their type moved it, and the bound above",
        .compared = stored.compared,
        .passed = all->error2 <= all->bound2,
    };
    const char *subject = task->check->subject, *precision = precision_name(task->check->precision);
    enum status status;

    if (all->zeros > 0.0 && all->zeros <= 1.0)
        return error_set(err, STATUS_CHECK_FAILED,
                         "%s in %s: output %s: sums of %llu products may be off by as much as they "
                         "are large, so that zeros would pass: declare shorter sums",
                         subject, precision, stored.output, (unsigned long long)task->check->k);
    if (report) {
        report(context, &stored);
        report(context, &exact);
    }
    status = gemm_judge(task, all, &stored, err);
    if (status != STATUS_OK || exact.passed)
        return status;
    return error_set(err, STATUS_CHECK_FAILED,
                     "%s in %s: output %s: error %.3g against unrounded operands, tolerance %.3g "
                     "(%s)",
                     subject, precision, exact.output, exact.error, exact.tolerance, exact.reason);
}

enum status gemm_check_one(const struct gemm_check *check, workload_check_fn *report, void *context,
                           struct error *err)
{
    CLEANUP(gemm_comparison_finish) struct gemm_comparison task = {.check = check};
    struct gemm_outcome all;

    choose(&task);
    TRY(gemm_comparison_prepare(&task, err));
    TRY(gemm_comparison_run(&task, &all, err));
    return conclude(&task, &all, report, context, err);
}

/* All, and reports each; when all passed, every C holds NaN (or -1) again. */
static enum status check_all(const struct gemm_check *checks, size_t count,
                             workload_check_fn *report, void *context, struct error *err)
{
    struct error first = ERROR_INIT;
    enum status status = STATUS_OK;

    for (size_t i = 0; i < count; i++) {
        struct error mine = ERROR_INIT;

        status = gemm_check_one(&checks[i], report, context, &mine);
        if (status != STATUS_OK && first.code == STATUS_OK)
            first = mine;
        if (status != STATUS_OK && status != STATUS_CHECK_FAILED)
            break;
    }
    if (first.code != STATUS_OK) {
        if (err)
            *err = first;
        return first.code;
    }
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = storage_poison_all(checks[i].c, checks[i].result_type, err);
    return status;
}

enum status gemm_outputs_verify(const struct gemm_outputs *outputs, workload_check_fn *report,
                                void *context, struct error *err)
{
    AUTO_FREE struct gemm_check *checks = NULL;

    if (*outputs->unchecked == 0)
        TRY(outputs->iterate(outputs->base, err));
    TRY(device_synchronize(outputs->base->device, err));
    checks = calloc(outputs->count, sizeof(*checks));
    if (!checks)
        return error_no_memory(err);
    for (size_t i = 0; i < outputs->count; i++)
        checks[i] = outputs->check_of(outputs->base, i);
    TRY(check_all(checks, outputs->count, report, context, err));
    *outputs->unchecked = 0;
    return STATUS_OK;
}

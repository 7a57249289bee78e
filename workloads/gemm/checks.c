/* The questions of compare.c, asked of all products: of many rows, and of a few that are drawn. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/random.h"
#include "workloads/gemm/compare.h"
#include "workloads/storage.h"

#define WORK_MAX ((uint64_t)1 << 27) /* products of the reference, for one shape */
#define ROWS_MIN 4
#define ROW_STREAM 0x726f7773 /* "rows" */

static double tolerance(const struct workload_case *work, const char *output, const char *metric)
{
    (void)work;
    (void)output;
    return !strcmp(metric, "max_of_bound") || !strcmp(metric, "normalised_rms") ? 1.0 : -1.0;
}

struct product_check product_check_of(const struct products *products, size_t index,
                                      const uint64_t *secret)
{
    const struct gemm_data data = {.seed = products->base.work.seed,
                                   .shape = index,
                                   .distribution = products->distribution,
                                   .type = products->operand_type};
    struct product_check check = {
        .products = products, .product = &products->items[index], .a = data, .b = data};

    if (secret)
        check.a.seed ^= random_at(*secret, 0, 0);
    return check;
}

/* Rows at places that the seed gives, the last always, and all columns. */
static void choose(struct gemm_comparison *task)
{
    const struct product *product = task->check.product;

    task->row_count = gemm_share(WORK_MAX, product->n * product->k, ROWS_MIN, product->m);
    task->rows = gemm_draw(product->m, task->row_count, task->check.a.seed, ROW_STREAM);
    if (task->rows)
        task->rows[task->row_count - 1] = product->m - 1;
    task->column_count = product->n;
    task->columns = gemm_draw(product->n, product->n, 0, 0);
}

static void conclude(const struct gemm_comparison *task, const struct gemm_outcome *all,
                     struct check_sink *sink)
{
    const struct products *products = task->check.products;
    const char *subject = products->base.kind->name,
               *precision = precision_name(products->base.work.precision);
    const double norm = all->norm2 > 0.0 ? all->norm2 : 1.0;
    const struct workload_check stored = gemm_answer(task, all);
    char name[TENSOR_NAME_MAX + sizeof(".unrounded")];
    const struct workload_check exact = {
        .output = name,
        .error = gemm_reportable(sqrt(all->error2 / norm)),
        .tolerance = gemm_reportable(sqrt(all->bound2 / norm)),
        .metric = "normalised_rms",
        .reason = "how far rounding these operands to their type moved it, and the bound above",
        .compared = stored.compared,
        .passed = all->error2 <= all->bound2,
    };

    snprintf(name, sizeof(name), "%s.unrounded", stored.output);
    if (all->zeros > 0.0 && all->zeros <= 1.0) {
        check_sink_fail(sink,
                        "%s in %s: output %s: sums of %llu products may be off by as much as they "
                        "are large, so that zeros would pass: declare shorter sums",
                        subject, precision, stored.output,
                        (unsigned long long)task->check.product->k);
        return;
    }
    gemm_judge(task, all, sink);
    check_sink_put(sink, &exact);
    if (!exact.passed)
        check_sink_fail(sink,
                        "%s in %s: output %s: error %.3g against unrounded operands, tolerance "
                        "%.3g (%s)",
                        subject, precision, exact.output, exact.error, exact.tolerance,
                        exact.reason);
}

enum status product_check_run(const struct product_check *check, struct check_sink *sink,
                              struct error *err)
{
    CLEANUP(gemm_comparison_finish) struct gemm_comparison task = {.check = *check};
    struct gemm_outcome all;

    choose(&task);
    TRY(gemm_comparison_prepare(&task, err));
    TRY(gemm_comparison_run(&task, &all, err));
    conclude(&task, &all, sink);
    return STATUS_OK;
}

static enum status verify(struct workload_instance *base, struct check_sink *sink,
                          struct error *err)
{
    const struct products *products = (const struct products *)base;

    TRY(check_settle(base, err));
    for (size_t i = 0; i < products->count; i++) {
        const struct product_check check = product_check_of(products, i, NULL);

        TRY(product_check_run(&check, sink, err));
    }
    return STATUS_OK;
}

/* ---- spot checks ---- */

/*
 * The first question of compare.c, asked of a few elements at places drawn by a secret, with other
 * rows of A for one iteration: what is right then can be in no earlier result. B stays, since
 * libraries keep what they made of it.
 */
#define SPOT_WORK ((uint64_t)1 << 18) /* elements of B that the reference makes, in all */
#define SPOT_ROWS 4
/* Streams of a secret: the seed of other rows of A, then two for each product. */
enum spot_stream { SPOT_SEED, SPOT_ROW, SPOT_COLUMN, SPOT_STREAMS = 2 };

struct spots {
    struct gemm_comparison *tasks; /* one a product */
    size_t count;
};

static void spots_finish(struct spots *spots)
{
    for (size_t i = 0; i < spots->count && spots->tasks; i++)
        gemm_comparison_finish(&spots->tasks[i]);
    free(spots->tasks);
}

/* A few of both, drawn by the secret, of product `index`; B's part is `work` elements. */
static void choose_spots(struct gemm_comparison *task, uint64_t work, uint64_t secret,
                         uint64_t index)
{
    const struct product *product = task->check.product;
    const uint64_t most = product->m < SPOT_ROWS ? product->m : SPOT_ROWS;

    task->row_count = gemm_share(work, product->groups * product->k, 1, most);
    task->rows = gemm_draw(product->m, task->row_count, secret, SPOT_STREAMS * index + SPOT_ROW);
    task->column_count = gemm_share(work, product->k, 1, product->n);
    task->columns =
        gemm_draw(product->n, task->column_count, secret, SPOT_STREAMS * index + SPOT_COLUMN);
}

/* Other rows of A in place of those drawn, and NaN in what they give. */
static enum status disturb(const struct gemm_comparison *task, struct error *err)
{
    const struct products *products = task->check.products;
    const struct product *product = task->check.product;

    for (uint64_t i = 0; i < task->row_count; i++) {
        TRY(products->family->upload_row(&task->check, task->rows[i], err));
        TRY(storage_poison(product->arrays[GEMM_C].buffer, products->result_type,
                           task->rows[i] * product->n, product->n, err));
    }
    return STATUS_OK;
}

static enum status restore(const struct gemm_comparison *task, struct error *err)
{
    struct product_check before = task->check;

    before.a = before.b; /* the seed of both */
    for (uint64_t i = 0; i < task->row_count; i++)
        TRY(before.products->family->upload_row(&before, task->rows[i], err));
    return STATUS_OK;
}

static enum status spot_check(struct workload_instance *base, uint64_t secret,
                              struct check_sink *sink, struct error *err)
{
    const struct products *products = (const struct products *)base;
    const size_t count = products->count;
    CLEANUP(spots_finish)
    struct spots spots = {calloc(count, sizeof(*spots.tasks)), count};

    if (!spots.tasks)
        return error_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        spots.tasks[i].check = product_check_of(products, i, &secret);
        choose_spots(&spots.tasks[i], SPOT_WORK / count, secret, i);
        TRY(gemm_comparison_prepare(&spots.tasks[i], err));
    }
    for (size_t i = 0; i < count; i++)
        TRY(disturb(&spots.tasks[i], err));
    TRY(check_iterate(base, err));
    for (size_t i = 0; i < count; i++) {
        struct gemm_outcome all;

        TRY(gemm_comparison_run(&spots.tasks[i], &all, err));
        gemm_judge(&spots.tasks[i], &all, sink);
    }
    for (size_t i = 0; i < count; i++)
        TRY(restore(&spots.tasks[i], err));
    return check_iterate(base, err);
}

const struct workload_checks products_checks = {
    .verify = verify,
    .spot_check = spot_check,
    .tolerance = tolerance,
    .resume = products_resume,
};

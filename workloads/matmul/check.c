/*
 * Two questions about C, each element by element over the rows that are checked:
 *
 * 1. Is it the product of the operands as they are stored? Error in units of its bound:
 *    steps * u * sum |a b| + u_C |c| + underflow, where u is the rounding of the sums and u_C that
 *    of C (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., equation 3.5,
 * whatever the order of the sum). i8 has no error at all.
 * 2. How far is it from the product of the operands before they were rounded? That is what the
 *    precision costs. The bound is the first, and what rounding these very operands can change:
 *    sum |da| |b| + |a'| |db|.
 *
 * u and steps by precision: fp64 2^-53, fp32 2^-24, k + 1 of them. Matrix units may truncate where
 * they align and add (Fasi et al., "Numerical behavior of NVIDIA tensor cores", 2021): 2^-23 for
 * bf16, fp16 and tf32, whose operands keep 10 bits, perhaps cut off (2^-10 each). Those of fp8 keep
 * as few as 14 bits of a sum of 32 products (DeepSeek-V3 technical report, 2024, section 3.3.2):
 * 2^-13, k / 32 + 1 times. Our own text computes all of them in true fp32, and is held to that.
 */
#include "workloads/matmul/check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "harness/core/random.h"
#include "workloads/matmul/element.h"

#define WORK_MAX ((uint64_t)1 << 27) /* products of the reference, for one shape */
#define ROWS_MIN 4
#define ROW_STREAM 0x726f7773 /* "rows" */

struct bounds {
    double sum;       /* of the sums, in sum |a b| */
    double operands;  /* of operands that the unit cuts, in sum |a b| */
    double result;    /* of C, in |c| */
    double underflow; /* of C */
};

/* Of one column of C, or of all: the worst element, and sums of squares against exact operands. */
struct outcome {
    double worst; /* error in units of its bound */
    uint64_t row, column;
    double got, expected;
    double error2, norm2, bound2;
};

/* What is checked of one product. */
struct task {
    const struct product_check *check;
    struct bounds bounds;
    uint64_t *rows;
    uint64_t row_count;
    double *stored, *exact;  /* of A: row_count * groups * k */
    double *got;             /* row_count * n, in units of exact operands */
    struct outcome *columns; /* n */
};

static struct bounds bounds_of(const struct task *task)
{
    enum precision precision = task->check->precision;
    const double k = (double)task->check->k;
    struct bounds bounds = {
        .result = element_unit_roundoff(task->check->result_type),
        .underflow = element_underflow(task->check->result_type),
    };

    if (task->check->arm == ARM_PORTABLE && product_sum_type(precision) == DTYPE_F32)
        precision = PRECISION_FP32;
    switch (precision) {
    case PRECISION_INT8:
        break;
    case PRECISION_FP64:
        bounds.sum = (k + 1.0) * 0x1p-53;
        break;
    case PRECISION_FP32:
        bounds.sum = (k + 1.0) * 0x1p-24;
        break;
    case PRECISION_FP8_E4M3:
    case PRECISION_FP8_E5M2:
        bounds.sum = (k / 32.0 + 1.0) * 0x1p-13;
        break;
    case PRECISION_TF32:
        bounds.operands = 2.0 * 0x1p-10 + 0x1p-20;
        bounds.sum = (k + 1.0) * 0x1p-23;
        break;
    default:
        bounds.sum = (k + 1.0) * 0x1p-23;
        break;
    }
    return bounds;
}

/* One row in each of row_count stripes, at a place that the seed gives; the last row always. */
static void choose_rows(struct task *task)
{
    const uint64_t m = task->check->m;
    const uint64_t row_work = task->check->n * task->check->k;
    uint64_t count = WORK_MAX / (row_work ? row_work : 1);

    if (count < ROWS_MIN)
        count = ROWS_MIN;
    task->row_count = count < m ? count : m;
    for (uint64_t i = 0; i < task->row_count; i++) {
        const uint64_t begin = m * i / task->row_count, end = m * (i + 1) / task->row_count;

        task->rows[i] = begin + random_at(task->check->data.seed, ROW_STREAM, i) % (end - begin);
    }
    task->rows[task->row_count - 1] = m - 1;
}

static enum status fetch(struct task *task, struct error *err)
{
    const struct product_check *check = task->check;
    const enum dtype type = check->result_type;
    const uint64_t n = check->n, width = check->groups * check->k, bytes = n * dtype_bits(type) / 8;
    const double scale = matmul_scale(&check->data), unit = scale * scale;
    void *row = malloc(bytes);
    enum status status = STATUS_OK;

    if (!row)
        return error_set(err, STATUS_NO_MEMORY, "checking a product: out of memory");
    for (uint64_t i = 0; i < task->row_count && status == STATUS_OK; i++) {
        double *exact = task->exact + i * width, *stored = task->stored + i * width;

        status = device_download(check->c, task->rows[i] * bytes, row, bytes, err);
        for (uint64_t j = 0; j < n && status == STATUS_OK; j++)
            task->got[i * n + j] = element_decode(type, row, j) * unit;
        if (status == STATUS_OK)
            check->row(check, task->rows[i], exact);
        for (uint64_t p = 0; p < width && status == STATUS_OK; p++)
            stored[p] = matmul_stored(&check->data, exact[p]);
    }
    free(row);
    return status;
}

/* A NaN is the worst of all; the first of equals counts. */
static void note_worst(struct outcome *outcome, double error, uint64_t row, uint64_t column,
                       double got, double expected)
{
    if (isnan(error))
        error = INFINITY;
    if (error <= outcome->worst)
        return;
    outcome->worst = error;
    outcome->row = row;
    outcome->column = column;
    outcome->got = got;
    outcome->expected = expected;
}

/* Sums over one column of C in one row: the product as stored and exact, and their bounds. */
struct sums {
    double stored, exact, magnitude, rounding;
};

static struct sums sums_of(const double *a, const double *a_exact, const double *b,
                           const double *b_exact, uint64_t k)
{
    double stored = 0.0, exact = 0.0, magnitude = 0.0, rounding = 0.0;

#pragma omp simd reduction(+ : stored, exact, magnitude, rounding)
    for (uint64_t p = 0; p < k; p++) {
        stored += a[p] * b[p];
        exact += a_exact[p] * b_exact[p];
        magnitude += fabs(a[p] * b[p]);
        rounding += fabs((a[p] - a_exact[p]) * b_exact[p]) + fabs(a[p] * (b[p] - b_exact[p]));
    }
    return (struct sums){stored, exact, magnitude, rounding};
}

static struct outcome compare_column(const struct task *task, uint64_t j, const double *b,
                                     const double *b_exact)
{
    const uint64_t n = task->check->n, k = task->check->k, groups = task->check->groups;
    const uint64_t group = j / (n / groups) * k;
    const struct bounds *bounds = &task->bounds;
    struct outcome outcome = {.worst = -1.0};

    for (uint64_t i = 0; i < task->row_count; i++) {
        const uint64_t at = i * groups * k + group;
        const struct sums sums = sums_of(task->stored + at, task->exact + at, b, b_exact, k);
        const double got = task->got[i * n + j];
        /* The reference rounds, too: scaled operands, products and sums. */
        const double own = (double)(k + 8) * 0x1p-53 * sums.magnitude;
        const double bound = own + (bounds->sum + bounds->operands) * sums.magnitude +
                             bounds->result * fabs(sums.stored) * (1.0 + bounds->sum) +
                             bounds->underflow;
        const double error = fabs(got - sums.stored);
        const double total = bound + sums.rounding;

        note_worst(&outcome, error == 0.0 ? 0.0 : error / bound, task->rows[i], j, got,
                   sums.stored);
        outcome.error2 += (got - sums.exact) * (got - sums.exact);
        outcome.norm2 += sums.exact * sums.exact;
        outcome.bound2 += total * total;
    }
    return outcome;
}

static enum status compare(const struct task *task, struct error *err)
{
    const struct product_check *check = task->check;
    const uint64_t n = check->n, k = check->k;
    bool failed = false;

#pragma omp parallel
    {
        double *b = malloc(2 * k * sizeof(*b));

        if (!b) {
#pragma omp atomic write
            failed = true;
        }
#pragma omp for schedule(dynamic, 8)
        for (uint64_t j = 0; j < n; j++) {
            if (!b)
                continue;
            check->column(check, j, b + k);
            for (uint64_t p = 0; p < k; p++)
                b[p] = matmul_stored(&check->data, b[k + p]);
            task->columns[j] = compare_column(task, j, b, b + k);
        }
        free(b);
    }
    return failed ? error_set(err, STATUS_NO_MEMORY, "checking a product: out of memory")
                  : STATUS_OK;
}

/* In order, so that the same C always gives the same error. */
static struct outcome fold(const struct task *task)
{
    struct outcome all = {.worst = -1.0};

    for (uint64_t j = 0; j < task->check->n; j++) {
        const struct outcome *column = &task->columns[j];

        note_worst(&all, column->worst, column->row, column->column, column->got, column->expected);
        all.error2 += column->error2;
        all.norm2 += column->norm2;
        all.bound2 += column->bound2;
    }
    return all;
}

/* JSON has no infinity and no NaN. */
static double reportable(double error)
{
    return isnan(error) ? DBL_MAX : fmin(error, DBL_MAX);
}

static enum status conclude(const struct task *task, workload_check_fn *report, void *context,
                            struct error *err)
{
    const struct outcome all = fold(task);
    const enum precision precision = task->check->precision;
    const double norm = all.norm2 > 0.0 ? all.norm2 : 1.0;
    const struct workload_check stored = {
        .output = task->check->output,
        .error = reportable(all.worst),
        .tolerance = 1.0,
        .metric = "max_of_bound",
        .reason = precision == PRECISION_INT8
                      ? "sums of integers are exact"
                      : "bound of a sum of k products in any order, and of rounding it to C",
        .compared = task->row_count * task->check->n,
        .passed = all.worst <= 1.0,
    };
    const struct workload_check exact = {
        .output = task->check->output_exact,
        .error = reportable(sqrt(all.error2 / norm)),
        .tolerance = reportable(sqrt(all.bound2 / norm)),
        .metric = "normalised_rms",
        .reason = "what rounding these operands to their type can change, and the bound above",
        .compared = stored.compared,
        .passed = all.error2 <= all.bound2,
    };

    if (report) {
        report(context, &stored);
        report(context, &exact);
    }
    if (!stored.passed)
        return error_set(err, STATUS_CHECK_FAILED,
                         "%s in %s: output %s[%llu, %llu]: got %.9g%s, expected %.9g: the error "
                         "is %.3g times its bound (%s)",
                         task->check->subject, precision_name(precision), stored.output,
                         (unsigned long long)all.row, (unsigned long long)all.column, all.got,
                         isnan(all.got) ? " (never written?)" : "", all.expected, all.worst,
                         stored.reason);
    if (!exact.passed)
        return error_set(err, STATUS_CHECK_FAILED,
                         "%s in %s: output %s: error %.3g against unrounded operands, "
                         "tolerance %.3g (%s)",
                         task->check->subject, precision_name(precision), exact.output, exact.error,
                         exact.tolerance, exact.reason);
    return STATUS_OK;
}

static enum status check_one(const struct product_check *check, workload_check_fn *report,
                             void *context, struct error *err)
{
    const uint64_t width = check->groups * check->k;
    struct task task = {.check = check};
    enum status status;

    task.bounds = bounds_of(&task);
    task.rows = calloc(check->m, sizeof(*task.rows));
    if (task.rows)
        choose_rows(&task);
    task.stored = calloc(task.row_count * width, sizeof(double));
    task.exact = calloc(task.row_count * width, sizeof(double));
    task.got = calloc(task.row_count * check->n, sizeof(double));
    task.columns = calloc(check->n, sizeof(*task.columns));
    if (!task.rows || !task.stored || !task.exact || !task.got || !task.columns)
        status = error_set(err, STATUS_NO_MEMORY, "checking a product: out of memory");
    else
        status = fetch(&task, err);
    if (status == STATUS_OK)
        status = compare(&task, err);
    if (status == STATUS_OK)
        status = conclude(&task, report, context, err);
    free(task.rows);
    free(task.stored);
    free(task.exact);
    free(task.got);
    free(task.columns);
    return status;
}

enum status product_checks_run(const struct product_check *checks, size_t count,
                               workload_check_fn *report, void *context, struct error *err)
{
    struct error first = ERROR_INIT;
    enum status status = STATUS_OK;

    for (size_t i = 0; i < count; i++) {
        struct error mine = ERROR_INIT;

        status = check_one(&checks[i], report, context, &mine);
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
        status = matmul_poison(checks[i].c, err);
    return status;
}

enum status product_outputs_verify(const struct product_outputs *outputs, workload_check_fn *report,
                                   void *context, struct error *err)
{
    struct product_check *checks = NULL;
    enum status status = STATUS_OK;

    if (*outputs->unchecked == 0)
        status = outputs->iterate(outputs->base, err);
    if (status == STATUS_OK)
        status = device_synchronize(outputs->base->device, err);
    if (status != STATUS_OK)
        return status;
    checks = calloc(outputs->count, sizeof(*checks));
    if (!checks)
        return error_set(err, STATUS_NO_MEMORY, "checking a product: out of memory");
    for (size_t i = 0; i < outputs->count; i++)
        checks[i] = outputs->check_of(outputs->base, i);
    status = product_checks_run(checks, outputs->count, report, context, err);
    free(checks);
    if (status == STATUS_OK)
        *outputs->unchecked = 0;
    return status;
}

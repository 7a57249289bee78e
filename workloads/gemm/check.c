/*
 * Two questions about C, each element by element over the rows that are checked:
 *
 * 1. Is it the product of the operands as they are stored? Error in units of its bound, the lesser
 *    of two for the sum, and u_C |c| + underflow for rounding it to C. i8 has no error at all.
 *    - Whatever the data and the order: (k + 1) u sum |a b| (Higham, "Accuracy and Stability of
 *      Numerical Algorithms", 2nd ed., equation 3.5). It grows as k^2, and from some k on would let
 *      a narrower precision pass, or zeros.
 *    - For this data: operands are symmetric about 0 and independent, so partial sums s are random
 *      walks of length |ab| = sqrt(sum (a b)^2), and errors of rounding to nearest are independent
 *      of sign (Higham and Mary, "A new approach to probabilistic rounding error analysis", 2019):
 *      sum d s with |d| <= u. For a walk, sum s^2 > x k |ab|^2 has a probability of about
 *      exp(-pi^2 x / 8) (Cameron and Martin), sum d s given s one of exp(-t^2 / 2): together
 *      12 u sqrt(k + 1) |ab| is exceeded with less than 1e-8, were every |d| as large as u.
 *      Units that truncate always err to one side: 4 u |ab| a step more, since the mean of |s|
 *      exceeds 4 |ab| with less than 1e-8, too.
 * 2. How far is it from the product of the operands before they were rounded? That is what the
 *    precision costs. The bound is the first, and how far rounding these very operands moved it.
 *
 * u by precision: fp64 2^-53, fp32 2^-24. Matrix units may truncate where they align and add (Fasi
 * et al., "Numerical behavior of NVIDIA tensor cores", 2021): 2^-23 for bf16, fp16 and tf32. Of
 * tf32's operands they keep 10 bits, perhaps cut off: 2^-10 each, half of which on the average, the
 * same for all and so in proportion to c; the rest, uniform, has the sign of its term: the sum of
 * two has a standard deviation of 2^-10 / sqrt(6), six of which are exceeded with 3e-8. Those of
 * fp8 keep as few as 14 bits of a sum of 32 products (DeepSeek-V3 technical report, 2024,
 * section 3.3.2): 2^-13, a step for 32 products. Our own text computes all of them in
 * true fp32, and is checked against that.
 */
#include "workloads/gemm/check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "workloads/gemm/element.h"

#define WORK_MAX ((uint64_t)1 << 27) /* products of the reference, for one shape */
#define ROWS_MIN 4
#define ROW_STREAM 0x726f7773 /* "rows" */

#define WALK 12.0     /* of errors of either sign over a random walk, see above */
#define WALK_MEAN 4.0 /* of the walk's own size */
#define CUT 2.45      /* 6 / sqrt(6): of what is cut off, about its mean */

struct bounds {
    double any;       /* of the sums, in sum |a b| */
    double chance;    /* of the sums, in |ab| */
    double operands;  /* cut off from each operand by the unit, of its size */
    double result;    /* of C, in |c| */
    double underflow; /* of C */
};

/* Of one column of C, or of all: the worst element, and sums of squares against exact operands. */
struct outcome {
    double worst; /* error in units of its bound */
    uint64_t row, column;
    double got, expected;
    double zeros; /* the worst error that zeros would have, in units of its bound */
    double error2, norm2, bound2;
};

/* What is checked of one product. */
struct task {
    const struct gemm_check *check;
    struct bounds bounds;
    uint64_t *rows;
    uint64_t row_count;
    double *stored, *exact;  /* of A: row_count * groups * k */
    double *got;             /* row_count * n, in units of exact operands */
    struct outcome *columns; /* n */
};

/* Sums in `steps` steps that truncate, of k products, each with a rounding of either sign. */
static void bound_truncating(struct bounds *bounds, double u, double steps, double k)
{
    bounds->any = (k + 1.0) * u;
    bounds->chance = u * (WALK_MEAN * steps + WALK * sqrt(k + 1.0));
}

static void bound_nearest(struct bounds *bounds, double u, double k)
{
    bounds->any = (k + 1.0) * u;
    bounds->chance = u * WALK * sqrt(k + 1.0);
}

static struct bounds bounds_of(const struct task *task)
{
    enum precision precision = task->check->precision;
    const double k = (double)task->check->k;
    struct bounds bounds = {
        .result = element_unit_roundoff(task->check->result_type),
        .underflow = element_underflow(task->check->result_type),
    };

    if (task->check->implementation == IMPLEMENTATION_PORTABLE &&
        gemm_sum_type(precision) == DTYPE_F32)
        precision = PRECISION_FP32;
    switch (precision) {
    case PRECISION_INT8:
        break;
    case PRECISION_FP64:
        bound_nearest(&bounds, 0x1p-53, k);
        break;
    case PRECISION_FP32:
        bound_nearest(&bounds, 0x1p-24, k);
        break;
    case PRECISION_FP8_E4M3:
    case PRECISION_FP8_E5M2:
        bound_truncating(&bounds, 0x1p-13, k / 32.0 + 1.0, k);
        break;
    case PRECISION_TF32:
        bounds.operands = 0x1p-10;
        bound_truncating(&bounds, 0x1p-23, k + 1.0, k);
        break;
    default:
        bound_truncating(&bounds, 0x1p-23, k + 1.0, k);
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
    const struct gemm_check *check = task->check;
    const enum dtype type = check->result_type;
    const uint64_t n = check->n, width = check->groups * check->k, bytes = n * dtype_bits(type) / 8;
    const double scale = gemm_scale(&check->data), unit = scale * scale;
    void *row = malloc(bytes);
    enum status status = STATUS_OK;

    if (!row)
        return error_set(err, STATUS_NO_MEMORY, "checking a GEMM: out of memory");
    for (uint64_t i = 0; i < task->row_count && status == STATUS_OK; i++) {
        double *exact = task->exact + i * width, *stored = task->stored + i * width;

        status = device_download(check->c, task->rows[i] * bytes, row, bytes, err);
        for (uint64_t j = 0; j < n && status == STATUS_OK; j++)
            task->got[i * n + j] = element_decode(type, row, j) * unit;
        if (status == STATUS_OK)
            check->row(check, task->rows[i], exact);
        for (uint64_t p = 0; p < width && status == STATUS_OK; p++)
            stored[p] = gemm_stored(&check->data, exact[p]);
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

/* Sums over one column of C in one row: the product as stored and exact, and its terms' sizes. */
struct sums {
    double stored, exact, magnitude, root;
};

static struct sums sums_of(const double *a, const double *a_exact, const double *b,
                           const double *b_exact, uint64_t k)
{
    double stored = 0.0, exact = 0.0, magnitude = 0.0, squares = 0.0;

#pragma omp simd reduction(+ : stored, exact, magnitude, squares)
    for (uint64_t p = 0; p < k; p++) {
        const double term = a[p] * b[p];

        stored += term;
        exact += a_exact[p] * b_exact[p];
        magnitude += fabs(term);
        squares += term * term;
    }
    return (struct sums){stored, exact, magnitude, sqrt(squares)};
}

static double bound_of(const struct bounds *bounds, const struct sums *sums, uint64_t k)
{
    const double size = fabs(sums->stored);
    /* The reference rounds, too: scaled operands, products and sums. */
    const double steps = (double)(k + 8);
    const double own = 0x1p-53 * fmin(steps * sums->magnitude, WALK * sqrt(steps) * sums->root);
    const double sum = fmin(bounds->any * sums->magnitude, bounds->chance * sums->root);
    const double cut = bounds->operands *
                       fmin((2.0 + bounds->operands) * sums->magnitude, size + CUT * sums->root);

    return own + sum + cut + bounds->result * (size + sum + cut) + bounds->underflow;
}

static struct outcome compare_column(const struct task *task, uint64_t j, const double *b,
                                     const double *b_exact)
{
    const uint64_t n = task->check->n, k = task->check->k, groups = task->check->groups;
    const uint64_t group = j / (n / groups) * k;
    struct outcome outcome = {.worst = -1.0};

    for (uint64_t i = 0; i < task->row_count; i++) {
        const uint64_t at = i * groups * k + group;
        const struct sums sums = sums_of(task->stored + at, task->exact + at, b, b_exact, k);
        const double got = task->got[i * n + j];
        const double bound = bound_of(&task->bounds, &sums, k);
        const double error = fabs(got - sums.stored);
        const double total = bound + fabs(sums.stored - sums.exact);

        note_worst(&outcome, error == 0.0 ? 0.0 : error / bound, task->rows[i], j, got,
                   sums.stored);
        if (sums.stored != 0.0)
            outcome.zeros = fmax(outcome.zeros, fabs(sums.stored) / bound);
        outcome.error2 += (got - sums.exact) * (got - sums.exact);
        outcome.norm2 += sums.exact * sums.exact;
        outcome.bound2 += total * total;
    }
    return outcome;
}

static enum status compare(const struct task *task, struct error *err)
{
    const struct gemm_check *check = task->check;
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
                b[p] = gemm_stored(&check->data, b[k + p]);
            task->columns[j] = compare_column(task, j, b, b + k);
        }
        free(b);
    }
    return failed ? error_set(err, STATUS_NO_MEMORY, "checking a GEMM: out of memory") : STATUS_OK;
}

/* In order, so that the same C always gives the same error. */
static struct outcome fold(const struct task *task)
{
    struct outcome all = {.worst = -1.0};

    for (uint64_t j = 0; j < task->check->n; j++) {
        const struct outcome *column = &task->columns[j];

        note_worst(&all, column->worst, column->row, column->column, column->got, column->expected);
        all.zeros = fmax(all.zeros, column->zeros);
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

double gemm_tolerance(const struct workload_case *work, const char *output, const char *metric)
{
    (void)work;
    (void)output;
    return !strcmp(metric, "max_of_bound") || !strcmp(metric, "normalised_rms") ? 1.0 : -1.0;
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
                      : "bound of a sum of k products of random sign in any order, and of rounding "
                        "it to C",
        .compared = task->row_count * task->check->n,
        .passed = all.worst <= 1.0,
    };
    const struct workload_check exact = {
        .output = task->check->output_exact,
        .error = reportable(sqrt(all.error2 / norm)),
        .tolerance = reportable(sqrt(all.bound2 / norm)),
        .metric = "normalised_rms",
        .reason = "how far rounding these operands to their type moved it, and the bound above",
        .compared = stored.compared,
        .passed = all.error2 <= all.bound2,
    };

    if (all.zeros > 0.0 && all.zeros <= 1.0)
        return error_set(err, STATUS_CHECK_FAILED,
                         "%s in %s: output %s: sums of %llu products may be off by as much as they "
                         "are large, so that zeros would pass: declare shorter sums",
                         task->check->subject, precision_name(precision), stored.output,
                         (unsigned long long)task->check->k);
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

static enum status check_one(const struct gemm_check *check, workload_check_fn *report,
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
        status = error_set(err, STATUS_NO_MEMORY, "checking a GEMM: out of memory");
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

enum status gemm_checks_run(const struct gemm_check *checks, size_t count,
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
        status = gemm_poison(checks[i].c, err);
    return status;
}

enum status gemm_outputs_verify(const struct gemm_outputs *outputs, workload_check_fn *report,
                                void *context, struct error *err)
{
    struct gemm_check *checks = NULL;
    enum status status = STATUS_OK;

    if (*outputs->unchecked == 0)
        status = outputs->iterate(outputs->base, err);
    if (status == STATUS_OK)
        status = device_synchronize(outputs->base->device, err);
    if (status != STATUS_OK)
        return status;
    checks = calloc(outputs->count, sizeof(*checks));
    if (!checks)
        return error_set(err, STATUS_NO_MEMORY, "checking a GEMM: out of memory");
    for (size_t i = 0; i < outputs->count; i++)
        checks[i] = outputs->check_of(outputs->base, i);
    status = gemm_checks_run(checks, outputs->count, report, context, err);
    free(checks);
    if (status == STATUS_OK)
        *outputs->unchecked = 0;
    return status;
}

/*
 * Checks of products. Two questions about C, each element by element over the rows that are
 * checked:
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
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/random.h"
#include "workloads/data/element.h"
#include "workloads/gemm/products.h"
#include "workloads/storage.h"

#define WALK 12.0     /* of errors of either sign over a random walk, see above */
#define WALK_MEAN 4.0 /* of the walk's own size */
#define CUT 2.45      /* 6 / sqrt(6): of what is cut off, about its mean */

/* Elements of B that the reference makes of a sample whose inputs were changed: too few to wake
 * other threads for. */
#define CHANGED_WORK ((uint64_t)1 << 13)

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
struct product_comparison {
    struct product_check check;
    struct bounds bounds;
    uint64_t *rows, *columns; /* their numbers, ascending */
    uint64_t row_count, column_count;
    double *stored, *exact;   /* of A: row_count * groups * k */
    double *got;              /* row_count * column_count, in units of exact operands */
    struct outcome *outcomes; /* of each column */
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

static struct bounds bounds_of(const struct product_comparison *task)
{
    const struct products *products = task->check.products;
    enum precision precision = products->base.work.precision;
    const double k = (double)task->check.product->k;
    struct bounds bounds = {
        .result = element_unit_roundoff(products->result_type),
        .underflow = element_underflow(products->result_type),
    };

    if (products->base.work.implementation == IMPLEMENTATION_PORTABLE &&
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

/* One number out of each of `count` stripes of 0 .. total - 1; heap, NULL: no memory. */
static uint64_t *draw(uint64_t total, uint64_t count, uint64_t seed, uint64_t stream)
{
    uint64_t *numbers = calloc(count, sizeof(*numbers));

    for (uint64_t i = 0; i < count && numbers; i++) {
        const uint64_t begin = total * i / count, end = total * (i + 1) / count;

        numbers[i] = begin + random_at(seed, stream, i) % (end - begin);
    }
    return numbers;
}

/* How many of `each` make `work`, at least `least` and, above all, at most `most`. */
static uint64_t share(uint64_t work, uint64_t each, uint64_t least, uint64_t most)
{
    const uint64_t count = work / (each ? each : 1) > least ? work / (each ? each : 1) : least;

    return count < most ? count : most;
}

/* What the chosen rows and columns need, which become its own (NULL: NO_MEMORY). */
static enum status comparison_prepare(struct product_comparison *task, struct error *err)
{
    const struct product *product = task->check.product;
    const uint64_t elements = task->row_count * product->groups * product->k;

    task->bounds = bounds_of(task);
    task->stored = calloc(elements, sizeof(double));
    task->exact = calloc(elements, sizeof(double));
    task->got = calloc(task->row_count * task->column_count, sizeof(double));
    task->outcomes = calloc(task->column_count, sizeof(*task->outcomes));
    if (!task->rows || !task->columns || !task->stored || !task->exact || !task->got ||
        !task->outcomes)
        return error_no_memory(err);
    return STATUS_OK;
}

static void comparison_finish(struct product_comparison *task)
{
    free(task->rows);
    free(task->columns);
    free(task->stored);
    free(task->exact);
    free(task->got);
    free(task->outcomes);
}

static enum status fetch(struct product_comparison *task, struct error *err)
{
    const struct product_check *check = &task->check;
    const struct product *product = check->product;
    const enum dtype type = check->products->result_type;
    const uint64_t count = task->column_count, width = product->groups * product->k;
    const uint64_t bytes = product->n * dtype_bits(type) / 8;
    const double scale = gemm_scale(&check->a), unit = scale * scale;
    AUTO_FREE void *row = malloc(bytes);

    if (!row)
        return error_no_memory(err);
    for (uint64_t i = 0; i < task->row_count; i++) {
        double *exact = task->exact + i * width, *stored = task->stored + i * width;

        if (check->c_host)
            memcpy(row, check->c_host + task->rows[i] * bytes, bytes);
        else
            TRY(device_download(product->arrays[GEMM_C].buffer, task->rows[i] * bytes, row, bytes,
                                err));
        for (uint64_t j = 0; j < count; j++)
            task->got[i * count + j] = element_decode(type, row, task->columns[j]) * unit;
        check->products->family->row(check, task->rows[i], exact);
        for (uint64_t p = 0; p < width; p++)
            stored[p] = gemm_stored(&check->a, exact[p]);
    }
    return STATUS_OK;
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

static struct outcome compare_column(const struct product_comparison *task, uint64_t index,
                                     const double *b, const double *b_exact)
{
    const struct product *product = task->check.product;
    const uint64_t k = product->k, groups = product->groups, j = task->columns[index];
    const uint64_t group = j / (product->n / groups) * k;
    struct outcome outcome = {.worst = -1.0};

    for (uint64_t i = 0; i < task->row_count; i++) {
        const uint64_t at = i * groups * k + group;
        const struct sums sums = sums_of(task->stored + at, task->exact + at, b, b_exact, k);
        const double got = task->got[i * task->column_count + index];
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

static enum status compare(const struct product_comparison *task, struct error *err)
{
    const struct product_check *check = &task->check;
    const uint64_t k = check->product->k;
    bool failed = false;

#pragma omp parallel if (task->column_count * k > CHANGED_WORK)
    {
        double *b = malloc(2 * k * sizeof(*b));

        if (!b) {
#pragma omp atomic write
            failed = true;
        }
#pragma omp for schedule(dynamic, 8)
        for (uint64_t i = 0; i < task->column_count; i++) {
            if (!b)
                continue;
            check->products->family->column(check, task->columns[i], b + k);
            for (uint64_t p = 0; p < k; p++)
                b[p] = gemm_stored(&check->b, b[k + p]);
            task->outcomes[i] = compare_column(task, i, b, b + k);
        }
        free(b);
    }
    return failed ? error_no_memory(err) : STATUS_OK;
}

/* In order, so that the same C always gives the same error. */
static struct outcome fold(const struct product_comparison *task)
{
    struct outcome all = {.worst = -1.0};

    for (uint64_t i = 0; i < task->column_count; i++) {
        const struct outcome *column = &task->outcomes[i];

        note_worst(&all, column->worst, column->row, column->column, column->got, column->expected);
        all.zeros = fmax(all.zeros, column->zeros);
        all.error2 += column->error2;
        all.norm2 += column->norm2;
        all.bound2 += column->bound2;
    }
    return all;
}

/* Over all chosen elements as they are now. */
static enum status comparison_run(struct product_comparison *task, struct outcome *ret,
                                  struct error *err)
{
    TRY(fetch(task, err));
    TRY(compare(task, err));
    *ret = fold(task);
    return STATUS_OK;
}

/* JSON has no infinity and no NaN: the largest number for both. */
static double reportable(double error)
{
    return isnan(error) ? DBL_MAX : fmin(error, DBL_MAX);
}

/* The answer to the first question; its text is borrowed. */
static struct workload_check answer_of(const struct product_comparison *task,
                                       const struct outcome *all)
{
    return (struct workload_check){
        .output = task->check.product->arrays[GEMM_C].tensor.name,
        .error = reportable(all->worst),
        .tolerance = 1.0,
        .metric = "max_of_bound",
        .reason = task->check.products->base.work.precision == PRECISION_INT8
                      ? "sums of integers are exact"
                      : "bound of a sum of k products of random sign in any order, and of rounding "
                        "it to C",
        .compared = task->row_count * task->column_count,
        .passed = all->worst <= 1.0,
    };
}

/* Reports the answer; fails, naming the worst element, where it is not `passed`. */
static void judge(const struct product_comparison *task, const struct outcome *all,
                  struct check_sink *sink)
{
    const struct workload_instance *base = &task->check.products->base;
    const struct workload_check answer = answer_of(task, all);

    check_sink_put(sink, &answer);
    if (!answer.passed)
        check_sink_fail(sink,
                        "%s in %s: output %s[%llu, %llu]: got %.9g%s, expected %.9g: the error is "
                        "%.3g times its bound (%s)",
                        base->kind->name, precision_name(base->work.precision), answer.output,
                        (unsigned long long)all->row, (unsigned long long)all->column, all->got,
                        isnan(all->got) ? " (never written?)" : "", all->expected, all->worst,
                        answer.reason);
}

/* ---- before the warmup and after the window: many rows ---- */

#define WORK_MAX ((uint64_t)1 << 27) /* products of the reference, for one shape */
#define ROWS_MIN 4
#define ROW_STREAM 0x726f7773 /* "rows" */

static double tolerance(const struct workload_case *work, const char *output, const char *metric)
{
    (void)work;
    (void)output;
    return !strcmp(metric, "max_of_bound") || !strcmp(metric, "normalised_rms") ? 1.0
                                                                                : WORKLOAD_NO_CHECK;
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
static void choose(struct product_comparison *task)
{
    const struct product *product = task->check.product;

    task->row_count = share(WORK_MAX, product->n * product->k, ROWS_MIN, product->m);
    task->rows = draw(product->m, task->row_count, task->check.a.seed, ROW_STREAM);
    if (task->rows)
        task->rows[task->row_count - 1] = product->m - 1;
    task->column_count = product->n;
    task->columns = draw(product->n, product->n, 0, 0);
}

static void conclude(const struct product_comparison *task, const struct outcome *all,
                     struct check_sink *sink)
{
    const struct products *products = task->check.products;
    const char *subject = products->base.kind->name,
               *precision = precision_name(products->base.work.precision);
    const double norm = all->norm2 > 0.0 ? all->norm2 : 1.0;
    const struct workload_check stored = answer_of(task, all);
    char name[TENSOR_NAME_MAX + sizeof(".unrounded")];
    const struct workload_check exact = {
        .output = name,
        .error = reportable(sqrt(all->error2 / norm)),
        .tolerance = reportable(sqrt(all->bound2 / norm)),
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
    judge(task, all, sink);
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
    CLEANUP(comparison_finish) struct product_comparison task = {.check = *check};
    struct outcome all;

    choose(&task);
    TRY(comparison_prepare(&task, err));
    TRY(comparison_run(&task, &all, err));
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
 * The first question, asked of a few elements at places drawn by a secret, with other
 * rows of A for one iteration: what is right then can be in no earlier result. B stays, since
 * libraries keep what they made of it.
 */
#define SPOT_WORK ((uint64_t)1 << 18) /* elements of B that the reference makes, in all */
#define SPOT_ROWS 4
/* Streams of a secret: the seed of other rows of A, then two for each product. */
enum spot_stream { SPOT_SEED, SPOT_ROW, SPOT_COLUMN, SPOT_STREAMS = 2 };

struct spots {
    struct product_comparison *tasks; /* one a product */
    size_t count;
};

static void spots_finish(struct spots *spots)
{
    for (size_t i = 0; i < spots->count && spots->tasks; i++)
        comparison_finish(&spots->tasks[i]);
    free(spots->tasks);
}

/* A few of both, drawn by the secret, of product `index`; B's part is `work` elements. */
static void choose_spots(struct product_comparison *task, uint64_t work, uint64_t secret,
                         uint64_t index)
{
    const struct product *product = task->check.product;
    const uint64_t most = product->m < SPOT_ROWS ? product->m : SPOT_ROWS;

    task->row_count = share(work, product->groups * product->k, 1, most);
    task->rows = draw(product->m, task->row_count, secret, SPOT_STREAMS * index + SPOT_ROW);
    task->column_count = share(work, product->k, 1, product->n);
    task->columns =
        draw(product->n, task->column_count, secret, SPOT_STREAMS * index + SPOT_COLUMN);
}

/* Other rows of A in place of those drawn. */
static enum status change_rows(const struct product_comparison *task, struct error *err)
{
    for (uint64_t i = 0; i < task->row_count; i++)
        TRY(task->check.products->family->upload_row(&task->check, task->rows[i], err));
    return STATUS_OK;
}

/* The same, and NaN in what they give. */
static enum status disturb(const struct product_comparison *task, struct error *err)
{
    const struct product *product = task->check.product;

    TRY(change_rows(task, err));
    for (uint64_t i = 0; i < task->row_count; i++)
        TRY(storage_poison(product->arrays[GEMM_C].buffer, task->check.products->result_type,
                           task->rows[i] * product->n, product->n, err));
    return STATUS_OK;
}

static enum status restore(const struct product_comparison *task, struct error *err)
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
    const struct product *last;
    CLEANUP(spots_finish)
    struct spots spots = {calloc(count, sizeof(*spots.tasks)), count};

    if (!spots.tasks)
        return error_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        spots.tasks[i].check = product_check_of(products, i, &secret);
        choose_spots(&spots.tasks[i], SPOT_WORK / count, secret, i);
        TRY(comparison_prepare(&spots.tasks[i], err));
    }
    for (size_t i = 0; i < count; i++)
        TRY(disturb(&spots.tasks[i], err));
    last = &products->items[count - 1];
    TRY(check_iterate_timed(base, last->arrays[GEMM_C].buffer, 0, err));
    for (size_t i = 0; i < count; i++) {
        struct outcome all;

        TRY(comparison_run(&spots.tasks[i], &all, err));
        judge(&spots.tasks[i], &all, sink);
    }
    for (size_t i = 0; i < count; i++)
        TRY(restore(&spots.tasks[i], err));
    return check_iterate(base, err);
}

/* ---- samples of changed inputs ---- */

/* A row of A of one product, which the secret draws, and some columns of B. */
static enum status choose_changed(const struct products *products, uint64_t secret,
                                  struct product_comparison *ret, struct error *err)
{
    const uint64_t index = random_at(secret, SPOT_STREAMS * products->count + 1, 0);
    const size_t item = (size_t)(index % products->count);

    ret->check = product_check_of(products, item, &secret);
    choose_spots(ret, CHANGED_WORK, secret, item);
    if (ret->rows)
        ret->rows[0] = ret->rows[index / products->count % ret->row_count];
    ret->row_count = 1;
    return comparison_prepare(ret, err);
}

static enum status change(struct workload_instance *base, uint64_t secret, bool *ret_changed,
                          struct error *err)
{
    CLEANUP(comparison_finish) struct product_comparison task = {0};

    TRY(choose_changed((const struct products *)base, secret, &task, err));
    *ret_changed = true;
    return change_rows(&task, err);
}

static enum status check_changed(struct workload_instance *base, uint64_t secret,
                                 struct check_sink *sink, struct error *err)
{
    CLEANUP(comparison_finish) struct product_comparison task = {0};
    struct outcome all;

    TRY(choose_changed((const struct products *)base, secret, &task, err));
    TRY(comparison_run(&task, &all, err));
    judge(&task, &all, sink);
    return restore(&task, err);
}

const struct workload_checks products_checks = {
    .verify = verify,
    .spot_check = spot_check,
    .change = change,
    .check_changed = check_changed,
    .tolerance = tolerance,
    .resume = products_resume,
};

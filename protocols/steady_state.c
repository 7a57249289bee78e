#include "protocols/steady_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/trend.h"
#include "protocols/stats/autocovariance.h"
#include "protocols/stats/autoregression.h"
#include "protocols/stats/clock_step.h"
#include "protocols/stats/hampel.h"
#include "protocols/stats/order.h"
#include "protocols/stats/step_scan.h"

#define BLOCKS_MAX 512
/* Samples about a change point that its place is sought in. */
#define REFINE_MAX 8192
/* Deviations within so many clock ticks are never called impulses. */
#define TICKS_NEAR 3.0
/* Robust standard deviations that a sample at the very start must be off to be a slow start. */
#define START_DISTANCE 6.0
/* A run at the start as long as this is left to the descriptions of the trend. */
#define START_MOST 20
/* A start is explained by impulses when they make up more than this share of the rest. */
#define START_IMPULSES 0.005
/* Steady state must hold for this last part of the series at least (Barrett et al.: 500 of 2000).
 */
#define STEADY_SHARE 0.25
/* A ramp that ends in this last part of the series is a drift. */
#define RAMP_TO_END 0.95
/* What is seen in the samples need not be seen as clearly in their ranks. */
#define CAUTION_BY_RANK 0.7
/* Of so many impulses, in a share of the samples, some windows have a majority. */
#define MANY_IMPULSES 0.02
/* Fewest blocks that descriptions are compared on. */
#define TREND_LEAST 16
/* Means at least that a random walk is looked for in once more. */
#define COARSE 64

struct view {
    double *log_ns;  /* count */
    double *clipped; /* count */
    double *blocks;  /* at most BLOCKS_MAX */
    double *work;    /* (1 + AUTOREGRESSION_WORK) REFINE_MAX */
    size_t count, first;
    bool has_many_impulses;
    double quantum;      /* step of the clock at the median, as a log */
    double low_quantum;  /* the same where the lower of two levels would be */
    double sure_quantum; /* there, of the step that is no coincidence of few values */
};

/* The rank that a lower level has, however small its share. */
#define LOW_SHARE 0.05

/* Length of the run at the start that lies far off on one side; 0 when impulses explain it. */
static size_t slow_start(const struct view *view, double *work, double tolerance, double *ret_level)
{
    size_t n = view->count, most = n / 10, run = 0, others = 0, i;
    const double *x = view->log_ns;
    double median, scale;
    int side;

    most = most > START_MOST ? START_MOST : most < 2 ? 2 : most;
    memcpy(work, x, n * sizeof(*work));
    median = order_select(work, n, n / 2);
    for (i = 0; i < n; i++)
        work[i] = fabs(x[i] - median);
    scale = START_DISTANCE * MAD_TO_SD * order_select(work, n, n / 2) + tolerance;
    side = x[0] > median ? 1 : -1;
    while (run < most && side * (x[run] - median) > scale)
        run++;
    if (run == 0 || run == most)
        return 0;
    for (i = run; i < n; i++)
        others += side * (x[i] - median) > scale;
    if (others > 0 && ((double)others + 0.5) / (double)n >= START_IMPULSES)
        return 0;
    *ret_level = x[0] - median;
    return run;
}

/* Means of the series from `from` on, at most BLOCKS_MAX of `ret_factor` samples each. */
static size_t make_blocks(const double *series, size_t count, size_t from, double *ret,
                          size_t *ret_factor)
{
    size_t length = count - from, factor = (length + BLOCKS_MAX - 1) / BLOCKS_MAX, b, i;
    size_t blocks = length / factor;
    /* The remainder is left out at the start: what counts most is the end. */
    const double *x = series + from + length % factor;

    for (b = 0; b < blocks; b++) {
        double sum = 0;

        for (i = 0; i < factor; i++)
            sum += x[b * factor + i];
        ret[b] = sum / (double)factor;
    }
    *ret_factor = factor;
    return blocks;
}

/* Of a block's mean when samples are rounded to the clock's ticks. */
static double rounding_variance(const struct view *view, size_t factor)
{
    return view->quantum * view->quantum / (12 * (double)factor);
}

/*
 * Places a change found between blocks at a sample: the scan again, on the samples about it, with
 * their own AR. `lo` and `hi` are the changes before and after.
 */
static size_t refine(const struct view *view, size_t lo, size_t hi, size_t guess)
{
    struct autoregression model;
    double *left = view->work, *work = view->work + REFINE_MAX, gain;
    size_t count, at, i;

    if (guess - lo > REFINE_MAX / 2)
        lo = guess - REFINE_MAX / 2;
    if (hi - guess > REFINE_MAX / 2)
        hi = guess + REFINE_MAX / 2;
    count = hi - lo;
    memcpy(left, view->clipped + lo, count * sizeof(*left));
    for (i = 0; i < 2; i++) {
        size_t from = i == 0 ? 0 : guess - lo, to = i == 0 ? guess - lo : count, t;
        double mean = series_mean(view->clipped + lo + from, to - from);

        for (t = from; t < to; t++)
            left[t] -= mean;
    }
    autoregression_fit_burg(left, count, count / 10 < 12 ? count / 10 : 12, log((double)count),
                            work, &model);
    at = step_scan(view->clipped + lo, count, 4, &model, left, &gain);
    return at > 0 ? lo + at : guess;
}

/* Samples of level `i` of the steps that lie from `from` on. */
static double level_samples(const struct trend *trend, size_t i, size_t offset, size_t factor,
                            size_t from, size_t count)
{
    const size_t begin = i > 0 ? offset + trend->change[i - 1] * factor : 0;
    const size_t end = i < trend->change_count ? offset + trend->change[i] * factor : count;

    return end <= from ? 0 : (double)(end - (begin > from ? begin : from));
}

static bool is_last_level(const struct trend *trend, size_t i, double tolerance)
{
    return fabs(trend->level[i] - trend->level[trend->change_count]) <= tolerance;
}

/* What the levels from `early` on that are not the last one make of what counts. */
static void add_disturbance(const struct view *view, const struct trend *trend, size_t early,
                            size_t offset, size_t factor, double tolerance,
                            struct steady_state *ret)
{
    const size_t from = ret->from > view->first ? ret->from : view->first;
    double out = 0, in = 0, sum_out = 0, sum_in = 0;

    for (size_t i = early; i <= trend->change_count; i++) {
        const double samples = level_samples(trend, i, offset, factor, from, view->count);
        const bool is_last = is_last_level(trend, i, tolerance);

        *(is_last ? &in : &out) += samples;
        *(is_last ? &sum_in : &sum_out) += samples * trend->level[i];
    }
    if (!(out > 0))
        return;
    ret->disturbed = out / (in + out);
    ret->disturbance = expm1(sum_out / out - sum_in / in);
}

/*
 * The last level begins where a level within the tolerance of it is first seen. What lies before is
 * a warmup or a slowdown. Levels in between that are not it came and went: a disturbance, which
 * counts as all the rest does.
 */
static void judge_steps(const struct view *view, const struct trend *trend, size_t offset,
                        size_t factor, double tolerance, struct steady_state *ret)
{
    size_t last = trend->change_count, early = 0, lo, hi;
    double worst = 0;

    while (!is_last_level(trend, early, tolerance))
        early++;
    ret->verdict = ESTIMATE_STEADY;
    ret->from = 0;
    if (early > 0) {
        lo = early > 1 ? offset + trend->change[early - 2] * factor : offset;
        hi = early < last ? offset + trend->change[early] * factor : view->count;
        ret->from = offset + trend->change[early - 1] * factor;
        if (factor > 1)
            ret->from = refine(view, lo, hi, ret->from);
        for (size_t i = early; i > 0; i--) {
            const double d = trend->level[i - 1] - trend->level[last];

            worst = fabs(d) > fabs(worst) ? d : worst;
        }
        ret->change = expm1(worst);
        ret->verdict = worst > 0 ? ESTIMATE_WARMUP : ESTIMATE_SLOWDOWN;
    }
    add_disturbance(view, trend, early, offset, factor, tolerance, ret);
}

/* The most that an approach the data allow is above its level: its asymptote, or for a power law
   what it comes to at the end. */
static double worst_excess(const struct trend *trend, double at, double end)
{
    double worst = 0;
    size_t i;

    for (i = 0; i < trend->approach_count; i++) {
        const struct trend_approach *a = &trend->approaches[i];

        worst = fmax(worst, fabs(trend_approach_excess(a, at) -
                                 (a->power > 0 ? trend_approach_excess(a, end) : 0)));
    }
    return worst;
}

/*
 * An approach is over where what is left is within the tolerance and, as an average over the rest,
 * below a fifth of the standard error. Where it never comes to that in time, the rest begins as
 * late as it may, and what is left is said.
 */
static void judge_approach(const struct trend *trend, size_t blocks, size_t offset, size_t factor,
                           size_t count, double tolerance, struct steady_state *ret)
{
    double n = (double)blocks, error = sqrt(trend->long_run_variance / n), left;
    double excess[BLOCKS_MAX], rest = 0; /* of each point; of all from `good` on */
    size_t at = 0, good;

    if (fabs(trend->amplitude) <= tolerance) {
        ret->verdict = ESTIMATE_STEADY;
        return;
    }
    ret->change = expm1(trend->amplitude);
    ret->verdict = trend->amplitude > 0 ? ESTIMATE_WARMUP : ESTIMATE_SLOWDOWN;
    for (good = 0; good < blocks; good++)
        excess[good] = worst_excess(trend, (double)good, n);
    while (at < blocks && excess[at] > tolerance)
        at++;
    if ((double)at > (1 - STEADY_SHARE) * n) {
        ret->verdict = ESTIMATE_DRIFT;
        ret->from = count;
        return;
    }
    for (good = at; good < blocks; good++)
        rest += excess[good];
    for (good = at;; rest -= excess[good++]) {
        left = rest / (n - (double)good);
        if (left <= 0.2 * error ||
            (double)(offset + (good + 1) * factor) > (1 - STEADY_SHARE) * (double)count)
            break;
    }
    ret->remainder = left > 0.2 * error ? expm1(left) : 0;
    ret->from = offset + good * factor;
}

/* A ramp is over at its end; one that ends in the last quarter leaves no steady state. */
static void judge_ramp(const struct trend *trend, size_t blocks, size_t offset, size_t factor,
                       size_t count, double tolerance, struct steady_state *ret)
{
    if (fabs(trend->amplitude) <= tolerance) {
        ret->verdict = ESTIMATE_STEADY;
        return;
    }
    ret->change = expm1(trend->amplitude);
    ret->from = offset + trend->to * factor;
    ret->verdict = trend->amplitude > 0 ? ESTIMATE_WARMUP : ESTIMATE_SLOWDOWN;
    if ((double)trend->to <= (1 - STEADY_SHARE) * (double)blocks)
        return;
    ret->from = count;
    ret->verdict = ESTIMATE_NON_STATIONARY;
    if ((double)trend->to >= RAMP_TO_END * (double)blocks) {
        ret->verdict = ESTIMATE_DRIFT;
        ret->change = expm1(-trend->amplitude);
    }
}

/* Does what is left as steady still move along a line? */
static enum status test_drift(const struct view *view, const struct estimate_options *options,
                              struct steady_state *ret, struct error *err)
{
    struct trend trend;
    enum status status;
    size_t factor, blocks;

    if (view->count - ret->from < TREND_LEAST)
        return STATUS_OK;
    blocks = make_blocks(view->clipped, view->count, ret->from, view->blocks, &factor);
    status = trend_describe(view->blocks, blocks, rounding_variance(view, factor), 1, TREND_LINE,
                            &trend, err);
    if (status)
        return status;
    if (trend.kind == TREND_LINE &&
        fabs(expm1(trend.slope * (double)blocks)) > options->drift_tolerance) {
        ret->verdict = ESTIMATE_DRIFT;
        ret->change = expm1(trend.slope * (double)blocks);
        ret->from = view->count;
    }
    trend_finish(&trend);
    return STATUS_OK;
}

/*
 * Describes the blocks. Whatever is not constant must be so by their normal scores as well: heavy
 * tails look like short levels and long memory to descriptions that assume normal errors. Where
 * many samples were clipped, the few that a window keeps, since they are its majority, look like a
 * level; then the scores are of the samples as they came.
 */
static enum status describe(const struct view *view, size_t offset, size_t blocks,
                            double least_variance, struct trend *ret, struct error *err)
{
    const double mean = series_mean(view->blocks, blocks);
    double scores[BLOCKS_MAX], series[BLOCKS_MAX], variance = 0;
    struct trend by_rank;
    size_t factor;
    enum status status =
        trend_describe(view->blocks, blocks, least_variance, 1, TREND_MEMORY, ret, err);

    if (status || (ret->kind == TREND_CONSTANT && !(ret->memory > 0)))
        return status;
    for (size_t i = 0; i < blocks; i++)
        variance += (view->blocks[i] - mean) * (view->blocks[i] - mean) / (double)blocks;
    if (view->has_many_impulses)
        make_blocks(view->log_ns, view->count, offset, series, &factor);
    order_normal_scores(view->has_many_impulses ? series : view->blocks, blocks, scores);
    status = trend_describe(scores, blocks, least_variance / variance, CAUTION_BY_RANK,
                            TREND_MEMORY, &by_rank, err);
    if (status) {
        trend_finish(ret);
        return status;
    }
    if (by_rank.kind == TREND_CONSTANT && by_rank.gain * (double)blocks >= STEADY_STATE_UNIT_ROOT) {
        trend_finish(ret);
        *ret = by_rank;
    }
    trend_finish(&by_rank);
    return STATUS_OK;
}

/* n (1 - sum of phi), the lesser of the blocks' and of COARSE or more means of them: where noise
   hides a random walk, means of many samples show it. */
static enum status root_distance(const struct view *view, size_t blocks, const struct trend *trend,
                                 double *ret, struct error *err)
{
    size_t factor = blocks / COARSE, i;
    double coarse[2 * COARSE];
    struct trend constant;
    enum status status;

    *ret = trend->gain * (double)blocks;
    if (factor < 2)
        return STATUS_OK;
    for (i = 0; i < blocks / factor; i++)
        coarse[i] = series_mean(view->blocks + blocks % factor + i * factor, factor);
    status = trend_describe(coarse, blocks / factor, 0, 1, TREND_CONSTANT, &constant, err);
    if (!status)
        *ret = fmin(*ret, constant.gain * (double)(blocks / factor));
    return status;
}

static enum status judge(const struct view *view, size_t offset,
                         const struct estimate_options *options, struct steady_state *ret,
                         struct error *err)
{
    struct trend trend;
    enum status status;
    size_t factor, blocks = make_blocks(view->clipped, view->count, offset, view->blocks, &factor),
                   shift;
    double tolerance = options->steady_tolerance, distance;

    if (blocks < TREND_LEAST)
        return STATUS_OK;
    shift = offset + (view->count - offset) % factor;
    status = describe(view, offset, blocks, rounding_variance(view, factor), &trend, err);
    if (status)
        return status;
    ret->memory_order = trend.memory;
    switch (trend.kind) {
    case TREND_CONSTANT:
        status = root_distance(view, blocks, &trend, &distance, err);
        if (!status && distance < STEADY_STATE_UNIT_ROOT) {
            ret->verdict = ESTIMATE_UNDETERMINED;
            ret->root_distance = distance;
        }
        break;
    case TREND_MEMORY:
        ret->verdict = ESTIMATE_UNDETERMINED;
        break;
    case TREND_RAMP:
        judge_ramp(&trend, blocks, shift, factor, view->count, tolerance, ret);
        break;
    case TREND_LINE:
        if (fabs(expm1(trend.slope * (double)blocks)) > options->drift_tolerance) {
            ret->verdict = ESTIMATE_DRIFT;
            ret->change = expm1(trend.slope * (double)blocks);
            ret->from = view->count;
        }
        break;
    case TREND_APPROACH:
        judge_approach(&trend, blocks, shift, factor, view->count, tolerance, ret);
        break;
    case TREND_STEPS:
        judge_steps(view, &trend, shift, factor, tolerance, ret);
        break;
    }
    trend_finish(&trend);
    return status;
}

/*
 * Levels of the distribution in what is left as steady, or as undetermined. Where they are one step
 * of the clock apart, unless few values are multiples of it by chance, nothing tells them from
 * steps.
 */
static enum status judge_levels(const struct view *view, const struct estimate_options *options,
                                struct steady_state *ret, struct error *err)
{
    const double *x = view->clipped + ret->from;
    const size_t count = view->count - ret->from;
    struct two_state levels, sure = {0};
    enum status status;

    if (!estimate_verdict_is_steady(ret->verdict) && ret->verdict != ESTIMATE_UNDETERMINED)
        return STATUS_OK;
    status = levels_find(x, count, view->sure_quantum, options->steady_tolerance, &levels, err);
    if (!status && levels.levels > 0)
        status = levels_find(x, count, view->low_quantum, options->steady_tolerance, &sure, err);
    if (status || levels.levels == 0)
        return status;
    ret->states = levels;
    ret->verdict = sure.levels > 0 ? ESTIMATE_BIMODAL : ESTIMATE_UNDETERMINED;
    return STATUS_OK;
}

/* A trend, a slow start of `start` samples, and whether what is left is steady. */
static enum status judge_load_timeline(const struct view *view, size_t start, double start_level,
                                       size_t first, const struct estimate_options *options,
                                       struct steady_state *ret, struct error *err)
{
    enum status status = judge(view, start, options, ret, err);

    if (status)
        return status;
    if (ret->verdict == ESTIMATE_STEADY && start > 0) {
        ret->verdict = start_level > 0 ? ESTIMATE_WARMUP : ESTIMATE_SLOWDOWN;
        ret->change = expm1(start_level);
        ret->from = start;
    }
    if (ret->from < first)
        ret->from = first;
    if (estimate_verdict_is_steady(ret->verdict) &&
        (double)ret->from > (1 - STEADY_SHARE) * (double)view->count && ret->from > first) {
        ret->verdict = ESTIMATE_NON_STATIONARY;
        ret->from = view->count;
    }
    if (estimate_verdict_is_steady(ret->verdict) && ret->from > 0 && !(ret->disturbed > 0))
        return test_drift(view, options, ret, err);
    return STATUS_OK;
}

static enum status find(struct view *view, double *work, size_t first,
                        const struct estimate_options *options, struct steady_state *ret,
                        struct error *err)
{
    double start_level = 0;
    enum status status;
    size_t start = slow_start(view, work, options->steady_tolerance, &start_level), i;

    status = hampel_clip(view->log_ns + start, view->count - start, TICKS_NEAR * view->sure_quantum,
                         view->clipped + start, &ret->impulses, err);
    if (status)
        return status;
    for (i = 0; i < start; i++)
        view->clipped[i] = view->log_ns[i];
    view->has_many_impulses = (double)ret->impulses > MANY_IMPULSES * (double)view->count;
    status = two_state_find(view->clipped + start, view->count - start, view->low_quantum,
                            options->steady_tolerance, &ret->states, err);
    if (status)
        return status;
    ret->from = start;
    if (ret->states.found) {
        ret->verdict = ESTIMATE_BIMODAL;
        ret->change = expm1(ret->states.high - ret->states.low);
        return STATUS_OK;
    }
    status = judge_load_timeline(view, start, start_level, first, options, ret, err);
    return status ? status : judge_levels(view, options, ret, err);
}

/* The steps of the clock on the scale of the samples' logs; `work`: as many numbers. */
static void set_quanta(struct view *view, const struct clock_step *step, double *work)
{
    const size_t n = view->count;
    double low;

    memcpy(work, view->log_ns, n * sizeof(*work));
    view->quantum = log1p((double)step->step_ns / exp(order_select(work, n, n / 2)));
    low = exp(order_select(work, n, (size_t)(LOW_SHARE * (double)n)));
    view->low_quantum = log1p((double)step->step_ns / low);
    view->sure_quantum = log1p((double)step->sure_ns / low);
}

enum status steady_state_find(const int64_t *sample_ns, size_t count, size_t first,
                              const struct estimate_options *options, struct steady_state *ret,
                              struct error *err)
{
    struct steady_state r = {.verdict = ESTIMATE_STEADY};
    struct view view = {.count = count, .first = first};
    enum status status = STATUS_OK;
    struct clock_step step;
    double *memory;
    size_t i;

    for (i = 0; i < count; i++) {
        if (sample_ns[i] <= 0)
            return error_set(err, STATUS_INVALID,
                             "sample %zu is %lld ns; a time must be greater than 0", i,
                             (long long)sample_ns[i]);
    }
    step = clock_step_find(sample_ns, count);
    r.resolution_ns = step.step_ns;
    if (first >= count || count - first < STEADY_STATE_LEAST) {
        r.verdict = ESTIMATE_INSUFFICIENT;
        r.from = first < count ? first : count;
        *ret = r;
        return STATUS_OK;
    }
    if (r.resolution_ns == 0) {
        r.from = first;
        *ret = r;
        return STATUS_OK;
    }
    memory =
        malloc((3 * count + BLOCKS_MAX + (1 + AUTOREGRESSION_WORK) * REFINE_MAX) * sizeof(*memory));
    if (!memory)
        return error_no_memory(err);
    view.log_ns = memory;
    view.clipped = memory + count;
    view.blocks = memory + 3 * count;
    view.work = view.blocks + BLOCKS_MAX;
    for (i = 0; i < count; i++)
        view.log_ns[i] = log((double)sample_ns[i]);
    set_quanta(&view, &step, memory + 2 * count);
    status = find(&view, memory + 2 * count, first, options, &r, err);
    free(memory);
    if (!status)
        *ret = r;
    return status;
}

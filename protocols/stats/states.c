#include "protocols/stats/states.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/stats/distribution.h"
#include "protocols/stats/order.h"

#define LEAST_SEPARATION 4.5
#define LEAST_SHARE 0.05
#define LEAST_TRANSITIONS 4
/* Of as many as independent draws would make. */
#define MOST_TRANSITIONS 0.4
/* Share of the rarer state that LEAST_TRANSITIONS - 1 changes must leave unexplained. */
#define LEAST_UNEXPLAINED 0.1
#define LEAST_POINTS 40
/* A level is reached when a value comes this near: 0.5 - 0.4 of the gap from it, or past it. */
#define REACH 0.4
/* Levels of a distribution: halves of halves of halves, each with so many values at least. */
#define LEVELS_DEPTH 3
#define LEVELS_MAX 8
#define LEVEL_LEAST 6
/* Between two levels, from 0.3 to 0.7 of their gap, lies a tenth of the rarer one's values at most.
 */
#define VALLEY_SIDE 0.3
#define VALLEY_MOST 0.1

struct split {
    double low, high, threshold, variance, high_share;
};

static bool split_levels(const double *x, size_t count, struct split *ret)
{
    double threshold = 0, low = 0, high = 0, within = 0;
    size_t i, above = 0;
    int round;

    for (i = 0; i < count; i++)
        threshold += x[i] / (double)count;
    for (round = 0; round < 60; round++) {
        double sum_low = 0, sum_high = 0, next;

        above = 0;
        for (i = 0; i < count; i++) {
            if (x[i] > threshold) {
                sum_high += x[i];
                above++;
            } else {
                sum_low += x[i];
            }
        }
        if (above == 0 || above == count)
            return false;
        low = sum_low / (double)(count - above);
        high = sum_high / (double)above;
        next = 0.5 * (low + high);
        if (next == threshold)
            break;
        threshold = next;
    }
    for (i = 0; i < count; i++) {
        double d = x[i] - (x[i] > threshold ? high : low);

        within += d * d;
    }
    ret->low = low;
    ret->high = high;
    ret->threshold = threshold;
    ret->variance = within / (double)count;
    ret->high_share = (double)above / (double)count;
    return true;
}

/* What a walk through a series finds of its changes from one level's side to the other's. */
struct crossings {
    size_t transitions;
    /* Values on the wrong side if it changed but LEAST_TRANSITIONS - 1 times, at the best places.
     */
    size_t unexplained;
};

/* Noise about the threshold is not a crossing: a value's side is where a level was last reached. */
static struct crossings find_crossings(const double *x, size_t count, const struct split *split)
{
    double reach = REACH * (split->high - split->low);
    size_t wrong[2][LEAST_TRANSITIONS] = {{0}}, i, c;
    struct crossings ret = {0, count};
    int state = 0, start;

    for (i = 0; i < count; i++) {
        int now = x[i] > split->threshold + reach   ? 1
                  : x[i] < split->threshold - reach ? -1
                                                    : state;

        ret.transitions += now != state && state != 0;
        state = now;
        for (start = 0; start < 2 && state != 0; start++) {
            for (c = LEAST_TRANSITIONS - 1; c > 0; c--) {
                if (wrong[start][c - 1] < wrong[start][c])
                    wrong[start][c] = wrong[start][c - 1];
                wrong[start][c] += (state > 0) != ((start + (int)c) & 1);
            }
            wrong[start][0] += (state > 0) != start;
        }
    }
    for (start = 0; start < 2; start++) {
        for (c = 0; c < LEAST_TRANSITIONS; c++)
            ret.unexplained = wrong[start][c] < ret.unexplained ? wrong[start][c] : ret.unexplained;
    }
    return ret;
}

/* Where the levels of a series are, if it has two that are clear. */
static bool split_clearly(const double *x, size_t count, double quantum, double least_gap,
                          struct split *split, struct two_state *ret)
{
    if (!split_levels(x, count, split))
        return false;
    ret->low = split->low;
    ret->high = split->high;
    ret->threshold = split->threshold;
    ret->high_share = split->high_share;
    ret->separation = (split->high - split->low) / sqrt(split->variance + quantum * quantum / 12);
    return split->high - split->low >= least_gap &&
           fmin(split->high_share, 1 - split->high_share) >= LEAST_SHARE &&
           ret->separation >= LEAST_SEPARATION;
}

/* Whether it goes from one to the other often enough, and all the time. */
static bool alternates(const double *x, size_t count, const struct split *split,
                       struct two_state *ret)
{
    const double share = fmin(split->high_share, 1 - split->high_share);
    const struct crossings crossings = find_crossings(x, count, split);

    ret->transitions = crossings.transitions;
    return ret->transitions >= LEAST_TRANSITIONS &&
           (double)crossings.unexplained > LEAST_UNEXPLAINED * (double)count * share;
}

/* Whether it stays in a state: it changes less often than independent draws would. */
static bool stays(const struct two_state *two, size_t count)
{
    const double expected = 2 * (double)count * two->high_share * (1 - two->high_share);

    return (double)two->transitions <= MOST_TRANSITIONS * expected;
}

enum status two_state_find(const double *x, size_t count, double quantum, double least_gap,
                           struct two_state *ret, struct error *err)
{
    struct two_state r = {0};
    double *work;
    size_t points = count, i;

    if (count < LEAST_POINTS) {
        *ret = r;
        return STATUS_OK;
    }
    work = malloc(count * sizeof(*work));
    if (!work)
        return error_no_memory(err);
    memcpy(work, x, count * sizeof(*work));
    for (r.scale = 1; points >= LEAST_POINTS; r.scale *= 2) {
        struct split split;

        if (split_clearly(work, points, quantum, least_gap, &split, &r)) {
            r.found = alternates(work, points, &split, &r) && stays(&r, points);
            /* Averages of levels that it does not stay on are none that it stays on. */
            break;
        }
        points /= 2;
        for (i = 0; i < points; i++)
            work[i] = 0.5 * (work[2 * i] + work[2 * i + 1]);
    }
    free(work);
    *ret = r;
    return STATUS_OK;
}

/* ---- levels of the distribution, whatever their order ---- */

/* Levels of a part of the sorted values, and the squares of values about theirs. */
struct leaves {
    size_t count, values[LEVELS_MAX];
    double level[LEVELS_MAX], squares;
};

static double squares_of(const double *x, size_t count, double mean)
{
    double squares = 0;

    for (size_t i = 0; i < count; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    return squares;
}

static void one_leaf(const double *sorted, size_t count, struct leaves *ret)
{
    double mean = 0;

    for (size_t i = 0; i < count; i++)
        mean += sorted[i] / (double)count;
    ret->count = 1;
    ret->values[0] = count;
    ret->level[0] = mean;
    ret->squares = squares_of(sorted, count, mean);
}

/*
 * Whether hardly any of the sorted values lie halfway between two neighbouring levels: a tail that
 * is cut off is no level, however far away.
 */
static bool is_valley(const double *sorted, size_t count, const struct leaves *leaves, size_t upper)
{
    const double low = leaves->level[upper - 1], gap = leaves->level[upper] - low;
    const size_t a = leaves->values[upper - 1], b = leaves->values[upper];
    size_t between = 0;

    for (size_t i = 0; i < count && sorted[i] < low + (1 - VALLEY_SIDE) * gap; i++)
        between += sorted[i] > low + VALLEY_SIDE * gap;
    return (double)between <= VALLEY_MOST * (double)(a < b ? a : b);
}

/* Whether all neighbouring levels are far enough apart. */
static bool are_apart(const double *sorted, size_t count, const struct leaves *leaves,
                      double quantum, double least_gap)
{
    const double sd = sqrt(leaves->squares / (double)count + quantum * quantum / 12);

    for (size_t i = 1; i < leaves->count; i++) {
        const double gap = leaves->level[i] - leaves->level[i - 1];

        if (!(gap >= least_gap && gap >= LEAST_SEPARATION * sd) ||
            !is_valley(sorted, count, leaves, i))
            return false;
    }
    return true;
}

/*
 * Levels of `count` sorted values: each half of a split is split again where it has levels of its
 * own. A split whose levels are not apart is taken back: one level.
 */
static void find_leaves(const double *sorted, size_t count, size_t least, int depth, double quantum,
                        double least_gap, struct leaves *ret)
{
    struct leaves upper;
    struct split split;
    size_t below = 0;

    if (depth > 0 && split_levels(sorted, count, &split)) {
        while (sorted[below] <= split.threshold)
            below++;
        if (below >= least && count - below >= least) {
            find_leaves(sorted, below, least, depth - 1, quantum, least_gap, ret);
            find_leaves(sorted + below, count - below, least, depth - 1, quantum, least_gap,
                        &upper);
            memcpy(ret->level + ret->count, upper.level, upper.count * sizeof(*upper.level));
            memcpy(ret->values + ret->count, upper.values, upper.count * sizeof(*upper.values));
            ret->count += upper.count;
            ret->squares += upper.squares;
            if (are_apart(sorted, count, ret, quantum, least_gap))
                return;
        }
    }
    one_leaf(sorted, count, ret);
}

enum status levels_find(const double *x, size_t count, double quantum, double least_gap,
                        struct two_state *ret, struct error *err)
{
    struct two_state r = {.scale = 1};
    const size_t share = (size_t)ceil(LEAST_SHARE * (double)count);
    struct leaves leaves;
    struct split split;
    double *sorted;

    *ret = r;
    if (count < LEAST_POINTS)
        return STATUS_OK;
    sorted = malloc(count * sizeof(*sorted));
    if (!sorted)
        return error_no_memory(err);
    memcpy(sorted, x, count * sizeof(*sorted));
    order_sort_real(sorted, count);
    find_leaves(sorted, count, share > LEVEL_LEAST ? share : LEVEL_LEAST, LEVELS_DEPTH, quantum,
                least_gap, &leaves);
    free(sorted);
    if (leaves.count < 2 || !split_levels(x, count, &split))
        return STATUS_OK;
    split_clearly(x, count, quantum, least_gap, &split, &r);
    r.low = leaves.level[0];
    r.high = leaves.level[leaves.count - 1];
    r.levels = alternates(x, count, &split, &r) ? leaves.count : 0;
    *ret = r;
    return STATUS_OK;
}

/* Walks through a series block by block and reports when it enters or leaves its high state. */
struct walk {
    const double *state;
    size_t count, at, scale;
    double enter, leave;
    int high; /* 1, 0, or -1 before the first clear block */
};

static struct walk walk_start(const double *state, size_t count, const struct two_state *two)
{
    double reach = REACH * (two->high - two->low);

    return (struct walk){
        state, count, 0, two->scale, two->threshold + reach, two->threshold - reach, -1};
}

/* Sample where the series next enters its high state; `count` at the end. Adds up time spent high.
 */
static size_t walk_to_entry(struct walk *walk, size_t *high_samples)
{
    while (walk->at + walk->scale <= walk->count) {
        size_t start = walk->at, i;
        double mean = 0;
        int before = walk->high;

        for (i = 0; i < walk->scale; i++)
            mean += walk->state[start + i] / (double)walk->scale;
        walk->at += walk->scale;
        if (mean > walk->enter)
            walk->high = 1;
        else if (mean < walk->leave)
            walk->high = 0;
        *high_samples += walk->high == 1 ? walk->scale : 0;
        if (walk->high == 1 && before == 0)
            return start;
    }
    return walk->count;
}

/* Standard error of the mean by the cycles' own spread. */
static double cycle_error(const double *x, const double *state, size_t count,
                          const struct two_state *two, size_t first, size_t last, size_t cycles)
{
    struct walk walk = walk_start(state, count, two);
    double total = 0, squares = 0, ratio, length = (double)(last - first);
    size_t from, to, i, unused = 0;

    for (i = first; i < last; i++)
        total += x[i];
    ratio = total / length;
    from = walk_to_entry(&walk, &unused);
    while (from < last) {
        double excess = 0;

        to = walk_to_entry(&walk, &unused);
        for (i = from; i < to; i++)
            excess += x[i] - ratio;
        squares += excess * excess;
        from = to;
    }
    return sqrt(squares * (double)cycles / ((double)cycles - 1) / (length * (double)count));
}

double two_state_half_width(const double *x, const double *state, size_t count,
                            const struct two_state *two, double confidence)
{
    struct walk walk = walk_start(state, count, two);
    size_t entries = 0, first = 0, last = 0, at, high = 0, i, above = 0;
    double share, k, n = (double)count, dwell, model, sum_high = 0, sum_low = 0, gap;

    while ((at = walk_to_entry(&walk, &high)) < count) {
        first = entries == 0 ? at : first;
        last = at;
        entries++;
    }
    if (entries < 4)
        return INFINITY;
    k = (double)entries - 1;
    for (i = 0; i < count; i++) {
        if (state[i] > two->threshold) {
            sum_high += x[i];
            above++;
        } else {
            sum_low += x[i];
        }
    }
    if (above == 0 || above == count)
        return INFINITY;
    gap = sum_high / (double)above - sum_low / (double)(count - above);
    /* A memoryless switch: variance of its time average, from the mean lengths of both states. */
    share = (double)high / n;
    dwell = share * (1 - share) * n / (k + 1);
    model = gap * sqrt(2 * share * (1 - share) * dwell / n * k / fmax(k - 2, 1));
    return student_quantile(0.5 + 0.5 * confidence, fmax(0.4 * k, 1)) *
           fmax(model, cycle_error(x, state, count, two, first, last, entries - 1));
}

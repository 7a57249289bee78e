#include "protocols/stats/states.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/stats/distribution.h"

#define LEAST_SEPARATION 4.5
#define LEAST_SHARE 0.05
#define LEAST_TRANSITIONS 4
/* Share of the rarer state that LEAST_TRANSITIONS - 1 changes must leave unexplained. */
#define LEAST_UNEXPLAINED 0.1
#define LEAST_POINTS 40
/* A level is reached when a value comes this near: 0.5 - 0.4 of the gap from it, or past it. */
#define REACH 0.4

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

static bool look(const double *x, size_t count, double quantum, double least_gap,
                 struct two_state *ret)
{
    struct crossings crossings;
    struct split split;
    double share, expected;

    if (!split_levels(x, count, &split))
        return false;
    share = split.high_share;
    if (split.high - split.low < least_gap || share < LEAST_SHARE || share > 1 - LEAST_SHARE)
        return false;
    ret->separation = (split.high - split.low) / sqrt(split.variance + quantum * quantum / 12);
    if (!(ret->separation >= LEAST_SEPARATION))
        return false;
    crossings = find_crossings(x, count, &split);
    ret->transitions = crossings.transitions;
    expected = 2 * (double)count * share * (1 - share);
    if (ret->transitions < LEAST_TRANSITIONS || (double)ret->transitions > 0.4 * expected)
        return false;
    if ((double)crossings.unexplained <= LEAST_UNEXPLAINED * (double)count * fmin(share, 1 - share))
        return false;
    ret->found = true;
    ret->low = split.low;
    ret->high = split.high;
    ret->threshold = split.threshold;
    ret->high_share = share;
    return true;
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
        return error_set(err, STATUS_NO_MEMORY, "no memory for the states of %zu samples", count);
    memcpy(work, x, count * sizeof(*work));
    for (r.scale = 1; points >= LEAST_POINTS; r.scale *= 2) {
        if (look(work, points, quantum, least_gap, &r))
            break;
        points /= 2;
        for (i = 0; i < points; i++)
            work[i] = 0.5 * (work[2 * i] + work[2 * i + 1]);
    }
    free(work);
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

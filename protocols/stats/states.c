#include "protocols/stats/states.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/stats/distribution.h"

#define LEAST_SEPARATION 4.5
#define LEAST_SHARE 0.05
#define LEAST_TRANSITIONS 4
#define LEAST_POINTS 40

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

/* Crossings from one level's side to the other's; noise about the threshold is not a crossing. */
static size_t count_transitions(const double *x, size_t count, const struct split *split)
{
    double reach = 0.4 * (split->high - split->low);
    size_t i, transitions = 0;
    int state = 0;

    for (i = 0; i < count; i++) {
        int now = x[i] > split->threshold + reach   ? 1
                  : x[i] < split->threshold - reach ? -1
                                                    : state;

        transitions += now != state && state != 0;
        state = now;
    }
    return transitions;
}

static bool look(const double *x, size_t count, double quantum, double least_gap,
                 struct two_state *ret)
{
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
    ret->transitions = count_transitions(x, count, &split);
    expected = 2 * (double)count * share * (1 - share);
    if (ret->transitions < LEAST_TRANSITIONS || (double)ret->transitions > 0.4 * expected)
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

double two_state_half_width(const double *x, const double *state, size_t count, double threshold,
                            double confidence)
{
    double total = 0, length_total = 0, sum = 0, squares = 0, ratio;
    size_t i, cycles = 0, first = 0, start = 0;

    for (i = 1; i < count; i++) {
        if (!(state[i] > threshold) || state[i - 1] > threshold)
            continue;
        if (first == 0)
            first = i;
        start = i;
        cycles++;
    }
    if (cycles < 4)
        return INFINITY;
    cycles--;
    for (i = first; i < start; i++)
        total += x[i];
    length_total = (double)(start - first);
    ratio = total / length_total;
    for (i = first; i < start; i++) {
        if (i > first && state[i] > threshold && !(state[i - 1] > threshold)) {
            squares += sum * sum;
            sum = 0;
        }
        sum += x[i] - ratio;
    }
    squares += sum * sum;
    return student_quantile(0.5 + 0.5 * confidence, (double)cycles - 1) *
           sqrt(squares * (double)cycles / (double)(cycles - 1)) / length_total *
           sqrt(length_total / (double)count);
}

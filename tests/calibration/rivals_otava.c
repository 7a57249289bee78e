#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/stats/distribution.h"
#include "tests/calibration/rivals.h"

#define WINDOW 50
#define P_LAST 0.001
/* Candidates of the first pass may have ten times the p value. */
#define P_FIRST (10 * P_LAST)

struct change {
    size_t place; /* the first sample after it */
    double p;
    double magnitude; /* relative, the larger of both directions */
};

static double moments_of(const double *x, size_t count, double *ret_variance)
{
    double mean = 0, squares = 0;
    size_t i;

    for (i = 0; i < count; i++)
        mean += x[i] / (double)count;
    for (i = 0; i < count; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    *ret_variance = squares / (double)count; /* over n: what the tool hands to the t test */
    return mean;
}

/* Left and right of `place` in x[from, to), by a pooled t test. */
static struct change change_at(const double *x, size_t from, size_t place, size_t to)
{
    struct change change = {.place = place, .p = 1};
    double left = (double)(place - from), right = (double)(to - place), va, vb;
    double a = moments_of(x + from, place - from, &va), b = moments_of(x + place, to - place, &vb);
    double degrees = left + right - 2, error;

    change.magnitude = fmax(fabs(b / a - 1), fabs(a / b - 1));
    if (degrees <= 0)
        return change;
    error = sqrt(((left - 1) * va + (right - 1) * vb) / degrees * (1 / left + 1 / right));
    if (error > 0)
        change.p = 2 * student_cdf(-fabs(a - b) / error, degrees);
    else
        change.p = a == b ? NAN : 0;
    return change;
}

/*
 * The most likely place of a change in x[from, to): the largest energy statistic of x[from, place)
 * against x[place, end) over all places and ends. At most WINDOW samples.
 */
static size_t candidate_in(const double *x, size_t from, size_t to, double *ret_q)
{
    double before[WINDOW + 1][WINDOW]; /* before[i][k]: distances of x[k] to the first i */
    size_t n = to - from, place, end, i, k, best = from + 1;
    double left = 0;

    *ret_q = -INFINITY;
    for (k = 0; k < n; k++) {
        before[0][k] = 0;
        for (i = 0; i < n; i++)
            before[i + 1][k] = before[i][k] + fabs(x[from + i] - x[from + k]);
    }
    for (place = 1; place < n; place++) {
        double cross = 0, right = 0, a = (double)place;

        left += before[place - 1][place - 1];
        for (end = place + 1; end <= n; end++) {
            double b = (double)(end - place), q;

            cross += before[place][end - 1];
            right += before[end - 1][end - 1] - before[place][end - 1];
            q = 2 * cross;
            if (place > 1)
                q -= 2 * b / (a - 1) * left;
            if (end > place + 1)
                q -= 2 * a / (b - 1) * right;
            q /= a + b;
            if (q > *ret_q) {
                *ret_q = q;
                best = from + place;
            }
        }
    }
    return best;
}

/* Inserts in order; false when it is there already. */
static bool add_place(size_t *places, size_t *count, size_t place)
{
    size_t at = *count;

    while (at > 0 && places[at - 1] > place)
        at--;
    if (at > 0 && places[at - 1] == place)
        return false;
    memmove(places + at + 1, places + at, (*count - at) * sizeof(*places));
    places[at] = place;
    (*count)++;
    return true;
}

/* Splits x[from, to) while the most likely change of all its parts is significant. */
static size_t split_window(const double *x, size_t from, size_t to, size_t *places)
{
    size_t count = 0, i;

    for (;;) {
        double most = -INFINITY, q;
        struct change change = {.p = 1};

        for (i = 0; i <= count; i++) {
            size_t low = i == 0 ? from : places[i - 1], high = i == count ? to : places[i], place;

            if (high - low < 2)
                continue;
            place = candidate_in(x, low, high, &q);
            if (q > most) {
                most = q;
                change = change_at(x, low, place, high);
            }
        }
        if (!(change.p <= P_FIRST))
            return count;
        add_place(places, &count, change.place);
    }
}

/* A change's test against its neighbours as they are now. */
static void judge_again(const double *x, size_t count, struct change *changes, size_t total,
                        size_t i)
{
    if (i < total)
        changes[i] = change_at(x, i == 0 ? 0 : changes[i - 1].place, changes[i].place,
                               i + 1 == total ? count : changes[i + 1].place);
}

/* Removes the weakest until all are significant; retests right neighbours, as the tool does. */
static size_t merge(const double *x, size_t count, struct change *changes, size_t total)
{
    while (total > 0) {
        size_t weakest = 0, smallest = 0, i;

        for (i = 1; i < total; i++) {
            if (changes[i].p > changes[weakest].p)
                weakest = i;
            if (changes[i].magnitude < changes[smallest].magnitude)
                smallest = i;
        }
        if (changes[weakest].p < P_LAST) {
            if (changes[smallest].magnitude > 0)
                break;
            weakest = smallest;
        }
        total--;
        memmove(changes + weakest, changes + weakest + 1, (total - weakest) * sizeof(*changes));
        judge_again(x, count, changes, total, weakest);
        judge_again(x, count, changes, total, weakest + 1);
    }
    return total;
}

size_t rival_otava_changes(const double *x, size_t count, size_t *ret_places)
{
    size_t *places = malloc((count + 1) * sizeof(*places)), window[WINDOW], start = 0, total = 0;
    struct change *changes = malloc((count + 1) * sizeof(*changes));
    size_t i;

    if (!places || !changes)
        abort();
    while (start < count) {
        size_t end = start + WINDOW < count ? start + WINDOW : count;
        size_t found = split_window(x, start, end, window);

        for (i = 0; i < found; i++)
            add_place(places, &total, window[i]);
        start += WINDOW / 2;
        if (found > 0 && window[found - 1] > start)
            start = window[found - 1];
    }
    for (i = 0; i < total; i++)
        changes[i].place = places[i];
    for (i = 0; i < total; i++)
        judge_again(x, count, changes, total, i);
    total = merge(x, count, changes, total);
    for (i = 0; i < total && ret_places; i++)
        ret_places[i] = changes[i].place;
    free(places);
    free(changes);
    return total;
}

#include "protocols/stats/clock_step.h"

#include <stdbool.h>

/* Different values are counted up to here; so many are no levels, and neither are so many common
   ones on neighbouring steps. */
#define VALUES_MAX 32
#define COMMON_MAX 4
/* Share of the samples that a common value has. */
#define COMMON 0.05
/* The odds against a coincidence from which it is none. */
#define COINCIDENCE 100.0
/* Of few samples that nearly all differ, the least distance is noise. */
#define CHANGES_LEAST 8

int64_t clock_step_common(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

static int64_t distance(const int64_t *sample_ns, size_t i)
{
    return sample_ns[i] > sample_ns[i - 1] ? sample_ns[i] - sample_ns[i - 1]
                                           : sample_ns[i - 1] - sample_ns[i];
}

/* What follows from all samples at once. */
struct summary {
    int64_t shortest, divisor, least; /* least: distance of neighbours that is not 0 */
    size_t changes;                   /* neighbours that differ */
};

static struct summary summarise(const int64_t *sample_ns, size_t count)
{
    struct summary s = {0};

    for (size_t i = 0; i < count; i++) {
        const int64_t d = i > 0 ? distance(sample_ns, i) : 0;

        s.shortest = i == 0 || sample_ns[i] < s.shortest ? sample_ns[i] : s.shortest;
        s.divisor = clock_step_common(sample_ns[i], s.divisor);
        s.least = d > 0 && (s.least == 0 || d < s.least) ? d : s.least;
        s.changes += d > 0;
    }
    return s;
}

/*
 * Whether `ns` is a whole number of steps, within 2 % of one or the rounding: a nanosecond of `ns`
 * itself and, since the step is rounded as well, one for each step. Far from 0 everything is.
 */
static bool is_multiple(int64_t ns, int64_t step, bool step_is_exact)
{
    const int64_t times = ns / step, rest = ns % step;
    const int64_t off = rest < step - rest ? rest : step - rest;
    const int64_t rounding = step_is_exact ? 1 : 1 + times;

    return off <= rounding || off <= step / 50;
}

static bool divides_most(const int64_t *sample_ns, size_t count, const struct summary *s)
{
    size_t distances = 0, samples = 0;

    for (size_t i = 0; i < count; i++) {
        const int64_t d = i > 0 ? distance(sample_ns, i) : 0;

        distances += d > 0 && is_multiple(d, s->least, true);
        samples += is_multiple(sample_ns[i], s->least, false);
    }
    return distances * 10 >= s->changes * 9 && samples * 10 >= count * 9;
}

struct value {
    int64_t ns;
    size_t count;
};

/* Counts a value; false where there is no room for another one. */
static bool count_value(struct value *values, size_t *used, int64_t ns)
{
    size_t k = 0;

    while (k < *used && values[k].ns != ns)
        k++;
    if (k == VALUES_MAX)
        return false;
    if (k == *used)
        values[(*used)++] = (struct value){ns, 0};
    values[k].count++;
    return true;
}

/*
 * The common values, at most COMMON_MAX of them, in ascending order; else 0. Noise that a clock
 * rounds has most samples between the ends of what it takes: then 0 as well.
 */
static size_t count_common(const int64_t *sample_ns, size_t count)
{
    struct value values[VALUES_MAX], *low = NULL, *high = NULL;
    size_t used = 0, common = 0, between = 0;

    for (size_t i = 0; i < count; i++)
        if (!count_value(values, &used, sample_ns[i]))
            return 0;
    for (struct value *v = values; v < values + used; v++) {
        if ((double)v->count < COMMON * (double)count)
            continue;
        common++;
        low = !low || v->ns < low->ns ? v : low;
        high = !high || v->ns > high->ns ? v : high;
    }
    for (struct value *v = values; v < values + used; v++)
        if (low && v->ns > low->ns && v->ns < high->ns && v->count > between)
            between = v->count;
    return common > COMMON_MAX || (low && between >= low->count + high->count) ? 0 : common;
}

/* The largest power of ten that divides `ns`: what times are read or rounded in, at the most. */
static int64_t decimal_unit(int64_t ns)
{
    int64_t unit = 1;

    while (ns % 10 == 0) {
        ns /= 10;
        unit *= 10;
    }
    return unit;
}

/*
 * Of values in decimal units, one in `step / unit` is a multiple of the step by chance. All are,
 * but the first, whose distance to the others the step was taken from.
 */
static bool may_be_chance(const struct summary *s, int64_t step, size_t values)
{
    const double odds = (double)step / (double)decimal_unit(s->divisor);
    double against = 1;

    for (size_t i = 1; i < values; i++)
        against *= odds;
    return values > 1 && against < COINCIDENCE;
}

struct clock_step clock_step_find(const int64_t *sample_ns, size_t count)
{
    const struct summary s = summarise(sample_ns, count);
    struct clock_step ret = {s.divisor, s.divisor};

    if (s.changes == 0)
        return (struct clock_step){0, 0};
    if (s.least > 1 && s.least <= s.shortest &&
        (s.changes >= CHANGES_LEAST || s.changes * 2 <= count) &&
        divides_most(sample_ns, count, &s))
        ret.step_ns = ret.sure_ns = s.least;
    if (ret.step_ns > 1 && may_be_chance(&s, ret.step_ns, count_common(sample_ns, count)))
        ret.sure_ns = ret.step_ns < 10 ? 1 : ret.step_ns / 10;
    return ret;
}

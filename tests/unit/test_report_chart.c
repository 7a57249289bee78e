#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "reports/chart.h"
#include "reports/scale.h"
#include "tests/support/unit.h"

TEST(scales_map_and_clamp)
{
    struct scale up = {10, 20, 100, 0}, flat = {5, 5, 0, 50};

    assert_float_equal(scale_map(&up, 10), 100, 1e-9);
    assert_float_equal(scale_map(&up, 15), 50, 1e-9);
    assert_float_equal(scale_map(&up, 20), 0, 1e-9);
    assert_float_equal(scale_map(&up, 25), 0, 1e-9);
    assert_float_equal(scale_map(&up, -1e300), 100, 1e-9);
    assert_float_equal(scale_map(&up, NAN), 100, 1e-9);
    assert_float_equal(scale_map(&flat, 5), 25, 1e-9);
}

TEST(ticks_are_round_and_inside)
{
    double ticks[12];
    size_t count;

    count = scale_ticks(7.93, 8.47, 4, ticks, 12);
    assert_int_equal(count, 5);
    assert_float_equal(ticks[0], 8.0, 1e-9);
    assert_float_equal(ticks[4], 8.4, 1e-9);
    assert_int_equal(scale_tick_decimals(ticks, count), 1);
    count = scale_ticks(0, 600, 5, ticks, 12);
    assert_int_equal(count, 7);
    assert_float_equal(ticks[6], 600, 1e-9);
    assert_int_equal(scale_tick_decimals(ticks, count), 0);
    assert_int_equal(scale_ticks(1, 1, 5, ticks, 12), 0);
    assert_int_equal(scale_ticks(2, 1, 5, ticks, 12), 0);
    assert_int_equal(scale_ticks(0, INFINITY, 5, ticks, 12), 0);
    assert_int_equal(scale_ticks(NAN, 1, 5, ticks, 12), 0);
    /* A step lost in rounding must not loop for ever. */
    assert_true(scale_ticks(1e18, 1e18 + 256, 5, ticks, 12) <= 12);
}

TEST(random_ticks_hold)
{
    struct random random;

    random_init(&random, 5, 0);
    for (int i = 0; i < 2000; ++i) {
        double lo = pow(10, 20 * random_next_unit(&random) - 10);
        double hi = lo + pow(10, 20 * random_next_unit(&random) - 10);
        double ticks[12];
        double slack = (hi - lo) * 1e-8 + hi * 0x1p-50; /* largest rounding error of a tick */
        size_t count = scale_ticks(lo, hi, 4, ticks, 12);

        assert_true(count <= 8);
        for (size_t t = 0; t < count; ++t) {
            assert_true(ticks[t] >= lo - slack && ticks[t] <= hi + slack);
            assert_true(t == 0 || ticks[t] > ticks[t - 1]);
        }
    }
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

TEST(selection_equals_sorting)
{
    struct random random;

    random_init(&random, 11, 0);
    for (int round = 0; round < 400; ++round) {
        size_t count = 1 + random_next_below(&random, 70);
        uint64_t values = 1 + random_next_below(&random, 40); /* many ties when small */
        int64_t sorted[70], scratch[70];

        for (size_t i = 0; i < count; ++i)
            sorted[i] = (int64_t)random_next_below(&random, values) - 20;
        memcpy(scratch, sorted, sizeof(scratch));
        qsort(sorted, count, sizeof(sorted[0]), ascending);
        for (size_t k = 0; k < count; ++k)
            assert_int_equal(reduce_select(scratch, count, k), sorted[k]);
        assert_int_equal(reduce_quantile(scratch, count, 1), sorted[count - 1]);
        assert_int_equal(reduce_quantile(scratch, count, 1e-9), sorted[0]);
    }
}

TEST(envelopes_hide_nothing)
{
    enum { COUNT = 10007, BUCKETS = 97 };
    int64_t *samples = calloc(COUNT, sizeof(*samples)), scratch[COUNT / BUCKETS + 2];
    struct reduce_bucket buckets[BUCKETS];
    size_t covered = 0;

    assert_non_null(samples);
    for (size_t i = 0; i < COUNT; ++i)
        samples[i] = 1000 + (int64_t)(i % 7);
    samples[5000] = 99999;
    samples[5001] = 1;
    assert_int_equal(reduce_envelope(samples, COUNT, BUCKETS, buckets, scratch), BUCKETS);
    for (size_t b = 0; b < BUCKETS; ++b) {
        bool hit = buckets[b].first <= 5000 && 5001 < buckets[b].first + buckets[b].count;

        assert_int_equal(buckets[b].first, covered);
        covered += buckets[b].count;
        assert_int_equal(buckets[b].max, hit ? 99999 : 1006);
        assert_int_equal(buckets[b].min, hit ? 1 : 1000);
        assert_in_range(buckets[b].median, 1002, 1004);
    }
    assert_int_equal(covered, COUNT);
    assert_int_equal(reduce_envelope(samples, 3, BUCKETS, buckets, scratch), 3);
    free(samples);
}

TEST(histograms_count_all)
{
    static const int64_t samples[] = {10, 20, 20, 30, 5, 1000, 40};
    struct reduce_histogram histogram;
    uint64_t inside = 0;

    reduce_histogram_init(&histogram, 5, 20, 3); /* per iteration: halves of the samples */
    reduce_histogram_add(&histogram, samples, 7, 2);
    for (size_t i = 0; i < histogram.bins; ++i)
        inside += histogram.counts[i];
    assert_int_equal(histogram.total, 7);
    assert_int_equal(histogram.below, 1);
    assert_int_equal(histogram.above, 1);
    assert_int_equal(inside, 5);
    assert_int_equal(histogram.counts[0], 1); /* 5 */
    assert_int_equal(histogram.counts[1], 2); /* 10, 10 */
    assert_int_equal(histogram.counts[2], 2); /* 15, and 20 on the upper edge */
    assert_float_equal(histogram.greatest, 500, 1e-9);
}

/* All numbers of a path lie inside the chart. */
static void assert_inside(const char *svg, const char *class_name, double width, double height)
{
    char start[64];
    const char *at;
    int count = 0;

    snprintf(start, sizeof(start), "<path class=\"%s\" d=\"", class_name);
    at = strstr(svg, start);
    assert_non_null(at);
    at += strlen(start);
    for (; *at != '"'; ++count) {
        double x, y;
        int used = 0;

        assert_int_equal(sscanf(at, "M%lf %lfh0%n", &x, &y, &used), 2);
        assert_true(used > 0 && x >= 0 && x <= width && y >= 0 && y <= height);
        at += used;
    }
    assert_true(count > 0);
}

TEST(time_series_mark_warmup_and_steady_state)
{
    int64_t samples[200], scratch[200];
    struct chart_series series = {.sample_ns = samples,
                                  .count = 200,
                                  .iterations = 2,
                                  .has_window = true,
                                  .window_from = 50,
                                  .has_steady = true,
                                  .steady_from = 80};
    struct number_unit unit = {1e3, "µs"};
    struct chart_range range;
    struct text out;

    for (size_t i = 0; i < 200; ++i)
        samples[i] = 20000 + (int64_t)(i % 5) * 10 + (i < 50 ? 3000 : 0);
    samples[120] = 900000; /* a spike far outside */
    assert_true(chart_range_of(&series, 1, scratch, &range));
    assert_true(range.lo < 10000 && range.hi > 11520 && range.hi < 20000);
    text_init(&out);
    assert_true(chart_time_series(&out, "t1", "<Trial & 1>", &series, &range, &unit, 2000));
    assert_non_null(strstr(out.data, "role=\"img\" aria-labelledby=\"t1-t t1-d\""));
    assert_non_null(strstr(out.data, "<title id=\"t1-t\">&lt;Trial &amp; 1&gt;</title>"));
    assert_non_null(strstr(out.data, "from 10.00 µs to 450.0 µs"));
    assert_non_null(strstr(out.data, "warmup: samples 0 to 49"));
    assert_non_null(strstr(out.data, "steady from 80"));
    assert_non_null(strstr(out.data, "µs / iteration · 1 above, to 450.0 µs"));
    /* 40 + 50/200 of 294 units: the shade's width */
    assert_non_null(strstr(out.data, "x=\"40\" y=\"22\" width=\"73.5\""));
    assert_inside(out.data, "dots", 340, 132);
    text_finish(&out);
}

TEST(long_series_become_an_envelope)
{
    enum { COUNT = 100000 };
    int64_t *samples = calloc(COUNT, sizeof(*samples)), *scratch = calloc(COUNT, sizeof(*scratch));
    struct chart_series series = {.sample_ns = samples, .count = COUNT, .iterations = 1};
    struct number_unit unit = {1, "ns"};
    struct chart_range range;
    struct text out;

    assert_non_null(samples);
    assert_non_null(scratch);
    for (size_t i = 0; i < COUNT; ++i)
        samples[i] = 500 + (int64_t)(i % 100);
    assert_true(chart_range_of(&series, 1, scratch, &range));
    text_init(&out);
    assert_true(chart_time_series(&out, "t", "Trial", &series, &range, &unit, 2000));
    assert_non_null(strstr(out.data, "class=\"band\""));
    assert_non_null(strstr(out.data, "class=\"line\""));
    assert_null(strstr(out.data, "class=\"dots\""));
    assert_non_null(strstr(out.data, "window never reached"));
    assert_true(out.length < 20000);
    text_finish(&out);
    free(samples);
    free(scratch);
}

TEST(odd_series_do_not_break)
{
    static const int64_t one[] = {7}, zeros[] = {0, 0, 0}, wild[] = {-1, INT64_MAX, INT64_MIN, 5};
    const struct chart_series series[] = {
        {.sample_ns = one, .count = 1, .iterations = 1, .has_window = true},
        {.sample_ns = zeros, .count = 3, .iterations = 1, .has_window = true, .window_from = 2},
        {.sample_ns = wild, .count = 4, .iterations = 3, .has_steady = true, .steady_from = 99},
        {.count = 0, .iterations = 1},
    };
    int64_t scratch[4];
    struct number_unit unit = {1, "ns"};

    for (size_t i = 0; i < sizeof(series) / sizeof(series[0]); ++i) {
        struct chart_range range = {0, 1};
        struct text out;

        assert_int_equal(chart_range_of(&series[i], 1, scratch, &range), series[i].count > 0);
        text_init(&out);
        assert_true(chart_time_series(&out, "t", "x", &series[i], &range, &unit, 2));
        assert_null(strstr(out.data, "nan"));
        assert_null(strstr(out.data, "inf"));
        text_finish(&out);
    }
}

TEST(parts_add_up)
{
    static const struct chart_part parts[] = {
        {"forward", 250, 0}, {"back<ward", 700, 1}, {"skipped", -1, 2}, {"rest", 50, CHART_SLOTS}};
    struct number_unit unit = {1, "ns"};
    struct text out;

    text_init(&out);
    chart_parts(&out, "p", "Stages", parts, 4, &unit);
    assert_non_null(strstr(out.data, "x=\"0\" width=\"248.5\" class=\"s0\""));
    assert_non_null(strstr(out.data, "x=\"250\" width=\"698.5\" class=\"s1\""));
    assert_non_null(strstr(out.data, "x=\"950\" width=\"48.5\" class=\"s8\""));
    assert_non_null(strstr(out.data, "back&lt;ward: 700.0 ns, 70 %"));
    assert_null(strstr(out.data, "class=\"s2\""));
    text_clear(&out);
    chart_parts(&out, "p", "Stages", parts + 2, 1, &unit);
    assert_string_equal(out.data, "");
    text_finish(&out);
}

/* A gap breaks the line, untrusted text is escaped, and spikes of long series stay. */
TEST(strips)
{
    static const double s[] = {0, 1, 2, 3, 4}, gap[] = {5, 6, NAN, 7, NAN},
                        level[] = {3, 3, 3, 3, 3}, none[] = {NAN, NAN, NAN, NAN, NAN};
    double *times = calloc(5000, sizeof(*times)), *values = calloc(5000, sizeof(*values));
    struct chart_strip strips[] = {{"power <b>", "W", s, gap, 5},
                                   {"level", "W", s, level, 5},
                                   {"long", "", times, values, 5000},
                                   {"silent", "rpm", s, none, 5}};
    struct text out;

    for (int i = 0; i < 5000; ++i) {
        times[i] = i / 1250.0;
        values[i] = i == 4321 ? 1000 : 1;
    }
    text_init(&out);
    assert_true(chart_strips(&out, "x", "Beside", strips, 4, 1, 3, 4));
    assert_non_null(strstr(out.data, "power &lt;b&gt;"));
    assert_null(strstr(out.data, "<b>"));
    assert_null(strstr(out.data, "nan"));
    assert_non_null(strstr(out.data, "4 channels over 4 s: power &lt;b&gt; from 5.00 to 7.00 W"));
    assert_non_null(strstr(out.data, "silent has no value"));
    assert_non_null(strstr(out.data, ">no value</text>"));
    assert_null(strstr(out.data, "rpm")); /* a missing value is not 0 */
    assert_non_null(strstr(out.data, ">1000 <"));
    assert_true(out.length < 12000);
    text_finish(&out);
    free(times);
    free(values);
}

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "reports/plot.h"
#include "reports/serving_table.h"
#include "tests/support/unit.h"

static const struct number_unit GIGA = {1e9, "GB/s"}, NONE = {1, ""};

/* The numbers that follow `before` (an attribute), in their order. */
static size_t numbers_of(const char *svg, const char *before, double *ret, size_t capacity)
{
    size_t count = 0;

    for (const char *at = svg; (at = strstr(at, before)) != NULL && count < capacity; ++count)
        assert_int_equal(sscanf(at += strlen(before), "%lf", &ret[count]), 1);
    return count;
}

TEST(logarithmic_scales_map_decades_alike)
{
    const struct scale scale = {.lo = 1, .hi = 1000, .from = 0, .to = 300, .logarithmic = true};
    double ticks[12];
    size_t count;

    assert_float_equal(scale_map(&scale, 10), 100, 1e-9);
    assert_float_equal(scale_map(&scale, 100), 200, 1e-9);
    assert_float_equal(scale_map(&scale, 0), 0, 1e-9);
    assert_float_equal(scale_map(&scale, -5), 0, 1e-9);
    count = scale_ticks_logarithmic(1, 1000, ticks, 12);
    assert_int_equal(count, 4);
    assert_float_equal(ticks[3], 1000, 1e-6);
    count = scale_ticks_logarithmic(1.5, 30, ticks, 12);
    assert_int_equal(count, 4); /* 2 5 10 20 */
    assert_float_equal(ticks[0], 2, 1e-9);
    assert_float_equal(ticks[3], 20, 1e-9);
    assert_true(scale_ticks_logarithmic(1e-300, 1e300, ticks, 12) <= 12);
    assert_int_equal(scale_ticks_logarithmic(0, 10, ticks, 12), 0);
    assert_int_equal(scale_ticks_logarithmic(5, 5, ticks, 12), 0);
}

TEST(axes_cover_what_they_can_show)
{
    struct plot_axis linear = plot_axis_new("x", NONE, false);
    struct plot_axis decades = plot_axis_new("x", NONE, true);

    plot_cover(&linear, NAN);
    plot_cover(&linear, INFINITY);
    plot_round(&linear); /* nothing: still an axis */
    assert_true(linear.scale.hi > linear.scale.lo);
    plot_cover(&decades, 0);
    plot_cover(&decades, -1);
    plot_cover(&decades, 100);
    plot_round(&decades);
    assert_true(decades.scale.lo > 50 && decades.scale.lo < 100 && decades.scale.hi > 100);
    linear = plot_axis_new("x", NONE, false);
    plot_cover(&linear, 5);
    plot_cover(&linear, 100);
    plot_round(&linear);
    assert_float_equal(linear.scale.lo, 0, 1e-12); /* 0 is near */
    linear = plot_axis_new("x", NONE, false);
    plot_cover(&linear, -3);
    plot_cover(&linear, 2);
    plot_round(&linear);
    assert_true(linear.scale.lo < -3 && linear.scale.lo > -4 && linear.scale.hi > 2);
}

TEST(rows_show_values_intervals_and_reasons)
{
    const struct plot_row rows[] = {
        {"one <b>",
         "10.0 GB/s \xc2\xb1"
         "20 %",
         10e9, 8e9, 12e9, false, false},
        {"two", "(20.0 GB/s)", 20e9, NAN, NAN, true, true},
        {"three", "no result", NAN, NAN, NAN, false, false},
    };
    const struct plot_rows plot = {.heading = "Results & <more>",
                                   .description = "Three <rows>",
                                   .rows = rows,
                                   .count = 3,
                                   .axis = plot_axis_new("GB/s", GIGA, false),
                                   .reference = NAN,
                                   .band_lo = NAN,
                                   .band_hi = NAN};
    double cx[8], from, y, to;
    struct text out;
    const char *whisker;

    text_init(&out);
    plot_rows(&out, "f", &plot);
    assert_non_null(strstr(out.data, "one &lt;b&gt;"));
    assert_non_null(strstr(out.data, "Three &lt;rows&gt;"));
    assert_non_null(strstr(out.data, "class=\"zone bad\">no result"));
    assert_null(strstr(out.data, "<b>"));
    assert_null(strstr(out.data, "nan"));
    /* Two marks, of which the second is hollow, and one interval around the first. */
    assert_int_equal(numbers_of(out.data, "cx=\"", cx, 8), 2);
    assert_non_null(strstr(out.data, "class=\"mean hollow\""));
    assert_true(cx[0] < cx[1] && cx[0] > 0 && cx[1] < CHART_WIDTH);
    whisker = strstr(out.data, "\" class=\"whisker\"");
    assert_non_null(whisker);
    while (strncmp(whisker, "<path d=\"M", 10) != 0)
        --whisker;
    assert_int_equal(sscanf(whisker, "<path d=\"M%lf %lfL%lf", &from, &y, &to), 3);
    assert_true(from < cx[0] && to > cx[0]);
    /* The interval is as wide to both sides as the value and its ends say. */
    assert_true(fabs((cx[0] - from) - (to - cx[0])) < 0.2);
    assert_true(fabs((cx[1] - cx[0]) / (to - cx[0]) - 5) < 0.05);
    assert_non_null(strstr(out.data, ">20</text>"));
    text_finish(&out);
}

/* One interval of decades leaves the axis to the others, and says that it goes on. */
TEST(a_wide_interval_does_not_hide_the_others)
{
    const struct plot_row rows[] = {
        {"a_name_that_is_far_too_long_for_the_width_of_a_chart fp32 batch 16", "10", 10, 9, 11,
         false, false},
        {"b", "20", 20, 1e-3, 1e9, true, false},
    };
    const struct plot_rows plot = {.heading = "h",
                                   .description = "d",
                                   .rows = rows,
                                   .count = 2,
                                   .axis = plot_axis_new(NULL, NONE, false),
                                   .reference = NAN,
                                   .band_lo = NAN,
                                   .band_hi = NAN};
    double cx[4];
    struct text out;

    text_init(&out);
    plot_rows(&out, "w", &plot);
    assert_int_equal(numbers_of(out.data, "cx=\"", cx, 4), 2);
    assert_true(cx[1] - cx[0] > 25);
    assert_non_null(strstr(out.data, "class=\"off\""));
    assert_non_null(strstr(out.data, "fp32 batch 16</text>"));
    assert_non_null(strstr(out.data, "a_name_that"));
    assert_null(strstr(out.data, "too_long_for_the_width"));
    text_finish(&out);
}

TEST(points_stay_inside_and_labels_apart)
{
    struct plot_point points[40];
    struct plot_curve curves[] = {
        {.name = "fp32 <i>", .slot = 1, .line = true, .dots = true, .points = points, .count = 40},
        {.slot = PLOT_ACCENT, .dots = true, .points = points, .count = 1}};
    static const double batches[] = {1, 8, 64};
    struct plot_xy plot = {.heading = "Rate over batch",
                           .description = "d",
                           .x = plot_axis_new("batch", NONE, true),
                           .y = plot_axis_new("GB/s", GIGA, false),
                           .curves = curves,
                           .count = 2};
    double cx[64], cy[64];
    size_t count;
    struct text out;

    plot.x.ticks = batches;
    plot.x.tick_count = 3;
    for (size_t i = 0; i < 40; ++i) {
        points[i] = plot_point_at(1 + (double)(i % 3) * 1e-6, 1e9);
        points[i].label = "all at one place";
        points[i].title = "t";
    }
    points[7] = plot_point_at(64, NAN);
    points[8] = plot_point_at(-1, 5e9); /* not on a logarithmic axis */
    points[9].y_lo = 0.5e9;
    points[9].y_hi = 1.5e9;
    points[10].hollow = true;
    text_init(&out);
    plot_xy(&out, "b", &plot);
    count = numbers_of(out.data, "cx=\"", cx, 64);
    assert_int_equal(count, 38 + 1 + 1); /* two are not on the axes; one is in the legend */
    assert_int_equal(numbers_of(out.data, "cy=\"", cy, 64), count);
    for (size_t i = 0; i < count; ++i)
        assert_true(cx[i] >= 0 && cx[i] <= CHART_WIDTH && cy[i] >= 0 && cy[i] <= 220);
    assert_non_null(strstr(out.data, "fp32 &lt;i&gt;"));
    assert_null(strstr(out.data, "<i>"));
    assert_null(strstr(out.data, "nan"));
    assert_non_null(strstr(out.data, "class=\"curve t1\""));
    assert_non_null(strstr(out.data, "class=\"point s1 hollow\""));
    assert_non_null(strstr(out.data, ">8</text>"));
    /* 40 labels at one place: a few of them fit around it. */
    count = 0;
    for (const char *at = out.data; (at = strstr(at, ">all at one place<")) != NULL; ++at)
        ++count;
    assert_true(count >= 1 && count < 8);
    text_finish(&out);
}

/* Of rates from 10 to 40/s. */
static void assert_capacity(struct capacity_result capacity, const char *wanted)
{
    struct text out;

    text_init(&out);
    serving_capacity_words(&out, &capacity, 10, 40);
    assert_string_equal(out.data ? out.data : "", wanted);
    text_finish(&out);
}

TEST(words_say_which_rates_leave_a_capacity_open)
{
    assert_capacity((struct capacity_result){CAPACITY_WITHIN, 25, 22.25, 28, 20, 30},
                    "It serves 22.2 to 28 requests/s within the limits.");
    assert_capacity((struct capacity_result){CAPACITY_AT_LEAST, NAN, 40, NAN, 40, NAN},
                    "It serves at least 40 requests/s within the limits; no rate was high enough "
                    "to miss them.");
    assert_capacity(
        (struct capacity_result){CAPACITY_AT_LEAST, 35, 32, NAN, 30, NAN},
        "It serves at least 32 requests/s within the limits; at rates up to 40/s they are "
        "not shown to be missed.");
    assert_capacity((struct capacity_result){CAPACITY_AT_MOST, NAN, NAN, 10, NAN, 10},
                    "It serves less than 10 requests/s within the limits; no rate was low enough "
                    "to keep them.");
    assert_capacity(
        (struct capacity_result){CAPACITY_AT_MOST, 12, NAN, 17, NAN, 20},
        "It serves at most 17 requests/s within the limits; at rates down to 10/s they are "
        "not shown to be kept.");
    assert_capacity((struct capacity_result){CAPACITY_INCONCLUSIVE, NAN, NAN, NAN, NAN, NAN}, "");
}

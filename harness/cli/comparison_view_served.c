/* Changes of attainment and capacity in words. */
#include <math.h>

#include "harness/cli/comparison_view.h"
#include "harness/core/number.h"

/* "98.2 %", "93 /s", "at least 80 /s". */
static void append_figure(struct text *out, enum compare_figure figure,
                          const struct served_figure *f)
{
    const double scale = figure == COMPARE_ATTAINMENT ? 100 : 1;
    const double value = !isnan(f->value) ? f->value : !isnan(f->lo) ? f->lo : f->hi;
    char number[NUMBER_SIZE];

    if (isnan(f->value))
        text_append(out, isnan(f->lo) ? "at most " : "at least ");
    text_append_format(out, "%s %s", number_format_digits(scale * value, 4, number),
                       figure == COMPARE_ATTAINMENT ? "%" : "/s");
}

static void append_end(struct text *out, double scale, double value)
{
    char number[NUMBER_SIZE];

    text_append(out, isnan(value) ? "unknown" : number_format_digits(scale * value, 3, number));
}

void comparison_view_append_change(struct text *out, const struct stored_comparison *comparison)
{
    const enum compare_figure figure = comparison->figure;
    const struct served_change *change = &comparison->change;
    const double scale = figure == COMPARE_ATTAINMENT ? 100 : 1;

    text_append_format(out, "%s ", compare_figure_name(figure));
    append_figure(out, figure, &change->a);
    text_append(out, " -> ");
    append_figure(out, figure, &change->b);
    text_append(out, figure == COMPARE_ATTAINMENT ? ", b - a " : ", b/a ");
    append_end(out, scale, change->change.value);
    text_append_format(out, "%s, %g %% interval [", figure == COMPARE_ATTAINMENT ? " points" : "",
                       100 * change->confidence);
    append_end(out, scale, change->change.lo);
    text_append(out, ", ");
    append_end(out, scale, change->change.hi);
    text_append_char(out, ']');
}

void comparison_view_append_served(struct text *out, const struct stored_comparison *comparison)
{
    const struct served_change *change = &comparison->change;
    const int verdict = served_change_verdict(comparison->figure, change);
    const char *unit = comparison->figure == COMPARE_ATTAINMENT ? " % of the requests" : " %";

    text_append_format(out, "b's %s is %s by more than %g%s\n  ",
                       compare_figure_name(comparison->figure),
                       verdict > 0   ? "not lower"
                       : verdict < 0 ? "lower"
                                     : "neither shown to be lower, nor not to be,",
                       100 * change->margin, unit);
    comparison_view_append_change(out, comparison);
    text_append(out, comparison->paired ? "\n  the intervals of both arms, taken for independent\n"
                                        : "\n  not paired: drift between the two is not "
                                          "controlled\n");
}

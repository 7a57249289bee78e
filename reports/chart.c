#include "reports/chart.h"

#include <math.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "reports/escape.h"

void chart_open(struct text *out, const char *id, double height, const char *heading,
                const char *description)
{
    text_append_format(out, "<svg class=\"chart\" viewBox=\"0 0 %d ", CHART_WIDTH);
    chart_coordinate(out, height);
    text_append_format(out, "\" role=\"img\" aria-labelledby=\"%s-t %s-d\"><title id=\"%s-t\">", id,
                       id, id);
    escape_html(out, heading);
    text_append_format(out, "</title><desc id=\"%s-d\">", id);
    escape_html(out, description);
    text_append(out, "</desc>");
}

void chart_close(struct text *out)
{
    text_append(out, "</svg>\n");
}

void chart_coordinate(struct text *out, double value)
{
    long tenths = isfinite(value) && fabs(value) < 1e6 ? lround(value * 10) : 0;

    if (tenths < 0)
        text_append_char(out, '-');
    tenths = labs(tenths);
    if (tenths % 10)
        text_append_format(out, "%ld.%ld", tenths / 10, tenths % 10);
    else
        text_append_format(out, "%ld", tenths / 10);
}

void chart_label(struct text *out, double x, double y, const char *anchor, const char *class_name,
                 const char *string)
{
    text_append(out, "<text x=\"");
    chart_coordinate(out, x);
    text_append(out, "\" y=\"");
    chart_coordinate(out, y);
    text_append_format(out, "\" text-anchor=\"%s\" class=\"%s\">", anchor, class_name);
    escape_html(out, string);
    text_append(out, "</text>");
}

void chart_line(struct text *out, double x1, double y1, double x2, double y2,
                const char *class_name)
{
    text_append(out, "<path d=\"M");
    chart_coordinate(out, x1);
    text_append_char(out, ' ');
    chart_coordinate(out, y1);
    text_append_char(out, 'L');
    chart_coordinate(out, x2);
    text_append_char(out, ' ');
    chart_coordinate(out, y2);
    text_append_format(out, "\" class=\"%s\"/>", class_name);
}

void chart_parts(struct text *out, const char *id, const char *heading,
                 const struct chart_part *parts, size_t count, const struct number_unit *unit)
{
    CLEANUP(text_finish) struct text description = TEXT_INIT;
    char value[NUMBER_SIZE], share[NUMBER_SIZE];
    double total = 0, x = 0;

    for (size_t i = 0; i < count; ++i)
        total += parts[i].ns > 0 ? parts[i].ns : 0;
    if (!(total > 0))
        return;
    for (size_t i = 0; i < count; ++i)
        text_append_format(&description, "%s%s %s (%s)", i ? ", " : "", parts[i].name,
                           number_format_unit(parts[i].ns, unit, value),
                           number_format_percent(parts[i].ns / total, share));
    text_append_format(out,
                       "<svg class=\"parts\" viewBox=\"0 0 1000 24\" preserveAspectRatio=\"none\" "
                       "role=\"img\" aria-labelledby=\"%s-t %s-d\"><title id=\"%s-t\">",
                       id, id, id);
    escape_html(out, heading);
    text_append_format(out, "</title><desc id=\"%s-d\">", id);
    escape_html(out, description.data);
    text_append(out, "</desc>");
    for (size_t i = 0; i < count; ++i) {
        double width = parts[i].ns > 0 ? parts[i].ns / total * 1000 : 0;

        if (width <= 0)
            continue;
        text_append(out, "<rect y=\"0\" height=\"24\" x=\"");
        chart_coordinate(out, x);
        text_append(out, "\" width=\"");
        chart_coordinate(out, width > 3 ? width - 1.5 : width); /* a gap separates neighbours */
        text_append_format(out, "\" class=\"s%zu\"><title>",
                           parts[i].slot < CHART_SLOTS ? parts[i].slot : (size_t)CHART_SLOTS);
        escape_html(out, parts[i].name);
        text_append_format(out, ": %s, %s</title></rect>",
                           number_format_unit(parts[i].ns, unit, value),
                           number_format_percent(parts[i].ns / total, share));
        x += width;
    }
    out->failed = out->failed || description.failed;
    chart_close(out);
}

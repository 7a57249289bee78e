#include "reports/size_words.h"

#include <math.h>
#include <string.h>

#define SIZES_MAX 64

double size_of_half_rate(const struct size_rate *rates, size_t count)
{
    double half = 0;

    for (size_t i = 0; i < count; i++)
        half = fmax(half, rates[i].rate / 2);
    for (size_t i = 0; i < count; i++) {
        const struct size_rate *above = &rates[i], *below = above - 1;
        double time, slope;

        if (!(above->rate >= half))
            continue;
        if (i == 0)
            return NAN;
        time = below->size / below->rate;
        slope = (above->size / above->rate - time) / (above->size - below->size);
        return half * (time - slope * below->size) / (1 - half * slope); /* n = half t(n) */
    }
    return NAN;
}

/* The cells of one workload with a value, by their batch. */
struct sizes {
    const struct view_cell *cells[SIZES_MAX];
    size_t count;
};

static double time_ns(const struct view_cell *cell)
{
    const struct metric_value *value = view_metric(cell, METRIC_ITERATION_TIME);

    return value && value->has_value ? value->value : NAN;
}

static bool is_kind(const struct view_cell *cell, const char *kind)
{
    return cell->kind && strcmp(cell->kind, kind) == 0;
}

static bool is_first(const struct view *view, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (view_same_work(&view->cells[i], &view->cells[index]))
            return false;
    return true;
}

static struct sizes sizes_of(const struct view *view, size_t index)
{
    struct sizes sizes = {.count = 0};

    for (size_t k = index; k < view->cell_count && sizes.count < SIZES_MAX; k++) {
        const struct view_cell *cell = &view->cells[k];
        size_t at = sizes.count;

        if (!view_same_work(&view->cells[index], cell) || !cell->batch.known ||
            cell->batch.value < 1 || !(time_ns(cell) > 0))
            continue;
        for (; at > 0 && sizes.cells[at - 1]->batch.value > cell->batch.value; at--)
            sizes.cells[at] = sizes.cells[at - 1];
        sizes.cells[at] = cell;
        sizes.count++;
    }
    return sizes;
}

static void say_launches(struct doc *doc, const struct sizes *sizes)
{
    char time[TEXT_HUMAN_SIZE];

    for (size_t i = 0; i < sizes->count; i++) {
        const struct view_cell *cell = sizes->cells[i];
        const long long batch = (long long)cell->batch.value;
        const bool waits = cell->scenario && strcmp(cell->scenario, "single_stream") == 0;

        text_human_duration(time_ns(cell) / (double)batch, time);
        if (batch == 1)
            doc_add(doc, "%sa launch takes %s%s", i ? "; " : "", time,
                    waits ? "" : " where none is waited for");
        else
            doc_add(doc, "%s%lld in a row %s each", i ? "; " : "", batch, time);
    }
}

static void say_copies(struct doc *doc, const struct sizes *sizes)
{
    struct size_rate rates[SIZES_MAX];
    char size[TEXT_HUMAN_SIZE], time[TEXT_HUMAN_SIZE];
    size_t best = 0;
    struct view_figure figure;
    double half;

    for (size_t i = 0; i < sizes->count; i++) {
        const double bytes = (double)sizes->cells[i]->batch.value;

        rates[i] = (struct size_rate){bytes, bytes / time_ns(sizes->cells[i])};
        best = rates[i].rate > rates[best].rate ? i : best;
    }
    doc_add(doc, "a copy of %s takes %s", text_human_bytes(rates[0].size, size),
            text_human_duration(time_ns(sizes->cells[0]), time));
    if (best > 0 && view_figure_of(METRIC_BYTE_RATE,
                                   view_metric(sizes->cells[best], METRIC_BYTE_RATE), &figure))
        doc_add(doc, "; of %s it reaches %s", text_human_bytes(rates[best].size, size),
                figure.value);
    half = size_of_half_rate(rates, sizes->count);
    if (isfinite(half))
        doc_add(doc, ", half of that from about %s on", text_human_bytes(half, size));
}

/* Values of grade D, as tables have them in parentheses. */
static bool is_indication(const struct sizes *sizes)
{
    struct view_figure figure;

    for (size_t i = 0; i < sizes->count; i++)
        if (view_headline_figure(sizes->cells[i], &figure) && figure.marked)
            return true;
    return false;
}

void size_words(struct doc *doc, const struct view *view)
{
    for (size_t i = 0; i < view->cell_count; i++) {
        const struct view_cell *cell = &view->cells[i];
        const bool launches = is_kind(cell, "launch");
        const struct sizes sizes = (launches || is_kind(cell, "transfer")) && is_first(view, i)
                                       ? sizes_of(view, i)
                                       : (struct sizes){.count = 0};

        if (sizes.count == 0)
            continue;
        doc_add(doc, "%s on %s%s%s: ", cell->workload, cell->device_spec, cell->arm ? ", arm " : "",
                cell->arm ? cell->arm : "");
        if (launches)
            say_launches(doc, &sizes);
        else
            say_copies(doc, &sizes);
        doc_say(doc, NULL, "%s.", is_indication(&sizes) ? " (indications only)" : "");
    }
}

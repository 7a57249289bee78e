/* Results that belong together in one picture: by precision, by batch, under measured ceilings. */
#include "reports/html_pictures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "reports/escape.h"
#include "reports/html_serving.h"
#include "reports/plot.h"

#define FAMILY_MAX 64 /* results of one picture; the table has all */

/* What two results must share to be in one picture, apart from what the picture varies. */
static bool is_family(const struct view_cell *a, const struct view_cell *b)
{
    return a->campaign == b->campaign && text_same(a->workload, b->workload) &&
           text_same(a->device_spec, b->device_spec) &&
           text_same(a->implementation, b->implementation) && text_same(a->scenario, b->scenario) &&
           text_same(a->protocol_digest, b->protocol_digest);
}

static bool has_value(const struct view_cell *cell)
{
    enum metric_id id;

    return view_headline(cell, &id) && !cell->imported.present;
}

struct family {
    const struct view *view;
    const struct html_error *errors;
    size_t cells[FAMILY_MAX], count;
};

static const struct view_cell *member(const struct family *family, size_t i)
{
    return &family->view->cells[family->cells[i]];
}

static void append_sources(struct text *out, const struct family *family)
{
    for (size_t i = 0; i < family->count; ++i) {
        text_append(out, i ? ", <a href=\"#" : "<a href=\"#");
        html_result_id(out, member(family, i));
        text_append(out, "\">");
        escape_html(out, member(family, i)->result);
        text_append(out, "</a>");
    }
}

/* `what` is ours; the figures of `body` belong below it. `batch` NULL: of several workloads. */
static void append_part(struct text *out, const struct family *family, const char *what,
                        const char *batch, struct text *body, const char *caption)
{
    const struct view_cell *first = member(family, 0);

    text_append_format(out, "<section class=\"picture\"><h3>%s ", what);
    if (batch) {
        escape_html_short(out, first->workload ? first->workload : "workload not recorded", 64);
        escape_html(out, batch);
    }
    text_append(out, " <span class=\"soft\">");
    escape_html_short(out, first->device.name ? first->device.name : "device not recorded", 60);
    text_append(out, first->device.simulated ? ", simulated" : "");
    text_append(out, "</span></h3>\n<div class=\"charts\">\n");
    text_append_bytes(out, body->data, body->length);
    text_append_format(out, "</div>\n<p class=\"soft\"><small>%s Results ", caption);
    append_sources(out, family);
    text_append(out, ".</small></p></section>\n");
    out->failed = out->failed || body->failed;
}

/* ---- precision ---- */

static bool has_precision(const struct family *family, const char *precision)
{
    for (size_t i = 0; i < family->count; ++i)
        if (text_same(member(family, i)->precision, precision))
            return true;
    return false;
}

/* The picture of one quantity by precision; nothing where fewer than two have it. */
static void append_ladder(struct text *out, const struct family *family, const char *heading,
                          const char *id, struct plot_row *rows, struct number_unit unit,
                          bool logarithmic)
{
    struct plot_rows plot = {.heading = heading,
                             .description = "A row per precision, a mark with its interval.",
                             .rows = rows,
                             .count = family->count,
                             .axis = plot_axis_new(NULL, unit, logarithmic),
                             .reference = NAN,
                             .band_lo = NAN,
                             .band_hi = NAN};
    size_t known = 0;

    for (size_t i = 0; i < family->count; ++i)
        known += isfinite(rows[i].at);
    if (known < 2)
        return;
    text_append(out, "<figure>");
    plot_rows(out, id, &plot);
    text_append(out, "</figure>\n");
}

static void append_metric_ladder(struct text *out, const struct family *family, enum metric_id id,
                                 const char *heading, const char *svg_id)
{
    struct plot_row rows[FAMILY_MAX];
    char values[FAMILY_MAX][HTML_ROW_SIZE];
    struct metric_value largest = {.value = 0};

    for (size_t i = 0; i < family->count; ++i) {
        const struct view_cell *cell = member(family, i);

        rows[i] = html_row_of(cell, id, cell->precision ? cell->precision : "?", values[i]);
        if (rows[i].at > largest.value)
            largest = *view_metric(cell, id);
    }
    if (largest.value > 0)
        append_ladder(out, family, heading, svg_id, rows, view_metric_unit(id, &largest), false);
}

struct html_error html_worst_error(const struct view_cell *cell)
{
    struct html_error worst = {.value = NAN};
    const struct view_check *first = NULL;

    /* Of the first output that is compared by a distance: others count, or bound. */
    for (size_t t = 0; t < cell->trial_count; ++t)
        for (size_t i = 0; i < cell->trials[t].check_count; ++i) {
            const struct view_check *check = &cell->trials[t].checks[i];

            if (!check->metric || !check->output || !isfinite(check->error) ||
                (strcmp(check->metric, "normalised_rms") && strcmp(check->metric, "max_scaled")))
                continue;
            if (!first)
                first = check;
            if (strcmp(check->metric, first->metric) || strcmp(check->output, first->output))
                continue;
            worst.value = fmax(isnan(worst.value) ? 0 : worst.value, check->error);
        }
    if (first)
        snprintf(worst.metric, sizeof(worst.metric), "%s", first->metric);
    return worst;
}

static void append_error_ladder(struct text *out, const struct family *family, const char *svg_id)
{
    struct plot_row rows[FAMILY_MAX];
    char values[FAMILY_MAX][NUMBER_SIZE], heading[96];
    const char *metric = NULL;

    for (size_t i = 0; i < family->count; ++i) {
        const struct html_error *error = &family->errors[family->cells[i]];
        const bool alike = !metric || !strcmp(metric, error->metric);
        const bool known = isfinite(error->value) && error->value > 0 && alike;

        if (known)
            metric = error->metric;
        rows[i] = (struct plot_row){
            .label = member(family, i)->precision ? member(family, i)->precision : "?",
            .value = known ? number_format_scientific(error->value, values[i])
                     : alike && error->value == 0 ? "0: not on this scale"
                                                  : "not measured alike",
            .at = known ? error->value : NAN,
            .lo = NAN,
            .hi = NAN};
    }
    snprintf(heading, sizeof(heading), "Largest error (%.40s)", metric ? metric : "none");
    append_ladder(out, family, heading, svg_id, rows, (struct number_unit){1, ""}, true);
}

/* The energy that says most of the work: of an item, else of an operation, a byte, an iteration. */
static enum metric_id energy_of(const struct family *family)
{
    static const enum metric_id ids[] = {METRIC_ENERGY_ITEM, METRIC_ENERGY_OP, METRIC_ENERGY_BYTE};

    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); ++i) {
        const struct metric_value *value = view_metric(member(family, 0), ids[i]);

        if (value && value->has_value)
            return ids[i];
    }
    return METRIC_ENERGY_ITERATION;
}

static void append_precisions(struct text *out, const struct family *family, size_t number)
{
    enum metric_id id = METRIC_ITERATION_TIME;
    char batch[40] = "", svg_id[32];
    CLEANUP(text_finish) struct text body = TEXT_INIT;

    view_headline(member(family, 0), &id);
    snprintf(svg_id, sizeof(svg_id), "precision-%zu-s", number);
    append_metric_ladder(&body, family, id, "Speed", svg_id);
    svg_id[strlen(svg_id) - 1] = 'j';
    append_metric_ladder(&body, family, energy_of(family), "Energy of work", svg_id);
    svg_id[strlen(svg_id) - 1] = 'e';
    append_error_ladder(&body, family, svg_id);
    if (member(family, 0)->batch.known && member(family, 0)->batch.value != 1)
        snprintf(batch, sizeof(batch), " batch %lld", (long long)member(family, 0)->batch.value);
    if (body.length > 0)
        append_part(out, family, "By precision:", batch, &body,
                    "What a precision gains, and what it costs in accuracy: errors are measured "
                    "against the fp64 reference, on a logarithmic scale.");
}

/* ---- batch, or another number that was set ---- */

/* The arm's variable that is a number, "NAME=VALUE" or NULL, of what it was given. */
static const char *number_setting(const struct view_cell *cell)
{
    EACH(one, json_object_get(json_object_get(cell->root, "arm_settings"), "environment")) {
        const char *setting = json_string_value(one),
                   *equals = setting ? strchr(setting, '=') : NULL;
        double value;

        if (equals && text_parse_double(equals + 1, &value))
            return setting;
    }
    return NULL;
}

/* What a curve is drawn over, in words, and where a result stands on it; false: nowhere. */
struct sweep {
    const char *noun; /* "batch", "OMP_NUM_THREADS" */
    bool (*x)(const struct view_cell *cell, double *ret);
};

static bool batch_of(const struct view_cell *cell, double *ret)
{
    *ret = (double)cell->batch.value;
    return cell->batch.known;
}

static bool number_of(const struct view_cell *cell, double *ret)
{
    const char *setting = number_setting(cell);

    return setting && text_parse_double(strchr(setting, '=') + 1, ret);
}

/* What else tells curves apart: "bf16", "fp32, batch 8, OMP_PROC_BIND=close". New; NULL: no memory.
 */
static char *curve_name(const struct view_cell *cell, const struct sweep *sweep)
{
    const char *drawn = sweep->x == number_of ? number_setting(cell) : NULL;
    CLEANUP(text_finish) struct text name = TEXT_INIT;

    text_append(&name, cell->precision ? cell->precision : "?");
    if (drawn && cell->batch.known && cell->batch.value != 1)
        text_append_format(&name, ", batch %lld", (long long)cell->batch.value);
    EACH(one, json_object_get(json_object_get(cell->root, "arm_settings"), "environment"))
        if (json_string_value(one) != drawn)
            text_append_format(&name, ", %s", json_string_value(one));
    return text_ok(&name) ? strdup(name.data) : NULL;
}

/* The curves of one picture and what they are made of. */
struct curves {
    struct plot_point *points;
    char *names[CHART_SLOTS]; /* heap */
    struct plot_curve list[CHART_SLOTS];
    size_t used, count;
    double ticks[FAMILY_MAX];
    size_t tick_count;
    struct metric_value largest;
};

static void curves_finish(struct curves *curves)
{
    free(curves->points);
    for (size_t i = 0; i < CHART_SLOTS; ++i)
        free(curves->names[i]);
}

static void add_tick(struct curves *curves, double x)
{
    for (size_t i = 0; i < curves->tick_count; ++i)
        if (curves->ticks[i] == x)
            return;
    curves->ticks[curves->tick_count++] = x;
}

static void add_point(struct curves *curves, const struct view_cell *cell, enum metric_id id,
                      const struct sweep *sweep)
{
    const struct metric_value *value = view_metric(cell, id);
    struct plot_point *point = &curves->points[curves->used];
    double x;

    if (!value || !value->has_value || !sweep->x(cell, &x))
        return;
    if (value->value > curves->largest.value)
        curves->largest = *value;
    *point = plot_point_at(x, value->value);
    point->title = cell->result;
    point->hollow = value->grade == METRIC_GRADE_D;
    if (value->has_interval) {
        point->y_lo = value->lo;
        point->y_hi = value->hi;
    }
    add_tick(curves, x);
    ++curves->used;
}

/* The curve of the i-th member and of those after it that have its name. False: no memory. */
static bool add_curve(struct curves *curves, const struct family *family, size_t i, bool *done,
                      enum metric_id id, const struct sweep *sweep)
{
    const size_t from = curves->used;
    char *name = curve_name(member(family, i), sweep);

    curves->names[curves->count] = name;
    for (size_t k = i; name && k < family->count; ++k) {
        AUTO_FREE char *other = curve_name(member(family, k), sweep);

        if (!text_same(other, name))
            continue;
        done[k] = true;
        add_point(curves, member(family, k), id, sweep);
    }
    if (!name || curves->used == from)
        return name != NULL;
    qsort(curves->points + from, curves->used - from, sizeof(*curves->points), plot_points_by_x);
    curves->list[curves->count] = (struct plot_curve){.name = name,
                                                      .slot = curves->count,
                                                      .line = true,
                                                      .dots = true,
                                                      .points = curves->points + from,
                                                      .count = curves->used - from};
    ++curves->count;
    return true;
}

/* One metric over what was swept, a curve for all else; nothing with fewer than two values. */
static void append_over(struct text *out, const struct family *family, const struct sweep *sweep,
                        enum metric_id id, const char *heading, const char *svg_id)
{
    CLEANUP(curves_finish)
    struct curves curves = {.points = calloc(FAMILY_MAX, sizeof(*curves.points))};
    bool done[FAMILY_MAX] = {false};

    out->failed = out->failed || !curves.points;
    for (size_t i = 0; !out->failed && i < family->count && curves.count < CHART_SLOTS; ++i)
        out->failed = !done[i] && !add_curve(&curves, family, i, done, id, sweep);
    if (curves.tick_count > 1 && curves.largest.value > 0) {
        const struct number_unit unit = view_metric_unit(id, &curves.largest);
        struct plot_xy plot = {.heading = heading,
                               .description = "A mark per result with its interval, a line for "
                                              "what else is alike.",
                               .curves = curves.list,
                               .count = curves.count};

        plot.x = plot_axis_new(sweep->noun, (struct number_unit){1, ""}, true);
        plot.x.ticks = curves.ticks;
        plot.x.tick_count = curves.tick_count;
        plot.y = plot_axis_new(unit.name, unit, false);
        text_append(out, "<figure>");
        plot_xy(out, svg_id, &plot);
        text_append(out, "</figure>\n");
    }
}

static void append_sweep(struct text *out, const struct family *family, const struct sweep *sweep,
                         const char *caption, size_t number)
{
    enum metric_id id = METRIC_ITERATION_TIME;
    CLEANUP(text_finish) struct text body = TEXT_INIT;
    CLEANUP(text_finish) struct text what = TEXT_INIT;
    AUTO_FREE char *heading = text_format("Rate over %s", sweep->noun);
    char svg_id[40];

    view_headline(member(family, 0), &id);
    text_append(&what, "By ");
    escape_html(&what, sweep->noun);
    text_append_char(&what, ':');
    out->failed = out->failed || !text_ok(&what) || !heading;
    if (out->failed)
        return;
    snprintf(svg_id, sizeof(svg_id), "%s-%zu-r", sweep->x == batch_of ? "batch" : "setting",
             number);
    if (id != METRIC_ITERATION_TIME)
        append_over(&body, family, sweep, id, heading, svg_id);
    svg_id[strlen(svg_id) - 1] = 't';
    memcpy(heading, "Time", strlen("Time"));
    append_over(&body, family, sweep, METRIC_ITERATION_TIME, heading, svg_id);
    if (body.length > 0)
        append_part(out, family, what.data, "", &body, caption);
}

static void append_batches(struct text *out, const struct family *family, size_t number)
{
    append_sweep(out, family, &(struct sweep){"batch", batch_of},
                 "A larger batch does more work at a time and takes longer to answer: both "
                 "together say which one a load wants.",
                 number);
}

static void append_settings(struct text *out, const struct family *family, size_t number)
{
    const char *setting = number_setting(member(family, 0));
    AUTO_FREE char *name = strndup(setting, strcspn(setting, "="));

    out->failed = out->failed || !name;
    if (name)
        append_sweep(out, family, &(struct sweep){name, number_of},
                     "One setting, with each of its values, measured in turns.", number);
}

/* ---- roofline ---- */

/*
 * Arithmetic operations for each byte: of the declared traffic, else of the working set, which is
 * the least that an iteration can move. NAN: unknown.
 */
static double intensity_of(const struct view_cell *cell)
{
    const struct view_count *bytes = cell->bytes.known ? &cell->bytes : &cell->working_set_bytes;

    return cell->flops.known && cell->flops.value > 0 && bytes->known && bytes->value > 0
               ? (double)cell->flops.value / (double)bytes->value
               : NAN;
}

static double rate_of(const struct view_cell *cell, enum metric_id id)
{
    const struct metric_value *value = view_metric(cell, id);

    return value && value->has_value ? value->value : NAN;
}

/* Has a place under the roof, which what has a rate of bytes alone is made of. */
static bool is_under_roof(const struct view_cell *cell)
{
    return isfinite(intensity_of(cell)) && isfinite(rate_of(cell, METRIC_OP_RATE));
}

/* What a roofline is drawn from: a roof and its results for each precision, in one colour. */
struct roofs {
    struct plot_curve curves[2 * CHART_SLOTS];
    struct plot_point roof[CHART_SLOTS][3], points[FAMILY_MAX];
    char *names[FAMILY_MAX];
    size_t count, used; /* roofs; points */
    double bytes, least, most;
};

static void add_roof(struct roofs *roofs, const struct family *family, const char *precision)
{
    struct plot_point *roof = roofs->roof[roofs->count], *first = &roofs->points[roofs->used];
    double ops = 0;

    for (size_t i = 0; i < family->count; ++i) {
        const struct view_cell *cell = member(family, i);
        const struct metric_value *value = view_metric(cell, METRIC_OP_RATE);
        struct plot_point *point = &roofs->points[roofs->used];

        if (!is_under_roof(cell) || !text_same(cell->precision, precision))
            continue;
        *point = plot_point_at(intensity_of(cell), value->value);
        roofs->names[roofs->used++] = html_cell_words(cell, false);
        point->label = point->title = roofs->names[roofs->used - 1];
        point->hollow = value->grade == METRIC_GRADE_D;
        if (value->has_interval) {
            point->y_lo = value->lo;
            point->y_hi = value->hi;
        }
        ops = fmax(ops, value->value);
    }
    roof[0] = plot_point_at(roofs->least, fmin(roofs->bytes * roofs->least, ops));
    roof[1] = plot_point_at(fmax(ops / roofs->bytes, roofs->least), ops);
    roof[2] = plot_point_at(fmax(roofs->most, roof[1].x), ops);
    roofs->curves[2 * roofs->count] = (struct plot_curve){
        .name = precision, .slot = roofs->count, .line = true, .points = roof, .count = 3};
    roofs->curves[2 * roofs->count + 1] =
        (struct plot_curve){.slot = roofs->count,
                            .dots = true,
                            .points = first,
                            .count = (size_t)(&roofs->points[roofs->used] - first)};
    ++roofs->count;
}

static void draw_roofs(struct text *out, const struct family *family, const struct roofs *roofs,
                       double ops, const char *op_unit, size_t number)
{
    const struct number_unit unit = number_unit_rate(ops, op_unit);
    const struct number_unit traffic = number_unit_rate(roofs->bytes, "B/s");
    const struct plot_xy plot = {
        .heading = "Arithmetic over intensity, under measured ceilings",
        .description = "A mark per result: operations per second over operations per byte. A line "
                       "per precision: the highest rates measured here.",
        .x = plot_axis_new("operations per byte", (struct number_unit){1, ""}, true),
        .y = plot_axis_new(unit.name, unit, true),
        .curves = roofs->curves,
        .count = 2 * roofs->count};
    char id[32], rate[NUMBER_SIZE];
    CLEANUP(text_finish) struct text body = TEXT_INIT, caption = TEXT_INIT;

    snprintf(id, sizeof(id), "roofline-%zu", number);
    text_append(&body, "<figure>");
    plot_xy(&body, id, &plot);
    text_append(&body, "</figure>\n");
    text_append_format(
        &caption,
        "The ceilings are measured, not declared: the slope is the most traffic that "
        "a result here came to, %s, and each level the most arithmetic in its "
        "precision. Bytes are those declared, else the working set, the least that "
        "an iteration can move; a mark above the slope was served by a cache. Both "
        "axes are logarithmic.",
        number_format_unit(roofs->bytes, &traffic, rate));
    append_part(out, family, "Limits of", NULL, &body, text_ok(&caption) ? caption.data : "");
}

static void append_roofline(struct text *out, const struct family *family, size_t number)
{
    AUTO_FREE struct roofs *roofs = calloc(1, sizeof(*roofs));
    const char *op_unit = "FLOP/s";
    double ops = 0;

    if (!roofs) {
        out->failed = true;
        return;
    }
    roofs->least = INFINITY;
    for (size_t i = 0; i < family->count; ++i) {
        const struct view_cell *cell = member(family, i);
        const double bytes = rate_of(cell, METRIC_BYTE_RATE);

        roofs->bytes = isfinite(bytes) ? fmax(roofs->bytes, bytes) : roofs->bytes;
        if (!is_under_roof(cell))
            continue;
        roofs->least = fmin(roofs->least, intensity_of(cell) / 2);
        roofs->most = fmax(roofs->most, intensity_of(cell) * 2);
        if (!(rate_of(cell, METRIC_OP_RATE) > ops))
            continue;
        ops = rate_of(cell, METRIC_OP_RATE);
        op_unit = view_metric(cell, METRIC_OP_RATE)->unit;
    }
    for (size_t i = 0; i < family->count && roofs->count < CHART_SLOTS; ++i) {
        const struct view_cell *cell = member(family, i);
        bool seen = !is_under_roof(cell) || !(roofs->bytes > 0);

        for (size_t k = 0; k < i && !seen; ++k)
            seen = is_under_roof(member(family, k)) &&
                   text_same(member(family, k)->precision, cell->precision);
        if (!seen)
            add_roof(roofs, family, cell->precision);
    }
    if (roofs->count > 0)
        draw_roofs(out, family, roofs, ops, op_unit, number);
    for (size_t i = 0; i < roofs->used; ++i)
        free(roofs->names[i]);
}

/* ---- all of them ---- */

enum picture { PICTURE_PRECISION, PICTURE_BATCH, PICTURE_SETTING, PICTURE_ROOFLINE, PICTURE_COUNT };

static bool same_variable(const struct view_cell *a, const struct view_cell *b)
{
    const char *of_a = number_setting(a), *of_b = number_setting(b);
    const size_t length = strcspn(of_a, "=");

    return of_b && strcspn(of_b, "=") == length && !strncmp(of_a, of_b, length);
}

/* Arms stand in the picture of what was set; in the others they would stand on each other. */
static bool is_for(enum picture picture, const struct view_cell *cell)
{
    return has_value(cell) &&
           (picture == PICTURE_SETTING ? number_setting(cell) != NULL : !cell->arm);
}

static bool belongs(enum picture picture, const struct family *family, const struct view_cell *cell)
{
    const struct view_cell *first = member(family, 0);

    switch (picture) {
    case PICTURE_PRECISION:
        return is_family(first, cell) && first->batch.known == cell->batch.known &&
               first->batch.value == cell->batch.value && !has_precision(family, cell->precision);
    case PICTURE_BATCH:
        return is_family(first, cell) && cell->batch.known;
    case PICTURE_SETTING:
        return is_family(first, cell) && same_variable(first, cell);
    default:
        return first->campaign == cell->campaign &&
               text_same(first->device_spec, cell->device_spec);
    }
}

static void append_pictures(struct text *out, enum picture picture, const struct view *view,
                            const struct html_error *errors)
{
    static void (*const draw[])(struct text *, const struct family *, size_t) = {
        append_precisions, append_batches, append_settings, append_roofline};
    AUTO_FREE bool *done = calloc(view->cell_count + 1, sizeof(*done));
    size_t number = 0;

    out->failed = out->failed || !done;
    for (size_t i = 0; done && i < view->cell_count; ++i) {
        struct family family = {.view = view, .errors = errors, .cells = {i}, .count = 1};

        if (done[i] || !is_for(picture, &view->cells[i]))
            continue;
        for (size_t k = i + 1; k < view->cell_count && family.count < FAMILY_MAX; ++k)
            if (!done[k] && is_for(picture, &view->cells[k]) &&
                belongs(picture, &family, &view->cells[k])) {
                family.cells[family.count++] = k;
                done[k] = true;
            }
        if (family.count > 1)
            draw[picture](out, &family, ++number);
    }
}

void html_pictures(struct text *out, const struct view *view, const struct html_error *errors)
{
    CLEANUP(text_finish) struct text body = TEXT_INIT;

    for (int picture = 0; picture < PICTURE_COUNT; ++picture)
        append_pictures(&body, (enum picture)picture, view, errors);
    html_devices(&body, view);
    html_serving_pictures(&body, view);
    if (body.length > 0)
        text_append(out, "<h2 id=\"pictures\">Results together</h2>\n");
    text_append_bytes(out, body.data, body.length);
    out->failed = out->failed || body.failed;
}

/* What the two results of a comparison are, and the result of each by itself. */
#include "reports/comparison_document.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "reports/serving_table.h"
#include "results/analysis/pairs.h"

/* ---- as JSON ---- */

#define M(...) MEMBER(struct compared_figure, __VA_ARGS__)
static const struct member figure_members[] = {
    M(TEXT, metric, .flags = MEMBER_BORROWED),
    M(FINITE, value),
    M(REAL, lo),
    M(REAL, hi),
    M(TEXT, unit, .flags = MEMBER_BORROWED),
    M(TEXT, grade, .flags = MEMBER_BORROWED | MEMBER_NULLABLE),
};
#undef M
static const struct type figure_type = TYPE(struct compared_figure, "a figure", figure_members);

#define M(...) MEMBER(struct left_out_trial, __VA_ARGS__)
static const struct member left_out_members[] = {
    M(INTEGER, trial),
    M(TEXT, why, .flags = MEMBER_BORROWED),
};
#undef M
static const struct type left_out_type =
    TYPE(struct left_out_trial, "a trial left out", left_out_members);

static const struct type *const capacity_choices[] = {&capacity_result_type, NULL};
#define M(...) MEMBER(struct compared_arm, __VA_ARGS__)
#define NAMED(member) M(TEXT, member, .flags = MEMBER_BORROWED | MEMBER_NULLABLE)
#define COUNTED(member) M(INTEGER, member, .flags = MEMBER_NULLABLE | MEMBER_FROM_0)
static const struct member arm_members[] = {
    M(TEXT, id, .flags = MEMBER_BORROWED),
    NAMED(implementation),
    NAMED(workload),
    NAMED(precision),
    COUNTED(batch),
    NAMED(device_spec),
    NAMED(device),
    NAMED(foreign_worker),
    NAMED(verdict),
    M(RECORD, result, .of = &figure_type, .flags = MEMBER_NULLABLE,
      .has = offsetof(struct compared_arm, has_result)),
    COUNTED(planned),
    COUNTED(counted),
    M(LIST, left_out, .of = &left_out_type, .count = offsetof(struct compared_arm, left_out_count)),
    M(LIST, figures, .of = &figure_type, .count = offsetof(struct compared_arm, figure_count),
      .help = "of a server, what it is compared by; else empty"),
    M(ANY, capacity, .flags = MEMBER_NULLABLE, .choices = capacity_choices),
};
#undef COUNTED
#undef NAMED
#undef M
const struct type compared_arm_type =
    TYPE(struct compared_arm, "an arm", arm_members, .def = "arm");

json_t *comparison_arms_json(const struct comparison_arms *arms, const json_t *object)
{
    json_t *shown = json_copy((json_t *)(uintptr_t)object), *list = json_array();

    for (size_t i = 0; i < arms->view.cell_count; i++)
        json_array_append_new(list, type_to_json(&compared_arm_type, &arms->list[i]));
    json_object_set_new(shown, "arms", list);
    return shown;
}

/* ---- the figures of both ---- */

static struct compared_figure figure_of(enum metric_id id, const struct metric_value *value)
{
    return (struct compared_figure){metrics[id].id,
                                    value->value,
                                    value->has_interval ? value->lo : NAN,
                                    value->has_interval ? value->hi : NAN,
                                    value->unit,
                                    value->grade ? metric_grade_name(value->grade) : NULL};
}

/* What servers compare by at a rate. */
static bool is_compared(enum metric_id id)
{
    return id < METRIC_ITERATION_TIME && id != METRIC_LAG_P999 &&
           metrics[id].better != METRIC_NEITHER;
}

static void append_words(struct text *out, const struct view_cell *cell, enum metric_id id)
{
    const struct metric_value *value = view_metric(cell, id);
    struct view_figure figure;

    if (value && view_figure_of(id, value, &figure))
        doc_phrase(out, "\t%s%s%s", figure.value, figure.spread[0] ? " " : "", figure.spread);
    else
        doc_phrase(out, "\t-");
}

/* What servers compare by, beside their verdict; an arm that is none stays without. */
static enum status add_figures(struct store *store, const struct view_cell *cell,
                               struct compared_arm *arm, struct error *err)
{
    arm->figures = calloc(METRIC_ITERATION_TIME, sizeof(*arm->figures));
    if (!arm->figures)
        return error_no_memory(err);
    for (int id = 0; id < METRIC_ITERATION_TIME; id++) {
        const struct metric_value *value = view_metric(cell, (enum metric_id)id);

        if (value && value->has_value && is_compared((enum metric_id)id))
            arm->figures[arm->figure_count++] = figure_of((enum metric_id)id, value);
    }
    return stored_comparison_capacity(store, cell->id, &arm->capacity, err);
}

static bool are_servers(const struct comparison_arms *arms)
{
    for (size_t i = 0; i < 2; i++)
        if (i >= arms->view.cell_count || !view_metric(&arms->view.cells[i], METRIC_ATTAINMENT))
            return false;
    return true;
}

/* ---- the two results ---- */

/* Why a comparison has no time of this planned trial's last attempt; NULL: it has. */
static const char *why_left_out(const struct view_cell *cell, size_t i)
{
    const struct view_trial *trial = &cell->trials[i];

    if (i + 1 < cell->trial_count && cell->trials[i + 1].number == trial->number)
        return NULL; /* repeated by a resume */
    if (!trial->ok)
        return trial->status ? trial->status : "no end";
    if (!trial->estimate)
        return "no mean";
    return isnan(
               pairs_trial_time(cell->estimate, (size_t)(trial->estimate - cell->estimate->trials)))
               ? estimate_verdict_name(trial->estimate->verdict)
               : NULL;
}

/* "check_failed" as "check failed". */
static void append_reason(struct text *out, const char *reason)
{
    enum estimate_verdict verdict = estimate_verdict_find(reason);

    if (verdict != ESTIMATE_VERDICT_COUNT)
        doc_phrase(out, "%s", estimate_verdict_label(verdict));
    else
        doc_spaced(out, reason);
}

static void append_left_out(struct text *out, const struct view_cell *cell)
{
    const struct view_count *planned = &cell->trials_planned;
    size_t count = 0;

    for (size_t i = 0; i < cell->trial_count; i++)
        count += why_left_out(cell, i) != NULL;
    if (count == 0 || !planned->known)
        return;
    doc_phrase(out, "; %lld of %lld trials count, without",
               (long long)(planned->value - (int64_t)count), (long long)planned->value);
    for (size_t i = 0, said = 0; i < cell->trial_count; i++) {
        const char *why = why_left_out(cell, i);

        if (!why)
            continue;
        doc_phrase(out, "%s trial %lld (", said++ ? "," : "", (long long)cell->trials[i].number);
        append_reason(out, why);
        doc_phrase(out, ")");
    }
}

void comparison_level_words(struct text *out, const struct view_cell *cell)
{
    struct view_figure figure;

    if (view_headline_figure(cell, &figure))
        doc_phrase(out, "%s%s%s%s%s, %s", figure.marked ? "(" : "", figure.value,
                   figure.marked ? ")" : "", figure.spread[0] ? " " : "", figure.spread,
                   view_verdict_label(cell));
    else
        doc_phrase(out, "no result (%s)", view_verdict_label(cell));
    append_left_out(out, cell);
}

void comparison_arm_words(struct text *out, const struct view_cell *cell)
{
    CLEANUP(text_finish) struct text worker = TEXT_INIT;
    char rate[SERVING_RATE_SIZE] = "";

    doc_phrase(out, "%s %s", cell->workload ? cell->workload : "?",
               cell->precision ? cell->precision : "?");
    if (cell->batch.known && cell->batch.value != 1)
        doc_phrase(out, " batch %lld", (long long)cell->batch.value);
    if (serving_is_cell(cell, rate))
        doc_phrase(out, " at %s", rate);
    view_append_worker(cell, " by ", &worker);
    if (worker.length == 0 && view_is_vendor(cell))
        text_append(&worker, " by the vendor's library");
    doc_phrase(out, "%s%s on %s", worker.data, view_is_emulated(cell) ? ", emulated," : "",
               cell->device_spec ? cell->device_spec : "?");
    if (cell->device.name)
        doc_phrase(out, " (%s%s)", cell->device.name, cell->device.simulated ? ", simulated" : "");
    if (cell->origin.worker)
        doc_phrase(out, ", measured by the foreign worker %s", cell->origin.worker);
    out->failed = out->failed || worker.failed;
}

static enum status describe(const struct view_cell *cell, struct compared_arm *arm,
                            struct error *err)
{
    enum metric_id id = METRIC_ITERATION_TIME;
    const struct metric_value *headline = view_headline(cell, &id);

    *arm = (struct compared_arm){
        .id = cell->result,
        .implementation = cell->implementation,
        .workload = cell->workload,
        .precision = cell->precision,
        .device_spec = cell->device_spec,
        .device = cell->device.name,
        .foreign_worker = cell->origin.worker,
        .verdict = cell->estimate ? estimate_verdict_name(cell->estimate->verdict) : NULL,
        .batch = cell->batch.known ? cell->batch.value : -1,
        .planned = cell->trials_planned.known ? cell->trials_planned.value : -1,
        .has_result = headline != NULL,
        .left_out = calloc(cell->trial_count + 1, sizeof(*arm->left_out))};
    if (!arm->left_out)
        return error_no_memory(err);
    if (headline)
        arm->result = figure_of(id, headline);
    for (size_t i = 0; i < cell->trial_count; i++) {
        const char *why = why_left_out(cell, i);

        if (why)
            arm->left_out[arm->left_out_count++] =
                (struct left_out_trial){cell->trials[i].number, why};
    }
    arm->counted = arm->planned < 0 ? -1 : arm->planned - (int64_t)arm->left_out_count;
    return STATUS_OK;
}

enum status comparison_arms_load(struct store *store, const struct stored_comparison *comparison,
                                 struct comparison_arms *ret, struct error *err)
{
    CLEANUP(comparison_arms_finish) struct comparison_arms arms = {.view = {0}};

    TRY(view_load(store, comparison->cells, 2, VIEW_SUMMARY, &arms.view, err));
    for (size_t i = 0; i < arms.view.cell_count; i++)
        TRY(describe(&arms.view.cells[i], &arms.list[i], err));
    for (size_t i = 0; i < 2 && are_servers(&arms); i++)
        TRY(add_figures(store, &arms.view.cells[i], &arms.list[i], err));
    *ret = arms;
    arms = (struct comparison_arms){.view = {0}};
    return STATUS_OK;
}

void comparison_arms_finish(struct comparison_arms *arms)
{
    for (int i = 0; i < 2; i++)
        type_finish(&compared_arm_type, &arms->list[i]);
    view_finish(&arms->view);
    memset(arms, 0, sizeof(*arms));
}

/* ---- all of it ---- */

static void say_figures(struct doc *doc, const struct comparison_arms *arms)
{
    static const struct doc_column columns[] = {{"", DOC_NAME}, {"a", 0}, {"b", 0}};

    doc_table(doc, NULL, columns, sizeof(columns) / sizeof(*columns));
    for (int id = 0; id < METRIC_ITERATION_TIME; id++) {
        if (!is_compared((enum metric_id)id) || !view_any_metric(&arms->view, (enum metric_id)id))
            continue;
        doc_add(doc, "%s", metrics[id].label);
        for (int i = 0; i < 2; i++)
            append_words(&doc->block, &arms->view.cells[i], (enum metric_id)id);
        doc_end(doc, NULL);
    }
    doc_add(doc, "capacity");
    for (int i = 0; i < 2; i++) {
        const json_t *capacity = arms->list[i].capacity;
        const struct served_figure served = {member_number(capacity, "value"),
                                             member_number(capacity, "lo"),
                                             member_number(capacity, "hi")};

        doc_add(doc, capacity ? "\t" : "\t-");
        if (capacity)
            comparison_served_words(&doc->block, COMPARE_CAPACITY, &served);
    }
    doc_end(doc, NULL);
    doc_close(doc);
}

void comparison_document(struct doc *doc, const struct stored_comparison *comparison,
                         const struct comparison_arms *arms, bool details)
{
    comparison_answer(doc, &arms->view, comparison, "answer");
    comparison_levels(doc, &arms->view, comparison, true);
    if (are_servers(arms))
        say_figures(doc, arms);
    comparison_attribution(doc, comparison);
    comparison_conditions(doc, comparison);
    comparison_certainty(doc, &arms->view, comparison);
    if (details)
        comparison_fields(doc, comparison);
}

/* One result as a document: value, verdict, figures, findings. */
#include "reports/cell_document.h"

#include <math.h>
#include <stdio.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "reports/citation.h"
#include "reports/load_timeline.h"
#include "reports/remarks.h"

void cell_title(struct doc *doc, const struct view_cell *cell)
{
    AUTO_FREE char *id = phrase_result_id(cell);

    doc_say(doc, "eyebrow", "Result {link #%s %s}", id ? id : "", cell->result);
    doc_add(doc, "%s {soft %s", cell->workload ? cell->workload : "workload not recorded",
            cell->precision);
    if (cell->batch.known)
        doc_add(doc, ", batch %lld", (long long)cell->batch.value);
    doc_heading(doc, 3, NULL, "%s, %s}", cell->variant, cell->device_spec);
    if (cell->workload_description)
        doc_say(doc, "soft", "%s", cell->workload_description);
}

static void say_result(struct doc *doc, const struct view_cell *cell)
{
    enum metric_id id = METRIC_ITERATION_TIME;
    const struct metric_value *value = view_headline(cell, &id);
    struct view_figure figure;

    doc_open(doc, DOC_GROUP, "lead");
    if (!view_figure_of(id, value, &figure)) {
        doc_say(doc, "big none", "%s", view_is_unsupported(cell) ? "Unsupported" : "No result");
        doc_say(doc, "spread", "%s", view_no_value_reason(cell));
        doc_close(doc);
        return;
    }
    doc_add(doc, figure.marked ? "(%s {soft %s%s})" : "%s {soft %s%s}", figure.number, figure.unit,
            figure.of);
    doc_end(doc, figure.marked ? "big marked" : "big");
    if (figure.ends[0])
        doc_add(doc, "%s \u00b7 %s \u00b7 %g %% interval%s", figure.spread, figure.ends,
                cell->estimate->confidence * 100,
                cell->estimate->trial_count > 1 ? ", between trials" : ", within one trial");
    else
        doc_add(doc, cell->imported.present ? "as its file says"
                                            : "without a confidence interval; see the findings");
    if (figure.grade[0])
        doc_add(doc, " \u00b7 grade %s (%s)", figure.grade, metric_grade_label(value->grade));
    doc_end(doc, "spread");
    doc_close(doc);
}

static void say_amendments(struct doc *doc, const struct view_cell *cell)
{
    EACH(amendment, cell->amendments) {
        AUTO_FREE char *words = view_amendment_words(amendment);

        doc_note(doc, "note", "This result was %s", words);
    }
}

static void say_verdict(struct doc *doc, const struct view_cell *cell)
{
    AUTO_FREE char *imported = cell->imported.present ? view_imported_words(cell) : NULL;
    const char *limit = view_no_evidence_words(cell);
    CLEANUP(text_finish) struct text cache = TEXT_INIT;

    if (cell->imported.present) {
        doc_note(doc, "note stop", "%s", imported ? imported : "Imported: not measured by assay.");
        return;
    }
    doc_add(doc,
            !cell->estimate        ? "{bold {soft %s}}"
            : view_is_steady(cell) ? "{bold {good %s}}"
                                   : "{bold {care %s}}",
            view_verdict_label(cell));
    doc_add(doc, "{soft  \u00b7 %zu of ", cell->ok_count);
    if (cell->trials_planned.known)
        doc_add(doc, "%lld", (long long)cell->trials_planned.value);
    else
        doc_add(doc, "?");
    doc_say(doc, "verdict", " planned trials completed%s%s}", limit ? " \u00b7 " : "",
            limit ? limit : "");
    if (cell->device.simulated)
        doc_note(doc, "note stop",
                 "{bold Simulated device.} This tests the tool and says nothing of any hardware.");
    if (view_cache_words(cell, &cache) == VIEW_CACHE_HOLDS)
        doc_note(doc, "note", "%s", cache.data);
    else if (cache.length > 0)
        doc_say(doc, "soft", "%s", cache.data);
    doc->out->failed |= cache.failed;
}

/* Where a metric comes from, below its value. */
static const char *note_of(const struct view_cell *cell, enum metric_id id)
{
    const char *note = id == METRIC_BYTE_RATE ? cell->bytes_formula
                       : id == METRIC_OP_RATE ? cell->flops_formula
                       : id == METRIC_POWER   ? cell->estimate->energy_source
                                              : NULL;

    return note ? note : "";
}

static void say_metric(struct doc *doc, const struct view_cell *cell, enum metric_id id)
{
    const struct metric_value *value = view_metric(cell, id);
    const char *label = metrics[id].label, *note = note_of(cell, id);
    char count[NUMBER_SIZE];
    struct view_figure figure;

    if (view_figure_of(id, value, &figure))
        doc_say(doc, NULL, "%s\t%s  {soft %s%s%s}", label, figure.value,
                figure.ends[0] ? figure.ends : "no interval", *note ? "; " : "", note);
    else if (value->needed)
        doc_say(doc, NULL, "%s\tnot reported  {soft needs %s samples}", label,
                number_format_count((int64_t)value->needed, count));
    else
        doc_say(doc, NULL, "%s\tnot reported", label);
}

static void say_figures(struct doc *doc, const struct view_cell *cell)
{
    const struct estimate *estimate = cell->estimate;
    const double within = estimate ? estimate->variance.iteration : NAN,
                 between = estimate ? estimate->variance.process : NAN;
    char value[NUMBER_SIZE], percent[NUMBER_SIZE];

    if (!estimate)
        return;
    doc_open(doc, DOC_FACTS, "figures");
    for (int i = 0; i < METRIC_COUNT; ++i)
        if (view_metric(cell, (enum metric_id)i))
            say_metric(doc, cell, (enum metric_id)i);
    if (!estimate->energy_source && json_array_size(estimate->energy) > 0)
        doc_say(doc, NULL, "energy\tunavailable  {soft %s}",
                member_string(json_array_get(estimate->energy, 0), "reason"));
    if (isfinite(within) || isfinite(between))
        doc_say(doc, NULL, "sd within a trial\t%s  {soft between trials%s%s}",
                isfinite(within) ? number_format_percent(sqrt(fmax(within, 0)), value) : "unknown",
                isfinite(between) ? " " : "",
                isfinite(between) ? number_format_percent(sqrt(fmax(between, 0)), percent)
                                  : ": needs several");
    if (isfinite(estimate->ess))
        doc_say(doc, NULL, "effective samples\t%s  {soft independent samples that tell as much}",
                number_format_count((int64_t)estimate->ess, value));
    doc_close(doc);
}

static void say_warning(void *context, enum finding_severity severity, const char *warning)
{
    struct doc *doc = context;
    char look[32];

    snprintf(look, sizeof(look), "wrap %s", finding_severity_name(severity));
    doc_say(doc, look, "%s", warning);
}

static void say_findings(struct doc *doc, const struct view_cell *cell)
{
    if (!remarks_has_any(cell))
        return;
    doc_heading(doc, 4, NULL, "Findings");
    doc_open(doc, DOC_LIST, "remarks");
    remarks_of_cell(cell, say_warning, doc);
    doc_close(doc);
}

static void say_counted(void *context, const char *label, const char *words)
{
    doc_say(context, NULL, "%s\t%s", label, words);
}

static void say_client(struct doc *doc, const struct view_cell *cell)
{
    for (size_t i = 0; i < cell->trial_count; ++i) {
        if (view_client_each(&cell->trials[i], NULL, NULL) == 0)
            continue;
        doc_add(doc, "Client in trial %lld, without what is 0", (long long)cell->trials[i].number);
        doc_open(doc, DOC_FOLD, "extra");
        doc_open(doc, DOC_FACTS, "facts");
        view_client_each(&cell->trials[i], say_counted, doc);
        doc_close(doc);
        doc_close(doc);
    }
}

/* Imported results have no trials of ours: `measured` ones say nothing of them. */
static const struct {
    void (*say)(struct doc *doc, const struct view_cell *cell);
    unsigned where;
    bool measured;
} sections[] = {
    {say_result, CELL_HEAD | CELL_TERMINAL, false},
    {say_verdict, CELL_HEAD | CELL_TERMINAL, false},
    {say_amendments, CELL_HEAD | CELL_TERMINAL, false},
    {say_figures, CELL_HEAD | CELL_TERMINAL, true},
    {say_findings, CELL_HEAD | CELL_TERMINAL, false},
    {cell_checks, CELL_BODY | CELL_TERMINAL | CELL_DOSSIER, true},
    {cell_attempts, CELL_FULL | CELL_TERMINAL | CELL_DOSSIER, true},
    {say_client, CELL_FULL | CELL_TERMINAL, true},
};

void cell_sections(struct doc *doc, const struct view_cell *cell, unsigned where)
{
    for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); ++i)
        if (sections[i].where & where && !(sections[i].measured && cell->imported.present))
            sections[i].say(doc, cell);
}

void cell_citation(struct doc *doc, const struct view_cell *cell,
                   const struct view_campaign *campaign)
{
    CLEANUP(text_finish) struct text line = TEXT_INIT;

    citation_append(&line, campaign, cell);
    doc_open(doc, DOC_GROUP, "cite");
    doc_say(doc, "soft", "Cite as ({code assay show %s%s%s} resolves it)", cell->result,
            cell->database ? " --db " : "", cell->database ? cell->database : "");
    doc_say(doc, NULL, "{code %s}", line.data);
    doc_close(doc);
    doc->out->failed |= line.failed;
}

static void say_trial(struct doc *doc, const struct view_trial *trial)
{
    cell_kernels(doc, trial);
    cell_files(doc, trial, true);
    cell_files(doc, trial, false);
}

static void say_telemetry(struct doc *doc, const struct view_cell *cell)
{
    for (size_t i = 0; i < cell->trial_count; ++i)
        if (json_array_size(cell->trials[i].telemetry) > 0) {
            doc_heading(doc, 4, NULL, "System telemetry, trial %lld",
                        (long long)cell->trials[i].number);
            cell_telemetry(doc, &cell->trials[i]);
            return;
        }
}

void cell_document(struct doc *doc, const struct view_cell *cell,
                   const struct view_campaign *campaign, bool in_full)
{
    cell_title(doc, cell);
    cell_sections(doc, cell, in_full ? CELL_TERMINAL : CELL_HEAD);
    load_timeline_document(doc, cell->load_timeline);
    cell_system(doc, cell, NULL);
    cell_configuration(doc, cell, campaign, NULL);
    if (in_full) {
        cell_environment(doc, cell, campaign, NULL);
        cell_readings(doc, cell);
        if (cell_shown_trial(cell))
            say_trial(doc, cell_shown_trial(cell));
        say_telemetry(doc, cell);
    }
    cell_citation(doc, cell, campaign);
}

#include <assay/estimate.h>

#include <math.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "harness/core/text.h"
#include "harness/library/inside.h"

#define EXACT 9007199254740992.0 /* 2^53: up to there a double has every whole number */

struct told {
    struct assay_finding shown;
    struct text message, remedy;
};

struct shown {
    struct assay_estimate estimate; /* the first: the handle */
    struct estimate *own;           /* of assay_analyze; NULL: a result's */
    struct assay_metric metrics[METRIC_COUNT];
    size_t metric_count, finding_count;
    struct told *findings;
};

static void show_metrics(const struct estimate *estimate, struct shown *ret)
{
    for (int id = 0; id < METRIC_COUNT; id++) {
        const struct metric_value *value = &estimate->metrics[id];

        if (!value->present)
            continue;
        ret->metrics[ret->metric_count++] =
            (struct assay_metric){.id = metrics[id].id,
                                  .label = metrics[id].label,
                                  .unit = value->unit,
                                  .grade = metric_grade_name(value->grade),
                                  .value = value->has_value ? value->value : NAN,
                                  .lo = value->has_interval ? value->lo : NAN,
                                  .hi = value->has_interval ? value->hi : NAN,
                                  .needed = value->needed};
    }
}

static bool show_finding(const struct finding *finding, struct told *ret)
{
    const struct finding_kind *kind = &finding_kinds[finding->code];

    finding_render_words(&finding, 1, &ret->message);
    finding_render_remedy(&finding, 1, &ret->remedy);
    ret->shown = (struct assay_finding){.code = kind->code,
                                        .severity = finding_severity_name(kind->severity),
                                        .message = ret->message.data ? ret->message.data : "",
                                        .remedy = ret->remedy.data ? ret->remedy.data : "",
                                        .trial = finding->trial};
    return !ret->message.failed && !ret->remedy.failed;
}

struct assay_estimate *library_estimate(const struct estimate *estimate, bool claimed)
{
    struct shown *shown = calloc(1, sizeof(*shown));
    bool good = shown != NULL;

    if (!shown)
        return NULL;
    shown->estimate = (struct assay_estimate){
        .verdict = claimed ? NULL : estimate_verdict_name(estimate->verdict),
        .headline = metrics[estimate->headline].id,
        .steady = !claimed && estimate_is_steady(estimate),
        .confidence = estimate->confidence,
        .effective = estimate->ess,
        .trials = estimate->trial_count,
        .samples = estimate->sample_count,
        .needed_trials = estimate->needed_trials};
    show_metrics(estimate, shown);
    shown->findings = calloc(estimate->findings.count + 1, sizeof(*shown->findings));
    for (size_t i = 0; shown->findings && i < estimate->findings.count; i++) {
        struct told *told = &shown->findings[shown->finding_count++];

        good = show_finding(&estimate->findings.items[i], told) && good;
    }
    if (!good || !shown->findings) {
        assay_estimate_free(&shown->estimate);
        return NULL;
    }
    return &shown->estimate;
}

const struct assay_metric *assay_estimate_metric(const struct assay_estimate *estimate, size_t i)
{
    const struct shown *shown = (const struct shown *)estimate;

    return i < shown->metric_count ? &shown->metrics[i] : NULL;
}

const struct assay_metric *assay_estimate_find(const struct assay_estimate *estimate,
                                               const char *id)
{
    const struct assay_metric *metric;

    for (size_t i = 0; (metric = assay_estimate_metric(estimate, i)); i++)
        if (!strcmp(metric->id, id))
            return metric;
    return NULL;
}

const struct assay_finding *assay_estimate_finding(const struct assay_estimate *estimate, size_t i)
{
    const struct shown *shown = (const struct shown *)estimate;

    return i < shown->finding_count ? &shown->findings[i].shown : NULL;
}

void assay_estimate_free(struct assay_estimate *estimate)
{
    struct shown *shown = (struct shown *)estimate;

    if (!shown)
        return;
    for (size_t i = 0; i < shown->finding_count; i++) {
        text_finish(&shown->findings[i].message);
        text_finish(&shown->findings[i].remedy);
    }
    free(shown->findings);
    estimate_destroy(shown->own);
    free(shown);
}

/* ---- numbers of the caller's ---- */

/* Whole nanoseconds of all trials, one after the other, in `samples`. */
static enum status take_series(const struct assay_series *trials, size_t count, double unit_ns,
                               struct estimate_series *series, int64_t *samples, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        series[i] = (struct estimate_series){
            .sample_ns = samples,
            .count = trials[i].count,
            .first = trials[i].warmup < trials[i].count ? trials[i].warmup : trials[i].count};
        for (size_t k = 0; k < trials[i].count; k++) {
            const double ns = trials[i].values[k] * unit_ns;

            if (!(ns >= 0.5 && ns <= EXACT))
                return error_set(err, STATUS_INVALID,
                                 "trial %zu: sample %zu is %g ns: durations of 1 ns to 2^53 ns can "
                                 "be analysed; is unit_ns the nanoseconds of one unit?",
                                 i + 1, k + 1, ns);
            *samples++ = llround(ns);
        }
    }
    return STATUS_OK;
}

static enum status analyze(const struct assay_series *trials, size_t count,
                           const struct assay_analyze_options *asked, struct estimate **ret,
                           struct error *err)
{
    struct estimate_options options = estimate_options_default();
    AUTO_FREE struct estimate_series *series = calloc(count + 1, sizeof(*series));
    AUTO_FREE int64_t *samples = NULL;
    size_t total = 0;

    for (size_t i = 0; i < count; i++)
        total += trials[i].count;
    samples = calloc(total + 1, sizeof(*samples));
    if (!series || !samples)
        return error_no_memory(err);
    if (count == 0)
        return error_set(err, STATUS_INVALID, "no trial to analyse: give one at least");
    if (asked->confidence != 0)
        options.confidence = asked->confidence;
    if (asked->margin != 0)
        options.margin = asked->margin;
    TRY(take_series(trials, count, asked->unit_ns != 0 ? asked->unit_ns : 1, series, samples, err));
    return estimate_cell(series, count, &options, ret, err);
}

enum assay_status assay_analyze(const struct assay_series *trials, size_t count,
                                const struct assay_analyze_options *options,
                                struct assay_estimate **ret)
{
    struct error *err = library_begin();
    struct assay_analyze_options asked = ASSAY_ANALYZE_OPTIONS_INIT;
    struct estimate *estimate = NULL;
    struct assay_estimate *shown;
    enum status status;

    LIBRARY_TAKE(asked, options);
    status = analyze(trials, count, &asked, &estimate, err);
    if (status != STATUS_OK)
        return library_end(status);
    shown = library_estimate(estimate, false);
    if (!shown) {
        estimate_destroy(estimate);
        return library_end(error_no_memory(err));
    }
    ((struct shown *)shown)->own = estimate;
    *ret = shown;
    return ASSAY_OK;
}

/* A cell's metrics and verdict in readable form. */
#include "reports/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/member.h"
#include "reports/serving_table.h"
#include "reports/view_json.h"

const struct view_cell *view_find(const struct view *view, const char *result)
{
    for (size_t i = 0; view && result && i < view->cell_count; i++)
        if (!strcmp(view->cells[i].result, result))
            return &view->cells[i];
    return NULL;
}

const struct metric_value *view_metric(const struct view_cell *cell, enum metric_id id)
{
    return cell->estimate && cell->estimate->metrics[id].present ? &cell->estimate->metrics[id]
                                                                 : NULL;
}

const struct metric_value *view_headline(const struct view_cell *cell, enum metric_id *ret_id)
{
    const struct metric_value *value;

    if (!cell->estimate)
        return NULL;
    *ret_id = cell->estimate->headline;
    value = view_metric(cell, *ret_id);
    return value && value->has_value ? value : NULL;
}

bool view_same_work(const struct view_cell *a, const struct view_cell *b)
{
    const char *const x[] = {a->workload, a->device_spec, a->precision, a->arm};
    const char *const y[] = {b->workload, b->device_spec, b->precision, b->arm};

    for (size_t i = 0; i < sizeof(x) / sizeof(*x); i++)
        if (strcmp(x[i] ? x[i] : "", y[i] ? y[i] : "") != 0)
            return false;
    return a->campaign == b->campaign;
}

bool view_any_metric(const struct view *view, enum metric_id id)
{
    for (size_t i = 0; i < view->cell_count; ++i) {
        const struct metric_value *value = view_metric(&view->cells[i], id);

        if (value && value->has_value)
            return true;
    }
    return false;
}

bool view_is_steady(const struct view_cell *cell)
{
    return cell->estimate && estimate_is_steady(cell->estimate);
}

void view_interval_head(const struct view *view, char ret[VIEW_INTERVAL_SIZE])
{
    double confidence = 0;
    bool is_one = true;

    for (size_t i = 0; i < view->cell_count; i++) {
        const struct estimate *estimate = view->cells[i].estimate;
        const double own = estimate && estimate->confidence > 0 ? estimate->confidence : 0;

        is_one = is_one && (own <= 0 || confidence <= 0 || own == confidence);
        confidence = own > 0 ? own : confidence;
    }
    if (is_one && confidence > 0)
        snprintf(ret, VIEW_INTERVAL_SIZE, "%.4g %% interval", 100 * confidence);
    else
        snprintf(ret, VIEW_INTERVAL_SIZE, "Interval");
}

bool view_same_device(const struct view_cell *a, const struct view_cell *b)
{
    return text_same(a->device.name, b->device.name) && text_same(a->device_spec, b->device_spec);
}

struct number_unit view_metric_unit(enum metric_id id, const struct metric_value *value)
{
    struct number_unit unit = {.factor = 1};
    const char *per = strchr(value->unit, '/');
    /* Of a metric that this program does not know, the unit is shown as it is stored. */
    const enum metric_kind kind = id < METRIC_COUNT ? metrics[id].kind : METRIC_KIND_POWER;

    switch (kind) {
    case METRIC_KIND_TIME:
        return number_unit_duration(value->value);
    case METRIC_KIND_RATE:
        return number_unit_rate(value->value, value->unit);
    case METRIC_KIND_ENERGY:
        return number_unit_energy(value->value, per ? per + 1 : NULL);
    case METRIC_KIND_RATIO:
        if (id == METRIC_ATTAINMENT) /* a share, which people declare in percent */
            unit = (struct number_unit){.factor = 0.01, .name = "%"};
        return unit;
    default:
        snprintf(unit.name, sizeof(unit.name), "%s", value->unit);
        return unit;
    }
}

struct number_unit view_series_unit(const json_t *series, double value)
{
    const enum metric_id id = metric_find(member_text(series, "metric"));
    struct metric_value scaled = {.value = value};

    snprintf(scaled.unit, sizeof(scaled.unit), "%s", member_text(series, "unit"));
    return view_metric_unit(id < METRIC_COUNT ? id : METRIC_ITERATION_TIME, &scaled);
}

/* As many digits as the interval leaves; a percentile without one has two, a mean four. */
static int digits_of(enum metric_id id, const struct metric_value *value)
{
    if (value->has_interval)
        return number_digits(value->value, value->lo, value->hi);
    return metrics[id].q > 0 ? 2 : 4;
}

bool view_figure_of(enum metric_id id, const struct metric_value *value, struct view_figure *ret)
{
    char ends[NUMBER_SIZE];
    struct number_unit unit;

    *ret = (struct view_figure){.grade = "", .of = id == METRIC_ATTAINMENT ? " in limits" : ""};
    if (!value || !value->has_value)
        return false;
    unit = view_metric_unit(id, value);
    number_format_rounded(value->value / unit.factor, digits_of(id, value), ret->number);
    memcpy(ret->unit, unit.name, sizeof(ret->unit));
    snprintf(ret->value, sizeof(ret->value), "%.24s%s%.22s", ret->number, unit.name[0] ? " " : "",
             unit.name);
    ret->grade = metric_grade_name(value->grade);
    ret->marked = value->grade == METRIC_GRADE_D;
    if (!value->has_interval)
        return true;
    number_format_half_width(value->value, value->lo, value->hi, ret->spread);
    number_format_ends(value->lo, value->hi, &unit, digits_of(id, value), ends);
    snprintf(ret->ends, sizeof(ret->ends), "%.30s%s%.14s", ends, unit.name[0] ? " " : "",
             unit.name);
    return true;
}

bool view_headline_figure(const struct view_cell *cell, struct view_figure *ret)
{
    enum metric_id id = METRIC_ITERATION_TIME;
    const struct metric_value *value = view_headline(cell, &id);

    return view_figure_of(id, value, ret);
}

void view_metric_words(enum metric_id id, const struct metric_value *value, struct text *ret)
{
    struct view_figure figure;
    char count[NUMBER_SIZE];

    if (view_figure_of(id, value, &figure))
        text_append_format(ret, "%s  (%s)", figure.value,
                           figure.ends[0] ? figure.ends : "no interval");
    else if (value && value->needed)
        text_append_format(ret, "not reported: needs %s samples",
                           number_format_count((int64_t)value->needed, count));
    else
        text_append(ret, "not reported");
}

static bool contention_words(const struct view_campaign *campaign, struct text *ret)
{
    const struct contention *contention = &campaign->contention;
    const double least = 0.1; /* of a core */
    char number[NUMBER_SIZE];

    if (contention->others_cores >= least) {
        text_append_format(ret, "Contention: other processes used %s",
                           number_format_digits(contention->others_cores, 2, number));
        if (contention->cores > 0)
            text_append_format(ret, " of %lld", (long long)contention->cores);
        text_append(ret, " cores while it measured");
    }
    if (contention->steal_cores >= least)
        text_append_format(ret, "%s the hypervisor took %s cores",
                           ret->length ? ", and" : "Contention:",
                           number_format_digits(contention->steal_cores, 2, number));
    return ret->length > 0;
}

bool view_contention(const struct view *view, struct text *ret)
{
    const struct view_campaign *worst = NULL;
    size_t count = 0;

    for (size_t i = 0; i < view->campaign_count; ++i) {
        const struct view_campaign *campaign = &view->campaigns[i];
        const double cores = campaign->contention.others_cores + campaign->contention.steal_cores;

        text_clear(ret);
        if (!contention_words(campaign, ret))
            continue;
        count++;
        if (!worst || cores > worst->contention.others_cores + worst->contention.steal_cores)
            worst = campaign;
    }
    text_clear(ret);
    if (!worst || !contention_words(worst, ret))
        return false;
    if (count > 1)
        text_append_format(ret, ", in the worst of %zu campaigns", count);
    return true;
}

const char *view_no_value_reason(const struct view_cell *cell)
{
    enum metric_id id;

    if (view_headline(cell, &id))
        return NULL;
    if (cell->imported.present)
        return "the imported file gives no number";
    if (view_is_unsupported(cell))
        return "not supported here";
    if (cell->run == VIEW_RUN_RUNNING && !cell->estimate)
        return "its campaign is running";
    if (cell->ok_count == 0)
        return cell->trial_count ? "no trial completed" : "no trial was run";
    return cell->estimate ? "no samples after the warmup" : "not analysed yet";
}

/* Whether trials of the cell are still to come: then what it has so far is no outcome. */
static bool has_trials_left(const struct view_cell *cell)
{
    return cell->run != VIEW_RUN_OVER && cell->trials_planned.known &&
           (int64_t)cell->ended_count < cell->trials_planned.value;
}

const char *view_verdict_label(const struct view_cell *cell)
{
    if (cell->imported.present)
        return "imported";
    if (cell->estimate)
        return estimate_verdict_label(cell->estimate->verdict);
    if (view_is_unsupported(cell))
        return "unsupported";
    if (cell->run == VIEW_RUN_RUNNING && (has_trials_left(cell) || cell->ok_count > 0))
        return "running";
    if (has_trials_left(cell) && cell->trial_count > 0)
        return "incomplete";
    if (cell->ok_count > 0)
        return "not analysed";
    return cell->trial_count ? "failed" : "not run";
}

const char *view_no_value_label(const struct view_cell *cell)
{
    if (view_is_unsupported(cell))
        return "unsupported";
    return cell->run == VIEW_RUN_RUNNING ? "no result yet" : "no result";
}

const char *view_trial_label(const struct view_cell *cell, const struct view_trial *trial)
{
    if (trial->status)
        return trial->status;
    return cell->run == VIEW_RUN_RUNNING ? "running" : "no end recorded";
}

/* What cells of protocols that give no evidence came to. */
struct looks {
    size_t count, served, measured, simulated, first; /* first: of `quick` or what extends it */
    size_t precise, rough, indicative;
};

bool view_is_first_look(const struct view_cell *cell)
{
    return !cell->evidence && !cell->imported.present &&
           member_real(json_object_get(cell->protocol_json, "window"), "time_ns") < 10e9;
}

const char *view_no_evidence_words(const struct view_cell *cell)
{
    if (cell->evidence || cell->imported.present)
        return NULL;
    return view_is_first_look(cell)
               ? "a first look: it compares with other results on this machine alone, and is no "
                 "evidence"
               : "no evidence, by its protocol: it compares with other results on this machine "
                 "alone";
}

static struct looks count_looks(const struct view *view)
{
    struct looks looks = {0};

    for (size_t i = 0; i < view->cell_count; ++i) {
        const struct view_cell *cell = &view->cells[i];
        enum metric_id id;
        const struct metric_value *value = view_headline(cell, &id);

        if (cell->evidence || cell->imported.present)
            continue;
        looks.count++;
        looks.first += view_is_first_look(cell);
        looks.served += serving_is_cell(cell, NULL);
        looks.simulated += cell->device.simulated;
        looks.precise +=
            value && (value->grade == METRIC_GRADE_A || value->grade == METRIC_GRADE_B);
        looks.rough += value && value->grade == METRIC_GRADE_C;
        looks.indicative += value && value->grade == METRIC_GRADE_D;
    }
    looks.measured = looks.precise + looks.rough + looks.indicative;
    return looks;
}

/* ": 2 of 8 values are known within 5 % (grades A, B), 1 only as an indication ..." */
static void append_grades(const struct looks *looks, struct text *ret)
{
    const struct {
        size_t count;
        const char *words;
    } grades[] = {{looks->precise, "within 5 % (grades A, B)"},
                  {looks->rough, "within 20 % (C)"},
                  {looks->indicative, "only as an indication (D, in parentheses)"}};
    bool first = true;

    for (size_t i = 0; i < sizeof(grades) / sizeof(grades[0]); ++i) {
        if (grades[i].count == 0)
            continue;
        text_append_format(ret, "%s%zu ", first ? "" : ", ", grades[i].count);
        if (first)
            text_append_format(ret, "of %zu values %s known ", looks->count,
                               grades[i].count == 1 ? "is" : "are");
        text_append(ret, grades[i].words);
        first = false;
    }
}

/* What would give evidence: never what was done already, and nothing for a simulated device. */
static void append_next(const struct looks *looks, struct text *ret)
{
    if (looks->simulated == looks->count)
        text_append(ret, " All of it is simulated, so no protocol makes it evidence.");
    else
        text_append_format(
            ret,
            " Next, for evidence: the same `assay run` with `--protocol %s`%s, on an "
            "idle machine (`assay doctor` names what disturbs it).",
            looks->served == looks->count ? "serving" : "standard",
            looks->served && looks->served < looks->count
                ? ", and with `--protocol serving` what is served under load"
                : "");
}

bool view_closing_words(const struct view *view, struct text *ret)
{
    const struct looks looks = count_looks(view);

    if (looks.count == 0)
        return false;
    text_append(ret, looks.first == looks.count ? "First look: " : "No evidence, by protocol: ");
    if (looks.measured == 0) {
        text_append(ret, "no value was measured, for the reasons that the notes give.");
        return true;
    }
    append_grades(&looks, ret);
    text_append(ret, ".");
    if (looks.first == looks.count)
        text_append(ret, " Good for choosing what to measure and for comparing with another first "
                         "look on this machine; never evidence.");
    append_next(&looks, ret);
    return true;
}

/* What the other program reports of its own run: that it broke its rules, or had errors. */
static void append_own_judgement(struct text *words, const struct view_cell *cell)
{
    const struct reading *validity = reading_find(&cell->device.readings, "import.validity");
    const struct reading *errors = reading_find(&cell->device.readings, "import.errors");

    if (validity && validity->text && strcmp(validity->text, "VALID") != 0)
        text_append_format(words, " By its own rules the run is %s.", validity->text);
    else if (validity && !validity->text)
        text_append(words, " Its file does not say whether the run kept the program's own rules.");
    if (errors && errors->text && strncmp(errors->text, "No ", 3) != 0)
        text_append_format(words, " Its log says: %s", errors->text);
}

bool view_is_import(const struct view *view, size_t campaign)
{
    size_t imported = 0;

    for (size_t i = 0; i < view->cell_count; ++i) {
        if (view->cells[i].campaign == campaign && !view->cells[i].imported.present)
            return false;
        imported += view->cells[i].campaign == campaign;
    }
    return imported > 0;
}

char *view_imported_words(const struct view_cell *cell)
{
    const struct view_imported *imported = &cell->imported;
    struct text words = TEXT_INIT;

    text_append_format(&words,
                       "Imported: measured by %s%s%s, not by assay; the number is what its file "
                       "says. `assay show --all` names the file and what it leaves out.",
                       imported->program ? imported->program : "another program",
                       imported->program_version ? " " : "",
                       imported->program_version ? imported->program_version : "");
    append_own_judgement(&words, cell);
    return text_steal(&words);
}

/*
 * Whether the size of the device's cache is what a hypervisor reports. A virtual machine of two
 * processors may see all 480 MiB of a cache whose greater part others fill.
 */
static bool cache_is_virtual(const struct view_cell *cell)
{
    if (!cell->device.type || strcmp(cell->device.type, "cpu") != 0)
        return false;
    for (size_t i = 0; i < cell->trial_count; ++i) {
        const struct reading *virtualised = reading_find(&cell->trials[i].host, "host.virtualised");

        if (virtualised && virtualised->text)
            return !strcmp(virtualised->text, "yes");
    }
    return false;
}

static enum view_cache fits_in_cache(const struct view_cell *cell, struct view_count *ret_cache)
{
    const enum view_cache holds = cache_is_virtual(cell) ? VIEW_CACHE_MAY_HOLD : VIEW_CACHE_HOLDS;
    struct view_count cache = {false, 0};
    const json_t *said = NULL;

    for (size_t i = 0; i < cell->trial_count && !said; ++i) {
        const json_t *facts = cell->trials[i].facts;

        if (!cache.known)
            cache = view_json_count(facts, "last_level_cache_bytes");
        if (json_is_boolean(json_object_get(facts, "fits_in_cache")))
            said = json_object_get(facts, "fits_in_cache");
    }
    cache.known = cache.known && cache.value > 0;
    if (ret_cache)
        *ret_cache = cache;
    if (said)
        return json_is_true(said) ? holds : VIEW_CACHE_EXCEEDED;
    if (!cache.known || !cell->working_set_bytes.known || cell->working_set_bytes.value <= 0)
        return VIEW_CACHE_UNKNOWN;
    return cell->working_set_bytes.value <= cache.value ? holds : VIEW_CACHE_EXCEEDED;
}

enum view_cache view_cache_words(const struct view_cell *cell, struct text *out)
{
    static const char *const ends[] = {
        [VIEW_CACHE_EXCEEDED] = "it does not fit in the cache.",
        [VIEW_CACHE_MAY_HOLD] = "it may fit in the cache, whose share of this machine is unknown.",
        [VIEW_CACHE_HOLDS] =
            "it fits in the cache, and this is the speed of the cache, not of memory."};
    struct view_count cache;
    const enum view_cache fits = fits_in_cache(cell, &cache);
    char size[NUMBER_SIZE];

    if (fits == VIEW_CACHE_UNKNOWN || !cell->working_set_bytes.known)
        return VIEW_CACHE_UNKNOWN;
    text_append_format(out, "One iteration touches %s",
                       number_format_bytes((double)cell->working_set_bytes.value, size));
    if (cache.known)
        text_append_format(out, ", %s %s",
                           fits == VIEW_CACHE_MAY_HOLD ? "the hypervisor reports a cache of"
                                                       : "the last-level cache holds",
                           number_format_bytes((double)cache.value, size));
    text_append_format(out, ": %s", ends[fits]);
    return fits;
}

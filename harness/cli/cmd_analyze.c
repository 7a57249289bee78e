#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cli/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/output.h"
#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "protocols/compare.h"
#include "protocols/compare_unpaired.h"
#include "protocols/estimate.h"
#include "reports/comparison_words.h"
#include "reports/view.h"
#include "results/formats/csv_import.h"

enum {
    KEY_PAIRED = 0x100,
    KEY_MARGIN,
    KEY_CONFIDENCE,
    KEY_WARMUP,
    KEY_UNIT,
    KEY_COLUMN,
    KEY_TRIAL,
    KEY_SERIES,
    KEY_BASELINE
};

#define NAMES_SHOWN 20 /* of series, in an error */

/* ---- samples ---- */

struct series_text {
    struct text *out;
    const struct csv_series *series;
};

/* As finding_render, with the names that the file gives its trials. */
static void append_finding(void *context, const struct finding *const *items, size_t count)
{
    const struct series_text *series_text = context;
    const struct csv_series *series = series_text->series;
    struct text *out = series_text->out, remedy;

    text_append(out, finding_kinds[items[0]->code].severity == FINDING_INFO ? "  - " : "  ! ");
    for (size_t i = 0; i < count && items[i]->trial > 0; i++) {
        const char *name = (size_t)items[i]->trial <= series->trial_count
                               ? series->trials[items[i]->trial - 1].name
                               : "?";

        text_append(out, i ? ", " : count > 1 ? "trials " : "trial ");
        text_append_printable(out, name, strlen(name));
    }
    text_append(out, items[0]->trial > 0 ? ": " : "");
    finding_render_words(items, count, out);
    text_init(&remedy);
    finding_render_remedy(items, count, &remedy);
    if (remedy.length > 0)
        text_append_format(out, "; %s", remedy.data);
    text_finish(&remedy);
    text_append_char(out, '\n');
}

/* The trial_number of a finding is a place in trial_names, from 1. */
static json_t *series_json(const struct csv_series *series, const struct estimate *estimate)
{
    json_t *object = estimate_to_json(estimate), *names = json_array();

    for (size_t i = 0; i < series->trial_count; i++)
        json_array_append_new(names, printable_or_null(series->trials[i].name));
    json_object_set_new(object, "series", printable_or_null(series->name));
    json_object_set_new(object, "trial_names", names);
    return object;
}

static void append_estimate(struct text *out, const struct csv_series *series,
                            const struct estimate *estimate)
{
    const struct metric_value *mean = &estimate->metrics[METRIC_ITERATION_TIME];
    struct series_text series_text = {out, series};

    text_append_printable(out, series->name, strlen(series->name));
    text_append_format(out, ": %s, grade %s\n  %zu samples in %zu trial%s, ESS %.1f\n",
                       estimate_verdict_label(estimate->verdict),
                       mean->has_value ? metric_grade_name(mean->grade) : "none",
                       estimate->sample_count, estimate->trial_count,
                       estimate->trial_count == 1 ? "" : "s", estimate->ess);
    for (int i = 0; i < METRIC_COUNT; i++) {
        const enum metric_id id = (enum metric_id)i;

        if (!estimate->metrics[i].present)
            continue;
        text_append_format(out, "  %-6s ", id == METRIC_ITERATION_TIME ? "mean" : metrics[i].label);
        view_metric_words(id, &estimate->metrics[i], out);
        text_append_char(out, '\n');
    }
    finding_each_group(&estimate->findings, append_finding, &series_text);
}

static enum status analyze_series(const struct csv_series *series, size_t first,
                                  const struct estimate_options *options, struct estimate **ret,
                                  struct error *err)
{
    AUTO_FREE struct estimate_series *trials = calloc(series->trial_count, sizeof(*trials));

    if (!trials)
        return error_no_memory(err);
    for (size_t i = 0; i < series->trial_count; i++)
        trials[i] = (struct estimate_series){
            .sample_ns = series->trials[i].sample_ns,
            .count = series->trials[i].count,
            .first = first < series->trials[i].count ? first : series->trials[i].count};
    return estimate_cell(trials, series->trial_count, options, ret, err);
}

static enum status read_samples(const struct command_line *line, FILE *file, const char *origin,
                                struct csv_samples *ret, struct error *err)
{
    const struct csv_columns columns = {
        command_value(line, KEY_COLUMN), command_value(line, KEY_TRIAL),
        command_value(line, KEY_SERIES), command_value(line, KEY_UNIT)};

    return csv_import_any(file, origin, &columns, ret, err);
}

static void tell_left_out(const struct csv_samples *samples)
{
    EACH(message, samples->left_out)
        log_warning("left out: %s", json_string_value(message));
}

/* With the names that there are, of which an ambiguous command has several. */
static enum status no_baseline(const struct csv_samples *samples, const char *baseline,
                               struct error *err)
{
    CLEANUP(text_finish) struct text names = TEXT_INIT;

    for (size_t i = 0; i < samples->series_count && i < NAMES_SHOWN; i++) {
        text_append(&names, i ? ", \"" : "\"");
        text_append_printable(&names, samples->series[i].name, strlen(samples->series[i].name));
        text_append_char(&names, '"');
    }
    error_set(err, STATUS_INVALID, "--baseline %s: the file has no such series; it has %s%s",
              baseline, text_ok(&names) ? names.data : "others",
              samples->series_count > NAMES_SHOWN ? " ..." : "");
    return STATUS_INVALID;
}

static void say_comparison(struct text *out, const char *name, const char *a,
                           const struct comparison *numbers, const char *caveat);
static json_t *comparison_json(const char *name, const struct comparison *comparison);

/* Series against a baseline, as far as they can be compared. */
struct baseline {
    const struct csv_samples *samples;
    struct estimate *const *estimates;
    size_t place; /* of the baseline among the series */
    struct comparison *comparisons;
    enum unpaired_basis *bases;
    size_t *places; /* of the series that each comparison is of */
    size_t count;
};

static void baseline_finish(struct baseline *baseline)
{
    free(baseline->comparisons);
    free(baseline->bases);
    free(baseline->places);
}

static bool has_interval(const struct estimate *estimate)
{
    return estimate->metrics[METRIC_ITERATION_TIME].has_interval;
}

/* Compares one series; where that cannot be done, says why and goes on. NO_MEMORY. */
static enum status compare_one(struct baseline *x, size_t place,
                               const struct compare_options *options, struct error *err)
{
    const char *name = x->samples->series[place].name;
    struct error why = ERROR_INIT;
    enum status status;

    if (!has_interval(x->estimates[place])) {
        log_warning("%s is not compared: its samples allow no interval of its mean", name);
        return STATUS_OK;
    }
    status = unpaired_compare(x->estimates[x->place], x->estimates[place], options,
                              &x->comparisons[x->count], &x->bases[x->count], &why);
    if (status == STATUS_NO_MEMORY)
        return error_no_memory(err);
    if (status == STATUS_OK)
        x->places[x->count++] = place;
    else
        log_warning("%s is not compared with %s: %s", name, x->samples->series[x->place].name,
                    why.message);
    return STATUS_OK;
}

/* Every other series against the one that is named. INVALID where none can be compared with it. */
static enum status compare_all(struct baseline *x, const char *name,
                               const struct compare_options *options, struct error *err)
{
    const size_t series = x->samples->series_count;

    while (x->place < series && strcmp(x->samples->series[x->place].name, name) != 0)
        x->place++;
    if (x->place == series)
        return no_baseline(x->samples, name, err);
    if (!has_interval(x->estimates[x->place]))
        return error_set(
            err, STATUS_INVALID,
            "--baseline %s: its samples allow no interval of its mean, so that nothing "
            "can be compared with it; measure longer, or run more trials",
            name);
    x->comparisons = calloc(series, sizeof(*x->comparisons));
    x->bases = calloc(series, sizeof(*x->bases));
    x->places = calloc(series, sizeof(*x->places));
    if (!x->comparisons || !x->bases || !x->places)
        return error_no_memory(err);
    for (size_t i = 0; i < series; i++)
        if (i != x->place)
            TRY(compare_one(x, i, options, err));
    if (x->count == 0)
        return error_set(err, STATUS_INVALID,
                         "--baseline %s: no other series can be compared with it; measure longer, "
                         "or run more trials",
                         name);
    return comparison_family(x->comparisons, x->count, err);
}

static json_t *baseline_json(const struct baseline *x, size_t index)
{
    json_t *object =
        comparison_json(x->samples->series[x->places[index]].name, &x->comparisons[index]);

    if (!object)
        return NULL;
    json_object_set_new(object, "baseline", printable_or_null(x->samples->series[x->place].name));
    json_object_set_new(
        object, "basis",
        json_string(x->bases[index] == UNPAIRED_TRIALS ? "trials" : "within_one_trial"));
    json_object_set_new(object, "note", json_string(unpaired_caveat(x->bases[index])));
    return object;
}

static enum status compare_unpaired(const struct command_line *line,
                                    const struct csv_samples *samples,
                                    struct estimate *const *estimates,
                                    const struct compare_options *options, struct text *out,
                                    struct error *err)
{
    const char *name = command_value(line, KEY_BASELINE);
    CLEANUP(baseline_finish) struct baseline x = {.samples = samples, .estimates = estimates};

    TRY(compare_all(&x, name, options, err));
    for (size_t i = 0; i < x.count; i++) {
        if (command_has(line, KEY_JSON))
            TRY(output_row(baseline_json(&x, i), err));
        else
            say_comparison(out, samples->series[x.places[i]].name, name, &x.comparisons[i],
                           unpaired_caveat(x.bases[i]));
    }
    return STATUS_OK;
}

static enum status analyze_samples(const struct command_line *line, FILE *file, const char *origin,
                                   const struct estimate_options *options,
                                   const struct compare_options *compare, size_t first,
                                   struct error *err)
{
    CLEANUP(csv_samples_finish) struct csv_samples samples = {0};
    struct estimate **estimates;
    CLEANUP(text_finish) struct text out = TEXT_INIT;
    enum status status = STATUS_OK;

    TRY(read_samples(line, file, origin, &samples, err));
    tell_left_out(&samples);
    estimates = calloc(samples.series_count, sizeof(struct estimate *));
    if (!estimates)
        status = error_no_memory(err);
    for (size_t i = 0; i < samples.series_count && status == STATUS_OK; i++) {
        status = analyze_series(&samples.series[i], first, options, &estimates[i], err);
        if (status != STATUS_OK)
            break;
        if (command_has(line, KEY_JSON))
            status = output_row(series_json(&samples.series[i], estimates[i]), err);
        else
            append_estimate(&out, &samples.series[i], estimates[i]);
    }
    if (status == STATUS_OK && command_has(line, KEY_BASELINE))
        status = compare_unpaired(line, &samples, estimates, compare, &out, err);
    for (size_t i = 0; estimates && i < samples.series_count; i++)
        estimate_destroy(estimates[i]);
    free(estimates);
    if (!output_page(&out) && status == STATUS_OK)
        status = error_no_memory(err);
    return status;
}

/* ---- pairs ---- */

/* `a`: the series that it is compared with; NULL: the arms of pairs, a and b, of the series. */
static void say_comparison(struct text *out, const char *name, const char *a,
                           const struct comparison *numbers, const char *caveat)
{
    const struct stored_comparison one = {.has_numbers = true, .numbers = *numbers};
    CLEANUP(doc_finish) struct doc doc = doc_new(out, &doc_lines);
    CLEANUP(text_finish) struct text base = TEXT_INIT, other = TEXT_INIT;

    doc_phrase(&base, "%s", a ? a : "a");
    doc_phrase(&other, "%s", a ? name : "b");
    if (!a)
        doc_add(&doc, "%s: ", name);
    comparison_answer_words(&doc.block, &one, other.data, base.data);
    doc_end(&doc, NULL);
    doc_open(&doc, DOC_DETAILS, NULL);
    comparison_basis(&doc, numbers);
    if (numbers->differs && numbers->family > 1 &&
        numbers->p_difference_family > 1 - numbers->confidence)
        doc_say(&doc, NULL,
                "among %zu series a difference like this occurs by chance: p %.3g, adjusted for "
                "all (Holm) %.3g",
                numbers->family, numbers->p_difference, numbers->p_difference_family);
    if (caveat)
        doc_say(&doc, NULL, "%s", caveat);
    doc_close(&doc);
    out->failed |= base.failed || other.failed;
}

static json_t *comparison_json(const char *name, const struct comparison *comparison)
{
    json_t *object = type_to_json(&comparison_type, comparison);

    if (object)
        json_object_set_new(object, "series", printable_or_null(name));
    return object;
}

/* Compares each series, and judges them as one family. */
static enum status compare_series(const struct csv_pairs *pairs,
                                  const struct compare_options *options,
                                  struct comparison *comparisons, struct error *err)
{
    for (size_t i = 0; i < pairs->series_count; i++) {
        const struct csv_pairs_series *series = &pairs->series[i];
        enum status status =
            paired_analyze(series->a, series->b, series->count, options, &comparisons[i], err);

        double step;

        if (status != STATUS_OK)
            return status;
        step = comparison_step_of(series->a, series->b, series->count);
        comparison_round(&comparisons[i], series->a[0], step, step);
    }
    return comparison_family(comparisons, pairs->series_count, err);
}

static enum status analyze_pairs(const struct command_line *line, FILE *file, const char *origin,
                                 const struct compare_options *options, struct error *err)
{
    CLEANUP(csv_pairs_finish) struct csv_pairs pairs = {0};
    struct comparison *comparisons;
    CLEANUP(text_finish) struct text out = TEXT_INIT;
    enum status status;

    TRY(csv_import_pairs(file, origin, &pairs, err));
    comparisons = calloc(pairs.series_count + 1, sizeof(*comparisons));
    status = comparisons ? compare_series(&pairs, options, comparisons, err) : error_no_memory(err);
    for (size_t i = 0; i < pairs.series_count && status == STATUS_OK; i++) {
        const char *name = pairs.series[i].name;

        if (command_has(line, KEY_JSON))
            status = output_row(comparison_json(name, &comparisons[i]), err);
        else
            say_comparison(&out, name, NULL, &comparisons[i], NULL);
    }
    free(comparisons);
    if (!output_page(&out) && status == STATUS_OK)
        status = error_no_memory(err);
    return status;
}

/* ---- the command ---- */

static enum status analyze(const struct command_line *line, FILE *file, const char *origin,
                           struct error *err)
{
    struct estimate_options options = estimate_options_default();
    struct compare_options compare = compare_options_default();
    const char *warmup = command_value(line, KEY_WARMUP);
    int64_t first = 0;

    TRY(command_fraction(line, KEY_CONFIDENCE, "confidence", &options.confidence, err));
    compare.confidence = options.confidence;
    TRY(command_fraction(line, KEY_MARGIN, "margin", &compare.margin, err));
    options.margin = compare.margin;
    if (warmup && (!text_parse_i64(warmup, &first) || first < 0))
        return error_set(err, STATUS_INVALID,
                         "--warmup %s: write how many samples of each trial are warmup", warmup);
    if (command_has(line, KEY_PAIRED))
        return analyze_pairs(line, file, origin, &compare, err);
    return analyze_samples(line, file, origin, &options, &compare, (size_t)first, err);
}

static int run(const struct command_line *line)
{
    const char *path = line->arguments[0];
    bool standard_input = !strcmp(path, "-");
    FILE *file = stdin;
    struct error err = ERROR_INIT;

    if (!standard_input && file_open_stream(path, &file, &err) != STATUS_OK)
        return command_fail(&err);
    if (command_has(line, KEY_JSON))
        output_json(json_array());
    analyze(line, file, standard_input ? "standard input" : path, &err);
    if (!standard_input)
        fclose(file);
    if (err.code != STATUS_OK) {
        envelope_set_data(NULL); /* of the series before the one that failed */
        return command_fail(&err);
    }
    return output_flush();
}

static const struct argp_option options[] = {
    {"paired", KEY_PAIRED, NULL, 0, "the file holds pairs: series,pair,arm,value_ns"},
    {"margin", KEY_MARGIN, "FRACTION", 0, "half-width of equivalence (default: 0.01)"},
    {"confidence", KEY_CONFIDENCE, "FRACTION", 0, "of intervals (default: 0.95)"},
    {"column", KEY_COLUMN, "NAME", 0, "column of the samples (default: sample_ns)"},
    {"unit", KEY_UNIT, "ns|us|ms|s", 0,
     "of the samples (default: the ending of the column's name, as in time_ms)"},
    {"trial-column", KEY_TRIAL, "NAME", 0,
     "column that names the trial (default: trial; without one, all are of one trial)"},
    {"series-column", KEY_SERIES, "NAME", 0,
     "column that names the series (default: series; without one, all are of one series)"},
    {"baseline", KEY_BASELINE, "SERIES", 0, "compare every other series with this one, unpaired"},
    {"warmup", KEY_WARMUP, "N", 0, "the first N samples of each trial are declared warmup"},
    {0}};

const struct command command_analyze = {
    .name = "analyze",
    .arguments = "FILE",
    .summary =
        "Analyse samples or pairs of any program: CSV, a list of numbers, or the JSON of some "
        "benchmarks (`-`: standard input)",
    .text = "Samples have the header series,trial,sample_ns, rows in time order. Each series gets "
            "a verdict (steady, after_warmup, after_slowdown, insufficient, undetermined, bimodal, "
            "drift, non_stationary), an interval of the mean that allows for autocorrelation, and "
            "percentiles, or the number of samples that they need.\n"
            "\n"
            "Another header is read with --column and --unit; a file of one number a line, or a "
            "JSON list of numbers, is one series, with --unit. Of these programs' JSON each entry "
            "is a series: `hyperfine --export-json` (the runs of each command), pytest-benchmark "
            "(`--benchmark-json` with `--benchmark-save-data`: the rounds of each test), Google "
            "Benchmark (`--benchmark_format=json`: the repetitions of each benchmark) and "
            "`llama-bench -o json` (those of each test); entries that failed are left out. "
            "--baseline compares series by Welch's t on the "
            "means of their trials, or, where each has a single trial, by the intervals within "
            "them, which leave out what differs between processes; the output says which.\n"
            "\n"
            "Pairs have the header series,pair,arm,value_ns with arms a and b; the ratio is b/a in "
            "time.",
    .options = options,
    .groups = GROUP_JSON,
    .arguments_min = 1,
    .arguments_max = 1,
    .completes = "FILE",
    .run = run,
};

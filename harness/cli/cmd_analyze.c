#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cli/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/output.h"
#include "harness/core/array.h"
#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "protocols/compare.h"
#include "protocols/compare_unpaired.h"
#include "protocols/estimate.h"
#include "protocols/spread.h"
#include "reports/comparison_document.h"
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

/* Its samples after the first of each trial that are not counted, in any order; false: none. */
static bool find_spread(const struct csv_series *series, size_t first, struct spread *ret)
{
    AUTO_FREE double *values = NULL;
    size_t count = 0;

    for (size_t i = 0; i < series->trial_count; i++)
        count += series->trials[i].count > first ? series->trials[i].count - first : 0;
    values = count > 0 ? malloc(count * sizeof(*values)) : NULL;
    if (!values)
        return false;
    count = 0;
    for (size_t i = 0; i < series->trial_count; i++)
        for (size_t k = first; k < series->trials[i].count; k++)
            values[count++] = (double)series->trials[i].sample_ns[k];
    spread_of(values, count, ret);
    return true;
}

/* In the numbers of a file that declares no unit. */
static void bare(struct estimate *estimate)
{
    const double by = 1 / CSV_BARE_NS;

    for (int i = 0; i < METRIC_COUNT; i++) {
        struct metric_value *value = &estimate->metrics[i];

        value->value *= by;
        value->lo *= by;
        value->hi *= by;
        value->unit[0] = '\0';
    }
    for (size_t i = 0; i < estimate->trial_count; i++) {
        struct estimate_trial *trial = &estimate->trials[i];

        trial->mean_ns.value *= by;
        trial->mean_ns.lo *= by;
        trial->mean_ns.hi *= by;
        trial->median_ns *= by;
    }
}

/* The trial_number of a finding is a place in trial_names, from 1. */
static json_t *series_json(const struct csv_series *series, const struct estimate *estimate,
                           const struct spread *spread)
{
    json_t *object = estimate_to_json(estimate), *names = json_array();

    if (spread)
        json_object_set_new(object, "samples_spread", spread_to_json(spread));

    for (size_t i = 0; i < series->trial_count; i++)
        json_array_append_new(names, printable_or_null(series->trials[i].name));
    json_object_set_new(object, "series", printable_or_null(series->name));
    json_object_set_new(object, "trial_names", names);
    return object;
}

/* "1.40 ms", or of a file without a unit "1.40". */
static void append_number(struct text *out, double value, bool is_bare)
{
    const struct metric_value shown = {.value = value};
    const struct number_unit unit =
        view_metric_unit(is_bare ? METRIC_COUNTED_COST : METRIC_ITERATION_TIME, &shown);
    char number[NUMBER_SIZE];

    text_append_format(out, "%s%s%s", number_format_rounded(value / unit.factor, 4, number),
                       unit.name[0] ? " " : "", unit.name);
}

/* Bars as high as the counts, none for none. */
static void append_histogram(struct text *out, const struct spread *spread)
{
    static const char *const bars[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                       "\u2585", "\u2586", "\u2587", "\u2588"};
    int64_t most = 1;

    for (size_t i = 0; i < SPREAD_BINS; i++)
        most = spread->bins[i] > most ? spread->bins[i] : most;
    for (size_t i = 0; i < SPREAD_BINS; i++)
        text_append(out, bars[(spread->bins[i] * 8 + most - 1) / most]);
}

static void append_spread(struct text *out, const struct spread *spread, bool is_bare)
{
    const struct {
        const char *name;
        double value;
    } rows[] = {{"min", spread->least},
                {"median", spread->median},
                {"max", spread->most},
                {"sd", spread->sd}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        text_append_format(out, i ? ", %s " : "  %s ", rows[i].name);
        if (isnan(rows[i].value))
            text_append(out, "unknown");
        else
            append_number(out, rows[i].value, is_bare);
    }
    text_append(out, "\n  ");
    append_number(out, spread->least, is_bare);
    text_append(out, " |");
    append_histogram(out, spread);
    text_append(out, "| ");
    append_number(out, spread->most, is_bare);
    text_append_char(out, '\n');
}

static void append_metric(struct text *out, enum metric_id id, const struct metric_value *value,
                          bool is_bare)
{
    text_append_format(out, "  %-6s ", id == METRIC_ITERATION_TIME ? "mean" : metrics[id].label);
    view_metric_words(is_bare && value->has_value ? METRIC_COUNTED_COST : id, value, out);
    text_append_char(out, '\n');
}

/* `spread` NULL: there are no samples. */
static void append_estimate(struct text *out, const struct csv_series *series,
                            const struct estimate *estimate, const struct spread *spread,
                            bool is_bare)
{
    const struct metric_value *mean = &estimate->metrics[METRIC_ITERATION_TIME];
    struct series_text series_text = {out, series};

    text_append_printable(out, series->name, strlen(series->name));
    text_append_format(out, ": %s, grade %s\n  %zu samples in %zu trial%s, ESS %.1f\n",
                       estimate_verdict_label(estimate->verdict),
                       mean->has_value ? metric_grade_name(mean->grade) : "none",
                       estimate->sample_count, estimate->trial_count,
                       estimate->trial_count == 1 ? "" : "s", estimate->ess);
    for (int i = 0; i < METRIC_COUNT; i++)
        if (estimate->metrics[i].present)
            append_metric(out, (enum metric_id)i, &estimate->metrics[i], is_bare);
    if (spread)
        append_spread(out, spread, is_bare);
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

#define NO_MATCH SIZE_MAX

/* The series of one file, or of two. */
struct both {
    struct csv_samples samples; /* those of the second file after those of the first */
    size_t first_count;         /* series of the first */
    size_t *match; /* heap; of each series of the second, the place of its like in the first, or
                      NO_MATCH; NULL: there is one file */
};

static void both_finish(struct both *both)
{
    csv_samples_finish(&both->samples);
    free(both->match);
}

static const char *origin_of(const char *path)
{
    return strcmp(path, "-") != 0 ? path : "standard input";
}

/* A file, or the standard input. */
static enum status open_input(const char *path, FILE **ret, struct error *err)
{
    *ret = stdin;
    return strcmp(path, "-") != 0 ? file_open_stream(path, ret, err) : STATUS_OK;
}

static enum status read_samples(const struct command_line *line, const char *path,
                                struct csv_samples *ret, struct error *err)
{
    const struct csv_columns columns = {
        command_value(line, KEY_COLUMN), command_value(line, KEY_TRIAL),
        command_value(line, KEY_SERIES), command_value(line, KEY_UNIT)};
    FILE *file;
    enum status status;

    TRY(open_input(path, &file, err));
    status = csv_import_any(file, origin_of(path), &columns, ret, err);
    if (file != stdin)
        fclose(file);
    return status;
}

/* The series of the first file that has the name of each one of the second. */
static enum status match_series(const struct csv_samples *first, const struct csv_samples *second,
                                size_t **ret, struct error *err)
{
    json_auto_t *places = json_object();
    size_t *match = calloc(second->series_count, sizeof(*match));

    for (size_t i = 0; i < first->series_count; i++)
        json_object_set_new(places, first->series[i].name, json_integer((json_int_t)i));
    if (!match || json_object_size(places) == 0) {
        free(match);
        return error_no_memory(err);
    }
    for (size_t i = 0; i < second->series_count; i++) {
        const json_t *place = json_object_get(places, second->series[i].name);

        match[i] = place ? (size_t)json_integer_value(place) : NO_MATCH;
    }
    if (first->series_count == 1 && second->series_count == 1)
        match[0] = 0;
    *ret = match;
    return STATUS_OK;
}

/* "FILE: NAME", unless the series is named as its file. */
static enum status name_by_file(struct csv_samples *samples, const char *origin, struct error *err)
{
    for (size_t i = 0; i < samples->series_count; i++) {
        struct csv_series *series = &samples->series[i];
        char *name;

        if (!strcmp(series->name, origin))
            continue;
        name = text_format("%s: %s", origin, series->name);
        if (!name)
            return error_no_memory(err);
        free(series->name);
        series->name = name;
    }
    return STATUS_OK;
}

/* Moves the series of `from` behind those of `to`, with what was left out. */
static enum status append_samples(struct csv_samples *to, struct csv_samples *from,
                                  struct error *err)
{
    TRY(ARRAY_GROW(to->series, to->series_count, from->series_count, err));
    memcpy(to->series + to->series_count, from->series, from->series_count * sizeof(*to->series));
    to->series_count += from->series_count;
    from->series_count = 0;
    if (from->left_out && !to->left_out)
        to->left_out = json_array();
    if (from->left_out && json_array_extend(to->left_out, from->left_out) < 0)
        return error_no_memory(err);
    return STATUS_OK;
}

static enum status read_both(const struct command_line *line, struct both *ret, struct error *err)
{
    const char *const *paths = line->arguments;
    CLEANUP(csv_samples_finish) struct csv_samples second = {0};

    TRY(read_samples(line, paths[0], &ret->samples, err));
    ret->first_count = ret->samples.series_count;
    if (line->argument_count < 2)
        return STATUS_OK;
    TRY(read_samples(line, paths[1], &second, err));
    if (second.is_bare != ret->samples.is_bare)
        return error_set(err, STATUS_INVALID,
                         "%s declares no unit, and the other file does: name it with --unit",
                         origin_of(paths[second.is_bare]));
    TRY(match_series(&ret->samples, &second, &ret->match, err));
    TRY(name_by_file(&ret->samples, origin_of(paths[0]), err));
    TRY(name_by_file(&second, origin_of(paths[1]), err));
    return append_samples(&ret->samples, &second, err);
}

static void tell_left_out(const struct csv_samples *samples)
{
    if (samples->is_bare)
        log_warning(
            "the unit of the numbers is not declared: they are shown as they are, and where "
            "the output calls them times, 1 is taken for a second (--unit ns, us, ms or s)");
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

/* A series against another one. */
struct versus {
    size_t base, other; /* places among the series */
    struct comparison numbers;
    enum unpaired_basis basis;
};

/* Series against their baselines, as far as they can be compared. */
struct baseline {
    const struct csv_samples *samples;
    struct estimate *const *estimates;
    struct versus *items; /* heap */
    size_t count;
};

static void baseline_finish(struct baseline *baseline)
{
    free(baseline->items);
}

static bool has_interval(const struct estimate *estimate)
{
    return estimate->metrics[METRIC_ITERATION_TIME].has_interval;
}

/* Compares two series; where that cannot be done, says why and goes on. NO_MEMORY. */
static enum status compare_one(struct baseline *x, size_t base, size_t other,
                               const struct compare_options *options, struct error *err)
{
    const char *name = x->samples->series[other].name;
    struct versus *versus = &x->items[x->count];
    struct error why = ERROR_INIT;
    enum status status;

    if (!has_interval(x->estimates[other])) {
        log_warning("%s is not compared: its samples allow no interval of its mean", name);
        return STATUS_OK;
    }
    *versus = (struct versus){.base = base, .other = other};
    status = unpaired_compare(x->estimates[base], x->estimates[other], options, &versus->numbers,
                              &versus->basis, &why);
    if (status == STATUS_NO_MEMORY)
        return error_no_memory(err);
    if (status == STATUS_OK)
        x->count++;
    else
        log_warning("%s is not compared with %s: %s", name, x->samples->series[base].name,
                    why.message);
    return STATUS_OK;
}

/* Every other series against the one that is named. INVALID where none can be compared with it. */
static enum status compare_all(struct baseline *x, const char *name,
                               const struct compare_options *options, struct error *err)
{
    const size_t series = x->samples->series_count;
    size_t base = 0;

    while (base < series && strcmp(x->samples->series[base].name, name) != 0)
        base++;
    if (base == series)
        return no_baseline(x->samples, name, err);
    if (!has_interval(x->estimates[base]))
        return error_set(
            err, STATUS_INVALID,
            "--baseline %s: its samples allow no interval of its mean, so that nothing "
            "can be compared with it; measure longer, or run more trials",
            name);
    for (size_t i = 0; i < series; i++)
        if (i != base)
            TRY(compare_one(x, base, i, options, err));
    return x->count > 0
               ? STATUS_OK
               : error_set(err, STATUS_INVALID,
                           "--baseline %s: no other series can be compared with it; measure "
                           "longer, or run more trials",
                           name);
}

/* Each series of the second file against that of the first with its name, or the only ones. */
static enum status compare_files(struct baseline *x, const struct both *both,
                                 const struct compare_options *options, struct error *err)
{
    for (size_t i = both->first_count; i < x->samples->series_count; i++) {
        const size_t base = both->match[i - both->first_count];

        if (base == NO_MATCH)
            log_warning("%s is not compared: the first file has no such series",
                        x->samples->series[i].name);
        else if (!has_interval(x->estimates[base]))
            log_warning("%s is not compared: the samples of the first file allow no interval of "
                        "its mean",
                        x->samples->series[i].name);
        else
            TRY(compare_one(x, base, i, options, err));
    }
    return x->count > 0
               ? STATUS_OK
               : error_set(err, STATUS_INVALID,
                           "no series of the second file can be compared with one of the first: "
                           "name them alike, measure longer, or run more trials");
}

static json_t *baseline_json(const struct baseline *x, const struct versus *versus)
{
    json_t *object = comparison_json(x->samples->series[versus->other].name, &versus->numbers);

    if (!object)
        return NULL;
    json_object_set_new(object, "baseline",
                        printable_or_null(x->samples->series[versus->base].name));
    json_object_set_new(
        object, "basis",
        json_string(versus->basis == UNPAIRED_TRIALS ? "trials" : "within_one_trial"));
    json_object_set_new(object, "note", json_string(unpaired_caveat(versus->basis)));
    return object;
}

/* What was compared is one family. */
static enum status judge_family(struct baseline *x, struct error *err)
{
    AUTO_FREE struct comparison *numbers = calloc(x->count, sizeof(*numbers));

    if (!numbers)
        return error_no_memory(err);
    for (size_t i = 0; i < x->count; i++)
        numbers[i] = x->items[i].numbers;
    TRY(comparison_family(numbers, x->count, err));
    for (size_t i = 0; i < x->count; i++)
        x->items[i].numbers = numbers[i];
    return STATUS_OK;
}

static enum status compare_unpaired(const struct command_line *line,
                                    const struct csv_samples *samples, const struct both *both,
                                    struct estimate *const *estimates,
                                    const struct compare_options *options, struct text *out,
                                    struct error *err)
{
    CLEANUP(baseline_finish) struct baseline x = {.samples = samples, .estimates = estimates};

    x.items = calloc(samples->series_count + 1, sizeof(*x.items));
    if (!x.items)
        return error_no_memory(err);
    TRY(command_has(line, KEY_BASELINE)
            ? compare_all(&x, command_value(line, KEY_BASELINE), options, err)
            : compare_files(&x, both, options, err));
    TRY(judge_family(&x, err));
    for (size_t i = 0; i < x.count; i++) {
        if (command_has(line, KEY_JSON))
            TRY(output_row(baseline_json(&x, &x.items[i]), err));
        else
            say_comparison(out, samples->series[x.items[i].other].name,
                           samples->series[x.items[i].base].name, &x.items[i].numbers,
                           unpaired_caveat(x.items[i].basis));
    }
    return STATUS_OK;
}

/* Compared are estimates in nanoseconds, and shown are those of the file's numbers. */
static enum status say_estimate(const struct command_line *line, const struct csv_samples *samples,
                                size_t i, size_t first, const struct estimate *estimate,
                                struct text *out, struct error *err)
{
    CLEANUP(estimate_cleanup) struct estimate *shown = NULL;
    json_auto_t *copy = estimate_to_json(estimate);
    struct spread spread;
    const bool has_spread = find_spread(&samples->series[i], first, &spread);

    TRY(copy ? estimate_from_json(copy, &shown, err) : error_no_memory(err));
    if (samples->is_bare)
        bare(shown);
    if (samples->is_bare && has_spread)
        spread_scale(&spread, 1 / CSV_BARE_NS);
    if (command_has(line, KEY_JSON))
        return output_row(series_json(&samples->series[i], shown, has_spread ? &spread : NULL),
                          err);
    append_estimate(out, &samples->series[i], shown, has_spread ? &spread : NULL, samples->is_bare);
    return STATUS_OK;
}

static enum status add_estimates(const struct command_line *line, const struct csv_samples *samples,
                                 const struct estimate_options *options, size_t first,
                                 struct estimate **estimates, struct text *out, struct error *err)
{
    for (size_t i = 0; i < samples->series_count; i++) {
        TRY(analyze_series(&samples->series[i], first, options, &estimates[i], err));
        TRY(say_estimate(line, samples, i, first, estimates[i], out, err));
    }
    return STATUS_OK;
}

/* What is compared comes first: it is what was asked for. */
static enum status analyze_samples(const struct command_line *line, const struct both *both,
                                   const struct estimate_options *options,
                                   const struct compare_options *compare, size_t first,
                                   struct error *err)
{
    const struct csv_samples *samples = &both->samples;
    struct estimate **estimates = calloc(samples->series_count, sizeof(struct estimate *));
    CLEANUP(text_finish) struct text series = TEXT_INIT;
    CLEANUP(text_finish) struct text out = TEXT_INIT;
    enum status status;

    tell_left_out(samples);
    status = estimates ? add_estimates(line, samples, options, first, estimates, &series, err)
                       : error_no_memory(err);
    if (status == STATUS_OK && (command_has(line, KEY_BASELINE) || both->match))
        status = compare_unpaired(line, samples, both, estimates, compare, &out, err);
    for (size_t i = 0; estimates && i < samples->series_count; i++)
        estimate_destroy(estimates[i]);
    free(estimates);
    if (text_ok(&series))
        text_append(&out, series.data);
    out.failed |= series.failed;
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
    comparison_certainty(&doc, NULL, &one);
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

        TRY(status);
        step = comparison_step_of(series->a, series->b, series->count);
        comparison_round(&comparisons[i], series->a[0], step, step);
    }
    return comparison_family(comparisons, pairs->series_count, err);
}

static enum status read_pairs(const char *path, struct csv_pairs *ret, struct error *err)
{
    FILE *file;
    enum status status;

    TRY(open_input(path, &file, err));
    status = csv_import_pairs(file, origin_of(path), ret, err);
    if (file != stdin)
        fclose(file);
    return status;
}

static enum status analyze_pairs(const struct command_line *line,
                                 const struct compare_options *options, struct error *err)
{
    CLEANUP(csv_pairs_finish) struct csv_pairs pairs = {0};
    struct comparison *comparisons;
    CLEANUP(text_finish) struct text out = TEXT_INIT;
    enum status status;

    TRY(read_pairs(line->arguments[0], &pairs, err));
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

/* Of two files the first is the baseline: options that say what is compared are for one file. */
static enum status check_files(const struct command_line *line, struct error *err)
{
    if (line->argument_count < 2)
        return STATUS_OK;
    if (command_has(line, KEY_PAIRED) || command_has(line, KEY_BASELINE))
        return error_set(err, STATUS_INVALID, "%s is for one file: two are compared by themselves",
                         command_has(line, KEY_PAIRED) ? "--paired" : "--baseline");
    return !strcmp(line->arguments[0], "-") && !strcmp(line->arguments[1], "-")
               ? error_set(err, STATUS_INVALID, "the standard input cannot be both files")
               : STATUS_OK;
}

static enum status analyze(const struct command_line *line, struct error *err)
{
    CLEANUP(both_finish) struct both both = {0};
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
    TRY(check_files(line, err));
    if (command_has(line, KEY_PAIRED))
        return analyze_pairs(line, &compare, err);
    TRY(read_both(line, &both, err));
    return analyze_samples(line, &both, &options, &compare, (size_t)first, err);
}

static int run(const struct command_line *line)
{
    struct error err = ERROR_INIT;

    if (command_has(line, KEY_JSON))
        output_json(json_array());
    analyze(line, &err);
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
    .arguments = "FILE [NEWER]",
    .summary =
        "Analyse samples or pairs of any program: CSV, a list of numbers, or the JSON of some "
        "benchmarks (`-`: standard input)",
    .text =
        "Samples have the header series,trial,sample_ns, rows in time order. Each series gets "
        "a verdict (steady, after_warmup, after_slowdown, insufficient, undetermined, bimodal, "
        "drift, non_stationary), an interval of the mean that allows for autocorrelation, and "
        "percentiles, or the number of samples that they need.\n"
        "\n"
        "Another header is read with --column and --unit; a file of one number a line, or a "
        "JSON list of numbers, is one series. Without a unit, by --unit or by the ending of the "
        "header (time_ms), the numbers are shown as they are. Of these programs' JSON each entry "
        "is a series: `hyperfine --export-json` (the runs of each command), pytest-benchmark "
        "(`--benchmark-json` with `--benchmark-save-data`: the rounds of each test), Google "
        "Benchmark (`--benchmark_format=json`: the repetitions of each benchmark) and "
        "`llama-bench -o json` (those of each test); of a load on a server, latencies and times "
        "to the first output of the requests that were answered: vLLM (`vllm bench latency "
        "--output-json`, `vllm bench serve --save-result --save-detailed`), GuideLLM, genai-perf "
        "(profile_export.json) and aiperf (profile_export.jsonl). Entries that failed are left "
        "out. "
        "Of two files each series of the second is compared with that of its name in the "
        "first, and a single one with a single one; --baseline compares the series of one "
        "file. Both go by Welch's t on the "
        "means of their trials, or, where each has a single trial, by the intervals within "
        "them, which leave out what differs between processes; the output says which.\n"
        "\n"
        "Pairs have the header series,pair,arm,value_ns with arms a and b; the ratio is b/a in "
        "time.",
    .options = options,
    .groups = GROUP_JSON,
    .arguments_min = 1,
    .arguments_max = 2,
    .completes = "FILE",
    .run = run,
};

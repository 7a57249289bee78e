#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/core/canonical.h"
#include "harness/core/log.h"
#include "protocols/compare.h"
#include "protocols/estimate.h"
#include "reports/view.h"
#include "results/csv_import.h"

enum { KEY_PAIRED = 0x100, KEY_MARGIN, KEY_CONFIDENCE, KEY_PROTOCOL = 'p', KEY_WARMUP = 'w' };

/* One JSON object on a line of its own, in canonical form: the same input gives the same bytes. */
static enum status print_line(json_t *object, struct error *err)
{
    char *line = NULL;
    enum status status = object ? canonical_dump(object, &line, err)
                                : error_set(err, STATUS_NO_MEMORY, "no memory for the result");

    json_decref(object);
    if (status == STATUS_OK)
        puts(line);
    free(line);
    return status;
}

static enum status read_fraction(const struct command_line *line, int key, const char *name,
                                 double *value, struct error *err)
{
    const char *word = command_value(line, key);
    double parsed;

    if (!word)
        return STATUS_OK;
    if (!text_parse_double(word, &parsed) || parsed <= 0 || parsed >= 1)
        return error_set(err, STATUS_INVALID, "--%s %s: write a number between 0 and 1, such as %g",
                         name, word, *value);
    *value = parsed;
    return STATUS_OK;
}

/* ---- samples ---- */

static void append_finding(void *context, const struct finding *const *items, size_t count)
{
    struct text *out = context;

    text_append(out, finding_kinds[items[0]->code].severity == FINDING_INFO ? "  - " : "  ! ");
    finding_render(items, count, 0, out);
    text_append_char(out, '\n');
}

static void append_estimate(struct text *out, const char *name, const struct estimate *estimate)
{
    const struct metric_value *mean = &estimate->metrics[METRIC_ITERATION_TIME];

    text_append_printable(out, name, strlen(name));
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
    finding_each_group(&estimate->findings, append_finding, out);
}

static enum status analyze_series(const struct csv_series *series, size_t first,
                                  const struct estimate_options *options, struct estimate **ret,
                                  struct error *err)
{
    struct estimate_series *trials = calloc(series->trial_count, sizeof(*trials));
    enum status status;

    if (!trials)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the trials");
    for (size_t i = 0; i < series->trial_count; i++)
        trials[i] = (struct estimate_series){
            .sample_ns = series->trials[i].sample_ns,
            .count = series->trials[i].count,
            .first = first < series->trials[i].count ? first : series->trials[i].count};
    status = estimate_cell(trials, series->trial_count, options, ret, err);
    free(trials);
    return status;
}

static enum status analyze_samples(const struct command_line *line, FILE *file, const char *origin,
                                   const struct estimate_options *options, size_t first,
                                   struct error *err)
{
    struct csv_samples samples;
    struct text out;
    enum status status = csv_import_samples(file, origin, &samples, err);

    if (status != STATUS_OK)
        return status;
    text_init(&out);
    for (size_t i = 0; i < samples.series_count && status == STATUS_OK; i++) {
        struct estimate *estimate = NULL;

        status = analyze_series(&samples.series[i], first, options, &estimate, err);
        if (status != STATUS_OK)
            break;
        if (command_has(line, KEY_JSON)) {
            json_t *object = estimate_to_json(estimate);

            if (object)
                json_object_set_new(object, "series", json_string(samples.series[i].name));
            status = print_line(object, err);
        } else {
            append_estimate(&out, samples.series[i].name, estimate);
        }
        estimate_destroy(estimate);
    }
    csv_samples_finish(&samples);
    if (out.length > 0)
        fwrite(out.data, 1, out.length, stdout);
    text_finish(&out);
    return status;
}

/* ---- pairs ---- */

/* `adjusted`: p of no difference among all series of the file. */
static void append_comparison(struct text *out, const char *name,
                              const struct comparison *comparison, double adjusted)
{
    text_append_printable(out, name, strlen(name));
    text_append_format(out, ": b is %s", compare_verdict_name(comparison->verdict));
    if (comparison->verdict == COMPARE_EQUIVALENT)
        text_append_format(out, " to a within %g %%", comparison->margin * 100);
    else if (comparison->verdict == COMPARE_INCONCLUSIVE)
        text_append(out, " against a");
    else
        text_append(out, " than a");
    text_append_format(out, "\n  time b/a %.5f", comparison->ratio.value);
    if (comparison->ratio.has_interval)
        text_append_format(out, " [%.5f, %.5f]", comparison->ratio.lo, comparison->ratio.hi);
    text_append_format(out, ", %zu pairs\n", comparison->count_a);
    if (comparison->no_spread)
        text_append(out,
                    "  all are alike to the last digit: judged by how many agree, since there is "
                    "no spread\n");
    if (comparison->needed_pairs > 0)
        text_append_format(out, "  about %llu pairs would settle it\n",
                           (unsigned long long)comparison->needed_pairs);
    if (comparison->differs && adjusted > 1 - comparison->confidence)
        text_append_format(out,
                           "  among so many series a difference like this comes by chance: p %.3g, "
                           "adjusted for all %.3g\n",
                           comparison->p_difference, adjusted);
}

static json_t *comparison_json(const char *name, const struct comparison *comparison,
                               double adjusted)
{
    json_t *object = comparison_to_json(comparison);

    if (object) {
        json_object_set_new(object, "p_difference_adjusted", json_real(adjusted));
        json_object_set_new(object, "series", json_string(name));
    }
    return object;
}

/* Compares each series, and adjusts what is found for how many there are. */
static enum status compare_series(const struct csv_pairs *pairs,
                                  const struct compare_options *options,
                                  struct comparison *comparisons, double *adjusted,
                                  struct error *err)
{
    for (size_t i = 0; i < pairs->series_count; i++) {
        const struct csv_pairs_series *series = &pairs->series[i];
        enum status status =
            paired_analyze(series->a, series->b, series->count, options, &comparisons[i], err);

        if (status != STATUS_OK)
            return status;
        adjusted[i] = comparisons[i].p_difference;
    }
    return family_adjust(adjusted, pairs->series_count, adjusted, err);
}

static enum status analyze_pairs(const struct command_line *line, FILE *file, const char *origin,
                                 const struct compare_options *options, struct error *err)
{
    struct csv_pairs pairs;
    struct comparison *comparisons;
    double *adjusted;
    struct text out;
    enum status status = csv_import_pairs(file, origin, &pairs, err);

    if (status != STATUS_OK)
        return status;
    text_init(&out);
    comparisons = calloc(pairs.series_count + 1, sizeof(*comparisons));
    adjusted = calloc(pairs.series_count + 1, sizeof(*adjusted));
    status = comparisons && adjusted
                 ? compare_series(&pairs, options, comparisons, adjusted, err)
                 : error_set(err, STATUS_NO_MEMORY, "%s: out of memory", origin);
    for (size_t i = 0; i < pairs.series_count && status == STATUS_OK; i++) {
        const char *name = pairs.series[i].name;

        if (command_has(line, KEY_JSON))
            status = print_line(comparison_json(name, &comparisons[i], adjusted[i]), err);
        else
            append_comparison(&out, name, &comparisons[i], adjusted[i]);
    }
    free(comparisons);
    free(adjusted);
    csv_pairs_finish(&pairs);
    if (out.length > 0)
        fwrite(out.data, 1, out.length, stdout);
    text_finish(&out);
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
    enum status status =
        read_fraction(line, KEY_CONFIDENCE, "confidence", &options.confidence, err);

    compare.confidence = options.confidence;
    if (status == STATUS_OK)
        status = read_fraction(line, KEY_MARGIN, "margin", &compare.margin, err);
    if (status != STATUS_OK)
        return status;
    options.margin = compare.margin;
    if (warmup && (!text_parse_i64(warmup, &first) || first < 0))
        return error_set(err, STATUS_INVALID,
                         "--warmup %s: write how many samples of each trial are warmup", warmup);
    if (command_has(line, KEY_PAIRED))
        return analyze_pairs(line, file, origin, &compare, err);
    return analyze_samples(line, file, origin, &options, (size_t)first, err);
}

static int run(const struct command_line *line)
{
    const char *path = line->arguments[0];
    bool standard_input = !strcmp(path, "-");
    FILE *file = standard_input ? stdin : fopen(path, "re");
    struct error err = ERROR_INIT;

    if (!file) {
        error_set_errno(&err, errno, "%s", path);
        return command_fail(&err);
    }
    analyze(line, file, standard_input ? "standard input" : path, &err);
    if (!standard_input)
        fclose(file);
    if (err.code != STATUS_OK)
        return command_fail(&err);
    return output_flush();
}

static const struct argp_option options[] = {
    {"paired", KEY_PAIRED, NULL, 0, "the file holds pairs: series,pair,arm,value_ns", 0},
    {"margin", KEY_MARGIN, "FRACTION", 0, "half-width of equivalence (default: 0.01)", 0},
    {"confidence", KEY_CONFIDENCE, "FRACTION", 0, "of intervals (default: 0.95)", 0},
    {"warmup", KEY_WARMUP, "N", 0, "the first N samples of each trial are declared warmup", 0},
    {0}};

const struct command command_analyze = {
    .name = "analyze",
    .arguments = "FILE.csv",
    .summary = "Analyse anybody's samples or pairs from a CSV file (`-`: standard input)",
    .text =
        "Samples have the header series,trial,sample_ns, rows in time order. Each series gets a "
        "verdict (flat, warmup, slowdown, drift, two_state, no_steady_state, insufficient), an "
        "interval of the mean that honours autocorrelation, and percentiles, or the number of "
        "samples that they need.\n"
        "\n"
        "Pairs have the header series,pair,arm,value_ns with arms a and b; the ratio is b/a in "
        "time. --json writes one object a line.",
    .options = options,
    .groups = GROUP_JSON,
    .arguments_min = 1,
    .arguments_max = 1,
    .completes = "file",
    .run = run,
};

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/cli/power_contract.h"
#include "harness/cli/power_serving.h"
#include "harness/cli/with_store.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "protocols/compare.h"
#include "protocols/metric.h"
#include "protocols/stats/order.h"
#include "results/analysis/pairs.h"
#include "workloads/declared.h"

enum {
    KEY_SD = 0x100,
    KEY_PAIR_SD,
    KEY_MARGIN,
    KEY_POWER,
    KEY_CONFIDENCE,
    KEY_CAPACITY,
    KEY_PRECISION,
    KEY_TRIALS
};

/* What is asked; spreads are of log time. */
struct question {
    double process_sd; /* between processes */
    double process_df; /* that it was estimated on */
    double pair_sd;    /* of the difference of a pair */
    double pair_df;
    const char *source;
    double margin, power, confidence;
};

static double sd_of_logs(const double *values, size_t count)
{
    double mean = 0, sum = 0;

    for (size_t i = 0; i < count; i++)
        mean += log(values[i]) / (double)count;
    for (size_t i = 0; i < count; i++)
        sum += (log(values[i]) - mean) * (log(values[i]) - mean);
    return count > 1 ? sqrt(sum / (double)(count - 1)) : NAN;
}

/* Spreads from what is stored: a paired campaign gives both, a result the one between processes. */
static enum status read_stored(const struct command_line *line, struct question *question,
                               struct error *err)
{
    const char *id = line->arguments[0];
    struct store *store;
    struct pairs pairs = {0};
    AUTO_FREE double *times = NULL;
    size_t count = 0, comparisons = 0;
    enum estimate_centre centre;
    int64_t cell, campaign;
    enum status status = store_open(command_database(line), STORE_READ,
                                    (int64_t)(1e9 * database_wait_s(STORE_READ)), &store, err);

    TRY(status);
    if (store_find_cell(store, id, &cell, NULL) == STATUS_OK) {
        status = pairs_trial_centres(store, cell, &times, &count, &centre, NULL, err);
        if (status == STATUS_OK)
            question->process_sd = sd_of_logs(times, count);
        question->process_df = (double)count - 1;
    } else {
        status = store_find_campaign(store, id, &campaign, err);
        if (status == STATUS_OK)
            status = pairs_count(store, campaign, &comparisons, err);
        if (status == STATUS_OK && comparisons > 1)
            status = error_set(err, STATUS_INVALID,
                               "%s has %zu comparisons, each with a spread of its own: name a "
                               "result of it, or give --pair-sd (`sd_log` of `assay compare %s "
                               "--json`)",
                               id, comparisons, id);
        if (status == STATUS_OK)
            status = pairs_of_campaign(store, campaign, 0, &pairs, err);
        if (status == STATUS_OK) {
            question->process_df = question->pair_df = (double)pairs.count - 1;
            question->process_sd = sd_of_logs(pairs.a, pairs.count);
            for (size_t k = 0; k < pairs.count; k++)
                pairs.b[k] /= pairs.a[k];
            question->pair_sd = sd_of_logs(pairs.b, pairs.count);
        }
        pairs_finish(&pairs);
    }
    store_close(store);
    question->source = id;
    if (status == STATUS_OK && isnan(question->process_sd))
        return error_set(err, STATUS_INVALID,
                         "%s has fewer than two steady trials: there is no spread to plan from",
                         id);
    return status;
}

static enum status read_question(const struct command_line *line, struct question *question,
                                 struct error *err)
{
    *question = (struct question){.process_sd = NAN,
                                  .process_df = COMPARE_KNOWN,
                                  .pair_sd = NAN,
                                  .pair_df = COMPARE_KNOWN,
                                  .source = "as given",
                                  .margin = 0.01,
                                  .power = 0.8,
                                  .confidence = 0.95};
    if (line->argument_count > 0) {
        TRY(read_stored(line, question, err));
    }
    if (command_has(line, KEY_SD))
        question->process_df = COMPARE_KNOWN;
    if (command_has(line, KEY_PAIR_SD))
        question->pair_df = COMPARE_KNOWN;
    TRY(command_fraction(line, KEY_SD, "sd", &question->process_sd, err));
    TRY(command_fraction(line, KEY_PAIR_SD, "pair-sd", &question->pair_sd, err));
    TRY(command_fraction(line, KEY_MARGIN, "margin", &question->margin, err));
    TRY(command_fraction(line, KEY_POWER, "power", &question->power, err));
    TRY(command_fraction(line, KEY_CONFIDENCE, "confidence", &question->confidence, err));
    if (question->confidence <= 0.5)
        return error_set(err, STATUS_INVALID,
                         "--confidence %s: write a number between 0.5 and 1; 0.95 is usual",
                         command_value(line, KEY_CONFIDENCE));
    if (isnan(question->process_sd) && isnan(question->pair_sd))
        return error_set(err, STATUS_INVALID,
                         "name a stored result or a paired campaign, or give --sd or --pair-sd");
    /* Without better knowledge the two processes of a pair vary on their own. */
    if (isnan(question->pair_sd)) {
        question->pair_sd = question->process_sd * sqrt(2);
        question->pair_df = question->process_df;
    }
    return STATUS_OK;
}

/* A count, six wide, or where none up to `most` is enough, that it is more. */
static void append_count(struct text *out, uint64_t count, const char *most)
{
    if (count)
        text_append_format(out, "  %6llu", (unsigned long long)count);
    else
        text_append_format(out, "  more than %s", most);
}

static json_t *count_or_null(uint64_t count)
{
    return count ? json_integer((json_int_t)count) : json_null();
}

/* Degrees of freedom that an sd was estimated on; null: it was given. */
static json_t *df_or_null(double df)
{
    return df < COMPARE_KNOWN ? json_real(df) : json_null();
}

/* Pairs whose equivalence test passes with the wanted power when there is no difference at all. */
static uint64_t pairs_for_equivalence(const struct question *question, double sd)
{
    double margin = log1p(question->margin);

    for (uint64_t pairs = 2; pairs <= 100000; pairs += pairs < 1000 ? 1 : pairs / 100)
        if (paired_equivalence_power((double)pairs, sd, 0, margin, question->confidence) >=
            question->power)
            return pairs;
    return 0;
}

/* [{"percentile", "samples"}]: the effective sample size that each trial needs. */
static json_t *percentiles_json(void)
{
    json_t *list = json_array();

    for (size_t i = 0; i < METRIC_COUNT; i++)
        if (metrics[i].q > 0)
            json_array_append_new(list,
                                  json_pack("{s:s, s:I}", "percentile", metrics[i].label, "samples",
                                            (json_int_t)order_needed(metrics[i].q)));
    return list;
}

static void append_percentiles(struct text *out)
{
    const char *lead = "Percentiles take an effective sample size in each trial of ";

    for (size_t i = 0; i < METRIC_COUNT; i++) {
        if (!(metrics[i].q > 0))
            continue;
        text_append_format(out, "%s%llu (%s)", lead, (unsigned long long)order_needed(metrics[i].q),
                           metrics[i].label);
        lead = ", ";
    }
    text_append_char(out, '\n');
}

static bool is_contract(const struct command_line *line)
{
    const char *end = line->argument_count > 0 ? strrchr(line->arguments[0], '.') : NULL;

    return end && (!strcmp(end, ".yaml") || !strcmp(end, ".yml"));
}

static bool is_workload(const struct command_line *line)
{
    const char *name = line->argument_count > 0 ? line->arguments[0] : "";
    bool declared = false;
    size_t count;
    const struct catalog_entry *entries = catalog_workloads(&count);

    for (size_t i = 0; i < count && !declared; i++)
        declared = !strcmp(entries[i].name, name);
    return declared || (is_contract(line) &&
                        declaration_is_workload(name, &declared, NULL) == STATUS_OK && declared);
}

static int run_serving(const struct command_line *line)
{
    struct serving_power_options options = {0};
    const char *capacity = command_value(line, KEY_CAPACITY);
    const char *trials = command_value(line, KEY_TRIALS);
    struct error err = ERROR_INIT;
    enum status status = command_fraction(line, KEY_MARGIN, "margin", &options.margin, &err);

    if (status == STATUS_OK)
        status = command_fraction(line, KEY_PRECISION, "precision", &options.precision, &err);
    if (status != STATUS_OK)
        return command_fail(&err);
    if (capacity && (!text_parse_double(capacity, &options.capacity) || !(options.capacity > 0)))
        status = error_set(&err, STATUS_INVALID,
                           "--capacity %s: write requests per second, such as 120", capacity);
    else if (trials && (!text_parse_i64(trials, &options.trials) || options.trials < 1 ||
                        options.trials > 1024))
        status =
            error_set(&err, STATUS_INVALID, "--trials %s: write a number from 1 to 1024", trials);
    return status == STATUS_OK
               ? power_serving(line->arguments[0], &options, command_has(line, KEY_JSON))
               : command_fail(&err);
}

static int run_contract(const struct command_line *line)
{
    double sd = NAN;
    struct error err = ERROR_INIT;
    enum status status = command_fraction(line, KEY_SD, "sd", &sd, &err);

    if (status == STATUS_OK && (command_has(line, KEY_PAIR_SD) || command_has(line, KEY_MARGIN) ||
                                command_has(line, KEY_POWER) || command_has(line, KEY_CONFIDENCE)))
        status = error_set(&err, STATUS_INVALID,
                           "%s has levels and risks of its own: leave out all options but --sd",
                           line->arguments[0]);
    return status == STATUS_OK ? power_contract(line, sd) : command_fail(&err);
}

static int run(const struct command_line *line)
{
    struct question question;
    struct error err = ERROR_INIT;
    uint64_t trials = 0, difference, equivalence;
    double pair_sd;
    struct text out = TEXT_INIT;

    if (is_workload(line))
        return run_serving(line);
    if (is_contract(line))
        return run_contract(line);
    if (read_question(line, &question, &err) != STATUS_OK)
        return command_fail(&err);
    if (!isnan(question.process_sd))
        trials = trials_needed(question.process_sd, question.process_df, log1p(question.margin),
                               question.confidence, question.power);
    /* A spread that was estimated may be larger in truth: plan for its upper bound. */
    pair_sd = sd_with_assurance(question.pair_sd, question.pair_df, question.power);
    difference = paired_needed(pair_sd, COMPARE_KNOWN, log1p(question.margin), question.confidence,
                               question.power);
    equivalence = pairs_for_equivalence(&question, pair_sd);
    if (command_has(line, KEY_JSON))
        return output_json(json_pack(
            "{s:s, s:o, s:o, s:o, s:o, s:f, s:f, s:f, s:o, s:o, s:o, s:o}", "source",
            question.source, "process_sd", real_or_null(question.process_sd), "process_df",
            df_or_null(question.process_df), "pair_sd", real_or_null(question.pair_sd), "pair_df",
            df_or_null(question.pair_df), "margin", question.margin, "power", question.power,
            "confidence", question.confidence, "trials_for_precision", count_or_null(trials),
            "pairs_for_difference", count_or_null(difference), "pairs_for_equivalence",
            count_or_null(equivalence), "samples_for_percentiles", percentiles_json()));
    text_append_format(&out, "Spread (%s):", question.source);
    if (!isnan(question.process_sd))
        text_append_format(&out, " between processes %.3g %%,", question.process_sd * 100);
    text_append_format(&out, " of a pair's difference %.3g %%\n", question.pair_sd * 100);
    if (!isnan(question.process_sd)) {
        append_count(&out, trials, "10^7");
        text_append_format(&out,
                           " trials bring a %g %% interval within ±%g %% with a chance of %g %%\n",
                           question.confidence * 100, question.margin * 100, question.power * 100);
    }
    append_count(&out, difference, "10^7");
    text_append_format(&out, " pairs find a difference of %g %% with power %g %%\n",
                       question.margin * 100, question.power * 100);
    append_count(&out, equivalence, "10^5");
    text_append_format(
        &out, " pairs show two equal arms to be equivalent within ±%g %% with power %g %%\n",
        question.margin * 100, question.power * 100);
    append_percentiles(&out);
    return output_lines(&out);
}

static const struct argp_option options[] = {
    {"sd", KEY_SD, "FRACTION", 0, "standard deviation between processes, relative"},
    {"pair-sd", KEY_PAIR_SD, "FRACTION", 0, "standard deviation of a pair's difference, relative"},
    {"margin", KEY_MARGIN, "FRACTION", 0,
     "precision or difference wanted (default: 0.01); of a server, of its capacity at the limits "
     "(default: 0.03)"},
    {"power", KEY_POWER, "FRACTION", 0, "probability of reaching or finding it (default: 0.8)"},
    {"confidence", KEY_CONFIDENCE, "FRACTION", 0, "of intervals (default: 0.95)"},
    {"capacity", KEY_CAPACITY, "RATE", 0,
     "of a server: requests/s that it does offline (default: load.capacity)"},
    {"precision", KEY_PRECISION, "FRACTION", 0,
     "of a server: half-width of a share's interval, relative to the share (default: 0.5)"},
    {"trials", KEY_TRIALS, "COUNT", 0, "of a server (default: 5)"},
    {0}};

const struct command command_power = {
    .name = "power",
    .arguments = "[RESULT|CAMPAIGN|CONTRACT.yaml|WORKLOAD]",
    .summary = "Compute what trials, pairs or requests can show, and risks of a contract",
    .text =
        "Spreads come from a stored result (between its trials), from a campaign made by `assay "
        "ab` (also between the arms of a pair), or from --sd and --pair-sd. A spread that was "
        "estimated from few trials may be larger in truth; the numbers allow for that, so that the "
        "precision is reached with the probability of --power.\n"
        "\n"
        "Of a contract (see assay accept), a file that ends in .yaml: how likely each item is "
        "accepted, rejected or inconclusive, for true values from the declared level to the "
        "limiting one, where trials vary by --sd; and how many trials keep both parties' risks.\n"
        "\n"
        "Of a workload that is served under load: how many requests a trial takes at each rate, "
        "and how long all trials last, for an interval of attainment and of each percentile at "
        "all, and for a wanted precision, of the capacity as well.\n"
        "\n"
        "  assay power last/1 --margin 0.005\n"
        "  assay power gpt2_tiny_server --capacity 40 --precision 0.2\n"
        "  assay power tender.yaml --sd 0.01",
    .options = options,
    .groups = GROUP_STORE | GROUP_JSON,
    .arguments_max = 1,
    .completes = "RESULT|CAMPAIGN|FILE",
    .run = run,
};

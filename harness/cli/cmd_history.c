#include <math.h>
#include <stdint.h>
#include <string.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/cli/results_view.h"
#include "harness/cli/with_store.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "protocols/comparability.h"
#include "reports/history_document.h"
#include "reports/view.h"
#include "results/analysis/history.h"
#include "results/analysis/judgement.h"

enum { KEY_SINCE = 0x100, KEY_BASELINE, KEY_STALE };

/* Of a series the last so many results have a line of their own. */
#define LINES_MAX 12

/* The newest results as heights, as many as fit, and a mark below where the stack changed. */
static void append_strip(struct text *out, const json_t *series, size_t columns)
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const json_t *results = json_object_get(series, "results");
    const size_t count = json_array_size(results), room = columns > 8 ? columns - 4 : 4;
    const size_t first = count > room ? count - room : 0;
    double lo = INFINITY, hi = -INFINITY;
    struct text marks = TEXT_INIT;

    for (size_t i = first; i < count; i++) {
        lo = fmin(lo, member_real(json_array_get(results, i), "value"));
        hi = fmax(hi, member_real(json_array_get(results, i), "value"));
    }
    text_append(out, "  ");
    for (size_t i = first; i < count; i++) {
        const json_t *result = json_array_get(results, i);
        const double share = hi > lo ? (member_real(result, "value") - lo) / (hi - lo) : 0.5;
        const char *mark = " ";

        text_append(out, bars[(size_t)fmin(7, share * 8)]);
        if (member_size(result, "stack") > 0)
            mark = "s";
        EACH(change, json_object_get(series, "changes"))
            if (json_equal(json_object_get(change, "after"), json_object_get(result, "id")))
                mark = "^";
        text_append(&marks, mark);
    }
    while (marks.length > 0 && marks.data[marks.length - 1] == ' ')
        marks.data[--marks.length] = '\0';
    text_append(out, "\n");
    if (marks.length > 0)
        text_append_format(out, "  %s\n", marks.data);
    text_finish(&marks);
}

static void say_series(struct doc *doc, const json_t *series, const char *database, size_t columns)
{
    const json_t *results = json_object_get(series, "results");
    const size_t count = json_array_size(results);
    const json_t *batch = json_object_get(series, "batch");
    const char *arm = member_text(series, "arm");

    doc_add(doc, "%s %s", member_text(series, "workload"), member_text(series, "precision"));
    if (json_is_integer(batch))
        doc_add(doc, " batch %lld", (long long)json_integer_value(batch));
    doc_say(doc, NULL, "%s%s, protocol %s, on %s (%s): %zu result%s", *arm ? ", " : "", arm,
            member_text(series, "protocol"), member_text(series, "device_spec"),
            member_text(series, "device"), count, count == 1 ? "" : "s");
    if (count > 1 && doc->medium == &doc_lines)
        append_strip(doc->out, series, columns);
    history_results(doc, series, LINES_MAX);
    history_changes(doc, series, database);
}

static enum status read_filter(const struct command_line *line, struct store *store,
                               struct store_filter *filter, json_t **ret_row, struct error *err)
{
    const char *word = line->argument_count > 0 ? line->arguments[0] : NULL;
    struct store_filter one = {0};
    json_auto_t *rows = NULL;

    *filter = (struct store_filter){.device = command_value(line, KEY_DEVICE),
                                    .protocol = command_value(line, KEY_PROTOCOL),
                                    .hide_archived = true};
    TRY(command_since(line, KEY_SINCE, &filter->since_utc_ns, err));
    if (!word || (!strchr(word, '/') && word[0] != '@')) {
        filter->workload = word;
        return STATUS_OK;
    }
    TRY(store_find_cell(store, word, &one.cell, err));
    TRY(store_list_results(store, &one, &rows, err));
    *ret_row = json_incref(json_array_get(rows, 0));
    filter->workload = member_text(*ret_row, "workload");
    filter->precision = member_text(*ret_row, "precision");
    return STATUS_OK;
}

/* Of a result its own series; with --stale those that the stack has left behind. */
static void keep_wanted(const struct command_line *line, const json_t *row, json_t *all)
{
    for (size_t i = json_array_size(all); i-- > 0;) {
        const json_t *series = json_array_get(all, i);
        bool wanted = !row, stale = json_is_object(json_object_get(series, "stale"));

        EACH(result, json_object_get(series, "results"))
            wanted |= row && json_equal(json_object_get(result, "id"), json_object_get(row, "id"));
        if (!wanted || (command_has(line, KEY_STALE) && !stale))
            json_array_remove(all, i);
    }
}

static int show(const struct command_line *line, struct store *store, void *context)
{
    struct error err = ERROR_INIT;
    struct history_query query = {.wants = NULL};
    json_auto_t *row = NULL, *all = NULL;
    struct text out = TEXT_INIT;
    struct doc doc;
    size_t short_ones = 0;

    (void)context;
    if (read_filter(line, store, &query.filter, &row, &err) != STATUS_OK ||
        history_make(store, &query, &all, &err) != STATUS_OK)
        return command_fail_asked(&err);
    keep_wanted(line, row, all);
    if (command_has(line, KEY_JSON))
        return output_json(json_incref(all));
    say_archived(store, "they are in no history");
    doc = output_doc(line, &out);
    EACH(series, all) {
        say_series(&doc, series, store_path_word(store), output_columns());
        short_ones += !strcmp(member_text(series, "kind"), "too_few");
    }
    if (short_ones > 0)
        doc_say(&doc, NULL,
                "Changes are looked for from %d sittings on, results within an hour of each other "
                "being one (%zu of %zu %s fewer).",
                HISTORY_SITTINGS_LEAST, short_ones, json_array_size(all),
                short_ones == 1 ? "has" : "have");
    if (json_array_size(all) == 0)
        log_info("no results in %s match; `assay results %s%s` lists what there is",
                 store_path(store), store_path_word(store) ? "--db " : "",
                 store_path_word(store) ? store_path_word(store) : "BUNDLE");
    return output_document(&doc);
}

static int name_baseline(const struct command_line *line, struct store *store, void *context)
{
    const char *name = command_value(line, KEY_BASELINE);
    json_auto_t *body = NULL,
                *asked = json_pack("{s:s, s:s}", "a", line->arguments[0], "name", name);
    struct error err = ERROR_INIT;
    int64_t cell;

    (void)context;
    if (judgement_baseline.make(store, asked, &body, &err) != STATUS_OK ||
        store_find_cell(store, member_text(body, "a"), &cell, &err) != STATUS_OK ||
        store_record_comparison(store, judgement_baseline.name, cell, 0, COMPARISON_VERSION,
                                judgement_baseline.name, body, &err) != STATUS_OK)
        return command_fail_asked(&err);
    log_info("recorded: baseline %s is %s; @%s names it in compare, gate and others", name,
             member_text(body, "a"), name);
    return command_has(line, KEY_JSON) ? output_json(json_array()) : ASSAY_EXIT_OK;
}

static int run(const struct command_line *line)
{
    if (!command_has(line, KEY_BASELINE))
        return with_store(line, STORE_READ, show, NULL);
    if (line->argument_count != 1) {
        log_error("--baseline NAME needs the RESULT that it names");
        return ASSAY_EXIT_USAGE;
    }
    return with_store(line, STORE_WRITE, name_baseline, NULL);
}

static const struct argp_option options[] = {
    {"device", KEY_DEVICE, "DEVICE|TEXT", 0,
     "only devices whose spec is, or whose name contains, this"},
    {"protocol", KEY_PROTOCOL, "PROTOCOL", 0, "only this protocol"},
    {"since", KEY_SINCE, "DATE|AGE", 0, "only campaigns from then on"},
    {"baseline", KEY_BASELINE, "NAME", 0, "record that RESULT is the baseline of this name"},
    {"stale", KEY_STALE, NULL, 0, "only what was measured on a stack that has changed since"},
    {0}};

const struct command command_history = {
    .name = "history",
    .arguments = "[BUNDLE] [WORKLOAD|RESULT]",
    .summary = "Show results over time, where they changed, and what changed in the stack",
    .text = "Results of one workload, precision, batch, device, host and protocol are a series. "
            "Those within an hour of each other are one sitting, and count as their mean: they "
            "are alike for reasons of that hour. In a series of 16 sittings or more assay looks "
            "for changes: it fits several models (steps, ramps, lines, exponential approaches) "
            "with autocorrelated errors and takes the best; of constant series that are looked at "
            "after each sitting, up to the 200th, at most 5 % ever show any change. That takes "
            "neighbouring sittings to be no more alike than a correlation of 0.3. A change of a "
            "few sittings must be clearer than one that has been there for twelve. What differs "
            "in the stack before and after a change is named. In the line of marks ^ is a change "
            "and s another stack than before.\n"
            "\n"
            "A series is stale where the newest result of its device has another driver, library "
            "or other part of the stack than its own newest; `assay reproduce` measures it again.\n"
            "\n"
            "A baseline is a record: in the log, in bundles, recomputed by `assay verify`. Its "
            "newest record counts; @NAME is its result wherever a RESULT is asked for.\n"
            "\n"
            "  assay history triad --device cpu --since 30d\n"
            "  assay history --baseline release-1 9f2c41aa/1\n"
            "  assay gate @release-1 last/1",
    .options = options,
    .groups = GROUP_STORE | GROUP_JSON | GROUP_MARKDOWN,
    .arguments_max = 1,
    .takes_bundle = true,
    .completes = "WORKLOAD|RESULT",
    .run = run,
};

#include "harness/cli/commands.h"

#include <string.h>

#include "harness/cli/comparison_view.h"
#include "harness/cli/judging.h"
#include "harness/cli/with_store.h"
#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/log.h"
#include "results/analysis/gate.h"

enum { KEY_MARKDOWN_FILE = 0x100, KEY_JUNIT, KEY_ALLOW };

/* "worse: 21 % slower [19, 23]" */
static void append_message(struct text *out, const struct stored_comparison *comparison)
{
    CLEANUP(text_finish) struct text words = TEXT_INIT, plain = TEXT_INIT;

    comparison_decision_words(&words, comparison);
    doc_plain(&plain, words.data);
    doc_html_phrases(out, plain.data);
    out->failed = out->failed || words.failed || plain.failed;
}

/*
 * JUnit XML, a test case a comparison: worse is a failure; what neither passes nor is worse, an
 * error, or skipped where it is allowed.
 */
static void append_junit(struct text *out, const struct campaign_comparison *comparison,
                         bool allows_inconclusive)
{
    const char *elements[] = {[GATE_PASSES] = NULL,
                              [GATE_WORSE] = "failure",
                              [GATE_NOT_COMPARABLE] = "error",
                              [GATE_FOREIGN_WORKER] = "error",
                              [GATE_INCONCLUSIVE] = allows_inconclusive ? "skipped" : "error"};
    size_t counts[GATE_INCONCLUSIVE + 1] = {0}, errors, skipped;

    for (size_t i = 0; i < comparison->count; i++)
        counts[gate_decide(&comparison->list[i])]++;
    skipped = allows_inconclusive ? counts[GATE_INCONCLUSIVE] : 0;
    errors = comparison->count - counts[GATE_PASSES] - counts[GATE_WORSE] - skipped;
    text_append_format(out,
                       "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                       "<testsuites name=\"assay gate\" tests=\"%zu\" failures=\"%zu\" "
                       "errors=\"%zu\">\n<testsuite name=\"",
                       comparison->count, counts[GATE_WORSE], errors);
    doc_html_phrases(out, comparison->a);
    doc_html_phrases(out, comparison->b[0] ? " against " : "");
    doc_html_phrases(out, comparison->b);
    text_append_format(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\">\n",
                       comparison->count, counts[GATE_WORSE], errors, skipped);
    for (size_t i = 0; i < comparison->count; i++) {
        const enum gate_decision decision = gate_decide(&comparison->list[i]);

        text_append(out, "<testcase classname=\"assay.gate\" name=\"");
        doc_html_phrases(out, comparison->names[i]);
        text_append(out, "\">");
        if (elements[decision]) {
            text_append_format(out, "<%s type=\"%s\" message=\"", elements[decision],
                               gate_decision_name(decision));
            append_message(out, &comparison->list[i]);
            text_append(out, "\"/>");
        }
        text_append(out, "</testcase>\n");
    }
    text_append(out, "</testsuite>\n</testsuites>\n");
}

static enum status write_file(const char *path, struct text *out, struct error *err)
{
    return text_ok(out) ? file_write_atomic(path, out->data, out->length, 0644, err)
                        : error_no_memory(err);
}

/* The files that were asked for. */
static enum status write_reports(const struct command_line *line, struct store *store,
                                 const struct campaign_comparison *comparison, struct error *err)
{
    const char *markdown = command_value(line, KEY_MARKDOWN_FILE);
    const char *junit = command_value(line, KEY_JUNIT);
    CLEANUP(text_finish) struct text page = TEXT_INIT, cases = TEXT_INIT;
    CLEANUP(doc_finish) struct doc doc = doc_new(&page, &doc_markdown);

    doc.is_brief = !command_has(line, KEY_DETAILS);
    if (markdown) {
        TRY(comparison_view_write(&doc, store, comparison, true, err));
        TRY(write_file(markdown, &page, err));
    }
    if (!junit)
        return STATUS_OK;
    append_junit(&cases, comparison, command_has(line, KEY_ALLOW));
    return write_file(junit, &cases, err);
}

/* Says what was decided. Returns its exit status, or that of what passes where it is allowed. */
static int conclude(const struct campaign_comparison *comparison, bool allows_inconclusive)
{
    static const int statuses[] = {[GATE_PASSES] = ASSAY_EXIT_OK,
                                   [GATE_WORSE] = ASSAY_EXIT_TRIALS,
                                   [GATE_NOT_COMPARABLE] = ASSAY_EXIT_USAGE,
                                   [GATE_FOREIGN_WORKER] = ASSAY_EXIT_USAGE,
                                   [GATE_INCONCLUSIVE] = ASSAY_EXIT_DEVICE};
    const enum gate_decision decision = campaign_comparison_decide(comparison);
    CLEANUP(text_finish) struct text undecided = TEXT_INIT, plain = TEXT_INIT;

    comparison_append_undecided(&undecided, comparison);
    doc_plain(&plain, undecided.data);
    if (plain.length > 0)
        log_info("gate undecided%s", plain.data);
    else
        log_info("gate %s%s", gate_decision_words(decision),
                 decision == GATE_FOREIGN_WORKER ? " (--allow-foreign-worker)" : "");
    if (decision != GATE_INCONCLUSIVE || !allows_inconclusive)
        return statuses[decision];
    log_info("exit status 0 although inconclusive: --allow inconclusive");
    return ASSAY_EXIT_OK;
}

static int pass_or_fail(const struct command_line *line, struct store *store, void *context)
{
    CLEANUP(comparison_cleanup) struct assay_comparison *comparison = NULL;
    const struct campaign_comparison *made;
    json_auto_t *bodies = NULL;
    struct error err = ERROR_INIT;

    if (comparison_of_arguments(line, context, &comparison) != ASSAY_OK)
        return command_fail_asked(library_error());
    made = &comparison->made;
    if (made->is_single && made->list->cells[0] == made->list->cells[1]) {
        log_error("baseline and candidate are one and the same result, %s: a gate that compares it "
                  "with itself would always pass; name two (did the candidate's run fail, so that "
                  "`last` is still the baseline?)",
                  made->a);
        return ASSAY_EXIT_USAGE;
    }
    bodies = campaign_comparison_bodies(made, true);
    judging_record(line, &judgement_gate, bodies);
    campaign_comparison_show(line, store, made, true);
    return write_reports(line, store, made, &err) == STATUS_OK
               ? conclude(made, command_has(line, KEY_ALLOW))
               : command_fail(&err);
}

static int run(const struct command_line *line)
{
    static const int files[] = {KEY_MARKDOWN_FILE, KEY_JUNIT};
    struct assay_compare_options options;
    const char *allowed = command_value(line, KEY_ALLOW);
    struct error err = ERROR_INIT;

    if (comparison_options(line, &options, &err) != STATUS_OK)
        return command_fail(&err);
    if (allowed && strcmp(allowed, "inconclusive") != 0) {
        log_error("--allow %s: only inconclusive can be allowed", allowed);
        return ASSAY_EXIT_USAGE;
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        const char *path = command_value(line, files[i]);

        if (path && file_check_output(path, &err) != STATUS_OK)
            return command_fail(&err);
    }
    return with_store(line, STORE_READ, pass_or_fail, &options);
}

static const struct argp_option options[] = {
    {"margin", KEY_MARGIN, "FRACTION", 0, "slower by no more than this passes (default: 0.01)"},
    BY_OPTION,
    {"allow-foreign-worker", KEY_ALLOW_FOREIGN_WORKER, NULL, 0,
     "judge what another program than assay's own worker measured and checked (ASSAY_WORKER, or a "
     "worker that hands nothing over), which is otherwise refused; the stored decision says that "
     "it was allowed"},
    {"under", KEY_UNDER, "CONDITION[,CONDITION]...", 0,
     "decide although these were found: contention, steal, cgroup_throttled, device_throttled, "
     "device_shared; the stored decision says that they were allowed"},
    {"allow", KEY_ALLOW, "inconclusive", 0,
     "end with 0 where the gate is inconclusive; the stored decision stays inconclusive"},
    {"markdown", KEY_MARKDOWN_FILE, "FILE", 0,
     "write the same as Markdown, for a pull request, too"},
    DETAILS_OPTION,
    {"junit", KEY_JUNIT, "FILE", 0, "write JUnit XML, too: a test case a comparison"},
    {0}};

const struct command command_gate = {
    .name = "gate",
    .arguments = "BASELINE CANDIDATE | CAMPAIGN",
    .summary = "Pass or fail a candidate against a baseline, for CI",
    .text = "A decision that can be used is evidence, whatever its outcome: it is stored in the "
            "log, recomputed by `assay verify` and listed in a dossier. Where the database cannot "
            "be written, a warning says that it is not recorded; the exit status is still the "
            "decision's. A file of an older assay is upgraded when it is written to, and a message "
            "says so; --no-record leaves the file as it is.\n"
            "\n"
            "Exit status 0: equivalent within the margin, or faster; 1: worse; 2: the two do not "
            "compare, a foreign worker measured them, or wrong arguments; 3: inconclusive (with "
            "--allow "
            "inconclusive: 0). 4 and above: the command itself failed. A single CAMPAIGN is one "
            "that `assay ab` made: a is "
            "the baseline, b the candidate.\n"
            "\n"
            "Of two campaigns of several results every pair of the same workload, precision and "
            "batch is judged, and of a CAMPAIGN every comparison: the gate passes where each "
            "passes, and fails where one is worse at an error rate for all of them together.\n"
            "\n"
            "Where contention, steal, throttling or a shared device was found on a result, the "
            "gate is inconclusive and says under what, and in which result: at another hour the "
            "winner may be another, so repeat it then. --under allows to decide all the same.\n"
            "\n"
            "By attainment a candidate passes where its share of requests within the limits is not "
            "lower by more than the margin, by capacity where the rate that it can serve is not "
            "lower by more than that share: with the whole interval of the change. What had too "
            "few requests for an interval is inconclusive.",
    .options = options,
    .groups = GROUP_STORE | GROUP_JSON | GROUP_RECORD,
    .arguments_min = 1,
    .arguments_max = 2,
    .completes = "RESULT|CAMPAIGN",
    .run = run,
};

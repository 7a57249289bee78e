#include "harness/cli/commands.h"
#include "harness/cli/comparison_view.h"
#include "harness/cli/gate_report.h"
#include "harness/cli/judging.h"
#include "harness/cli/with_store.h"
#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/log.h"
#include "results/analysis/gate.h"

enum {
    KEY_MARGIN = 0x100,
    KEY_ALLOW_FOREIGN_WORKER,
    KEY_MARKDOWN_FILE,
    KEY_JUNIT,
    KEY_BY,
    KEY_UNDER
};

static const struct {
    int key;
    void (*append)(struct text *out, const struct campaign_comparison *comparison);
} formats[] = {{KEY_MARKDOWN_FILE, gate_report_markdown}, {KEY_JUNIT, gate_report_junit}};
#define FORMATS (sizeof(formats) / sizeof(formats[0]))

/* The files that were asked for. An exit status. */
static int write_reports(const struct command_line *line,
                         const struct campaign_comparison *comparison)
{
    struct error err = ERROR_INIT;
    enum status status = STATUS_OK;

    for (size_t i = 0; i < FORMATS && status == STATUS_OK; i++) {
        const char *path = command_value(line, formats[i].key);
        struct text out = TEXT_INIT;

        if (!path)
            continue;
        formats[i].append(&out, comparison);
        status = text_ok(&out) ? file_write_atomic(path, out.data, out.length, 0644, &err)
                               : error_no_memory(&err);
        text_finish(&out);
    }
    return status == STATUS_OK ? ASSAY_EXIT_OK : command_fail(&err);
}

/* Says what was decided. Returns its exit status. */
static int conclude(const struct campaign_comparison *comparison)
{
    static const struct {
        int status;
        const char *meaning;
    } ends[] = {
        [GATE_PASSES] = {ASSAY_EXIT_OK, "passes"},
        [GATE_WORSE] = {ASSAY_EXIT_TRIALS, "fails: the candidate is worse"},
        [GATE_NOT_COMPARABLE] = {ASSAY_EXIT_USAGE, "refused: the two do not compare"},
        [GATE_FOREIGN_WORKER] = {ASSAY_EXIT_USAGE,
                                 "refused: another program than assay's own worker measured "
                                 "(--allow-foreign-worker)"},
        [GATE_INCONCLUSIVE] = {ASSAY_EXIT_DEVICE, "inconclusive: measure more"},
    };
    const enum gate_decision decision = campaign_comparison_decide(comparison);
    CLEANUP(text_finish) struct text undecided = TEXT_INIT, plain = TEXT_INIT;

    campaign_comparison_append_undecided(&undecided, comparison);
    doc_plain(&plain, undecided.data);
    if (plain.length > 0)
        log_info("gate undecided%s", plain.data);
    else
        log_info("gate %s", ends[decision].meaning);
    return ends[decision].status;
}

struct asked {
    struct compare_options options;
    json_t *under; /* conditions; NULL: none */
};

static int pass_or_fail(const struct command_line *line, struct store *store, void *context)
{
    const struct asked *asked = context;
    CLEANUP(campaign_comparison_finish) struct campaign_comparison comparison = {.count = 0};
    json_auto_t *bodies = NULL;
    struct error err = ERROR_INIT;
    int written;

    if (campaign_comparison_of(store, line->arguments[0],
                               line->argument_count > 1 ? line->arguments[1] : NULL,
                               &asked->options, &comparison, &err) != STATUS_OK)
        return command_fail_asked(&err);
    if (comparison.is_single && comparison.list->cells[0] == comparison.list->cells[1]) {
        log_error("baseline and candidate are one and the same result, %s: a gate that compares it "
                  "with itself would always pass; name two (did the candidate's run fail, so that "
                  "`last` is still the baseline?)",
                  comparison.a);
        return ASSAY_EXIT_USAGE;
    }
    if (command_has(line, KEY_ALLOW_FOREIGN_WORKER))
        campaign_comparison_allow_foreign_worker(&comparison);
    campaign_comparison_allow_under(&comparison, asked->under);
    bodies = campaign_comparison_bodies(&comparison, true);
    judging_record(line, &judgement_gate, bodies);
    campaign_comparison_show(line, store, &comparison, true);
    written = write_reports(line, &comparison);
    return written == ASSAY_EXIT_OK ? conclude(&comparison) : written;
}

static int run(const struct command_line *line)
{
    const char *const under = command_value(line, KEY_UNDER);
    struct asked asked = {.options = compare_options_default()};
    json_auto_t *allowed = NULL;
    struct error err = ERROR_INIT;

    if (command_fraction(line, KEY_MARGIN, "margin", &asked.options.margin, &err) != STATUS_OK ||
        comparison_by(command_value(line, KEY_BY), &asked.options, &err) != STATUS_OK ||
        (under && gate_read_under(under, &allowed, &err) != STATUS_OK))
        return command_fail(&err);
    asked.under = allowed;
    for (size_t i = 0; i < FORMATS; i++) {
        const char *path = command_value(line, formats[i].key);

        if (path && file_check_output(path, &err) != STATUS_OK)
            return command_fail(&err);
    }
    return with_store(line, STORE_READ, pass_or_fail, &asked);
}

static const struct argp_option options[] = {
    {"margin", KEY_MARGIN, "FRACTION", 0, "slower by no more than this passes (default: 0.01)"},
    BY_OPTION(KEY_BY),
    {"allow-foreign-worker", KEY_ALLOW_FOREIGN_WORKER, NULL, 0,
     "judge what another program than assay's own worker measured and checked (ASSAY_WORKER, or a "
     "worker that hands nothing over), which is otherwise refused; the stored decision says that "
     "it was allowed"},
    {"under", KEY_UNDER, "CONDITION[,CONDITION]...", 0,
     "decide although these were found: contention, steal, cgroup_throttled, device_throttled, "
     "device_shared; the stored decision says that they were allowed"},
    {"markdown", KEY_MARKDOWN_FILE, "FILE", 0, "write a table for a pull request, too"},
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
            "compare, a foreign worker measured them, or wrong arguments; 3: inconclusive. 4 and "
            "above: the command itself failed. A single CAMPAIGN is one that `assay ab` made: a is "
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

#include <stdio.h>
#include <string.h>

#include "harness/cli/commands.h"
#include "harness/cli/interrupt.h"
#include "harness/cli/output.h"
#include "harness/cli/stored_comparison.h"
#include "harness/cli/with_store.h"
#include "harness/core/log.h"
#include "harness/runner/campaign.h"
#include "protocols/comparability.h"

enum { KEY_MARGIN = 0x100, KEY_DEVICE = 'd', KEY_EXPLAIN = 'e' };

enum outcome { REPRODUCED = 0, NOT_REPRODUCED = 1, NOT_REPRODUCIBLE = 2, INCONCLUSIVE = 3 };

static const char *const outcome_names[] = {"reproduced", "not_reproduced", "not_reproducible_here",
                                            "inconclusive"};

/* What a verdict stands on; any of them may be missing. */
struct finding {
    const char *original, *again;               /* result ids */
    const struct stored_comparison *comparison; /* NULL: it never came to one */
    const char *reason;                         /* when it is not reproducible here */
};

static enum outcome judge(const struct stored_comparison *comparison)
{
    if (!strcmp(json_string_value(json_object_get(comparison->judgement, "verdict")),
                "not_comparable"))
        return NOT_REPRODUCIBLE;
    if (!comparison->has_numbers)
        return INCONCLUSIVE;
    switch (comparison->numbers.verdict) {
    case COMPARE_EQUIVALENT:
        return REPRODUCED;
    case COMPARE_FASTER:
    case COMPARE_SLOWER:
        return NOT_REPRODUCED;
    default:
        return INCONCLUSIVE;
    }
}

static void append_headline(struct text *out, enum outcome outcome, const struct finding *finding)
{
    const struct comparison *numbers = finding->comparison && finding->comparison->has_numbers
                                           ? &finding->comparison->numbers
                                           : NULL;

    switch (outcome) {
    case REPRODUCED:
        text_append_format(out, "Reproduced: %s agrees with %s within %.3g %%.\n", finding->again,
                           finding->original, numbers->margin * 100);
        break;
    case NOT_REPRODUCED:
        text_append_format(out, "Not reproduced: %s takes %.4g times as long as %s.\n",
                           finding->again, numbers->ratio.value, finding->original);
        text_append(out, "That interval holds how trials of one session differ, not how sessions do: "
                         "where this machine drifts, reproduce it once more before you decide.\n");
        break;
    case NOT_REPRODUCIBLE:
        text_append_format(out, "Not reproducible here: %s\n", finding->reason);
        break;
    case INCONCLUSIVE:
        text_append_format(out,
                           "Inconclusive: these trials neither show that %s agrees with %s nor "
                           "that it does not.\n",
                           finding->again, finding->original);
        break;
    }
}

static int tell(const struct command_line *line, enum outcome outcome,
                const struct finding *finding)
{
    struct text out;
    int shown;

    if (command_has(line, KEY_JSON)) {
        shown = output_json(json_pack(
            "{s:s, s:s, s:s?, s:s?, s:o}", "verdict", outcome_names[outcome], "original",
            finding->original, "again", finding->again, "reason", finding->reason, "comparison",
            finding->comparison ? stored_comparison_json(finding->comparison) : json_null()));
    } else {
        text_init(&out);
        append_headline(&out, outcome, finding);
        if (finding->comparison) {
            text_append_char(&out, '\n');
            stored_comparison_append(&out, finding->comparison, command_has(line, KEY_EXPLAIN));
        }
        shown = output_text(&out);
    }
    return shown == ASSAY_EXIT_OK ? (int)outcome : shown;
}

static int compare_with(const struct command_line *line, struct store *store, const char *original,
                        const struct campaign *campaign, const struct campaign_summary *summary,
                        const struct compare_options *options)
{
    struct stored_comparison comparison;
    struct error err = ERROR_INIT;
    char again[80], reason[256] = "the two do not compare, for the reasons below";
    struct finding finding = {.original = original, .again = again, .comparison = &comparison};
    enum outcome outcome;
    json_t *json;
    int shown;

    snprintf(again, sizeof(again), "%.8s/1", campaign->uid);
    if (summary->ok == 0) {
        snprintf(reason, sizeof(reason),
                 "no trial succeeded; `assay show %s` tells why for each of the %zu", again,
                 summary->failed);
        finding.comparison = NULL;
        finding.reason = reason;
        return tell(line, NOT_REPRODUCIBLE, &finding);
    }
    if (stored_comparison_make(store, original, again, options, &comparison, &err) != STATUS_OK)
        return command_fail(&err);
    outcome = judge(&comparison);
    finding.reason = outcome == NOT_REPRODUCIBLE ? reason : NULL;
    json = stored_comparison_json(&comparison);
    shown = ASSAY_EXIT_STORE;
    if (store_add_comparison(store, "reproduce", comparison.cells[0], comparison.cells[1],
                             COMPARISON_VERSION, outcome_names[outcome], json, &err) == STATUS_OK)
        shown = tell(line, outcome, &finding);
    else
        log_error("%s", err.message);
    json_decref(json);
    stored_comparison_finish(&comparison);
    return shown;
}

static int run_plan(const struct command_line *line, struct store *store, const char *original,
                    const struct plan *plan, const struct compare_options *compare)
{
    struct campaign_options options = {.wake_fd = -1, .quiet = command_has(line, KEY_QUIET)};
    struct campaign_summary summary = {0};
    struct campaign campaign;
    struct error err = ERROR_INIT;
    int result;

    if (campaign_create(store, plan, line->text, &campaign, &err) != STATUS_OK)
        return command_fail_store(&err);
    if (interrupt_open(INTERRUPT_TRIALS, &options.wake_fd, &err) != STATUS_OK ||
        campaign_run(&campaign, &options, &summary, &err) != STATUS_OK) {
        result = command_fail(&err);
    } else if (summary.interrupted) {
        log_info("interrupted; go on with: assay run --resume %.8s --db %s, then assay compare %s "
                 "%.8s/1",
                 campaign.uid, store_path(store), original, campaign.uid);
        result = ASSAY_EXIT_INTERRUPTED;
    } else {
        result = compare_with(line, store, original, &campaign, &summary, compare);
    }
    campaign_finish(&campaign);
    return result;
}

/* A first look's protocol says of itself that its results are no evidence. */
static bool is_evidence(const json_t *record)
{
    return !json_is_false(json_object_get(json_object_get(record, "protocol"), "evidence"));
}

static int with_record(const struct command_line *line, struct store *store, const json_t *record,
                       const struct compare_options *options)
{
    struct finding finding = {.original = json_string_value(json_object_get(record, "id"))};
    json_t *campaign = NULL;
    struct error err = ERROR_INIT;
    struct plan plan;
    enum status status;
    int result;

    if (!is_evidence(record)) {
        finding.reason = "it was measured under a protocol for a first look, whose results never "
                         "compare; run it anew under another protocol";
        return tell(line, NOT_REPRODUCIBLE, &finding);
    }
    status = store_campaign_json(
        store, json_integer_value(json_object_get(json_object_get(record, "campaign"), "id")),
        &campaign, &err);
    if (status == STATUS_OK)
        status = plan_build_again(record, json_object_get(campaign, "plan"),
                                  command_value(line, KEY_DEVICE), &plan, &err);
    json_decref(campaign);
    if (status == STATUS_NOT_FOUND || status == STATUS_UNAVAILABLE ||
        status == STATUS_UNSUPPORTED) {
        finding.reason = err.message;
        return tell(line, NOT_REPRODUCIBLE, &finding);
    }
    if (status != STATUS_OK)
        return command_fail(&err);
    result = run_plan(line, store, finding.original, &plan, options);
    plan_finish(&plan);
    return result;
}

static int reproduce(const struct command_line *line, struct store *store, void *context)
{
    struct error err = ERROR_INIT;
    json_t *record = NULL;
    int64_t cell;
    int result;

    if (store_find_cell(store, line->arguments[0], &cell, &err) != STATUS_OK ||
        store_cell_json(store, cell, &record, &err) != STATUS_OK)
        return command_fail_store(&err);
    result = with_record(line, store, record, context);
    json_decref(record);
    return result;
}

static int run(const struct command_line *line)
{
    struct compare_options options;
    struct error err = ERROR_INIT;

    if (stored_comparison_margin(command_value(line, KEY_MARGIN), &options, &err) != STATUS_OK)
        return command_fail(&err);
    return with_store(line, STORE_WRITE, reproduce, &options);
}

static const struct argp_option options[] = {
    {"device", KEY_DEVICE, "DEVICE", 0, "run it here instead of on the device recorded", 0},
    {"margin", KEY_MARGIN, "FRACTION", 0, "agreement within this counts (default: 0.01)", 0},
    {"explain", KEY_EXPLAIN, NULL, 0, "list every field with its class", 0},
    {0}};

const struct command command_reproduce = {
    .name = "reproduce",
    .arguments = "ID",
    .summary = "Run a stored result again from its own record, and say whether it held",
    .text =
        "Workload, protocol, precision, batch, seed and the sizes chosen come out of the record, "
        "not from today's files. The new campaign names the old one in its plan; the "
        "comparison of both is stored.\n"
        "\n"
        "The interval rests on how the trials of each session differ. How far a machine drifts from "
        "one session to the next cannot be told from two of them, so a small difference that is not "
        "reproduced may be that: call it again, on an idle machine, and look at all of the "
        "comparisons (a dossier lists them).\n"
        "\n"
        "Exit status 0: reproduced (equivalent within the margin); 1: not reproduced; 2: not "
        "reproducible here; 3: inconclusive. 4 and above: the command itself failed.",
    .options = options,
    .groups = GROUP_STORE | GROUP_JSON | GROUP_STACK | GROUP_QUIET,
    .arguments_min = 1,
    .arguments_max = 1,
    .completes = "result",
    .run = run,
};

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/cli/commands.h"
#include "harness/cli/comparison_view.h"
#include "harness/cli/output.h"
#include "harness/cli/signing.h"
#include "harness/cli/with_store.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/number.h"
#include "harness/runner/campaign.h"
#include "protocols/comparability.h"
#include "results/analysis/judgement.h"
#include "results/analysis/reproduction.h"

static const int exit_statuses[] = {
    [REPRODUCTION_HELD] = ASSAY_EXIT_OK,
    [REPRODUCTION_DIFFERS] = ASSAY_EXIT_TRIALS,
    [REPRODUCTION_NOT_HERE] = ASSAY_EXIT_USAGE,
    [REPRODUCTION_INCONCLUSIVE] = ASSAY_EXIT_DEVICE,
};

/* The machine, the record or every trial prevents it: there is nothing to compare. */
static int tell_why_not(const struct command_line *line, const char *original, const char *again,
                        const char *reason)
{
    struct text out;
    int shown;

    if (command_has(line, KEY_JSON)) {
        shown = output_json(json_pack("{s:s, s:s, s:s?, s:s, s:n, s:n}", "verdict",
                                      reproduction_verdict_name(REPRODUCTION_NOT_HERE), "original",
                                      original, "again", again, "reason", reason, "comparison",
                                      "reproduce"));
    } else {
        text_init(&out);
        text_append_format(&out, "Not reproducible here: %s\n", reason);
        shown = output_text(&out);
    }
    return shown == ASSAY_EXIT_OK ? exit_statuses[REPRODUCTION_NOT_HERE] : shown;
}

static void say_spread(struct doc *doc, const struct reproduction *reproduction)
{
    const struct repeatability *repeatability = &reproduction->repeatability;
    char spread[NUMBER_SIZE];

    doc_add(doc,
            "%zu campaigns of this under the same conditions, stored before this one, spread by %s "
            "(standard deviation). With that, b is ",
            repeatability->count, number_format_percent(expm1(repeatability->sd_log), spread));
    comparison_speed_words(&doc->block, &reproduction->numbers.ratio, true);
    doc_end(doc, NULL);
}

static void say_no_spread(struct doc *doc, const struct reproduction *reproduction)
{
    doc_add(doc,
            "The interval holds how trials of one session differ, not how sessions do: that takes "
            "%d campaigns of this under the same conditions, stored before this one, and there %s "
            "%zu.",
            REPEATABILITY_NEEDED, reproduction->repeatability.most == 1 ? "is" : "are",
            reproduction->repeatability.most);
    if (reproduction->verdict == REPRODUCTION_DIFFERS)
        doc_add(doc, " Where this machine drifts, reproduce it again before you decide.");
    doc_end(doc, NULL);
}

/* What was decided, without the comparison itself. */
static void say_reproduction(struct doc *doc, const struct reproduction *reproduction)
{
    static const char *const headlines[] = {
        [REPRODUCTION_HELD] = "Reproduced: the two agree within %s.",
        [REPRODUCTION_DIFFERS] = "Not reproduced: the two differ by more than %s.",
        [REPRODUCTION_NOT_HERE] = "Not reproducible here.",
        [REPRODUCTION_INCONCLUSIVE] =
            "Inconclusive: neither shown to agree within %s, nor to differ by more.",
    };

    comparison_margin_words(&doc->block, headlines[reproduction->verdict], reproduction->margin);
    doc_end(doc, NULL);
    if (!reproduction->comparison->has_numbers || reproduction->comparison->figure != COMPARE_TIME)
        return;
    doc_open(doc, DOC_DETAILS, NULL);
    if (reproduction->rests_on == REPRODUCTION_ON_REPEATABILITY)
        say_spread(doc, reproduction);
    else
        say_no_spread(doc, reproduction);
    doc_close(doc);
}

static int tell(const struct command_line *line, const struct reproduction *reproduction,
                const struct comparison_arms *arms, const json_t *object)
{
    const struct stored_comparison *comparison = reproduction->comparison;
    const bool not_here = reproduction->verdict == REPRODUCTION_NOT_HERE;
    struct text out;
    struct doc doc;
    int shown;

    if (command_has(line, KEY_JSON)) {
        json_t *body = comparison_arms_json(arms, object);

        json_object_del(body, "reproduce");
        shown = output_json(
            json_pack("{s:s, s:s, s:s, s:s?, s:o, s:O}", "verdict",
                      reproduction_verdict_name(reproduction->verdict), "original", comparison->a,
                      "again", comparison->b, "reason",
                      not_here ? "the two do not compare; the comparison's reasons say why" : NULL,
                      "comparison", body, "reproduce", json_object_get(object, "reproduce")));
    } else {
        text_init(&out);
        doc = comparison_view_doc(line, &out);
        say_reproduction(&doc, reproduction);
        comparison_document(&doc, comparison, arms, !doc.is_brief);
        comparison_view_hint(&doc);
        shown = output_document(&doc);
    }
    return shown == ASSAY_EXIT_OK ? exit_statuses[reproduction->verdict] : shown;
}

static int decide(const struct command_line *line, struct store *store,
                  const struct stored_comparison *comparison, double margin)
{
    CLEANUP(comparison_arms_finish) struct comparison_arms arms = {.view = {0}};
    CLEANUP(reproduction_finish) struct reproduction reproduction = {.margin = margin};
    struct error err = ERROR_INIT;
    json_auto_t *body = NULL;

    if (comparison_arms_load(store, comparison, &arms, &err) != STATUS_OK)
        return command_fail_store(&err);
    if (reproduction_make(store, comparison, margin, NULL, &reproduction, &err) != STATUS_OK)
        return command_fail(&err);
    body = reproduction_json(&reproduction);
    if (store_add_comparison(store, judgement_reproduce.name, comparison->cells[0],
                             comparison->cells[1], COMPARISON_VERSION,
                             judgement_reproduce.verdict(body), body, &err) != STATUS_OK)
        return command_fail_store(&err);
    return tell(line, &reproduction, &arms, body);
}

static int compare_with(const struct command_line *line, struct store *store, const char *original,
                        const char *again, const struct campaign_summary *summary,
                        const struct compare_options *options)
{
    CLEANUP(stored_comparison_finish) struct stored_comparison comparison = {0};
    struct error err = ERROR_INIT;

    if (summary->ok == 0) {
        error_set(&err, STATUS_UNAVAILABLE,
                  "no trial succeeded; `assay show %s --db %s` says why for each of the %zu", again,
                  store_path_word(store), summary->failed + summary->unsupported);
        return tell_why_not(line, original, again, err.message);
    }
    if (stored_comparison_make(store, original, again, options, &comparison, &err) != STATUS_OK)
        return command_fail(&err);
    return decide(line, store, &comparison, options->margin);
}

static int run_plan(const struct command_line *line, struct store *store, const char *original,
                    const struct plan *plan, const struct compare_options *compare)
{
    struct campaign_options options = {.wake_fd = -1, .quiet = command_has(line, KEY_QUIET)};
    CLEANUP(campaign_finish) struct campaign campaign = {0};
    struct campaign_summary summary = {0};
    struct error err = ERROR_INIT;
    enum status status;
    char again[80];

    if (campaign_create(store, plan, line->text, &campaign, &err) != STATUS_OK)
        return command_fail_store(&err);
    snprintf(again, sizeof(again), "%.8s/1", campaign.uid);
    status = signing_run(&campaign, &options, &summary, &err);
    if (status == STATUS_UNAVAILABLE) /* the protocol refuses this machine */
        return tell_why_not(line, original, again, err.message);
    if (status != STATUS_OK)
        return command_fail(&err);
    if (summary.interrupted)
        return command_interrupted("interrupted; go on with: assay run --resume %.8s --db %s\n"
                                   "and then with: assay compare %s %.8s/1 --db %s",
                                   campaign.uid, store_path_word(store), original, campaign.uid,
                                   store_path_word(store));
    return compare_with(line, store, original, again, &summary, compare);
}

/* A placeholder for what a bundle withheld. */
static bool is_withheld(const json_t *declaration)
{
    return !strcmp(member_text(declaration, "reason"), "withheld");
}

/*
 * UNSUPPORTED where nothing could be said of a reproduction, however it came out: the result does
 * not even compare with itself.
 */
static enum status check_comparable(struct store *store, const char *original,
                                    const struct compare_options *options, struct error *err)
{
    CLEANUP(stored_comparison_finish) struct stored_comparison comparison = {0};
    const char *reason;

    if (stored_comparison_make(store, original, original, options, &comparison, err) != STATUS_OK)
        return STATUS_UNSUPPORTED;
    reason = comparability_why_no_evidence(comparison.judgement);
    if (!reason && !comparison.has_numbers)
        reason = comparison.why.message;
    return !reason ? STATUS_OK
                   : error_set(err, STATUS_UNSUPPORTED,
                               "it compares with no result, not even with itself: %s", reason);
}

/* The plan of a repetition. NOT_FOUND, UNAVAILABLE, UNSUPPORTED: it cannot be made here. */
static enum status plan_again(const struct command_line *line, struct store *store,
                              const json_t *record, const struct compare_options *options,
                              struct plan *ret, struct error *err)
{
    const json_t *protocol = json_object_get(record, "protocol");
    json_auto_t *campaign = NULL;

    if (json_is_false(json_object_get(protocol, "evidence")))
        return error_set(err, STATUS_UNSUPPORTED,
                         "it was measured under a protocol that gives no evidence, whose results "
                         "never compare; run it again under another protocol");
    if (is_withheld(protocol) || is_withheld(json_object_get(record, "workload")))
        return error_set(err, STATUS_UNSUPPORTED,
                         "its protocol or workload was withheld by who made the bundle; ask for a "
                         "bundle with both");
    TRY(check_comparable(store, member_text(record, "id"), options, err));
    TRY(store_campaign_json(store, member_integer(json_object_get(record, "campaign"), "id"),
                            &campaign, err));
    return plan_from_record(record, json_object_get(campaign, "plan"), store,
                            command_value(line, KEY_DEVICE), ret, err);
}

static int reproduce(const struct command_line *line, struct store *store, void *context)
{
    CLEANUP(plan_finish) struct plan plan = {0};
    struct error err = ERROR_INIT;
    json_auto_t *record = NULL;
    const char *original;
    enum status status;
    int64_t cell;

    if (store_find_cell(store, line->arguments[0], &cell, &err) != STATUS_OK ||
        store_cell_json(store, cell, &record, &err) != STATUS_OK)
        return command_fail_store(&err);
    original = member_text(record, "id");
    status = plan_again(line, store, record, context, &plan, &err);
    if (status == STATUS_NOT_FOUND || status == STATUS_UNAVAILABLE || status == STATUS_UNSUPPORTED)
        return tell_why_not(line, original, NULL, err.message);
    return status == STATUS_OK ? run_plan(line, store, original, &plan, context)
                               : command_fail(&err);
}

static int run(const struct command_line *line)
{
    struct compare_options options = compare_options_default();
    struct error err = ERROR_INIT;

    if (command_fraction(line, KEY_MARGIN, "margin", &options.margin, &err) != STATUS_OK)
        return command_fail(&err);
    return with_store(line, STORE_WRITE, reproduce, &options);
}

static const struct argp_option options[] = {
    {"device", KEY_DEVICE, "DEVICE", 0, "run it here instead of on the device recorded"},
    {"margin", KEY_MARGIN, "FRACTION", 0, "agreement within this counts (default: 0.01)"},
    DETAILS_OPTION,
    {0}};

const struct command command_reproduce = {
    .name = "reproduce",
    .arguments = "ID",
    .summary = "Run a stored result again from its own record, and say whether it was reproduced",
    .text = "Workload, protocol, precision, batch, seed and the chosen sizes come from the record, "
            "not from today's files. The new campaign names the old one in its plan; the "
            "comparison of both is stored.\n"
            "\n"
            "A machine drifts from one session to the next, which two sessions cannot distinguish "
            "from a difference. So where the database has three or more earlier campaigns of this "
            "result under the same conditions, the interval is widened by their spread. Where it "
            "has not, the interval only allows for differences between trials of one session, and "
            "the answer says so: then a small difference may be drift. In that case call it again, "
            "and look at all comparisons (a dossier lists them).\n"
            "\n"
            "Exit status 0: reproduced (equivalent within the margin); 1: not reproduced; 2: not "
            "reproducible here, or wrong arguments; 3: inconclusive. 4 and above: the command "
            "itself failed.",
    .options = options,
    .groups = GROUP_STORE | GROUP_JSON | GROUP_MARKDOWN | GROUP_STACK | GROUP_QUIET,
    .arguments_min = 1,
    .arguments_max = 1,
    .completes = "RESULT",
    .run = run,
};

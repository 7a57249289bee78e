#include <stdlib.h>
#include <string.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/cli/with_store.h"
#include "harness/core/member.h"
#include "protocols/decision.h"
#include "reports/decision_document.h"
#include "results/analysis/decision.h"
#include "results/formats/peak_sheet.h"
#include "results/formats/price_sheet.h"

enum { KEY_NO_RECORD = 0x100 };

struct request {
    struct decision decision;
    json_t *prices, *peaks;
};

/* ---- the command ---- */

/* What a decision is between must not change with the next run: no "last", and no baseline. */
static enum status check_results(const struct decision *decision, struct store *store,
                                 struct error *err)
{
    const json_t *options = json_object_get(decision->json, "options"), *option;
    size_t i;

    json_array_foreach(options, i, option)
    {
        const char *id = member_text(option, "result");
        char *own = NULL;
        int64_t cell;

        /* decision_make says of what is not there that it is not. */
        if (store_find_result(store, id, &cell, &own, NULL) != STATUS_OK || !strcmp(own, id)) {
            free(own);
            continue;
        }
        error_set(err, STATUS_INVALID,
                  "options[%zu].result: %s may mean another result after the next run: write %s", i,
                  id, own);
        free(own);
        decision_locate(decision, err);
        return STATUS_INVALID;
    }
    return STATUS_OK;
}

static int decide(const struct command_line *line, struct store *store, void *context)
{
    const struct request *request = context;
    struct error err = ERROR_INIT;
    json_t *made = NULL;
    const char *verdict;
    int result;

    if (check_results(&request->decision, store, &err) != STATUS_OK)
        return command_fail(&err);
    if (decision_make(store, request->decision.json, request->prices, request->peaks, &made,
                      &err) != STATUS_OK) {
        decision_locate(&request->decision, &err);
        return err.code == STATUS_INVALID ? command_fail(&err) : command_fail_store(&err);
    }
    verdict = member_text(made, "verdict");
    if (!command_has(line, KEY_NO_RECORD) && !line->bundle)
        database_record(line, "decide", verdict, made, "the decision is not recorded");
    result = output_shown(line, made, decision_document);
    if (result == ASSAY_EXIT_OK)
        result = !strcmp(verdict, "none")   ? ASSAY_EXIT_TRIALS
                 : !strcmp(verdict, "open") ? ASSAY_EXIT_DEVICE
                                            : ASSAY_EXIT_OK;
    json_decref(made);
    return result;
}

/* A file that cannot be read is wrong where the decision names it; one that says something wrong,
 * in its own line. */
static enum status named_by(const struct decision *decision, const char *key, enum status status,
                            struct error *err)
{
    if (status != STATUS_OK && status != STATUS_INVALID)
        decision_locate_key(decision, key, err);
    return status;
}

static int run(const struct command_line *line)
{
    struct request request = {.prices = NULL};
    struct error err = ERROR_INIT;
    enum status status = decision_load(line->arguments[0], &request.decision, &err);
    int result;

    if (status == STATUS_OK && request.decision.prices)
        status = named_by(&request.decision, "prices",
                          price_sheet_read(request.decision.prices, &request.prices, &err), &err);
    if (status == STATUS_OK && request.decision.peaks)
        status = named_by(&request.decision, "peaks",
                          peak_sheet_read(request.decision.peaks, &request.peaks, &err), &err);
    result =
        status == STATUS_OK ? with_store(line, STORE_READ, decide, &request) : command_fail(&err);
    decision_finish(&request.decision);
    json_decref(request.prices);
    json_decref(request.peaks);
    return result;
}

static const struct argp_option options[] = {
    {"no-record", KEY_NO_RECORD, NULL, 0, "store nothing, and leave the file as it is"}, {0}};

const struct command command_decide = {
    .name = "decide",
    .arguments = "DECISION",
    .summary = "Which of several results to take, by requirements and objectives",
    .text =
        "An option is a result and, where costs count, the item of the price sheet (`assay cost`) "
        "that it runs on. Each requirement is met, missed or open, by the worse bound of the "
        "figure's interval; a contract is one, too (`assay accept`). An option is dominated when "
        "another that meets all requirements is no worse in every objective and better in one, for "
        "every value within the intervals, beyond a margin (1 %); a price that both pay is the "
        "same for both. There are no weights: what remains is a trade-off, and is shown as one.\n"
        "\n"
        "What would change the answer is computed for each price, measured figure and limit "
        "separately, from a tenth to ten times its value. Results that do not compare are refused, "
        "with the run whose result would compare. Declared peaks are a CSV with item, metric, "
        "amount, unit, source and retrieved, and optionally precision and note.\n"
        "\n"
        "The decision is stored in the log with the rows that it is computed from, and `assay "
        "verify` recomputes it. Exit status: 0 one option or a trade-off, 1 no option, 3 open.\n"
        "\n"
        "  decision: chat_server\n"
        "  version: 1\n"
        "  question: Which stack serves our load at the least cost?\n"
        "  prices: prices.csv\n"
        "  peaks: peaks.csv              # optional\n"
        "  assumptions: {as_of: 2026-11-01, discount: 0.05, pue: 1.3}\n"
        "  margin: 0.01                  # differences that do not count\n"
        "  vary: [precision]             # optional: what options differ in\n"
        "  options:\n"
        "    - {name: stack a, result: 9f2c41aa/1, item: card}\n"
        "    - {name: stack b, result: 9f2c41aa/2, item: card, kind: cloud}\n"
        "  requirements:\n"
        "    - {figure: e2e_p99, at_most: 2 s}\n"
        "    - {contract: tender.yaml}\n"
        "  objectives: [cost_per_million_good_tokens, goodput]\n"
        "\n"
        "  assay decide chat.yaml",
    .options = options,
    .groups = GROUP_STORE | GROUP_JSON | GROUP_MARKDOWN,
    .arguments_min = 1,
    .arguments_max = 1,
    .completes = "FILE",
    .run = run,
};

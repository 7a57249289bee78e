#include "harness/cli/commands.h"
#include "harness/cli/judging.h"
#include "harness/core/cleanup.h"
#include "protocols/decision.h"
#include "reports/decision_document.h"
#include "results/formats/peak_sheet.h"
#include "results/formats/price_sheet.h"

/* A file that cannot be read is wrong where the decision names it; one that says something wrong,
 * in its own line. */
static enum status named_by(const struct decision *decision, const char *key, enum status status,
                            struct error *err)
{
    if (status != STATUS_OK && status != STATUS_INVALID)
        decision_locate_key(decision, key, err);
    return status;
}

static enum status ask(const struct command_line *line, struct judging_request *ret,
                       struct error *err)
{
    CLEANUP(decision_finish) struct decision decision = {.json = NULL};
    json_t *prices = NULL, *peaks = NULL;

    TRY(decision_load(line->arguments[0], &decision, err));
    ret->asked = json_pack("{s:O}", "decision", decision.json);
    if (decision.prices)
        TRY(named_by(&decision, "prices", price_sheet_read(decision.prices, &prices, err), err));
    json_object_set_new(ret->asked, "prices", prices);
    if (decision.peaks)
        TRY(named_by(&decision, "peaks", peak_sheet_read(decision.peaks, &peaks, err), err));
    json_object_set_new(ret->asked, "peaks", peaks);
    ret->declaration = decision.declaration;
    decision.declaration = NULL;
    return STATUS_OK;
}

static const struct judging judging = {
    .judgement = &judgement_decide,
    .ask = ask,
    .write = decision_document,
    .exits = {{"none", ASSAY_EXIT_TRIALS}, {"open", ASSAY_EXIT_DEVICE}},
};

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
    .groups = GROUP_STORE | GROUP_JSON | GROUP_MARKDOWN | GROUP_RECORD,
    .arguments_min = 1,
    .arguments_max = 1,
    .completes = "FILE",
    .judging = &judging,
};

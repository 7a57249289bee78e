#include <string.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/cli/with_store.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "protocols/contract.h"
#include "reports/acceptance_document.h"
#include "results/analysis/acceptance.h"

#define CAMPAIGNS_MAX 128

enum { KEY_NO_RECORD = 0x100 };

/* ---- the command ---- */

static int judge(const struct command_line *line, struct store *store, void *context)
{
    const struct contract *contract = context;
    json_auto_t *campaigns = json_array(), *made = NULL;
    struct error err = ERROR_INIT;
    const char *verdict;
    int result;

    for (size_t i = 1; i < line->argument_count; i++)
        json_array_append_new(campaigns, json_pack("{s:s}", "campaign", line->arguments[i]));
    if (line->argument_count == 1)
        json_array_append_new(campaigns, json_pack("{s:s}", "campaign", "last"));
    if (acceptance_make(store, contract->json, campaigns, &made, &err) != STATUS_OK) {
        contract_locate(contract, &err);
        return err.code == STATUS_INVALID ? command_fail(&err) : command_fail_store(&err);
    }
    if (!command_has(line, KEY_NO_RECORD) && !line->bundle)
        database_record(line, "accept", member_text(made, "verdict"), made,
                        "the verdict is not recorded");
    result = output_shown(line, made, acceptance_document);
    verdict = member_text(made, "verdict");
    if (result == ASSAY_EXIT_OK && strcmp(verdict, "accepted") != 0)
        result = !strcmp(verdict, "rejected") ? ASSAY_EXIT_TRIALS : ASSAY_EXIT_DEVICE;
    return result;
}

static int run(const struct command_line *line)
{
    struct contract contract;
    struct error err = ERROR_INIT;
    int result;

    if (contract_load(line->arguments[0], &contract, &err) != STATUS_OK)
        return command_fail(&err);
    result = with_store(line, STORE_READ, judge, &contract);
    contract_finish(&contract);
    return result;
}

static const struct argp_option options[] = {
    {"no-record", KEY_NO_RECORD, NULL, 0, "store nothing, and leave the file as it is"}, {0}};

const struct command command_accept = {
    .name = "accept",
    .arguments = "CONTRACT [CAMPAIGN]...",
    .summary = "Judge results by a contract: accepted, rejected or inconclusive",
    .text = "Each item of the contract declares a figure of a cell, at_least or at_most, with the "
            "risk alpha that a true claim is rejected, and a limiting level, with the risk beta "
            "that it is accepted. Rejected: with confidence 1 - alpha the figure is worse than "
            "declared. Accepted: with confidence 1 - beta it is better than limiting. Otherwise "
            "inconclusive. Every item must be accepted.\n"
            "\n"
            "Of a fleet (units) each unit is judged, and so many must conform that the share is "
            "shown; 29 without a failure show 90 % with a confidence of 95 %.\n"
            "\n"
            "`assay run --contract` puts the contract into the plan, before the first trial; of a "
            "campaign without it the output says so. The verdict is stored in the log and "
            "recomputed by `assay verify`. Exit status: 0 accepted, 1 rejected, 3 inconclusive.\n"
            "\n"
            "  contract: tender_7\n"
            "  version: 1\n"
            "  items:\n"
            "    - cell: {workload: gemm, precision: fp32, batch: 1}\n"
            "      metric: op_rate\n"
            "      limit: at_least\n"
            "      declared: 950 GFLOP/s\n"
            "      limiting: 900 GFLOP/s\n"
            "      trials: 10\n"
            "\n"
            "  assay power tender.yaml --sd 0.01     # both parties' risks beforehand\n"
            "  assay run --contract tender.yaml --protocol standard\n"
            "  assay accept tender.yaml last",
    .options = options,
    .groups = GROUP_STORE | GROUP_JSON | GROUP_MARKDOWN,
    .arguments_min = 1,
    .arguments_max = CAMPAIGNS_MAX,
    .completes = "FILE",
    .run = run,
};

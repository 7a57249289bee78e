#include "harness/cli/commands.h"
#include "harness/cli/judging.h"
#include "harness/core/cleanup.h"
#include "protocols/contract.h"
#include "reports/acceptance_document.h"

#define CAMPAIGNS_MAX 128

static enum status ask(const struct command_line *line, struct judging_request *ret,
                       struct error *err)
{
    json_t *campaigns = json_array();
    CLEANUP(contract_finish) struct contract contract = {.json = NULL};

    for (size_t i = 1; i < line->argument_count; i++)
        json_array_append_new(campaigns, json_pack("{s:s}", "campaign", line->arguments[i]));
    if (line->argument_count == 1)
        json_array_append_new(campaigns, json_pack("{s:s}", "campaign", "last"));
    ret->asked = json_pack("{s:o}", "campaigns", campaigns);
    TRY(contract_load(line->arguments[0], &contract, err));
    json_object_set(ret->asked, "contract", contract.json);
    ret->declaration = contract.declaration;
    contract.declaration = NULL;
    return STATUS_OK;
}

static const struct judging judging = {
    .judgement = &judgement_accept,
    .ask = ask,
    .write = acceptance_document,
    .exits = {{"rejected", ASSAY_EXIT_TRIALS}, {"inconclusive", ASSAY_EXIT_DEVICE}},
};

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
            "What was measured under contention, steal, throttling or on a shared device decides "
            "nothing, unless the contract allows it by `under: [contention]`: repeat it at another "
            "hour.\n"
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
    .groups = GROUP_STORE | GROUP_JSON | GROUP_MARKDOWN | GROUP_RECORD,
    .arguments_min = 1,
    .arguments_max = CAMPAIGNS_MAX,
    .completes = "FILE",
    .judging = &judging,
};

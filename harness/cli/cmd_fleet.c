#include "harness/cli/commands.h"
#include "harness/cli/judging.h"
#include "harness/core/text.h"
#include "reports/fleet_document.h"
#include "results/analysis/fleet.h"

enum { KEY_PRECISION = 0x100, KEY_BATCH, KEY_SINCE, KEY_MARGIN, KEY_FDR, KEY_EXPECTED };

static enum status read_whole(const struct command_line *line, int key, const char *name,
                              json_t *request, struct error *err)
{
    const char *given = command_value(line, key);
    int64_t value = 0;

    if (given && (!text_parse_i64(given, &value) || value < 1))
        return error_set(err, STATUS_INVALID, "--%s %s: write a whole number from 1", name, given);
    json_object_set_new(request, name, given ? json_integer(value) : json_null());
    return STATUS_OK;
}

static enum status read_share(const struct command_line *line, int key, const char *name,
                              double otherwise, json_t *request, struct error *err)
{
    double value = otherwise;

    TRY(command_fraction(line, key, name, &value, err));
    json_object_set_new(request, name, json_real(value));
    return STATUS_OK;
}

static enum status ask(const struct command_line *line, struct judging_request *ret,
                       struct error *err)
{
    int64_t since_utc_ns = 0;
    json_t *request;

    TRY(command_since(line, KEY_SINCE, &since_utc_ns, err));
    request = json_pack("{s:s, s:s?, s:s?, s:s?, s:I}", "workload", line->arguments[0], "precision",
                        command_value(line, KEY_PRECISION), "protocol",
                        command_value(line, KEY_PROTOCOL), "device",
                        command_value(line, KEY_DEVICE), "since_utc_ns", (json_int_t)since_utc_ns);
    ret->asked = json_pack("{s:o}", "request", request);
    if (!ret->asked)
        return error_no_memory(err);
    TRY(read_whole(line, KEY_BATCH, "batch", request, err));
    TRY(read_whole(line, KEY_EXPECTED, "expected", request, err));
    TRY(read_share(line, KEY_MARGIN, "margin", 0.05, request, err));
    TRY(read_share(line, KEY_FDR, "fdr", 0.05, request, err));
    if (json_real_value(json_object_get(request, "fdr")) >= 0.5)
        return error_set(err, STATUS_INVALID, "--fdr %s: write a share below 0.5, such as 0.05",
                         command_value(line, KEY_FDR));
    return STATUS_OK;
}

static const struct judging judging = {
    .judgement = &judgement_fleet,
    .ask = ask,
    .write = fleet_document,
    .exits = {{"slow_units", ASSAY_EXIT_TRIALS}, {"failed_units", ASSAY_EXIT_TRIALS}}};

static const struct argp_option options[] = {
    {"margin", KEY_MARGIN, "FRACTION", 0,
     "how far below the fleet's median a unit may lie (default: 0.05)"},
    {"fdr", KEY_FDR, "FRACTION", 0,
     "share of the units called slow that may be wrong (default: 0.05)"},
    {"expected", KEY_EXPECTED, "N", 0, "units that there are: those without a result are missing"},
    {"precision", KEY_PRECISION, "PRECISION", 0, "only this precision"},
    {"batch", KEY_BATCH, "N", 0, "only this batch size"},
    {"protocol", KEY_PROTOCOL, "PROTOCOL", 0, "only this protocol"},
    {"device", KEY_DEVICE, "DEVICE|TEXT", 0,
     "only devices whose spec is, or whose name contains, this"},
    {"since", KEY_SINCE, "DATE|AGE", 0, "only campaigns from then on"},
    {0}};

const struct command command_fleet = {
    .name = "fleet",
    .arguments = "WORKLOAD",
    .summary = "Find the slow units among many of one device",
    .text =
        "Identical devices differ. Measure each unit in two sittings or more, an hour apart or "
        "more (`assay run`), bring the bundles of all machines into one database (`assay "
        "import`), and ask. A unit is a device, its UUID and its machine; its results within an "
        "hour of each other are one sitting. A unit is slow where it is shown to lie further below "
        "the median of the units than the margin, by how much the sittings of a unit differ; of "
        "all units that are called slow the share --fdr is expected not to be. One sitting decides "
        "nothing, however many trials it has. A unit without any value has failed.\n"
        "\n"
        "The judgement is stored in the log, and `assay verify` makes it again. Exit status 1: a "
        "unit is slow, has failed or is missing.\n"
        "\n"
        "  assay fleet gemm_4096 --precision bf16 --margin 0.03 --expected 64",
    .options = options,
    .groups = GROUP_STORE | GROUP_JSON | GROUP_MARKDOWN | GROUP_RECORD,
    .arguments_min = 1,
    .arguments_max = 1,
    .completes = "WORKLOAD",
    .judging = &judging,
};

#include "harness/cli/power_contract.h"

#include <math.h>
#include <stdio.h>

#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "protocols/contract.h"
#include "reports/view.h"

/* Of true figures, how likely each verdict is. */
static void open_chances(struct doc *doc)
{
    static const struct doc_column columns[] = {{"true value", DOC_NUMBER},
                                                {"accepted", DOC_NUMBER},
                                                {"rejected", DOC_NUMBER},
                                                {"inconclusive", DOC_NUMBER},
                                                {"", 0}};

    doc_table(doc, NULL, columns, sizeof(columns) / sizeof(*columns));
}

static void say_chances(struct doc *doc, double truth, const char *unit, const json_t *chances,
                        const char *level)
{
    char figure[NUMBER_SIZE];

    doc_say(doc, NULL, "%s %s\t%.2f %%\t%.2f %%\t%.2f %%\t%s",
            number_format_digits(truth, 5, figure), unit, 100 * member_real(chances, "accepted"),
            100 * member_real(chances, "rejected"), 100 * member_real(chances, "inconclusive"),
            level);
}

static void say_fleet(struct doc *doc, const json_t *fleet)
{
    const json_t *declared = json_object_get(fleet, "declared");
    const json_t *rows = json_object_get(fleet, "characteristic");

    if (!json_is_object(fleet))
        return;
    doc_add(doc, "Of %lld units, by the true share of those that conform:",
            member_integer(fleet, "units"));
    open_chances(doc);
    EACH(row, rows)
        say_chances(doc, 100 * member_real(row, "truth"), "%", row,
                    row_at + 1 == json_array_size(rows) ? "limiting" : "");
    say_chances(doc, 100 * member_real(declared, "truth"), "%", declared, "declared");
    doc_close(doc);
    doc_say(doc, NULL,
            "(verdicts of single units err, too, as in the table above: that is not in this one)");
}

static void say_item(struct doc *doc, const json_t *item, size_t index)
{
    const json_t *rows = json_object_get(item, "characteristic");
    const json_t *needed = json_object_get(item, "trials_needed");
    struct metric_value value = {.value = member_real(item, "declared")};
    struct number_unit unit;

    snprintf(value.unit, sizeof(value.unit), "%s", member_text(item, "unit"));
    unit = view_metric_unit(metric_find(member_text(item, "metric")), &value);
    doc_add(doc, "%zu. %s %s, %lld trials, alpha %g, beta %g", index + 1,
            member_text(item, "workload"), member_text(item, "metric"),
            member_integer(item, "trials"), member_real(item, "alpha"), member_real(item, "beta"));
    open_chances(doc);
    EACH(row, rows)
        say_chances(doc, member_real(row, "truth") / unit.factor, unit.name, row,
                    row_at == 0                           ? "declared"
                    : row_at + 1 == json_array_size(rows) ? "limiting"
                                                          : "");
    doc_close(doc);
    if (json_is_integer(needed))
        doc_say(doc, NULL,
                "%lld trials tell the two levels apart: what is limiting is rejected with %g %%, "
                "and what is as declared shown to be better than limiting with %g %%",
                (long long)json_integer_value(needed), 100 * (1 - member_real(item, "beta")),
                100 * (1 - member_real(item, "alpha")));
    else
        doc_say(
            doc, NULL,
            "No %d trials tell the two levels apart: lower the spread, or move the levels apart",
            ACCEPTANCE_MAX);
    say_fleet(doc, json_object_get(item, "fleet"));
}

static void say_power(struct doc *doc, const json_t *made)
{
    doc_say(doc, NULL,
            "Risks of the contract %s, where trials vary by %g %% (lognormal, independent)",
            member_text(made, "contract"), 100 * member_real(made, "sd"));
    EACH(item, json_object_get(made, "items"))
        say_item(doc, item, item_at);
    doc_say(doc, NULL,
            "Every item must be accepted: where all are as declared that happens with %.4g %% at "
            "least (without fleets); the buyer's risk is that of one item",
            100 * member_real(made, "accepted_as_declared"));
    doc_say(
        doc, NULL,
        "Where trials that follow each other have a correlation of 0.5, alpha is up to three "
        "times and beta twice as large, and few trials seldom show it: measure at several hours");
}

int power_contract(const struct command_line *line, double sd)
{
    CLEANUP(contract_finish) struct contract contract = {0};
    struct error err = ERROR_INIT;
    json_auto_t *made = NULL;
    int result;

    if (contract_load(line->arguments[0], &contract, &err) != STATUS_OK)
        return command_fail(&err);
    if (isnan(sd)) {
        error_set(&err, STATUS_INVALID,
                  "--sd is missing: say by how much trials vary, relative (0.01 is 1 %%); `assay "
                  "power RESULT` shows it for a result that is like these");
        return command_fail(&err);
    }
    if (contract_power(&contract, sd, &made, &err) != STATUS_OK) {
        contract_locate(&contract, &err);
        result = command_fail(&err);
    } else {
        result = output_shown(line, made, say_power);
    }
    return result;
}

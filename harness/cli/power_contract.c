#include "harness/cli/power_contract.h"

#include <stdio.h>
#include <string.h>

#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/core/member.h"
#include "protocols/contract.h"
#include "reports/view.h"

static double number(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static void append_row(struct text *out, const char *what, const json_t *chances, const char *note)
{
    text_append_format(out, "   %-20s %8.2f %% %8.2f %% %8.2f %%%s\n", what,
                       100 * number(chances, "accepted"), 100 * number(chances, "rejected"),
                       100 * number(chances, "inconclusive"), note);
}

static void append_head(struct text *out, const char *what)
{
    text_append_format(out, "   %-20s %10s %10s %12s\n", what, "accepted", "rejected",
                       "inconclusive");
}

static void append_fleet(struct text *out, const json_t *fleet)
{
    const json_t *declared = json_object_get(fleet, "declared"), *row;
    char shown[NUMBER_SIZE + 8];
    size_t i;

    if (!json_is_object(fleet))
        return;
    text_append_format(out, "   Of %lld units, by the true share of those that conform:\n",
                       (long long)json_integer_value(json_object_get(fleet, "units")));
    append_head(out, "true share");
    json_array_foreach(json_object_get(fleet, "characteristic"), i, row)
    {
        snprintf(shown, sizeof(shown), "%.4g %%", 100 * number(row, "truth"));
        append_row(out, shown, row,
                   i + 1 == json_array_size(json_object_get(fleet, "characteristic")) ? "  limiting"
                                                                                      : "");
    }
    snprintf(shown, sizeof(shown), "%.4g %%", 100 * number(declared, "truth"));
    append_row(out, shown, declared, "  declared");
    text_append(out, "   (verdicts of single units err, too, as in the table above: that is not in "
                     "this one)\n");
}

static void append_item(struct text *out, const json_t *item, size_t index)
{
    const json_t *rows = json_object_get(item, "characteristic"), *row;
    const json_t *needed = json_object_get(item, "trials_needed");
    struct metric_value value = {.value = number(item, "declared")};
    struct number_unit unit;
    char shown[2 * NUMBER_SIZE], figure[NUMBER_SIZE];
    size_t i;

    snprintf(value.unit, sizeof(value.unit), "%s", member_text(item, "unit"));
    unit = view_metric_unit(metric_find(member_text(item, "metric")), &value);
    text_append_format(out, "%zu. ", index + 1);
    text_append_printable(out, member_text(item, "workload"),
                          strlen(member_text(item, "workload")));
    text_append_format(out, " %s, %lld trials, alpha %g, beta %g\n", member_text(item, "metric"),
                       (long long)json_integer_value(json_object_get(item, "trials")),
                       number(item, "alpha"), number(item, "beta"));
    append_head(out, "true value");
    json_array_foreach(rows, i, row)
    {
        snprintf(shown, sizeof(shown), "%s %s",
                 number_format_digits(number(row, "truth") / unit.factor, 5, figure), unit.name);
        append_row(out, shown, row,
                   i == 0                           ? "  declared"
                   : i + 1 == json_array_size(rows) ? "  limiting"
                                                    : "");
    }
    if (json_is_integer(needed))
        text_append_format(out,
                           "   %lld trials tell the two levels apart: what is limiting is "
                           "rejected with %g %%, and what is as declared shown to be better than "
                           "limiting with %g %%\n",
                           (long long)json_integer_value(needed), 100 * (1 - number(item, "beta")),
                           100 * (1 - number(item, "alpha")));
    else
        text_append_format(out,
                           "   No %d trials tell the two levels apart: lower the spread, or move "
                           "the levels apart\n",
                           ACCEPTANCE_MAX);
    append_fleet(out, json_object_get(item, "fleet"));
}

static int show(const json_t *made)
{
    struct text out;
    size_t i;
    json_t *item;

    text_init(&out);
    text_append(&out, "Risks of the contract ");
    text_append_printable(&out, member_text(made, "contract"),
                          strlen(member_text(made, "contract")));
    text_append_format(&out, ", where trials vary by %g %% (lognormal, independent)\n",
                       100 * number(made, "sd"));
    json_array_foreach(json_object_get(made, "items"), i, item) append_item(&out, item, i);
    text_append_format(&out,
                       "Every item must be accepted: where all are as declared that happens with "
                       "%.4g %% at least (without fleets); the buyer's risk is that of one item\n",
                       100 * number(made, "accepted_as_declared"));
    return output_lines(&out);
}

int power_contract(const char *path, double sd, bool json)
{
    struct contract contract;
    struct error err = ERROR_INIT;
    json_t *made = NULL;
    int result;

    if (contract_load(path, &contract, &err) != STATUS_OK)
        return command_fail(&err);
    if (contract_power(&contract, sd, &made, &err) != STATUS_OK) {
        contract_locate(&contract, &err);
        result = command_fail(&err);
    } else {
        result = json ? output_json(json_incref(made)) : show(made);
    }
    json_decref(made);
    contract_finish(&contract);
    return result;
}

#include <string.h>
#include <time.h>

#include "harness/cli/commands.h"
#include "harness/cli/judging.h"
#include "harness/core/text.h"
#include "reports/cost_document.h"
#include "results/formats/price_sheet.h"

#define RESULTS_MAX 32

enum { KEY_PRICES = 0x100, KEY_ITEM, KEY_AS_OF, KEY_DISCOUNT, KEY_PUE, KEY_UTILISATION };

static enum status read_number(const struct command_line *line, int key, const char *name,
                               double least, double most, json_t *assumptions, struct error *err)
{
    const char *given = command_value(line, key);
    double number = least > 0 ? 1 : 0;

    if (given && (!text_parse_double(given, &number) || !(number >= least && number <= most)))
        return error_set(err, STATUS_INVALID, "--%s %s: write a number from %g to %g", name, given,
                         least, most);
    json_object_set_new(assumptions, name, json_real(number));
    return STATUS_OK;
}

/* The day of the figures: as given, else today in UTC. */
static enum status read_day(const struct command_line *line, json_t *assumptions, struct error *err)
{
    const char *given = command_value(line, KEY_AS_OF);
    const time_t now = time(NULL);
    char today[32];
    struct tm parts;
    int64_t ns;

    strftime(today, sizeof(today), "%Y-%m-%d", gmtime_r(&now, &parts));
    if (given && (strlen(given) != 10 || !text_parse_moment_ns(given, 0, &ns)))
        return error_set(err, STATUS_INVALID, "--as-of %s: write a day as YYYY-MM-DD", given);
    json_object_set_new(assumptions, "as_of", json_string(given ? given : today));
    return STATUS_OK;
}

static enum status ask(const struct command_line *line, struct judging_request *ret,
                       struct error *err)
{
    const char *item = command_value(line, KEY_ITEM);
    json_auto_t *assumptions = json_object(), *sheet = NULL;

    if (!command_value(line, KEY_PRICES))
        return error_set(err, STATUS_INVALID,
                         "--prices FILE is missing: no prices are shipped, since they age and "
                         "depend on the buyer");
    TRY(read_day(line, assumptions, err));
    TRY(read_number(line, KEY_DISCOUNT, "discount", 0, 1, assumptions, err));
    TRY(read_number(line, KEY_PUE, "pue", 1, 10, assumptions, err));
    TRY(read_number(line, KEY_UTILISATION, "utilisation", 0.0001, 1, assumptions, err));
    json_object_set_new(assumptions, "item", item ? json_string(item) : json_null());
    TRY(price_sheet_read(command_value(line, KEY_PRICES), &sheet, err));
    ret->asked = json_array();
    for (size_t i = 0; i < line->argument_count; i++)
        json_array_append_new(ret->asked, json_pack("{s:s, s:O, s:O}", "a", line->arguments[i],
                                                    "prices", sheet, "assumptions", assumptions));
    return STATUS_OK;
}

static const struct judging judging = {
    .judgement = &judgement_cost, .ask = ask, .write = cost_document, .several = true};

static const struct argp_option options[] = {
    {"prices", KEY_PRICES, "FILE", 0, "the price sheet, CSV"},
    {"item", KEY_ITEM, "ITEM", 0,
     "the item of the sheet that is the results' device (default: the one with its name)"},
    {"as-of", KEY_AS_OF, "DAY", 0, "the day on which prices must be valid (default: today)"},
    {"discount", KEY_DISCOUNT, "RATE", 0, "interest a year; 0.05 is 5 % (default: 0)"},
    {"pue", KEY_PUE, "RATIO", 0, "power of the building over that of its machines (default: 1)"},
    {"utilisation", KEY_UTILISATION, "SHARE", 0,
     "share of all hours in which the device does this work (default: 1)"},
    {0}};

const struct command command_cost = {
    .name = "cost",
    .arguments = "RESULT...",
    .summary = "What work costs: results by a price sheet",
    .text = "Columns of the sheet, in any order: item, kind (device, host, network, cloud, energy, "
            "colocation, staff, licence), currency, amount and unit (each, hour, kWh, month) must "
            "be there; vendor, region, amount_lo, amount_hi, term_months, residual, "
            "covers_devices, valid_from, valid_to, source, retrieved, quote_id and confidential "
            "(yes, no) may be. Each row of kind device or cloud whose item is the result's device "
            "(or --item) is an option. To the cost of a bought device come the rows of all other "
            "kinds, each divided by the number of devices that it covers.\n"
            "\n"
            "What is bought costs amount (1 - residual / (1 + r)^y) CRF(r, y) a year, with the "
            "capital recovery factor CRF = r (1 + r)^y / ((1 + r)^y - 1); energy is the mean power "
            "that was measured, times PUE. Bounds combine the interval of the measurement with "
            "amount_lo and amount_hi; the output says which share of them is from the measurement. "
            "A price that is missing is left out, with a note, and is never 0.\n"
            "\n"
            "The figures are stored in the log with the rows that they are computed from, and "
            "`assay verify` recomputes them.\n"
            "\n"
            "  assay cost 9f2c41aa/1 b7d0e333/1 --prices prices.csv --discount 0.05 --pue 1.3",
    .options = options,
    .groups = GROUP_STORE | GROUP_JSON | GROUP_MARKDOWN | GROUP_RECORD,
    .arguments_min = 1,
    .arguments_max = RESULTS_MAX,
    .completes = "RESULT",
    .judging = &judging,
};

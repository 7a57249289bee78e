#include "results/formats/price_sheet.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/member.h"
#include "protocols/cost.h"
#include "results/formats/sheet.h"

static const struct sheet_column columns[] = {
    {"item", SHEET_TEXT, true},         {"kind", SHEET_TEXT, true},
    {"vendor", SHEET_TEXT, false},      {"region", SHEET_TEXT, false},
    {"currency", SHEET_TEXT, true},     {"amount", SHEET_NUMBER, true},
    {"amount_lo", SHEET_NUMBER, false}, {"amount_hi", SHEET_NUMBER, false},
    {"unit", SHEET_TEXT, true},         {"term_months", SHEET_NUMBER, false},
    {"residual", SHEET_NUMBER, false},  {"covers_devices", SHEET_NUMBER, false},
    {"valid_from", SHEET_DAY, false},   {"valid_to", SHEET_DAY, false},
    {"source", SHEET_TEXT, false},      {"retrieved", SHEET_DAY, false},
    {"quote_id", SHEET_TEXT, false},    {"confidential", SHEET_BOOLEAN, false},
};

#define TERM_MAX 1200 /* months */

/* The one of a sheet, and where it stands first. */
struct currency {
    const char *name; /* in the rows */
    uint64_t line;
};

/* What the fields of a row must be together. */
static enum status check_row(void *context, const char *origin, json_t *row, uint64_t line,
                             struct error *err)
{
    struct currency *sheet = context;
    const char *currency = member_string(row, "currency");
    const char *kind_name = member_string(row, "kind");
    const char *unit_name = member_string(row, "unit");
    const enum price_kind kind = price_kind_find(kind_name);
    const enum price_unit unit = price_unit_find(unit_name);
    const char *from = member_string(row, "valid_from");
    const char *to = member_string(row, "valid_to");
    const double amount = member_real(row, "amount");

    if (kind == PRICE_KIND_COUNT)
        return sheet_refuse(
            origin, line, "kind", kind_name,
            "write device, host, network, cloud, energy, colocation, staff or licence", err);
    if (unit == PRICE_UNIT_COUNT)
        return sheet_refuse(origin, line, "unit", unit_name, "write each, hour, kWh or month", err);
    if ((kind == PRICE_ENERGY) != (unit == PRICE_KWH))
        return sheet_refuse(origin, line, "unit", unit_name,
                            "energy is priced by the kWh, and only that", err);
    if (kind == PRICE_CLOUD && unit == PRICE_EACH)
        return sheet_refuse(origin, line, "unit", unit_name,
                            "what is rented has a price an hour or a month", err);
    if (strlen(currency) != 3 || strspn(currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != 3)
        return sheet_refuse(origin, line, "currency", currency,
                            "write the three letters of ISO 4217, as EUR", err);
    if (sheet->name && strcmp(sheet->name, currency) != 0)
        return error_set_at(err, STATUS_INVALID, origin, line,
                            "currency \"%s\", but line %llu has \"%s\": a sheet has one; convert, "
                            "and name rate and date under source",
                            currency, (unsigned long long)sheet->line, sheet->name);
    if (!sheet->name) {
        sheet->name = currency;
        sheet->line = line;
    }
    if (unit == PRICE_EACH && !(member_real(row, "term_months") >= 1))
        return sheet_refuse(origin, line, "term_months", "",
                            "what is bought is paid over a term; write its months, from 1", err);
    if (member_number_or(row, "term_months", 1) > TERM_MAX)
        return sheet_refuse(origin, line, "term_months", "",
                            "is the months over which it is paid, at most 1200", err);
    if (from && to && strcmp(from, to) > 0)
        return sheet_refuse(origin, line, "valid_to", to, "lies before valid_from", err);
    if (member_real(row, "residual") > 1)
        return sheet_refuse(origin, line, "residual", "", "is a share of the price, from 0 to 1",
                            err);
    if (member_number_or(row, "covers_devices", 1) < 1)
        return sheet_refuse(origin, line, "covers_devices", "",
                            "one of it serves at least 1 device", err);
    if (member_number_or(row, "amount_lo", amount) > amount ||
        member_number_or(row, "amount_hi", amount) < amount)
        return sheet_refuse(origin, line, "amount_lo", "",
                            "amount_lo <= amount <= amount_hi must hold", err);
    return STATUS_OK;
}

static const struct sheet_form form = {columns, sizeof(columns) / sizeof(columns[0]),
                                       "item, kind, currency, amount and unit must be there",
                                       "cost", check_row};

enum status price_sheet_parse(const char *origin, const char *text, size_t length, json_t **ret,
                              struct error *err)
{
    struct currency currency = {NULL, 0};

    TRY(sheet_parse(&form, &currency, origin, text, length, ret, err));
    if (json_object_set_new(*ret, "currency", json_string(currency.name)) != 0) {
        json_decref(*ret);
        return error_no_memory(err);
    }
    return STATUS_OK;
}

enum status price_sheet_read(const char *path, json_t **ret, struct error *err)
{
    AUTO_FREE char *text = NULL;
    size_t length;

    TRY(file_read(path, SHEET_BYTES_MAX, &text, &length, err));
    return price_sheet_parse(path, text, length, ret, err);
}

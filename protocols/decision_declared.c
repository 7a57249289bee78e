/* What a buyer decides about, as it is written. */
#include <stdlib.h>
#include <string.h>

#include "harness/core/member.h"
#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "harness/core/declaration.h"
#include "harness/core/file.h"
#include "harness/core/text.h"
#include "protocols/contract.h"
#include "protocols/decision.h"
#include "protocols/quantity.h"

#define NAME_MAX_LENGTH 128
#define PATH_MAX_LENGTH 1000

struct raw_assumptions {
    char *as_of;
    double discount, pue, utilisation;
};

struct raw_option {
    char *name, *result, *item, *kind;
};

struct raw_requirement {
    char *figure, *at_least, *at_most, *contract;
};

struct raw {
    char *decision, *question, *prices, *peaks;
    int64_t version;
    double margin;
    struct raw_assumptions assumptions;
    struct raw_option *options;
    struct raw_requirement *requirements;
    char **vary, **objectives;
    uint32_t options_count, requirements_count, vary_count, objectives_count;
};

#define TEXT(K, FLAGS, S) FIELD_STRING(#K, FLAGS, S, K, 1, NAME_MAX_LENGTH)
static const struct declaration_field assumption_fields[] = {
    TEXT(as_of, FIELD_REQUIRED, struct raw_assumptions),
    FIELD_FLOAT("discount", FIELD_OPTIONAL, struct raw_assumptions, discount),
    FIELD_FLOAT("pue", FIELD_OPTIONAL, struct raw_assumptions, pue),
    FIELD_FLOAT("utilisation", FIELD_OPTIONAL, struct raw_assumptions, utilisation), FIELD_END};
static const struct declaration_field option_fields[] = {
    TEXT(name, FIELD_REQUIRED, struct raw_option), TEXT(result, FIELD_REQUIRED, struct raw_option),
    TEXT(item, FIELD_OPTIONAL, struct raw_option), TEXT(kind, FIELD_OPTIONAL, struct raw_option),
    FIELD_END};
static const struct declaration_field requirement_fields[] = {
    TEXT(figure, FIELD_OPTIONAL, struct raw_requirement),
    TEXT(at_least, FIELD_OPTIONAL, struct raw_requirement),
    TEXT(at_most, FIELD_OPTIONAL, struct raw_requirement),
    FIELD_STRING("contract", FIELD_OPTIONAL, struct raw_requirement, contract, 1, PATH_MAX_LENGTH),
    FIELD_END};
static const struct declaration_schema word = {ENTRY_STRING(1, NAME_MAX_LENGTH)};
static const struct declaration_schema option = {ENTRY_GROUP(struct raw_option, option_fields)};
static const struct declaration_schema requirement = {
    ENTRY_GROUP(struct raw_requirement, requirement_fields)};
static const struct declaration_field fields[] = {
    TEXT(decision, FIELD_REQUIRED, struct raw),
    FIELD_INT("version", FIELD_REQUIRED, struct raw, version),
    FIELD_STRING("question", FIELD_OPTIONAL, struct raw, question, 1, 1000),
    FIELD_STRING("prices", FIELD_OPTIONAL, struct raw, prices, 1, PATH_MAX_LENGTH),
    FIELD_STRING("peaks", FIELD_OPTIONAL, struct raw, peaks, 1, PATH_MAX_LENGTH),
    FIELD_GROUP("assumptions", FIELD_OPTIONAL, struct raw, assumptions, assumption_fields),
    FIELD_FLOAT("margin", FIELD_OPTIONAL, struct raw, margin),
    FIELD_LIST("vary", FIELD_OPTIONAL, struct raw, vary, &word, 1, DECISION_FIGURES_MAX),
    FIELD_LIST("options", FIELD_REQUIRED, struct raw, options, &option, 2, DECISION_OPTIONS_MAX),
    FIELD_LIST("requirements", FIELD_OPTIONAL, struct raw, requirements, &requirement, 1,
               DECISION_FIGURES_MAX / 2),
    FIELD_LIST("objectives", FIELD_REQUIRED, struct raw, objectives, &word, 1,
               DECISION_FIGURES_MAX / 2),
    FIELD_END};
static const struct declaration_schema schema = {ENTRY_GROUP(struct raw, fields)};

/* ---- figures ---- */

enum status decision_figure_find(const char *name, struct decision_figure *ret, struct error *err)
{
    const struct cost_work *work = cost_works;

    *ret = (struct decision_figure){.metric = metric_find(name), .lower_is_better = true};
    if (ret->metric < METRIC_COUNT) {
        if (metrics[ret->metric].better == METRIC_NEITHER)
            return error_set(err, STATUS_INVALID,
                             "%s is neither better when higher nor when lower: it decides nothing",
                             name);
        ret->lower_is_better = metrics[ret->metric].better == METRIC_LOWER;
        return STATUS_OK;
    }
    if (!strcmp(name, "error")) {
        ret->kind = FIGURE_ERROR;
        return STATUS_OK;
    }
    ret->kind = FIGURE_COST;
    if (!strcmp(name, "cost_per_hour"))
        return STATUS_OK;
    while (work < cost_works + COST_WORKS && strcmp(work->name, name) != 0)
        work++;
    if (work == cost_works + COST_WORKS)
        return error_set(
            err, STATUS_INVALID,
            "\"%s\" is not a figure: write a metric (goodput, item_rate, e2e_p99, "
            "energy_per_item ...), error, cost_per_hour, cost_per_million_good_tokens, "
            "cost_per_million_good_requests, cost_per_million_items, "
            "cost_per_1000_iterations, cost_per_1e18_operations or cost_per_petabyte",
            name);
    ret->work = work;
    ret->metric = work->metric;
    return STATUS_OK;
}

enum status decision_limit_read(const char *text, const struct decision_figure *figure,
                                const char *unit, double *ret, struct error *err)
{
    const size_t digits = strcspn(text, " ");
    const char *rest = text + digits + (text[digits] == ' ');
    char *number;
    bool is_number;

    if (figure->kind == FIGURE_METRIC)
        return quantity_read(text, figure->metric, unit, ret, err);
    number = strndup(text, digits);
    if (!number)
        return error_no_memory(err);
    is_number = text_parse_double(number, ret) && *ret > 0;
    free(number);
    if (!is_number)
        return error_set(err, STATUS_INVALID,
                         "\"%s\" is not a figure: write a positive number without thousands "
                         "separators%s",
                         text, figure->kind == FIGURE_COST ? ", a blank and the currency" : "");
    if (figure->kind == FIGURE_ERROR && *rest)
        return error_set(err, STATUS_INVALID, "\"%s\": an error has no unit", text);
    if (figure->kind == FIGURE_COST && !*rest)
        return error_set(err, STATUS_INVALID,
                         "\"%s\" has no unit: write the currency of the price sheet after it",
                         text);
    if (figure->kind == FIGURE_COST && unit && strcmp(rest, unit) != 0)
        return error_set(err, STATUS_INVALID,
                         "\"%s\" is in another currency than the price sheet, which has %s", text,
                         unit);
    return STATUS_OK;
}

/* ---- checks ---- */

#define fault(decision, path, err, ...)                                                            \
    declaration_error((decision)->declaration, path, err, __VA_ARGS__)

static enum status check_assumptions(const struct decision *decision, const struct raw *raw,
                                     struct error *err)
{
    const struct raw_assumptions *given = &raw->assumptions;
    const struct declaration *declaration = decision->declaration;
    int64_t ns;

    if (!raw->prices && declaration_has(declaration, "assumptions"))
        return fault(decision, "assumptions", err,
                     "they are of costs, and no `prices` are named: write both or neither");
    if (!raw->prices)
        return STATUS_OK;
    if (!given->as_of)
        return fault(decision, "prices", err,
                     "`assumptions.as_of` is missing: write the day on which the prices must be "
                     "valid, as YYYY-MM-DD");
    if (strlen(given->as_of) != 10 || !text_parse_moment_ns(given->as_of, 0, &ns))
        return fault(decision, "assumptions.as_of", err, "\"%s\": write a day as YYYY-MM-DD",
                     given->as_of);
    if (!(given->discount >= 0 && given->discount <= 1))
        return fault(decision, "assumptions.discount", err,
                     "write the interest of a year, from 0 to 1; 0.05 is 5 %%");
    if (declaration_has(declaration, "assumptions.pue") && !(given->pue >= 1 && given->pue <= 10))
        return fault(decision, "assumptions.pue", err,
                     "write the power of the building over that of its machines, from 1 to 10");
    if (declaration_has(declaration, "assumptions.utilisation") &&
        !(given->utilisation >= 0.0001 && given->utilisation <= 1))
        return fault(decision, "assumptions.utilisation", err,
                     "write the share of all hours with work, from 0.0001 to 1");
    return STATUS_OK;
}

static enum status check_options(const struct decision *decision, const struct raw *raw,
                                 struct error *err)
{
    char path[64];

    for (size_t i = 0; i < raw->options_count; i++) {
        const struct raw_option *one = &raw->options[i];

        for (size_t k = 0; k < i; k++) {
            snprintf(path, sizeof(path), "options[%zu].name", i);
            if (!strcmp(one->name, raw->options[k].name))
                return fault(decision, path, err, "another option has the name \"%s\"", one->name);
        }
        snprintf(path, sizeof(path), "options[%zu].kind", i);
        if (one->kind && strcmp(one->kind, "device") != 0 && strcmp(one->kind, "cloud") != 0)
            return fault(decision, path, err,
                         "\"%s\": write device (bought) or cloud (rented), the kind of its row of "
                         "the price sheet",
                         one->kind);
    }
    return STATUS_OK;
}

static enum status check_figure(const struct decision *decision, const char *path, const char *name,
                                struct decision_figure *figure, struct error *err)
{
    if (decision_figure_find(name, figure, err) != STATUS_OK) {
        error_prefix(err, "%s", path);
        declaration_locate(decision->declaration, err);
        return err->code;
    }
    if (figure->kind == FIGURE_COST && !decision->prices)
        return fault(decision, path, err,
                     "%s needs prices: write `prices: FILE`, and `assumptions`; none are shipped",
                     name);
    return STATUS_OK;
}

/* The path of a file, which messages repeat; NULL: none is declared. */
static enum status check_path(const struct decision *decision, const char *at, const char *path,
                              struct error *err)
{
    for (; path && *path; path++)
        if ((unsigned char)*path < ' ' || *path == 0x7f)
            return fault(decision, at, err, "write the path of a file without control characters");
    return STATUS_OK;
}

static enum status check_requirement(const struct decision *decision, const struct raw *raw,
                                     size_t index, struct error *err)
{
    const struct raw_requirement *one = &raw->requirements[index];
    const char *limit = one->at_most ? one->at_most : one->at_least;
    struct decision_figure figure;
    char path[64];
    double unused;

    snprintf(path, sizeof(path), "requirements[%zu]", index);
    if (one->contract ? one->figure || limit : !one->figure || !one->at_most == !one->at_least)
        return fault(decision, path, err,
                     "write {figure: NAME, at_least: LIMIT}, {figure: NAME, at_most: LIMIT} or "
                     "{contract: FILE}");
    if (one->contract) {
        snprintf(path, sizeof(path), "requirements[%zu].contract", index);
        return check_path(decision, path, one->contract, err);
    }
    snprintf(path, sizeof(path), "requirements[%zu].figure", index);
    TRY(check_figure(decision, path, one->figure, &figure, err));
    snprintf(path, sizeof(path), "requirements[%zu].%s", index,
             one->at_most ? "at_most" : "at_least");
    if (figure.lower_is_better != (one->at_most != NULL))
        return fault(decision, path, err, "%s is better when it is %s: write %s", one->figure,
                     figure.lower_is_better ? "lower" : "higher",
                     figure.lower_is_better ? "at_most" : "at_least");
    if (decision_limit_read(limit, &figure, NULL, &unused, err) != STATUS_OK) {
        error_prefix(err, "%s", path);
        declaration_locate(decision->declaration, err);
        return err->code;
    }
    return STATUS_OK;
}

static enum status check(const struct decision *decision, const struct raw *raw, struct error *err)
{
    static const char *const varied[] = {"precision", "batch", "scenario", "implementation"};
    struct decision_figure figure;
    char path[64];

    TRY(check_assumptions(decision, raw, err));
    if (!(raw->margin >= 0 && raw->margin < 1))
        TRY(fault(decision, "margin", err,
                  "write the share by which two values must differ to count, from 0 to below "
                  "1; 0.01 is 1 %%"));
    TRY(check_path(decision, "prices", raw->prices, err));
    TRY(check_path(decision, "peaks", raw->peaks, err));
    TRY(check_options(decision, raw, err));
    for (size_t i = 0; i < raw->vary_count; i++) {
        size_t k = 0;

        while (k < sizeof(varied) / sizeof(varied[0]) && strcmp(varied[k], raw->vary[i]) != 0)
            k++;
        snprintf(path, sizeof(path), "vary[%zu]", i);
        if (k == sizeof(varied) / sizeof(varied[0]))
            TRY(fault(decision, path, err,
                      "\"%s\": write precision, batch, scenario or implementation; other "
                      "work than that of another option cannot be decided about",
                      raw->vary[i]));
    }
    for (size_t i = 0; i < raw->objectives_count; i++) {
        snprintf(path, sizeof(path), "objectives[%zu]", i);
        TRY(check_figure(decision, path, raw->objectives[i], &figure, err));
        for (size_t k = 0; k < i; k++)
            if (!strcmp(raw->objectives[i], raw->objectives[k]))
                TRY(fault(decision, path, err, "%s is there twice", raw->objectives[i]));
    }
    for (size_t i = 0; i < raw->requirements_count; i++)
        TRY(check_requirement(decision, raw, i, err));
    return STATUS_OK;
}

/* ---- reading ---- */

/* Puts the contracts in place of their files. */
static enum status take_contracts(struct decision *decision, struct error *err)
{
    json_t *requirements = json_object_get(decision->json, "requirements");
    enum status status = STATUS_OK;

    EACH(one, requirements) {
        const char *name = member_string(one, "contract");
        struct contract contract = {.json = NULL};
        char *path;

        if (!name || status != STATUS_OK)
            continue;
        path = file_beside(decision->declaration->origin, name);
        status = path ? contract_load(path, &contract, err) : error_no_memory(err);
        if (status == STATUS_OK) {
            json_object_set(one, "contract", contract.json);
            contract_finish(&contract);
        }
        free(path);
    }
    return status;
}

static enum status read_paths(struct decision *decision, const struct raw *raw, struct error *err)
{
    decision->prices = raw->prices ? file_beside(decision->declaration->origin, raw->prices) : NULL;
    decision->peaks = raw->peaks ? file_beside(decision->declaration->origin, raw->peaks) : NULL;
    return (raw->prices && !decision->prices) || (raw->peaks && !decision->peaks)
               ? error_no_memory(err)
               : STATUS_OK;
}

enum status decision_load(const char *path, struct decision *ret, struct error *err)
{
    CLEANUP(decision_finish) struct decision decision = {.json = NULL};

    decision.declaration = calloc(1, sizeof(*decision.declaration));
    if (!decision.declaration)
        return error_no_memory(err);
    TRY(declaration_load(path, &schema, decision.declaration, err));
    TRY(declaration_to_json(decision.declaration, &decision.json, err));
    TRY(read_paths(&decision, decision.declaration->data, err));
    TRY(check(&decision, decision.declaration->data, err));
    TRY(take_contracts(&decision, err));
    TRY(canonical_digest(decision.json, &decision.digest, err));
    *ret = decision;
    decision = (struct decision){.json = NULL};
    return STATUS_OK;
}

void decision_locate_key(const struct decision *decision, const char *key, struct error *err)
{
    const enum status code = err->code;
    char message[ERROR_MESSAGE_MAX];

    memcpy(message, err->message, sizeof(message));
    declaration_error(decision->declaration, key, err, "%s: %s", key, message);
    err->code = code;
}

void decision_finish(struct decision *decision)
{
    declaration_finish(decision->declaration);
    free(decision->declaration);
    json_decref(decision->json);
    free(decision->prices);
    free(decision->peaks);
    *decision = (struct decision){.json = NULL};
}

/* The stored estimate of a cell, and what a report says in words of it. */
#include "reports/view_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"
#include "protocols/estimate.h"
#include "reports/number.h"

static void read_percentiles(const json_t *percentiles, struct view_estimate *ret)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)percentiles, name, value)
    {
        struct view_percentile *percentile;
        size_t at = ret->percentile_count;
        double q = name[0] == 'p' ? strtod(name + 1, NULL) : NAN;

        if (!(q >= 0 && q <= 100) || at == VIEW_PERCENTILES_MAX)
            continue;
        /* JSON objects have no order; people want the median first. */
        while (at > 0 && strtod(ret->percentiles[at - 1].label + 1, NULL) > q) {
            ret->percentiles[at] = ret->percentiles[at - 1];
            --at;
        }
        percentile = &ret->percentiles[at];
        *percentile = (struct view_percentile){0};
        snprintf(percentile->label, sizeof(percentile->label), "%.15s", name);
        percentile->ns = view_json_interval(percentiles, name);
        percentile->needed = view_json_count(value, "needed_n");
        ++ret->percentile_count;
    }
}

/* A warning as people read it: "+-5 %" as ±, "3.961e+06 ns" and "12345 ns" in the unit that fits.
 */
static char *polish(const char *warning)
{
    struct text out;

    text_init(&out);
    while (*warning) {
        bool figure = *warning >= '0' && *warning <= '9';
        size_t length = figure ? strspn(warning, "0123456789.e+") : 1;
        char *end = NULL;
        double value = figure ? strtod(warning, &end) : 0;

        if (figure && end == warning + length && value >= 1000 && strncmp(end, " ns", 3) == 0 &&
            (end[3] < 'a' || end[3] > 'z')) {
            struct number_unit unit = number_unit_duration(value);
            char number[NUMBER_SIZE];

            text_append(&out, number_format_unit(value, &unit, number));
            length += 3;
        } else if (strncmp(warning, "+-", 2) == 0) {
            text_append(&out, "±");
            length = 2;
        } else {
            text_append_bytes(&out, warning, length);
        }
        warning += length;
    }
    return text_steal(&out);
}

static bool read_lists(const json_t *json, struct view_estimate *ret)
{
    const json_t *warnings = json_object_get(json, "warnings"), *item;
    const json_t *trials = json_object_get(json, "trial_ids");
    size_t i;

    ret->warnings = calloc(json_array_size(warnings) + 1, sizeof(*ret->warnings));
    ret->trials = calloc(json_array_size(trials) + 1, sizeof(*ret->trials));
    if (!ret->warnings || !ret->trials)
        return false;
    json_array_foreach(warnings, i, item)
    {
        if (!json_is_string(item))
            continue;
        ret->warnings[ret->warning_count] = polish(json_string_value(item));
        if (!ret->warnings[ret->warning_count++])
            return false;
    }
    json_array_foreach(trials, i, item) ret->trials[ret->trial_count++] =
        json_is_integer(item) ? json_integer_value(item) : -1;
    ret->steady_from = json_object_get(json, "steady_from");
    ret->trial_verdicts = json_object_get(json, "trial_verdicts");
    return true;
}

bool view_estimate_read(const json_t *json, struct view_estimate *ret)
{
    const json_t *variance = json_object_get(json, "variance");

    *ret = (struct view_estimate){
        .ess = NAN, .variance_iteration = NAN, .variance_process = NAN, .mean_power_w = NAN};
    if (!json_is_object(json))
        return true;
    ret->present = true;
    ret->version = view_json_count(json, "version");
    ret->verdict = view_json_string(json, "verdict");
    ret->steady = estimate_verdict_named_is_steady(ret->verdict);
    ret->confidence = view_json_real(json_object_get(json, "mean_ns"), "confidence");
    if (!isfinite(ret->confidence))
        ret->confidence = 0;
    ret->iteration_ns = view_json_interval(json, "iteration_ns");
    if (!ret->iteration_ns.has_value)
        ret->iteration_ns = view_json_interval(json, "mean_ns");
    ret->items_per_s = view_json_interval(json, "items_per_s");
    ret->bytes_per_s = view_json_interval(json, "bytes_per_s");
    ret->flops_per_s = view_json_interval(json, "flops_per_s");
    ret->energy_source = view_json_string(json, "energy_source");
    ret->iteration_j = view_json_interval(json, "energy_per_iteration_j");
    ret->item_j = view_json_interval(json, "energy_per_item_j");
    ret->flop_j = view_json_interval(json, "energy_per_flop_j");
    ret->mean_power_w = view_json_real(json, "mean_power_w");
    ret->energy = json_object_get(json, "energy");
    ret->ess = view_json_real(json, "ess");
    ret->variance_iteration = view_json_real(variance, "iteration");
    ret->variance_process = view_json_real(variance, "process");
    ret->needed_trials = view_json_count(json, "needed_trials");
    read_percentiles(json_object_get(json, "percentiles"), ret);
    return read_lists(json, ret);
}

/* Number of the attempt with this row id; 0: there is none. */
static int64_t number_of(const struct view_cell *cell, int64_t id)
{
    for (size_t i = 0; i < cell->trial_count; ++i)
        if (cell->trials[i].id == id)
            return cell->trials[i].number;
    return 0;
}

bool view_estimate_renumber(struct view_cell *cell)
{
    struct view_estimate *estimate = &cell->estimate;

    for (size_t i = 0; i < estimate->warning_count; ++i) {
        const char *warning = estimate->warnings[i];
        unsigned long index;
        int64_t number;
        char *end, *text;

        if (strncmp(warning, "trial ", 6) != 0 || warning[6] < '0' || warning[6] > '9')
            continue;
        index = strtoul(warning + 6, &end, 10);
        number = index < estimate->trial_count ? number_of(cell, estimate->trials[index]) : 0;
        if (number == 0)
            continue;
        text = text_format("trial %lld%s", (long long)number, end);
        if (!text)
            return false;
        free(estimate->warnings[i]);
        estimate->warnings[i] = text;
    }
    return true;
}

int view_digits(const struct view_interval *interval)
{
    return interval->has_interval ? number_digits(interval->value, interval->lo, interval->hi) : 4;
}

int view_percentile_digits(const struct view_percentile *percentile)
{
    return percentile->ns.has_interval ? view_digits(&percentile->ns) : 2;
}

void view_estimate_finish(struct view_estimate *estimate)
{
    for (size_t i = 0; i < estimate->warning_count; ++i)
        free(estimate->warnings[i]);
    free(estimate->warnings);
    estimate->warning_count = 0;
    free(estimate->trials);
    estimate->warnings = NULL;
    estimate->trials = NULL;
}

const char *view_operation(const struct view_cell *cell)
{
    return cell->precision && strcmp(cell->precision, "int8") == 0 ? "OP" : "FLOP";
}

const char *view_operations_rate(const struct view_cell *cell)
{
    return cell->precision && strcmp(cell->precision, "int8") == 0 ? "OP/s" : "FLOP/s";
}

const struct view_interval *view_headline(const struct view_cell *cell,
                                          char base_buffer[VIEW_UNIT_SIZE], const char **ret_base)
{
    const struct view_estimate *estimate = &cell->estimate;
    const struct view_interval *rate = NULL;
    const char *headline = cell->headline ? cell->headline : "";

    *ret_base = NULL;
    if (cell->imported.present) {
        snprintf(base_buffer, VIEW_UNIT_SIZE, "%.40ss/s",
                 cell->item_name ? cell->item_name : "item");
        *ret_base = cell->imported.rate.has_value ? base_buffer : NULL;
        return cell->imported.rate.has_value           ? &cell->imported.rate
               : cell->imported.iteration_ns.has_value ? &cell->imported.iteration_ns
                                                       : NULL;
    }
    if (!estimate->present || !estimate->steady)
        return NULL;
    if (strcmp(headline, "bytes") == 0) {
        rate = &estimate->bytes_per_s;
        *ret_base = "B/s";
    } else if (strcmp(headline, "flops") == 0) {
        rate = &estimate->flops_per_s;
        *ret_base = view_operations_rate(cell);
    } else if (strcmp(headline, "items") == 0) {
        rate = &estimate->items_per_s;
        snprintf(base_buffer, VIEW_UNIT_SIZE, "%.40ss/s",
                 cell->item_name ? cell->item_name : "item");
        *ret_base = base_buffer;
    }
    if (rate && rate->has_value)
        return rate;
    *ret_base = NULL;
    return estimate->iteration_ns.has_value ? &estimate->iteration_ns : NULL;
}

const char *view_no_headline_reason(const struct view_cell *cell)
{
    char base[VIEW_UNIT_SIZE];
    const char *unit;
    const struct view_estimate *estimate = &cell->estimate;

    if (cell->imported.present)
        return view_headline(cell, base, &unit) ? NULL : "the imported file gives no number";
    if (cell->ok_count == 0)
        return view_is_unsupported(cell) ? "not supported here"
               : cell->trial_count       ? "no trial ended well"
                                         : "no trial was run";
    if (!estimate->present)
        return "not analysed yet";
    if (!estimate->verdict)
        return "the estimate has no verdict";
    if (strcmp(estimate->verdict, "insufficient") == 0)
        return "too few independent samples";
    if (!estimate->steady)
        return "no steady state";
    return estimate->iteration_ns.has_value ? NULL : "the estimate gives no value";
}

static const char *words_of(const char *verdict)
{
    static const struct {
        const char *verdict, *words;
    } words[] = {
        {"flat", "steady"},
        {"warmup", "after warmup"},
        {"slowdown", "after slowdown"},
        {"drift", "drifts"},
        {"two_state", "two states"},
        {"no_steady_state", "never settled"},
        {"insufficient", "too few samples"},
    };

    for (size_t i = 0; verdict && i < sizeof(words) / sizeof(words[0]); ++i)
        if (strcmp(words[i].verdict, verdict) == 0)
            return words[i].words;
    return NULL;
}

bool view_verdict_known(const char *verdict)
{
    return words_of(verdict) != NULL;
}

const char *view_verdict_translate(const char *verdict)
{
    const char *words = words_of(verdict);

    return words || !verdict ? words : "unknown verdict";
}

const char *view_verdict_words(const struct view_cell *cell)
{
    const char *words = view_verdict_translate(cell->estimate.verdict);

    if (cell->imported.present)
        return "imported";
    return words ? words : "not analysed";
}

/* What the other program says of its own run: that it broke its rules, or erred. */
static void append_own_judgement(struct text *words, const struct view_cell *cell)
{
    const struct reading *validity = reading_find(&cell->device.readings, "import.validity");
    const struct reading *errors = reading_find(&cell->device.readings, "import.errors");

    if (validity && validity->text && strcmp(validity->text, "VALID") != 0)
        text_append_format(words, " By its own rules the run is %s.", validity->text);
    if (errors && errors->text && strncmp(errors->text, "No ", 3) != 0)
        text_append_format(words, " Its log says: %s", errors->text);
}

bool view_is_import(const struct view *view, size_t campaign)
{
    size_t imported = 0;

    for (size_t i = 0; i < view->cell_count; ++i) {
        if (view->cells[i].campaign == campaign && !view->cells[i].imported.present)
            return false;
        imported += view->cells[i].campaign == campaign;
    }
    return imported > 0;
}

char *view_imported_words(const struct view_cell *cell)
{
    const struct view_imported *imported = &cell->imported;
    struct text words;

    text_init(&words);
    text_append_format(&words,
                       "Imported: measured by %s%s%s, not by assay; the number is what its file "
                       "says. `assay show` names the file and what it does not tell.",
                       imported->program ? imported->program : "another program",
                       imported->program_version ? " " : "",
                       imported->program_version ? imported->program_version : "");
    append_own_judgement(&words, cell);
    return text_steal(&words);
}

int view_fits_in_cache(const struct view_cell *cell, struct view_count *ret_cache)
{
    struct view_count cache = {false, 0};
    const json_t *said = NULL;

    for (size_t i = 0; i < cell->trial_count && !said; ++i) {
        const json_t *facts = cell->trials[i].facts;

        if (!cache.known)
            cache = view_json_count(facts, "last_level_cache_bytes");
        if (json_is_boolean(json_object_get(facts, "fits_in_cache")))
            said = json_object_get(facts, "fits_in_cache");
    }
    cache.known = cache.known && cache.value > 0;
    if (ret_cache)
        *ret_cache = cache;
    if (said)
        return json_is_true(said);
    if (!cache.known || !cell->working_set_bytes.known || cell->working_set_bytes.value <= 0)
        return -1;
    return cell->working_set_bytes.value <= cache.value;
}

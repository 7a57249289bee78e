#include "harness/cli/comparison_arms.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"
#include "reports/number.h"
#include "reports/view.h"

static void append_word(struct text *out, const char *word)
{
    text_append_printable(out, word ? word : "?", word ? strlen(word) : 1);
}

static json_t *number_or_null(bool known, double value)
{
    return known ? json_real(value) : json_null();
}

static json_t *result_json(const struct view_cell *cell)
{
    char buffer[VIEW_UNIT_SIZE];
    const char *base;
    const struct view_interval *headline = view_headline(cell, buffer, &base);

    if (!headline)
        return json_null();
    return json_pack("{s:f, s:o, s:o, s:s}", "value", headline->value, "lo",
                     number_or_null(headline->has_interval, headline->lo), "hi",
                     number_or_null(headline->has_interval, headline->hi), "unit",
                     base ? base : "ns");
}

static void append_result(struct text *out, const struct view_cell *cell)
{
    char buffer[VIEW_UNIT_SIZE], value[NUMBER_SIZE], spread[NUMBER_SIZE];
    const char *base;
    const struct view_interval *headline = view_headline(cell, buffer, &base);
    struct number_unit unit;

    if (!headline) {
        text_append_format(out, "no result (%s)", view_verdict_words(cell));
        return;
    }
    unit = base ? number_unit_rate(headline->value, base) : number_unit_duration(headline->value);
    text_append(out,
                number_format_unit_digits(headline->value, &unit, view_digits(headline), value));
    if (headline->has_interval)
        text_append_format(
            out, " %s",
            number_format_half_width(headline->value, headline->lo, headline->hi, spread));
}

static bool has_time(const struct view_cell *cell, int64_t trial)
{
    const json_t *estimate = json_object_get(cell->root, "estimate");
    const json_t *ids = json_object_get(estimate, "trial_ids");
    const json_t *medians = json_object_get(estimate, "trial_median_ns");
    const json_t *times = medians ? medians : json_object_get(estimate, "trial_mean_ns");
    json_t *id;
    size_t i;

    json_array_foreach(ids, i, id)
    {
        if (json_integer_value(id) == trial)
            return json_is_number(json_array_get(times, i));
    }
    return false;
}

/* Why a comparison has no time of this planned trial's last attempt; NULL: it has. */
static const char *why_left_out(const struct view_cell *cell, size_t i)
{
    const struct view_trial *trial = &cell->trials[i];

    if (i + 1 < cell->trial_count && cell->trials[i + 1].number == trial->number)
        return NULL; /* repeated by a resume */
    if (!trial->ok)
        return trial->status ? trial->status : "no end";
    if (has_time(cell, trial->id))
        return NULL;
    return trial->verdict ? trial->verdict : "no mean";
}

static json_t *left_out_json(const struct view_cell *cell)
{
    json_t *list = json_array();

    for (size_t i = 0; i < cell->trial_count; i++) {
        const char *why = why_left_out(cell, i);

        if (why)
            json_array_append_new(list, json_pack("{s:I, s:s}", "trial",
                                                  (json_int_t)cell->trials[i].number, "why", why));
    }
    return list;
}

void comparison_reason_append(struct text *out, const char *reason)
{
    if (view_verdict_known(reason)) {
        text_append(out, view_verdict_translate(reason));
        return;
    }
    for (const char *c = reason ? reason : "?"; *c; c++)
        text_append_printable(out, *c == '_' ? " " : c, 1);
}

void comparison_dropped_append(struct text *out, const char *dropped)
{
    while (*dropped) {
        const char *arm = strstr(dropped, ": "), *end;
        char *reason;

        if (arm && (arm[2] == 'a' || arm[2] == 'b') && arm[3] == ' ') {
            end = arm + 4 + strcspn(arm + 4, ";");
            reason = strndup(arm + 4, (size_t)(end - arm - 4));
            text_append_bytes(out, dropped, (size_t)(arm + 4 - dropped));
            comparison_reason_append(out, reason);
            free(reason);
        } else {
            end = arm ? arm + 2 : dropped + strlen(dropped);
            text_append_printable(out, dropped, (size_t)(end - dropped));
        }
        dropped = end;
    }
}

static void append_left_out(struct text *out, const struct view_cell *cell, size_t count)
{
    const char *before = "";

    if (count == 0 || !cell->planned.known)
        return;
    text_append_format(out, "; %lld of %lld trials count, without",
                       (long long)cell->planned.value - (long long)count,
                       (long long)cell->planned.value);
    for (size_t i = 0; i < cell->trial_count; i++) {
        const struct view_trial *trial = &cell->trials[i];
        const char *why = why_left_out(cell, i);

        if (!why)
            continue;
        text_append_format(out, "%s trial %lld (", before, (long long)trial->number);
        comparison_reason_append(out, why);
        text_append_char(out, ')');
        before = ",";
    }
}

static json_t *text_or_null(const char *text)
{
    json_t *string = text ? json_string(text) : NULL;

    return string ? string : json_null();
}

static enum status describe(const struct view_cell *cell, char **ret_words, json_t *list,
                            struct error *err)
{
    json_t *left_out = left_out_json(cell);
    struct text out;

    text_init(&out);
    append_word(&out, cell->workload);
    text_append_char(&out, ' ');
    append_word(&out, cell->precision);
    if (cell->batch.known && cell->batch.value != 1)
        text_append_format(&out, " batch %lld", (long long)cell->batch.value);
    if (cell->implementation && !strcmp(cell->implementation, "vendor"))
        text_append(&out, " by the vendor's library");
    if (view_is_emulated(cell))
        text_append(&out, ", emulated,");
    text_append(&out, " on ");
    append_word(&out, cell->device_spec);
    if (cell->device.name) {
        text_append(&out, " (");
        append_word(&out, cell->device.name);
        text_append(&out, cell->device.simulated ? ", simulated)" : ")");
    }
    text_append(&out, ": ");
    append_result(&out, cell);
    append_left_out(&out, cell, json_array_size(left_out));
    *ret_words = text_steal(&out);
    json_array_append_new(
        list,
        json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "id",
                  cell->result, "implementation", text_or_null(cell->implementation), "workload",
                  text_or_null(cell->workload), "precision", text_or_null(cell->precision), "batch",
                  cell->batch.known ? json_integer(cell->batch.value) : json_null(), "device_spec",
                  text_or_null(cell->device_spec), "device", text_or_null(cell->device.name),
                  "verdict", text_or_null(cell->estimate.verdict), "result", result_json(cell),
                  "planned", cell->planned.known ? json_integer(cell->planned.value) : json_null(),
                  "counted",
                  cell->planned.known
                      ? json_integer(cell->planned.value - (json_int_t)json_array_size(left_out))
                      : json_null(),
                  "left_out", left_out));
    return *ret_words ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, "no memory for a comparison");
}

enum status comparison_arms_load(struct store *store, const int64_t cells[2],
                                 struct comparison_arms *ret, struct error *err)
{
    struct comparison_arms arms = {.json = json_array()};
    struct view view;
    enum status status = view_load(store, cells, 2, VIEW_SUMMARY, &view, err);

    if (status == STATUS_OK) {
        for (size_t i = 0; i < 2 && i < view.cell_count && status == STATUS_OK; i++)
            status = describe(&view.cells[i], &arms.words[i], arms.json, err);
        view_finish(&view);
    }
    if (status != STATUS_OK) {
        comparison_arms_finish(&arms);
        return status;
    }
    *ret = arms;
    return STATUS_OK;
}

void comparison_arms_finish(struct comparison_arms *arms)
{
    for (int i = 0; i < 2; i++)
        free(arms->words[i]);
    json_decref(arms->json);
    memset(arms, 0, sizeof(*arms));
}

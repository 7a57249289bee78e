#include "harness/cli/campaign_comparison.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cli/command.h"
#include "harness/cli/comparison_view.h"
#include "harness/cli/output.h"
#include "harness/core/number.h"
#include "protocols/comparability.h"

/* Of the family's screening: the share of false ones among those that are named. */
#define SCREEN 0.05

static enum status rows_of(struct store *store, const char *campaign, json_t **ret,
                           struct error *err)
{
    struct store_filter filter = {0};
    enum status status = store_find_campaign(store, campaign, &filter.campaign, err);

    return status == STATUS_OK ? store_list_results(store, &filter, ret, err) : status;
}

bool campaign_comparison_wanted(struct store *store, const char *a, const char *b)
{
    json_t *rows[2] = {NULL, NULL};
    bool wanted;

    if (strchr(a, '/') || strchr(b, '/'))
        return false;
    wanted = rows_of(store, a, &rows[0], NULL) == STATUS_OK &&
             rows_of(store, b, &rows[1], NULL) == STATUS_OK &&
             (json_array_size(rows[0]) > 1 || json_array_size(rows[1]) > 1);
    json_decref(rows[0]);
    json_decref(rows[1]);
    return wanted;
}

static bool has_several_devices(const json_t *rows)
{
    const json_t *first = json_object_get(json_array_get(rows, 0), "device_spec");
    json_t *row;
    size_t i;

    json_array_foreach((json_t *)rows, i, row)
    {
        if (!json_equal(json_object_get(row, "device_spec"), first))
            return true;
    }
    return false;
}

static bool matches(const json_t *a, const json_t *b, bool device)
{
    static const char *const keys[] = {"workload",       "precision", "batch",    "scenario",
                                       "implementation", "arm",       "protocol", "device_spec"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) - !device; i++)
        if (!json_equal(json_object_get(a, keys[i]), json_object_get(b, keys[i])))
            return false;
    return true;
}

static char *name_of(const json_t *row)
{
    struct text name;
    const char *workload = json_string_value(json_object_get(row, "workload"));
    const char *precision = json_string_value(json_object_get(row, "precision"));

    text_init(&name);
    text_append_printable(&name, workload ? workload : "?", workload ? strlen(workload) : 1);
    text_append_format(&name, " %s", precision ? precision : "?");
    text_append_format(&name, " batch %lld",
                       (long long)json_integer_value(json_object_get(row, "batch")));
    return text_ok(&name) ? name.data : NULL;
}

/* Judges those that have numbers together. */
static enum status judge(struct campaign_comparison *c, struct error *err)
{
    struct comparison *numbers = calloc(c->count + 1, sizeof(*numbers));
    size_t count = 0, at = 0;
    enum status status;

    if (!numbers)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %zu comparisons", c->count);
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i].has_numbers)
            numbers[count++] = c->list[i].numbers;
    status = comparison_family(numbers, count, err);
    for (size_t i = 0; i < c->count && status == STATUS_OK; i++)
        if (c->list[i].has_numbers)
            c->list[i].numbers = numbers[at++];
    free(numbers);
    return status;
}

static enum status add(struct store *store, const json_t *a, const json_t *b,
                       struct campaign_comparison *c, struct error *err)
{
    struct stored_comparison *made = &c->list[c->count];
    enum status status =
        stored_comparison_make(store, json_string_value(json_object_get(a, "id")),
                               json_string_value(json_object_get(b, "id")), &c->options, made, err);

    if (status != STATUS_OK)
        return status;
    memcpy(made->family[0], c->a, sizeof(c->a));
    memcpy(made->family[1], c->b, sizeof(c->b));
    c->names[c->count++] = name_of(a);
    return c->names[c->count - 1] ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, "out of memory");
}

static enum status pair_up(struct store *store, const json_t *rows[2],
                           struct campaign_comparison *c, struct error *err)
{
    const bool device = has_several_devices(rows[0]) || has_several_devices(rows[1]);
    const size_t others = json_array_size(rows[1]);
    bool *taken = calloc(others + 1, sizeof(*taken));
    enum status status =
        taken ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, "no memory for %zu cells", others);

    for (size_t i = 0; i < json_array_size(rows[0]) && status == STATUS_OK; i++) {
        const json_t *a = json_array_get(rows[0], i);
        size_t k = 0;

        while (k < others && (taken[k] || !matches(a, json_array_get(rows[1], k), device)))
            k++;
        if (k == others) {
            json_array_append(c->only[0], json_object_get(a, "id"));
            continue;
        }
        taken[k] = true;
        status = add(store, a, json_array_get(rows[1], k), c, err);
    }
    for (size_t k = 0; k < others && status == STATUS_OK; k++)
        if (!taken[k])
            json_array_append(c->only[1], json_object_get(json_array_get(rows[1], k), "id"));
    free(taken);
    return status;
}

enum status campaign_comparison_make(struct store *store, const char *a, const char *b,
                                     const struct compare_options *options,
                                     struct campaign_comparison *ret, struct error *err)
{
    struct campaign_comparison c = {.options = *options, .only = {json_array(), json_array()}};
    json_t *rows[2] = {NULL, NULL};
    enum status status = rows_of(store, a, &rows[0], err);

    if (status == STATUS_OK)
        status = rows_of(store, b, &rows[1], err);
    if (status == STATUS_OK && json_equal(rows[0], rows[1]))
        status = error_set(err, STATUS_INVALID, "%s and %s are one and the same campaign: name two",
                           a, b);
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        const char *id = json_string_value(json_object_get(json_array_get(rows[i], 0), "id"));

        snprintf(i ? c.b : c.a, sizeof(c.a), "%.8s", id ? id : "?");
    }
    if (status == STATUS_OK) {
        c.list = calloc(json_array_size(rows[0]) + 1, sizeof(*c.list));
        c.names = calloc(json_array_size(rows[0]) + 1, sizeof(*c.names));
        status = c.list && c.names
                     ? pair_up(store, (const json_t *[]){rows[0], rows[1]}, &c, err)
                     : error_set(err, STATUS_NO_MEMORY, "no memory for the comparisons");
    }
    if (status == STATUS_OK && c.count == 0)
        status = error_set(err, STATUS_INVALID,
                           "no result of %s has the workload, precision, batch and protocol of one "
                           "of %s",
                           a, b);
    if (status == STATUS_OK)
        status = judge(&c, err);
    json_decref(rows[0]);
    json_decref(rows[1]);
    if (status != STATUS_OK) {
        campaign_comparison_finish(&c);
        return status;
    }
    *ret = c;
    return STATUS_OK;
}

void campaign_comparison_finish(struct campaign_comparison *c)
{
    for (size_t i = 0; i < c->count; i++) {
        stored_comparison_finish(&c->list[i]);
        free(c->names[i]);
    }
    free(c->list);
    free(c->names);
    json_decref(c->only[0]);
    json_decref(c->only[1]);
    memset(c, 0, sizeof(*c));
}

const struct stored_comparison *campaign_comparison_find(const struct campaign_comparison *c,
                                                         const char *a, const char *b)
{
    for (size_t i = 0; i < c->count; i++)
        if (!strcmp(c->list[i].a, a) && !strcmp(c->list[i].b, b))
            return &c->list[i];
    return NULL;
}

enum gate_decision campaign_comparison_decide(const struct campaign_comparison *c)
{
    enum gate_decision decision = GATE_PASSES;

    for (size_t i = 0; i < c->count; i++) {
        const enum gate_decision one = gate_decide(&c->list[i]);

        if (one == GATE_NOT_COMPARABLE)
            return one;
        if (one == GATE_WORSE)
            decision = one;
        else if (one == GATE_INCONCLUSIVE && decision == GATE_PASSES)
            decision = one;
    }
    return decision;
}

json_t *campaign_comparison_json(const struct campaign_comparison *c, bool gated)
{
    json_t *list = json_array();

    for (size_t i = 0; i < c->count; i++)
        json_array_append_new(list, gated ? gate_json(&c->list[i], c->options.margin)
                                          : stored_comparison_json(&c->list[i]));
    return json_pack("{s:s, s:s, s:o*, s:o, s:O, s:O}", "a", c->a, "b", c->b, "decision",
                     gated ? json_string(gate_decision_name(campaign_comparison_decide(c))) : NULL,
                     "comparisons", list, "only_in_a", c->only[0], "only_in_b", c->only[1]);
}

static void append_row(struct text *out, const struct campaign_comparison *c, size_t i,
                       int name_width)
{
    const struct stored_comparison *one = &c->list[i];
    const struct estimate_interval *ratio = &one->numbers.ratio;
    char value[NUMBER_SIZE], lo[NUMBER_SIZE], hi[NUMBER_SIZE], interval[3 * NUMBER_SIZE] = "";

    text_append_format(out, "%2zu  %s%*s  ", i + 1, c->names[i],
                       name_width - (int)text_columns(c->names[i]), "");
    if (!one->has_numbers) {
        text_append_format(out, "%s\n", one->why.message);
        return;
    }
    if (ratio->has_interval)
        snprintf(interval, sizeof(interval), "[%s, %s]", number_format_digits(ratio->lo, 4, lo),
                 number_format_digits(ratio->hi, 4, hi));
    text_append_format(out, "%6s %-17s  %s", number_format_digits(ratio->value, 4, value), interval,
                       compare_verdict_name(one->numbers.verdict));
    if (one->numbers.family > 1)
        text_append_format(out, ", p %.2g",
                           one->numbers.verdict == COMPARE_EQUIVALENT
                               ? one->numbers.p_equivalence_family
                               : one->numbers.p_difference_family);
    text_append_char(out, '\n');
}

static void append_only(struct text *out, const char *id, const json_t *only)
{
    if (json_array_size(only) > 0)
        text_append_format(out, "%zu result%s of %s ha%s no match\n", json_array_size(only),
                           json_array_size(only) == 1 ? "" : "s", id,
                           json_array_size(only) == 1 ? "s" : "ve");
}

void campaign_comparison_append(struct text *out, const struct campaign_comparison *c)
{
    struct text words;
    size_t screened = 0, family = 0;
    double confidence = c->options.confidence;
    int width = 8;

    for (size_t i = 0; i < c->count; i++)
        if ((int)text_columns(c->names[i]) > width)
            width = (int)text_columns(c->names[i]);
    text_append_format(out, "a %s   b %s\n\n #  %-*s  time b/a\n", c->a, c->b, width, "result");
    for (size_t i = 0; i < c->count; i++)
        append_row(out, c, i, width);
    text_append_char(out, '\n');
    append_only(out, c->a, c->only[0]);
    append_only(out, c->b, c->only[1]);
    text_init(&words);
    for (size_t i = 0; i < c->count; i++) {
        if (!c->list[i].has_numbers)
            continue;
        family = c->list[i].numbers.family;
        if (c->list[i].numbers.q_difference <= SCREEN)
            text_append_format(&words, "%s%zu", screened++ ? ", " : "", i + 1);
    }
    if (family > 1) {
        text_append_format(out,
                           "Intervals are each result's own, at %g %%. Verdicts and p hold for all "
                           "%zu together (Holm): a false difference among them has a chance of at "
                           "most %g %%.\n",
                           confidence * 100, family, (1 - confidence) * 100);
        if (screened > 0 && text_ok(&words))
            text_append_format(out,
                               "Screening (Benjamini-Hochberg; %g %% of these by chance) finds "
                               "a difference in: %s.\n",
                               SCREEN * 100, words.data);
    }
    text_finish(&words);
}

int campaign_comparison_exit_status(const struct campaign_comparison *c)
{
    int worst = ASSAY_EXIT_OK;

    for (size_t i = 0; i < c->count; i++) {
        const struct stored_comparison *one = &c->list[i];
        const int status =
            comparison_exit_status(one->judgement, one->has_numbers ? &one->numbers : NULL);

        if (status == ASSAY_EXIT_USAGE)
            return status;
        if (status == ASSAY_EXIT_TRIALS || (status != ASSAY_EXIT_OK && worst == ASSAY_EXIT_OK))
            worst = status;
    }
    return worst;
}

enum status campaign_comparison_record(struct store *store, const char *kind,
                                       const struct campaign_comparison *c, struct error *err)
{
    const bool gated = !strcmp(kind, "gate");
    enum status status = STATUS_OK;

    for (size_t i = 0; i < c->count && status == STATUS_OK; i++) {
        const struct stored_comparison *one = &c->list[i];
        json_t *object = gated ? gate_json(one, c->options.margin) : stored_comparison_json(one);

        status = stored_comparison_record(
            store, kind, gated ? gate_decision_name(gate_decide(one)) : NULL, one, object, err);
        json_decref(object);
    }
    return status;
}

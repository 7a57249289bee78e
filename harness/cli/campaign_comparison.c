#include "harness/cli/campaign_comparison.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cli/command.h"
#include "harness/cli/comparison_view.h"
#include "harness/cli/output.h"
#include "harness/core/number.h"
#include "protocols/comparability.h"
#include "results/analysis/pairs.h"

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
    int64_t campaign;
    size_t arms = 0;
    bool wanted;

    if (!b)
        return store_find_campaign(store, a, &campaign, NULL) == STATUS_OK &&
               pairs_count(store, campaign, &arms, NULL) == STATUS_OK && arms > 1;
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

static json_t *family_of(const struct campaign_comparison *c)
{
    const json_int_t size = (json_int_t)c->count;

    return c->b[0] ? json_pack("{s:s, s:s, s:I, s:f}", "a", c->a, "b", c->b, "size", size, "margin",
                               c->options.margin)
                   : json_pack("{s:s, s:I, s:f}", "campaign", c->a, "size", size, "margin",
                               c->options.margin);
}

/* Judges all together; what has no numbers shows nothing, and counts all the same. */
static enum status judge(struct campaign_comparison *c, struct error *err)
{
    struct comparison *numbers = calloc(c->count + 1, sizeof(*numbers));
    enum status status;

    if (!numbers)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %zu comparisons", c->count);
    for (size_t i = 0; i < c->count; i++)
        numbers[i] =
            c->list[i].has_numbers
                ? c->list[i].numbers
                : (struct comparison){.p_difference = NAN, .p_equivalence = NAN, .p_worse = NAN};
    status = comparison_family(numbers, c->count, err);
    for (size_t i = 0; i < c->count && status == STATUS_OK; i++)
        if (c->list[i].has_numbers)
            c->list[i].numbers = numbers[i];
    free(numbers);
    for (size_t i = 0; i < c->count && status == STATUS_OK; i++) {
        c->list[i].family_of = family_of(c);
        if (!c->list[i].family_of)
            status = error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
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

static enum status make_room(size_t count, struct campaign_comparison *c, struct error *err)
{
    c->list = calloc(count + 1, sizeof(*c->list));
    c->names = calloc(count + 1, sizeof(*c->names));
    return c->list && c->names
               ? STATUS_OK
               : error_set(err, STATUS_NO_MEMORY, "no memory for %zu comparisons", count);
}

/* The name of both arms where it is one, else both. */
static char *name_of_arms(const json_t *a, const json_t *b)
{
    char *names[] = {name_of(a), name_of(b)}, *name = NULL;

    if (names[0] && names[1])
        name = strcmp(names[0], names[1]) ? text_format("%s, b: %s", names[0], names[1])
                                          : strdup(names[0]);
    free(names[0]);
    free(names[1]);
    return name;
}

/* Each comparison that the plan of the arms declares. */
static enum status add_arms(struct store *store, const char *id, struct campaign_comparison *c,
                            struct error *err)
{
    json_t *record = NULL;
    const json_t *cells;
    int64_t campaign;
    size_t count = 0;
    enum status status = store_find_campaign(store, id, &campaign, err);

    if (status == STATUS_OK)
        status = pairs_count(store, campaign, &count, err);
    if (status == STATUS_OK)
        status = store_campaign_json(store, campaign, &record, err);
    if (status == STATUS_OK)
        status = make_room(count, c, err);
    if (status == STATUS_OK)
        snprintf(c->a, sizeof(c->a), "%.8s", json_string_value(json_object_get(record, "id")));
    cells = json_object_get(record, "cells");
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        status = stored_comparison_of_pairs(store, campaign, i, &c->options, &c->list[i], err);
        if (status != STATUS_OK)
            break;
        c->names[c->count++] =
            name_of_arms(json_array_get(cells, 2 * i), json_array_get(cells, 2 * i + 1));
        if (!c->names[i])
            status = error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    json_decref(record);
    return status;
}

static enum status add_campaigns(struct store *store, const char *a, const char *b,
                                 struct campaign_comparison *c, struct error *err)
{
    json_t *rows[2] = {NULL, NULL};
    enum status status = rows_of(store, a, &rows[0], err);

    if (status == STATUS_OK)
        status = rows_of(store, b, &rows[1], err);
    if (status == STATUS_OK && json_equal(rows[0], rows[1]))
        status = error_set(err, STATUS_INVALID, "%s and %s are one and the same campaign: name two",
                           a, b);
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        const char *id = json_string_value(json_object_get(json_array_get(rows[i], 0), "id"));

        snprintf(i ? c->b : c->a, sizeof(c->a), "%.8s", id ? id : "?");
    }
    if (status == STATUS_OK)
        status = make_room(json_array_size(rows[0]), c, err);
    if (status == STATUS_OK)
        status = pair_up(store, (const json_t *[]){rows[0], rows[1]}, c, err);
    if (status == STATUS_OK && c->count == 0)
        status = error_set(err, STATUS_INVALID,
                           "no result of %s has the workload, precision, batch and protocol of one "
                           "of %s",
                           a, b);
    json_decref(rows[0]);
    json_decref(rows[1]);
    return status;
}

enum status campaign_comparison_make(struct store *store, const char *a, const char *b,
                                     const struct compare_options *options,
                                     struct campaign_comparison *ret, struct error *err)
{
    struct campaign_comparison c = {.options = *options, .only = {json_array(), json_array()}};
    enum status status = b ? add_campaigns(store, a, b, &c, err) : add_arms(store, a, &c, err);

    if (status == STATUS_OK)
        status = judge(&c, err);
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

void campaign_comparison_allow_foreign_worker(struct campaign_comparison *c)
{
    for (size_t i = 0; i < c->count; i++)
        c->list[i].allows_foreign_worker = true;
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
        if (one == GATE_FOREIGN_WORKER || decision == GATE_FOREIGN_WORKER)
            decision = GATE_FOREIGN_WORKER;
        else if (one == GATE_WORSE)
            decision = one;
        else if (one == GATE_INCONCLUSIVE && decision == GATE_PASSES)
            decision = one;
    }
    return decision;
}

static json_t *to_json(const struct campaign_comparison *c, bool gated)
{
    json_t *list = json_array(), *object;

    for (size_t i = 0; i < c->count; i++)
        json_array_append_new(list, gated ? gate_json(&c->list[i], c->options.margin)
                                          : stored_comparison_json(&c->list[i]));
    object = c->b[0] ? json_pack("{s:s, s:s, s:O, s:O}", "a", c->a, "b", c->b, "only_in_a",
                                 c->only[0], "only_in_b", c->only[1])
                     : json_pack("{s:s}", "campaign", c->a);
    json_object_set_new(object, "family", json_integer((json_int_t)c->count));
    json_object_set_new(object, "comparisons", list);
    if (gated)
        json_object_set_new(object, "decision",
                            json_string(gate_decision_name(campaign_comparison_decide(c))));
    return object;
}

/* What is to be said of each alike, such as a setting without effect; else NULL. */
static const char *common_note(const struct campaign_comparison *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (!c->list[i].note || strcmp(c->list[i].note, c->list[0].note))
            return NULL;
    return c->list[0].note;
}

static void append_note(struct text *out, const struct campaign_comparison *c,
                        const struct stored_comparison *one)
{
    if (one->note && !common_note(c))
        text_append_format(out, "    %s\n", one->note);
}

static void append_row(struct text *out, const struct campaign_comparison *c, size_t i,
                       int name_width)
{
    const struct stored_comparison *one = &c->list[i];
    const struct comparison *numbers = &one->numbers;
    const struct estimate_interval *ratio = &numbers->ratio;
    char value[NUMBER_SIZE], lo[NUMBER_SIZE], hi[NUMBER_SIZE], interval[3 * NUMBER_SIZE] = "";

    text_append_format(out, "%2zu  %s%*s  ", i + 1, c->names[i],
                       name_width - (int)text_columns(c->names[i]), "");
    if (!one->has_numbers) {
        text_append_format(out, "%s\n", one->why.message);
        append_note(out, c, one);
        return;
    }
    if (ratio->has_interval)
        snprintf(interval, sizeof(interval), "[%s, %s]", number_format_digits(ratio->lo, 4, lo),
                 number_format_digits(ratio->hi, 4, hi));
    text_append_format(out, "%6s %-17s  %s", number_format_digits(ratio->value, 4, value), interval,
                       compare_verdict_name(numbers->verdict));
    if (numbers->family > 1) {
        text_append(out, ", ");
        comparison_view_append_p(out, numbers);
    }
    text_append_char(out, '\n');
    append_note(out, c, one);
}

static void append_only(struct text *out, const char *id, const json_t *only)
{
    if (json_array_size(only) > 0)
        text_append_format(out, "%zu result%s of %s ha%s no match\n", json_array_size(only),
                           json_array_size(only) == 1 ? "" : "s", id,
                           json_array_size(only) == 1 ? "s" : "ve");
}

static void append_foreign_workers(struct text *out, const struct campaign_comparison *c)
{
    size_t count = 0;

    for (size_t i = 0; i < c->count; i++)
        count += comparability_foreign_worker(c->list[i].judgement) != NULL;
    if (count > 0)
        text_append_format(out,
                           "Of %zu of the %zu comparisons another program than assay's own worker "
                           "measured a result\n",
                           count, c->count);
}

/* What all differences are attributed to, where that is one and the same. */
static void append_attribution(struct text *out, const struct campaign_comparison *c)
{
    const json_t *first = json_object_get(c->list[0].judgement, "attribution");

    for (size_t i = 1; i < c->count; i++)
        if (!json_equal(json_object_get(c->list[i].judgement, "attribution"), first))
            return;
    if (!json_is_string(first))
        return;
    text_append(out, "Attributed to: ");
    text_append_printable(out, json_string_value(first), json_string_length(first));
    text_append_char(out, '\n');
}

static void append_table(struct text *out, const struct campaign_comparison *c)
{
    struct text words;
    size_t screened = 0, without = 0;
    double confidence = c->options.confidence;
    int width = 8;

    for (size_t i = 0; i < c->count; i++)
        if ((int)text_columns(c->names[i]) > width)
            width = (int)text_columns(c->names[i]);
    if (c->b[0])
        text_append_format(out, "a %s   b %s\n", c->a, c->b);
    else
        text_append_format(out, "Arms a and b of %s\n", c->a);
    text_append_format(out, "\n #  %-*s  time b/a\n", width, "result");
    for (size_t i = 0; i < c->count; i++)
        append_row(out, c, i, width);
    text_append_char(out, '\n');
    append_only(out, c->a, c->only[0]);
    append_only(out, c->b, c->only[1]);
    append_foreign_workers(out, c);
    append_attribution(out, c);
    if (common_note(c))
        text_append_format(out, "%s\n", common_note(c));
    text_init(&words);
    for (size_t i = 0; i < c->count; i++) {
        without += !c->list[i].has_numbers;
        if (c->list[i].has_numbers && c->list[i].numbers.q_difference <= SCREEN)
            text_append_format(&words, "%s%zu", screened++ ? ", " : "", i + 1);
    }
    if (c->count > 1) {
        text_append_format(out,
                           "Intervals are each result's own, at %g %%. Verdicts and p hold for all "
                           "%zu together (Holm): a false difference among them has a chance of at "
                           "most %g %%.\n",
                           confidence * 100, c->count, (1 - confidence) * 100);
        if (without > 0)
            text_append_format(out, "Those without numbers (%zu) count in this, with p = 1.\n",
                               without);
        if (screened > 0 && text_ok(&words))
            text_append_format(out,
                               "Screening (Benjamini-Hochberg; %g %% of these by chance) finds "
                               "a difference in: %s.\n",
                               SCREEN * 100, words.data);
    }
    text_finish(&words);
}

int campaign_comparison_show(struct store *store, struct campaign_comparison *c, bool gated,
                             bool json, bool explain)
{
    struct error err = ERROR_INIT;
    struct text out;

    if (json)
        return output_json(to_json(c, gated));
    text_init(&out);
    append_table(&out, c);
    for (size_t i = 0; explain && i < c->count; i++) {
        if (stored_comparison_load_arms(store, &c->list[i], &err) != STATUS_OK) {
            text_finish(&out);
            return command_fail_store(&err);
        }
        text_append_format(&out, "\n%zu  %s\n", i + 1, c->names[i]);
        stored_comparison_append(&out, &c->list[i], true);
    }
    return output_lines(&out);
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

enum status campaign_comparison_record(struct store *store, bool gated,
                                       const struct campaign_comparison *c, struct error *err)
{
    const char *kind = gated ? "gate" : c->b[0] ? "compare" : "ab";
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

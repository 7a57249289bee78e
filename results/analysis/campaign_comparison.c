#include "results/analysis/campaign_comparison.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "protocols/condition.h"
#include "protocols/serving/declared.h"
#include "results/analysis/judgement.h"

static enum status rows_of(struct store *store, const char *campaign, json_t **ret,
                           struct error *err)
{
    struct store_filter filter = {0};

    TRY(store_find_campaign(store, campaign, &filter.campaign, err));
    return store_list_results(store, &filter, ret, err);
}

/*
 * True where both words name campaigns of which one at least has several cells; `b` NULL: where `a`
 * is a campaign of `assay ab` of several comparisons.
 */
static bool is_family(struct store *store, const char *a, const char *b)
{
    json_auto_t *first = NULL, *second = NULL;
    int64_t campaign;
    size_t arms = 0;

    if (!b)
        return store_find_campaign(store, a, &campaign, NULL) == STATUS_OK &&
               pairs_count(store, campaign, &arms, NULL) == STATUS_OK && arms > 1;
    if (strchr(a, '/') || strchr(b, '/'))
        return false;
    return rows_of(store, a, &first, NULL) == STATUS_OK &&
           rows_of(store, b, &second, NULL) == STATUS_OK &&
           (json_array_size(first) > 1 || json_array_size(second) > 1);
}

static bool has_several_devices(const json_t *rows)
{
    const json_t *first = json_object_get(json_array_get(rows, 0), "device_spec");

    EACH(row, rows)
        if (!json_equal(json_object_get(row, "device_spec"), first))
            return true;
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

static bool is_served(const json_t *row)
{
    double rate;

    return serving_rate_of(member_string(row, "scenario"), &rate) && isfinite(rate);
}

static char *name_of(const json_t *row, enum compare_figure figure)
{
    struct text name = TEXT_INIT;
    double rate;
    const char *workload = member_string(row, "workload");
    const char *precision = member_string(row, "precision");

    text_append_printable(&name, workload ? workload : "?", workload ? strlen(workload) : 1);
    text_append_format(&name, " %s", precision ? precision : "?");
    text_append_format(&name, " batch %lld",
                       (long long)json_integer_value(json_object_get(row, "batch")));
    if (figure != COMPARE_CAPACITY && serving_rate_of(member_string(row, "scenario"), &rate))
        text_append_format(&name, ", %.15g%s", fabs(rate), rate < 0 ? " of its capacity" : "/s");
    return text_ok(&name) ? name.data : NULL;
}

static json_t *family_of(const struct campaign_comparison *c)
{
    const json_int_t size = (json_int_t)c->count;
    json_t *of = c->b[0] ? json_pack("{s:s, s:s, s:I, s:f}", "a", c->a, "b", c->b, "size", size,
                                     "margin", c->options.margin)
                         : json_pack("{s:s, s:I, s:f}", "campaign", c->a, "size", size, "margin",
                                     c->options.margin);

    if (c->options.figure != COMPARE_TIME)
        json_object_set_new(of, "by", json_string(compare_figure_name(c->options.figure)));
    return of;
}

/* One comparison of a server's capacity is left, which is over all of its rates. */
static void leave_servers(struct campaign_comparison *c)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->count; i++) {
        bool known = false;

        for (size_t k = 0; k < kept && c->list[i].servers[0]; k++)
            known |= !memcmp(c->list[k].servers, c->list[i].servers, sizeof(c->list[k].servers));
        if (known) {
            stored_comparison_finish(&c->list[i]);
            free(c->names[i]);
            continue;
        }
        c->names[kept] = c->names[i];
        c->list[kept++] = c->list[i];
    }
    c->count = kept;
}

static enum status judge_served(struct campaign_comparison *c, struct error *err)
{
    AUTO_FREE struct served_change **changes = calloc(c->count + 1, sizeof(struct served_change *));

    if (!changes)
        return error_no_memory(err);
    for (size_t i = 0; i < c->count; i++)
        changes[i] =
            c->list[i].has_numbers && c->list[i].figure != COMPARE_TIME ? &c->list[i].change : NULL;
    return served_change_family(changes, c->count, err);
}

static bool has_time(const struct stored_comparison *one)
{
    return one->has_numbers && one->figure == COMPARE_TIME;
}

static enum status judge_times(struct campaign_comparison *c, struct error *err)
{
    AUTO_FREE struct comparison *numbers = calloc(c->count + 1, sizeof(*numbers));

    if (!numbers)
        return error_no_memory(err);
    for (size_t i = 0; i < c->count; i++)
        numbers[i] =
            has_time(&c->list[i])
                ? c->list[i].numbers
                : (struct comparison){.p_difference = NAN, .p_equivalence = NAN, .p_worse = NAN};
    TRY(comparison_family(numbers, c->count, err));
    for (size_t i = 0; i < c->count; i++)
        if (has_time(&c->list[i]))
            c->list[i].numbers = numbers[i];
    return STATUS_OK;
}

/*
 * Judges all together; what has no numbers shows nothing, and counts all the same. So does, in the
 * family of times, what is compared by another figure, and the other way round.
 */
static enum status judge(struct campaign_comparison *c, struct error *err)
{
    if (c->options.figure == COMPARE_CAPACITY)
        leave_servers(c);
    TRY(judge_times(c, err));
    TRY(judge_served(c, err));
    for (size_t i = 0; i < c->count; i++) {
        c->list[i].family_of = family_of(c);
        if (!c->list[i].family_of)
            return error_no_memory(err);
    }
    return STATUS_OK;
}

static enum status add(struct store *store, const json_t *a, const json_t *b,
                       struct campaign_comparison *c, struct error *err)
{
    struct stored_comparison *made = &c->list[c->count];

    TRY(stored_comparison_make(store, member_string(a, "id"), member_string(b, "id"), &c->options,
                               made, err));
    c->names[c->count++] = name_of(a, c->options.figure);
    return c->names[c->count - 1] ? STATUS_OK : error_no_memory(err);
}

static enum status pair_up(struct store *store, const json_t *rows[2],
                           struct campaign_comparison *c, struct error *err)
{
    const bool device = has_several_devices(rows[0]) || has_several_devices(rows[1]);
    const size_t others = json_array_size(rows[1]);
    AUTO_FREE bool *taken = calloc(others + 1, sizeof(*taken));

    if (!taken)
        return error_no_memory(err);
    for (size_t i = 0; i < json_array_size(rows[0]); i++) {
        const json_t *a = json_array_get(rows[0], i);
        size_t k = 0;

        if (c->options.figure != COMPARE_TIME && !is_served(a))
            continue;
        while (k < others && (taken[k] || !matches(a, json_array_get(rows[1], k), device)))
            k++;
        if (k == others) {
            json_array_append(c->only[0], json_object_get(a, "id"));
            continue;
        }
        taken[k] = true;
        TRY(add(store, a, json_array_get(rows[1], k), c, err));
    }
    for (size_t k = 0; k < others; k++)
        if (!taken[k] &&
            (c->options.figure == COMPARE_TIME || is_served(json_array_get(rows[1], k))))
            json_array_append(c->only[1], json_object_get(json_array_get(rows[1], k), "id"));
    return STATUS_OK;
}

static enum status make_room(size_t count, struct campaign_comparison *c, struct error *err)
{
    c->list = calloc(count + 1, sizeof(*c->list));
    c->names = calloc(count + 1, sizeof(*c->names));
    return c->list && c->names ? STATUS_OK : error_no_memory(err);
}

/* The name of both arms where it is one, else both, and what a plan of several calls b's arm. */
static char *name_of_arms(const json_t *cells, const json_t *planned, const size_t places[2],
                          enum compare_figure figure)
{
    AUTO_FREE char *a = name_of(json_array_get(cells, places[0]), figure),
                   *b = name_of(json_array_get(cells, places[1]), figure);
    const char *arm =
        member_string(json_object_get(json_array_get(planned, places[1]), "spec"), "name");

    if (!a || !b)
        return NULL;
    return text_format("%s%s%s%s%s", a, strcmp(a, b) ? ", b: " : "", strcmp(a, b) ? b : "",
                       arm ? ", " : "", arm ? arm : "");
}

/* Each comparison that the plan of the arms declares. */
static enum status add_arms(struct store *store, const char *id, struct campaign_comparison *c,
                            struct error *err)
{
    json_auto_t *record = NULL;
    const json_t *cells;
    int64_t campaign;
    size_t count = 0;

    TRY(store_find_campaign(store, id, &campaign, err));
    TRY(pairs_count(store, campaign, &count, err));
    TRY(store_campaign_json(store, campaign, &record, err));
    TRY(make_room(count, c, err));
    snprintf(c->a, sizeof(c->a), "%.8s", member_string(record, "id"));
    cells = json_object_get(record, "cells");
    for (size_t i = 0; i < count; i++) {
        TRY(stored_comparison_of_pairs(store, campaign, i, &c->options, &c->list[i], err));
        c->names[c->count++] =
            name_of_arms(cells, json_object_get(json_object_get(record, "plan"), "cells"),
                         c->list[i].pairs.places, c->options.figure);
        if (!c->names[i])
            return error_no_memory(err);
    }
    return STATUS_OK;
}

static enum status add_campaigns(struct store *store, const char *a, const char *b,
                                 struct campaign_comparison *c, struct error *err)
{
    json_auto_t *first = NULL, *second = NULL;
    const char *id;

    TRY(rows_of(store, a, &first, err));
    TRY(rows_of(store, b, &second, err));
    if (json_equal(first, second))
        return error_set(err, STATUS_INVALID, "%s and %s are one and the same campaign: name two",
                         a, b);
    id = member_string(json_array_get(first, 0), "id");
    snprintf(c->a, sizeof(c->a), "%.8s", id ? id : "?");
    id = member_string(json_array_get(second, 0), "id");
    snprintf(c->b, sizeof(c->b), "%.8s", id ? id : "?");
    TRY(make_room(json_array_size(first), c, err));
    TRY(pair_up(store, (const json_t *[]){first, second}, c, err));
    if (c->count == 0)
        return error_set(err, STATUS_INVALID,
                         "no %sresult of %s has the workload, precision, batch and protocol of one "
                         "of %s",
                         c->options.figure == COMPARE_TIME ? "" : "server's ", a, b);
    return STATUS_OK;
}

/* Two results, or a campaign of two arms and one comparison: they are no family. */
static enum status add_single(struct store *store, const char *a, const char *b,
                              struct campaign_comparison *c, struct error *err)
{
    struct store_filter filter = {0};
    json_auto_t *rows = NULL;

    TRY(make_room(1, c, err));
    TRY(stored_comparison_make(store, a, b, &c->options, c->list, err));
    c->is_single = true;
    c->count = 1;
    snprintf(c->a, sizeof(c->a), "%.15s", c->list->a);
    snprintf(c->b, sizeof(c->b), "%.15s", c->list->b);
    filter.cell = c->list->cells[1];
    TRY(store_list_results(store, &filter, &rows, err));
    c->names[0] = name_of(json_array_get(rows, 0), c->options.figure);
    return c->names[0] ? STATUS_OK : error_no_memory(err);
}

enum status campaign_comparison_of(struct store *store, const char *a, const char *b,
                                   const struct compare_options *options,
                                   struct campaign_comparison *ret, struct error *err)
{
    struct campaign_comparison c = {.options = *options};
    enum status status;

    if (is_family(store, a, b))
        return campaign_comparison_make(store, a, b, options, ret, err);
    status = add_single(store, a, b, &c, err);
    if (status == STATUS_OK)
        *ret = c;
    else
        campaign_comparison_finish(&c);
    return status;
}

enum status campaign_comparison_make(struct store *store, const char *a, const char *b,
                                     const struct compare_options *options,
                                     struct campaign_comparison *ret, struct error *err)
{
    CLEANUP(campaign_comparison_finish)
    struct campaign_comparison c = {.options = *options, .only = {json_array(), json_array()}};

    TRY(b ? add_campaigns(store, a, b, &c, err) : add_arms(store, a, &c, err));
    TRY(judge(&c, err));
    *ret = c;
    c = (struct campaign_comparison){.count = 0};
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

void campaign_comparison_allow_under(struct campaign_comparison *c, json_t *conditions)
{
    for (size_t i = 0; i < c->count; i++)
        c->list[i].under = json_incref(conditions);
}

enum compare_figure campaign_comparison_figure(const struct campaign_comparison *c)
{
    for (size_t i = 1; i < c->count; i++)
        if (c->list[i].figure != c->list[0].figure)
            return COMPARE_FIGURE_COUNT;
    return c->count > 0 ? c->list[0].figure : c->options.figure;
}

/* The comparison of these two cells, or NULL. */
static const struct stored_comparison *campaign_comparison_find(const struct campaign_comparison *c,
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

json_t *campaign_comparison_bodies(const struct campaign_comparison *c, bool gated)
{
    json_t *list = json_array();

    for (size_t i = 0; i < c->count; i++)
        json_array_append_new(list, gated ? gate_json(&c->list[i], c->options.margin)
                                          : stored_comparison_json(&c->list[i]));
    return list;
}

json_t *campaign_comparison_json(const struct campaign_comparison *c, bool gated)
{
    json_t *object;

    object = c->b[0] ? json_pack("{s:s, s:s, s:O, s:O}", "a", c->a, "b", c->b, "only_in_a",
                                 c->only[0], "only_in_b", c->only[1])
                     : json_pack("{s:s}", "campaign", c->a);
    json_object_set_new(object, "family", json_integer((json_int_t)c->count));
    json_object_set_new(object, "comparisons", campaign_comparison_bodies(c, gated));
    if (gated)
        json_object_set_new(object, "decision",
                            json_string(gate_decision_name(campaign_comparison_decide(c))));
    return object;
}

/* ---- judgements ---- */

/* The margin and the figure that a body was judged by; without a margin it made no difference. */
static enum status options_of(const json_t *body, struct compare_options *ret, struct error *err)
{
    static const char *const holders[] = {"family_of", "gate", "reproduce", "served", "comparison"};
    const json_t *family = json_object_get(body, "family_of"), *holder = NULL, *by;

    for (size_t i = 0; i < sizeof(holders) / sizeof(holders[0]) && !holder; i++)
        holder = json_object_get(body, holders[i]);
    *ret = compare_options_default();
    ret->margin = member_number_or(holder, "margin", ret->margin);
    by = json_object_get(family ? family : body, "by");
    if (by)
        ret->figure = compare_figure_find(json_string_value(by));
    return ret->figure != COMPARE_FIGURE_COUNT
               ? STATUS_OK
               : error_set(err, STATUS_UNSUPPORTED,
                           "it compares by a figure that is not known here");
}

/* All that its family is of: its verdict rests on all of them. */
static enum status family_again(struct store *store, const json_t *body,
                                const struct compare_options *options,
                                struct campaign_comparison *ret,
                                const struct stored_comparison **ret_one, struct error *err)
{
    const json_t *of = json_object_get(body, "family_of");
    const char *arms = member_string(of, "campaign");
    const char *a = arms ? arms : member_string(of, "a");
    const char *b = arms ? NULL : member_string(of, "b");

    if (!a || (!arms && !b))
        return error_set(err, STATUS_CORRUPT, "it names no campaigns");
    TRY(campaign_comparison_make(store, a, b, options, ret, err));
    *ret_one = campaign_comparison_find(ret, member_text(body, "a"), member_text(body, "b"));
    return *ret_one
               ? STATUS_OK
               : error_set(err, STATUS_CORRUPT, "its family of %s has no such pair of results", a);
}

enum status campaign_comparison_again(struct store *store, const json_t *body, bool paired,
                                      struct campaign_comparison *ret,
                                      const struct stored_comparison **ret_one, struct error *err)
{
    const json_t *gate = json_object_get(body, "gate");
    const char *a = member_string(body, "a"), *b = member_string(body, "b");
    json_auto_t *under = condition_known(json_object_get(gate, "under"));
    struct compare_options options;
    char campaign[16] = "";

    if (!a || !b || strlen(a) < 8)
        return error_set(err, STATUS_CORRUPT, "it names no two results");
    TRY(options_of(body, &options, err));
    if (json_object_get(body, "family_of")) {
        TRY(family_again(store, body, &options, ret, ret_one, err));
    } else {
        ret->options = options;
        memcpy(campaign, a, 8);
        TRY(make_room(1, ret, err));
        TRY(stored_comparison_make(store, paired ? campaign : a, paired ? NULL : b, &options,
                                   ret->list, err));
        ret->count = 1;
        *ret_one = ret->list;
    }
    if (json_is_true(json_object_get(gate, "allow_foreign_worker")))
        campaign_comparison_allow_foreign_worker(ret);
    campaign_comparison_allow_under(ret, under);
    return STATUS_OK;
}

static enum status make_compared(struct store *store, const json_t *asked, bool paired,
                                 json_t **ret, struct error *err)
{
    CLEANUP(campaign_comparison_finish) struct campaign_comparison c = {.count = 0};
    const struct stored_comparison *one;

    TRY(campaign_comparison_again(store, asked, paired, &c, &one, err));
    *ret = stored_comparison_json(one);
    return *ret ? STATUS_OK : error_no_memory(err);
}

static enum status make_compare(struct store *store, const json_t *asked, json_t **ret,
                                struct error *err)
{
    return make_compared(store, asked, false, ret, err);
}

static enum status make_ab(struct store *store, const json_t *asked, json_t **ret,
                           struct error *err)
{
    return make_compared(store, asked, true, ret, err);
}

static enum status make_gate(struct store *store, const json_t *asked, json_t **ret,
                             struct error *err)
{
    const json_t *paired = json_object_get(json_object_get(asked, "gate"), "paired");
    CLEANUP(campaign_comparison_finish) struct campaign_comparison c = {.count = 0};
    const struct stored_comparison *one;

    TRY(campaign_comparison_again(store, asked, json_is_true(paired), &c, &one, err));
    *ret = gate_json(one, c.options.margin);
    return *ret ? STATUS_OK : error_no_memory(err);
}

/* That of the comparability where the two do not compare or numbers are missing. */
static const char *compared_verdict(const json_t *body)
{
    const char *verdict = member_string(body, "verdict");

    return verdict ? verdict : member_string(json_object_get(body, "comparability"), "verdict");
}

static const char *gate_verdict(const json_t *body)
{
    return member_string(json_object_get(body, "gate"), "decision");
}

/* A single one without numbers has no verdict, whatever makes the two compare. */
static bool allows_none(const json_t *body, const char *verdict)
{
    return !strcmp(verdict, "none") && !member_string(body, "verdict") && compared_verdict(body);
}

const struct judgement judgement_compare = {
    .name = "compare", .results = 2, .verdict = compared_verdict, .make = make_compare};
const struct judgement judgement_ab = {.name = "ab",
                                       .results = 2,
                                       .verdict = compared_verdict,
                                       .allows = allows_none,
                                       .make = make_ab};
const struct judgement judgement_gate = {
    .name = "gate", .results = 2, .verdict = gate_verdict, .make = make_gate};

enum status campaign_comparison_record(struct store *store, const struct campaign_comparison *c,
                                       bool gated, struct error *err)
{
    const bool is_paired = c->is_single ? c->list->paired : !c->b[0];
    const bool is_none = !gated && is_paired && c->is_single && !c->list->has_numbers;
    const struct judgement *judgement = gated       ? &judgement_gate
                                        : is_paired ? &judgement_ab
                                                    : &judgement_compare;
    json_auto_t *bodies = campaign_comparison_bodies(c, gated);

    EACH(body, bodies)
        TRY(judgement_record(store, judgement, is_none ? "none" : NULL, body, err));
    return bodies ? STATUS_OK : error_no_memory(err);
}

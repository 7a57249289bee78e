/* Estimates and comparisons, recomputed from what is stored. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/member.h"
#include "harness/core/number.h"
#include "protocols/comparability.h"
#include "protocols/estimate.h"
#include "protocols/metric.h"
#include "protocols/serving/analysis.h"
#include "results/analysis/judged.h"
#include "results/analysis/judgement.h"
#include "results/evidence/verify_internal.h"

#define ESTIMATES_STEP 16

/* ---- estimates ---- */

/* `same`: an estimate of the same bytes; NULL: none is known. */
static bool verdict_fits(sqlite3_stmt *row, const json_t *same)
{
    json_t *json = NULL;
    const char *verdict;
    bool fits;

    if (!same && canonical_parse(text_at(row, 4), (size_t)sqlite3_column_bytes(row, 4), "estimate",
                                 &json, NULL) != STATUS_OK)
        return false;
    verdict = member_string(same ? same : json, "verdict");
    fits = verdict && strcmp(verdict, text_at(row, 3)) == 0;
    json_decref(json);
    return fits;
}

static double mean_of(const json_t *estimate)
{
    return member_number_or(
        metric_member(json_object_get(estimate, "metrics"), METRIC_ITERATION_TIME), "value", 0);
}

/* "metrics, findings": what two estimates differ in besides the version. */
static void append_differing(struct text *out, const json_t *a, const json_t *b)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)a, name, value)
    {
        if (strcmp(name, "version") != 0 && !json_equal(value, json_object_get(b, name)))
            text_append_format(out, "%s%s", out->length ? ", " : "", name);
    }
    json_object_foreach((json_t *)b, name, value)
    {
        if (!json_object_get(a, name))
            text_append_format(out, "%s%s", out->length ? ", " : "", name);
    }
}

/*
 * Appends "a mean of A ns where B ns is stored", with as many digits as tell them apart, or that
 * the means are equal, and what else the two estimates differ in. `stored` may be NULL.
 */
static void append_means(struct text *out, const json_t *again, const json_t *stored)
{
    const double now = mean_of(again), then = mean_of(stored);
    char a[NUMBER_SIZE], b[NUMBER_SIZE];
    struct text names;

    number_format_apart(now, then, 6, a, b);
    if (now != then) {
        text_append_format(out, "a mean of %s ns where %s ns is stored", a, b);
        return;
    }
    text_init(&names);
    append_differing(&names, again, stored);
    text_append_format(out, "the same mean, %s ns%s%s", a, names.length ? ", and differs in " : "",
                       names.length ? names.data : "");
    out->failed |= names.failed;
    text_finish(&names);
}

/* Of a server: the version of its analysis, which counts by itself; 0: it is of none. */
static int64_t serving_version(sqlite3_stmt *row)
{
    json_t *json = NULL;
    int64_t version = 0;

    if (canonical_parse(text_at(row, 4), (size_t)sqlite3_column_bytes(row, 4), "estimate", &json,
                        NULL) == STATUS_OK)
        version = member_integer(json_object_get(json, "serving"), "version");
    json_decref(json);
    return version;
}

/*
 * Another version of the analysis may give another estimate, so that forged numbers could hide
 * here: nothing is verified of it, unless a newer estimate of the same cell stands in its place.
 */
static void tell_other_version(struct verify_findings *findings, const char *key, sqlite3_stmt *row,
                               const json_t *again)
{
    const bool newest = sqlite3_column_int(row, 5) != 0;
    json_t *stored = NULL;
    struct text words;

    canonical_parse(text_at(row, 4), (size_t)sqlite3_column_bytes(row, 4), "", &stored, NULL);
    text_init(&words);
    append_means(&words, again, stored);
    verify_findings_add(
        findings, newest ? VERIFY_RULE_ESTIMATE_VERSION : VERIFY_RULE_ESTIMATE_VERSION_REPLACED,
        key, verify_message_ESTIMATE_VERSION, (int64_t)sqlite3_column_int64(row, 2),
        ESTIMATE_VERSION, text_ok(&words) ? words.data : "another");
    text_finish(&words);
    json_decref(stored);
}

/*
 * columns as of check_estimate. `again` may be NULL, and `why` says why not: no version makes an
 * estimate of what is not there, or is damaged.
 */
static void tell_difference(struct verify_findings *findings, const char *key, sqlite3_stmt *row,
                            const json_t *again, const struct error *why)
{
    const int64_t serving = serving_version(row);
    const bool impossible = !again && why->code != STATUS_UNAVAILABLE;

    if (!impossible && sqlite3_column_int64(row, 2) != ESTIMATE_VERSION)
        tell_other_version(findings, key, row, again);
    else if (!impossible && serving > 0 && serving != SERVING_VERSION)
        VERIFY_ADD(findings, ESTIMATE_SERVING_VERSION, key, serving, SERVING_VERSION);
    else if (why->code == STATUS_UNAVAILABLE)
        VERIFY_ADD(findings, ESTIMATE_NOT_RECOMPUTED, key, why->message);
    else
        VERIFY_ADD(findings, ESTIMATE_DIFFERS, key, (int64_t)sqlite3_column_int64(row, 1),
                   why->message[0] ? ": " : "", why->message);
}

/* columns: 0 id, 1 cell, 2 version, 3 verdict, 4 body, 5 is the newest, 6 campaign finished */
static void check_estimate(struct verify_worker *worker, sqlite3_stmt *row)
{
    struct verify_findings *findings = &worker->findings;
    const char *body = text_at(row, 4);
    const size_t length = (size_t)sqlite3_column_bytes(row, 4);
    const int64_t cell = sqlite3_column_int64(row, 1), version = sqlite3_column_int64(row, 2);
    const bool newest = sqlite3_column_int(row, 5) != 0, finished = sqlite3_column_int(row, 6) != 0;
    struct error err = ERROR_INIT;
    json_t *again = NULL;
    const enum likeness likeness = judged_estimate(worker->store, cell, body, length, newest,
                                                   !newest || !finished, &again, &err);
    char key[24];

    snprintf(key, sizeof(key), "%lld", (long long)sqlite3_column_int64(row, 0));
    if (!verdict_fits(row, likeness == LIKENESS_SAME_BYTES ? again : NULL))
        VERIFY_ADD(findings, ESTIMATE_VERDICT, key);
    if (version < 1)
        VERIFY_ADD(findings, ESTIMATE_VERSION_NONE, key, version);
    else if (likeness == LIKENESS_DIFFERENT)
        tell_difference(findings, key, row, again, &err);
    else if (likeness == LIKENESS_SAME_NUMBERS)
        VERIFY_ADD(findings, ESTIMATE_ROUNDED, key);
    json_decref(again);
    if (likeness != LIKENESS_DIFFERENT)
        worker->done++;
}

static void check_part(struct verify_worker *worker, int64_t first, int64_t end)
{
    sqlite3_stmt *row = NULL;
    const char *damage;
    int rc = sqlite3_prepare_v2(
        worker->db,
        "SELECT e.id, e.cell, e.version, e.verdict, e.body, NOT EXISTS (SELECT 1 FROM estimate l"
        " WHERE l.cell = e.cell AND l.id > e.id), coalesce(" CAMPAIGN_STATE(
            "(SELECT c.campaign FROM cell c WHERE c.id = e.cell)") ", '') = 'finished'"
                                                                   " FROM estimate e WHERE e.id > "
                                                                   "?1 AND e.id <= ?2 ORDER BY "
                                                                   "e.id",
        -1, &row, NULL);

    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(row, 1, first);
        sqlite3_bind_int64(row, 2, end);
        while (!verify_stopped(worker->verify) && (rc = sqlite3_step(row)) == SQLITE_ROW)
            check_estimate(worker, row);
    }
    if (rc != SQLITE_DONE && !verify_stopped(worker->verify) &&
        (damage = verify_damage(worker->verify, worker->db)))
        VERIFY_ADD(&worker->findings, ESTIMATES_UNREADABLE, NULL, damage);
    sqlite3_finalize(row);
}

enum status verify_estimates(struct verify *verify, struct error *err)
{
    static const enum verify_rule_code rules[] = {
#define ESTIMATE_RULE(constant, ...) VERIFY_RULE_##constant,
        VERIFY_ESTIMATE_RULES(ESTIMATE_RULE)
#undef ESTIMATE_RULE
    };
    int64_t most = verify_ask(verify, "SELECT max(id) FROM estimate", 0, 0, VERIFY_ESTIMATE);
    int64_t count = verify_ask(verify, "SELECT count(*) FROM estimate", 0, 0, VERIFY_ESTIMATE);

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        verify_rule_check(verify, rules[i], NULL);
    if (verify->options->skip_estimates || count == 0)
        return STATUS_OK;
    if (most > count * 1000 + 1000) {
        VERIFY_REPORT(verify, ESTIMATE_ROWS, NULL, most, count);
        return STATUS_OK;
    }
    return verify_share(verify, "estimates", most, ESTIMATES_STEP, check_part,
                        &verify->summary->estimates, err);
}

/* ---- comparisons ---- */

static const json_t *judgement_in(const json_t *body)
{
    return member_in(body, "comparability", "verdict");
}

/* Whether the column's verdict is one of the body (FORMAT.md); `why`: what is wrong. */
static bool verdict_matches(const struct judgement *judgement, const char *verdict,
                            const json_t *body, const char **why)
{
    *why = judgement ? "its verdict is not the one in its body" : "is of no kind that assay makes";
    return judgement && judgement_says(judgement, body, verdict);
}

/* A body names "<first 8 of uid>/<ordinal>" of so many results as its kind is of. */
static bool cells_match(sqlite3_stmt *row, const struct judgement *judgement, const json_t *body)
{
    bool match = true;

    for (unsigned i = 0; i < 2; i++) {
        const char *named = member_string(body, i ? "b" : "a");

        if (i < judgement->results)
            match &= named && !strcmp(named, text_at(row, 6 + (int)i));
        else
            match &= !named && sqlite3_column_type(row, 2 + (int)i) == SQLITE_NULL;
    }
    return match;
}

static bool is_unknown(const json_t *field)
{
    const char *state = member_string(field, "state");

    return state && !strcmp(state, "unknown");
}

/*
 * Removes the fields that are no longer known from both judgements, and names them: other
 * differences remain.
 */
static void take_out_withheld(json_t *stored, json_t *again, struct text *names)
{
    json_t *lists[] = {member_in(stored, "comparability", "fields"),
                       member_in(again, "comparability", "fields")};

    for (size_t i = json_array_size(lists[0]); i-- > 0;) {
        const json_t *field = json_array_get(lists[0], i);
        const char *name = member_string(field, "field");
        size_t k = 0;

        while (k < json_array_size(lists[1]) &&
               !json_equal(json_object_get(json_array_get(lists[1], k), "field"),
                           json_object_get(field, "field")))
            k++;
        if (!name || json_equal(field, json_array_get(lists[1], k)) ||
            (k < json_array_size(lists[1]) && !is_unknown(json_array_get(lists[1], k))))
            continue;
        text_append(names, names->length ? ", " : "");
        text_append_printable(names, name, strlen(name));
        json_array_remove(lists[1], k);
        json_array_remove(lists[0], i);
    }
}

/* Which fields of the judgement change without the withheld values; whether all else matches. */
static void report_withheld(struct verify *verify, const char *key, const json_t *body,
                            const json_t *again, const struct error *why)
{
    json_t *stored = json_deep_copy(body), *made = json_deep_copy(again);
    struct text names;
    bool follows;

    text_init(&names);
    if (again)
        take_out_withheld(stored, made, &names);
    follows = text_ok(&names) && names.length > 0 && judged_close(stored, made);
    verify->summary->comparisons += follows;
    if (follows)
        VERIFY_REPORT(verify, COMPARISON_IN_PART, key, names.data);
    else if (text_ok(&names) && names.length > 0)
        VERIFY_REPORT(verify, COMPARISON_NEEDS_WITHHELD, key, names.data);
    else
        VERIFY_REPORT(verify, COMPARISON_WITHOUT_WITHHELD, key, why->message[0] ? ": " : "",
                      why->message);
    text_finish(&names);
    json_decref(stored);
    json_decref(made);
}

static bool holds_withheld(struct verify *verify)
{
    return verify_ask(verify,
                      "SELECT (SELECT count(*) FROM record WHERE typeof(salt) = 'text') + (SELECT"
                      " count(*) FROM content WHERE body IS NULL)",
                      0, 0, VERIFY_COMPARISON) > 0;
}

/*
 * Numbers depend on samples, which are never withheld; the decision also depends on the judgement,
 * which may differ without the withheld values.
 */
static bool numbers_differ(const json_t *stored, const json_t *again)
{
    static const char *const decisions[] = {"verdict", "gate", "reproduce"};
    const json_t *a = json_object_get(stored, "comparison"),
                 *b = json_object_get(again, "comparison");

    if (!json_is_object(a) || !json_is_object(b))
        return false;
    if (!judged_close(a, b))
        return true;
    for (size_t i = 0; i < sizeof(decisions) / sizeof(decisions[0]); i++) {
        a = json_object_get(stored, decisions[i]);
        b = json_object_get(again, decisions[i]);
        if (a && b && !judged_close(a, b))
            return json_equal(judgement_in(stored), judgement_in(again));
    }
    return false;
}

/*
 * columns: 0 id, 1 kind, 2 a, 3 b, 4 version, 5 body, 6 and 7 the ids of a and b, 8 verdict.
 * `withheld`: its record's body is.
 */
static void check_comparison(struct verify *verify, sqlite3_stmt *row, bool withheld)
{
    struct error err = ERROR_INIT;
    json_t *body = NULL, *again = NULL;
    enum status status;
    enum likeness likeness = LIKENESS_DIFFERENT;
    const struct judgement *kind = judgement_find(text_at(row, 1));
    const struct judgement *judgement = kind ? kind : &judgement_compare;
    const char *why;
    const int64_t version = sqlite3_column_int64(row, 4);
    char key[24];

    snprintf(key, sizeof(key), "%lld", (long long)sqlite3_column_int64(row, 0));
    if (withheld) {
        VERIFY_REPORT(verify, COMPARISON_WITHHELD, key);
        return;
    }
    status = canonical_parse(text_at(row, 5), (size_t)sqlite3_column_bytes(row, 5), "comparison",
                             &body, &err);
    if (status == STATUS_OK && !verdict_matches(kind, text_at(row, 8), body, &why))
        VERIFY_REPORT(verify, COMPARISON_UNREADABLE, key, why);
    if (status == STATUS_OK && !cells_match(row, judgement, body))
        VERIFY_REPORT(verify, COMPARISON_RESULTS, key);
    if (status == STATUS_OK)
        status = judgement->make(verify->store, body, &again, &err);
    if (status == STATUS_OK)
        likeness =
            judged_likeness(text_at(row, 5), (size_t)sqlite3_column_bytes(row, 5), again, &err);
    if (likeness == LIKENESS_DIFFERENT && body && version != COMPARISON_VERSION)
        VERIFY_REPORT(verify, COMPARISON_RULES, key, version, COMPARISON_VERSION);
    else if (status == STATUS_UNSUPPORTED)
        VERIFY_REPORT(verify, COMPARISON_NOT_RECOMPUTED, key, err.message);
    else if (likeness != LIKENESS_DIFFERENT)
        verify->summary->comparisons++;
    else if (body && !numbers_differ(body, again) && holds_withheld(verify))
        report_withheld(verify, key, body, again, &err);
    else
        VERIFY_REPORT(verify, COMPARISON_DIFFERS, key, err.message[0] ? ": " : "", err.message);
    json_decref(body);
    json_decref(again);
}

#define ID_OF(cell)                                                                                \
    "(SELECT substr(g.uid, 1, 8) || '/' || l.ordinal FROM cell l JOIN campaign g"                  \
    " ON g.id = l.campaign WHERE l.id = c." cell ")"

enum status verify_comparisons(struct verify *verify, struct error *err)
{
    sqlite3_stmt *row, *record;

    (void)err;
    if (verify->options->skip_estimates)
        return STATUS_OK;
    /* A row each, in the same order (projection.sql). */
    record = verify_prepare(verify, verify->db,
                            "SELECT log <> 1 AND body -> '$.body' LIKE '{\"withheld\":\"%\"}' AND"
                            " length(body -> '$.body') = 79 AND substr(body -> '$.body', 14, 64)"
                            " NOT GLOB '*[^0-9a-f]*' FROM record WHERE type = 'comparison'"
                            " ORDER BY id",
                            VERIFY_COMPARISON, "comparison");
    row = verify_prepare(verify, verify->db,
                         "SELECT id, kind, a, b, version, body, " ID_OF("a") ", " ID_OF(
                             "b") ", verdict FROM comparison c ORDER BY id",
                         VERIFY_COMPARISON, "comparison");
    while (row && !verify_stopped(verify) &&
           verify_step(verify, row, VERIFY_COMPARISON, "comparison"))
        check_comparison(verify, row,
                         record && verify_step(verify, record, VERIFY_COMPARISON, "comparison") &&
                             sqlite3_column_int(record, 0));
    sqlite3_finalize(row);
    sqlite3_finalize(record);
    return STATUS_OK;
}

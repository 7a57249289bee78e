/* Estimates and comparisons, recomputed from what is stored. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/number.h"
#include "protocols/comparability.h"
#include "protocols/estimate.h"
#include "protocols/metric.h"
#include "protocols/serving/analysis.h"
#include "results/analysis/analysis.h"
#include "results/analysis/recompute.h"
#include "results/analysis/serving_client.h"
#include "results/evidence/verify_internal.h"

#define ESTIMATES_STEP 16

enum likeness { SAME_BYTES, SAME_NUMBERS, DIFFERENT };

static bool close_enough(const json_t *a, const json_t *b);

static bool close_objects(const json_t *a, const json_t *b)
{
    const char *key;
    json_t *member;

    if (json_object_size(a) != json_object_size(b))
        return false;
    json_object_foreach((json_t *)(uintptr_t)a, key, member)
    {
        const json_t *other = json_object_get(b, key);

        if (!other || !close_enough(member, other))
            return false;
    }
    return true;
}

static bool close_enough(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b)) {
        double x = json_number_value(a), y = json_number_value(b);

        if (json_is_integer(a) && json_is_integer(b))
            return json_integer_value(a) == json_integer_value(b);
        return x == y || fabs(x - y) <= SAME_WITHIN * fmax(fabs(x), fabs(y));
    }
    if (json_typeof(a) != json_typeof(b))
        return false;
    if (json_is_object(a))
        return close_objects(a, b);
    if (json_is_array(a)) {
        if (json_array_size(a) != json_array_size(b))
            return false;
        for (size_t i = 0; i < json_array_size(a); i++)
            if (!close_enough(json_array_get(a, i), json_array_get(b, i)))
                return false;
        return true;
    }
    return json_is_string(a) ? strcmp(json_string_value(a), json_string_value(b)) == 0 : true;
}

/* Where two objects differ first, by the members' names: "energy", "mean_ns.lo". */
static void name_difference(struct text *out, const json_t *stored, const json_t *again)
{
    const char *key;
    json_t *member;

    json_object_foreach((json_t *)(uintptr_t)again, key, member)
    {
        const json_t *other = json_object_get(stored, key);

        if (other && close_enough(other, member))
            continue;
        text_append_format(out, "%s%s", out->length > 0 ? "." : "", key);
        if (!other)
            text_append(out, ", which is missing");
        else if (json_is_object(other) && json_is_object(member))
            name_difference(out, other, member);
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)stored, key, member) if (!json_object_get(again, key))
    {
        text_append_format(out, "%s%s, which does not belong there", out->length > 0 ? "." : "",
                           key);
        return;
    }
}

/* Where they differ, `why` names the first difference. */
static enum likeness compare(const char *stored, size_t length, const json_t *again,
                             struct error *why)
{
    char *bytes = NULL;
    json_t *parsed = NULL;
    enum likeness likeness = DIFFERENT;

    if (canonical_dump(again, &bytes, NULL) != STATUS_OK)
        return DIFFERENT;
    if (strlen(bytes) == length && memcmp(bytes, stored, length) == 0)
        likeness = SAME_BYTES;
    else if (canonical_parse(stored, length, "stored", &parsed, NULL) == STATUS_OK &&
             close_enough(parsed, again))
        likeness = SAME_NUMBERS;
    if (likeness == DIFFERENT) {
        struct text name;

        text_init(&name);
        name_difference(&name, parsed, again);
        error_set(why, STATUS_CORRUPT, "it differs in %s",
                  text_ok(&name) && name.length > 0 ? name.data : "its form");
        text_finish(&name);
    }
    json_decref(parsed);
    free(bytes);
    return likeness;
}

/* ---- estimates ---- */

/* The last trial that it names: the estimate covers the trials up to there. */
static int64_t last_trial(sqlite3 *db, int64_t cell, const char *body, size_t length)
{
    sqlite3_stmt *find = NULL;
    json_t *json = NULL, *trial;
    int64_t last = 0;
    size_t i;

    if (canonical_parse(body, length, "estimate", &json, NULL) != STATUS_OK)
        return 0;
    json_array_foreach(json_object_get(json, "trials"), i, trial)
    {
        int64_t row = 0;

        if (sqlite3_prepare_v2(db, "SELECT max(id) FROM trial WHERE cell = ?1 AND sequence = ?2",
                               -1, &find, NULL) == SQLITE_OK) {
            sqlite3_bind_int64(find, 1, cell);
            sqlite3_bind_int64(find, 2, json_integer_value(json_object_get(trial, "sequence")));
            if (sqlite3_step(find) == SQLITE_ROW)
                row = sqlite3_column_int64(find, 0);
        }
        sqlite3_finalize(find);
        last = row > last ? row : last;
    }
    json_decref(json);
    return last;
}

/* `same`: an estimate of the same bytes; NULL: none is known. */
static bool verdict_fits(sqlite3_stmt *row, const json_t *same)
{
    json_t *json = NULL;
    const char *verdict;
    bool fits;

    if (!same && canonical_parse(text_at(row, 4), (size_t)sqlite3_column_bytes(row, 4), "estimate",
                                 &json, NULL) != STATUS_OK)
        return false;
    verdict = json_string_value(json_object_get(same ? same : json, "verdict"));
    fits = verdict && strcmp(verdict, text_at(row, 3)) == 0;
    json_decref(json);
    return fits;
}

static double mean_of(const json_t *estimate)
{
    return json_number_value(json_object_get(
        metric_member(json_object_get(estimate, "metrics"), METRIC_ITERATION_TIME), "value"));
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

/* Another version of the analysis may give another estimate, so forged numbers could hide here. */
static void tell_other_version(struct verify_findings *findings, const char *key, sqlite3_stmt *row,
                               const json_t *again)
{
    const int64_t version = sqlite3_column_int64(row, 2);
    json_t *stored = NULL;
    struct text words;

    canonical_parse(text_at(row, 4), (size_t)sqlite3_column_bytes(row, 4), "", &stored, NULL);
    text_init(&words);
    append_means(&words, again, stored);
    verify_findings_add(
        findings, version < 1 ? VERIFY_RULE_ESTIMATE_VERSION_NONE : VERIFY_RULE_ESTIMATE_VERSION,
        key, verify_message_ESTIMATE_VERSION, version, ESTIMATE_VERSION,
        text_ok(&words) ? words.data : "another");
    text_finish(&words);
    json_decref(stored);
}

/* Of a server: the version of its analysis, which counts by itself; 0: it is of none. */
static int64_t serving_version(sqlite3_stmt *row)
{
    json_t *json = NULL;
    int64_t version = 0;

    if (canonical_parse(text_at(row, 4), (size_t)sqlite3_column_bytes(row, 4), "estimate", &json,
                        NULL) == STATUS_OK)
        version = json_integer_value(json_object_get(json_object_get(json, "serving"), "version"));
    json_decref(json);
    return version;
}

/* Whether the cell has a trial whose facts are withheld, and with them what clocks said. */
static bool has_withheld_facts(sqlite3 *db, int64_t cell)
{
    sqlite3_stmt *find = NULL;
    bool found = false;

    if (sqlite3_prepare_v2(db,
                           "SELECT 1 FROM trial t JOIN trial_end e ON e.trial = t.id WHERE t.cell ="
                           " ?1 AND e.facts -> '$.withheld' IS NOT NULL LIMIT 1",
                           -1, &find, NULL) == SQLITE_OK &&
        sqlite3_bind_int64(find, 1, cell) == SQLITE_OK)
        found = sqlite3_step(find) == SQLITE_ROW;
    sqlite3_finalize(find);
    return found;
}

/* Compares without the findings that follow from facts. */
static enum likeness compare_but_facts(const char *stored, size_t length, const json_t *again,
                                       struct error *why)
{
    enum likeness likeness = DIFFERENT;
    json_t *parsed = NULL, *findings;
    char *bytes = NULL;

    if (canonical_parse(stored, length, "stored", &parsed, NULL) != STATUS_OK)
        return DIFFERENT;
    findings = json_object_get(parsed, "findings");
    for (size_t i = json_array_size(findings); i-- > 0;) {
        const char *code = json_string_value(json_object_get(json_array_get(findings, i), "code"));

        if (code && (!strcmp(code, finding_kinds[FINDING_CLOCK_DISAGREES].code) ||
                     serving_client_has(code)))
            json_array_remove(findings, i);
    }
    if (canonical_dump(parsed, &bytes, NULL) == STATUS_OK)
        likeness = compare(bytes, strlen(bytes), again, why);
    free(bytes);
    json_decref(parsed);
    return likeness;
}

/* columns: 0 id, 1 cell, 2 version, 3 verdict, 4 body, 5 is the newest, 6 campaign finished */
static void check_estimate(struct verify_worker *worker, sqlite3_stmt *row)
{
    struct verify_findings *findings = &worker->findings;
    const char *body = text_at(row, 4);
    size_t length = (size_t)sqlite3_column_bytes(row, 4);
    int64_t cell = sqlite3_column_int64(row, 1);
    struct error err = ERROR_INIT;
    enum likeness likeness = DIFFERENT;
    enum status status = STATUS_OK;
    json_t *again = NULL;
    bool all = sqlite3_column_int(row, 5) != 0;
    char key[24];

    snprintf(key, sizeof(key), "%lld", (long long)sqlite3_column_int64(row, 0));
    if (all && (status = analysis_estimate_json(worker->store, cell, INT64_MAX, &again, &err)) ==
                   STATUS_OK)
        likeness = compare(body, length, again, &err);
    if (likeness == DIFFERENT && (!all || !sqlite3_column_int(row, 6))) {
        json_decref(again);
        again = NULL;
        status = analysis_estimate_json(worker->store, cell,
                                        last_trial(worker->db, cell, body, length), &again, &err);
        if (status == STATUS_OK)
            likeness = compare(body, length, again, &err);
    }
    if (likeness == DIFFERENT && again && has_withheld_facts(worker->db, cell))
        likeness = compare_but_facts(body, length, again, &err);
    if (!verdict_fits(row, likeness == SAME_BYTES ? again : NULL))
        VERIFY_ADD(findings, ESTIMATE_VERDICT, key);
    if (sqlite3_column_int64(row, 2) != ESTIMATE_VERSION)
        tell_other_version(findings, key, row, again);
    else if (likeness == DIFFERENT && serving_version(row) > 0 &&
             serving_version(row) != SERVING_VERSION)
        VERIFY_ADD(findings, ESTIMATE_SERVING_VERSION, key, serving_version(row), SERVING_VERSION);
    else if (likeness == DIFFERENT && status == STATUS_UNAVAILABLE)
        VERIFY_ADD(findings, ESTIMATE_NOT_RECOMPUTED, key, err.message);
    else if (likeness == DIFFERENT)
        VERIFY_ADD(findings, ESTIMATE_DIFFERS, key, (long long)cell, err.message[0] ? ": " : "",
                   err.message);
    else if (likeness == SAME_NUMBERS)
        VERIFY_ADD(findings, ESTIMATE_ROUNDED, key);
    json_decref(again);
    if (likeness != DIFFERENT)
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
    int64_t most = verify_ask(verify, "SELECT max(id) FROM estimate", 0, 0, VERIFY_ESTIMATE);
    int64_t count = verify_ask(verify, "SELECT count(*) FROM estimate", 0, 0, VERIFY_ESTIMATE);

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
    return json_object_get(json_object_get(body, "comparability"), "verdict");
}

/* The verdict of the judgement, where results do not compare or numbers are missing. */
static const char *said_in(const json_t *body)
{
    const char *verdict = json_string_value(json_object_get(body, "verdict"));

    return verdict ? verdict : json_string_value(judgement_in(body));
}

/* Kinds that are of one result, and whose verdict is their kind. */
static bool is_of_one(const char *kind)
{
    return !strcmp(kind, "cost") || !strcmp(kind, "plan") || !strcmp(kind, "baseline");
}

/* Kinds that are of one result, too, and whose verdict is in their body. */
static bool is_judgement(const char *kind)
{
    return !strcmp(kind, "accept") || !strcmp(kind, "decide");
}

/* Whether the column's verdict is the one in the body (FORMAT.md); `why`: what is wrong. */
static bool verdict_matches(const char *kind, const char *verdict, const json_t *body,
                            const char **why)
{
    const bool has_numbers = json_is_string(json_object_get(body, "verdict"));
    const char *said = NULL;

    *why = "its verdict is not the one in its body";
    if (!strcmp(kind, "calibration"))
        return !strcmp(verdict, "done") || !strcmp(verdict, "interrupted");
    if (is_of_one(kind))
        return !strcmp(verdict, kind);
    if (!strcmp(kind, "ab") && !has_numbers && !strcmp(verdict, "none"))
        return said_in(body) != NULL;
    if (is_judgement(kind))
        said = json_string_value(json_object_get(body, "verdict"));
    else if (!strcmp(kind, "ab") || !strcmp(kind, "compare"))
        said = said_in(body);
    else if (!strcmp(kind, "gate"))
        said = json_string_value(json_object_get(json_object_get(body, "gate"), "decision"));
    else if (!strcmp(kind, "reproduce"))
        said = json_string_value(json_object_get(json_object_get(body, "reproduce"), "verdict"));
    else
        *why = "is of no kind that assay makes";
    return said && !strcmp(said, verdict);
}

/* A body names "<first 8 of uid>/<ordinal>"; a calibration none. */
static bool cells_match(sqlite3_stmt *row, const char *kind, const json_t *body)
{
    static const char *const names[] = {"a", "b"};
    bool match = true;

    for (int i = 0; i < 2; i++) {
        const char *named = json_string_value(json_object_get(body, names[i]));
        const char *cell = text_at(row, 6 + i);

        if (!strcmp(kind, "calibration") || (i == 1 && (is_of_one(kind) || is_judgement(kind))))
            match &= !named && sqlite3_column_type(row, 2 + i) == SQLITE_NULL;
        else
            match &= named && !strcmp(named, cell);
    }
    return match;
}

static bool is_unknown(const json_t *field)
{
    const char *state = json_string_value(json_object_get(field, "state"));

    return state && !strcmp(state, "unknown");
}

/*
 * Removes the fields that are no longer known from both judgements, and names them: other
 * differences remain.
 */
static void take_out_withheld(json_t *stored, json_t *again, struct text *names)
{
    json_t *lists[] = {json_object_get(json_object_get(stored, "comparability"), "fields"),
                       json_object_get(json_object_get(again, "comparability"), "fields")};

    for (size_t i = json_array_size(lists[0]); i-- > 0;) {
        const json_t *field = json_array_get(lists[0], i);
        const char *name = json_string_value(json_object_get(field, "field"));
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
    follows = text_ok(&names) && names.length > 0 && close_enough(stored, made);
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
    if (!close_enough(a, b))
        return true;
    for (size_t i = 0; i < sizeof(decisions) / sizeof(decisions[0]); i++) {
        a = json_object_get(stored, decisions[i]);
        b = json_object_get(again, decisions[i]);
        if (a && b && !close_enough(a, b))
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
    enum likeness likeness = DIFFERENT;
    const char *kind = text_at(row, 1), *why;
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
    if (status == STATUS_OK && !cells_match(row, kind, body))
        VERIFY_REPORT(verify, COMPARISON_RESULTS, key);
    if (status == STATUS_OK && sqlite3_column_int64(row, 4) != COMPARISON_VERSION)
        status = error_set(&err, STATUS_UNSUPPORTED, "was made by another version of the rules");
    else if (status == STATUS_OK)
        status = recompute_comparison(verify->store, kind, body, &again, &err);
    if (status == STATUS_OK)
        likeness = compare(text_at(row, 5), (size_t)sqlite3_column_bytes(row, 5), again, &err);
    if (status == STATUS_UNSUPPORTED)
        VERIFY_REPORT(verify, COMPARISON_NOT_RECOMPUTED, key, err.message);
    else if (likeness != DIFFERENT)
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

#include "results/analysis/judged.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "protocols/estimate.h"
#include "protocols/finding.h"
#include "results/analysis/analysis.h"
#include "results/analysis/serving_client.h"

/* ---- likeness ---- */

static bool close_objects(const json_t *a, const json_t *b)
{
    const char *key;
    json_t *member;

    if (json_object_size(a) != json_object_size(b))
        return false;
    json_object_foreach((json_t *)(uintptr_t)a, key, member)
    {
        const json_t *other = json_object_get(b, key);

        if (!other || !judged_close(member, other))
            return false;
    }
    return true;
}

bool judged_close(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b)) {
        double x = json_number_value(a), y = json_number_value(b);

        if (json_is_integer(a) && json_is_integer(b))
            return json_integer_value(a) == json_integer_value(b);
        return x == y || fabs(x - y) <= JUDGED_SAME_WITHIN * fmax(fabs(x), fabs(y));
    }
    if (json_typeof(a) != json_typeof(b))
        return false;
    if (json_is_object(a))
        return close_objects(a, b);
    if (json_is_array(a)) {
        if (json_array_size(a) != json_array_size(b))
            return false;
        for (size_t i = 0; i < json_array_size(a); i++)
            if (!judged_close(json_array_get(a, i), json_array_get(b, i)))
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

        if (other && judged_close(other, member))
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

enum likeness judged_likeness(const char *stored, size_t length, const json_t *again,
                              struct error *why)
{
    AUTO_FREE char *bytes = NULL;
    json_auto_t *parsed = NULL;
    enum likeness likeness = LIKENESS_DIFFERENT;

    if (canonical_dump(again, &bytes, NULL) != STATUS_OK)
        return LIKENESS_DIFFERENT;
    if (strlen(bytes) == length && memcmp(bytes, stored, length) == 0)
        likeness = LIKENESS_SAME_BYTES;
    else if (canonical_parse(stored, length, "stored", &parsed, NULL) == STATUS_OK &&
             judged_close(parsed, again))
        likeness = LIKENESS_SAME_NUMBERS;
    if (likeness == LIKENESS_DIFFERENT) {
        CLEANUP(text_finish) struct text name = TEXT_INIT;

        name_difference(&name, parsed, again);
        error_set(why, STATUS_CORRUPT, "it differs in %s",
                  text_ok(&name) && name.length > 0 ? name.data : "its form");
    }
    return likeness;
}

/* ---- estimates ---- */

/* The last trial that it names: the estimate covers the trials up to there. */
static int64_t last_trial(sqlite3 *db, int64_t cell, const char *body, size_t length)
{
    sqlite3_stmt *find = NULL;
    json_auto_t *json = NULL;
    int64_t last = 0;

    if (canonical_parse(body, length, "estimate", &json, NULL) != STATUS_OK)
        return 0;
    EACH(trial, json_object_get(json, "trials")) {
        int64_t row = 0;

        if (sqlite3_prepare_v2(db, "SELECT max(id) FROM trial WHERE cell = ?1 AND sequence = ?2",
                               -1, &find, NULL) == SQLITE_OK) {
            sqlite3_bind_int64(find, 1, cell);
            sqlite3_bind_int64(find, 2, member_integer(trial, "sequence"));
            if (sqlite3_step(find) == SQLITE_ROW)
                row = sqlite3_column_int64(find, 0);
        }
        sqlite3_finalize(find);
        last = row > last ? row : last;
    }
    return last;
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

/* Compares without the findings and metrics that follow from facts. */
static enum likeness compare_but_facts(const char *stored, size_t length, const json_t *again,
                                       struct error *why)
{
    enum likeness likeness = LIKENESS_DIFFERENT;
    json_t *parsed = NULL, *findings;
    AUTO_FREE char *bytes = NULL;

    if (canonical_parse(stored, length, "stored", &parsed, NULL) != STATUS_OK)
        return LIKENESS_DIFFERENT;
    for (enum metric_id i = METRIC_SAMPLE_SHARE; i <= METRIC_GAP_SHARE; i++)
        json_object_del(json_object_get(parsed, "metrics"), metrics[i].id);
    findings = json_object_get(parsed, "findings");
    for (size_t i = json_array_size(findings); i-- > 0;) {
        const char *code = member_string(json_array_get(findings, i), "code");

        if (code && (!strcmp(code, finding_kinds[FINDING_CLOCK_DISAGREES].code) ||
                     !strcmp(code, finding_kinds[FINDING_CHECKED_SLOWER].code) ||
                     !strcmp(code, finding_kinds[FINDING_GAPS].code) || serving_client_has(code)))
            json_array_remove(findings, i);
    }
    if (canonical_dump(parsed, &bytes, NULL) == STATUS_OK)
        likeness = judged_likeness(bytes, strlen(bytes), again, why);
    json_decref(parsed);
    return likeness;
}

static void take_version(json_t *again, const json_t *stored)
{
    if (json_object_get(again, "version") && json_object_get(stored, "version"))
        json_object_set(again, "version", json_object_get(stored, "version"));
}

/* Estimates of any version, of servers too, are held against the same numbers. */
static enum likeness compare(const char *stored, size_t length, json_t *again, struct error *why)
{
    json_auto_t *parsed = NULL;

    if (canonical_parse(stored, length, "estimate", &parsed, NULL) == STATUS_OK) {
        take_version(again, parsed);
        take_version(json_object_get(again, "serving"), json_object_get(parsed, "serving"));
    }
    return judged_likeness(stored, length, again, why);
}

enum likeness judged_estimate(struct store *store, int64_t cell, const char *stored, size_t length,
                              bool all, bool partly, json_t **ret, struct error *err)
{
    sqlite3 *db = store_connection(store);
    enum likeness likeness = LIKENESS_DIFFERENT;

    *ret = NULL;
    if (all && analysis_estimate_json(store, cell, INT64_MAX, ret, err) == STATUS_OK)
        likeness = compare(stored, length, *ret, err);
    if (likeness == LIKENESS_DIFFERENT && partly) {
        json_decref(*ret);
        *ret = NULL;
        if (analysis_estimate_json(store, cell, last_trial(db, cell, stored, length), ret, err) ==
            STATUS_OK)
            likeness = compare(stored, length, *ret, err);
    }
    if (likeness == LIKENESS_DIFFERENT && *ret && has_withheld_facts(db, cell))
        likeness = compare_but_facts(stored, length, *ret, err);
    return likeness;
}

/* ---- records ---- */

/* The stored estimate of a record made again; `ret`: NULL where the two are alike. */
static enum status replacement(struct store *store, int64_t cell, const json_t *record,
                               json_t **ret, struct error *err)
{
    const json_t *stored = json_object_get(record, "estimate");
    const json_int_t version = member_integer(stored, "version");
    struct error why = ERROR_INIT;
    json_auto_t *again = NULL;
    AUTO_FREE char *text = NULL;

    *ret = NULL;
    if (!json_is_object(stored))
        return STATUS_OK;
    TRY(canonical_dump(stored, &text, err));
    if (judged_estimate(store, cell, text, strlen(text), true, true, &again, &why) !=
        LIKENESS_DIFFERENT)
        return STATUS_OK;
    if (!again || why.code == STATUS_NO_MEMORY)
        return error_set(err, why.code, "%s: its estimate could not be made again: %s",
                         member_text(record, "id"), why.message);
    if (version > ESTIMATE_VERSION)
        return error_set(err, STATUS_UNSUPPORTED,
                         "%s: its estimate says that version %" JSON_INTEGER_FORMAT
                         " of the analysis made it, and version %d, which this assay has, makes "
                         "another: judge with a newer assay",
                         member_text(record, "id"), version, ESTIMATE_VERSION);
    if (version == ESTIMATE_VERSION || version < 1)
        return error_set(err, STATUS_CORRUPT,
                         "%s: its stored estimate does not follow from its samples (%s), so "
                         "nothing is decided by it: `assay verify` shows what else is wrong with "
                         "this file",
                         member_text(record, "id"), why.message);
    json_object_set_new(again, "version", json_integer(ESTIMATE_VERSION));
    *ret = json_incref(again);
    return STATUS_OK;
}

enum status judged_record(struct store *store, int64_t cell, json_t *record, struct error *err)
{
    json_t *again = NULL;

    if (!store_trusts_estimates(store))
        TRY(replacement(store, cell, record, &again, err));
    if (again)
        json_object_set_new(record, "estimate", again);
    return STATUS_OK;
}

enum status judged_cell_json(struct store *store, int64_t cell, json_t **ret, struct error *err)
{
    json_auto_t *record = NULL;

    TRY(store_cell_json(store, cell, &record, err));
    TRY(judged_record(store, cell, record, err));
    *ret = json_incref(record);
    return STATUS_OK;
}

static enum status renew_result(struct store *store, const char *id, struct error *err)
{
    json_auto_t *record = NULL, *again = NULL;
    int64_t cell;

    TRY(store_find_cell(store, id, &cell, err));
    TRY(store_cell_json(store, cell, &record, err));
    if (member_integer(json_object_get(record, "estimate"), "version") < ESTIMATE_VERSION)
        TRY(replacement(store, cell, record, &again, err));
    return again ? store_add_estimate(store, cell, ESTIMATE_VERSION, again, err) : STATUS_OK;
}

/* The results that the parts of a judgement are of. */
static enum status renew_parts(struct store *store, const json_t *judgement, struct error *err)
{
    const char *key;
    json_t *member;
    size_t i;

    if (json_is_string(json_object_get(judgement, "result")))
        TRY(renew_result(store, member_text(judgement, "result"), err));
    json_object_foreach((json_t *)(uintptr_t)judgement, key, member)
        TRY(renew_parts(store, member, err));
    json_array_foreach(judgement, i, member) TRY(renew_parts(store, member, err));
    return STATUS_OK;
}

enum status judged_renew(struct store *store, const json_t *judgement, struct error *err)
{
    static const char *const names[] = {"a", "b"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (json_is_string(json_object_get(judgement, names[i])))
            TRY(renew_result(store, member_text(judgement, names[i]), err));
    return renew_parts(store, judgement, err);
}

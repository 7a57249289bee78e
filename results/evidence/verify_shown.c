/*
 * What a reader of a result does not see, and should know of: attempts that were made again,
 * campaigns that repeat a plan or were put away, what of a bundle's log is elsewhere, and what was
 * withheld.
 */
#include <string.h>

#include "results/evidence/verify_internal.h"

#define NAMES_MAX 8 /* of campaigns in one sentence */

/* ---- campaigns ---- */

static void append_count(struct text *out, int64_t number, const char *what)
{
    if (number > 0)
        text_append_format(out, "%s%s: %lld", out->length ? "; " : "", what, (long long)number);
}

/* columns: 0 id, 1 uid, 2 planned, 3 retried, 4 not ok, 5 without an end, 6 resumed, 7 archived,
 * 8 state, 9 same cells in its log, by what is here, 10 by what a bundle's head says, 11 log */
static void tell_campaign(struct verify *verify, sqlite3_stmt *row, json_t *list)
{
    const int64_t here = sqlite3_column_int64(row, 9), told = sqlite3_column_int64(row, 10);
    const int64_t same = told > here ? told : here;
    struct text out;

    text_init(&out);
    append_count(&out, sqlite3_column_int64(row, 3), "trials tried again");
    append_count(&out, sqlite3_column_int64(row, 4), "trials that did not end well");
    append_count(&out, sqlite3_column_int64(row, 5), "trials without an end");
    append_count(&out, sqlite3_column_int64(row, 6), "resumed");
    if (sqlite3_column_int64(row, 7))
        text_append_format(&out, "%sit was archived", out.length ? "; " : "");
    if (told > here)
        text_append_format(&out,
                           "%sits log has %lld campaigns of the same plan, and %lld of them %s "
                           "here: this may be the best of them",
                           out.length ? "; " : "", (long long)told, (long long)here,
                           here == 1 ? "is" : "are");
    if (out.length > 0)
        VERIFY_REPORT(verify, CAMPAIGN_ATTEMPTS, text_at(row, 0), text_at(row, 1),
                      text_ok(&out) ? out.data : "out of memory");
    text_finish(&out);
    if (list)
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:s?, s:I, s:I}",
                                        "uid", text_at(row, 1), "origin", text_at(row, 11),
                                        "planned", (json_int_t)sqlite3_column_int64(row, 2),
                                        "retried", (json_int_t)sqlite3_column_int64(row, 3),
                                        "not_ok", (json_int_t)sqlite3_column_int64(row, 4),
                                        "no_end", (json_int_t)sqlite3_column_int64(row, 5),
                                        "resumed", (json_int_t)sqlite3_column_int64(row, 6),
                                        "archived", sqlite3_column_int(row, 7) != 0, "state",
                                        (const char *)sqlite3_column_text(row, 8), "same_cells",
                                        (json_int_t)same, "same_cells_here", (json_int_t)here));
}

static void tell_campaigns(struct verify *verify, json_t *list)
{
    sqlite3_stmt *row = verify_prepare(
        verify, verify->db,
        SAME_PLAN_WITH
        "SELECT g.id, g.uid,"
        " (SELECT count(*) FROM planned_trial p WHERE p.campaign = g.id),"
        " (SELECT count(*) FROM trial t WHERE t.campaign = g.id AND t.attempt > 1),"
        " (SELECT count(*) FROM trial t JOIN trial_end e ON e.trial = t.id WHERE"
        " t.campaign = g.id AND e.status <> 'ok'),"
        " (SELECT count(*) FROM trial t WHERE t.campaign = g.id AND NOT EXISTS (SELECT 1"
        " FROM trial_end e WHERE e.trial = t.id)),"
        " (SELECT count(*) FROM campaign_event v WHERE v.campaign = g.id AND v.event ="
        " 'resumed'), " CAMPAIGN_ARCHIVED("g.id") ", " CAMPAIGN_STATE(
            "g.id") ","
                    " " SAME_PLAN_HERE("g.id") ", " SAME_PLAN_TOLD(
                        "r.digest") ", l.name"
                                    " FROM campaign g JOIN record r ON r.id = g.record JOIN log l "
                                    "ON l.id"
                                    " = r.log ORDER BY g.id",
        VERIFY_COMPLETE, "campaign");

    while (row && verify_step(verify, row, VERIFY_COMPLETE, "campaign"))
        tell_campaign(verify, row, list);
    sqlite3_finalize(row);
}

/* Repeated runs of one plan. columns: 0 first row, 1 how many, 2 uids */
static void tell_repeated(struct verify *verify)
{
    sqlite3_stmt *row = verify_prepare(
        verify, verify->db,
        "SELECT min(id), count(*), group_concat(uid, ', ') FROM (SELECT g.id, substr(g.uid, 1, 8) "
        "AS"
        " uid, r.log, assay_sha256(" CAMPAIGN_CELLS(
            "g") ") AS cells FROM campaign g JOIN record r ON r.id = g.record ORDER BY g.id) WHERE"
                 " cells IS NOT NULL GROUP BY log, cells HAVING count(*) > 1 ORDER BY 1",
        VERIFY_COMPLETE, "campaign");

    while (row && verify_step(verify, row, VERIFY_COMPLETE, "campaign")) {
        const int64_t count = sqlite3_column_int64(row, 1);
        const char *uids = text_at(row, 2);

        VERIFY_REPORT(verify, PLAN_REPEATED, text_at(row, 0), (long long)count, NAMES_MAX * 10 - 2,
                      uids, count > NAMES_MAX ? " and others" : "");
    }
    sqlite3_finalize(row);
}

/* ---- what of the logs of bundles is not here ---- */

struct hidden {
    json_t *names; /* {name: how many} */
    const struct record_type *type;
    int64_t count;
};

static enum status count_member(void *context, struct record_span path, struct record_span value,
                                const struct digest *withheld, struct error *err)
{
    struct hidden *hidden = context;
    char name[256];
    json_t *number;

    (void)value;
    if (!withheld || !record_member_name(hidden->type, path, name, sizeof(name)))
        return STATUS_OK;
    hidden->count++;
    number = json_object_get(hidden->names, name);
    return json_object_set_new(hidden->names, name, json_integer(1 + json_integer_value(number))) ==
                   0
               ? STATUS_OK
               : error_no_memory(err);
}

static void count_withheld(struct verify *verify, int64_t log, struct hidden *hidden)
{
    const struct record_visitor visitor = {.context = hidden, .member = count_member};
    sqlite3_stmt *row = verify_prepare(verify, verify->db,
                                       "SELECT type, body FROM record WHERE log = ?1 AND"
                                       " instr(body, '{\"withheld\":\"') > 0",
                                       VERIFY_COMPLETE, "record");

    if (row)
        sqlite3_bind_int64(row, 1, log);
    while (row && verify_step(verify, row, VERIFY_COMPLETE, "record")) {
        hidden->type = record_type_find(text_at(row, 0));
        if (hidden->type) /* verify_records reports others */
            record_scan(hidden->type, text_at(row, 1), (size_t)sqlite3_column_bytes(row, 1),
                        &visitor, NULL);
    }
    sqlite3_finalize(row);
}

static void tell_withheld(struct verify *verify, const char *key, const struct hidden *hidden)
{
    const char *name;
    json_t *number;
    struct text out;

    text_init(&out);
    json_object_foreach(hidden->names, name, number)
    {
        text_append(&out, out.length ? ", " : "");
        text_append_printable(&out, name, strlen(name));
        text_append_format(&out, " (%lld)", (long long)json_integer_value(number));
    }
    if (hidden->count > 0)
        VERIFY_REPORT(verify, VALUES_WITHHELD, key, (long long)hidden->count,
                      text_ok(&out) ? out.data : "out of memory");
    text_finish(&out);
}

/* columns: 0 the bundle's record, 1 log, 2 its name, 3 records, 4 of them here, 5 campaigns, or
 * NULL, 6 of them here */
static void tell_log(struct verify *verify, sqlite3_stmt *row, json_t *list)
{
    struct hidden hidden = {.names = json_object()};
    const int64_t size = sqlite3_column_int64(row, 3), here = sqlite3_column_int64(row, 4);
    char key[24];

    snprintf(key, sizeof(key), "%lld", (long long)sqlite3_column_int64(row, 0));
    count_withheld(verify, sqlite3_column_int64(row, 1), &hidden);
    if (here < size)
        VERIFY_REPORT(verify, LOG_IN_PART, key, (long long)(size - here), (long long)size,
                      (long long)sqlite3_column_int64(row, 6),
                      sqlite3_column_type(row, 5) == SQLITE_INTEGER ? text_at(row, 5)
                                                                    : "(not told)");
    tell_withheld(verify, key, &hidden);
    if (list)
        json_array_append_new(
            list, json_pack("{s:s, s:I, s:I, s:o, s:I, s:O}", "origin", text_at(row, 2), "records",
                            (json_int_t)size, "records_here", (json_int_t)here, "campaigns",
                            sqlite3_column_type(row, 5) == SQLITE_INTEGER
                                ? json_integer(sqlite3_column_int64(row, 5))
                                : json_null(),
                            "campaigns_here", (json_int_t)sqlite3_column_int64(row, 6), "withheld",
                            hidden.names));
    json_decref(hidden.names);
}

/* Of each log, the bundle with the largest head. */
static void tell_logs(struct verify *verify, json_t *list)
{
    sqlite3_stmt *row = verify_prepare(
        verify, verify->db,
        "SELECT b.record, l.id, l.name, max(b.size), (SELECT count(*) FROM record r WHERE r.log ="
        " l.id AND r.leaf < b.size), (SELECT r.body ->> '$.campaigns_in_log' FROM record r WHERE"
        " r.log = l.id AND r.leaf = b.size - 1), (SELECT count(*) FROM campaign g JOIN record r ON"
        " r.id = g.record WHERE r.log = l.id) FROM bundle b JOIN log l ON l.name = b.origin GROUP"
        " BY l.id ORDER BY l.id",
        VERIFY_COMPLETE, "bundle");

    while (row && verify_step(verify, row, VERIFY_COMPLETE, "bundle"))
        tell_log(verify, row, list);
    sqlite3_finalize(row);
}

enum status verify_shown(struct verify *verify, struct error *err)
{
    json_t *campaigns = NULL, *logs = NULL;

    (void)err;
    if (verify->options->shown) {
        campaigns = json_array();
        logs = json_array();
        json_object_set_new(verify->options->shown, "campaigns", campaigns);
        json_object_set_new(verify->options->shown, "logs", logs);
    }
    tell_campaigns(verify, campaigns);
    tell_repeated(verify);
    tell_logs(verify, logs);
    return STATUS_OK;
}

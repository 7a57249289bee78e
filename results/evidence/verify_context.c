/* What every part of the verifier uses: findings, progress, and statements on evidence. */
#include "results/evidence/verify_internal.h"

#include <stdarg.h>
#include <stdlib.h>

#include "harness/core/array.h"
#include "harness/core/shortage.h"

#define MESSAGE_MAX 1024
#define COLUMNS_MAX 6 /* of a rule's SELECT: the key, and the values of the longest message */

const char *verify_check_name(enum verify_check check)
{
    static const char *const names[] = {
#define VERIFY_NAME(code, name, meaning) name,
        VERIFY_CHECK_MAP(VERIFY_NAME)
#undef VERIFY_NAME
    };

    return (unsigned)check < VERIFY_CHECK_COUNT ? names[check] : "unknown";
}

/* ---- findings ---- */

const char *const verify_levels[] = {
    [VERIFY_NOTE] = "note", [VERIFY_UNVERIFIED] = "unverified", [VERIFY_WRONG] = "wrong"};

void verify_count(struct verify_summary *summary, enum verify_level level)
{
    summary->wrong += level == VERIFY_WRONG;
    summary->unverified += level == VERIFY_UNVERIFIED;
    summary->notes += level == VERIFY_NOTE;
}

static void report(struct verify *verify, const struct verify_finding *finding)
{
    if (verify_lacks(verify))
        return;
    verify_count(verify->summary, finding->level);
    if (verify->options->found)
        verify->options->found(verify->options->context, finding);
}

static struct verify_finding finding_of(enum verify_rule_code rule, const char *key,
                                        const char *message)
{
    const struct verify_rule *row = &verify_rules[rule];

    return (struct verify_finding){row->code, row->level, row->check, row->table, key, message};
}

void verify_report(struct verify *verify, enum verify_rule_code rule, enum verify_check check,
                   const char *table, const char *key, const char *format, ...)
{
    char message[MESSAGE_MAX];
    struct verify_finding finding;
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    finding = finding_of(rule, key, message);
    finding.check = check;
    finding.table = table;
    report(verify, &finding);
}

const char *verify_damage(struct verify *verify, sqlite3 *db)
{
    if (verify_tell_lack(verify, db, sqlite3_extended_errcode(db)))
        return NULL;
    if (sqlite3_errcode(db) != SQLITE_INTERRUPT)
        return sqlite3_errmsg(db);
    return verify_stopped(verify) ? NULL
                                  : "it asks for more work than a file of this size explains";
}

void verify_report_gap(struct verify *verify, enum verify_check check, const char *table,
                       int64_t count, int64_t most)
{
    char *sql =
        text_format("SELECT min(n) FROM (SELECT id + 1 AS n FROM %s UNION ALL SELECT 1) WHERE"
                    " n NOT IN (SELECT id FROM %s)",
                    table, table);
    char key[24];

    if (sql)
        snprintf(key, sizeof(key), "%lld", (long long)verify_ask(verify, sql, 0, 0, check));
    VERIFY_REPORT_AT(verify, ROWS_MISSING, check, table, sql ? key : NULL, count, most);
    free(sql);
}

void verify_report_damage(struct verify *verify, enum verify_check check, const char *table,
                          sqlite3 *db)
{
    const char *damage = verify_damage(verify, db);

    if (damage)
        VERIFY_REPORT_AT(verify, UNREADABLE, check, table, NULL, damage);
}

static bool grow(struct verify_findings *findings)
{
    if (findings->count >= VERIFY_FINDINGS_MAX)
        return false;
    if (ARRAY_ROOM(findings->items, findings->count, 1))
        return true;
    shortage_note();
    return false;
}

void verify_findings_keep(struct verify_findings *findings, const struct verify_finding *finding)
{
    const char *table = finding->table, *key = finding->key;
    struct verify_note *note;

    if (!grow(findings)) {
        findings->unreported++;
        return;
    }
    note = &findings->items[findings->count++];
    note->part = findings->part;
    note->finding = *finding;
    note->finding.table = table ? strdup(table) : NULL;
    note->finding.key = key ? strdup(key) : NULL;
    note->finding.message = strdup(finding->message);
    if ((table && !note->finding.table) || (key && !note->finding.key) || !note->finding.message)
        shortage_note();
}

void verify_findings_add(struct verify_findings *findings, enum verify_rule_code rule,
                         const char *key, const char *format, ...)
{
    char message[MESSAGE_MAX];
    struct verify_finding finding;
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    finding = finding_of(rule, key, message);
    verify_findings_keep(findings, &finding);
}

void verify_findings_report(struct verify *verify, struct verify_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        struct verify_finding *finding = &findings->items[i].finding;

        if (i < VERIFY_FINDINGS_MAX)
            report(verify, finding);
        else
            findings->unreported++;
        free((void *)(uintptr_t)finding->table);
        free((void *)(uintptr_t)finding->key);
        free((void *)(uintptr_t)finding->message);
    }
    if (findings->unreported > 0)
        VERIFY_REPORT(verify, FINDINGS_MORE, NULL, findings->unreported);
    free(findings->items);
    *findings = (struct verify_findings){0};
}

bool verify_stopped(const struct verify *verify)
{
    return verify->stopped || (verify->main && verify->main->stopped) || verify_lacks(verify);
}

bool verify_progress(struct verify *verify, const char *doing, uint64_t done, uint64_t total)
{
    struct verify_progress progress = {doing, done, total};

    if (verify->options->progress &&
        !verify->options->progress(verify->options->context, &progress))
        verify->stopped = true;
    return !verify_stopped(verify);
}

/* ---- statements ---- */

sqlite3_stmt *verify_prepare(struct verify *verify, sqlite3 *db, const char *sql,
                             enum verify_check check, const char *table)
{
    sqlite3_stmt *select = NULL;

    if (sqlite3_prepare_v2(db, sql, -1, &select, NULL) == SQLITE_OK)
        return select;
    verify_report_damage(verify, check, table, db);
    sqlite3_finalize(select);
    return NULL;
}

bool verify_step(struct verify *verify, sqlite3_stmt *select, enum verify_check check,
                 const char *table)
{
    int rc = sqlite3_step(select);

    if (rc == SQLITE_ROW)
        return true;
    if (rc != SQLITE_DONE)
        verify_report_damage(verify, check, table, sqlite3_db_handle(select));
    return false;
}

int64_t verify_ask(struct verify *verify, const char *sql, int64_t parameter, int64_t missing,
                   enum verify_check check)
{
    sqlite3_stmt *select = verify_prepare(verify, verify->db, sql, check, NULL);
    int64_t value = missing;

    if (!select)
        return missing;
    if (sqlite3_bind_parameter_count(select) > 0)
        sqlite3_bind_int64(select, 1, parameter);
    if (verify_step(verify, select, check, NULL) && sqlite3_column_type(select, 0) != SQLITE_NULL)
        value = sqlite3_column_int64(select, 0);
    sqlite3_finalize(select);
    return value;
}

void verify_rule_check(struct verify *verify, enum verify_rule_code rule, const int64_t *parameters)
{
    const struct verify_rule *row = &verify_rules[rule];
    sqlite3_stmt *broken = verify_prepare(verify, verify->db, row->select, row->check, row->table);
    int reported = 0;

    for (int i = 0; broken && i < sqlite3_bind_parameter_count(broken); i++)
        sqlite3_bind_int64(broken, i + 1, parameters[i]);
    while (broken && reported++ < VERIFY_FINDINGS_MAX &&
           verify_step(verify, broken, row->check, row->table)) {
        const char *values[COLUMNS_MAX] = {"", "", "", "", "", ""};

        for (int i = 0; i < COLUMNS_MAX && i < sqlite3_column_count(broken); i++)
            values[i] = text_at(broken, i);
        verify_report(verify, rule, row->check, row->table, values[0], row->message, values[1],
                      values[2], values[3], values[4], values[5]);
    }
    sqlite3_finalize(broken);
}

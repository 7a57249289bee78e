/* What every part of the verifier uses: findings, progress, and statements on evidence. */
#include "results/evidence/verify_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "harness/core/shortage.h"

#define MESSAGE_MAX 1024

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

static void report(struct verify *verify, const struct verify_finding *finding)
{
    if (verify_lacks(verify))
        return;
    if (finding->level == VERIFY_WRONG)
        verify->summary->wrong++;
    else
        verify->summary->notes++;
    if (verify->options->found)
        verify->options->found(verify->options->context, finding);
}

void verify_report(struct verify *verify, enum verify_level level, enum verify_check check,
                   const char *table, const char *key, const char *format, ...)
{
    char message[MESSAGE_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    report(verify, &(struct verify_finding){level, check, table, key, message});
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
    verify_report(verify, VERIFY_WRONG, check, table, sql ? key : NULL,
                  "is missing: there are %" PRId64 ", and the last is number %" PRId64, count,
                  most);
    free(sql);
}

void verify_report_damage(struct verify *verify, enum verify_check check, const char *table,
                          sqlite3 *db)
{
    const char *damage = verify_damage(verify, db);

    if (damage)
        verify_report(verify, VERIFY_WRONG, check, table, NULL, "cannot be read: %s", damage);
}

void verify_findings_add(struct verify_findings *findings, enum verify_level level,
                         enum verify_check check, const char *table, const char *key,
                         const char *format, ...)
{
    char message[MESSAGE_MAX];
    struct verify_note *note;
    va_list args;

    if (findings->count == findings->capacity) {
        size_t capacity = findings->capacity ? findings->capacity * 2 : 16;
        struct verify_note *grown = NULL;

        if (findings->count < VERIFY_FINDINGS_MAX)
            grown = realloc(findings->items, capacity * sizeof(*grown));
        if (!grown) {
            if (findings->count < VERIFY_FINDINGS_MAX)
                shortage_note();
            findings->unreported++;
            return;
        }
        findings->items = grown;
        findings->capacity = capacity;
    }
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    note = &findings->items[findings->count++];
    note->part = findings->part;
    note->finding = (struct verify_finding){level, check, table ? strdup(table) : NULL,
                                            key ? strdup(key) : NULL, strdup(message)};
    if ((table && !note->finding.table) || (key && !note->finding.key) || !note->finding.message)
        shortage_note();
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
        verify_report(verify, VERIFY_WRONG, VERIFY_ROW, NULL, NULL, "and %" PRId64 " more",
                      findings->unreported);
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

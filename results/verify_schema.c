#include <stdlib.h>
#include <string.h>

#include "harness/core/embed.h"
#include "results/verify_internal.h"

/* An empty database of the same version, made by our scripts. */
static enum status make_model(struct verify *verify, struct error *err)
{
    int count;
    const struct embed_file *scripts = store_migrations(&count);
    int version = (int)verify->summary->schema_version;

    if (sqlite3_open(":memory:", &verify->model) != SQLITE_OK ||
        record_register(verify->model) != SQLITE_OK)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    for (int i = 0; i < version && i < count; i++)
        if (sqlite3_exec(verify->model, scripts[i].text, NULL, NULL, NULL) != SQLITE_OK)
            return error_set(err, STATUS_INTERNAL, "schema version %d: %s", i + 1,
                             sqlite3_errmsg(verify->model));
    return store_install_triggers(verify->model, err);
}

/* Types are compared too: the schema table accepts a BLOB where text belongs. */
#define OBJECT_TEXT                                                                                \
    "typeof(type) || typeof(name) || typeof(tbl_name) || typeof(sql) || char(10) || tbl_name ||"   \
    " char(10) || coalesce(sql, '')"
#define ALL_OBJECTS "SELECT type, name, " OBJECT_TEXT " FROM sqlite_schema ORDER BY rowid"

/* Finds the statement of an object; ?1 its type, ?2 its name. */
static const char find_sql[] = "SELECT " OBJECT_TEXT " FROM sqlite_schema WHERE type = ?1 AND name"
                               " = ?2";

/* Whether the object of `row` (type, name, tbl_name and sql) is in a database, and the same there.
 */
static bool is_there(sqlite3_stmt *find, sqlite3_stmt *row, bool *ret_same)
{
    bool there;

    sqlite3_bind_text(find, 1, text_at(row, 0), -1, SQLITE_STATIC);
    sqlite3_bind_text(find, 2, text_at(row, 1), -1, SQLITE_STATIC);
    there = sqlite3_step(find) == SQLITE_ROW;
    *ret_same = there && strcmp(text_at(find, 0), text_at(row, 2)) == 0 &&
                sqlite3_column_bytes(find, 0) == sqlite3_column_bytes(row, 2);
    sqlite3_reset(find);
    return there;
}

static bool is_structure(const char *type)
{
    return strcmp(type, "table") == 0 || strcmp(type, "index") == 0;
}

/* Every object of ours must be there as we make it. */
static void compare_ours(struct verify *verify)
{
    sqlite3_stmt *ours = verify_prepare(verify, verify->model, ALL_OBJECTS, VERIFY_SCHEMA, NULL);
    sqlite3_stmt *find = verify_prepare(verify, verify->db, find_sql, VERIFY_SCHEMA, NULL);

    verify->readable = ours && find;
    while (ours && find && verify_step(verify, ours, VERIFY_SCHEMA, NULL)) {
        const char *type = text_at(ours, 0), *name = text_at(ours, 1);
        bool same, there = is_there(find, ours, &same);

        if (same)
            continue;
        verify_report(verify, VERIFY_WRONG, VERIFY_SCHEMA, name, NULL, "the %s %s %s", type, name,
                      there ? "is not the one that assay makes" : "is missing");
        if (is_structure(type))
            verify->readable = false;
    }
    sqlite3_finalize(ours);
    sqlite3_finalize(find);
}

/* And nothing else. */
static void compare_theirs(struct verify *verify)
{
    sqlite3_stmt *theirs = verify_prepare(verify, verify->db, ALL_OBJECTS, VERIFY_SCHEMA, NULL);
    sqlite3_stmt *find = verify_prepare(verify, verify->model, find_sql, VERIFY_SCHEMA, NULL);
    int reported = 0;

    while (theirs && find && reported < 100 && verify_step(verify, theirs, VERIFY_SCHEMA, NULL)) {
        struct text name;
        bool same;

        if (is_there(find, theirs, &same))
            continue;
        text_init(&name);
        text_append_printable(&name, text_at(theirs, 1), strlen(text_at(theirs, 1)));
        verify_report(verify, VERIFY_WRONG, VERIFY_SCHEMA, name.data, NULL,
                      "does not belong here: somebody added it");
        text_finish(&name);
        reported++;
    }
    sqlite3_finalize(theirs);
    sqlite3_finalize(find);
}

enum status verify_schema(struct verify *verify, struct error *err)
{
    enum status status = make_model(verify, err);

    if (status != STATUS_OK)
        return status;
    compare_ours(verify);
    compare_theirs(verify);
    if (!verify->readable)
        verify_report(verify, VERIFY_NOTE, VERIFY_SCHEMA, NULL, NULL,
                      "what follows the schema is not checked, because tables are not as expected");
    return STATUS_OK;
}

/* One line of PRAGMA integrity_check is one finding. */
enum status verify_structure(struct verify *verify, struct error *err)
{
    sqlite3_stmt *check =
        verify_prepare(verify, verify->db, "PRAGMA integrity_check(20)", VERIFY_FILE, NULL);

    (void)err;
    while (check && verify_step(verify, check, VERIFY_FILE, NULL)) {
        if (strcmp(text_at(check, 0), "ok") != 0)
            verify_report(verify, VERIFY_WRONG, VERIFY_FILE, NULL, NULL, "%s", text_at(check, 0));
    }
    sqlite3_finalize(check);
    return STATUS_OK;
}

/* The scripts of the schema, and what is made by them. */
#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "harness/core/text.h"
#include "results/store/schema_model.h"
#include "results/store/store_internal.h"

/* schema_1.sql, schema_2.sql ...: made of schema.sql and views.sql, embedded by assay_embed(). */
extern const struct embed_file store_schema[];
extern const size_t store_schema_count;

const struct embed_file *store_migrations(int *ret_count)
{
    *ret_count = (int)store_schema_count;
    return store_schema;
}

/* Refuses changes of what is stored. Names are those of the schema itself. */
enum status store_install_triggers(sqlite3 *db, struct error *err)
{
    static const struct {
        const char *suffix, *event, *end;
    } kinds[] = {{"no_update", "UPDATE", "changed"}, {"no_delete", "DELETE", "deleted"}};
    sqlite3_stmt *tables = NULL;
    struct text sql = TEXT_INIT;
    int rc = sqlite3_prepare_v2(db,
                                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT"
                                " LIKE 'sqlite!_%' ESCAPE '!' ORDER BY rowid",
                                -1, &tables, NULL);

    while (rc == SQLITE_OK && sqlite3_step(tables) == SQLITE_ROW) {
        const char *table = (const char *)sqlite3_column_text(tables, 0);
        /* What was withheld may come later, in another bundle. */
        const char *filling = table && !strcmp(table, "content")
                                  ? " WHEN OLD.body IS NOT NULL OR NEW.digest IS NOT OLD.digest"
                                  : "";

        for (size_t i = 0; table && i < 2; i++)
            text_append_format(
                &sql,
                "DROP TRIGGER IF EXISTS %s_%s;\n"
                "CREATE TRIGGER %s_%s BEFORE %s ON %s%s BEGIN\n"
                "    SELECT RAISE(ABORT, '%s is evidence: rows are added, never %s');\n"
                "END;\n",
                table, kinds[i].suffix, table, kinds[i].suffix, kinds[i].event, table,
                i == 0 ? filling : "", table, kinds[i].end);
    }
    sqlite3_finalize(tables);
    if (rc == SQLITE_OK)
        rc = text_ok(&sql) ? sqlite3_exec(db, sql.data, NULL, NULL, NULL) : SQLITE_NOMEM;
    text_finish(&sql);
    return rc == SQLITE_OK ? STATUS_OK
                           : error_set(err,
                                       (rc & 0xff) == SQLITE_NOMEM  ? STATUS_NO_MEMORY
                                       : (rc & 0xff) == SQLITE_FULL ? STATUS_NO_SPACE
                                                                    : STATUS_IO,
                                       "preparing the schema: %s", sqlite3_errstr(rc));
}

enum status schema_script_run(sqlite3 *db, const struct embed_file *scripts, int version,
                              struct error *err)
{
    if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        return error_no_memory(err);
    for (int i = 0; i < version; i++) {
        const int rc = sqlite3_exec(db, scripts[i].text, NULL, NULL, NULL);

        if (rc != SQLITE_OK)
            return error_set(err, rc == SQLITE_NOMEM ? STATUS_NO_MEMORY : STATUS_INTERNAL,
                             "schema version %d: %s", i + 1, sqlite3_errmsg(db));
    }
    TRY(store_install_triggers(db, err));
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        return error_no_memory(err);
    return STATUS_OK;
}

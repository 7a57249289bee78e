/* Binds the values of a bundle's rows to statements: opened or as placeholders, renumbered. */
#include "results/bundle_importer.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "results/withheld.h"

/* ---- renumbering ---- */

enum status bundle_remember(struct bundle_importer *importer, const char *table, int64_t there,
                            int64_t here, struct error *err)
{
    sqlite3_reset(importer->remember);
    sqlite3_bind_text(importer->remember, 1, table, -1, SQLITE_STATIC);
    sqlite3_bind_int64(importer->remember, 2, there);
    sqlite3_bind_int64(importer->remember, 3, here);
    return sqlite3_step(importer->remember) == SQLITE_DONE ? STATUS_OK
                                                           : bundle_failed(importer->store, err);
}

bool bundle_recall(struct bundle_importer *importer, const char *table, int64_t there, int64_t *ret)
{
    bool known;

    sqlite3_reset(importer->recall);
    sqlite3_bind_text(importer->recall, 1, table, -1, SQLITE_STATIC);
    sqlite3_bind_int64(importer->recall, 2, there);
    known = sqlite3_step(importer->recall) == SQLITE_ROW;
    if (known)
        *ret = sqlite3_column_int64(importer->recall, 0);
    return known;
}

/* ---- values ---- */

static enum status bind_blob(sqlite3_stmt *statement, int number, const json_t *base64)
{
    unsigned char *bytes = NULL;
    size_t length = 0;

    if (!bundle_decode(base64, &bytes, &length))
        return STATUS_CORRUPT;
    return sqlite3_bind_blob64(statement, number, bytes, length, free) == SQLITE_OK
               ? STATUS_OK
               : STATUS_NO_MEMORY;
}

enum status bundle_bind_value(struct bundle_importer *importer, const struct bundle_table *table,
                              int i, const struct bundle_row *row, sqlite3_stmt *statement,
                              int number)
{
    const struct bundle_column *column = &table->columns[i];
    const json_t *value = json_object_get(row->row, column->name);
    const char *commitment = json_string_value(json_object_get(value, "commitment"));
    const char *bits = NULL;
    int64_t integer;

    importer->is_withheld[i] = false;
    if (commitment) {
        const json_t *opened = json_object_get(row->values, column->name);

        if (!opened) {
            importer->is_withheld[i] = digest_from_hex(commitment, &importer->commitments[i]);
            withheld_bind(statement, number, column->name, column->is_blob,
                          &importer->commitments[i]);
            return importer->is_withheld[i] ? STATUS_OK : STATUS_CORRUPT;
        }
        value = json_object_get(opened, "value");
    }
    if (!value)
        return sqlite3_bind_null(statement, number) == SQLITE_OK ? STATUS_OK : STATUS_NO_MEMORY;
    if (json_is_string(value))
        return sqlite3_bind_text(statement, number, json_string_value(value),
                                 (int)json_string_length(value), SQLITE_TRANSIENT) == SQLITE_OK
                   ? STATUS_OK
                   : STATUS_NO_MEMORY;
    if (json_is_integer(value)) {
        integer = json_integer_value(value);
        if (column->parent[0] && !bundle_recall(importer, column->parent, integer, &integer))
            return STATUS_CORRUPT;
        sqlite3_bind_int64(statement, number, integer);
        return STATUS_OK;
    }
    bits = json_string_value(json_object_get(value, "ieee754"));
    if (bits) {
        const uint64_t pattern = strtoull(bits, NULL, 16);
        double real;

        memcpy(&real, &pattern, sizeof(real));
        sqlite3_bind_double(statement, number, real);
        return STATUS_OK;
    }
    return bind_blob(statement, number, json_object_get(row->blobs, column->name));
}

/* Rows of trials in an estimate: members "trial". */
static void renumber(struct bundle_importer *importer, json_t *json)
{
    const char *key;
    json_t *member;
    void *next;
    size_t i;

    json_array_foreach(json, i, member) renumber(importer, member);
    json_object_foreach_safe(json, next, key, member)
    {
        int64_t id;

        if (strcmp(key, "trial") != 0 || !json_is_integer(member))
            renumber(importer, member);
        else if (bundle_recall(importer, "trial", json_integer_value(member), &id))
            json_object_set_new(json, key, json_integer(id));
    }
}

/* An estimate names its trials by number. */
enum status bundle_renumber_estimate(struct bundle_importer *importer,
                                     const struct bundle_table *table, const struct bundle_row *row,
                                     struct error *err)
{
    int body = -1;
    const char *text = json_string_value(json_object_get(row->row, "body"));
    json_t *estimate = text ? json_loads(text, 0, NULL) : NULL;
    char *dumped = NULL;
    enum status status = STATUS_OK;

    for (int i = 0; i < table->column_count; i++)
        if (!strcmp(table->columns[i].name, "body"))
            body = i;
    if (estimate && body >= 0) {
        renumber(importer, estimate);
        status = canonical_dump(estimate, &dumped, err);
        if (status == STATUS_OK)
            sqlite3_bind_text(table->insert, body + 1, dumped, -1, SQLITE_TRANSIENT);
    }
    free(dumped);
    json_decref(estimate);
    return status;
}

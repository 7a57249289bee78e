/* Each record by itself: its form, its type, and its digest. */
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "results/evidence/verify_internal.h"

#define RECORDS_STEP 256

/*
 * The salts of a record as its row has them. `ret_each` is heap JSON, or NULL. False: they are of
 * no form that salts have.
 */
static bool read_salts(sqlite3_stmt *row, int column, struct record_salts *ret, json_t **ret_each)
{
    const void *bytes = sqlite3_column_blob(row, column);
    const int length = sqlite3_column_bytes(row, column);

    *ret = (struct record_salts){0};
    *ret_each = NULL;
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_NULL:
        return true;
    case SQLITE_BLOB:
        if (length != DIGEST_SIZE)
            return false;
        memcpy(ret->all.bytes, bytes, DIGEST_SIZE);
        ret->has_all = true;
        return true;
    case SQLITE_TEXT:
        if (canonical_parse(bytes, (size_t)length, "salts", ret_each, NULL) != STATUS_OK)
            return false;
        ret->each = *ret_each;
        return json_is_object(*ret_each);
    default:
        return false;
    }
}

/*
 * Whether a record has the salts that it needs and no others, so that none can be changed. In the
 * own log they follow from its secret, and nothing is withheld.
 */
static bool salts_fit(const struct verify *verify, const struct record_type *type, const char *body,
                      size_t length, const struct record_salts *salts,
                      const struct record_count *members, bool is_own)
{
    struct digest salt;

    if (is_own) {
        if (members->withheld != 0 || salts->has_all != (*type->committed != '\0'))
            return false;
        if (salts->has_all)
            salt = record_salt(&verify->secret, body, length);
        return !salts->has_all || digest_equal(&salts->all, &salt);
    }
    if (salts->each)
        return members->withheld > 0 && json_object_size(salts->each) == members->open;
    return members->withheld == 0 && salts->has_all == (members->open > 0);
}

/* columns: 0 id, 1 type, 2 digest, 3 salt, 4 body, 5 log */
static void check_record(struct verify_worker *worker, sqlite3_stmt *row)
{
    const bool is_own = sqlite3_column_int64(row, 5) == 1;
    const struct record_type *type = record_type_find(text_at(row, 1));
    const void *stored = sqlite3_column_blob(row, 2);
    struct record_salts salts;
    struct record_count members;
    struct error err = ERROR_INIT;
    struct digest digest;
    json_auto_t *each = NULL;
    char key[24];
    enum status status = STATUS_CORRUPT;

    worker->done++;
    if (!type || (size_t)sqlite3_column_bytes(row, 1) != strlen(type->name))
        error_set(&err, status, "is of a type that this assay does not know: %.40s",
                  text_at(row, 1));
    else if (!read_salts(row, 3, &salts, &each))
        error_set(&err, status, "has no salt of the form that salts have");
    else
        status = record_digest(type, text_at(row, 4), (size_t)sqlite3_column_bytes(row, 4), &salts,
                               &digest, &members, &err);
    if (status == STATUS_OK && (!stored || sqlite3_column_bytes(row, 2) != DIGEST_SIZE ||
                                memcmp(stored, digest.bytes, DIGEST_SIZE) != 0))
        status = error_set(&err, STATUS_CORRUPT,
                           "is not the record that entered the log: its digest differs (%s)",
                           type->name);
    if (status == STATUS_OK &&
        !salts_fit(worker->verify, type, text_at(row, 4), (size_t)sqlite3_column_bytes(row, 4),
                   &salts, &members, is_own))
        status = error_set(&err, STATUS_CORRUPT, "has other salts than it needs (%s)", type->name);
    if (status != STATUS_OK)
        VERIFY_ADD(&worker->findings, RECORD_FORM, key_of(row, key), err.message);
}

static void check_part(struct verify_worker *worker, int64_t first, int64_t end)
{
    sqlite3_stmt *row = NULL;
    int rc = sqlite3_prepare_v2(worker->db,
                                "SELECT id, type, digest, salt, body, log FROM record"
                                " WHERE id > ?1 AND id <= ?2 ORDER BY id",
                                -1, &row, NULL);

    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(row, 1, first);
        sqlite3_bind_int64(row, 2, end);
        while (!verify_stopped(worker->verify) && (rc = sqlite3_step(row)) == SQLITE_ROW)
            check_record(worker, row);
    }
    if (rc != SQLITE_DONE && !verify_stopped(worker->verify))
        VERIFY_ADD(&worker->findings, RECORDS_UNREADABLE, NULL, sqlite3_errmsg(worker->db));
    sqlite3_finalize(row);
}

/* The secret of the own log, from which its salts follow. */
static void load_secret(struct verify *verify)
{
    sqlite3_stmt *row = verify_prepare(verify, verify->db, "SELECT secret FROM log WHERE id = 1",
                                       VERIFY_RECORD, "log");

    if (row && verify_step(verify, row, VERIFY_RECORD, "log") &&
        sqlite3_column_bytes(row, 0) == DIGEST_SIZE)
        memcpy(verify->secret.bytes, sqlite3_column_blob(row, 0), DIGEST_SIZE);
    sqlite3_finalize(row);
}

enum status verify_records(struct verify *verify, struct error *err)
{
    const int64_t most = verify_ask(verify, "SELECT max(id) FROM record", 0, 0, VERIFY_RECORD);
    const int64_t count = verify_ask(verify, "SELECT count(*) FROM record", 0, 0, VERIFY_RECORD);

    load_secret(verify);
    if (most != count) {
        verify_report_gap(verify, VERIFY_RECORD, "record", count, most);
        if (most > count * 1000 + 1000)
            return STATUS_OK;
    }
    return verify_share(verify, "records", most, RECORDS_STEP, check_part, &verify->summary->rows,
                        err);
}

#include "results/record/record.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "harness/core/embed.h"

/* Generated from projection.sql by assay_embed(). */
extern const struct embed_file record_projections[];
extern const size_t record_projections_count;

/* A kind of record is a row here and its statements in projection.sql. */
const struct record_type record_types[] = {
    {"amendment", "author reason", false},
    {"bundle", "file", false},
    {"campaign", "command", false},
    {"checkpoint", "", false},
    {"choice", "", false},
    {"claim", "body", false},
    {"comparison", "body", false},
    {"declaration", "origin", true},
    {"device", "name uuid vendor", true},
    {"doctor", "", false},
    {"dump", "message", false},
    {"estimate", "", false},
    {"event", "detail", false},
    {"import", "file sha256", false},
    {"log", "", false},
    {"readings", "readings/*", true},
    {"signature", "", false},
    {"stack", "components/#/path components/#/missing_reason", true},
    {"timestamp", "", false},
    {"trial", "facts message telemetry/#/message", false},
    {"trial_begin", "", false},
};
#define TYPES (sizeof(record_types) / sizeof(record_types[0]))
const size_t record_types_count = TYPES;

#define STATEMENTS_MAX 10

/* The statements of projection.sql by type; made once. */
static struct {
    char *text; /* heap: the file, cut at the statements' ends */
    const char *statements[TYPES][STATEMENTS_MAX + 1];
} cut;
static pthread_once_t once = PTHREAD_ONCE_INIT;

const struct record_type *record_type_find(const char *name)
{
    for (size_t i = 0; i < TYPES; i++)
        if (!strcmp(record_types[i].name, name))
            return &record_types[i];
    return NULL;
}

/* Sections begin with "--- TYPE"; a statement, with "-- each" before it, ends with a semicolon at
 * the end of a line. */
static void cut_statements(void)
{
    char *at = strdup(record_projections[0].text), *end;
    size_t type = TYPES, count = 0;

    cut.text = at;
    for (; at && *at; at = end + 1) {
        end = strchr(at, '\n');
        if (!end)
            return;
        if (!strncmp(at, "--- ", 4)) {
            *end = '\0';
            for (type = 0; type < TYPES && strcmp(record_types[type].name, at + 4) != 0; type++)
                ;
            count = 0;
        } else if ((*at != '-' || !strncmp(at, RECORD_EACH, strlen(RECORD_EACH))) && *at != '\n' &&
                   type < TYPES && count < STATEMENTS_MAX) {
            end = strstr(at, ";\n");
            if (!end)
                return;
            *end++ = '\0';
            cut.statements[type][count++] = at;
        }
    }
}

const char *record_projection(const struct record_type *type, size_t i)
{
    pthread_once(&once, cut_statements);
    return i < STATEMENTS_MAX ? cut.statements[type - record_types][i] : NULL;
}

/* ---- the functions of projection.sql ---- */

/* assay_hex(TEXT): the bytes; NULL for anything else, digits above 9 in capitals included. */
static void sql_hex(sqlite3_context *context, int count, sqlite3_value **values)
{
    const char *text = (const char *)sqlite3_value_text(values[0]);
    const size_t length = (size_t)sqlite3_value_bytes(values[0]);
    unsigned char *bytes = text && length % 2 == 0 ? sqlite3_malloc64(length / 2 + 1) : NULL;
    size_t used = 0;

    (void)count;
    if (text && length % 2 == 0 && !bytes)
        sqlite3_result_error_nomem(context);
    if (bytes && strspn(text, "0123456789abcdef") == length &&
        sodium_hex2bin(bytes, length / 2 + 1, text, length, NULL, &used, NULL) == 0 &&
        used == length / 2) {
        sqlite3_result_blob64(context, bytes, used, sqlite3_free);
        return;
    }
    sqlite3_free(bytes);
}

/* assay_sha256(TEXT) as 32 bytes. */
static void sql_sha256(sqlite3_context *context, int count, sqlite3_value **values)
{
    const void *text = sqlite3_value_text(values[0]);
    struct digest digest;

    (void)count;
    if (!text)
        return;
    digest = digest_bytes(text, (size_t)sqlite3_value_bytes(values[0]));
    sqlite3_result_blob(context, digest.bytes, DIGEST_SIZE, SQLITE_TRANSIENT);
}

int record_register(sqlite3 *db)
{
    static const struct {
        const char *name;
        void (*function)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {{"assay_hex", sql_hex}, {"assay_sha256", sql_sha256}};
    int rc = SQLITE_OK;

    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]) && rc == SQLITE_OK; i++)
        rc = sqlite3_create_function_v2(db, functions[i].name, 1,
                                        SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL,
                                        functions[i].function, NULL, NULL, NULL);
    return rc;
}

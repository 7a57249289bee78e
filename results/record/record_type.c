#include "results/record/record.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "harness/core/embed.h"

/* Generated from projection.sql by assay_embed(). */
extern const struct embed_file record_projections[];
extern const size_t record_projections_count;

#define TYPES_MAX 32
#define STATEMENTS_MAX 10
#define TEXT_MAX (1 << 15)

/* projection.sql by types; made once. */
static struct {
    char text[TEXT_MAX]; /* the file, cut at the ends of heads and statements */
    struct record_type types[TYPES_MAX + 1];
    const char *statements[TYPES_MAX][STATEMENTS_MAX + 1];
    size_t count;
} cut;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Of "TYPE shared: PATHS". */
static void cut_head(char *head)
{
    char *paths = strstr(head, ": "), *shared = strstr(head, " shared");

    if (paths)
        *paths = '\0';
    if (shared)
        *shared = '\0';
    cut.types[cut.count++] = (struct record_type){head, paths ? paths + 2 : "", shared != NULL};
}

/* Sections begin with "--- TYPE"; a statement, with "-- each" before it, ends with a semicolon at
 * the end of a line. */
static void cut_statements(void)
{
    char *at = cut.text, *end;
    size_t count = 0;

    memcpy(at, record_projections[0].text, strnlen(record_projections[0].text, TEXT_MAX - 1));
    for (; *at && (end = strchr(at, '\n')); at = end + 1) {
        if (!strncmp(at, "--- ", 4) && cut.count < TYPES_MAX) {
            *end = '\0';
            cut_head(at + 4);
            count = 0;
        } else if ((*at != '-' || !strncmp(at, RECORD_EACH, strlen(RECORD_EACH))) && *at != '\n' &&
                   cut.count > 0 && count < STATEMENTS_MAX) {
            end = strstr(at, ";\n");
            if (!end)
                return;
            *end++ = '\0';
            cut.statements[cut.count - 1][count++] = at;
        }
    }
}

const struct record_type *record_type_at(size_t i)
{
    pthread_once(&once, cut_statements);
    return i < cut.count ? &cut.types[i] : NULL;
}

const struct record_type *record_type_find(const char *name)
{
    const struct record_type *type;

    for (size_t i = 0; (type = record_type_at(i)); i++)
        if (!strcmp(type->name, name))
            return type;
    return NULL;
}

const char *record_projection(const struct record_type *type, size_t i)
{
    return i < STATEMENTS_MAX ? cut.statements[type - cut.types][i] : NULL;
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

#include "results/bundle_withhold.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "harness/core/canonical.h"
#include "harness/core/text.h"
#include "results/ledger.h"
#include "results/store_internal.h"

/* Bytes; a shorter value occurs everywhere by chance. More for a pattern, which may match "cpu". */
#define SECRET_LENGTH_MIN 3
#define PATTERN_LENGTH_MIN 6

/* A value that is withheld, in one encoding, to be searched for elsewhere. */
struct bundle_secret {
    char *text;
    size_t length;
};

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no memory for the bundle");
}

static bool is_pattern(const char *word)
{
    return strpbrk(word, "*?[") != NULL;
}

/* Whether an option's value, "device.uuid" or "device.*", names the column. */
static bool is_column(const char *word, const char *table, const char *column)
{
    char name[64];

    return (size_t)snprintf(name, sizeof(name), "%s.%s", table, column) < sizeof(name) &&
           (is_pattern(word) ? fnmatch(word, name, 0) == 0 : strcmp(word, name) == 0);
}

static enum status add_spelling(struct bundle_secrets *secrets, const char *text, size_t length,
                                struct error *err)
{
    struct bundle_secret *grown;

    for (size_t i = 0; i < secrets->count; i++)
        if (!strcmp(secrets->items[i].text, text))
            return STATUS_OK;
    grown = realloc(secrets->items, (secrets->count + 1) * sizeof(*grown));
    if (!grown)
        return no_memory(err);
    secrets->items = grown;
    grown[secrets->count] = (struct bundle_secret){text_format("%s", text), length};
    return grown[secrets->count++].text ? STATUS_OK : no_memory(err);
}

/* As the value stands inside a JSON string. */
static char *escaped(const char *text)
{
    struct text out;

    text_init(&out);
    canonical_append_string(&out, text, strlen(text));
    if (text_ok(&out)) {
        out.data[out.length - 1] = '\0';
        memmove(out.data, out.data + 1, out.length - 1);
    }
    return text_steal(&out);
}

/* The value, the value in JSON, in JSON within JSON, and in hex. */
static enum status add_secret(struct bundle_secrets *secrets, const char *text, size_t shortest,
                              struct error *err)
{
    const size_t length = text ? strlen(text) : 0;
    char *once, *twice, *hex;
    enum status status;

    if (length < shortest)
        return STATUS_OK;
    once = escaped(text);
    twice = once ? escaped(once) : NULL;
    hex = malloc(2 * length + 1);
    if (once && twice && hex) {
        sodium_bin2hex(hex, 2 * length + 1, (const unsigned char *)text, length);
        status = add_spelling(secrets, text, length, err);
        if (status == STATUS_OK)
            status = add_spelling(secrets, once, strlen(once), err);
        if (status == STATUS_OK)
            status = add_spelling(secrets, twice, strlen(twice), err);
        if (status == STATUS_OK && length >= PATTERN_LENGTH_MIN)
            status = add_spelling(secrets, hex, 2 * length, err);
    } else {
        status = no_memory(err);
    }
    free(once);
    free(twice);
    free(hex);
    return status;
}

static size_t shortest_of(const char *word)
{
    return is_pattern(word) ? PATTERN_LENGTH_MIN : SECRET_LENGTH_MIN;
}

/* The readings of the campaigns that an option's value names; their values become secrets. */
static enum status add_readings(struct bundle_secrets *secrets, struct store *store,
                                const char *word, size_t *ret_found, struct error *err)
{
    sqlite3_stmt *select = NULL;
    enum status status = STATUS_OK;
    int rc =
        sqlite3_prepare_v2(store->db,
                           "SELECT r.name, json_extract(r.body, '$.value'),"
                           " json_type(r.body, '$.value') = 'text' FROM temp.bundle_place p"
                           " JOIN main.reading r ON r.id = p.key WHERE p.table_name = 'reading'",
                           -1, &select, NULL);

    while (rc == SQLITE_OK && status == STATUS_OK && (rc = sqlite3_step(select)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(select, 0);

        if (name && fnmatch(word, name, 0) == 0) {
            ++*ret_found;
            /* Numbers are not unique: a cache's size may equal an unrelated number. */
            if (!is_pattern(word) || sqlite3_column_int(select, 2))
                status = add_secret(secrets, (const char *)sqlite3_column_text(select, 1),
                                    shortest_of(word), err);
        }
        rc = SQLITE_OK;
    }
    if (status == STATUS_OK && rc != SQLITE_DONE)
        status = store_error(store, rc, "reading what to withhold", err);
    sqlite3_finalize(select);
    return status;
}

/* The texts that a query gives become secrets; takes `sql`. */
static enum status add_texts(struct bundle_secrets *secrets, struct store *store, char *sql,
                             size_t shortest, size_t *ret_found, struct error *err)
{
    sqlite3_stmt *select = NULL;
    enum status status = STATUS_OK;
    int rc = sql ? sqlite3_prepare_v2(store->db, sql, -1, &select, NULL) : SQLITE_NOMEM;

    while (rc == SQLITE_OK && status == STATUS_OK && (rc = sqlite3_step(select)) == SQLITE_ROW) {
        if (sqlite3_column_type(select, 0) == SQLITE_TEXT)
            status =
                add_secret(secrets, (const char *)sqlite3_column_text(select, 0), shortest, err);
        ++*ret_found;
        rc = SQLITE_OK;
    }
    if (status == STATUS_OK && rc != SQLITE_DONE)
        status = store_error(store, rc, "reading what to withhold", err);
    sqlite3_finalize(select);
    free(sql);
    return status;
}

/* The output of tools is in `content`, where each is withheld as a whole. */
#define DUMPS                                                                                      \
    "SELECT c.body FROM main.dump d JOIN main.content c ON c.digest = d.output"                    \
    " WHERE d.campaign IN (SELECT id FROM temp.bundle_campaign)"

/* An import's plan names the file by its digest, which would confirm a guess. */
#define IMPORTED                                                                                   \
    "SELECT lower(hex(sha256)) FROM main.import"                                                   \
    " WHERE campaign IN (SELECT id FROM temp.bundle_campaign)"

/* "device.uuid" may be a column, a reading, or both, and "device.*" many of each. */
static enum status add_word(struct bundle_secrets *secrets, struct store *store, const char *word,
                            struct error *err)
{
    const size_t shortest = shortest_of(word);
    const char *table, *column;
    bool of_import = false;
    size_t found = 0;
    enum status status = add_readings(secrets, store, word, &found, err);

    if (status == STATUS_OK && is_column(word, "dump", "output"))
        status = add_texts(secrets, store, strdup(DUMPS), shortest, &found, err);
    for (size_t i = 0; status == STATUS_OK && ledger_committed_at(i, &table, &column); i++) {
        if (!bundle_condition(table) || !is_column(word, table, column))
            continue;
        of_import |= !strcmp(table, "claim") || !strcmp(table, "import");
        status = add_texts(
            secrets, store,
            text_format("SELECT %s FROM main.%s WHERE %s", column, table, bundle_condition(table)),
            shortest, &found, err);
    }
    if (status == STATUS_OK && of_import)
        status = add_texts(secrets, store, strdup(IMPORTED), shortest, &(size_t){0}, err);
    if (status == STATUS_OK && found == 0)
        return error_set(
            err, STATUS_INVALID,
            "--withhold %s: neither a reading of these campaigns nor a column that can "
            "be withheld; `assay show --json` lists readings, results/BUNDLE.md columns",
            word);
    return status;
}

bool bundle_secrets_are_in(const struct bundle_secrets *secrets, const void *bytes, size_t length)
{
    for (size_t i = 0; i < secrets->count; i++)
        if (memmem(bytes, length, secrets->items[i].text, secrets->items[i].length))
            return true;
    return false;
}

/* A reading that an option names is withheld whatever its value, even "0". */
bool bundle_secrets_name(const struct bundle_secrets *secrets, const char *table,
                         const char *column, const char *reading)
{
    for (size_t i = 0; i < secrets->options->withhold_count; i++) {
        const char *word = secrets->options->withhold[i];

        if (is_column(word, table, column) ||
            (reading && (!strcmp(column, "body") || !strcmp(column, "hash")) &&
             fnmatch(word, reading, 0) == 0))
            return true;
    }
    return false;
}

bool bundle_secrets_tell(const struct bundle_secrets *secrets, const char *table,
                         const char *column)
{
    static const char *const digests[][2] = {{"component", "digest"},
                                             {"device", "digest"},
                                             {"import", "sha256"},
                                             {"reading_set", "digest"},
                                             {"stack", "digest"}};

    for (size_t i = 0; i < 5 && secrets->options->withhold_count > 0; i++)
        if (!strcmp(table, digests[i][0]) && !strcmp(column, digests[i][1]))
            return true;
    return false;
}

enum status bundle_secrets_gather(struct bundle_secrets *secrets, struct store *store,
                                  const struct bundle_options *options, struct error *err)
{
    enum status status = STATUS_OK;

    *secrets = (struct bundle_secrets){.options = options};
    for (size_t i = 0; i < options->withhold_count && status == STATUS_OK; i++)
        status = add_word(secrets, store, options->withhold[i], err);
    return status;
}

void bundle_secrets_finish(struct bundle_secrets *secrets)
{
    for (size_t i = 0; i < secrets->count; i++)
        free(secrets->items[i].text);
    free(secrets->items);
    memset(secrets, 0, sizeof(*secrets));
}

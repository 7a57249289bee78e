/*
 * A database of any size, to measure how the store and the commands grow with it.
 *
 * usage: make_results DATABASE COPIES
 *
 * Adds so many copies of the oldest campaign that `assay run` measured here: its records once more
 * under a uid of its own, in their order, with its samples and its heads, as if the same had been
 * measured again to the nanosecond. So each copy keeps all that `assay verify` asks of a campaign,
 * its estimates follow from its samples, and the file is as large as a real one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "harness/core/text.h"
#include "results/evidence/ledger.h"
#include "results/store/store_internal.h"

#define BATCH 50 /* campaigns in one transaction */
#define WAIT_NS INT64_C(3600000000000)

/* A record of the campaign that is copied. */
struct original {
    char type[16];
    json_t *body;
    int64_t trial; /* whose end it is; 0: none */
    char digest[DIGEST_HEX_SIZE];
};

struct copier {
    struct store *store;
    struct original *originals; /* heap */
    size_t count;
    json_t *renamed; /* digests of the originals: those of the copies, of this campaign */
};

/* Records about the campaign alone, and no signatures: the bench has no key. */
static enum status load(struct copier *copier, struct error *err)
{
    sqlite3_stmt *row = NULL;
    int rc = sqlite3_prepare_v2(
        copier->store->db,
        "SELECT r.type, r.body, (SELECT e.trial FROM trial_end e WHERE e.record = r.id),"
        " lower(hex(r.digest)) FROM about a JOIN record r ON r.id = a.record WHERE a.campaign ="
        " (SELECT min(record) FROM campaign) AND r.type NOT IN ('signature', 'timestamp') ORDER BY"
        " r.id",
        -1, &row, NULL);

    while (rc == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW) {
        struct original *grown =
            realloc(copier->originals, (copier->count + 1) * sizeof(*copier->originals));
        struct original *original = grown + copier->count;

        if (!grown)
            return error_set(err, STATUS_NO_MEMORY, "out of memory");
        copier->originals = grown;
        *original = (struct original){
            .body = json_loads((const char *)sqlite3_column_text(row, 1), JSON_DECODE_ANY, NULL),
            .trial = sqlite3_column_int64(row, 2)};
        snprintf(original->type, sizeof(original->type), "%s",
                 (const char *)sqlite3_column_text(row, 0));
        snprintf(original->digest, sizeof(original->digest), "%s",
                 (const char *)sqlite3_column_text(row, 3));
        copier->count += original->body != NULL;
    }
    sqlite3_finalize(row);
    return copier->count > 0 ? STATUS_OK
                             : error_set(err, STATUS_NOT_FOUND, "there is no campaign to copy");
}

/* References to records of the campaign become those to their copies. */
static void rename_references(const struct copier *copier, json_t *value)
{
    const char *name;
    json_t *member;
    void *next;
    size_t i;

    json_array_foreach(value, i, member) rename_references(copier, member);
    json_object_foreach_safe(value, next, name, member)
    {
        json_t *copy = json_is_string(member) && !strcmp(name, "record")
                           ? json_object_get(copier->renamed, json_string_value(member))
                           : NULL;

        if (copy)
            json_object_set(value, name, copy);
        else
            rename_references(copier, member);
    }
}

static enum status copy_series(struct copier *copier, int64_t from, int64_t record,
                               struct error *err)
{
    struct statement statement;
    enum status status =
        statement_begin(copier->store,
                        "INSERT INTO series (trial, name, first, count, minimum, maximum, total,"
                        " data) SELECT (SELECT trial FROM trial_end WHERE record = ?1), name,"
                        " first, count, minimum, maximum, total, data FROM series WHERE trial = ?2",
                        &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, record);
    statement_i64(&statement, from);
    return statement_run(&statement, NULL, err);
}

static enum status copy_record(struct copier *copier, const struct original *original,
                               const char *uid, struct error *err)
{
    struct record_body body = {.store = copier->store,
                               .json = json_deep_copy(original->body),
                               .type = original->type,
                               .err = err};
    struct store_record copy;
    char hex[DIGEST_HEX_SIZE];

    if (!strcmp(original->type, "campaign"))
        body_text(&body, "uid", uid);
    rename_references(copier, body.json);
    body_enter(&body, &copy);
    TRY(body_close(&body));
    json_object_set_new(copier->renamed, original->digest,
                        json_string(digest_hex(&copy.digest, hex)));
    return original->trial ? copy_series(copier, original->trial, copy.id, err) : STATUS_OK;
}

static enum status copy_campaign(struct copier *copier, struct error *err)
{
    struct statement statement;
    int64_t campaign = 0;
    struct digest digest;
    char uid[STORE_UID_SIZE];

    TRY(statement_begin(copier->store, "SELECT max(id) + 1 FROM campaign", &statement, err));
    TRY(statement_single(&statement, &campaign, err));
    digest = digest_bytes(&campaign, sizeof(campaign));
    digest_hex(&digest, uid);
    json_object_clear(copier->renamed);
    for (size_t i = 0; i < copier->count; i++) {
        const struct original *original = &copier->originals[i];
        const char *kind = json_string_value(json_object_get(original->body, "kind"));

        if (strcmp(original->type, "checkpoint") != 0)
            TRY(copy_record(copier, original, uid, err));
        else
            TRY(ledger_insert_head(copier->store, kind, &campaign, 1, NULL, NULL, err));
    }
    return STATUS_OK;
}

static enum status copy_all(struct copier *copier, int64_t copies, struct error *err)
{
    enum status status = load(copier, err);

    for (int64_t i = 0; i < copies && status == STATUS_OK; i += BATCH) {
        status = store_change_begin(copier->store, err);
        for (int64_t k = i; k < copies && k < i + BATCH && status == STATUS_OK; k++)
            status = copy_campaign(copier, err);
        status = store_change_end(copier->store, status, err);
    }
    return status;
}

int main(int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct copier copier = {.renamed = json_object()};
    int64_t copies;
    enum status status;

    if (argc != 3 || !text_parse_i64(argv[2], &copies)) {
        fprintf(stderr, "usage: make_results DATABASE COPIES\n");
        return 2;
    }
    status = store_open(argv[1], STORE_WRITE, WAIT_NS, &copier.store, &err);
    if (status == STATUS_OK)
        status = copy_all(&copier, copies, &err);
    if (status != STATUS_OK)
        fprintf(stderr, "make_results: %s\n", err.message);
    store_close(copier.store);
    for (size_t i = 0; i < copier.count; i++)
        json_decref(copier.originals[i].body);
    free(copier.originals);
    json_decref(copier.renamed);
    return status == STATUS_OK ? 0 : 1;
}

#include "results/store/store_draft.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/array.h"
#include "harness/core/member.h"

struct draft_series {
    char *name; /* heap */
    int64_t count;
    struct store_chunk *chunks; /* heap */
    size_t chunk_count;
};

static void draft_free(struct store_draft *draft)
{
    for (size_t i = 0; i < draft->series_count; i++) {
        for (size_t k = 0; k < draft->series[i].chunk_count; k++)
            free(draft->series[i].chunks[k].bytes);
        free(draft->series[i].chunks);
        free(draft->series[i].name);
    }
    free(draft->series);
    json_decref(draft->body);
    json_decref(draft->blobs);
    free(draft);
}

void store_drafts_finish(struct store *store)
{
    while (store->drafts) {
        struct store_draft *next = store->drafts->next;

        draft_free(store->drafts);
        store->drafts = next;
    }
}

void draft_remove(struct store *store, int64_t trial)
{
    struct store_draft **place = &store->drafts;

    while (*place && (*place)->trial != trial)
        place = &(*place)->next;
    if (*place) {
        struct store_draft *draft = *place;

        *place = draft->next;
        draft_free(draft);
    }
}

enum status draft_find(struct store *store, int64_t trial, struct store_draft **ret,
                       struct error *err)
{
    for (struct store_draft *draft = store->drafts; draft; draft = draft->next)
        if (draft->trial == trial) {
            *ret = draft;
            return STATUS_OK;
        }
    return error_set(err, STATUS_INVALID,
                     "%s: trial %lld has not begun, or has ended: nothing can be added to it",
                     store->path, (long long)trial);
}

enum status draft_create(struct store *store, int64_t trial, struct error *err)
{
    struct store_draft *draft = calloc(1, sizeof(*draft));

    if (!draft)
        return error_no_memory(err);
    draft->body = json_object();
    draft->blobs = json_array();
    if (!draft->body || !draft->blobs) {
        draft_free(draft);
        return error_no_memory(err);
    }
    draft->trial = trial;
    draft->next = store->drafts;
    store->drafts = draft;
    return STATUS_OK;
}

struct record_body draft_body(struct store *store, int64_t trial, struct error *err)
{
    struct store_draft *draft = NULL;
    struct record_body body = {.store = store, .type = "trial", .err = err};

    body.status = draft_find(store, trial, &draft, err);
    body.json = draft ? draft->body : NULL;
    return body;
}

enum status draft_add_blob(struct store *store, int64_t trial, char *text, struct digest *ret,
                           struct error *err)
{
    struct store_draft *draft = NULL;
    enum status status = draft_find(store, trial, &draft, err);

    if (status == STATUS_OK &&
        (!text || json_array_append_new(draft->blobs, json_string_nocheck(text)) != 0))
        status = error_no_memory(err);
    if (status == STATUS_OK)
        *ret = digest_bytes(text, strlen(text));
    free(text);
    return status;
}

/* ---- samples ---- */

static struct draft_series *find_series(struct store_draft *draft, const char *name)
{
    for (size_t i = 0; i < draft->series_count; i++)
        if (!strcmp(draft->series[i].name, name))
            return &draft->series[i];
    if (!ARRAY_ROOM(draft->series, draft->series_count, 1))
        return NULL;
    draft->series[draft->series_count] = (struct draft_series){.name = strdup(name)};
    return draft->series[draft->series_count].name ? &draft->series[draft->series_count++] : NULL;
}

static bool add_chunk(struct draft_series *series, const int64_t *values, size_t count)
{
    uint8_t bytes[SERIES_ENCODED_MAX];
    struct store_chunk chunk = {.first = series->count,
                                .count = (int64_t)count,
                                .facts = series_measure(values, count),
                                .length = series_encode(values, count, bytes)};

    if (!ARRAY_ROOM(series->chunks, series->chunk_count, 1))
        return false;
    chunk.bytes = malloc(chunk.length);
    if (!chunk.bytes)
        return false;
    memcpy(chunk.bytes, bytes, chunk.length);
    series->chunks[series->chunk_count++] = chunk;
    series->count += (int64_t)count;
    return true;
}

enum status store_add_samples(struct store *store, int64_t trial, const char *name, uint64_t first,
                              const int64_t *values, size_t count, struct error *err)
{
    struct store_draft *draft = NULL;
    struct draft_series *series;
    enum status status = draft_find(store, trial, &draft, err);

    if (status != STATUS_OK || count == 0)
        return status;
    series = find_series(draft, name);
    if (!series)
        return error_no_memory(err);
    if (first != (uint64_t)series->count)
        return error_set(err, STATUS_INVALID,
                         "%s: trial %lld has %lld samples of %s; a chunk that begins at %llu does "
                         "not follow them",
                         store->path, (long long)trial, (long long)series->count, name,
                         (unsigned long long)first);
    for (size_t i = 0; i < count; i += SERIES_CHUNK_MAX)
        if (!add_chunk(series, values + i,
                       count - i < SERIES_CHUNK_MAX ? count - i : SERIES_CHUNK_MAX))
            return error_no_memory(err);
    return STATUS_OK;
}

/* Stores the samples of a series, and describes them. */
static void insert_series(struct record_body *body, int64_t trial,
                          const struct draft_series *series)
{
    struct record_body entry = body_part_of(body);
    struct digest_state state;
    struct digest digest;

    digest_init(&state);
    for (size_t k = 0; k < series->chunk_count; k++) {
        BODY_TRY(body, store_insert_chunk(body->store, trial, series->name, &series->chunks[k],
                                          body->err));
        digest = series_digest(series->chunks[k].bytes, series->chunks[k].length);
        digest_update(&state, digest.bytes, DIGEST_SIZE);
    }
    digest = digest_final(&state);
    body_text(&entry, "name", series->name);
    body_i64(&entry, "samples", series->count);
    body_digest(&entry, "sha256", &digest);
    body_append(body, "series", &entry);
}

void draft_put(const struct store_draft *draft, struct record_body *body)
{
    struct digest digest;
    const char *name;
    json_t *value;

    json_object_foreach(draft->body, name, value) body_json(body, name, json_incref(value));
    EACH(blob, draft->blobs)
        BODY_TRY(body, store_insert_content(body->store, json_string_value(blob),
                                            json_string_length(blob), &digest, body->err));
    body_json(body, "series", json_array());
    for (size_t i = 0; i < draft->series_count; i++)
        insert_series(body, draft->trial, &draft->series[i]);
}

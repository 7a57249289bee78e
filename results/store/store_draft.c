#include "results/store/store_draft.h"

#include <stdlib.h>
#include <string.h>

struct draft_series {
    char *name; /* heap */
    int64_t count;
    struct store_chunk *chunks; /* heap */
    size_t chunk_count, capacity;
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

enum status draft_add(struct store *store, int64_t trial, const char *array, json_t *value,
                      struct error *err)
{
    struct store_draft *draft = NULL;
    json_t *list;
    enum status status = draft_find(store, trial, &draft, err);

    if (status != STATUS_OK) {
        json_decref(value);
        return status;
    }
    list = json_object_get(draft->body, array);
    if (!list && value) {
        list = json_array();
        json_object_set_new(draft->body, array, list);
    }
    return value && json_array_append_new(list, value) == 0 ? STATUS_OK : error_no_memory(err);
}

enum status draft_add_body(struct store *store, int64_t trial, const char *array,
                           struct record_body *body, struct error *err)
{
    const bool too_large = body->too_large;
    json_t *json = body_take(body);

    if (too_large)
        return error_set(err, STATUS_INVALID,
                         "%s: a number of trial %lld does not fit into 64 bits", store->path,
                         (long long)trial);
    return draft_add(store, trial, array, json, err);
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
    struct draft_series *grown;

    for (size_t i = 0; i < draft->series_count; i++)
        if (!strcmp(draft->series[i].name, name))
            return &draft->series[i];
    grown = realloc(draft->series, (draft->series_count + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    draft->series = grown;
    grown[draft->series_count] = (struct draft_series){.name = strdup(name)};
    return grown[draft->series_count].name ? &grown[draft->series_count++] : NULL;
}

static bool add_chunk(struct draft_series *series, const int64_t *values, size_t count)
{
    uint8_t bytes[SERIES_ENCODED_MAX];
    struct store_chunk chunk = {.first = series->count,
                                .count = (int64_t)count,
                                .facts = series_measure(values, count),
                                .length = series_encode(values, count, bytes)};

    if (series->chunk_count == series->capacity) {
        const size_t capacity = series->capacity ? 2 * series->capacity : 8;
        struct store_chunk *grown = realloc(series->chunks, capacity * sizeof(*grown));

        if (!grown)
            return false;
        series->chunks = grown;
        series->capacity = capacity;
    }
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

/* Stores the samples of all series, and describes them. */
static enum status insert_series(struct store *store, const struct store_draft *draft,
                                 struct record_body *body, struct error *err)
{
    json_t *list = json_array();
    enum status status = STATUS_OK;

    for (size_t i = 0; i < draft->series_count && status == STATUS_OK; i++) {
        const struct draft_series *series = &draft->series[i];
        struct record_body entry = {.json = json_object()};
        struct digest_state state;
        struct digest digest;

        digest_init(&state);
        for (size_t k = 0; k < series->chunk_count && status == STATUS_OK; k++) {
            status = store_insert_chunk(store, draft->trial, series->name, &series->chunks[k], err);
            digest = series_digest(series->chunks[k].bytes, series->chunks[k].length);
            digest_update(&state, digest.bytes, DIGEST_SIZE);
        }
        digest = digest_final(&state);
        body_text(&entry, "name", series->name);
        body_i64(&entry, "samples", series->count);
        body_digest(&entry, "sha256", &digest);
        if (json_array_append_new(list, body_take(&entry)) != 0)
            body->failed = true;
    }
    body_json(body, "series", list);
    return status;
}

enum status draft_put(struct store *store, const struct store_draft *draft,
                      struct record_body *body, struct error *err)
{
    struct digest digest;
    const char *name;
    json_t *value;
    size_t i;

    json_object_foreach(draft->body, name, value) body_json(body, name, json_incref(value));
    json_array_foreach(draft->blobs, i, value)
    {
        TRY(store_insert_content(store, json_string_value(value), json_string_length(value),
                                 &digest, err));
    }
    return insert_series(store, draft, body, err);
}

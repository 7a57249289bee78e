#include "results/store_internal.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"

/* ---- readings ---- */

static int64_t hash_reading(const char *name, const char *body)
{
    struct digest_state state;
    struct digest digest;
    uint64_t hash = 0;

    digest_init(&state);
    digest_update(&state, name, strlen(name) + 1);
    digest_update(&state, body, strlen(body));
    digest = digest_final(&state);
    for (int i = 0; i < 8; i++)
        hash = hash << 8 | digest.bytes[i];
    return (int64_t)hash;
}

/*
 * Row of one reading, new or not. An index over the hash alone keeps the file small: most readings
 * (load, temperatures) are seen once. No other writer can come between the two statements.
 */
static enum status insert_reading(struct store *store, const char *name, const char *body,
                                  int64_t *ret, struct error *err)
{
    int64_t hash = hash_reading(name, body);
    struct statement statement;
    enum status status = statement_begin(store,
                                         "SELECT id FROM reading WHERE hash = ?1 AND name = ?2"
                                         " AND body = ?3",
                                         &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, hash);
    statement_text(&statement, name);
    statement_text(&statement, body);
    status = statement_single(&statement, ret, err);
    if (status != STATUS_NOT_FOUND)
        return status;
    status = statement_begin(store, "INSERT INTO reading (hash, name, body) VALUES (?1, ?2, ?3)",
                             &statement, err);
    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, hash);
    statement_text(&statement, name);
    statement_text(&statement, body);
    return statement_run(&statement, ret, err);
}

/* Row with this digest in a table of sets; `*ret_new` says that it was not there before. */
static enum status insert_set(struct store *store, const char *select, const char *insert,
                              const struct digest *digest, int64_t *ret, bool *ret_new,
                              struct error *err)
{
    struct statement statement;
    enum status status = statement_begin(store, select, &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_digest(&statement, digest);
    status = statement_single(&statement, ret, err);
    *ret_new = status == STATUS_NOT_FOUND;
    if (status != STATUS_NOT_FOUND)
        return status;
    status = statement_begin(store, insert, &statement, err);
    if (status != STATUS_OK)
        return status;
    statement_digest(&statement, digest);
    return statement_run(&statement, ret, err);
}

static enum status insert_pair(struct store *store, const char *insert, int64_t a, int64_t b,
                               struct error *err)
{
    struct statement statement;
    enum status status = statement_begin(store, insert, &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, a);
    statement_i64(&statement, b);
    return statement_run(&statement, NULL, err);
}

enum status store_insert_readings(struct store *store, const json_t *readings, int64_t *ret,
                                  struct error *err)
{
    struct digest digest;
    json_t *reading;
    const char *name;
    int64_t set = 0, id = 0;
    bool is_new = false;
    enum status status;

    if (!json_is_object(readings))
        return error_set(err, STATUS_INVALID, "readings are not a JSON object");
    status = canonical_digest(readings, &digest, err);
    if (status == STATUS_OK)
        status =
            insert_set(store, "SELECT id FROM reading_set WHERE digest = ?1",
                       "INSERT INTO reading_set (digest) VALUES (?1)", &digest, &set, &is_new, err);
    if (status != STATUS_OK)
        return status;
    /* Iterating does not change the object; jansson's signature is not const. */
    json_object_foreach((json_t *)(uintptr_t)readings, name, reading)
    {
        char *body = NULL;

        if (!is_new || status != STATUS_OK)
            break;
        status = canonical_dump(reading, &body, err);
        if (status == STATUS_OK)
            status = insert_reading(store, name, body, &id, err);
        if (status == STATUS_OK)
            status = insert_pair(store,
                                 "INSERT INTO reading_member (reading_set, reading)"
                                 " VALUES (?1, ?2)",
                                 set, id, err);
        free(body);
    }
    if (status == STATUS_OK)
        *ret = set;
    return status;
}

enum status store_add_environment(struct store *store, int64_t trial, const char *at,
                                  const json_t *readings, struct error *err)
{
    struct statement statement;
    int64_t set = 0;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    status = store_insert_readings(store, readings, &set, err);
    if (status == STATUS_OK)
        status = statement_begin(store,
                                 "INSERT INTO environment (trial, at, readings)"
                                 " VALUES (?1, ?2, ?3)",
                                 &statement, err);
    if (status == STATUS_OK) {
        statement_i64(&statement, trial);
        statement_text(&statement, at);
        statement_i64(&statement, set);
        status = statement_run(&statement, NULL, err);
    }
    return store_change_end(store, status, err);
}

/* ---- devices ---- */

/* Text as it will be in the database, as JSON; null for NULL. */
static json_t *clean_json(const char *value)
{
    char *clean = value ? store_clean_text(value) : NULL;
    json_t *json = !value ? json_null() : clean ? json_string(clean) : NULL;

    free(clean);
    return json;
}

static enum status digest_members(json_t *object, struct digest *ret, struct error *err)
{
    enum status status;

    if (!object)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    status = canonical_digest(object, ret, err);
    json_decref(object);
    return status;
}

static enum status insert_device(struct store *store, const struct store_device *device,
                                 int64_t *ret, struct error *err)
{
    struct statement statement;
    struct digest digest;
    int64_t set = 0;
    enum status status = digest_members(
        json_pack("{s:o, s:I, s:o, s:o, s:o, s:o, s:b, s:O}", "backend",
                  clean_json(device->backend), "device_index", (json_int_t)device->index, "name",
                  clean_json(device->name), "vendor", clean_json(device->vendor), "uuid",
                  clean_json(device->uuid), "type", clean_json(device->type), "simulated",
                  (int)device->simulated, "readings", device->readings),
        &digest, err);

    if (status == STATUS_OK)
        status = statement_begin(store, "SELECT id FROM device WHERE digest = ?1", &statement, err);
    if (status != STATUS_OK)
        return status;
    statement_digest(&statement, &digest);
    status = statement_single(&statement, ret, err);
    if (status != STATUS_NOT_FOUND)
        return status;
    status = store_insert_readings(store, device->readings, &set, err);
    if (status == STATUS_OK)
        status = statement_begin(store,
                                 "INSERT INTO device (digest, backend, device_index, name, vendor,"
                                 " uuid, type, simulated, readings)"
                                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                                 &statement, err);
    if (status != STATUS_OK)
        return status;
    statement_digest(&statement, &digest);
    statement_text(&statement, device->backend);
    statement_i64(&statement, device->index);
    statement_text(&statement, device->name);
    statement_text(&statement, device->vendor);
    statement_text(&statement, device->uuid);
    statement_text(&statement, device->type);
    statement_i64(&statement, device->simulated);
    statement_i64(&statement, set);
    return statement_run(&statement, ret, err);
}

enum status store_put_device(struct store *store, const struct store_device *device, int64_t *ret,
                             struct error *err)
{
    int64_t id = 0;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    status = insert_device(store, device, &id, err);
    status = store_change_end(store, status, err);
    if (status == STATUS_OK)
        *ret = id;
    return status;
}

enum status store_set_trial_device(struct store *store, int64_t trial, int64_t device,
                                   struct error *err)
{
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    status = insert_pair(store, "INSERT INTO trial_device (trial, device) VALUES (?1, ?2)", trial,
                         device, err);
    return store_change_end(store, status, err);
}

/* ---- components ---- */

static enum status insert_component(struct store *store, const struct store_component *component,
                                    struct digest *ret_digest, int64_t *ret, struct error *err)
{
    struct statement statement;
    char hex[DIGEST_HEX_SIZE];
    enum status status = digest_members(
        json_pack("{s:o, s:o, s:o, s:o, s:I, s:s?, s:o}", "path", clean_json(component->path),
                  "kind", clean_json(component->kind), "version", clean_json(component->version),
                  "build_id", clean_json(component->build_id), "size", (json_int_t)component->size,
                  "sha256", component->has_digest ? digest_hex(&component->digest, hex) : NULL,
                  "missing_reason", clean_json(component->missing_reason)),
        ret_digest, err);

    if (status == STATUS_OK)
        status =
            statement_begin(store, "SELECT id FROM component WHERE digest = ?1", &statement, err);
    if (status != STATUS_OK)
        return status;
    statement_digest(&statement, ret_digest);
    status = statement_single(&statement, ret, err);
    if (status != STATUS_NOT_FOUND)
        return status;
    status = statement_begin(store,
                             "INSERT INTO component (digest, path, kind, version, build_id, size,"
                             " sha256, missing_reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                             &statement, err);
    if (status != STATUS_OK)
        return status;
    statement_digest(&statement, ret_digest);
    statement_text(&statement, component->path);
    statement_text(&statement, component->kind);
    statement_text(&statement, component->version);
    statement_text(&statement, component->build_id);
    statement_u64(&statement, component->size);
    statement_digest(&statement, component->has_digest ? &component->digest : NULL);
    statement_text(&statement, component->missing_reason);
    status = statement_run(&statement, ret, err);
    if (status != STATUS_OK || !component->package)
        return status;
    status = statement_begin(store,
                             "INSERT INTO component_package (component, manager, package, version)"
                             " VALUES (?1, ?2, ?3, ?4)",
                             &statement, err);
    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, *ret);
    statement_text(&statement, component->manager);
    statement_text(&statement, component->package);
    statement_text(&statement, component->package_version);
    return statement_run(&statement, NULL, err);
}

static int compare_digests(const void *a, const void *b)
{
    return memcmp(a, b, DIGEST_SIZE);
}

/* `ids` and `digests` are room for `count` of each. */
static enum status insert_stack(struct store *store, const struct store_component *components,
                                size_t count, int64_t *ids, struct digest *digests, int64_t *ret,
                                struct error *err)
{
    struct digest digest;
    size_t distinct = 0;
    bool is_new = false;
    enum status status = STATUS_OK;

    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = insert_component(store, &components[i], &digests[i], &ids[i], err);
    if (status != STATUS_OK)
        return status;
    qsort(digests, count, sizeof(*digests), compare_digests);
    for (size_t i = 0; i < count; i++) {
        if (distinct == 0 || !digest_equal(&digests[i], &digests[distinct - 1]))
            digests[distinct++] = digests[i];
    }
    digest = digest_bytes(digests, distinct * sizeof(*digests));
    status = insert_set(store, "SELECT id FROM stack WHERE digest = ?1",
                        "INSERT INTO stack (digest) VALUES (?1)", &digest, ret, &is_new, err);
    for (size_t i = 0; i < count && status == STATUS_OK && is_new; i++)
        status = insert_pair(store,
                             "INSERT INTO stack_member (stack, component) VALUES (?1, ?2)"
                             " ON CONFLICT DO NOTHING",
                             *ret, ids[i], err);
    return status;
}

enum status store_add_components(struct store *store, int64_t trial, const char *at,
                                 const struct store_component *components, size_t count,
                                 struct error *err)
{
    int64_t *ids = calloc(count ? count : 1, sizeof(*ids));
    struct digest *digests = calloc(count ? count : 1, sizeof(*digests));
    struct statement statement;
    int64_t stack = 0;
    enum status status = STATUS_NO_MEMORY;

    if (ids && digests)
        status = store_change_begin(store, err);
    else
        error_set(err, status, "%s: out of memory", store->path);
    if (status != STATUS_OK)
        goto done;
    status = insert_stack(store, components, count, ids, digests, &stack, err);
    if (status == STATUS_OK)
        status = statement_begin(store,
                                 "INSERT INTO trial_stack (trial, at, stack) VALUES (?1, ?2, ?3)"
                                 " ON CONFLICT (trial, at, stack) DO NOTHING",
                                 &statement, err);
    if (status == STATUS_OK) {
        statement_i64(&statement, trial);
        statement_text(&statement, at);
        statement_i64(&statement, stack);
        status = statement_run(&statement, NULL, err);
    }
    status = store_change_end(store, status, err);
done:
    free(ids);
    free(digests);
    return status;
}

/* ---- artifacts ---- */

enum status store_add_artifact(struct store *store, int64_t trial, const json_t *artifact,
                               struct error *err)
{
    struct statement statement;
    struct digest digest;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    status = store_insert_json(store, "artifact", artifact, &digest, err);
    if (status == STATUS_OK)
        status = statement_begin(store,
                                 "INSERT INTO artifact (trial, content) VALUES (?1, ?2)"
                                 " ON CONFLICT (trial, content) DO NOTHING",
                                 &statement, err);
    if (status == STATUS_OK) {
        statement_i64(&statement, trial);
        statement_digest(&statement, &digest);
        status = statement_run(&statement, NULL, err);
    }
    return store_change_end(store, status, err);
}

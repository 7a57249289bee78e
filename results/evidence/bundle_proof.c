#include "results/evidence/bundle_proof.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"
#include "protocols/stats/order.h"
#include "results/store/store_internal.h"

struct numbers {
    int64_t *items; /* heap */
    size_t count, capacity;
};

struct proving {
    struct store *store;
    int64_t size;                /* of the head */
    struct merkle_levels levels; /* the whole tree under it */
    struct numbers sizes;        /* of the heads that are shown, and of this one */
    json_t *heads;
};

static enum status add_number(struct numbers *numbers, int64_t number, struct error *err)
{
    if (numbers->count == numbers->capacity) {
        const size_t capacity = numbers->capacity ? 2 * numbers->capacity : 256;
        int64_t *grown = realloc(numbers->items, capacity * sizeof(*grown));

        if (!grown)
            return error_no_memory(err);
        numbers->items = grown;
        numbers->capacity = capacity;
    }
    numbers->items[numbers->count++] = number;
    return STATUS_OK;
}

/* Adds the numbers that a SELECT of up to one parameter gives. */
static enum status read_numbers(struct store *store, const char *sql, int64_t parameter,
                                struct numbers *ret, struct error *err)
{
    sqlite3_stmt *row = NULL;
    enum status status = STATUS_OK;
    int rc = sqlite3_prepare_v2(store->db, sql, -1, &row, NULL);

    if (rc == SQLITE_OK && sqlite3_bind_parameter_count(row) > 0)
        rc = sqlite3_bind_int64(row, 1, parameter);
    while (rc == SQLITE_OK && status == STATUS_OK && (rc = sqlite3_step(row)) == SQLITE_ROW) {
        status = add_number(ret, sqlite3_column_int64(row, 0), err);
        rc = SQLITE_OK;
    }
    if (status == STATUS_OK && rc != SQLITE_DONE)
        status = store_error(store, rc, "reading what proves a bundle", err);
    sqlite3_finalize(row);
    return status;
}

static enum status load_tree(struct proving *proving, struct error *err)
{
    struct digest *leaves = malloc((size_t)proving->size * sizeof(*leaves));
    struct statement statement;
    int64_t count = 0;
    bool row = false;
    enum status status =
        leaves ? statement_begin(proving->store,
                                 "SELECT digest FROM record WHERE log = 1 AND leaf < ?1"
                                 " ORDER BY leaf",
                                 &statement, err)
               : error_no_memory(err);

    if (status != STATUS_OK) {
        free(leaves);
        return status;
    }
    statement_i64(&statement, proving->size);
    while ((status = statement_step(&statement, &row, err)) == STATUS_OK && row &&
           count < proving->size) {
        const void *bytes = sqlite3_column_blob(statement.handle, 0);

        if (bytes && sqlite3_column_bytes(statement.handle, 0) == DIGEST_SIZE)
            memcpy(leaves[count++].bytes, bytes, DIGEST_SIZE);
    }
    statement_end(&statement);
    if (status == STATUS_OK && count != proving->size)
        status = error_set(err, STATUS_CORRUPT, "%s: records are missing; run `assay verify %s`",
                           proving->store->path, store_word(proving->store));
    if (status == STATUS_OK)
        return merkle_levels_init(&proving->levels, leaves, (uint64_t)count, err);
    free(leaves);
    return status;
}

static json_t *hex_json(const struct digest *digest)
{
    char hex[DIGEST_HEX_SIZE];

    return json_string(digest_hex(digest, hex));
}

static enum status add_head(struct proving *proving, int64_t size, struct error *err)
{
    const struct digest root = merkle_levels_root(&proving->levels, (uint64_t)size);

    if (json_array_append_new(proving->heads, json_pack("{s:I, s:o}", "size", (json_int_t)size,
                                                        "root", hex_json(&root))) != 0)
        return error_no_memory(err);
    return add_number(&proving->sizes, size, err);
}

static enum status add_since(struct proving *proving, const char *word, struct error *err)
{
    const char *colon = strchr(word, ':');
    struct digest root, ours;
    char digits[24] = "";
    int64_t size = 0;

    if (colon && (size_t)(colon - word) < sizeof(digits))
        memcpy(digits, word, (size_t)(colon - word));
    if (!colon || !text_parse_i64(digits, &size) || size < 1 || !digest_from_hex(colon + 1, &root))
        return error_set(err, STATUS_INVALID, "--since %s: write SIZE:ROOT, as it was kept", word);
    if (size > proving->size)
        return error_set(err, STATUS_INVALID,
                         "--since %s: this log has %lld records, and never had so many", word,
                         (long long)proving->size);
    ours = merkle_levels_root(&proving->levels, (uint64_t)size);
    if (!digest_equal(&ours, &root))
        return error_set(err, STATUS_INVALID,
                         "--since %s: the first %lld records of this log have another root", word,
                         (long long)size);
    return add_head(proving, size, err);
}

/* Those of checkpoints, and those that were asked for. */
static enum status add_heads(struct proving *proving, const struct bundle_options *options,
                             struct error *err)
{
    struct numbers sizes = {0};
    enum status status = read_numbers(proving->store,
                                      "SELECT DISTINCT size FROM main.checkpoint WHERE log = 1 AND"
                                      " size > 0 AND size < ?1 ORDER BY size",
                                      proving->size, &sizes, err);

    for (size_t i = 0; i < sizes.count && status == STATUS_OK; i++)
        status = add_head(proving, sizes.items[i], err);
    for (size_t i = 0; i < options->since_count && status == STATUS_OK; i++)
        status = add_since(proving, options->since[i], err);
    if (status == STATUS_OK)
        status = add_number(&proving->sizes, proving->size, err);
    if (status == STATUS_OK)
        order_sort(proving->sizes.items, proving->sizes.count);
    free(sizes.items);
    return status;
}

static enum status add_nodes(struct proving *proving, json_t *nodes, struct error *err)
{
    struct merkle_part part = {0};
    struct numbers leaves = {0};
    enum status status = read_numbers(proving->store,
                                      "SELECT r.leaf FROM temp.bundle_record b JOIN main.record r"
                                      " ON r.id = b.id ORDER BY r.leaf",
                                      0, &leaves, err);

    if (status == STATUS_OK &&
        !merkle_part_cover(&part, &proving->levels, leaves.items, leaves.count,
                           proving->sizes.items, proving->sizes.count))
        status = error_no_memory(err);
    for (size_t i = 0; i < part.count && status == STATUS_OK; i++)
        if (json_array_append_new(nodes, json_pack("[i, I, o]", part.places[i].level,
                                                   (json_int_t)part.places[i].index,
                                                   hex_json(&part.places[i].digest))) != 0)
            status = error_no_memory(err);
    merkle_part_finish(&part);
    free(leaves.items);
    return status;
}

void bundle_receive(struct digest_state *received, const struct record_row *row)
{
    char hex[DIGEST_HEX_SIZE];
    const char *salt = row->salt ? digest_hex(row->salt, hex) : row->salts ? row->salts : "";

    digest_update(received, row->body, row->length);
    digest_update(received, "\n", 1);
    digest_update(received, salt, strlen(salt));
    digest_update(received, "\n", 1);
}

enum status bundle_prove(struct store *store, const struct bundle_options *options, int64_t size,
                         json_t **ret, struct error *err)
{
    struct proving proving = {.store = store, .size = size, .heads = json_array()};
    json_t *nodes = json_array();
    enum status status = proving.heads && nodes ? load_tree(&proving, err) : error_no_memory(err);

    if (status == STATUS_OK)
        status = add_heads(&proving, options, err);
    if (status == STATUS_OK)
        status = add_nodes(&proving, nodes, err);
    if (status == STATUS_OK) {
        *ret = json_pack("{s:O, s:O}", "heads", proving.heads, "nodes", nodes);
        status = *ret ? STATUS_OK : error_no_memory(err);
    }
    merkle_levels_finish(&proving.levels);
    free(proving.sizes.items);
    json_decref(proving.heads);
    json_decref(nodes);
    return status;
}

/* ---- reading it ---- */

static bool read_node(const json_t *node, struct merkle_place *ret)
{
    const json_t *level = json_array_get(node, 0), *index = json_array_get(node, 1);
    const char *hex = json_string_value(json_array_get(node, 2));

    if (json_array_size(node) != 3 || !json_is_integer(level) || !json_is_integer(index) ||
        json_integer_value(level) < 0 || json_integer_value(level) > 62 ||
        json_integer_value(index) < 0 ||
        json_integer_value(index) > (INT64_MAX >> json_integer_value(level)))
        return false;
    ret->level = (int)json_integer_value(level);
    ret->index = (uint64_t)json_integer_value(index);
    return digest_from_hex(hex, &ret->digest);
}

enum status bundle_proof_nodes(const json_t *proof, struct merkle_part *part, struct error *err)
{
    const json_t *nodes = json_object_get(proof, "nodes");
    struct merkle_place place;
    json_t *node;
    size_t i;

    json_array_foreach(nodes, i, node)
    {
        if (!read_node(node, &place))
            return error_set(err, STATUS_CORRUPT, "its proof cannot be read");
        if (!merkle_part_add(part, place.level, place.index, &place.digest))
            return error_no_memory(err);
    }
    return json_is_array(nodes) ? STATUS_OK
                                : error_set(err, STATUS_CORRUPT, "its proof cannot be read");
}

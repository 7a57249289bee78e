#include "results/evidence/bundle_proof.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/array.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "protocols/stats/order.h"
#include "results/store/store_internal.h"

struct numbers {
    int64_t *items; /* heap */
    size_t count;
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
    TRY(ARRAY_GROW(numbers->items, numbers->count, 1, err));
    numbers->items[numbers->count++] = number;
    return STATUS_OK;
}

/* Adds the numbers that a SELECT of up to one parameter gives. */
static enum status read_numbers(struct store *store, const char *sql, int64_t parameter,
                                struct numbers *ret, struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    enum status status;

    TRY(statement_begin(store, sql, &statement, err));
    if (sqlite3_bind_parameter_count(statement.handle) > 0)
        statement_i64(&statement, parameter);
    while (statement_next(&statement, &status, err))
        TRY(add_number(ret, sqlite3_column_int64(statement.handle, 0), err));
    return status;
}

static enum status load_tree(struct proving *proving, struct error *err)
{
    AUTO_FREE struct digest *leaves = malloc((size_t)proving->size * sizeof(*leaves));
    struct digest *taken;
    CLEANUP(statement_end) struct statement statement = {0};
    int64_t count = 0;
    enum status status;

    if (!leaves)
        return error_no_memory(err);
    TRY(statement_of(proving->store,
                     "SELECT digest FROM record WHERE log = 1 AND leaf < ?1 ORDER BY leaf",
                     proving->size, &statement, err));
    while (statement_next(&statement, &status, err) && count < proving->size)
        TRY(statement_read_digest(&statement, 0, &leaves[count++], err));
    TRY(status);
    if (count != proving->size)
        return error_set(err, STATUS_CORRUPT, "%s: records are missing; run `assay verify %s`",
                         proving->store->path, store_word(proving->store));
    taken = leaves;
    leaves = NULL;
    return merkle_levels_init(&proving->levels, taken, (uint64_t)count, err);
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

static void finish_numbers(struct numbers *numbers)
{
    free(numbers->items);
}

/* Those of checkpoints, and those that were asked for. */
static enum status add_heads(struct proving *proving, const struct bundle_options *options,
                             struct error *err)
{
    CLEANUP(finish_numbers) struct numbers sizes = {0};

    TRY(read_numbers(proving->store,
                     "SELECT DISTINCT size FROM main.checkpoint WHERE log = 1 AND"
                     " size > 0 AND size < ?1 ORDER BY size",
                     proving->size, &sizes, err));
    for (size_t i = 0; i < sizes.count; i++)
        TRY(add_head(proving, sizes.items[i], err));
    for (size_t i = 0; i < options->since_count; i++)
        TRY(add_since(proving, options->since[i], err));
    TRY(add_number(&proving->sizes, proving->size, err));
    order_sort(proving->sizes.items, proving->sizes.count);
    return STATUS_OK;
}

static enum status add_nodes(struct proving *proving, json_t *nodes, struct error *err)
{
    CLEANUP(merkle_part_finish) struct merkle_part part = {0};
    CLEANUP(finish_numbers) struct numbers leaves = {0};

    TRY(read_numbers(proving->store,
                     "SELECT r.leaf FROM temp.bundle_record b JOIN main.record r"
                     " ON r.id = b.id ORDER BY r.leaf",
                     0, &leaves, err));
    if (!merkle_part_cover(&part, &proving->levels, leaves.items, leaves.count,
                           proving->sizes.items, proving->sizes.count))
        return error_no_memory(err);
    for (size_t i = 0; i < part.count; i++)
        if (json_array_append_new(nodes, json_pack("[i, I, o]", part.places[i].level,
                                                   (json_int_t)part.places[i].index,
                                                   hex_json(&part.places[i].digest))) != 0)
            return error_no_memory(err);
    return STATUS_OK;
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

static void finish(struct proving *proving)
{
    merkle_levels_finish(&proving->levels);
    finish_numbers(&proving->sizes);
    json_decref(proving->heads);
}

enum status bundle_prove(struct store *store, const struct bundle_options *options, int64_t size,
                         json_t **ret, struct error *err)
{
    CLEANUP(finish)
    struct proving proving = {.store = store, .size = size, .heads = json_array()};
    json_auto_t *nodes = json_array();

    if (!proving.heads || !nodes)
        return error_no_memory(err);
    TRY(load_tree(&proving, err));
    TRY(add_heads(&proving, options, err));
    TRY(add_nodes(&proving, nodes, err));
    *ret = json_pack("{s:O, s:O}", "heads", proving.heads, "nodes", nodes);
    return *ret ? STATUS_OK : error_no_memory(err);
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

    EACH(node, nodes) {
        if (!read_node(node, &place))
            return error_set(err, STATUS_CORRUPT, "its proof cannot be read");
        if (!merkle_part_add(part, place.level, place.index, &place.digest))
            return error_no_memory(err);
    }
    return json_is_array(nodes) ? STATUS_OK
                                : error_set(err, STATUS_CORRUPT, "its proof cannot be read");
}

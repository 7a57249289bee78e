#include "results/bundle_internal.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "results/ledger.h"

#define COLUMNS_MAX 64

static bool check_blob(const struct bundle_reader *reader, const char *table, const char *column,
                       const json_t *described, const json_t *blobs)
{
    const char *sha256 = bundle_text(described, "sha256");
    struct digest expected, digest;
    unsigned char *bytes = NULL;
    size_t length = 0;
    bool holds = false;

    if (sha256 && digest_from_hex(sha256, &expected) &&
        bundle_decode(json_object_get(blobs, column), &bytes, &length) &&
        (json_int_t)length == json_integer_value(json_object_get(described, "bytes"))) {
        digest = digest_bytes(bytes, length);
        holds = digest_equal(&digest, &expected);
    }
    free(bytes);
    if (!holds)
        BUNDLE_WRONG(reader, CONTENT, table,
                     "the bytes of %s are not those that entered the ledger", column);
    return holds;
}

static bool check_commitment(const struct bundle_reader *reader, const char *table,
                             const char *column, const char *commitment, const json_t *opened)
{
    static const char *const needed[] = {"salt", "value", NULL}, *const none[] = {NULL};
    const char *salt_hex = bundle_text(opened, "salt");
    const json_t *value = json_object_get(opened, "value");
    struct digest salt, expected, digest;
    struct digest_state state;
    char *dumped = NULL;
    bool holds = false;

    if (bundle_members_are(opened, needed, none) && salt_hex && digest_from_hex(salt_hex, &salt) &&
        digest_from_hex(commitment, &expected) &&
        canonical_dump(value, &dumped, NULL) == STATUS_OK) {
        digest_init(&state);
        digest_update(&state, salt.bytes, DIGEST_SIZE);
        digest_update(&state, dumped, strlen(dumped));
        digest = digest_final(&state);
        holds = digest_equal(&digest, &expected);
    }
    free(dumped);
    if (!holds)
        BUNDLE_WRONG(reader, CONTENT, table, "%s is not the value that was committed to", column);
    return holds;
}

/* Every value of the row: plain, opened, or withheld; and nothing that the leaf lacks. */
static bool check_values(struct bundle_reader *reader, const struct bundle_row *row)
{
    size_t opened_count = 0, blob_count = 0;
    const char *column;
    json_t *value;
    bool holds = true;

    json_object_foreach((json_t *)row->row, column, value)
    {
        const char *commitment = bundle_text(value, "commitment");
        const json_t *opened = json_object_get(row->values, column);

        if (commitment && !ledger_is_committed(row->table, column)) {
            BUNDLE_WRONG(reader, CONTENT, row->table, "%s is no column that can be withheld",
                         column);
            holds = false;
        }
        if (commitment && !opened) {
            reader->withheld++;
            continue;
        }
        if (commitment) {
            opened_count++;
            holds &= check_commitment(reader, row->table, column, commitment, opened);
            value = json_object_get(opened, "value");
        }
        if (bundle_text(value, "sha256")) {
            blob_count++;
            holds &= check_blob(reader, row->table, column, value, row->blobs);
        }
    }
    if (opened_count != json_object_size(row->values) ||
        blob_count != json_object_size(row->blobs)) {
        BUNDLE_WRONG(reader, CONTENT, row->table,
                     "gives values or bytes that did not enter the ledger with it");
        holds = false;
    }
    return holds;
}

static bool check_proof(const struct bundle_reader *reader, const json_t *data, const json_t *path,
                        int64_t leaf, struct digest *ret_hash, struct error *err)
{
    struct digest nodes[MERKLE_HEIGHT_MAX + 1];
    size_t count = 0;
    char *dumped = NULL;
    bool holds = bundle_path(path, nodes, &count);

    if (holds && canonical_dump(data, &dumped, err) == STATUS_OK) {
        *ret_hash = merkle_leaf(dumped, strlen(dumped));
        holds = merkle_proves(ret_hash, (uint64_t)leaf, (uint64_t)reader->head.size, nodes, count,
                              &reader->head.root);
    } else {
        holds = false;
    }
    free(dumped);
    return holds;
}

static bool is_row(const json_t *line, const json_t *data)
{
    static const char *const needed[] = {"data", "leaf", "path", NULL};
    static const char *const possible[] = {"blobs", "values", NULL};
    static const char *const parts[] = {"row", "table", NULL}, *const none[] = {NULL};

    return bundle_members_are(line, needed, possible) && bundle_members_are(data, parts, none) &&
           json_is_integer(json_object_get(line, "leaf")) &&
           json_is_object(json_object_get(data, "row")) &&
           json_object_size(json_object_get(data, "row")) <= COLUMNS_MAX &&
           bundle_text(data, "table") != NULL;
}

enum status bundle_take_row(struct bundle_reader *reader, const json_t *line, struct error *err)
{
    const json_t *data = json_object_get(line, "data");
    const struct bundle_row row = {
        .leaf = json_integer_value(json_object_get(line, "leaf")),
        .table = bundle_text(data, "table"),
        .row = json_object_get(data, "row"),
        .values = json_object_get(line, "values"),
        .blobs = json_object_get(line, "blobs"),
    };
    struct digest leaf;

    if (!is_row(line, data))
        return bundle_damaged(reader,
                              "a row lacks its leaf, table, path or values, or has more than a row "
                              "has");
    reader->rows++;
    if (row.leaf <= reader->last_leaf) {
        BUNDLE_WRONG(reader, TREE, row.table, "leaf %" PRId64 " follows leaf %" PRId64, row.leaf,
                     reader->last_leaf);
        return STATUS_OK;
    }
    reader->last_leaf = row.leaf;
    if (row.leaf >= reader->head.size ||
        !check_proof(reader, data, json_object_get(line, "path"), row.leaf, &leaf, err)) {
        BUNDLE_WRONG(reader, ROW, row.table, "the row is not leaf %" PRId64 " under the head",
                     row.leaf);
        return STATUS_OK;
    }
    bundle_look_at_row(reader, &row, &leaf);
    if (!check_values(reader, &row) || !reader->visitor->row)
        return STATUS_OK;
    return reader->visitor->row(reader->visitor->context, &row, err);
}

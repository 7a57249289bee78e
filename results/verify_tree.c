/* The logs: this file's own, record by record, and those of bundles, of which parts are here. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "results/ledger.h"
#include "results/merkle_part.h"
#include "results/note.h"
#include "results/verify_internal.h"

/* A head that the reader expects. */
struct expected {
    bool is_asked, is_seen;
    int64_t size; /* -1: any */
    struct digest root;
};

static bool column_digest(sqlite3_stmt *row, int column, struct digest *ret)
{
    const void *bytes = sqlite3_column_blob(row, column);

    if (!bytes || sqlite3_column_bytes(row, column) != DIGEST_SIZE)
        return false;
    memcpy(ret->bytes, bytes, DIGEST_SIZE);
    return true;
}

static const char *key_of(sqlite3_stmt *row, char ret[24])
{
    snprintf(ret, 24, "%lld", (long long)sqlite3_column_int64(row, 0));
    return ret;
}

static enum status read_expected(const char *text, struct expected *ret, struct error *err)
{
    const char *colon = text ? strchr(text, ':') : NULL;
    char size[24];

    *ret = (struct expected){.is_asked = text != NULL, .size = -1};
    if (!text)
        return STATUS_OK;
    snprintf(size, sizeof(size), "%.*s", colon ? (int)(colon - text) : 0, text);
    if (!digest_from_hex(colon ? colon + 1 : text, &ret->root) ||
        (colon && (!text_parse_i64(size, &ret->size) || ret->size < 0)))
        return error_set(err, STATUS_INVALID,
                         "--expect-head %s: is neither ROOT nor SIZE:ROOT, with a root of 64 hex "
                         "digits",
                         text);
    return STATUS_OK;
}

static void compare_expected(struct expected *expected, int64_t size, const struct digest *root)
{
    expected->is_seen |= expected->is_asked && (expected->size < 0 || expected->size == size) &&
                         digest_equal(&expected->root, root);
}

/* ---- this file's own log ---- */

/*
 * The head in a record against the tree of the records before it, `campaigns` of which are of that
 * type. columns: 0 id, 1 leaf, 4 body
 */
static void check_head(struct verify *verify, sqlite3_stmt *row, const struct merkle *tree,
                       int64_t campaigns)
{
    const json_t *counted;
    const struct digest root = merkle_root(tree);
    char hex[DIGEST_HEX_SIZE], frontier[MERKLE_HEIGHT_MAX * 2 * DIGEST_SIZE + 1], key[24];
    const char *told;
    json_t *body = NULL;

    verify->summary->checkpoints++;
    if (canonical_parse(text_at(row, 4), (size_t)sqlite3_column_bytes(row, 4), "head", &body,
                        NULL) != STATUS_OK)
        return; /* told by verify_records */
    digest_hex(&root, hex);
    sodium_bin2hex(frontier, sizeof(frontier), tree->nodes->bytes,
                   (size_t)merkle_node_count(tree->size) * DIGEST_SIZE);
    told = json_string_value(json_object_get(body, "root"));
    if (json_integer_value(json_object_get(body, "size")) != (int64_t)tree->size)
        verify_report(verify, VERIFY_WRONG, VERIFY_TREE, "record", key_of(row, key),
                      "is a head of %lld records and comes after %" PRIu64,
                      (long long)json_integer_value(json_object_get(body, "size")), tree->size);
    else if (!told || strcmp(told, hex) != 0)
        verify_report(verify, VERIFY_WRONG, VERIFY_TREE, "record", key_of(row, key),
                      "is a head whose root does not follow from the records before it: %s, told "
                      "%s",
                      hex, told ? told : "none");
    told = json_string_value(json_object_get(body, "frontier"));
    if (!told || strcmp(told, frontier) != 0)
        verify_report(verify, VERIFY_WRONG, VERIFY_TREE, "record", key_of(row, key),
                      "is a head whose frontier does not follow from the records before it");
    counted = json_object_get(body, "campaigns_in_log");
    if (counted && json_integer_value(counted) != campaigns)
        verify_report(verify, VERIFY_WRONG, VERIFY_COMPLETE, "record", key_of(row, key),
                      "is a head that counts %lld campaigns and comes after %lld",
                      (long long)json_integer_value(counted), (long long)campaigns);
    json_decref(body);
}

/* What there was of a campaign, against what the head says. columns: 0 id, 1 leaf, 4 body */
static void check_manifests(struct verify *verify, sqlite3_stmt *row)
{
    json_t *body = NULL, *manifest;
    const char *hex;
    char key[24];

    if (canonical_parse(text_at(row, 4), (size_t)sqlite3_column_bytes(row, 4), "head", &body,
                        NULL) != STATUS_OK)
        return;
    json_object_foreach(json_object_get(body, "manifest"), hex, manifest)
    {
        sqlite3_stmt *find =
            verify_prepare(verify, verify->db,
                           "SELECT g.id FROM record r JOIN campaign g ON g.record = r.id"
                           " WHERE r.digest = assay_hex(?1)",
                           VERIFY_TREE, "campaign");
        json_t *there = NULL;
        int64_t campaign = 0;

        if (find)
            sqlite3_bind_text(find, 1, hex, -1, SQLITE_STATIC);
        if (find && verify_step(verify, find, VERIFY_TREE, "campaign"))
            campaign = sqlite3_column_int64(find, 0);
        sqlite3_finalize(find);
        if (!campaign) /* of a bundle that shows other campaigns of its log */
            continue;
        if (ledger_manifest(verify->store, campaign, sqlite3_column_int64(row, 1), &there, NULL) !=
                STATUS_OK ||
            !json_equal(there, manifest))
            verify_report(verify, VERIFY_WRONG, VERIFY_COMPLETE, "record", key_of(row, key),
                          "is a head that counts other records of campaign %lld than are here: "
                          "some were left out, or put in",
                          (long long)campaign);
        json_decref(there);
    }
    json_decref(body);
}

/* columns: 0 id, 1 leaf, 2 type, 3 digest, 4 body */
static void walk_log(struct verify *verify, struct expected *expected, int64_t total)
{
    struct merkle tree = {0};
    int64_t campaigns = 0, offset = 0;
    char key[24];
    sqlite3_stmt *row = verify_prepare(verify, verify->db,
                                       "SELECT id, leaf, type, digest, body FROM record"
                                       " WHERE log = 1 ORDER BY id",
                                       VERIFY_TREE, "record");

    while (row && verify_step(verify, row, VERIFY_TREE, "record")) {
        const int64_t apart = sqlite3_column_int64(row, 1) - (int64_t)tree.size;
        struct digest leaf = {{0}}, root;

        if (tree.size % 65536 == 0 && !verify_progress(verify, "heads", tree.size, (uint64_t)total))
            break;
        if (apart != 0 && apart != offset) { /* of those after a gap, the first is told */
            offset = apart;
            verify_report(verify, VERIFY_WRONG, VERIFY_TREE, "record", key_of(row, key),
                          "is number %lld of the log where number %" PRIu64
                          " belongs: one is missing, or they are not in their order",
                          (long long)sqlite3_column_int64(row, 1), tree.size);
        }
        if (expected->is_asked && (expected->size < 0 || expected->size == (int64_t)tree.size) &&
            tree.size > 0) {
            root = merkle_root(&tree);
            compare_expected(expected, (int64_t)tree.size, &root);
        }
        if (!strcmp(text_at(row, 2), "checkpoint")) {
            check_head(verify, row, &tree, campaigns);
            check_manifests(verify, row);
        }
        campaigns += !strcmp(text_at(row, 2), "campaign");
        column_digest(row, 3, &leaf);
        merkle_add(&tree, &leaf);
    }
    sqlite3_finalize(row);
    verify->summary->leaves = (int64_t)tree.size;
    verify->summary->root = merkle_root(&tree);
    compare_expected(expected, (int64_t)tree.size, &verify->summary->root);
}

/* columns: 3 salt, 4 body of a record of the own log */
static bool is_salt(const struct verify *verify, sqlite3_stmt *row)
{
    const struct digest salt =
        record_salt(&verify->secret, text_at(row, 4), (size_t)sqlite3_column_bytes(row, 4));
    struct digest stored;

    return column_digest(row, 3, &stored) && digest_equal(&stored, &salt);
}

static void check_name(struct verify *verify)
{
    sqlite3_stmt *row =
        verify_prepare(verify, verify->db,
                       "SELECT l.name, r.body, r.type, s.salt, s.body FROM log l LEFT JOIN record r"
                       " ON r.log = 1 AND r.leaf = 0 LEFT JOIN record s ON s.id = (SELECT min(id)"
                       " FROM record WHERE log = 1 AND salt IS NOT NULL) WHERE l.id = 1",
                       VERIFY_TREE, "log");
    json_t *body = NULL;
    const char *name = NULL;

    if (row && verify_step(verify, row, VERIFY_TREE, "log")) {
        snprintf(verify->summary->origin, sizeof(verify->summary->origin), "%s", text_at(row, 0));
        canonical_parse(text_at(row, 1), (size_t)sqlite3_column_bytes(row, 1), "log", &body, NULL);
        name = json_string_value(json_object_get(body, "name"));
        if (sqlite3_column_type(row, 3) != SQLITE_NULL && !is_salt(verify, row))
            verify_report(verify, VERIFY_WRONG, VERIFY_TREE, "log", "1",
                          "the salts of its records do not follow from its secret");
        if (strcmp(text_at(row, 2), "log") != 0 || !name ||
            strlen(name) != (size_t)sqlite3_column_bytes(row, 0) ||
            strcmp(name, text_at(row, 0)) != 0)
            verify_report(verify, VERIFY_WRONG, VERIFY_TREE, "log", "1",
                          "its name is not the one in the log's first record");
    } else {
        verify_report(verify, VERIFY_WRONG, VERIFY_TREE, "log", NULL, "the file has no log");
    }
    json_decref(body);
    sqlite3_finalize(row);
}

/* ---- logs of bundles ---- */

/* The subtrees that the bundle handed over: [[level, index, hex], ...]. */
static bool read_places(const json_t *proof, struct merkle_part *part)
{
    const json_t *nodes = json_object_get(proof, "nodes");
    json_t *node;
    size_t i;

    json_array_foreach(nodes, i, node)
    {
        const json_int_t level = json_integer_value(json_array_get(node, 0)),
                         index = json_integer_value(json_array_get(node, 1));
        const char *hex = json_string_value(json_array_get(node, 2));
        struct digest digest;

        if (level < 0 || level > 62 || index < 0 || index > (INT64_MAX >> level) || !hex ||
            !digest_from_hex(hex, &digest) ||
            !merkle_part_add(part, (int)level, (uint64_t)index, &digest))
            return false;
    }
    return json_is_array(nodes);
}

static bool add_leaves(struct verify *verify, int64_t log, int64_t size, struct merkle_part *part)
{
    sqlite3_stmt *row = verify_prepare(
        verify, verify->db, "SELECT leaf, digest FROM record WHERE log = ?1 AND leaf < ?2",
        VERIFY_TREE, "record");
    bool added = row != NULL;

    if (row) {
        sqlite3_bind_int64(row, 1, log);
        sqlite3_bind_int64(row, 2, size);
    }
    while (added && verify_step(verify, row, VERIFY_TREE, "record")) {
        struct digest digest = {{0}};

        column_digest(row, 1, &digest);
        added = merkle_part_add(part, 0, (uint64_t)sqlite3_column_int64(row, 0), &digest);
    }
    sqlite3_finalize(row);
    return added;
}

static void check_root(struct verify *verify, const char *key, struct merkle_part *part,
                       int64_t size, const struct digest *told, const char *what)
{
    struct digest root;
    uint64_t missing = 0;

    if (!merkle_part_root(part, (uint64_t)size, &root, &missing))
        verify_report(verify, VERIFY_WRONG, VERIFY_TREE, "bundle", key,
                      "%s: record %" PRIu64
                      " of its log is neither here nor proven to be another's",
                      what, missing);
    else if (!digest_equal(&root, told))
        verify_report(verify, VERIFY_WRONG, VERIFY_TREE, "bundle", key,
                      "%s: its root does not follow from the records that are here", what);
}

/* The heads of the campaigns, and those that the bundle's maker showed. */
static void check_earlier(struct verify *verify, const char *key, int64_t log, int64_t size,
                          const json_t *proof, struct merkle_part *part, struct expected *expected)
{
    sqlite3_stmt *row = verify_prepare(verify, verify->db,
                                       "SELECT r.id, r.leaf, c.root, c.size, r.body FROM checkpoint"
                                       " c JOIN record r ON r.id = c.record WHERE c.log = ?1 AND"
                                       " r.leaf < ?2",
                                       VERIFY_TREE, "checkpoint");
    json_t *head;
    size_t i;

    if (row) {
        sqlite3_bind_int64(row, 1, log);
        sqlite3_bind_int64(row, 2, size);
    }
    while (row && verify_step(verify, row, VERIFY_TREE, "checkpoint")) {
        struct digest root = {{0}};

        column_digest(row, 2, &root);
        verify->summary->checkpoints++;
        if (sqlite3_column_int64(row, 3) != sqlite3_column_int64(row, 1))
            verify_report(verify, VERIFY_WRONG, VERIFY_TREE, "bundle", key,
                          "a head of %lld records comes after %lld",
                          (long long)sqlite3_column_int64(row, 3),
                          (long long)sqlite3_column_int64(row, 1));
        else
            check_root(verify, key, part, sqlite3_column_int64(row, 3), &root, "an earlier head");
        check_manifests(verify, row);
    }
    sqlite3_finalize(row);
    json_array_foreach(json_object_get(proof, "heads"), i, head)
    {
        const int64_t earlier = json_integer_value(json_object_get(head, "size"));
        const char *hex = json_string_value(json_object_get(head, "root"));
        struct digest root;

        if (earlier < 1 || earlier > size || !hex || !digest_from_hex(hex, &root)) {
            verify_report(verify, VERIFY_WRONG, VERIFY_TREE, "bundle", key,
                          "one of its earlier heads is none");
            continue;
        }
        check_root(verify, key, part, earlier, &root, "an earlier head");
        compare_expected(expected, earlier, &root);
    }
}

/* columns: 0 the bundle's record, 1 log, 2 size, 3 root, 4 proof */
static void check_part(struct verify *verify, sqlite3_stmt *row, struct expected *expected)
{
    const int64_t log = sqlite3_column_int64(row, 1), size = sqlite3_column_int64(row, 2);
    struct merkle_part part = {0};
    struct digest root = {{0}};
    json_t *proof = NULL;
    char key[24];

    key_of(row, key);
    column_digest(row, 3, &root);
    if (size < 1 ||
        canonical_parse(text_at(row, 4), (size_t)sqlite3_column_bytes(row, 4), "proof", &proof,
                        NULL) != STATUS_OK ||
        !read_places(proof, &part) || !add_leaves(verify, log, size, &part)) {
        verify_report(verify, VERIFY_WRONG, VERIFY_TREE, "bundle", key, "its proof cannot be read");
    } else {
        check_root(verify, key, &part, size, &root, "the bundle's head");
        compare_expected(expected, size, &root);
        check_earlier(verify, key, log, size, proof, &part, expected);
    }
    merkle_part_finish(&part);
    json_decref(proof);
}

/* The last record under a bundle's head counts what there is of each of its campaigns. */
static void check_counts(struct verify *verify)
{
    sqlite3_stmt *row = verify_prepare(
        verify, verify->db,
        "SELECT b.record, substr(g.uid, 1, 8) FROM bundle b JOIN log l ON l.name = b.origin JOIN"
        " campaign g ON g.id = b.campaign JOIN record c ON c.id = g.record WHERE NOT EXISTS (SELECT"
        " 1 FROM record r WHERE r.log = l.id AND r.leaf = b.size - 1 AND r.type = 'checkpoint' AND"
        " json_type(r.body, '$.manifest.\"' || lower(hex(c.digest)) || '\"') = 'object')",
        VERIFY_COMPLETE, "bundle");
    char key[24];

    while (row && verify_step(verify, row, VERIFY_COMPLETE, "bundle"))
        verify_report(verify, VERIFY_WRONG, VERIFY_COMPLETE, "bundle", key_of(row, key),
                      "its head does not count the records of campaign %s, so some may be missing",
                      text_at(row, 1));
    sqlite3_finalize(row);
}

/* Records of another log are of a bundle, and below its head. */
static void check_owners(struct verify *verify)
{
    const int64_t most = verify_ask(verify, "SELECT max(id) FROM log", 0, 0, VERIFY_TREE);
    const int64_t count = verify_ask(verify, "SELECT count(*) FROM log", 0, 0, VERIFY_TREE);
    sqlite3_stmt *row = verify_prepare(
        verify, verify->db,
        "SELECT r.id FROM record r LEFT JOIN log l ON l.id = r.log WHERE r.log <> 1 AND NOT EXISTS"
        " (SELECT 1 FROM bundle b WHERE b.origin = l.name AND b.size > r.leaf) LIMIT 100",
        VERIFY_TREE, "record");
    char key[24];

    while (row && verify_step(verify, row, VERIFY_TREE, "record"))
        verify_report(verify, VERIFY_WRONG, VERIFY_TREE, "record", key_of(row, key),
                      "is of another file's log, and no bundle brought it");
    sqlite3_finalize(row);
    if (most != count)
        verify_report_gap(verify, VERIFY_TREE, "log", count, most);
    row = verify_prepare(verify, verify->db,
                         "SELECT DISTINCT log FROM record WHERE log NOT IN (SELECT id FROM log)",
                         VERIFY_TREE, "log");
    while (row && verify_step(verify, row, VERIFY_TREE, "log"))
        verify_report(verify, VERIFY_WRONG, VERIFY_TREE, "log", key_of(row, key),
                      "is missing, although records are of it");
    sqlite3_finalize(row);
    row = verify_prepare(verify, verify->db,
                         "SELECT id, name FROM log WHERE (id <> 1 AND secret IS NOT NULL) OR (id ="
                         " 1 AND secret IS NULL) OR (id <> 1 AND NOT EXISTS (SELECT 1 FROM bundle"
                         " WHERE origin = name))",
                         VERIFY_TREE, "log");
    while (row && verify_step(verify, row, VERIFY_TREE, "log"))
        verify_report(verify, VERIFY_WRONG, VERIFY_TREE, "log", key_of(row, key),
                      "%s: is not a log that this file can have", text_at(row, 1));
    sqlite3_finalize(row);
}

enum status verify_tree(struct verify *verify, struct error *err)
{
    const int64_t total = verify_ask(verify, "SELECT count(*) FROM record", 0, 0, VERIFY_TREE);
    struct expected expected;
    sqlite3_stmt *row;
    enum status status = read_expected(verify->options->expect_head, &expected, err);

    if (status != STATUS_OK)
        return status;
    check_name(verify);
    walk_log(verify, &expected, total);
    row = verify_prepare(verify, verify->db,
                         "SELECT b.record, l.id, b.size, b.root, c.body FROM bundle b JOIN log l ON"
                         " l.name = b.origin LEFT JOIN content c ON c.digest = b.proof"
                         " GROUP BY b.record ORDER BY b.record",
                         VERIFY_TREE, "bundle");
    while (row && !verify_stopped(verify) && verify_step(verify, row, VERIFY_TREE, "bundle"))
        check_part(verify, row, &expected);
    sqlite3_finalize(row);
    check_counts(verify);
    check_owners(verify);
    if (expected.is_asked && !expected.is_seen)
        verify_report(verify, VERIFY_WRONG, VERIFY_HEAD, NULL, NULL,
                      "the head that was expected (%s) is none of this file's",
                      verify->options->expect_head);
    return STATUS_OK;
}

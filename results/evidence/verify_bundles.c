/* The logs of bundles, of which parts are here: each part proves its records. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "results/evidence/bundle_proof.h"
#include "results/evidence/merkle.h"
#include "results/evidence/verify_internal.h"

/* Which records are proven to be of their log: bits by row. */
struct proven {
    uint8_t *bits; /* heap; NULL: no memory */
    int64_t count;
};

/* The places that one bundle has shown. */
struct shown {
    struct merkle_part nodes; /* of what it does not show */
    struct merkle_part part;  /* these, and its records */
    int64_t log, size;
};

/*
 * Its records: those in a subtree that it handed over are of another bundle, which proves them.
 * With `proven`, they are marked.
 */
static bool take_leaves(struct verify *verify, struct shown *shown, struct proven *proven)
{
    sqlite3_stmt *row = verify_prepare(
        verify, verify->db, "SELECT id, leaf, digest FROM record WHERE log = ?1 AND leaf < ?2",
        VERIFY_TREE, "record");
    bool taken = row != NULL;

    if (row) {
        sqlite3_bind_int64(row, 1, shown->log);
        sqlite3_bind_int64(row, 2, shown->size);
    }
    while (taken && verify_step(verify, row, VERIFY_TREE, "record")) {
        const int64_t id = sqlite3_column_int64(row, 0), leaf = sqlite3_column_int64(row, 1);
        struct digest digest = {{0}};

        if (leaf < 0 || merkle_part_holds(&shown->nodes, (uint64_t)leaf))
            continue;
        column_digest(row, 2, &digest);
        if (!proven)
            taken = merkle_part_add(&shown->part, 0, (uint64_t)leaf, &digest);
        else if (id >= 1 && id <= proven->count)
            proven->bits[id / 8] |= (uint8_t)(1 << id % 8);
    }
    sqlite3_finalize(row);
    return taken;
}

static bool read_shown(struct verify *verify, const json_t *proof, struct shown *shown)
{
    uint64_t leaf;

    return shown->size >= 1 && bundle_proof_nodes(proof, &shown->nodes, NULL) == STATUS_OK &&
           bundle_proof_nodes(proof, &shown->part, NULL) == STATUS_OK &&
           merkle_part_fits(&shown->nodes, (uint64_t)shown->size, &leaf) &&
           take_leaves(verify, shown, NULL);
}

static bool check_root(struct verify *verify, const char *key, struct merkle_part *part,
                       int64_t size, const struct digest *told, const char *what)
{
    struct digest root;
    uint64_t missing = 0;

    if (!merkle_part_root(part, (uint64_t)size, &root, &missing))
        VERIFY_REPORT(verify, BUNDLE_RECORD_MISSING, key, what, missing);
    else if (!digest_equal(&root, told))
        VERIFY_REPORT(verify, BUNDLE_ROOT, key, what);
    else
        return true;
    return false;
}

/* The heads that the bundle has as records. */
static void check_checkpoints(struct verify *verify, const char *key, struct shown *shown)
{
    sqlite3_stmt *row = verify_prepare(verify, verify->db,
                                       "SELECT r.id, r.leaf, c.root, c.size, r.body, (SELECT"
                                       " count(*) FROM campaign g JOIN record x ON x.id = g.record"
                                       " WHERE x.log = r.log AND x.leaf < r.leaf), r.body ->>"
                                       " '$.campaigns_in_log' FROM checkpoint c JOIN record r ON"
                                       " r.id = c.record WHERE c.log = ?1 AND r.leaf < ?2",
                                       VERIFY_TREE, "checkpoint");

    if (row) {
        sqlite3_bind_int64(row, 1, shown->log);
        sqlite3_bind_int64(row, 2, shown->size);
    }
    while (row && verify_step(verify, row, VERIFY_TREE, "checkpoint")) {
        const int64_t leaf = sqlite3_column_int64(row, 1), size = sqlite3_column_int64(row, 3);
        const int64_t here = sqlite3_column_int64(row, 5);
        struct digest root = {{0}};

        if (merkle_part_holds(&shown->nodes, (uint64_t)leaf))
            continue; /* of another bundle */
        column_digest(row, 2, &root);
        verify->summary->checkpoints++;
        if (size != leaf || size < 1)
            VERIFY_REPORT(verify, BUNDLE_HEAD_PLACE, key, (long long)size, (long long)leaf);
        else
            check_root(verify, key, &shown->part, size, &root, "an earlier head");
        if (sqlite3_column_type(row, 6) != SQLITE_NULL && sqlite3_column_int64(row, 6) < here)
            VERIFY_REPORT(verify, BUNDLE_CAMPAIGNS_FEWER, key,
                          (long long)sqlite3_column_int64(row, 6), (long long)here);
        verify_manifests(verify, row);
    }
    sqlite3_finalize(row);
}

/* The heads that the bundle's maker showed. */
static void check_earlier(struct verify *verify, const char *key, const json_t *proof,
                          struct shown *shown, struct verify_expected *expected)
{
    json_t *head;
    size_t i;

    json_array_foreach(json_object_get(proof, "heads"), i, head)
    {
        const int64_t earlier = json_integer_value(json_object_get(head, "size"));
        const char *hex = json_string_value(json_object_get(head, "root"));
        struct digest root;

        if (json_object_size(head) != 2 || earlier < 1 || earlier > shown->size || !hex ||
            !digest_from_hex(hex, &root))
            VERIFY_REPORT(verify, BUNDLE_HEAD_NONE, key);
        else if (check_root(verify, key, &shown->part, earlier, &root, "an earlier head"))
            verify_compare_head(expected, earlier, &root);
    }
}

/* columns: 0 the bundle's record, 1 log, 2 size, 3 root, 4 proof */
static void check_part(struct verify *verify, sqlite3_stmt *row, struct verify_expected *expected,
                       struct proven *proven)
{
    struct shown shown = {.log = sqlite3_column_int64(row, 1),
                          .size = sqlite3_column_int64(row, 2)};
    struct digest root = {{0}};
    json_t *proof = NULL;
    char key[24];

    key_of(row, key);
    column_digest(row, 3, &root);
    if (canonical_parse(text_at(row, 4), (size_t)sqlite3_column_bytes(row, 4), "proof", &proof,
                        NULL) != STATUS_OK ||
        json_object_size(proof) != 2 || !json_is_array(json_object_get(proof, "heads")) ||
        !read_shown(verify, proof, &shown)) {
        VERIFY_REPORT(verify, BUNDLE_PROOF, key);
    } else {
        if (check_root(verify, key, &shown.part, shown.size, &root, "the bundle's head")) {
            verify_compare_head(expected, shown.size, &root);
            if (proven->bits)
                take_leaves(verify, &shown, proven);
        }
        check_checkpoints(verify, key, &shown);
        check_earlier(verify, key, proof, &shown, expected);
    }
    merkle_part_finish(&shown.nodes);
    merkle_part_finish(&shown.part);
    json_decref(proof);
}

/* Records of another log are of a bundle that proves them. */
static void check_owners(struct verify *verify, const struct proven *proven)
{
    const int64_t most = verify_ask(verify, "SELECT max(id) FROM log", 0, 0, VERIFY_TREE);
    const int64_t count = verify_ask(verify, "SELECT count(*) FROM log", 0, 0, VERIFY_TREE);
    sqlite3_stmt *row = verify_prepare(verify, verify->db, "SELECT id FROM record WHERE log <> 1",
                                       VERIFY_TREE, "record");
    int reported = 0;
    char key[24];

    while (row && reported < VERIFY_FINDINGS_MAX &&
           verify_step(verify, row, VERIFY_TREE, "record")) {
        const int64_t id = sqlite3_column_int64(row, 0);

        if (proven->bits && id >= 1 && id <= proven->count && proven->bits[id / 8] & (1 << id % 8))
            continue;
        reported++;
        VERIFY_REPORT(verify, RECORD_UNPROVEN, key_of(row, key));
    }
    sqlite3_finalize(row);
    if (most != count)
        verify_report_gap(verify, VERIFY_TREE, "log", count, most);
    verify_rule_check(verify, VERIFY_RULE_LOG_MISSING, NULL);
    verify_rule_check(verify, VERIFY_RULE_LOG_FOREIGN, NULL);
}

void verify_bundles(struct verify *verify, struct verify_expected *expected, int64_t total)
{
    struct proven proven = {.count = total};
    sqlite3_stmt *row;

    proven.bits = calloc((size_t)total / 8 + 1, 1);
    row = verify_prepare(verify, verify->db,
                         "SELECT b.record, l.id, b.size, b.root, c.body FROM bundle b JOIN log l ON"
                         " l.name = b.origin LEFT JOIN content c ON c.digest = b.proof"
                         " GROUP BY b.record ORDER BY b.record",
                         VERIFY_TREE, "bundle");
    while (row && !verify_stopped(verify) && verify_step(verify, row, VERIFY_TREE, "bundle"))
        check_part(verify, row, expected, &proven);
    sqlite3_finalize(row);
    /* The last record under a bundle's head counts what there is of each of its campaigns, and of
     * no others; each of them is here. */
    verify_rule_check(verify, VERIFY_RULE_BUNDLE_CAMPAIGN_UNCOUNTED, NULL);
    verify_rule_check(verify, VERIFY_RULE_BUNDLE_CAMPAIGNS, NULL);
    check_owners(verify, &proven);
    free(proven.bits);
}

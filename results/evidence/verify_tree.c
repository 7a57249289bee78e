/* The logs, record by record, and what heads say of campaigns: this file's own, and those of
 * bundles. */
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "harness/core/member.h"
#include "harness/core/canonical.h"
#include "results/evidence/bundle_proof.h"
#include "results/evidence/ledger.h"
#include "results/evidence/merkle.h"
#include "results/evidence/verify_internal.h"

/* A head that the reader expects. */
struct expected {
    bool is_asked, is_seen;
    int64_t size; /* -1: any */
    struct digest root;
};

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
                         "digits in lower case",
                         text);
    return STATUS_OK;
}

static void compare_head(struct expected *expected, int64_t size, const struct digest *root)
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
        return; /* verify_records reports it */
    digest_hex(&root, hex);
    sodium_bin2hex(frontier, sizeof(frontier), tree->nodes->bytes,
                   (size_t)merkle_node_count(tree->size) * DIGEST_SIZE);
    told = member_string(body, "root");
    if (member_integer(body, "size") != (int64_t)tree->size)
        VERIFY_REPORT(verify, HEAD_SIZE, key_of(row, key), member_integer(body, "size"),
                      tree->size);
    else if (!told || strcmp(told, hex) != 0)
        VERIFY_REPORT(verify, HEAD_ROOT, key_of(row, key), hex, told ? told : "none");
    told = member_string(body, "frontier");
    if (!told || strcmp(told, frontier) != 0)
        VERIFY_REPORT(verify, HEAD_FRONTIER, key_of(row, key));
    counted = json_object_get(body, "campaigns_in_log");
    if (counted && json_integer_value(counted) != campaigns)
        VERIFY_REPORT(verify, HEAD_CAMPAIGNS, key_of(row, key),
                      (long long)json_integer_value(counted), (long long)campaigns);
    json_decref(body);
}

/* The campaign of a record with this digest before the head in this row; 0: it is not here. */
static int64_t campaign_of(struct verify *verify, const char *hex, sqlite3_stmt *head)
{
    sqlite3_stmt *find = verify_prepare(verify, verify->db,
                                        "SELECT g.id FROM record r JOIN campaign g ON g.record ="
                                        " r.id JOIN record h ON h.id = ?2 WHERE r.digest ="
                                        " assay_hex(?1) AND r.log = h.log AND r.leaf < h.leaf",
                                        VERIFY_TREE, "campaign");
    int64_t campaign = 0;

    if (find) {
        sqlite3_bind_text(find, 1, hex, -1, SQLITE_STATIC);
        sqlite3_bind_int64(find, 2, sqlite3_column_int64(head, 0));
    }
    if (find && verify_step(verify, find, VERIFY_TREE, "campaign"))
        campaign = sqlite3_column_int64(find, 0);
    sqlite3_finalize(find);
    return campaign;
}

/* Takes `there`. */
static void compare_manifests(struct verify *verify, sqlite3_stmt *row, const json_t *told,
                              json_t *there, const char *whose)
{
    char key[24];

    if (!json_equal(there, told))
        VERIFY_REPORT(verify, HEAD_MANIFEST, key_of(row, key), whose);
    json_decref(there);
}

/* The campaigns of this file's own log, as far as it was walked along. */
struct census {
    int64_t campaigns;
    json_t *same; /* {digest of protocol and cells: how many campaigns have them} */
};

/* The digest of a campaign's protocol and cells, by that of its record; "": withheld, or none. */
static void read_cells(struct verify *verify, const char *hex, char ret[DIGEST_HEX_SIZE])
{
    sqlite3_stmt *row =
        verify_prepare(verify, verify->db,
                       "SELECT lower(hex(assay_sha256(" CAMPAIGN_CELLS(
                           "g") "))) FROM record r JOIN campaign g ON g.record = r.id WHERE"
                                " r.digest = assay_hex(?1)",
                       VERIFY_TREE, "campaign");

    *ret = '\0';
    if (row)
        sqlite3_bind_text(row, 1, hex, -1, SQLITE_STATIC);
    if (row && verify_step(verify, row, VERIFY_TREE, "campaign"))
        snprintf(ret, DIGEST_HEX_SIZE, "%s", text_at(row, 0));
    sqlite3_finalize(row);
}

static void count_campaign(struct verify *verify, struct census *census,
                           const struct digest *record)
{
    char hex[DIGEST_HEX_SIZE], cells[DIGEST_HEX_SIZE];
    json_int_t before;

    census->campaigns++;
    read_cells(verify, digest_hex(record, hex), cells);
    if (!*cells) /* of another program: nothing is known to be the same */
        return;
    before = member_integer(census->same, cells);
    json_object_set_new(census->same, cells, json_integer(before + 1));
}

/* How many have the same cells, which only those who have all of the log can count. */
static void check_numbers(struct verify *verify, sqlite3_stmt *row, const struct census *census,
                          const json_t *body)
{
    json_t *told;
    bool is_right = true;
    char key[24], cells[DIGEST_HEX_SIZE];
    const char *hex;

    json_object_foreach(json_object_get(body, "same_cells_in_log"), hex, told)
    {
        read_cells(verify, hex, cells);
        is_right = is_right && json_integer_value(told) == member_integer(census->same, cells);
    }
    if (!is_right)
        VERIFY_REPORT(verify, HEAD_SAME_CELLS, key_of(row, key));
}

/* `census`: of this file's own log; NULL: of another. columns: 0 id, 1 leaf, 4 body */
static void check_manifests(struct verify *verify, sqlite3_stmt *row, const struct census *census)
{
    const int64_t leaf = sqlite3_column_int64(row, 1);
    json_t *body = NULL, *told, *manifest, *there;
    int64_t *campaigns;
    size_t count = 0;
    bool are_all = true;
    const char *hex;
    char whose[40];

    if (canonical_parse(text_at(row, 4), (size_t)sqlite3_column_bytes(row, 4), "head", &body,
                        NULL) != STATUS_OK)
        return;
    told = json_object_get(body, "manifest");
    campaigns = calloc(json_object_size(told) + 1, sizeof(*campaigns));
    json_object_foreach(told, hex, manifest)
    {
        const int64_t campaign = campaigns ? campaign_of(verify, hex, row) : 0;

        if (!campaign) { /* of a bundle that shows other campaigns of its log */
            are_all = false;
            continue;
        }
        campaigns[count++] = campaign;
        there = NULL;
        ledger_manifest(verify->store, campaign, leaf, &there, NULL);
        snprintf(whose, sizeof(whose), "campaign %lld", (long long)campaign);
        compare_manifests(verify, row, manifest, there, whose);
    }
    if (census && !are_all)
        VERIFY_REPORT(verify, HEAD_CAMPAIGN_MISSING, key_of(row, whose));
    if (census)
        check_numbers(verify, row, census, body);
    if (are_all && count > 1) {
        there = NULL;
        ledger_manifest_together(verify->store, campaigns, count, leaf, &there, NULL);
        compare_manifests(verify, row, json_object_get(body, "together"), there,
                          "its campaigns together");
    }
    free(campaigns);
    json_decref(body);
}

/* columns: 0 id, 1 leaf, 2 type, 3 digest, 4 body */
static void walk_log(struct verify *verify, struct expected *expected, int64_t total)
{
    struct census census = {.same = json_object()};
    struct merkle tree = {0};
    int64_t offset = 0;
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
        if (apart != 0 && apart != offset) { /* of those after a gap, the first is reported */
            offset = apart;
            VERIFY_REPORT(verify, LEAF_PLACE, key_of(row, key),
                          (long long)sqlite3_column_int64(row, 1), tree.size);
        }
        if (expected->is_asked && (expected->size < 0 || expected->size == (int64_t)tree.size) &&
            tree.size > 0) {
            root = merkle_root(&tree);
            compare_head(expected, (int64_t)tree.size, &root);
        }
        if (!strcmp(text_at(row, 2), "checkpoint")) {
            check_head(verify, row, &tree, census.campaigns);
            check_manifests(verify, row, &census);
        }
        column_digest(row, 3, &leaf);
        if (!strcmp(text_at(row, 2), "campaign"))
            count_campaign(verify, &census, &leaf);
        merkle_add(&tree, &leaf);
    }
    sqlite3_finalize(row);
    json_decref(census.same);
    verify->summary->leaves = (int64_t)tree.size;
    verify->summary->root = merkle_root(&tree);
    compare_head(expected, (int64_t)tree.size, &verify->summary->root);
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
        name = member_string(body, "name");
        if (sqlite3_column_type(row, 3) != SQLITE_NULL && !is_salt(verify, row))
            VERIFY_REPORT(verify, LOG_SALTS, "1");
        if (strcmp(text_at(row, 2), "log") != 0 || !name ||
            strlen(name) != (size_t)sqlite3_column_bytes(row, 0) ||
            strcmp(name, text_at(row, 0)) != 0)
            VERIFY_REPORT(verify, LOG_NAME, "1");
    } else {
        VERIFY_REPORT(verify, LOG_NONE, NULL);
    }
    json_decref(body);
    sqlite3_finalize(row);
}

/* ---- the logs of bundles, of which parts are here: each part proves its records ---- */

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
        check_manifests(verify, row, NULL);
    }
    sqlite3_finalize(row);
}

/* The heads that the bundle's maker showed. */
static void check_earlier(struct verify *verify, const char *key, const json_t *proof,
                          struct shown *shown, struct expected *expected)
{

    EACH(head, json_object_get(proof, "heads")) {
        const int64_t earlier = member_integer(head, "size");
        const char *hex = member_string(head, "root");
        struct digest root;

        if (json_object_size(head) != 2 || earlier < 1 || earlier > shown->size || !hex ||
            !digest_from_hex(hex, &root))
            VERIFY_REPORT(verify, BUNDLE_HEAD_NONE, key);
        else if (check_root(verify, key, &shown->part, earlier, &root, "an earlier head"))
            compare_head(expected, earlier, &root);
    }
}

/* columns: 0 the bundle's record, 1 log, 2 size, 3 root, 4 proof */
static void check_part(struct verify *verify, sqlite3_stmt *row, struct expected *expected,
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
            compare_head(expected, shown.size, &root);
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

static void check_bundles(struct verify *verify, struct expected *expected, int64_t total)
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

/* ---- all logs ---- */

enum status verify_tree(struct verify *verify, struct error *err)
{
    const int64_t total = verify_ask(verify, "SELECT count(*) FROM record", 0, 0, VERIFY_TREE);
    struct expected expected;

    TRY(read_expected(verify->options->expect_head, &expected, err));
    check_name(verify);
    walk_log(verify, &expected, total);
    check_bundles(verify, &expected, total);
    if (expected.is_asked && !expected.is_seen)
        VERIFY_REPORT(verify, HEAD_EXPECTED, NULL, verify->options->expect_head);
    return STATUS_OK;
}

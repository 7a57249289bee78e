#include "results/bundle_heads.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"
#include "results/store_internal.h"

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no memory for the bundle");
}

static json_t *head_json(const struct merkle_levels *levels, int64_t size, int64_t whole)
{
    const struct digest root = merkle_levels_root(levels, (uint64_t)size);
    struct digest path[MERKLE_HEIGHT_MAX + 1];
    const size_t count = merkle_levels_connect(levels, (uint64_t)size, (uint64_t)whole, path);

    return json_pack("{s:I, s:o, s:o}", "size", (json_int_t)size, "root", bundle_hex_json(&root),
                     "path", bundle_path_json(path, count));
}

/* Runs a query of one campaign's checkpoint; `take` is called for each row. */
static enum status each_row(struct store *store, const char *sql, int64_t parameter,
                            bool (*take)(void *context, sqlite3_stmt *row), void *context,
                            struct error *err)
{
    struct statement statement;
    bool row = false;
    enum status status = statement_begin(store, sql, &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, parameter);
    while ((status = statement_step(&statement, &row, err)) == STATUS_OK && row)
        if (!take(context, statement.handle)) {
            status = no_memory(err);
            break;
        }
    statement_end(&statement);
    return status;
}

/* ---- the plan under its own head ---- */

struct leaves {
    const struct merkle_levels *levels;
    int64_t size;
    json_t *array;
};

static bool take_leaf(void *context, sqlite3_stmt *row)
{
    const struct leaves *leaves = context;
    const int64_t leaf = sqlite3_column_int64(row, 0);
    struct digest path[MERKLE_HEIGHT_MAX];
    size_t count;

    if (leaf < 0 || leaf >= leaves->size)
        return true; /* it came later: a reader will report that */
    count = merkle_levels_prove(leaves->levels, (uint64_t)leaf, (uint64_t)leaves->size, path);
    return json_array_append_new(leaves->array, json_pack("{s:I, s:o}", "leaf", (json_int_t)leaf,
                                                          "path", bundle_path_json(path, count))) ==
           0;
}

static bool take_token(void *context, sqlite3_stmt *row)
{
    return json_array_append_new(context, bundle_base64_json(row, 0)) == 0;
}

/* Adds the signers, and the plan's leaves where it is a plan's head. */
static enum status add_own(struct store *store, const struct merkle_levels *levels,
                           const struct ledger_checkpoint *point, json_t *json, struct error *err)
{
    struct leaves leaves = {levels, point->size, json_array()};
    json_t *tokens = json_array();
    char *note = NULL;
    enum status status = ledger_note(store, point, &note, err);

    if (status == STATUS_OK && strcmp(point->kind, "plan") == 0)
        status = each_row(store,
                          "SELECT p.leaf FROM temp.bundle_place p JOIN main.campaign g ON g.id = ?1"
                          " WHERE (p.table_name = 'campaign' AND p.key = g.id) OR (p.table_name ="
                          " 'content' AND p.key = lower(hex(g.plan))) ORDER BY p.leaf",
                          point->campaign, take_leaf, &leaves, err);
    if (status == STATUS_OK)
        status = each_row(store,
                          "SELECT token FROM timestamp_token WHERE checkpoint = ?1"
                          " ORDER BY id",
                          point->id, take_token, tokens, err);
    if (status == STATUS_OK) {
        json_object_set_new(json, "note", json_string(note));
        if (json_array_size(leaves.array) > 0)
            json_object_set(json, "leaves", leaves.array);
        if (json_array_size(tokens) > 0)
            json_object_set(json, "tokens", tokens);
    }
    json_decref(leaves.array);
    json_decref(tokens);
    free(note);
    return status;
}

/* ---- all heads ---- */

struct sizes {
    int64_t *items;
    size_t count;
};

static bool add_size(struct sizes *sizes, int64_t size)
{
    int64_t *grown = realloc(sizes->items, (sizes->count + 1) * sizeof(*grown));

    if (!grown)
        return false;
    sizes->items = grown;
    grown[sizes->count++] = size;
    return true;
}

static bool take_size(void *context, sqlite3_stmt *row)
{
    return add_size(context, sqlite3_column_int64(row, 0));
}

static enum status add_since(const struct merkle_levels *levels, const char *word, int64_t whole,
                             struct sizes *sizes, struct error *err)
{
    const char *colon = strchr(word, ':');
    struct digest root, ours;
    char digits[24] = "";
    int64_t size = 0;

    if (colon && (size_t)(colon - word) < sizeof(digits))
        memcpy(digits, word, (size_t)(colon - word));
    if (!colon || !text_parse_i64(digits, &size) || size < 1 || !digest_from_hex(colon + 1, &root))
        return error_set(err, STATUS_INVALID, "--since %s: write SIZE:ROOT, as it was kept", word);
    if (size > whole)
        return error_set(err, STATUS_INVALID,
                         "--since %s: this ledger has %lld leaves, and never had so many", word,
                         (long long)whole);
    ours = merkle_levels_root(levels, (uint64_t)size);
    if (!digest_equal(&ours, &root))
        return error_set(err, STATUS_INVALID,
                         "--since %s: the first %lld leaves of this ledger have another root", word,
                         (long long)size);
    return size == whole || add_size(sizes, size) ? STATUS_OK : no_memory(err);
}

static int by_size(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* The checkpoint of a bundled campaign that is at this size; 0: there is none. */
static enum status own_checkpoint(struct store *store, int64_t size, int64_t *ret,
                                  struct error *err)
{
    struct statement statement;
    enum status status = statement_begin(store,
                                         "SELECT coalesce(max(id), 0) FROM checkpoint WHERE size ="
                                         " ?1 AND campaign IN temp.bundle_campaign",
                                         &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, size);
    return statement_single(&statement, ret, err);
}

static enum status add_head(struct store *store, const struct merkle_levels *levels, int64_t size,
                            int64_t whole, json_t *heads, struct error *err)
{
    json_t *json = head_json(levels, size, whole);
    struct ledger_checkpoint point;
    int64_t id = 0;
    enum status status = json ? own_checkpoint(store, size, &id, err) : no_memory(err);

    if (status == STATUS_OK && id > 0)
        status = ledger_find_checkpoint(store, id, &point, err);
    if (status == STATUS_OK && id > 0)
        status = add_own(store, levels, &point, json, err);
    if (status == STATUS_OK && json_array_append(heads, json) != 0)
        status = no_memory(err);
    json_decref(json);
    return status;
}

enum status bundle_heads_json(struct store *store, const struct bundle_options *options,
                              const struct merkle_levels *levels,
                              const struct ledger_checkpoint *head, json_t **ret, struct error *err)
{
    struct sizes sizes = {0};
    json_t *heads = json_array();
    enum status status = heads ? STATUS_OK : no_memory(err);

    if (status == STATUS_OK)
        status = each_row(store, "SELECT size FROM checkpoint WHERE size < ?1", head->size,
                          take_size, &sizes, err);
    for (size_t i = 0; i < options->since_count && status == STATUS_OK; i++)
        status = add_since(levels, options->since[i], head->size, &sizes, err);
    if (sizes.count > 0)
        qsort(sizes.items, sizes.count, sizeof(*sizes.items), by_size);
    for (size_t i = 0; i < sizes.count && status == STATUS_OK; i++)
        if (i == 0 || sizes.items[i] != sizes.items[i - 1])
            status = add_head(store, levels, sizes.items[i], head->size, heads, err);
    free(sizes.items);
    if (status == STATUS_OK)
        *ret = heads;
    else
        json_decref(heads);
    return status;
}

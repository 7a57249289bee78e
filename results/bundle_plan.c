/* Earlier heads of the ledger, and which rows they show to precede the first trial. */
#include "results/bundle_internal.h"

#include <stdlib.h>
#include <string.h>

#include "results/timestamp_authority.h"

#define CAMPAIGNS_MAX 10000

static struct bundle_planned *find_planned(struct bundle_reader *reader, const char *uid)
{
    for (size_t i = 0; uid && i < reader->planned_count; i++)
        if (!strcmp(reader->planned[i].uid, uid))
            return &reader->planned[i];
    return NULL;
}

/* ---- the first line ---- */

static void check_tokens(const struct bundle_reader *reader, const json_t *tokens,
                         const struct bundle_earlier *head)
{
    const char *ca = reader->options ? reader->options->tsa_ca : NULL;

    for (size_t i = 0; i < json_array_size(tokens); i++) {
        struct error err = ERROR_INIT;
        struct timestamp timestamp;
        unsigned char *token = NULL;
        size_t length = 0;
        bool checked = false;
        enum status status = STATUS_INVALID;

        if (!bundle_decode(json_array_get(tokens, i), &token, &length))
            error_set(&err, STATUS_INVALID, "it is no base64");
        else
            status = timestamp_verify(token, length, &head->root, ca, &timestamp, &checked, &err);
        free(token);
        if (status != STATUS_OK)
            BUNDLE_WRONG(reader, SIGNATURE, NULL,
                         "a time stamp of the head of %" PRId64 " leaves: %s", head->size,
                         err.message);
        else if (checked)
            bundle_found(reader, VERIFY_NOTE, VERIFY_SIGNATURE, NULL,
                         "an authority of %s stamped the head of %" PRId64 " leaves at %s", ca,
                         head->size, timestamp.time);
        else
            bundle_found(reader, VERIFY_NOTE, VERIFY_SIGNATURE, NULL,
                         "a time stamp of the head of %" PRId64
                         " leaves states %s; its signer was not checked: no CA given (--tsa-ca)",
                         head->size, timestamp.time);
    }
}

static enum status add_leaves(struct bundle_reader *reader, size_t number, const json_t *leaves,
                              struct error *err)
{
    static const char *const needed[] = {"leaf", "path", NULL}, *const none[] = {NULL};
    const size_t count = json_array_size(leaves);
    struct bundle_early *grown;
    int64_t last = -1;

    if (count == 0)
        return STATUS_OK;
    grown = realloc(reader->early, (reader->early_count + count) * sizeof(*grown));
    if (!grown)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a bundle");
    reader->early = grown;
    for (size_t i = 0; i < count; i++) {
        const json_t *leaf = json_array_get(leaves, i);

        if (!bundle_members_are(leaf, needed, none) ||
            json_integer_value(json_object_get(leaf, "leaf")) <= last)
            return bundle_damaged(
                reader, "a proof of its heads lacks leaf or path, or follows a later leaf");
        last = json_integer_value(json_object_get(leaf, "leaf"));
        reader->early[reader->early_count++] = (struct bundle_early){
            .head = number,
            .leaf = json_integer_value(json_object_get(leaf, "leaf")),
            .path = json_object_get(leaf, "path"),
        };
    }
    return STATUS_OK;
}

/* What the campaign's own checkpoint says: when, what for, by whom. */
static void take_note(struct bundle_reader *reader, size_t number, const char *text)
{
    const struct bundle_earlier *head = &reader->earlier[number];
    char kind[32], uid[STORE_UID_SIZE];
    const struct key_public *key;
    struct bundle_planned *planned;
    struct note note = {0};

    if (!bundle_parse_note(&reader->head, text, kind, uid, &note) || note.size != head->size ||
        !digest_equal(&note.root, &head->root) || !bundle_note_is_signed(text, &note, NULL) ||
        !(planned = find_planned(reader, note.campaign))) {
        BUNDLE_WRONG(reader, SIGNATURE, NULL,
                     "the note of the head of %" PRId64 " leaves is not that head's", head->size);
        return;
    }
    if (strcmp(kind, "plan") != 0 || planned->size != 0)
        return;
    planned->size = head->size;
    planned->head = number;
    if (reader->options)
        witnessing_take_note(&planned->witnessing, reader->options->roster, text);
    for (size_t i = 0; (key = verify_author(reader->options, i, note.utc_ns)); i++)
        if (bundle_note_is_signed(text, &note, key))
            return;
    bundle_found(
        reader, VERIFY_NOTE, VERIFY_SIGNATURE, NULL,
        verify_asks_for_authors(reader->options)
            ? "the plan of campaign %.8s was not signed by that key when it was made: when "
              "it was made is the maker's word"
            : "when the plan of campaign %.8s was made is the maker's word, as long as no "
              "key is asked for",
        planned->uid);
}

static enum status take_head(struct bundle_reader *reader, const json_t *json, struct error *err)
{
    static const char *const needed[] = {"path", "root", "size", NULL};
    static const char *const possible[] = {"leaves", "note", "tokens", NULL};
    const size_t number = reader->earlier_count;
    struct bundle_earlier *head = &reader->earlier[number];
    struct digest path[MERKLE_HEIGHT_MAX + 1];
    size_t count = 0;

    if (!bundle_members_are(json, needed, possible) ||
        !digest_from_hex(bundle_text(json, "root"), &head->root) ||
        !bundle_path(json_object_get(json, "path"), path, &count))
        return bundle_damaged(reader, "one of its heads has not size, root and path");
    head->size = json_integer_value(json_object_get(json, "size"));
    if (head->size < 1 || (number > 0 && head->size <= reader->earlier[number - 1].size))
        return bundle_damaged(reader, "its heads are not in ascending order");
    reader->earlier_count++;
    if (!merkle_connects((uint64_t)head->size, &head->root, (uint64_t)reader->head.size,
                         &reader->head.root, path, count)) {
        BUNDLE_WRONG(reader, TREE, NULL,
                     "the head of %" PRId64 " leaves is not one that the bundle's has grown from",
                     head->size);
        memset(&head->root, 0, sizeof(head->root)); /* nothing is shown by it */
        return STATUS_OK;
    }
    if (bundle_text(json, "note"))
        take_note(reader, number, bundle_text(json, "note"));
    check_tokens(reader, json_object_get(json, "tokens"), head);
    return add_leaves(reader, number, json_object_get(json, "leaves"), err);
}

static int by_leaf(const void *a, const void *b)
{
    const struct bundle_early *x = a, *y = b;

    return x->leaf < y->leaf ? -1 : x->leaf > y->leaf;
}

enum status bundle_take_heads(struct bundle_reader *reader, const json_t *line, struct error *err)
{
    const size_t campaigns = json_array_size(reader->head.campaigns);
    const json_t *heads = json_object_get(line, "heads");
    enum status status = STATUS_OK;

    if (campaigns > CAMPAIGNS_MAX)
        return bundle_damaged(reader, "it names more campaigns than a bundle can have");
    reader->planned = calloc(campaigns + 1, sizeof(*reader->planned));
    reader->earlier = calloc(json_array_size(heads) + 1, sizeof(*reader->earlier));
    if (!reader->planned || !reader->earlier)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a bundle");
    for (size_t i = 0; i < campaigns; i++) {
        struct bundle_planned *planned = &reader->planned[reader->planned_count++];

        planned->uid = json_string_value(json_array_get(reader->head.campaigns, i));
        planned->witnessing.first_trial_ns = INT64_MAX;
    }
    if (!json_is_array(heads))
        return bundle_damaged(reader, "its heads are no list");
    reader->heads = json_incref((json_t *)(uintptr_t)heads);
    for (size_t i = 0; i < json_array_size(heads) && status == STATUS_OK; i++)
        status = take_head(reader, json_array_get(heads, i), err);
    if (reader->early_count > 0)
        qsort(reader->early, reader->early_count, sizeof(*reader->early), by_leaf);
    return status;
}

/* ---- rows ---- */

/* The 32 bytes of a BLOB column. */
static bool digest_column(const struct bundle_row *row, const char *column, struct digest *ret)
{
    unsigned char *bytes = NULL;
    size_t length = 0;
    bool good = bundle_decode(json_object_get(row->blobs, column), &bytes, &length) &&
                length == DIGEST_SIZE;

    if (good)
        memcpy(ret->bytes, bytes, DIGEST_SIZE);
    free(bytes);
    return good;
}

/* The campaign and the plan that it names must both be covered by the plan's head. */
static void look_at_campaign(struct bundle_reader *reader, const struct bundle_row *row)
{
    struct bundle_planned *planned = find_planned(reader, bundle_text(row->row, "uid"));
    bool row_stood = false, plan_stood = false;

    if (!planned || planned->id != 0) {
        BUNDLE_WRONG(reader, COMPLETE, row->table,
                     "the first line does not name this campaign, or it is there twice");
        return;
    }
    planned->id = json_integer_value(json_object_get(row->row, "id"));
    if (!digest_column(row, "plan", &planned->plan))
        return;
    for (size_t i = 0; i < reader->early_count; i++) {
        const struct bundle_early *early = &reader->early[i];

        if (!early->seen || early->head != planned->head)
            continue;
        row_stood |= early->leaf == row->leaf;
        plan_stood |= early->is_content && digest_equal(&early->content, &planned->plan);
    }
    planned->holds = row_stood && plan_stood;
}

void bundle_look_at_row(struct bundle_reader *reader, const struct bundle_row *row,
                        const struct digest *leaf)
{
    for (; reader->early_next < reader->early_count &&
           reader->early[reader->early_next].leaf <= row->leaf;
         reader->early_next++) {
        struct bundle_early *early = &reader->early[reader->early_next];
        struct digest path[MERKLE_HEIGHT_MAX + 1];
        size_t count = 0;

        if (early->leaf != row->leaf || !bundle_path(early->path, path, &count))
            continue;
        early->seen =
            merkle_proves(leaf, (uint64_t)row->leaf, (uint64_t)reader->earlier[early->head].size,
                          path, count, &reader->earlier[early->head].root);
        early->is_content =
            !strcmp(row->table, "content") && digest_column(row, "digest", &early->content);
    }
    if (!strcmp(row->table, "campaign"))
        look_at_campaign(reader, row);
    if (!strcmp(row->table, "checkpoint") &&
        json_integer_value(json_object_get(row->row, "size")) != row->leaf)
        BUNDLE_WRONG(reader, TREE, row->table,
                     "leaf %" PRId64 " is a head of another size: it was not made at the "
                     "time it states",
                     row->leaf);
    for (size_t i = 0; i < reader->planned_count && !strcmp(row->table, "trial"); i++) {
        struct bundle_planned *planned = &reader->planned[i];
        const json_int_t started = json_integer_value(json_object_get(row->row, "started_utc_ns"));

        if (planned->id != json_integer_value(json_object_get(row->row, "campaign")))
            continue;
        planned->early_trial |= row->leaf < planned->size;
        if (started < planned->witnessing.first_trial_ns)
            planned->witnessing.first_trial_ns = started;
    }
    for (size_t i = 0; i < reader->planned_count && !strcmp(row->table, "import"); i++)
        if (reader->planned[i].id == json_integer_value(json_object_get(row->row, "campaign")))
            reader->planned[i].imported = true;
}

/* Who saw the plan before it ran. */
static void tell_witnesses(const struct bundle_reader *reader, const struct bundle_planned *planned)
{
    struct text message;
    bool wrong = false;

    /* One with trials was measured, whatever a row of `import` says. */
    if (!reader->options || (planned->imported && planned->witnessing.first_trial_ns == INT64_MAX))
        return;
    text_init(&message);
    if (witnessing_tell(&planned->witnessing, reader->options, planned->uid, &message, &wrong))
        bundle_found(reader, wrong ? VERIFY_WRONG : VERIFY_NOTE, VERIFY_SIGNATURE, "campaign", "%s",
                     text_ok(&message) ? message.data : "out of memory");
    text_finish(&message);
}

void bundle_check_plans(struct bundle_reader *reader)
{
    for (size_t i = 0; i < reader->early_count; i++)
        if (!reader->early[i].seen)
            BUNDLE_WRONG(reader, TREE, NULL,
                         "no row is shown to be leaf %" PRId64 " under the head of %" PRId64
                         " leaves",
                         reader->early[i].leaf, reader->earlier[reader->early[i].head].size);
    for (size_t i = 0; i < reader->planned_count; i++) {
        const struct bundle_planned *planned = &reader->planned[i];

        if (planned->id == 0)
            BUNDLE_WRONG(reader, COMPLETE, "campaign", "has no row of its campaign %.8s",
                         planned->uid);
        else if (planned->size == 0)
            bundle_found(reader, VERIFY_NOTE, VERIFY_COMPLETE, "campaign",
                         "that campaign %.8s was planned before its first trial is not shown: the "
                         "bundle has no head of its plan",
                         planned->uid);
        else if (!planned->holds || planned->early_trial)
            BUNDLE_WRONG(reader, COMPLETE, "campaign",
                         "campaign %.8s was not planned before its first trial: the head of its "
                         "plan %s",
                         planned->uid,
                         planned->early_trial ? "covers a trial already" : "does not cover it");
        if (planned->id != 0)
            tell_witnesses(reader, planned);
    }
}

void bundle_finish_heads(struct bundle_reader *reader)
{
    json_decref(reader->heads);
    free(reader->earlier);
    free(reader->planned);
    free(reader->early);
}

#include <stdlib.h>
#include <string.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/cli/with_store.h"
#include "harness/core/file.h"
#include "harness/core/log.h"
#include "results/ledger.h"

enum { KEY_SIGN = 0x100, KEY_WITNESS, KEY_TOKEN, KEY_NUMBER, KEY_UNSIGNED };

#define TOKEN_MAX (1 << 20)

static int show(const struct command_line *line, struct store *store,
                const struct ledger_checkpoint *checkpoint)
{
    char root[DIGEST_HEX_SIZE];
    struct error err = ERROR_INIT;
    struct text out;
    char *note = NULL;

    if (ledger_note(store, checkpoint, &note, &err) != STATUS_OK)
        return command_fail(&err);
    digest_hex(&checkpoint->root, root);
    if (command_has(line, KEY_JSON)) {
        json_t *json = json_pack("{s:I, s:I, s:s, s:I, s:s, s:s, s:s}", "checkpoint",
                                 (json_int_t)checkpoint->id, "size", (json_int_t)checkpoint->size,
                                 "root", root, "utc_ns", (json_int_t)checkpoint->utc_ns, "kind",
                                 checkpoint->kind, "origin", checkpoint->origin, "note", note);

        free(note);
        return output_json(json);
    }
    text_init(&out);
    text_append_format(&out,
                       "%s\nCheckpoint %lld of %lld rows. Whoever keeps this line can check the "
                       "database against it later:\n\n"
                       "  assay verify --expect-head %lld:%s %s\n",
                       note, (long long)checkpoint->id, (long long)checkpoint->size,
                       (long long)checkpoint->size, root, store_path(store));
    free(note);
    return output_text(&out);
}

static enum status add_token(struct store *store, int64_t checkpoint, const char *path,
                             struct error *err)
{
    char *bytes = NULL;
    size_t length;
    enum status status = file_read(path, TOKEN_MAX, &bytes, &length, err);

    if (status == STATUS_OK) {
        status = ledger_add_timestamp(store, checkpoint, bytes, length, err);
        if (status != STATUS_OK)
            error_prefix(err, "%s", path);
    }
    free(bytes);
    return status;
}

static enum status countersign(struct store *store, int64_t checkpoint, const char *role,
                               const char *path, struct error *err)
{
    struct key key;
    enum status status = key_read(path, &key, err);

    if (status != STATUS_OK)
        return status;
    status = ledger_add_signature(store, checkpoint, role, &key, err);
    key_finish(&key);
    return status;
}

/* A new checkpoint, signed by the named key, else by the usual one when there is one. */
static enum status add_new(const struct command_line *line, struct store *store,
                           struct ledger_checkpoint *ret, struct error *err)
{
    const char *path = command_value(line, KEY_SIGN);
    struct key key = {0};
    enum status status = STATUS_NOT_FOUND;

    if (path)
        status = key_read(path, &key, err);
    else if (!command_has(line, KEY_UNSIGNED))
        status = key_read_default(&key, err);
    if (status != STATUS_OK && (path || status != STATUS_NOT_FOUND))
        return status;
    if (status == STATUS_NOT_FOUND && !command_has(line, KEY_UNSIGNED))
        log_warning("there is no key, so this checkpoint is not signed; `assay key new` makes one");
    status =
        ledger_add_checkpoint(store, "request", 0, status == STATUS_OK ? &key : NULL, ret, err);
    key_finish(&key);
    return status;
}

static int checkpoint(const struct command_line *line, struct store *store, void *context)
{
    const int64_t *number = context;
    const char *witness = command_value(line, KEY_WITNESS), *token = command_value(line, KEY_TOKEN);
    bool existing = witness || token || command_has(line, KEY_NUMBER);
    struct ledger_checkpoint found;
    struct error err = ERROR_INIT;
    enum status status;

    status = existing ? ledger_find_checkpoint(store, *number, &found, &err)
                      : add_new(line, store, &found, &err);
    if (status == STATUS_OK && existing && command_has(line, KEY_SIGN))
        status = countersign(store, found.id, "author", command_value(line, KEY_SIGN), &err);
    if (status == STATUS_OK && witness)
        status = countersign(store, found.id, "witness", witness, &err);
    if (status == STATUS_OK && token)
        status = add_token(store, found.id, token, &err);
    if (status != STATUS_OK) {
        command_say(&err);
        return status == STATUS_INVALID ? ASSAY_EXIT_USAGE : ASSAY_EXIT_STORE;
    }
    return show(line, store, &found);
}

static int run(const struct command_line *line)
{
    const char *word = command_value(line, KEY_NUMBER);
    int64_t number = 0;

    if (word && (!text_parse_i64(word, &number) || number < 1)) {
        log_error("--number %s: write the number of a checkpoint, from 1", word);
        return ASSAY_EXIT_USAGE;
    }
    return with_store(line, STORE_WRITE, checkpoint, &number);
}

static const struct argp_option options[] = {
    {"key", KEY_SIGN, "FILE", 0, "sign with this key (default: the one of `assay key show`)", 0},
    {"unsigned", KEY_UNSIGNED, NULL, 0, "sign with no key", 0},
    {"witness", KEY_WITNESS, "FILE", 0,
     "countersign the newest checkpoint with this key, in place of a new checkpoint", 0},
    {"timestamp-token", KEY_TOKEN, "FILE", 0,
     "keep this RFC 3161 token of the newest checkpoint's root", 0},
    {"number", KEY_NUMBER, "N", 0, "the checkpoint to show, sign or stamp (default: the newest)",
     0},
    {0}};

const struct command command_checkpoint = {
    .name = "checkpoint",
    .summary = "Sign the head of the log, countersign it, keep a time stamp of it",
    .text = "A checkpoint is the number of records in the log and their Merkle root. Published or "
            "handed to somebody else, it proves later that nothing before it was changed. A time "
            "stamp comes from an authority:\n"
            "\n"
            "  openssl ts -query -digest ROOT -sha256 -cert -out query.tsq\n"
            "  curl -H 'Content-Type: application/timestamp-query' \\\n"
            "       --data-binary @query.tsq URL > reply.tsr\n"
            "  assay checkpoint --timestamp-token reply.tsr",
    .options = options,
    .groups = GROUP_STORE | GROUP_JSON,
    .run = run,
};

#include <stdlib.h>
#include <string.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/cli/with_store.h"
#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/file.h"
#include "harness/core/log.h"
#include "results/evidence/ledger_witness.h"
#include "results/evidence/timestamp.h"

enum { KEY_SIGN = 0x100, KEY_WITNESS, KEY_TOKEN, KEY_NUMBER, KEY_UNSIGNED, KEY_SINCE, KEY_ROSTER };

static int show(const struct command_line *line, struct store *store,
                const struct ledger_checkpoint *checkpoint)
{
    char root[DIGEST_HEX_SIZE];
    struct error err = ERROR_INIT;
    struct text out = TEXT_INIT;
    AUTO_FREE char *note = NULL;

    if (ledger_note(store, checkpoint, &note, &err) != STATUS_OK)
        return command_fail(&err);
    digest_hex(&checkpoint->root, root);
    if (command_has(line, KEY_JSON)) {
        json_t *json = json_pack("{s:I, s:I, s:s, s:I, s:s, s:s, s:s}", "checkpoint",
                                 (json_int_t)checkpoint->id, "size", (json_int_t)checkpoint->size,
                                 "root", root, "utc_ns", (json_int_t)checkpoint->utc_ns, "kind",
                                 checkpoint->kind, "origin", checkpoint->origin, "note", note);

        return output_json(json);
    }
    text_append_format(&out,
                       "%s\nCheckpoint %lld of %lld records. Whoever keeps this line can check the "
                       "database against it later:\n\n"
                       "  assay verify --expect-head %lld:%s %s\n",
                       note, (long long)checkpoint->id, (long long)checkpoint->size,
                       (long long)checkpoint->size, root, store_path_word(store));
    return output_text(&out);
}

static enum status add_token(struct store *store, int64_t checkpoint, const char *path,
                             struct error *err)
{
    AUTO_FREE char *bytes = NULL;
    size_t length;
    enum status status = file_read(path, TIMESTAMP_MAX, &bytes, &length, err);

    if (status == STATUS_OK) {
        status = ledger_add_timestamp(store, checkpoint, bytes, length, err);
        if (status != STATUS_OK)
            error_prefix(err, "%s", path);
    }
    return status;
}

/* As an author, or as a witness who keeps no state. */
static enum status countersign(struct store *store, const struct ledger_checkpoint *checkpoint,
                               bool is_witness, const char *path, struct error *err)
{
    CLEANUP(key_finish) struct key key = {0};

    TRY(key_read(path, &key, err));

    return is_witness
               ? ledger_cosign(store, checkpoint, &key, clock_utc_ns() / INT64_C(1000000000), err)
               : ledger_add_signature(store, checkpoint->id, "author", &key, err);
}

/* A new checkpoint, signed by the named key, else by the usual one when there is one. */
static enum status add_new(const struct command_line *line, struct store *store,
                           struct ledger_checkpoint *ret, struct error *err)
{
    const char *path = command_value(line, KEY_SIGN);
    CLEANUP(key_finish) struct key key = {0};
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
    return status;
}

static int fail(const struct error *err)
{
    command_say(err);
    return err->code == STATUS_INVALID ? ASSAY_EXIT_USAGE : ASSAY_EXIT_STORE;
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
        status = countersign(store, &found, false, command_value(line, KEY_SIGN), &err);
    if (status == STATUS_OK && witness)
        status = countersign(store, &found, true, witness, &err);
    if (status == STATUS_OK && token)
        status = add_token(store, found.id, token, &err);
    if (status != STATUS_OK)
        return fail(&err);
    return show(line, store, &found);
}

/* ---- to a witness and back ---- */

static enum status write_note(const char *path, const char *note, struct error *err)
{
    TRY(file_check_output(path, err));
    return file_write_atomic(path, note, strlen(note), 0666, err);
}

static int export_note(const struct command_line *line, struct store *store, void *context)
{
    const int64_t *number = context;
    const char *path = command_value(line, KEY_OUTPUT), *since = command_value(line, KEY_SINCE);
    struct ledger_checkpoint found;
    struct error err = ERROR_INIT;
    AUTO_FREE char *note = NULL;
    int64_t size = 0;
    struct text out = TEXT_INIT;
    enum status status = STATUS_OK;

    if (since && (!text_parse_i64(since, &size) || size < 0))
        status =
            error_set(&err, STATUS_INVALID,
                      "--since %s: write how many records the head had that the witness keeps, "
                      "as `assay witness --kept` says it; 0: none",
                      since);
    if (status == STATUS_OK)
        status = ledger_find_checkpoint(store, *number, &found, &err);
    if (status == STATUS_OK)
        status = ledger_request(store, &found, size, &note, &err);
    if (status == STATUS_OK && path)
        status = write_note(path, note, &err);
    if (status != STATUS_OK)
        return fail(&err);
    if (path || command_has(line, KEY_JSON))
        return command_has(line, KEY_JSON) ? show(line, store, &found) : ASSAY_EXIT_OK;
    text_append(&out, note);
    return output_text(&out);
}

static int tell_import(const struct command_line *line, struct store *store,
                       const struct ledger_import *import)
{
    struct ledger_checkpoint found;
    struct error err = ERROR_INIT;
    struct text out;
    int result;

    if (import->foreign > 0)
        log_warning("%zu signatures are of keys that the roster does not have (the first: %s): "
                    "they cannot be checked and were not stored",
                    import->foreign, import->first_foreign);
    if (import->wrong > 0)
        log_error("%s%s", import->first_wrong,
                  import->wrong > 1 ? "; others are not stored either" : "");
    if (command_has(line, KEY_JSON)) {
        if (ledger_find_checkpoint(store, import->checkpoint, &found, &err) != STATUS_OK)
            return fail(&err);
        result = show(line, store, &found);
    } else {
        text_init(&out);
        text_append_format(&out, "Checkpoint %lld: %zu signatures stored, %zu were here before.\n",
                           (long long)import->checkpoint, import->added, import->known);
        result = output_text(&out);
    }
    return import->wrong > 0 ? ASSAY_EXIT_USAGE : result;
}

static int import_note(const struct command_line *line, struct store *store, void *context)
{
    const int64_t *number = context;
    const char *path = line->argument_count > 1 ? line->arguments[1] : "/dev/stdin";
    const char *trusted = command_value(line, KEY_ROSTER);
    struct ledger_import import;
    struct error err = ERROR_INIT;
    CLEANUP(roster_finish) struct roster roster = {0};
    AUTO_FREE char *bytes = NULL;
    size_t length = 0;
    enum status status =
        trusted ? roster_read(trusted, &roster, &err)
                : error_set(&err, STATUS_INVALID,
                            "a note names its signers, and their keys are not in it: name a file "
                            "that has them with --roster");

    if (status == STATUS_OK)
        status = file_read(path, NOTE_TEXT_MAX, &bytes, &length, &err);
    if (status == STATUS_OK && strlen(bytes) != length)
        status = error_set(&err, STATUS_INVALID, "%s: is not text", path);
    if (status == STATUS_OK) {
        struct error reason = ERROR_INIT;

        status = ledger_take_note(store, *number, &roster, bytes, &import, &reason);
        if (status != STATUS_OK)
            error_set(&err, status, "%s: %s", path, reason.message);
    }
    return status == STATUS_OK ? tell_import(line, store, &import) : fail(&err);
}

static int run(const struct command_line *line)
{
    const char *word = command_value(line, KEY_NUMBER);
    const char *what = line->argument_count ? line->arguments[0] : NULL;
    int64_t number = 0;

    if (word && (!text_parse_i64(word, &number) || number < 1)) {
        log_error("--number %s: write the number of a checkpoint, from 1", word);
        return ASSAY_EXIT_USAGE;
    }
    if (!what)
        return with_store(line, STORE_WRITE, checkpoint, &number);
    if (!strcmp(what, "export") && line->argument_count == 1)
        return with_store(line, STORE_READ, export_note, &number);
    if (!strcmp(what, "import"))
        return with_store(line, STORE_WRITE, import_note, &number);
    log_error("assay checkpoint %s: write export, import FILE, or nothing", what);
    return ASSAY_EXIT_USAGE;
}

static const struct argp_option options[] = {
    {"key", KEY_SIGN, "FILE", 0, "sign with this key (default: the one of `assay key show`)"},
    {"unsigned", KEY_UNSIGNED, NULL, 0, "sign with no key"},
    {"witness", KEY_WITNESS, "FILE", 0,
     "cosign the newest checkpoint with this key, as a witness, in place of a new checkpoint"},
    {"timestamp-token", KEY_TOKEN, "FILE", 0,
     "keep this RFC 3161 token of the newest checkpoint's root"},
    {"number", KEY_NUMBER, "N", 0, "the checkpoint to show, sign or stamp (default: the newest)"},
    {"since", KEY_SINCE, "SIZE", 0,
     "export: with the proof that it continues the head of so many records, which a witness keeps"},
    {"output", KEY_OUTPUT, "FILE", 0, "export: into this file, not to standard output"},
    {"roster", KEY_ROSTER, "FILE", 0, "import: the public keys of the signers (see assay witness)"},
    {0}};

const struct command command_checkpoint = {
    .name = "checkpoint",
    .arguments = "[export|import [FILE]]",
    .summary = "Sign the head of the log, countersign it, keep a time stamp of it",
    .text = "A checkpoint is the number of records in the log and their Merkle root. Published or "
            "handed to somebody else, it proves later that nothing before it was changed. A time "
            "stamp comes from an authority:\n"
            "\n"
            "  openssl ts -query -digest ROOT -sha256 -cert -out query.tsq\n"
            "  curl -H 'Content-Type: application/timestamp-query' \\\n"
            "       --data-binary @query.tsq URL > reply.tsr\n"
            "  assay checkpoint --timestamp-token reply.tsr\n"
            "\n"
            "A witness elsewhere gets it as a signed note, and answers with a cosignature:\n"
            "\n"
            "  assay checkpoint export -o head.note\n"
            "  assay witness --key mine.key --state seen head.note > answer   (the witness)\n"
            "  assay checkpoint import answer --roster roster",
    .options = options,
    .groups = GROUP_STORE | GROUP_JSON,
    .arguments_max = 2,
    .first_words = "export import",
    .completes = "FILE",
    .run = run,
};

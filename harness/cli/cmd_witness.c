#include <stdlib.h>
#include <string.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/file.h"
#include "results/evidence/note.h"
#include "results/evidence/witness.h"

enum { KEY_FILE = 0x100, KEY_STATE, KEY_LOG, KEY_KEPT };

#define LOG_KEYS_MAX 16

static int fail(const struct error *err)
{
    command_say(err);
    switch (err->code) {
    case STATUS_INVALID:
    case STATUS_NOT_FOUND:
        return ASSAY_EXIT_USAGE;
    case STATUS_DENIED:
    case STATUS_CORRUPT:
        return ASSAY_EXIT_STORE;
    default:
        return ASSAY_EXIT_SYSTEM;
    }
}

static enum status read_log_keys(const struct command_line *line, struct key_public *keys,
                                 struct witness *witness, struct error *err)
{
    const char *word;

    for (; (word = command_value_at(line, KEY_LOG, witness->log_key_count));
         witness->log_key_count++) {
        if (witness->log_key_count == LOG_KEYS_MAX)
            return error_set(err, STATUS_INVALID, "--log-key: at most %d of them", LOG_KEYS_MAX);
        TRY(key_public_read(word, &keys[witness->log_key_count], err));
    }
    witness->log_keys = keys;
    return STATUS_OK;
}

static enum status cosign(const struct command_line *line, const struct witness *witness,
                          const char *request, struct text *out, struct error *err)
{
    const char *path = command_value(line, KEY_FILE);
    CLEANUP(key_finish) struct key key = {0};

    TRY(path ? key_read(path, &key, err)
             : error_set(err, STATUS_INVALID,
                         "--key: name the witness's key, which signs nothing else; `assay key new` "
                         "makes one"));

    return witness_cosign(witness, request, &key, clock_utc_ns() / INT64_C(1000000000), out, err);
}

static int run(const struct command_line *line)
{
    struct key_public keys[LOG_KEYS_MAX];
    struct witness witness = {.state = command_value(line, KEY_STATE)};
    const char *path = line->argument_count ? line->arguments[0] : "/dev/stdin";
    struct error err = ERROR_INIT;
    AUTO_FREE char *request = NULL;
    size_t length = 0;
    int64_t kept = 0;
    CLEANUP(text_finish) struct text out = TEXT_INIT;
    enum status status = read_log_keys(line, keys, &witness, &err);

    if (status == STATUS_OK && !witness.state)
        status = error_set(&err, STATUS_INVALID,
                           "--state: name the file in which this witness keeps what it has seen");
    if (status == STATUS_OK)
        status = file_read(path, NOTE_TEXT_MAX, &request, &length, &err);
    if (status == STATUS_OK && strlen(request) != length)
        status = error_set(&err, STATUS_INVALID, "%s: is not text", path);
    if (status == STATUS_OK && command_has(line, KEY_KEPT)) {
        status = witness_kept(&witness, request, &kept, &err);
        text_append_format(&out, "%lld\n", (long long)kept);
    } else if (status == STATUS_OK) {
        status = cosign(line, &witness, request, &out, &err);
    }
    if (status == STATUS_OK)
        return output_text(&out);
    return fail(&err);
}

static const struct argp_option options[] = {
    {"key", KEY_FILE, "FILE", 0, "the witness's key, which signs nothing else"},
    {"state", KEY_STATE, "FILE", 0, "what this witness has seen, of every log; made when absent"},
    {"log-key", KEY_LOG, "PUBLIC|FILE", OPTION_REPEATS,
     "cosign only what is signed by this public key of the log's owner; may be given several "
     "times: any of them"},
    {"kept", KEY_KEPT, NULL, 0,
     "print how many records the last head seen of the note's log has (0: none was seen); sign "
     "nothing"},
    {0}};

const struct command command_witness = {
    .name = "witness",
    .arguments = "[NOTE]",
    .summary = "Cosign the head of another log",
    .text = "For the witness, on another machine. Reads a note from `assay checkpoint export`, "
            "prints a cosignature: that this head was seen now, and that it continues the last one "
            "of this log that was seen here. When one was, the note must come with a proof "
            "(`export --since SIZE`, SIZE from --kept). The form is that of C2SP tlog-witness.\n"
            "\n"
            "A plan that is cosigned before its first trial cannot be replaced by another later:\n"
            "\n"
            "  assay run triad --plan-only --nonce TEXT --db evidence.db\n"
            "  assay checkpoint export -o plan.note --db evidence.db\n"
            "  assay witness --key mine.key --state seen plan.note > answer   (the witness)\n"
            "  assay checkpoint import answer --roster roster --db evidence.db\n"
            "  assay run --plan last --db evidence.db\n"
            "  assay verify evidence.db --roster roster --witnesses 1\n"
            "\n"
            "A roster has one key a line, as `assay key show` prints it, then `author` or "
            "`witness`, and optionally not-before=DATE, expires=DATE and revoked=DATE: its "
            "signatures count only between these dates.\n"
            "\n"
            "Exit status 4: it does not continue what was seen, or is not signed by --log-key.",
    .options = options,
    .arguments_max = 1,
    .completes = "FILE",
    .run = run,
};

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/core/cleanup.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "results/evidence/key.h"

enum { KEY_FILE = 0x100, KEY_PASSPHRASE, KEY_SIGNER, KEY_PUBLIC };

static int no_home(void)
{
    log_error(
        "no place for keys is known: set HOME or XDG_CONFIG_HOME, or name a file with --file");
    return ASSAY_EXIT_USAGE;
}

static json_t *key_json(const struct key_public *key, const char *path)
{
    char text[KEY_TEXT_MAX], id[9];

    snprintf(id, sizeof(id), "%08x", key_id(key));
    return json_pack("{s:s, s:s, s:s, s:o}", "name", key->name, "id", id, "public_key",
                     key_public_text(key, text), "file", printable_or_null(path));
}

static int show_key(const struct command_line *line, const struct key_public *key, const char *path)
{
    char public_text[KEY_TEXT_MAX];
    struct text out = TEXT_INIT;

    if (command_has(line, KEY_JSON))
        return output_json(key_json(key, path));
    text_append_format(&out, "%s\n", key_public_text(key, public_text));
    return output_text(&out);
}

static int is_database(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);

    return length > 3 && strcmp(entry->d_name + length - 3, ".db") == 0;
}

/* A person who gets the folder with both can rewrite the one and sign it with the other. */
static void warn_of_databases(const char *path)
{
    const char *slash = strrchr(path, '/');
    AUTO_FREE char *folder =
        slash ? text_format("%.*s", (int)(slash - path + 1), path) : strdup(".");
    struct dirent **entries = NULL;
    int count = folder ? scandir(folder, &entries, is_database, alphasort) : 0;

    if (count > 0)
        log_warning("%s lies beside the database %s: whoever has both can rewrite results and sign "
                    "them; keep "
                    "the key somewhere else",
                    path, entries[0]->d_name);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
}

/* The public key of a signer: as others write one, or its 32 bytes in base64. */
static enum status read_public(const char *word, const char *name, struct key_public *ret,
                               struct error *err)
{
    size_t got = 0;

    if (!key_base64_decode(word, strlen(word), ret->bytes, sizeof(ret->bytes), &got) ||
        got != sizeof(ret->bytes))
        return key_public_read(word, ret, err);
    snprintf(ret->name, sizeof(ret->name), "%s", name);
    return STATUS_OK;
}

/* A key that a command signs with; what it signs at first shows that it has the key. */
static enum status take_signer(const struct command_line *line, const char *name, struct key *ret,
                               struct error *err)
{
    static const char test[] = "assay key new: does this command sign with that key?\n";
    const char *command = command_value(line, KEY_SIGNER);
    const char *public_key = command_value(line, KEY_PUBLIC);
    uint8_t signature[KEY_SIGNATURE_SIZE];

    memset(ret, 0, sizeof(*ret));
    if (!public_key)
        return error_set(err, STATUS_INVALID,
                         "--signer: name the public key that the command signs with, too, with "
                         "--public");
    if (!*command || strlen(command) >= sizeof(ret->command) || strchr(command, '\n') ||
        !text_is_utf8(command, strlen(command)))
        return error_set(err, STATUS_INVALID,
                         "--signer: write a command of one line, at most %d "
                         "bytes",
                         KEY_COMMAND_MAX - 1);
    snprintf(ret->command, sizeof(ret->command), "%s", command);
    TRY(key_check_name(name, err));
    TRY(read_public(public_key, name, &ret->public, err));
    return key_sign(ret, test, strlen(test), signature, err);
}

static enum status write_key(const struct command_line *line, const struct key *key,
                             const char *path, struct error *err)
{
    char passphrase[KEY_PASSPHRASE_MAX];
    enum status status;

    if (!command_has(line, KEY_PASSPHRASE))
        return key_write(key, path, err);
    if (key->command[0])
        return error_set(err, STATUS_INVALID,
                         "--passphrase: assay has no key to protect, the command of --signer does");
    status = key_passphrase(key->public.name, true, passphrase, err);
    if (status == STATUS_OK)
        status = key_write_sealed(key, passphrase, path, err);
    explicit_bzero(passphrase, sizeof(passphrase));
    return status;
}

static int new_key(const struct command_line *line)
{
    const char *name = line->argument_count > 1 ? line->arguments[1] : NULL;
    const char *file = command_value(line, KEY_FILE);
    AUTO_FREE char *path = file ? strdup(file) : key_path(name);
    struct error err = ERROR_INIT;
    enum status status;
    CLEANUP(key_finish) struct key key = {0};

    if (!path)
        return no_home();
    status = command_has(line, KEY_SIGNER) ? take_signer(line, name, &key, &err)
                                           : key_generate(name, &key, &err);
    if (status == STATUS_OK)
        status = write_key(line, &key, path, &err);
    if (status != STATUS_OK)
        return command_fail(&err);
    if (!key.command[0])
        warn_of_databases(path);
    if (!command_has(line, KEY_JSON))
        log_info(key.command[0]
                     ? "%s names the command that signs. Others check your signatures with this:"
                     : "the key is in %s: keep it to yourself, and keep a copy. Others check your "
                       "signatures with this:",
                 path);
    return show_key(line, &key.public, path);
}

static int show(const struct command_line *line)
{
    const char *name = line->argument_count > 1 ? line->arguments[1] : NULL;
    const char *file = command_value(line, KEY_FILE);
    AUTO_FREE char *path = file ? strdup(file) : key_path(name);
    struct error err = ERROR_INIT;
    struct key_public key;
    int result;

    if (!path)
        return no_home();
    if (key_read_public(path, &key, &err) != STATUS_OK) {
        command_say(&err);
        result = err.code == STATUS_NO_MEMORY ? ASSAY_EXIT_SYSTEM : ASSAY_EXIT_USAGE;
    } else {
        result = show_key(line, &key, path);
    }
    return result;
}

static int is_key_file(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);

    return length > 4 && strcmp(entry->d_name + length - 4, ".key") == 0;
}

static void add_to_list(const char *path, json_t *list, struct text *out)
{
    struct error err = ERROR_INIT;
    char public_text[KEY_TEXT_MAX];
    struct key_public key;

    if (key_read_public(path, &key, &err) != STATUS_OK) {
        log_warning("%s", err.message);
        return;
    }
    text_append_format(out, "%s  %s\n", key_public_text(&key, public_text), path);
    json_array_append_new(list, key_json(&key, path));
}

static int list_keys(const struct command_line *line)
{
    AUTO_FREE char *folder = key_folder();
    struct dirent **entries = NULL;
    int count = folder ? scandir(folder, &entries, is_key_file, alphasort) : 0;
    json_t *list = json_array();
    CLEANUP(text_finish) struct text out = TEXT_INIT;

    if (!folder) {
        json_decref(list);
        return no_home();
    }
    for (int i = 0; i < count; i++) {
        AUTO_FREE char *path = text_format("%s/%s", folder, entries[i]->d_name);

        if (path)
            add_to_list(path, list, &out);
        free(entries[i]);
    }
    free(entries);
    if (out.length == 0)
        text_append_format(&out, "No keys in %s; `assay key new` makes one.\n", folder);
    if (command_has(line, KEY_JSON))
        return output_json(list);
    json_decref(list);
    return output_text(&out);
}

static int run(const struct command_line *line)
{
    const char *what = line->arguments[0];

    if (strcmp(what, "new") == 0)
        return new_key(line);
    if (strcmp(what, "show") == 0)
        return show(line);
    if (strcmp(what, "list") == 0 && line->argument_count == 1)
        return list_keys(line);
    log_error("assay key %s: write new, show or list", what);
    return ASSAY_EXIT_USAGE;
}

static const struct argp_option options[] = {
    {"file", KEY_FILE, "FILE", 0, "the key's file, in place of the default"},
    {"passphrase", KEY_PASSPHRASE, NULL, 0,
     "new: protect it with a passphrase, from the terminal or the file ASSAY_KEY_PASSPHRASE_FILE"},
    {"signer", KEY_SIGNER, "COMMAND", 0,
     "new: no key is made; this command signs its standard input (Ed25519) and prints the "
     "signature in base64, for keys in a hardware token or on another machine"},
    {"public", KEY_PUBLIC, "KEY|FILE", 0,
     "new --signer: the public key it signs with, its 32 bytes in base64 or as `show` prints one"},
    {0}};

const struct command command_key = {
    .name = "key",
    .arguments = "new|show|list [NAME]",
    .summary = "Make and show the keys that sign checkpoints",
    .text =
        "A key is in a file of its own, outside every database, that only its owner may read: "
        "ASSAY_KEY, else assay/NAME.key under XDG_CONFIG_HOME or ~/.config. The key without a NAME "
        "signs what `assay run` records: the plan before the first trial, and the end. Its "
        "signatures are named key- and the first 8 hex digits of the SHA-256 of the public key, "
        "those of another key NAME: what is signed contains that name, and nothing about the host "
        "or the user. `show` prints the public key, which `assay verify --key` takes.\n"
        "\n"
        "  assay key new lab --signer 'sign-with-token' --public BASE64",
    .options = options,
    .groups = GROUP_JSON,
    .arguments_min = 1,
    .arguments_max = 2,
    .first_words = "new show list",
    .run = run,
};

/* Keys in files: who may read them, their three forms, and where they are. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "harness/core/file.h"
#include "harness/core/cleanup.h"
#include "harness/core/text.h"
#include "results/evidence/key_internal.h"

#define PRIVATE_PREFIX "PRIVATE+KEY+"
#define SEALED_PREFIX "ENCRYPTED+KEY+"
#define COMMAND_PREFIX "COMMAND+KEY+"
#define FILE_MAX (2 * KEY_TEXT_MAX + KEY_COMMAND_MAX)

static enum status make_folder(const char *path, struct error *err)
{
    char *folder = strdup(path);
    char *slash = folder ? strrchr(folder, '/') : NULL;
    enum status status = STATUS_OK;

    if (!folder)
        return error_no_memory(err);
    if (slash && slash != folder) {
        *slash = '\0';
        status = file_make_directories(folder, 0700, err);
    }
    free(folder);
    return status;
}

/* A new file that its owner alone can read. */
static enum status write_new(const char *path, const char *text, size_t length, struct error *err)
{
    enum status status = make_folder(path, err);
    int fd;

    if (status != STATUS_OK)
        return status;
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == EEXIST)
        return error_set(
            err, STATUS_INVALID,
            "%s: is there already, and a key is never overwritten; choose another name "
            "or move it away",
            path);
    if (fd < 0)
        return error_set_errno(err, errno, "%s", path);
    status = file_write_all(fd, text, length, err);
    if (status == STATUS_OK && fsync(fd) != 0)
        status = error_set_errno(err, errno, "%s", path);
    close(fd);
    if (status != STATUS_OK)
        unlink(path);
    return status;
}

enum status key_write(const struct key *key, const char *path, struct error *err)
{
    char base64[KEY_BASE64_MAX], public_text[KEY_TEXT_MAX], text[FILE_MAX];
    enum status status;
    int length;

    if (key->command[0]) {
        length = snprintf(text, sizeof(text), COMMAND_PREFIX "%s\n%s\n",
                          key_public_text(&key->public, public_text), key->command);
        return write_new(path, text, (size_t)length, err);
    }
    key_marked_base64(key->secret, base64);
    length = snprintf(text, sizeof(text), PRIVATE_PREFIX "%s+%08x+%s\n", key->public.name,
                      key_id(&key->public), base64);
    status = write_new(path, text, (size_t)length, err);
    sodium_memzero(base64, sizeof(base64));
    sodium_memzero(text, sizeof(text));
    return status;
}

enum status key_write_sealed(const struct key *key, const char *passphrase, const char *path,
                             struct error *err)
{
    char public_text[KEY_TEXT_MAX], sealed[KEY_SEALED_MAX], text[FILE_MAX];

    TRY(key_seal(key, passphrase, sealed, err));
    return write_new(path, text,
                     (size_t)snprintf(text, sizeof(text), SEALED_PREFIX "%s\n%s\n",
                                      key_public_text(&key->public, public_text), sealed),
                     err);
}

static enum status no_key(const char *path, struct error *err)
{
    return error_set(err, STATUS_INVALID,
                     "%s: holds no key of assay; make one with `assay key "
                     "new`",
                     path);
}

static enum status changed_key(const char *path, struct error *err)
{
    return error_set(err, STATUS_INVALID, "%s: the key has been changed: its id does not match it",
                     path);
}

/* `word` is what follows the prefix: the seed in place of a public key. */
static enum status parse_private(const char *path, const char *word, size_t length, struct key *ret,
                                 struct error *err)
{
    struct key key = {0};
    struct key_parts parts;
    enum status status = STATUS_OK;

    if (!key_split_text(word, length, &parts) || parts.is_cosigner ||
        key_check_name(parts.name, NULL) != STATUS_OK)
        return no_key(path, err);
    memcpy(key.public.name, parts.name, sizeof(key.public.name));
    crypto_sign_seed_keypair(key.public.bytes, key.secret, parts.bytes);
    if (parts.id == key_id(&key.public))
        *ret = key;
    else
        status = changed_key(path, err);
    sodium_memzero(&parts, sizeof(parts));
    key_finish(&key);
    return status;
}

/* The first line of the other two forms, after the prefix; `ret_rest` is the second. */
static enum status parse_public(const char *path, const char *text, size_t length, struct key *ret,
                                const char **ret_rest, struct error *err)
{
    const char *end = memchr(text, '\n', length);
    struct key_parts parts;

    if (!end || !key_split_text(text, (size_t)(end - text), &parts) || parts.is_cosigner ||
        key_check_name(parts.name, NULL) != STATUS_OK || !end[1])
        return no_key(path, err);
    memset(ret, 0, sizeof(*ret));
    memcpy(ret->public.name, parts.name, sizeof(parts.name));
    memcpy(ret->public.bytes, parts.bytes, sizeof(parts.bytes));
    *ret_rest = end + 1;
    return parts.id == key_id(&ret->public) ? STATUS_OK : changed_key(path, err);
}

static enum status unseal(const char *path, const char *sealed, size_t length, struct key *key,
                          struct error *err)
{
    char passphrase[KEY_PASSPHRASE_MAX];
    struct error reason = ERROR_INIT;
    enum status status = key_passphrase(key->public.name, false, passphrase, err);

    if (status == STATUS_OK) {
        status = key_unseal(sealed, length, passphrase, key, &reason);
        if (status != STATUS_OK)
            error_set(err, status, "%s: %s", path, reason.message);
    }
    sodium_memzero(passphrase, sizeof(passphrase));
    return status;
}

static enum status take_command(const char *path, const char *command, size_t length,
                                struct key *key, struct error *err)
{
    if (length >= sizeof(key->command) || memchr(command, '\n', length) ||
        !text_is_utf8(command, length))
        return error_set(err, STATUS_INVALID,
                         "%s: its second line is no command that signs, of up to %d bytes", path,
                         KEY_COMMAND_MAX - 1);
    memcpy(key->command, command, length);
    return STATUS_OK;
}

static bool begins_with(const char *text, size_t length, const char *prefix)
{
    return length >= strlen(prefix) && memcmp(text, prefix, strlen(prefix)) == 0;
}

/* `public_only`: what needs a passphrase is left out. */
static enum status parse(const char *path, const char *text, bool public_only, struct key *ret,
                         struct error *err)
{
    struct key key = {0};
    const char *rest = NULL;
    size_t length;
    enum status status;

    text = key_trimmed(text, &length);
    if (begins_with(text, length, PRIVATE_PREFIX))
        return parse_private(path, text + strlen(PRIVATE_PREFIX), length - strlen(PRIVATE_PREFIX),
                             ret, err);
    if (begins_with(text, length, SEALED_PREFIX)) {
        status = parse_public(path, text + strlen(SEALED_PREFIX), length - strlen(SEALED_PREFIX),
                              &key, &rest, err);
        if (status == STATUS_OK && !public_only)
            status = unseal(path, rest, (size_t)(text + length - rest), &key, err);
    } else if (begins_with(text, length, COMMAND_PREFIX)) {
        status = parse_public(path, text + strlen(COMMAND_PREFIX), length - strlen(COMMAND_PREFIX),
                              &key, &rest, err);
        if (status == STATUS_OK)
            status = take_command(path, rest, (size_t)(text + length - rest), &key, err);
    } else {
        return no_key(path, err);
    }
    if (status == STATUS_OK)
        *ret = key;
    key_finish(&key);
    return status;
}

static enum status check_owner(const char *path, int fd, struct error *err)
{
    struct stat st;

    if (sodium_init() < 0)
        return error_set(err, STATUS_INTERNAL, "libsodium does not start");
    if (fstat(fd, &st) != 0)
        return error_set_errno(err, errno, "%s", path);
    if (!S_ISREG(st.st_mode))
        return error_set(err, STATUS_INVALID, "%s: is not a regular file", path);
    if (st.st_mode & 077)
        return error_set(err, STATUS_DENIED,
                         "%s: others than you may use this key (mode %03o); chmod 600 it, and make "
                         "a new one if somebody may have read it",
                         path, st.st_mode & 0777);
    if (st.st_uid != geteuid())
        return error_set(err, STATUS_DENIED, "%s: belongs to another user (uid %u)", path,
                         (unsigned)st.st_uid);
    return STATUS_OK;
}

static enum status read_file(const char *path, bool public_only, struct key *ret, struct error *err)
{
    char text[FILE_MAX + 1] = "";
    enum status status;
    ssize_t length;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0 && errno == ENOENT)
        return error_set(err, STATUS_NOT_FOUND,
                         "%s: there is no such key; `assay key new` makes one", path);
    if (fd < 0)
        return error_set_errno(err, errno, "%s", path);
    status = check_owner(path, fd, err);
    length = status == STATUS_OK ? read(fd, text, sizeof(text) - 1) : 0;
    if (length < 0)
        status = error_set_errno(err, errno, "%s", path);
    close(fd);
    if (status == STATUS_OK)
        status = parse(path, text, public_only, ret, err);
    sodium_memzero(text, sizeof(text));
    return status;
}

enum status key_read(const char *path, struct key *ret, struct error *err)
{
    return read_file(path, false, ret, err);
}

enum status key_read_public(const char *path, struct key_public *ret, struct error *err)
{
    struct key key;

    TRY(read_file(path, true, &key, err));
    *ret = key.public;
    key_finish(&key);
    return STATUS_OK;
}

char *key_folder(void)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    if (config && *config == '/')
        return text_format("%s/assay", config);
    return home && *home ? text_format("%s/.config/assay", home) : NULL;
}

char *key_path(const char *name)
{
    const char *asked = getenv("ASSAY_KEY");
    char *folder, *path;

    if (!name && asked && *asked)
        return strdup(asked);
    folder = key_folder();
    path = folder ? text_format("%s/%s.key", folder, name ? name : "default") : NULL;
    free(folder);
    return path;
}

enum status key_read_default(struct key *ret, struct error *err)
{
    const char *asked = getenv("ASSAY_KEY");
    AUTO_FREE char *path = key_path(NULL);

    if (!path)
        return STATUS_NOT_FOUND;
    if (!(asked && *asked) && access(path, F_OK) != 0 && errno == ENOENT)
        TRY(STATUS_NOT_FOUND);
    else
        TRY(key_read(path, ret, err));
    return STATUS_OK;
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/core/file.h"
#include "results/evidence/note.h"
#include "tests/support/store_fixture.h"
#include "tests/support/unit.h"

TEST(text_forms)
{
    /* The example of golang.org/x/mod/sumdb/note. */
    static const char known[] =
        "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    struct error err = ERROR_INIT;
    struct key_public key;
    char text[KEY_TEXT_MAX];

    assert_ok(key_public_parse(known, &key, &err), err);
    assert_string_equal(key.name, "PeterNeumann");
    assert_int_equal(key_id(&key), 0xc74f20a3);
    assert_string_equal(key_public_text(&key, text), known);
    assert_ok(key_public_parse("\n PeterNeumann+c74f20a3+"
                               "ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW \n",
                               &key, &err),
              err);
    for (size_t i = 0; i < strlen(known); i++) {
        char changed[sizeof(known)];

        memcpy(changed, known, sizeof(known));
        changed[i] = changed[i] == 'x' ? 'y' : 'x';
        assert_status(key_public_parse(changed, &key, &err), STATUS_INVALID, err);
        changed[i] = '\0';
        assert_status(key_public_parse(changed, &key, &err), STATUS_INVALID, err);
    }
}

TEST(names)
{
    static const char *const bad[] = {"", "two words", "a+b", "a/b", "tab\t", "\xff"};
    struct error err = ERROR_INIT;
    char long_name[KEY_NAME_MAX + 2];
    struct key key;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_status(key_generate(bad[i], &key, &err), STATUS_INVALID, err);
    memset(long_name, 'a', sizeof(long_name));
    long_name[KEY_NAME_MAX + 1] = '\0';
    assert_status(key_generate(long_name, &key, &err), STATUS_INVALID, err);
    long_name[KEY_NAME_MAX] = '\0';
    assert_ok(key_generate(long_name, &key, &err), err);
}

TEST_WITH(files, fixture_make, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    struct key key, again;
    char path[1024];
    struct stat st;
    char *bytes;
    size_t length;

    snprintf(path, sizeof(path), "%s", fixture_path(fixture, "a.key"));
    assert_status(key_read(path, &again, &err), STATUS_NOT_FOUND, err);
    assert_ok(key_generate("lab.example.org", &key, &err), err);
    umask(0);
    assert_ok(key_write(&key, path, &err), err);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_ok(key_read(path, &again, &err), err);
    assert_memory_equal(&key, &again, sizeof(key));
    /* Never overwritten. */
    assert_status(key_write(&key, path, &err), STATUS_INVALID, err);
    /* Nobody else may read or write it. */
    for (mode_t bit = 1; bit <= 040; bit <<= 1) {
        chmod(path, 0600 | bit);
        assert_status(key_read(path, &again, &err), STATUS_DENIED, err);
        assert_non_null(strstr(err.message, "chmod 600"));
    }
    chmod(path, 0600);
    /* Any changed byte is found. */
    assert_ok(file_read(path, 4096, &bytes, &length, &err), err);
    for (size_t i = 0; i + 1 < length; i++) {
        bytes[i] ^= 1;
        assert_ok(file_write_atomic(path, bytes, length, 0600, &err), err);
        assert_status(key_read(path, &again, &err), STATUS_INVALID, err);
        assert_null(strstr(err.message, bytes + 30)); /* the secret is not disclosed */
        bytes[i] ^= 1;
    }
    free(bytes);
    key_finish(NULL);
}

/* Under a passphrase: the public half is readable without it. */
TEST_WITH(sealed, fixture_make, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    char path[1024], words[1024], *bytes, *at;
    struct key_public public_key;
    struct key key, again;
    size_t length;

    snprintf(path, sizeof(path), "%s", fixture_path(fixture, "s.key"));
    snprintf(words, sizeof(words), "%s", fixture_path(fixture, "words"));
    assert_ok(key_generate("lab.example.org", &key, &err), err);
    assert_ok(key_write_sealed(&key, "open sesame", path, &err), err);
    assert_ok(key_read_public(path, &public_key, &err), err);
    assert_memory_equal(&public_key, &key.public, sizeof(public_key));
    setenv("ASSAY_KEY_PASSPHRASE_FILE", words, 1);
    assert_status(key_read(path, &again, &err), STATUS_NOT_FOUND, err);
    assert_ok(file_write_atomic(words, "open\n", 5, 0600, &err), err);
    assert_status(key_read(path, &again, &err), STATUS_DENIED, err);
    assert_non_null(strstr(err.message, "passphrase is another"));
    assert_ok(file_write_atomic(words, "open sesame\nmore\n", 17, 0600, &err), err);
    assert_ok(key_read(path, &again, &err), err);
    assert_memory_equal(&key, &again, sizeof(key));
    chmod(words, 0640);
    assert_status(key_read(path, &again, &err), STATUS_DENIED, err);
    chmod(words, 0600);
    assert_ok(file_write_atomic(words, "\n", 1, 0600, &err), err);
    assert_status(key_read(path, &again, &err), STATUS_INVALID, err);
    assert_ok(file_write_atomic(words, "open sesame", 11, 0600, &err), err);
    /* The seed is not there in the plain, and a changed file costs no more memory. */
    assert_ok(file_read(path, 4096, &bytes, &length, &err), err);
    assert_memory_equal(bytes, "ENCRYPTED+KEY+", 14);
    at = strstr(bytes, "argon2id 3 ");
    assert_non_null(at);
    memcpy(at, "argon2id 9999999999", 19);
    assert_ok(file_write_atomic(path, bytes, length, 0600, &err), err);
    assert_status(key_read(path, &again, &err), STATUS_INVALID, err);
    free(bytes);
    unsetenv("ASSAY_KEY_PASSPHRASE_FILE");
}

/* A command that signs: what it prints is verified. */
TEST_WITH(commands, fixture_make, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    uint8_t signature[KEY_SIGNATURE_SIZE];
    struct key key, again;
    char path[1024];

    snprintf(path, sizeof(path), "%s", fixture_path(fixture, "c.key"));
    assert_ok(key_generate("token", &key, &err), err);
    snprintf(key.command, sizeof(key.command), "sign --slot 1 '+'");
    memset(key.secret, 0, sizeof(key.secret));
    assert_ok(key_write(&key, path, &err), err);
    assert_ok(key_read(path, &again, &err), err);
    assert_memory_equal(&key, &again, sizeof(key));
    snprintf(again.command, sizeof(again.command),
             "cat >/dev/null; head -c 86 /dev/zero | tr '\\0' A; "
             "echo ==");
    assert_status(key_sign(&again, "x", 1, signature, &err), STATUS_INVALID, err);
    assert_non_null(strstr(err.message, "not its signature"));
    snprintf(again.command, sizeof(again.command), "echo no");
    assert_status(key_sign(&again, "x", 1, signature, &err), STATUS_INVALID, err);
    assert_non_null(strstr(err.message, "64 bytes"));
    snprintf(again.command, sizeof(again.command), "exit 7");
    assert_status(key_sign(&again, "x", 1, signature, &err), STATUS_UNAVAILABLE, err);
    assert_non_null(strstr(err.message, "status 7"));
}

TEST_WITH(places, fixture_make, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    struct key key;
    char expected[1024];
    char *path;

    unsetenv("ASSAY_KEY");
    setenv("XDG_CONFIG_HOME", fixture->folder, 1);
    snprintf(expected, sizeof(expected), "%s/assay/default.key", fixture->folder);
    path = key_path(NULL);
    assert_string_equal(path, expected);
    assert_int_equal(key_read_default(&key, &err), STATUS_NOT_FOUND);
    free(path);
    setenv("ASSAY_KEY", fixture_path(fixture, "b.key"), 1);
    path = key_path(NULL);
    assert_string_equal(path, fixture_path(fixture, "b.key"));
    free(path);
    /* A key that is named must exist. */
    assert_status(key_read_default(&key, &err), STATUS_NOT_FOUND, err);
    assert_non_null(strstr(err.message, "b.key"));
    path = key_path("lab");
    snprintf(expected, sizeof(expected), "%s/assay/lab.key", fixture->folder);
    assert_string_equal(path, expected);
    free(path);
}

TEST(notes)
{
    struct note note = {.origin = "assay-log/x", .size = 12, .kind = "end", .utc_ns = 5};
    struct error err = ERROR_INIT;
    uint8_t signature[KEY_SIGNATURE_SIZE];
    struct key key, other;
    struct text body;

    assert_ok(key_generate("a", &key, &err), err);
    assert_ok(key_generate("a", &other, &err), err);
    assert_ok(note_sign(&note, &key, signature, &err), err);
    assert_true(note_verify(&note, key.public.bytes, signature));
    assert_false(note_verify(&note, other.public.bytes, signature));
    note.size++;
    assert_false(note_verify(&note, key.public.bytes, signature));
    note.size--;
    note.root.bytes[31] ^= 1;
    assert_false(note_verify(&note, key.public.bytes, signature));
    note.root.bytes[31] ^= 1;
    note.campaign = "c";
    assert_false(note_verify(&note, key.public.bytes, signature));
    text_init(&body);
    note_append_body(&body, &note);
    assert_string_equal(body.data, "assay-log/x\n12\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
                                   "end 5 c\n");
    text_finish(&body);
}

#include "results/evidence/cosignature.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "results/evidence/note.h"
#include "tests/support/unit.h"

/* Made with Python's cryptography and hashlib: the key of the seed 00 01 02 ... 1f. */
#define PUBLIC "watch.example.org+bbe14e52+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"
#define COSIGNER "watch.example.org+fdf348e4+BAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"
#define BODY                                                                                       \
    "assay-log/00112233445566778899aabbccddeeff\n17\n"                                             \
    "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=\n"                                               \
    "plan 1795444035779587481 abababababababababababababababababababababababababababababababab\n"
#define SECONDS INT64_C(1795444039)
#define LINE                                                                                       \
    "\xe2\x80\x94 watch.example.org /fNI5AAAAABrBE1Hp0anNxNtloML+JrDBcVVRHa9uBGeOfBjPhEIrIltX6nHN" \
    "CH/EEanOecpXbEQnntALlP0hQzOqgidtv8qUKmJCA==\n"

static struct key known_key(void)
{
    struct error err = ERROR_INIT;
    struct key key = {0};
    uint8_t seed[32];

    for (uint8_t i = 0; i < sizeof(seed); i++)
        seed[i] = i;
    assert_int_equal(key_public_parse(PUBLIC, &key.public, &err), STATUS_OK);
    crypto_sign_seed_keypair(key.public.bytes, key.secret, seed);
    return key;
}

TEST(keys)
{
    struct error err = ERROR_INIT;
    struct key_public author, witness;

    assert_int_equal(key_public_parse_any(PUBLIC, &author, &err), STATUS_OK);
    assert_int_equal(key_public_parse_any(COSIGNER, &witness, &err), STATUS_OK);
    assert_memory_equal(author.bytes, witness.bytes, sizeof(author.bytes));
    assert_int_equal(key_id(&author), 0xbbe14e52);
    assert_int_equal(key_cosigner_id(&author), 0xfdf348e4);
    /* One form is not the other: each has an id of its own, and --key takes an author's. */
    assert_int_equal(key_public_parse(COSIGNER, &witness, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "roster"));
    assert_int_equal(
        key_public_parse_any("watch.example.org+bbe14e52+BAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQS"
                             "VTG4",
                             &witness, &err),
        STATUS_INVALID);
}

TEST(known)
{
    const struct key key = known_key();
    uint8_t cosignature[COSIGNATURE_SIZE];
    struct error err = ERROR_INIT;
    struct text line;

    assert_int_equal(cosignature_make(&key, BODY, strlen(BODY), SECONDS, cosignature, &err),
                     STATUS_OK);
    text_init(&line);
    cosignature_append(&line, &key.public, cosignature);
    assert_string_equal(line.data, LINE);
    text_finish(&line);
    assert_true(cosignature_seconds(cosignature) == SECONDS);
    assert_true(cosignature_verify(key.public.bytes, BODY, strlen(BODY), cosignature));
    /* Any bit of it: the time is signed, too. */
    for (size_t i = 0; i < sizeof(cosignature); i++) {
        cosignature[i] ^= 1;
        assert_false(cosignature_verify(key.public.bytes, BODY, strlen(BODY), cosignature));
        cosignature[i] ^= 1;
    }
    assert_false(cosignature_verify(key.public.bytes, BODY, strlen(BODY) - 1, cosignature));
    memset(cosignature, 0xff, 8);
    assert_true(cosignature_seconds(cosignature) < 0);
    assert_false(cosignature_verify(key.public.bytes, BODY, strlen(BODY), cosignature));
    /* A plain signature of the same key is none with a time. */
    assert_int_equal(key_sign(&key, BODY, strlen(BODY), cosignature + 8, &err), STATUS_OK);
    memset(cosignature, 0, 8);
    assert_false(cosignature_verify(key.public.bytes, BODY, strlen(BODY), cosignature));
}

TEST(notes)
{
    struct error err = ERROR_INIT;
    struct note_text note;
    struct note_line line;
    const char *at;
    bool good;

    assert_int_equal(note_read(BODY "\n" LINE LINE, &note, &err), STATUS_OK);
    assert_int_equal(note.note.size, 17);
    assert_string_equal(note.note.kind, "plan");
    assert_int_equal(strlen(note.note.campaign), 64);
    assert_int_equal(note.length, strlen(BODY));
    at = note.lines;
    for (int i = 0; i < 2; i++) {
        assert_true(note_next_line(&at, &line, &good));
        assert_string_equal(line.name, "watch.example.org");
        assert_int_equal(line.id, 0xfdf348e4);
        assert_int_equal(line.size, COSIGNATURE_SIZE);
    }
    assert_false(note_next_line(&at, &line, &good));
    assert_true(good);
    at = "\xe2\x80\x94 name not-base64\n";
    assert_false(note_next_line(&at, &line, &good));
    assert_false(good);
    at = "\xe2\x80\x94 watch.example.org AAAA"; /* cut off */
    assert_false(note_next_line(&at, &line, &good));
    assert_false(good);
}

TEST(what_is_no_note)
{
    static const char root[] = "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=\n",
                      log_name[] = "assay-log/00112233445566778899aabbccddeeff\n";
    static const struct {
        const char *size, *root, *last;
    } bad[] = {{"17\n", root, "plan 1 -"},         {"017\n", root, "plan 1 -\n\n"},
               {"0\n", root, "plan 1 -\n\n"},      {"-1\n", root, "plan 1 -\n\n"},
               {"17\n", "AA==\n", "plan 1 -\n\n"}, {"17\n", root, "plan 1\n\n"},
               {"17\n", root, "plan 1 - x\n\n"},   {"17\n", root, "plan  1 -\n\n"},
               {"17\n", root, "plan +1 -\n\n"},    {"17\n", root, "plan 1 -\nmore\n\n"},
               {"17\r\n", root, "plan 1 -\n\n"}};
    struct error err = ERROR_INIT;
    struct note_text note;

    assert_int_equal(note_read("", &note, &err), STATUS_INVALID);
    assert_int_equal(note_read("go.sum database tree\n17\nAA==\nx\n\n", &note, &err),
                     STATUS_INVALID);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct text text;

        text_init(&text);
        text_append_format(&text, "%s%s%s%s", log_name, bad[i].size, bad[i].root, bad[i].last);
        assert_int_equal(note_read(text.data, &note, &err), STATUS_INVALID);
        text_finish(&text);
    }
}

int main(void)
{
    return sodium_init() < 0 ? 1 : unit_run(NULL, NULL);
}

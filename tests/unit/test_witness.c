#include "results/evidence/witness.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/file.h"
#include "results/evidence/cosignature.h"
#include "results/evidence/merkle_levels.h"
#include "results/evidence/note.h"
#include "tests/support/store_fixture.h"
#include "tests/support/unit.h"
#include "tests/unit/leaf.h"

#define LEAVES 40
#define LOG_A "assay-log/00000000000000000000000000000000"
#define LOG_B "assay-log/11111111111111111111111111111111"

struct site {
    char state[1024];
    struct key author, witness;
    struct merkle_levels levels;
};

static struct site open_site(struct fixture *fixture)
{
    struct site site = {.state = ""};
    struct digest *leaves = calloc(LEAVES, sizeof(*leaves));
    struct error err = ERROR_INIT;

    snprintf(site.state, sizeof(site.state), "%s", fixture_path(fixture, "seen"));
    assert_ok(key_generate("lab", &site.author, &err), err);
    assert_ok(key_generate("watch", &site.witness, &err), err);
    assert_non_null(leaves);
    for (uint64_t i = 0; i < LEAVES; i++)
        leaves[i] = leaf_of(&i, sizeof(i));
    assert_ok(merkle_levels_init(&site.levels, leaves, LEAVES, &err), err);
    return site;
}

/* The note of a log's head, with a proof from `old` where that is not negative. */
static char *request(const struct site *site, const char *origin, int64_t old, int64_t size,
                     bool forked)
{
    struct note note = {.origin = origin, .size = size, .kind = "request", .utc_ns = 1};
    struct digest path[MERKLE_HEIGHT_MAX + 1];
    uint8_t signature[KEY_SIGNATURE_SIZE];
    struct error err = ERROR_INIT;
    struct text text;

    text_init(&text);
    note.root = merkle_levels_root(&site->levels, (uint64_t)size);
    note.root.bytes[0] ^= forked;
    if (old >= 0)
        witness_append_proof(
            &text, old, path,
            old ? merkle_levels_connect(&site->levels, (uint64_t)old, (uint64_t)size, path) : 0);
    note_append_body(&text, &note);
    assert_ok(note_sign(&note, &site->author, signature, &err), err);
    text_append_char(&text, '\n');
    note_append_signature(&text, &site->author.public, signature);
    return text_steal(&text);
}

static enum status cosign(const struct site *site, const struct key_public *log_key, char *request,
                          struct error *err)
{
    const struct witness witness = {
        .state = site->state, .log_keys = log_key, .log_key_count = log_key != NULL};
    struct note_text note;
    struct note_line line;
    struct text out;
    const char *at;
    bool good;
    enum status status;

    text_init(&out);
    status = witness_cosign(&witness, request, &site->witness, 1000, &out, err);
    assert_int_equal(out.length > 0, status == STATUS_OK);
    if (status == STATUS_OK) {
        const char *body = strncmp(request, "old ", 4) ? request : strstr(request, "\n\n") + 2;

        assert_ok(note_read(body, &note, err), *err);
        at = out.data;
        assert_true(note_next_line(&at, &line, &good));
        assert_int_equal(line.size, COSIGNATURE_SIZE);
        assert_true(
            cosignature_verify(site->witness.public.bytes, note.body, note.length, line.signature));
        assert_int_equal(cosignature_seconds(line.signature), 1000);
    }
    text_finish(&out);
    free(request);
    return status;
}

static int64_t kept(const struct site *site, const char *origin)
{
    const struct witness witness = {.state = site->state};
    struct error err = ERROR_INIT;
    char *text = request(site, origin, -1, 1, false);
    int64_t size = -1;

    assert_ok(witness_kept(&witness, text, &size, &err), err);
    free(text);
    return size;
}

TEST_WITH(growth, fixture_make, fixture_remove)
{
    struct site site = open_site(*state);
    struct error err = ERROR_INIT;

    assert_int_equal(kept(&site, LOG_A), 0);
    assert_ok(cosign(&site, NULL, request(&site, LOG_A, -1, 5, false), &err), err);
    assert_int_equal(kept(&site, LOG_A), 5);
    /* The same again; another log; the first goes on. */
    assert_ok(cosign(&site, NULL, request(&site, LOG_A, -1, 5, false), &err), err);
    assert_ok(cosign(&site, NULL, request(&site, LOG_B, 0, 3, false), &err), err);
    assert_ok(cosign(&site, NULL, request(&site, LOG_A, 5, 9, false), &err), err);
    for (int64_t size = 10; size <= LEAVES; size++)
        assert_ok(cosign(&site, NULL, request(&site, LOG_A, size - 1, size, false), &err), err);
    assert_int_equal(kept(&site, LOG_A), LEAVES);
    assert_int_equal(kept(&site, LOG_B), 3);
    merkle_levels_finish(&site.levels);
}

TEST_WITH(refusals, fixture_make, fixture_remove)
{
    struct site site = open_site(*state);
    struct error err = ERROR_INIT;
    char *text;

    assert_ok(cosign(&site, NULL, request(&site, LOG_A, -1, 9, false), &err), err);
    assert_status(cosign(&site, NULL, request(&site, LOG_A, -1, 8, false), &err), STATUS_DENIED,
                  err);
    assert_non_null(strstr(err.message, "an old one"));
    assert_status(cosign(&site, NULL, request(&site, LOG_A, -1, 9, true), &err), STATUS_DENIED,
                  err);
    assert_non_null(strstr(err.message, "two logs"));
    assert_status(cosign(&site, NULL, request(&site, LOG_A, -1, 20, false), &err), STATUS_DENIED,
                  err);
    assert_non_null(strstr(err.message, "--since 9"));
    assert_status(cosign(&site, NULL, request(&site, LOG_A, 8, 20, false), &err), STATUS_DENIED,
                  err);
    assert_non_null(strstr(err.message, "--since 9"));
    assert_status(cosign(&site, NULL, request(&site, LOG_A, 9, 20, true), &err), STATUS_DENIED,
                  err);
    assert_non_null(strstr(err.message, "rewritten"));
    /* A changed hash of the proof. */
    text = request(&site, LOG_A, 9, 20, false);
    text[7] = text[7] == 'A' ? 'B' : 'A';
    assert_status(cosign(&site, NULL, text, &err), STATUS_DENIED, err);
    assert_int_equal(kept(&site, LOG_A), 9);
    assert_ok(cosign(&site, NULL, request(&site, LOG_A, 9, 20, false), &err), err);
    merkle_levels_finish(&site.levels);
}

TEST_WITH(log_keys, fixture_make, fixture_remove)
{
    struct site site = open_site(*state);
    struct error err = ERROR_INIT;
    struct key other;
    char *text;

    assert_ok(key_generate("lab", &other, &err), err);
    assert_status(cosign(&site, &other.public, request(&site, LOG_A, -1, 5, false), &err),
                  STATUS_DENIED, err);
    text = request(&site, LOG_A, -1, 5, false);
    *strstr(text, "\n\n") = '\0'; /* unsigned */
    text = realloc(text, strlen(text) + 3);
    strcat(text, "\n\n");
    assert_status(cosign(&site, &site.author.public, text, &err), STATUS_DENIED, err);
    assert_int_equal(kept(&site, LOG_A), 0);
    assert_ok(cosign(&site, &site.author.public, request(&site, LOG_A, -1, 5, false), &err), err);
    merkle_levels_finish(&site.levels);
}

TEST_WITH(damage, fixture_make, fixture_remove)
{
    static const char *const states[] = {"x\n", LOG_A " 5\n", LOG_A " 0 AA==\n", LOG_A " 5 AA=="};
    static const char *const requests[] = {"",
                                           "old\n",
                                           "old x\n\n",
                                           "old 5\nAAAA\n\n",
                                           "old 5",
                                           "old 5\n\nnote\n",
                                           "old 99999999999999999999\n\n",
                                           "\n\n"};
    struct site site = open_site(*state);
    struct error err = ERROR_INIT;

    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
        assert_status(cosign(&site, NULL, strdup(requests[i]), &err), STATUS_INVALID, err);
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        assert_ok(file_write_atomic(site.state, states[i], strlen(states[i]), 0600, &err), err);
        assert_status(cosign(&site, NULL, request(&site, LOG_A, -1, 5, false), &err),
                      STATUS_CORRUPT, err);
    }
    merkle_levels_finish(&site.levels);
}

#include "results/bundle_internal.h"

#include <string.h>
#include <strings.h>

#include "results/cosignature.h"
#include "results/witnessing.h"

#define SIGNATURE_MARK "\xe2\x80\x94 " /* an em dash */

bool bundle_parse_note(const struct bundle_head *head, const char *text, char kind[32],
                       char campaign[STORE_UID_SIZE], struct note *ret)
{
    const char *lines[4] = {text};
    size_t got = 0;
    char root[64];

    for (int i = 1; i < 4; i++) {
        lines[i] = strchr(lines[i - 1], '\n');
        if (!lines[i]++)
            return false;
    }
    if (sscanf(lines[1], "%" SCNd64, &ret->size) != 1 || sscanf(lines[2], "%63s", root) != 1 ||
        !key_base64_decode(root, strlen(root), ret->root.bytes, DIGEST_SIZE, &got) ||
        got != DIGEST_SIZE ||
        sscanf(lines[3], "%31s %" SCNd64 " %64s", kind, &ret->utc_ns, campaign) != 3)
        return false;
    ret->origin = head->origin;
    ret->kind = kind;
    ret->campaign = strcmp(campaign, "-") ? campaign : NULL;
    return true;
}

/* The 64 bytes that a signature line holds for a key; false when the line is of another key. */
static bool signature_of(const char *line, size_t length, const struct key_public *key,
                         uint8_t ret[KEY_SIGNATURE_SIZE])
{
    static const char mark[] = SIGNATURE_MARK;
    const size_t name = strlen(key->name);
    uint8_t bytes[4 + KEY_SIGNATURE_SIZE];
    const uint32_t id = key_id(key);
    size_t got = 0;

    if (length < strlen(mark) + name + 1 || memcmp(line, mark, strlen(mark)) != 0 ||
        memcmp(line + strlen(mark), key->name, name) != 0 || line[strlen(mark) + name] != ' ')
        return false;
    line += strlen(mark) + name + 1;
    length -= strlen(mark) + name + 1;
    if (!key_base64_decode(line, length, bytes, sizeof(bytes), &got) || got != sizeof(bytes) ||
        bytes[0] != (uint8_t)(id >> 24) || bytes[1] != (uint8_t)(id >> 16) ||
        bytes[2] != (uint8_t)(id >> 8) || bytes[3] != (uint8_t)id)
        return false;
    memcpy(ret, bytes + 4, KEY_SIGNATURE_SIZE);
    return true;
}

static bool is_signed_by(const char *signatures, const char *body, const struct key_public *key)
{
    uint8_t signature[KEY_SIGNATURE_SIZE];

    for (const char *at = signatures; *at;) {
        const size_t length = strcspn(at, "\n");

        if (signature_of(at, length, key, signature) &&
            crypto_sign_verify_detached(signature, (const uint8_t *)body, strlen(body),
                                        key->bytes) == 0)
            return true;
        at += length + (at[length] == '\n');
    }
    return false;
}

/* Whether these are signature lines, of any key, and nothing else. */
static bool are_signatures(const char *lines)
{
    uint8_t bytes[4 + COSIGNATURE_SIZE];

    while (*lines) {
        const char *end = strchr(lines, '\n'), *name = lines + strlen(SIGNATURE_MARK), *blank;
        size_t got = 0;

        if (!end || strncmp(lines, SIGNATURE_MARK, strlen(SIGNATURE_MARK)) != 0 ||
            !(blank = memchr(name, ' ', (size_t)(end - name))) || blank == name ||
            !key_base64_decode(blank + 1, (size_t)(end - blank - 1), bytes, sizeof(bytes), &got) ||
            (got != 4 + KEY_SIGNATURE_SIZE && got != 4 + COSIGNATURE_SIZE))
            return false;
        lines = end + 1;
    }
    return true;
}

/* The signature lines after the body and an empty line; NULL for a different text. */
static const char *signatures_of(const char *text, const char *body)
{
    const size_t length = strlen(body);

    return text && !strncmp(text, body, length) && text[length] == '\n' &&
                   are_signatures(text + length + 1)
               ? text + length + 1
               : NULL;
}

bool bundle_note_is_signed(const char *text, const struct note *note, const struct key_public *key)
{
    struct text body;
    const char *signatures;
    bool is_signed;

    text_init(&body);
    note_append_body(&body, note);
    signatures = text_ok(&body) ? signatures_of(text, body.data) : NULL;
    is_signed = signatures && (!key || is_signed_by(signatures, body.data, key));
    text_finish(&body);
    return is_signed;
}

static void check_signatures(const struct bundle_reader *reader, const char *what, const char *text,
                             const char *body, int64_t utc_ns)
{
    const struct verify_options *options = reader->options;
    const char *signatures = signatures_of(text, body);
    const struct key_public *key;
    bool is_signed = false;

    if (text && !signatures)
        BUNDLE_WRONG(reader, SIGNATURE, NULL, "the signed text is not the %s", what);
    if (!verify_asks_for_authors(options))
        return;
    for (size_t i = 0; !is_signed && (key = verify_author(options, i, utc_ns)); i++)
        is_signed = signatures && is_signed_by(signatures, body, key);
    key = verify_author(options, 0, utc_ns);
    if (!is_signed && key)
        BUNDLE_WRONG(reader, SIGNATURE, NULL, "the %s is not signed by the key \"%s\"%s", what,
                     key->name, verify_author(options, 1, utc_ns) ? " or another of yours" : "");
    else if (!is_signed)
        BUNDLE_WRONG(reader, SIGNATURE, NULL,
                     "no author of your roster had a key that counts when the %s was signed", what);
}

static bool is_head(const char *expected, int64_t size, const struct digest *root)
{
    char hex[DIGEST_HEX_SIZE], sized[96];

    snprintf(sized, sizeof(sized), "%" PRId64 ":%s", size, digest_hex(root, hex));
    return !strcasecmp(expected, hex) || !strcasecmp(expected, sized);
}

/* The head that the user kept must be this one, or one that this one has grown from. */
static void check_expected(const struct bundle_reader *reader, const char *expected)
{
    const struct bundle_head *head = &reader->head;

    if (is_head(expected, head->size, &head->root))
        return;
    for (size_t i = 0; i < reader->earlier_count; i++)
        if (is_head(expected, reader->earlier[i].size, &reader->earlier[i].root)) {
            bundle_found(reader, VERIFY_NOTE, VERIFY_HEAD, NULL,
                         "the expected head is an earlier one of this ledger, of %" PRId64
                         " leaves: nothing before it has changed since",
                         reader->earlier[i].size);
            return;
        }
    BUNDLE_WRONG(reader, HEAD, NULL,
                 "the expected head %s is neither the bundle's nor one that it is shown to have "
                 "grown from; the maker can show that by assay bundle --since %s",
                 expected, strchr(expected, ':') ? expected : "SIZE:ROOT");
}

void bundle_check_notes(struct bundle_reader *reader)
{
    const struct bundle_head *head = &reader->head;
    const struct verify_options *options = reader->options;
    char kind[32], campaign[STORE_UID_SIZE];
    struct note note = {0};
    struct text body;

    text_init(&body);
    if (bundle_parse_note(head, head->note, kind, campaign, &note) && note.size == head->size &&
        digest_equal(&note.root, &head->root)) {
        note_append_body(&body, &note);
        check_signatures(reader, "head", head->note, text_ok(&body) ? body.data : "?", note.utc_ns);
    } else {
        BUNDLE_WRONG(reader, SIGNATURE, NULL, "its note is not that of its head");
    }
    if (!note_is_log_name(head->origin))
        BUNDLE_WRONG(reader, SIGNATURE, NULL,
                     "its origin is not a name that assay gives a ledger, so its notes may read as "
                     "another's");
    text_finish(&body);
    check_signatures(reader, "bundle's end", reader->seal, reader->seal_body, note.utc_ns);
    if (!verify_asks_for_authors(options))
        bundle_found(reader, VERIFY_NOTE, VERIFY_SIGNATURE, NULL, "%s",
                     reader->seal ? "the bundle is signed; --key checks by whom"
                                  : "the bundle is unsigned: its author, and whether rows were "
                                    "removed from it, cannot be determined");
    if (options && options->expect_head)
        check_expected(reader, options->expect_head);
}

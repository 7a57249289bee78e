#include "results/evidence/quote.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "results/evidence/key.h"

#define TPM_GENERATED 0xff544347
#define TPM_ST_ATTEST_QUOTE 0x8018
#define TPM_ALG_SHA256 0x000b
#define PCR_COUNT 24
#define EV_NO_ACTION 3
#define ALGORITHMS_MAX 16
#define SECURITY_BITS 112 /* of the key, at least: RSA of 2048 bits, P-256 */

enum { ATTEST, SIGNATURE, KEY, PCRS, LOG, PART_COUNT };
static const char *const part_names[] = {"attest", "signature", "key", "pcrs", "log"};

struct bytes {
    uint8_t *at;
    size_t size;
};

struct parts {
    struct bytes of[PART_COUNT];
};

static void parts_finish(struct parts *parts)
{
    for (size_t i = 0; i < PART_COUNT; i++)
        free(parts->of[i].at);
}

/* ---- its lines ---- */

static enum status take_line(struct parts *parts, const char *line, size_t length,
                             struct error *err)
{
    for (size_t i = 0; i < PART_COUNT; i++) {
        const size_t name = strlen(part_names[i]);
        struct bytes *part = &parts->of[i];

        if (length <= name || strncmp(line, part_names[i], name) != 0 || line[name] != ' ' ||
            part->at)
            continue;
        part->at = malloc(length);
        if (!part->at)
            return error_no_memory(err);
        if (key_base64_decode(line + name + 1, length - name - 1, part->at, length, &part->size))
            return STATUS_OK;
    }
    return error_set(err, STATUS_INVALID,
                     "a quote has the lines attest, signature, key and pcrs, each once, possibly "
                     "log, and base64 in them");
}

static enum status read_parts(const char *text, struct parts *parts, struct error *err)
{
    while (*text) {
        const size_t length = strcspn(text, "\n");

        TRY(take_line(parts, text, length, err));
        text += length + (text[length] == '\n');
    }
    for (size_t i = 0; i < LOG; i++)
        if (!parts->of[i].at)
            return error_set(err, STATUS_INVALID, "the quote has no line %s", part_names[i]);
    return STATUS_OK;
}

/* ---- numbers; past the end everything is 0, and `good` false ---- */

struct reader {
    const uint8_t *at;
    size_t left;
    bool little, good;
};

static const uint8_t *take(struct reader *reader, size_t size)
{
    const uint8_t *at = reader->at;

    if (!reader->good || size > reader->left) {
        reader->good = false;
        return NULL;
    }
    reader->at += size;
    reader->left -= size;
    return at;
}

static uint64_t take_number(struct reader *reader, size_t size)
{
    const uint8_t *bytes = take(reader, size);
    uint64_t number = 0;

    for (size_t i = 0; bytes && i < size; i++)
        number = number << 8 | bytes[reader->little ? size - 1 - i : i];
    return number;
}

/* ---- what is signed ---- */

struct attest {
    struct digest nonce, pcrs;
    uint64_t clock_ms;
    uint32_t resets;
    uint32_t selected; /* a bit a PCR */
};

static void take_digest(struct reader *reader, struct digest *ret)
{
    const uint8_t *bytes = take_number(reader, 2) == DIGEST_SIZE ? take(reader, DIGEST_SIZE) : NULL;

    reader->good &= bytes != NULL;
    if (bytes)
        memcpy(ret->bytes, bytes, DIGEST_SIZE);
}

static enum status read_attest(const struct bytes *bytes, struct attest *ret, struct error *err)
{
    struct reader reader = {bytes->at, bytes->size, false, true};

    if (take_number(&reader, 4) != TPM_GENERATED || take_number(&reader, 2) != TPM_ST_ATTEST_QUOTE)
        return error_set(err, STATUS_INVALID, "what is signed is no quote that a TPM made");
    take(&reader, take_number(&reader, 2)); /* the signer's name */
    take_digest(&reader, &ret->nonce);
    ret->clock_ms = take_number(&reader, 8);
    ret->resets = (uint32_t)take_number(&reader, 4);
    take(&reader, 4 + 1 + 8); /* suspends; whether the clock is safe; firmware */
    reader.good &= take_number(&reader, 4) == 1 && take_number(&reader, 2) == TPM_ALG_SHA256;
    reader.little = true;
    ret->selected =
        take_number(&reader, 1) == PCR_COUNT / 8 ? (uint32_t)take_number(&reader, 3) : 0;
    reader.little = false;
    take_digest(&reader, &ret->pcrs);
    if (!reader.good || reader.left > 0 || ret->selected == 0 ||
        ret->clock_ms > INT64_MAX / 1000000)
        return error_set(err, STATUS_INVALID,
                         "the quote is not of PCRs by SHA-256 with a nonce of 32 bytes");
    return STATUS_OK;
}

static enum status check_pcrs(const struct attest *attest, const struct bytes *values,
                              struct error *err)
{
    const struct digest digest = digest_bytes(values->at, values->size);

    if (values->size != DIGEST_SIZE * (size_t)__builtin_popcount(attest->selected) ||
        !digest_equal(&digest, &attest->pcrs))
        return error_set(err, STATUS_INVALID,
                         "the values of the PCRs are not those that it signed");
    return STATUS_OK;
}

/* ---- the signature ---- */

/* With a pass phrase, so that OpenSSL asks nobody for that of an encrypted block. */
static EVP_PKEY *read_key(const void *pem, size_t size)
{
    static char empty[] = "";
    BIO *bio = BIO_new_mem_buf(pem, size < INT_MAX ? (int)size : 0);
    EVP_PKEY *key = bio ? PEM_read_bio_PUBKEY(bio, NULL, NULL, empty) : NULL;

    BIO_free(bio);
    ERR_clear_error();
    return key;
}

static enum status digest_key(EVP_PKEY *key, struct digest *ret, struct error *err)
{
    unsigned char *der = NULL;
    const int size = key ? i2d_PUBKEY(key, &der) : 0;

    if (size > 0)
        *ret = digest_bytes(der, (size_t)size);
    OPENSSL_free(der);
    return size > 0 ? STATUS_OK
                    : error_set(err, STATUS_INVALID, "the key is not a public key in PEM");
}

static bool is_signed(EVP_PKEY *key, const struct bytes *message, const struct bytes *signature)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const bool good =
        context && EVP_PKEY_security_bits(key) >= SECURITY_BITS &&
        EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
        EVP_DigestVerify(context, signature->at, signature->size, message->at, message->size) == 1;

    EVP_MD_CTX_free(context);
    ERR_clear_error();
    return good;
}

static enum status check_signature(const struct parts *parts, struct digest *ret_key,
                                   struct error *err)
{
    EVP_PKEY *key = read_key(parts->of[KEY].at, parts->of[KEY].size);
    enum status status = digest_key(key, ret_key, err);

    if (status == STATUS_OK && !is_signed(key, &parts->of[ATTEST], &parts->of[SIGNATURE]))
        status = error_set(err, STATUS_INVALID, "the quote is not signed by its key");
    EVP_PKEY_free(key);
    return status;
}

enum status quote_key_read(const char *path, struct digest *ret, struct error *err)
{
    AUTO_FREE char *pem = NULL;
    size_t size = 0;
    EVP_PKEY *key;
    enum status status;

    TRY(file_read(path, 1 << 16, &pem, &size, err));
    key = read_key(pem, size);
    status = digest_key(key, ret, err);
    EVP_PKEY_free(key);
    if (status != STATUS_OK)
        error_prefix(err, "%s", path);
    return status;
}

/* ---- the log ---- */

struct replay {
    uint16_t algorithms[ALGORITHMS_MAX], sizes[ALGORITHMS_MAX];
    size_t algorithm_count;
    struct digest pcrs[PCR_COUNT];
    uint32_t extended; /* a bit a PCR */
};

/* The first event, in the older form, says which digests the others have. */
static bool take_header(struct reader *log, struct replay *replay)
{
    static const char mark[16] = "Spec ID Event03";
    struct reader data = {.little = true, .good = true};
    const uint8_t *at;

    take(log, 4);
    log->good &= take_number(log, 4) == EV_NO_ACTION;
    take(log, 20);
    data.left = take_number(log, 4);
    data.at = take(log, data.left);
    data.good = log->good;
    at = take(&data, sizeof(mark));
    if (!at || memcmp(at, mark, sizeof(mark)) != 0)
        return false;
    take(&data, 4 + 4);
    replay->algorithm_count = take_number(&data, 4);
    if (replay->algorithm_count > ALGORITHMS_MAX)
        return false;
    for (size_t i = 0; i < replay->algorithm_count; i++) {
        replay->algorithms[i] = (uint16_t)take_number(&data, 2);
        replay->sizes[i] = (uint16_t)take_number(&data, 2);
    }
    return data.good;
}

/* An event's SHA-256; NULL: it has none. */
static const uint8_t *take_digests(struct reader *log, const struct replay *replay)
{
    const uint64_t count = take_number(log, 4);
    const uint8_t *found = NULL;

    for (uint64_t i = 0; i < count && log->good; i++) {
        const uint64_t algorithm = take_number(log, 2);
        const uint8_t *digest;
        size_t k = 0;

        while (k < replay->algorithm_count && replay->algorithms[k] != algorithm)
            k++;
        if (k == replay->algorithm_count)
            return NULL;
        digest = take(log, replay->sizes[k]);
        if (algorithm == TPM_ALG_SHA256 && replay->sizes[k] == DIGEST_SIZE)
            found = digest;
    }
    return found;
}

static void extend(struct replay *replay, uint64_t pcr, const uint8_t *digest)
{
    uint8_t both[2 * DIGEST_SIZE];

    memcpy(both, replay->pcrs[pcr].bytes, DIGEST_SIZE);
    memcpy(both + DIGEST_SIZE, digest, DIGEST_SIZE);
    replay->pcrs[pcr] = digest_bytes(both, sizeof(both));
    replay->extended |= UINT32_C(1) << pcr;
}

/* PCR 0 begins as the locality from which the TPM was started. */
static void take_locality(struct replay *replay, const uint8_t *data, size_t size)
{
    static const char mark[16] = "StartupLocality";

    if (size == sizeof(mark) + 1 && memcmp(data, mark, sizeof(mark)) == 0 &&
        !(replay->extended & 1))
        replay->pcrs[0].bytes[DIGEST_SIZE - 1] = data[sizeof(mark)];
}

static bool take_event(struct reader *log, struct replay *replay)
{
    const uint64_t pcr = take_number(log, 4), type = take_number(log, 4);
    const uint8_t *digest = take_digests(log, replay);
    const size_t size = take_number(log, 4);
    const uint8_t *data = take(log, size);

    if (!log->good || (type != EV_NO_ACTION && (pcr >= PCR_COUNT || !digest)))
        return false;
    if (type != EV_NO_ACTION)
        extend(replay, pcr, digest);
    else if (pcr == 0)
        take_locality(replay, data, size);
    return true;
}

/* Each quoted PCR that the log extends has the value that its events lead to. */
static enum status check_log(const struct bytes *bytes, const struct attest *attest,
                             const uint8_t *values, struct error *err)
{
    struct reader log = {bytes->at, bytes->size, true, true};
    struct replay replay = {.algorithm_count = 0};
    bool good = take_header(&log, &replay);

    while (good && log.left > 0)
        good = take_event(&log, &replay);
    if (!good)
        return error_set(err, STATUS_INVALID,
                         "the log is no log of TCG events with digests by SHA-256");
    for (int pcr = 0; pcr < PCR_COUNT; pcr++) {
        if (!(attest->selected >> pcr & 1))
            continue;
        if ((replay.extended >> pcr & 1) &&
            memcmp(values, replay.pcrs[pcr].bytes, DIGEST_SIZE) != 0)
            return error_set(err, STATUS_INVALID,
                             "the events of the log do not lead to the value of PCR %d", pcr);
        values += DIGEST_SIZE;
    }
    return replay.extended & attest->selected
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "the log has no event of a quoted PCR");
}

enum status quote_read(const char *text, struct quote *ret, struct error *err)
{
    CLEANUP(parts_finish) struct parts parts = {0};
    struct attest attest = {.selected = 0};
    struct digest key;

    TRY(read_parts(text, &parts, err));
    TRY(check_signature(&parts, &key, err));
    TRY(read_attest(&parts.of[ATTEST], &attest, err));
    TRY(check_pcrs(&attest, &parts.of[PCRS], err));
    if (parts.of[LOG].at)
        TRY(check_log(&parts.of[LOG], &attest, parts.of[PCRS].at, err));
    *ret = (struct quote){.nonce = attest.nonce,
                          .key = key,
                          .clock_ms = (int64_t)attest.clock_ms,
                          .resets = attest.resets,
                          .has_log = parts.of[LOG].at != NULL};
    return STATUS_OK;
}

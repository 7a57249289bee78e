#include "results/evidence/timestamp.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* DER tags (X.690) */
enum {
    TAG_INTEGER = 0x02,
    TAG_OCTETS = 0x04,
    TAG_OID = 0x06,
    TAG_TIME = 0x18, /* GeneralizedTime */
    TAG_SEQUENCE = 0x30,
    TAG_SET = 0x31,
    TAG_CONTEXT_0 = 0xa0,
};

/* A part of the input; reading takes from its front. */
struct der {
    const uint8_t *at, *end;
};

/* The next element, whatever its tag; false at the end or when it does not fit. */
static bool next(struct der *in, int *ret_tag, struct der *ret)
{
    size_t length;

    if (in->end - in->at < 2 || (in->at[0] & 0x1f) == 0x1f)
        return false;
    *ret_tag = in->at[0];
    length = in->at[1];
    in->at += 2;
    if (length & 0x80) {
        size_t count = length & 0x7f;

        if (count == 0 || count > 4 || (size_t)(in->end - in->at) < count)
            return false;
        length = 0;
        while (count--)
            length = length << 8 | *in->at++;
    }
    if ((size_t)(in->end - in->at) < length)
        return false;
    *ret = (struct der){in->at, in->at + length};
    in->at += length;
    return true;
}

static bool take(struct der *in, int tag, struct der *ret)
{
    int found;

    return next(in, &found, ret) && found == tag;
}

static bool is(const struct der *part, const void *bytes, size_t length)
{
    return (size_t)(part->end - part->at) == length && memcmp(part->at, bytes, length) == 0;
}

static const uint8_t oid_signed_data[] = {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02};
static const uint8_t oid_tst_info[] = {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d,
                                       0x01, 0x09, 0x10, 0x01, 0x04};
static const uint8_t oid_sha256[] = {0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01};

/* ContentInfo, from inside its sequence, down to the bytes of TSTInfo. */
static bool find_info(struct der content, struct der *ret)
{
    struct der oid, wrapped, data, part, encapsulated, octets, info;

    return take(&content, TAG_OID, &oid) && is(&oid, oid_signed_data, sizeof(oid_signed_data)) &&
           take(&content, TAG_CONTEXT_0, &wrapped) && take(&wrapped, TAG_SEQUENCE, &data) &&
           take(&data, TAG_INTEGER, &part) && take(&data, TAG_SET, &part) &&
           take(&data, TAG_SEQUENCE, &encapsulated) && take(&encapsulated, TAG_OID, &oid) &&
           is(&oid, oid_tst_info, sizeof(oid_tst_info)) &&
           take(&encapsulated, TAG_CONTEXT_0, &wrapped) && take(&wrapped, TAG_OCTETS, &octets) &&
           take(&octets, TAG_SEQUENCE, &info) && (*ret = info, true);
}

enum status timestamp_read(const void *bytes, size_t length, struct timestamp *ret,
                           struct error *err)
{
    struct der in = {bytes, (const uint8_t *)bytes + length};
    struct der whole, first, info, part, imprint, algorithm, oid, digest, time;
    struct timestamp timestamp = {0};
    int tag;

    if (!take(&in, TAG_SEQUENCE, &whole))
        return error_set(err, STATUS_INVALID,
                         "the time stamp is not DER; `openssl ts -query` and "
                         "the authority's reply give such a file");
    if (in.at != in.end)
        return error_set(err, STATUS_INVALID, "there are bytes after the time stamp");
    /* TimeStampResp begins with its status, a token with an object identifier. */
    part = whole;
    timestamp.is_response = next(&part, &tag, &first) && tag == TAG_SEQUENCE;
    if (timestamp.is_response && !take(&part, TAG_SEQUENCE, &whole))
        return error_set(err, STATUS_INVALID,
                         "the authority's reply holds no time stamp: it was "
                         "refused");
    if (!find_info(whole, &info) || !take(&info, TAG_INTEGER, &part) ||
        !take(&info, TAG_OID, &part) || !take(&info, TAG_SEQUENCE, &imprint) ||
        !take(&imprint, TAG_SEQUENCE, &algorithm) || !take(&algorithm, TAG_OID, &oid) ||
        !take(&imprint, TAG_OCTETS, &digest) || !take(&info, TAG_INTEGER, &part) ||
        !take(&info, TAG_TIME, &time))
        return error_set(err, STATUS_INVALID, "not an RFC 3161 time stamp");
    if (!is(&oid, oid_sha256, sizeof(oid_sha256)) || digest.end - digest.at != DIGEST_SIZE)
        return error_set(err, STATUS_INVALID, "the time stamp is not of a SHA-256");
    memcpy(timestamp.imprint.bytes, digest.at, DIGEST_SIZE);
    for (size_t i = 0; time.at < time.end && i + 1 < sizeof(timestamp.time); time.at++)
        if (strchr("0123456789.Z", *time.at) && *time.at)
            timestamp.time[i++] = (char)*time.at;
    *ret = timestamp;
    return STATUS_OK;
}

enum status timestamp_check(const void *bytes, size_t length, const struct digest *root,
                            struct error *err)
{
    struct timestamp timestamp;
    char stamped[DIGEST_HEX_SIZE], wanted[DIGEST_HEX_SIZE];
    enum status status = timestamp_read(bytes, length, &timestamp, err);

    if (status == STATUS_OK && !digest_equal(&timestamp.imprint, root))
        status =
            error_set(err, STATUS_INVALID, "the time stamp is of %s, the checkpoint's root is %s",
                      digest_hex(&timestamp.imprint, stamped), digest_hex(root, wanted));
    return status;
}

bool timestamp_seconds(const struct timestamp *timestamp, int64_t *ret)
{
    struct tm tm = {0};

    if (sscanf(timestamp->time, "%4d%2d%2d%2d%2d%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
               &tm.tm_hour, &tm.tm_min, &tm.tm_sec) != 6 ||
        !strchr(timestamp->time, 'Z'))
        return false;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    *ret = timegm(&tm);
    return *ret > 0;
}

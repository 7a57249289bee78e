#include "results/evidence/timestamp.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/ts.h>

/* "WHAT (REASON)", by the first of libcrypto's reasons, whose queue it empties. */
static enum status refuse(struct error *err, const char *what)
{
    const char *data, *reason;
    int flags;
    const unsigned long code = ERR_get_error_all(NULL, NULL, NULL, &data, &flags);

    reason = flags & ERR_TXT_STRING && *data ? data : ERR_reason_error_string(code);
    error_set(err, STATUS_INVALID, "%s (%s)", what, reason ? reason : "no reason given");
    ERR_clear_error();
    return STATUS_INVALID;
}

/* What the token says. */
static enum status read_info(PKCS7 *token, struct timestamp *ret, struct error *err)
{
    TS_TST_INFO *info = PKCS7_to_TS_TST_INFO(token);
    const ASN1_GENERALIZEDTIME *time;
    const ASN1_OCTET_STRING *digest;
    TS_MSG_IMPRINT *imprint;
    struct tm tm;
    size_t length;
    enum status status = STATUS_OK;

    if (!info)
        return refuse(err, "not an RFC 3161 time stamp");
    imprint = TS_TST_INFO_get_msg_imprint(info);
    digest = TS_MSG_IMPRINT_get_msg(imprint);
    time = TS_TST_INFO_get_time(info);
    length = (size_t)ASN1_STRING_length(time);
    if (OBJ_obj2nid(TS_MSG_IMPRINT_get_algo(imprint)->algorithm) != NID_sha256 ||
        ASN1_STRING_length(digest) != DIGEST_SIZE) {
        status = error_set(err, STATUS_INVALID, "the time stamp is not of a SHA-256");
    } else if (!ASN1_TIME_to_tm(time, &tm) || length >= TIMESTAMP_TIME_SIZE ||
               ASN1_STRING_get0_data(time)[length - 1] != 'Z' || timegm(&tm) <= 0) {
        status = error_set(err, STATUS_INVALID, "the time stamp has no time in UTC");
    } else {
        *ret = (struct timestamp){.seconds = timegm(&tm)};
        memcpy(ret->imprint.bytes, ASN1_STRING_get0_data(digest), DIGEST_SIZE);
        memcpy(ret->time, ASN1_STRING_get0_data(time), length);
    }
    TS_TST_INFO_free(info);
    return status;
}

/* The token, for PKCS7_free(), and what it says. */
static enum status decode(const void *bytes, size_t length, PKCS7 **ret_token,
                          struct timestamp *ret, struct error *err)
{
    const long most = length <= TIMESTAMP_MAX ? (long)length : 0;
    const unsigned char *at = bytes;
    PKCS7 *token = d2i_PKCS7(NULL, &at, most);
    enum status status;

    if (!token) {
        const unsigned char *from = bytes;
        TS_RESP *response = d2i_TS_RESP(NULL, &from, most);
        const bool is_refusal = response && !TS_RESP_get_token(response);

        if (response && !is_refusal)
            token = PKCS7_dup(TS_RESP_get_token(response));
        TS_RESP_free(response);
        if (is_refusal)
            return error_set(err, STATUS_INVALID,
                             "the authority's reply holds no time stamp: it was refused");
        at = from;
    }
    if (!token)
        return refuse(err,
                      "not an RFC 3161 time stamp; `openssl ts -query` and the authority's reply "
                      "give such a file");
    if (at != (const unsigned char *)bytes + length)
        status = error_set(err, STATUS_INVALID, "there are bytes after the time stamp");
    else
        status = read_info(token, ret, err);
    if (status == STATUS_OK)
        *ret_token = token;
    else
        PKCS7_free(token);
    return status;
}

/* Signature, chain as of `seconds`, purpose, and that the token names its signer, if any. */
static enum status check_signer(PKCS7 *token, int64_t seconds, const char *ca_file,
                                struct error *err)
{
    char what[ERROR_PLACE_MAX];
    TS_VERIFY_CTX *context;
    X509_STORE *store;
    bool good = false;

    ERR_clear_error();
    context = TS_VERIFY_CTX_new();
    store = X509_STORE_new();
    if (context && store && X509_STORE_load_file(store, ca_file)) {
        X509_VERIFY_PARAM_set_time(X509_STORE_get0_param(store), seconds);
        TS_VERIFY_CTX_set_flags(context, TS_VFY_VERSION | TS_VFY_SIGNER | TS_VFY_SIGNATURE);
        /* The signer's certificate need not be in the token: it may be among these. */
        TS_VERIFY_CTX_set_certs(context, X509_STORE_get1_all_certs(store));
        TS_VERIFY_CTX_set_store(context, store);
        good = TS_RESP_verify_token(context, token) == 1;
        store = NULL; /* the context's */
    }
    X509_STORE_free(store);
    TS_VERIFY_CTX_free(context);
    if (good)
        return STATUS_OK;
    snprintf(what, sizeof(what), "its signature is not one of an authority of %.400s", ca_file);
    return refuse(err, what);
}

enum status timestamp_check(const void *bytes, size_t length, const struct digest *root,
                            const char *ca_file, struct timestamp *ret, struct error *err)
{
    char stamped[DIGEST_HEX_SIZE], wanted[DIGEST_HEX_SIZE];
    struct timestamp timestamp;
    PKCS7 *token = NULL;
    enum status status;

    ERR_clear_error();
    status = decode(bytes, length, &token, &timestamp, err);
    if (status == STATUS_OK && root && !digest_equal(&timestamp.imprint, root))
        status =
            error_set(err, STATUS_INVALID, "the time stamp is of %s, the checkpoint's root is %s",
                      digest_hex(&timestamp.imprint, stamped), digest_hex(root, wanted));
    if (status == STATUS_OK && ca_file)
        status = check_signer(token, timestamp.seconds, ca_file, err);
    PKCS7_free(token);
    if (status == STATUS_OK)
        *ret = timestamp;
    return status;
}

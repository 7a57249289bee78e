/*
 * Time stamps (RFC 3161, DER): refused with a reason, or read; then only its own root fits it. What
 * passes as signed under FUZZ_CA says what that authority signed in corpus/timestamp/signed.
 */
#include "fuzz.h"

#include "results/evidence/timestamp.h"

#define SIGNED "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char hex[DIGEST_HEX_SIZE];
    struct timestamp timestamp;
    struct digest other;
    struct error err = ERROR_INIT;
    enum status status = timestamp_check(data, size, NULL, NULL, &timestamp, &err);

    if (status != STATUS_OK) {
        fuzz_require_good_message(&err, status);
        return 0;
    }
    for (const char *c = timestamp.time; *c; c++)
        FUZZ_REQUIRE(strchr("0123456789.Z", *c));
    FUZZ_REQUIRE(timestamp_check(data, size, &timestamp.imprint, NULL, &timestamp, &err) ==
                 STATUS_OK);
    other = timestamp.imprint;
    other.bytes[size % DIGEST_SIZE] ^= 1;
    status = timestamp_check(data, size, &other, NULL, &timestamp, &err);
    FUZZ_REQUIRE(status == STATUS_INVALID);
    fuzz_require_good_message(&err, status);
    status = timestamp_check(data, size, NULL, FUZZ_CA, &timestamp, &err);
    if (status == STATUS_OK)
        FUZZ_REQUIRE(!strcmp(digest_hex(&timestamp.imprint, hex), SIGNED) &&
                     !strcmp(timestamp.time, "20261123180514Z"));
    else
        fuzz_require_good_message(&err, status);
    return 0;
}

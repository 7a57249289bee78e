/* Time stamps (RFC 3161, DER): refused with a reason, or read; then only its own root fits it. */
#include "fuzz.h"

#include "results/evidence/timestamp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct timestamp timestamp;
    struct digest other;
    struct error err = ERROR_INIT;
    enum status status = timestamp_read(data, size, &timestamp, &err);

    if (status != STATUS_OK) {
        fuzz_require_good_message(&err, status);
        return 0;
    }
    for (const char *c = timestamp.time; *c; c++)
        FUZZ_REQUIRE(strchr("0123456789.Z", *c));
    FUZZ_REQUIRE(timestamp_check(data, size, &timestamp.imprint, &err) == STATUS_OK);
    other = timestamp.imprint;
    other.bytes[size % DIGEST_SIZE] ^= 1;
    status = timestamp_check(data, size, &other, &err);
    FUZZ_REQUIRE(status == STATUS_INVALID);
    fuzz_require_good_message(&err, status);
    return 0;
}

/* JSON from outside: refused with a good message, or its canonical form comes back the same. */
#include "fuzz.h"
#include "harness/core/canonical.h"

#include <math.h>

/* The first eight bytes as a double: its shortest form reads back. */
static void check_real(const uint8_t *data, size_t size)
{
    char text[CANONICAL_REAL_SIZE];
    double value, back;

    if (size < sizeof(value))
        return;
    memcpy(&value, data, sizeof(value));
    if (!isfinite(value))
        return;
    memset(text, 'x', sizeof(text));
    canonical_real(value, text);
    FUZZ_REQUIRE(memchr(text, '\0', sizeof(text)));
    FUZZ_REQUIRE(text_parse_double(text, &back) && back == value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = ERROR_INIT;
    struct digest digest, expected;
    char *text, *again;
    enum status status;
    json_t *value;

    check_real(data, size);
    status = canonical_parse((const char *)data, size, "in.json", &value, &err);
    if (status != STATUS_OK) {
        FUZZ_REQUIRE(status == STATUS_CORRUPT);
        fuzz_require_good_message(&err, status);
        return 0;
    }
    FUZZ_REQUIRE(canonical_dump(value, &text, &err) == STATUS_OK);
    FUZZ_REQUIRE(text_is_utf8(text, strlen(text)));
    FUZZ_REQUIRE(canonical_digest(value, &digest, &err) == STATUS_OK);
    expected = digest_bytes(text, strlen(text));
    FUZZ_REQUIRE(digest_equal(&digest, &expected));
    json_decref(value);
    if (canonical_parse(text, strlen(text), "again", &value, &err) != STATUS_OK) {
        fprintf(stderr, "%s\n%s\n", err.message, text);
        abort();
    }
    FUZZ_REQUIRE(canonical_dump(value, &again, &err) == STATUS_OK);
    FUZZ_REQUIRE(!strcmp(text, again));
    json_decref(value);
    free(text);
    free(again);
    return 0;
}

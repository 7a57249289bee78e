/* Strict parses, human forms and the handling of untrusted bytes in core/text. */
#include "fuzz.h"

static void check_parses(const char *string)
{
    char human[TEXT_HUMAN_SIZE], printed[64];
    int64_t i64, i64_again;
    uint64_t u64;
    double real;

    if (text_parse_i64(string, &i64)) {
        snprintf(printed, sizeof(printed), "%lld", (long long)i64);
        FUZZ_REQUIRE(text_parse_i64(printed, &i64_again) && i64_again == i64);
    }
    if (text_parse_duration_ns(string, &i64)) {
        FUZZ_REQUIRE(i64 >= 0);
        FUZZ_REQUIRE(strlen(text_human_duration((double)i64, human)) < TEXT_HUMAN_SIZE);
    }
    if (text_parse_bytes(string, &u64))
        FUZZ_REQUIRE(strlen(text_human_bytes((double)u64, human)) < TEXT_HUMAN_SIZE);
    if (text_parse_u64(string, &u64)) /* a plain number is a number of bytes too */
        FUZZ_REQUIRE(text_parse_bytes(string, &u64));
    if (text_parse_double(string, &real)) {
        memset(human, 'x', sizeof(human));
        FUZZ_REQUIRE(memchr(text_human_si(real, human), '\0', TEXT_HUMAN_SIZE));
        memset(human, 'x', sizeof(human));
        FUZZ_REQUIRE(memchr(text_human_bytes(real, human), '\0', TEXT_HUMAN_SIZE));
        memset(human, 'x', sizeof(human));
        FUZZ_REQUIRE(memchr(text_human_duration(real, human), '\0', TEXT_HUMAN_SIZE));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text shown;
    char *string = malloc(size + 1);

    if (!string)
        return 0;
    memcpy(string, data, size);
    string[size] = '\0';
    text_init(&shown);
    text_append_printable(&shown, data, size);
    FUZZ_REQUIRE(text_ok(&shown));
    FUZZ_REQUIRE(text_is_utf8(shown.data, shown.length));
    for (size_t i = 0; i < shown.length; ++i)
        FUZZ_REQUIRE((unsigned char)shown.data[i] >= ' ' && shown.data[i] != 0x7f);
    FUZZ_REQUIRE(text_columns(shown.data) <= shown.length);
    check_parses(string);
    text_columns(string);
    FUZZ_REQUIRE(text_distance(string, string) == 0);
    FUZZ_REQUIRE(text_distance(string, "window") == text_distance("window", string));
    text_finish(&shown);
    free(string);
    return 0;
}

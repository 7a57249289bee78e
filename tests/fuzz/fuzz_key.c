/* Public keys as people pass them on: refused with a reason, or the same text again. */
#include "fuzz.h"

#include "results/evidence/key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = ERROR_INIT;
    struct key_public key, again;
    char *text = malloc(size + 1), printed[KEY_TEXT_MAX];
    enum status status;

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    status = key_public_parse(text, &key, &err);
    if (status != STATUS_OK) {
        fuzz_require_good_message(&err, status);
    } else {
        key_public_text(&key, printed);
        FUZZ_REQUIRE(strstr(text, printed) != NULL);
        FUZZ_REQUIRE(key_public_parse(printed, &again, &err) == STATUS_OK);
        FUZZ_REQUIRE(!strcmp(key.name, again.name) &&
                     !memcmp(key.bytes, again.bytes, sizeof(key.bytes)));
    }
    free(text);
    return 0;
}

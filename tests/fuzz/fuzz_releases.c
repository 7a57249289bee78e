/* Statements of releases: refused with a reason, or each digest is found, in words for a terminal.
 */
#include "fuzz.h"

#include "results/evidence/releases.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct releases releases = {0};
    struct error err = ERROR_INIT;
    const enum status status = releases_add(&releases, (const char *)data, size, &err);

    if (status != STATUS_OK) {
        fuzz_require_good_message(&err, status);
        FUZZ_REQUIRE(releases.count == 0);
    }
    for (size_t i = 0; i < releases.count; i++) {
        const struct release *found = releases_find(&releases, &releases.items[i].digest);
        char *words = found ? release_words(found) : NULL;

        FUZZ_REQUIRE(words);
        for (const char *at = words; *at; at++)
            FUZZ_REQUIRE(*at >= 0x20 && *at < 0x7f);
        free(words);
    }
    releases_finish(&releases);
    return 0;
}

/* Quotes of TPMs: refused with a reason, or one whose key's signature, PCRs and log are good. */
#include "fuzz.h"

#include "results/evidence/quote.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = ERROR_INIT;
    char *text = malloc(size + 1);
    struct quote quote;
    enum status status;

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    status = quote_read(text, &quote, &err);
    if (status != STATUS_OK)
        fuzz_require_good_message(&err, status);
    else
        FUZZ_REQUIRE(quote.clock_ms >= 0 && strstr(text, "attest ") && strstr(text, "pcrs "));
    free(text);
    return 0;
}

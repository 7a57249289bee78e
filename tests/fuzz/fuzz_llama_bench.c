/* llama-bench's text forms: the first byte chooses JSON, JSON lines or CSV. */
#include "fuzz.h"

#include <math.h>

#include "results/formats/claims.h"

/* What is accepted has the numbers that a claim needs. */
static void check(const struct import_claims *claims)
{
    for (size_t i = 0; i < claims->count; i++) {
        const struct store_claim *claim = &claims->items[i];

        FUZZ_REQUIRE(claim->workload && claim->declaration && claim->fields);
        FUZZ_REQUIRE(isfinite(claim->rate) && claim->rate > 0);
        FUZZ_REQUIRE(isfinite(claim->mean_ns) && claim->mean_ns > 0);
        FUZZ_REQUIRE(claim->items > 0 && !claim->readings.failed);
        FUZZ_REQUIRE(reading_find(&claim->readings, "device.driver_version")->status ==
                     READING_UNAVAILABLE);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static enum status (*const readers[])(const char *, const char *, size_t,
                                          struct import_claims *, struct error *) = {
        llama_bench_read_json, llama_bench_read_jsonl, llama_bench_read_csv};
    struct import_claims claims = {0};
    struct error err = ERROR_INIT;
    enum status status;
    char *bytes;

    if (size < 1)
        return 0;
    bytes = malloc(size);
    if (!bytes)
        return 0;
    memcpy(bytes, data + 1, size - 1);
    bytes[size - 1] = '\0'; /* as file_read does */
    status = readers[data[0] % 3]("input", bytes, size - 1, &claims, &err);
    if (status == STATUS_OK)
        check(&claims);
    else
        fuzz_require_good_message(&err, status);
    FUZZ_REQUIRE(status == STATUS_OK || !strncmp(err.message, "input", 5));
    import_claims_finish(&claims);
    free(bytes);
    return 0;
}

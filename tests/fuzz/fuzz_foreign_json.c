/*
 * hyperfine, Google Benchmark, pytest-benchmark, fio, Phoronix, SuperBench: whatever one of the
 * readers accepts has a rate or a mean time, and says what it lacks.
 */
#include "fuzz.h"

#include <math.h>

#include "results/formats/claims.h"

typedef enum status read_fn(const char *path, const char *bytes, size_t length,
                            struct import_claims *ret, struct error *err);

static void require_claims(const struct import_claims *claims)
{
    FUZZ_REQUIRE(claims->count > 0);
    for (size_t i = 0; i < claims->count; i++) {
        const struct store_claim *claim = &claims->items[i];

        FUZZ_REQUIRE(claim->workload && claim->declaration && claim->fields);
        FUZZ_REQUIRE((isfinite(claim->rate) && claim->rate > 0) ||
                     (isfinite(claim->mean_ns) && claim->mean_ns > 0));
        FUZZ_REQUIRE(!claim->readings.failed);
        FUZZ_REQUIRE(reading_find(&claim->readings, "import.provenance"));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static read_fn *const readers[] = {hyperfine_read, google_benchmark_read, pytest_benchmark_read,
                                       fio_read,       phoronix_read,         superbench_read};
    char *bytes = malloc(size + 1);

    if (!bytes)
        return 0;
    memcpy(bytes, data, size);
    bytes[size] = '\0';
    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
        struct import_claims claims = {0};
        struct error err = ERROR_INIT;
        enum status status = readers[i]("input", bytes, size, &claims, &err);

        if (status == STATUS_OK)
            require_claims(&claims);
        else
            fuzz_require_good_message(&err, status);
        FUZZ_REQUIRE(status == STATUS_OK || claims.count == 0);
        import_claims_finish(&claims);
    }
    free(bytes);
    return 0;
}

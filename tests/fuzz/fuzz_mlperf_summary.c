/* MLPerf Inference's summary: what is accepted has a rate or a mean latency. */
#include "fuzz.h"

#include <math.h>

#include "results/formats/claims.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct import_claims claims = {0};
    struct error err = ERROR_INIT;
    enum status status;
    char *bytes = malloc(size + 1);

    if (!bytes)
        return 0;
    memcpy(bytes, data, size);
    bytes[size] = '\0';
    status = mlperf_read_summary("input", bytes, size, &claims, &err);
    if (status != STATUS_OK)
        fuzz_require_good_message(&err, status);
    FUZZ_REQUIRE(status == STATUS_OK || claims.count == 0);
    for (size_t i = 0; i < claims.count; i++) {
        const struct store_claim *claim = &claims.items[i];

        FUZZ_REQUIRE(claim->workload && claim->declaration && claim->fields);
        FUZZ_REQUIRE((isfinite(claim->rate) && claim->rate > 0) ||
                     (isfinite(claim->mean_ns) && claim->mean_ns > 0));
        FUZZ_REQUIRE(!claim->readings.failed);
    }
    import_claims_finish(&claims);
    free(bytes);
    return 0;
}

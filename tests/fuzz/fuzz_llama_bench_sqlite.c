/* llama-bench's database: SQLite reads the hostile file, from memory. */
#include "fuzz.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "results/formats/claims.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct import_claims claims = {0};
    struct error err = ERROR_INIT;
    enum status status;
    char path[32];
    int fd = memfd_create("input", MFD_CLOEXEC);

    if (fd < 0)
        return 0;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (write(fd, data, size) == (ssize_t)size) {
        status = llama_bench_read_sqlite(path, NULL, 0, &claims, &err);
        if (status != STATUS_OK)
            fuzz_require_good_message(&err, status);
        FUZZ_REQUIRE(status == STATUS_OK || claims.count == 0);
        for (size_t i = 0; i < claims.count; i++)
            FUZZ_REQUIRE(isfinite(claims.items[i].rate) && claims.items[i].rate > 0);
    }
    import_claims_finish(&claims);
    close(fd);
    return 0;
}

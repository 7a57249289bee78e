/*
 * Workload declarations of every kind. Whatever the bytes, they are refused with a good message or
 * give a workload whose stored JSON loads again as the same one, and whose cost can be computed.
 */
#include "fuzz.h"
#include "workloads/workload.h"

static void check_cost(const struct workload *workload)
{
    const struct workload_case work = {
        .workload = workload,
        .precision = workload->precisions[0],
        .batch = workload->batches[workload->batch_count - 1],
        .scenario = workload->scenario,
    };
    struct workload_cost cost;
    struct error err = ERROR_INIT;
    enum status status = workload->kind->cost(&work, &cost, &err);

    if (status != STATUS_OK)
        fuzz_require_good_message(&err, status);
    else
        FUZZ_REQUIRE(cost.items > 0 && cost.device_memory_bytes > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct workload workload, again;
    struct error err = ERROR_INIT;
    struct text description;
    enum status status = workload_parse("fuzz.yaml", (const char *)data, size, &workload, &err);

    if (status != STATUS_OK) {
        fuzz_require_good_message(&err, status);
        return 0;
    }
    if (workload_from_json(workload.json, &again, &err) != STATUS_OK) {
        fprintf(stderr, "%s\n", err.message);
        abort();
    }
    FUZZ_REQUIRE(digest_equal(&workload.digest, &again.digest));
    workload_finish(&again);
    text_init(&description);
    workload.kind->describe(&workload, &description);
    FUZZ_REQUIRE(text_ok(&description));
    text_finish(&description);
    check_cost(&workload);
    workload_finish(&workload);
    return 0;
}

/* The list of kernel variants is complete, without duplicates, and its cases are small. */
#include <stdio.h>
#include <string.h>

#include "tests/support/kernels/kernel_variants.h"
#include "tests/support/unit.h"

static bool has_define(const struct module_source *source, const char *name, const char *value)
{
    for (size_t i = 0; i < source->define_count; i++)
        if (strcmp(source->defines[i].name, name) == 0 &&
            strcmp(source->defines[i].value, value) == 0)
            return true;
    return false;
}

TEST(collect)
{
    static const uint32_t lanes[] = {1, 64};
    struct kernel_variants variants = {0};
    struct error err = ERROR_INIT;
    bool gemm = false, softmax = false;

    if (kernel_variants_collect(lanes, 2, &variants, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < variants.count; i++) {
        const struct module_source *source = &variants.items[i].source;

        assert_true(source->lanes == 1 || source->lanes == 64);
        gemm |= strstr(source->file, "gemm.h") != NULL && source->lanes == 64;
        softmax |=
            strstr(source->file, "softmax.h") != NULL && has_define(source, "storage", "store_f32");
        for (size_t k = 0; k < i; k++)
            assert_false(digest_equal(&variants.items[i].digest, &variants.items[k].digest));
    }
    assert_true(gemm && softmax);
    print_message("  %zu variants, %zu cases refused\n", variants.count, variants.refused);
    kernel_variants_finish(&variants);
}

TEST(small)
{
    struct small_cases cases = {0};
    struct error err = ERROR_INIT;

    if (small_cases_init(&cases, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_true(cases.count >= 2 * cases.workload_count);
    for (size_t i = 0; i < cases.count; i++) {
        const struct workload_case work = small_case_work(&cases.items[i]);
        struct workload_cost cost = {0};

        if (work.workload->kind->cost(&work, &cost, &err) != STATUS_OK)
            fail_msg("%s: %s", work.workload->name, err.message);
        if (cost.device_memory_bytes > 4 << 20)
            fail_msg("%s needs %llu bytes: teach small_cases.c its keys", work.workload->name,
                     (unsigned long long)cost.device_memory_bytes);
    }
    small_cases_finish(&cases);
}

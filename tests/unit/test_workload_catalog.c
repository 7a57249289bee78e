/* Everything built in loads, is named after its file, and knows its cost. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/file.h"
#include "harness/core/text.h"
#include "tests/support/unit.h"
#include "workloads/workload.h"

static void check_cost(const struct workload *workload)
{
    for (size_t p = 0; p < workload->precision_count; ++p) {
        for (size_t b = 0; b < workload->batch_count; ++b) {
            const struct workload_case work = {
                .workload = workload,
                .precision = workload->precisions[p],
                .batch = workload->batches[b],
                .scenario = workload->scenario,
            };
            struct workload_cost cost;
            struct error err = ERROR_INIT;

            if (workload->kind->cost(&work, &cost, &err) != STATUS_OK)
                fail_msg("%s: %s", workload->name, err.message);
            assert_true(cost.items > 0);
            assert_non_null(cost.item_name);
            assert_true(cost.device_memory_bytes > 0);
            assert_true(strcmp(cost.headline, "bytes") != 0 || cost.bytes > 0);
            assert_true(strcmp(cost.headline, "flops") != 0 || cost.flops > 0);
            assert_int_equal(cost.bytes > 0, cost.bytes_formula != NULL);
            assert_int_equal(cost.flops > 0, cost.flops_formula != NULL);
        }
    }
}

TEST(workloads)
{
    size_t count;
    const struct catalog_entry *entries = catalog_workloads(&count);

    assert_true(count >= 12);
    for (size_t i = 0; i < count; ++i) {
        struct workload workload, stored;
        struct error err = ERROR_INIT;
        struct text description;

        assert_true(i == 0 || strcmp(entries[i - 1].name, entries[i].name) < 0);
        if (workload_find(entries[i].name, &workload, &err) != STATUS_OK)
            fail_msg("%s: %s", entries[i].name, err.message);
        assert_string_equal(workload.name, entries[i].name);
        assert_string_equal(workload.origin, "built-in");
        if (workload_from_json(workload.json, &stored, &err) != STATUS_OK)
            fail_msg("%s: %s", entries[i].name, err.message);
        assert_true(digest_equal(&workload.digest, &stored.digest));
        workload_finish(&stored);
        text_init(&description);
        workload.kind->describe(&workload, &description);
        assert_true(text_ok(&description) && description.length > 0);
        text_finish(&description);
        check_cost(&workload);
        workload_finish(&workload);
    }
}

TEST(suites)
{
    static const char *const expected[] = {"first-look", "memory-bound", "precisions", "self-test"};
    size_t count;
    const struct catalog_entry *entries = catalog_suites(&count);

    assert_true(count >= 3);
    for (size_t i = 0; i < count; ++i) {
        struct suite suite;
        struct error err = ERROR_INIT;

        if (suite_find(entries[i].name, &suite, &err) != STATUS_OK)
            fail_msg("%s: %s", entries[i].name, err.message);
        assert_string_equal(suite.name, entries[i].name);
        assert_true(suite.entry_count > 0);
        suite_finish(&suite);
    }
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); ++i) {
        struct suite suite;

        assert_int_equal(suite_find(expected[i], &suite, NULL), STATUS_OK);
        suite_finish(&suite);
    }
}

TEST(not_found)
{
    struct workload workload;
    struct suite suite;
    struct error err = ERROR_INIT;

    assert_int_equal(workload_find("traid", &workload, &err), STATUS_NOT_FOUND);
    assert_string_equal(err.message, "there is no workload \"traid\"; did you mean \"triad\"?");
    assert_int_equal(workload_find("quite-another-thing", &workload, &err), STATUS_NOT_FOUND);
    assert_string_equal(err.message,
                        "there is no workload \"quite-another-thing\"; `assay list` shows the "
                        "built-in ones, a file is named by a path with / or ending in .yaml");
    assert_int_equal(suite_find("firstlook", &suite, &err), STATUS_NOT_FOUND);
    assert_string_equal(err.message,
                        "there is no suite \"firstlook\"; did you mean \"first-look\"?");
    assert_int_equal(workload_find("./no-such-file.yaml", &workload, &err), STATUS_NOT_FOUND);
    assert_non_null(strstr(err.message, "./no-such-file.yaml"));
}

/* The name of a built-in workload is its own; a copy of it is the same workload. */
TEST(a_built_in_name)
{
    char path[] = "/tmp/assay-catalog-XXXXXX.yaml";
    const int fd = mkstemps(path, 5);
    struct workload built_in, workload;
    struct error err = ERROR_INIT;
    char *text;

    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(workload_find("triad", &built_in, &err), STATUS_OK);
    text = json_dumps(built_in.json, 0);
    assert_int_equal(file_write_atomic(path, text, strlen(text), 0600, &err), STATUS_OK);
    assert_int_equal(workload_find(path, &workload, &err), STATUS_OK);
    workload_finish(&workload);
    free(text);
    text = text_format("workload: triad\nversion: 1\nkind: memory_bound\ndescription: other\n"
                       "precisions: [fp32]\nmemory_bound: {kernel: triad, elements: 64}\n");
    assert_int_equal(file_write_atomic(path, text, strlen(text), 0600, &err), STATUS_OK);
    assert_int_equal(workload_find(path, &workload, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "\"triad\" is the name of a built-in workload"));
    free(text);
    workload_finish(&built_in);
    unlink(path);
}

TEST(names)
{
    enum scenario scenario;
    enum implementation implementation;

    for (int i = SCENARIO_SINGLE_STREAM; i <= SCENARIO_SERVER; ++i) {
        assert_true(scenario_from_name(scenario_name((enum scenario)i), &scenario));
        assert_int_equal(scenario, i);
    }
    assert_false(scenario_from_name("batch", &scenario));
    for (int i = IMPLEMENTATION_PORTABLE; i <= IMPLEMENTATION_VENDOR; ++i) {
        assert_true(
            implementation_from_name(implementation_name((enum implementation)i), &implementation));
        assert_int_equal(implementation, i);
    }
    assert_false(implementation_from_name("leg", &implementation));
    assert_string_equal(workload_kind_find("memory_bound")->name, "memory_bound");
    assert_null(workload_kind_find("none"));
}

/* Declarations of workloads and suites: their results, and the exact text of every error. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/file.h"
#include "tests/support/unit.h"
#include "workloads/workload.h"

#define HEAD "workload: mine\nversion: 1\nkind: memory_bound\ndescription: A test\n"
#define TRIAD HEAD "memory_bound:\n  kernel: triad\n  elements: 1000\n"

static void parse(const char *yaml, struct workload *ret)
{
    struct error err = ERROR_INIT;

    if (workload_parse("mine.yaml", yaml, strlen(yaml), ret, &err) != STATUS_OK)
        fail_msg("%s", err.message);
}

TEST(defaults)
{
    struct workload workload;

    parse(TRIAD, &workload);
    assert_string_equal(workload.name, "mine");
    assert_int_equal(workload.version, 1);
    assert_string_equal(workload.description, "A test");
    assert_string_equal(workload.origin, "mine.yaml");
    assert_string_equal(workload.kind->name, "memory_bound");
    assert_int_equal(workload.precision_count, 1);
    assert_int_equal(workload.precisions[0], PRECISION_FP32);
    assert_int_equal(workload.batch_count, 1);
    assert_int_equal(workload.batches[0], 1);
    assert_int_equal(workload.scenario, SCENARIO_OFFLINE);
    assert_string_equal(json_string_value(json_object_get(workload.json, "scenario")), "offline");
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(workload.json, "memory_bound"), "lanes")),
        "auto");
    workload_finish(&workload);
}

TEST(identity)
{
    static const char *const same[] = {
        TRIAD "  lanes: auto\nscenario: offline\nprecisions: [fp32]\nbatches: [1]\n",
        "# a comment\nmemory_bound: {elements: 1000, kernel: triad}\ndescription: \"A test\"\n"
        "kind: memory_bound\nversion: 1\nworkload: mine\n",
    };
    static const char *const different[] = {
        HEAD "memory_bound:\n  kernel: triad\n  elements: 1001\n",
        HEAD "memory_bound:\n  kernel: add\n  elements: 1000\n",
        TRIAD "  lanes: 8\n",
        TRIAD "scenario: single_stream\n",
        TRIAD "precisions: [fp32, bf16]\n",
    };
    struct workload first, other;

    parse(TRIAD, &first);
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); ++i) {
        parse(same[i], &other);
        assert_true(digest_equal(&first.digest, &other.digest));
        workload_finish(&other);
    }
    for (size_t i = 0; i < sizeof(different) / sizeof(different[0]); ++i) {
        parse(different[i], &other);
        assert_false(digest_equal(&first.digest, &other.digest));
        workload_finish(&other);
    }
    workload_finish(&first);
}

TEST(from_json)
{
    struct workload written, stored;
    struct error err = ERROR_INIT;

    parse(TRIAD "  lanes: 64\nprecisions: [fp32, fp16]\nscenario: single_stream\n", &written);
    if (workload_from_json(written.json, &stored, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_true(digest_equal(&written.digest, &stored.digest));
    assert_true(json_equal(written.json, stored.json));
    assert_int_equal(stored.scenario, SCENARIO_SINGLE_STREAM);
    assert_int_equal(stored.precisions[1], PRECISION_FP16);
    workload_finish(&stored);
    workload_finish(&written);
}

struct golden {
    const char *yaml, *message;
};

static const struct golden golden[] = {
    {"",
     "mine.yaml:1: nothing is declared here; write \"key: value\" lines. Keys: workload, suite, "
     "kind"},
    {"workload: mine\nversion: 1\n",
     "mine.yaml:1: `kind` is missing; write `kind: ` and "
     "batched_inference, convolution, endpoint, gemm, generation, launch, memory_bound, "
     "onnx, pass, program, synthetic, training_step or transfer"},
    {"workload: mine\nkind: memory-bound\n",
     "mine.yaml:2: there is no kind \"memory-bound\"; "
     "write batched_inference, convolution, endpoint, gemm, generation, launch, "
     "memory_bound, onnx, pass, program, synthetic, training_step or transfer"},
    {"suite: mine\nversion: 1\n",
     "mine.yaml:1: this declares a suite; a workload starts with `workload: NAME`"},
    {"workload: Mine\nversion: 1\nkind: memory_bound\ndescription: A test\n"
     "memory_bound:\n  kernel: triad\n  elements: 1000\n",
     "mine.yaml:1: \"Mine\" is not a name; write 1 to 63 of a-z, 0-9, _ and -"},
    {"workload: mine\nversion: 0\nkind: memory_bound\ndescription: A test\n"
     "memory_bound:\n  kernel: triad\n  elements: 1000\n",
     "mine.yaml:2: `version` is 0; write a whole number from 1 up, raised at each change of "
     "meaning"},
    {TRIAD "precisions: [fp32, fp32]\n", "mine.yaml:8: precision fp32 is listed twice; remove one"},
    {TRIAD "precisions: [fp32, int8]\n",
     "mine.yaml:8: kernel triad does not run in int8; write fp32, bf16, fp16 or fp64"},
    {TRIAD "batches: [0]\n",
     "mine.yaml:8: `batches[0]` is 0; write a number of sequences or items from 1 up"},
    {TRIAD "batches: [1, 4]\n",
     "mine.yaml:8: memory_bound has no batches; write `batches: [1]` or leave it out, and give the "
     "size in `memory_bound`"},
    {HEAD "memory_bound:\n  kernel: triad\n",
     "mine.yaml:5: `elements` is missing; kernel triad needs elements"},
    {HEAD "memory_bound:\n  kernel: triad\n  elements: 0\n",
     "mine.yaml:7: `memory_bound.elements` is 0; write a number of elements from 1 up"},
    {HEAD "memory_bound:\n  kernel: triad\n  elements: -4\n",
     "mine.yaml:7: `memory_bound.elements` is -4; write a number of elements from 1 up"},
    {HEAD "memory_bound:\n  kernel: triad\n  elements: 9223372036854775807\n",
     "mine.yaml:7: `memory_bound.elements` is 9223372036854775807; write a number of elements up "
     "to "
     "1099511627776"},
    {TRIAD "  rows: 4\n", "mine.yaml:8: kernel triad has no `rows`; its shape is elements"},
    {HEAD "memory_bound:\n  kernel: softmax\n  rows: 4\n",
     "mine.yaml:5: `columns` is missing; kernel softmax needs rows and columns"},
    {HEAD "memory_bound:\n  kernel: softmax\n  rows: 1000000000\n  columns: 1000000000\n",
     "mine.yaml:7: rows times columns is more than 1099511627776 elements; write a smaller shape"},
    {HEAD "memory_bound:\n  kernel: embedding_gather\n  vocabulary: 0\n  dimension: 4\n  "
          "lookups: 4\n",
     "mine.yaml:7: `memory_bound.vocabulary` is 0; write a number of table rows from 1 up"},
    {TRIAD "  lanes: many\n",
     "mine.yaml:8: `lanes` is \"many\"; write auto, or a group size from 1 to 4096"},
    {TRIAD "  lanes: 0\n",
     "mine.yaml:8: `lanes` is \"0\"; write auto, or a group size from 1 to 4096"},
    {HEAD "precisions: [bf16]\nmemory_bound:\n  kernel: adamw\n  elements: 10\n",
     "mine.yaml:5: kernel adamw runs in fp32 only"},
    {"workload: mine\nversion: 1\nkind: synthetic\ndescription: A test\nsynthetic:\n  "
     "launches: 0\n",
     "mine.yaml:6: `synthetic.launches` is 0; write a number of launches from 1 up"},
};

TEST(errors)
{
    for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); ++i) {
        struct workload workload = {0}, untouched = {0};
        struct error err = ERROR_INIT;

        assert_int_equal(
            workload_parse("mine.yaml", golden[i].yaml, strlen(golden[i].yaml), &workload, &err),
            STATUS_INVALID);
        assert_string_equal(err.message, golden[i].message);
        assert_memory_equal(&workload, &untouched, sizeof(workload));
    }
}

/* What the schema itself refuses names line and key; the text comes from the core. */
TEST(schema_errors)
{
    static const struct {
        const char *yaml, *place, *word;
    } cases[] = {
        {TRIAD "element: 4\n", "mine.yaml:8: ", "element"},
        {TRIAD "  element: 4\n", "mine.yaml:8: ", "elements"},
        {TRIAD "precisions: fp32\n", "mine.yaml:8: ", "precisions"},
        {TRIAD "precisions: [fp33]\n", "mine.yaml:8: ", "fp33"},
        {TRIAD "scenario: server\n", "mine.yaml:8: ", "server"},
        {HEAD "memory_bound:\n  kernel: triadd\n  elements: 4\n", "mine.yaml:6: ", "triad"},
        {HEAD "memory_bound:\n  kernel: triad\n  elements: lots\n", "mine.yaml:7: ", "elements"},
        {HEAD, "mine.yaml:", "memory_bound"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        struct workload workload;
        struct error err = ERROR_INIT;

        assert_int_equal(
            workload_parse("mine.yaml", cases[i].yaml, strlen(cases[i].yaml), &workload, &err),
            STATUS_INVALID);
        assert_ptr_equal(strstr(err.message, cases[i].place), err.message);
        assert_non_null(strstr(err.message, cases[i].word));
    }
}

/* ---- suites, from files ---- */

static char directory[] = "/tmp/assay_suite_XXXXXX";

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) == NULL;
}

static int remove_directory(void **state)
{
    char *command = text_format("%s/mine.yaml", directory);

    (void)state;
    unlink(command);
    free(command);
    command = text_format("%s/suite.yaml", directory);
    unlink(command);
    free(command);
    return rmdir(directory);
}

static char *write_file(const char *name, const char *content)
{
    char *path = text_format("%s/%s", directory, name);

    assert_int_equal(file_write_atomic(path, content, strlen(content), 0600, NULL), STATUS_OK);
    return path;
}

#define SUITE "suite: both\nversion: 2\ndescription: A test\nworkloads:\n"

TEST(suite)
{
    char *mine = write_file("mine.yaml", TRIAD "precisions: [fp32, bf16]\n");
    char *path = write_file("suite.yaml", SUITE "  - workload: ./mine.yaml\n"
                                                "    precisions: [bf16]\n"
                                                "  - workload: copy\n");
    struct suite suite;
    struct error err = ERROR_INIT;
    struct workload workload;
    char *expected = text_format("%s/./mine.yaml", directory);
    bool is_suite = false;

    assert_int_equal(declaration_is_suite(path, &is_suite, &err), STATUS_OK);
    assert_true(is_suite);
    assert_int_equal(declaration_is_suite(mine, &is_suite, &err), STATUS_OK);
    assert_false(is_suite);
    if (suite_find(path, &suite, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_string_equal(suite.name, "both");
    assert_int_equal(suite.version, 2);
    assert_int_equal(suite.entry_count, 2);
    assert_string_equal(suite.entries[0].workload, expected);
    assert_int_equal(suite.entries[0].precision_count, 1);
    assert_int_equal(suite.entries[0].precisions[0], PRECISION_BF16);
    assert_int_equal(suite.entries[0].batch_count, 0);
    assert_string_equal(suite.entries[1].workload, "copy");
    assert_int_equal(workload_find(suite.entries[0].workload, &workload, &err), STATUS_OK);
    assert_string_equal(workload.name, "mine");
    workload_finish(&workload);
    suite_finish(&suite);
    free(expected);
    free(path);
    free(mine);
}

TEST(suite_errors)
{
    static const struct golden suites[] = {
        {"suite: Both\nversion: 1\ndescription: A test\nworkloads:\n  - workload: copy\n",
         ":1: \"Both\" is not a name; write 1 to 63 of a-z, 0-9, _ and -"},
        {SUITE "  - workload: coppy\n",
         ":5: there is no workload \"coppy\"; did you mean \"copy\"?"},
        {SUITE "  - workload: copy\n    precisions: [int8]\n",
         ":6: workload copy does not declare precision int8; choose from its own `precisions`"},
        {SUITE "  - workload: copy\n    batches: [7]\n",
         ":6: workload copy does not declare batch 7; choose from its own `batches`"},
    };

    for (size_t i = 0; i < sizeof(suites) / sizeof(suites[0]); ++i) {
        char *path = write_file("suite.yaml", suites[i].yaml);
        char *expected = text_format("%s%s", path, suites[i].message);
        struct error err = ERROR_INIT;
        struct suite suite;

        assert_int_equal(suite_find(path, &suite, &err), STATUS_INVALID);
        assert_string_equal(err.message, expected);
        free(expected);
        free(path);
    }
}

int main(void)
{
    return unit_run(make_directory, remove_directory);
}

/*
 * Memory-bound kernels on a real device: outputs verify at odd shapes, group sizes and storage
 * types, and any damage to them is found and named.
 */
#include "model_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"
#include "workloads/memory_bound/memory_bound.h"

static struct device *device;

struct running {
    struct workload workload;
    struct workload_case work;
    struct workload_instance *instance;
};

static void start(struct running *running, const char *kernel, const char *shape, int lanes,
                  enum precision precision)
{
    struct error err = ERROR_INIT;
    char *yaml = text_format("workload: mine\nversion: 1\nkind: memory_bound\ndescription: d\n"
                             "precisions: [%s]\nmemory_bound: {kernel: %s, %s, lanes: %d}\n",
                             precision_name(precision), kernel, shape, lanes);

    if (workload_parse("mine.yaml", yaml, strlen(yaml), &running->workload, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    free(yaml);
    running->work = (struct workload_case){
        .workload = &running->workload,
        .precision = precision,
        .batch = 1,
        .scenario = SCENARIO_OFFLINE,
        .seed = 12345,
    };
    if (workload_instance_create(&running->work, device, &running->instance, &err) != STATUS_OK)
        fail_msg("%s, %s: %s", kernel, shape, err.message);
}

static void stop(struct running *running)
{
    workload_instance_destroy(running->instance);
    workload_finish(&running->workload);
}

struct tally {
    size_t reported, failed;
    uint64_t compared;
};

static void count_check(void *context, const struct workload_check *check)
{
    struct tally *tally = context;

    ++tally->reported;
    tally->failed += !check->passed;
    tally->compared += check->compared;
    assert_int_equal(check->passed, check->error <= check->tolerance);
    assert_non_null(check->reason);
}

/* Whose samples may have other inputs: neither a state nor one sum of all. */
static bool changes(const struct memory_instance *instance)
{
    const struct memory_kernel *kernel = instance->data.kernel;

    return !kernel->has_state && kernel->arrays[kernel->outputs->array].extent != MEMORY_EXTENT_ONE;
}

/* A sample of an iteration, whose inputs are changed before it where the kernel lets them. */
static enum status change_sample(struct running *running, uint64_t secret, struct tally *tally,
                                 struct error *err)
{
    bool changed;

    TRY(workload_change(running->instance, secret, &changed, err));
    assert_int_equal(changed, changes((const struct memory_instance *)running->instance));
    TRY(running->workload.kind->iterate(running->instance, err));
    return changed ? workload_check_changed(running->instance, secret, count_check, tally, err)
                   : STATUS_OK;
}

static void run_and_verify(const char *kernel, const char *shape, int lanes,
                           enum precision precision)
{
    struct running running;
    struct tally tally = {0};
    struct error err = ERROR_INIT;
    enum status status;

    start(&running, kernel, shape, lanes, precision);
    status = workload_verify(running.instance, count_check, &tally, &err);
    for (int i = 0; i < 5 && status == STATUS_OK; ++i)
        status = running.workload.kind->iterate(running.instance, &err);
    for (uint64_t secret = 1; secret <= 3 && status == STATUS_OK; ++secret)
        status = workload_spot_check(running.instance, secret, count_check, &tally, &err);
    for (uint64_t secret = 1; secret <= 3 && status == STATUS_OK; ++secret)
        status = change_sample(&running, secret, &tally, &err);
    if (status == STATUS_OK)
        status = running.workload.kind->iterate(running.instance, &err);
    if (status == STATUS_OK)
        status = workload_verify(running.instance, count_check, &tally, &err);
    if (status != STATUS_OK)
        fail_msg("%s, %s, lanes %d, %s: %s", kernel, shape, lanes, precision_name(precision),
                 err.message);
    assert_true(tally.reported >= 2 && tally.failed == 0 && tally.compared >= 2);
    stop(&running);
}

/* The largest have more than a tile of data and a piece of a fingerprint (2^18 elements), copy's
 * more than a tile of the comparison (2^20). */
static const struct {
    const char *kernel;
    const char *shapes[5];
} odd[] = {
    {"copy", {"elements: 1", "elements: 7", "elements: 1100003"}},
    {"scale", {"elements: 1", "elements: 300003"}},
    {"add", {"elements: 7", "elements: 300003"}},
    {"triad", {"elements: 1", "elements: 7", "elements: 300003"}},
    {"dot", {"elements: 1", "elements: 7", "elements: 300003"}},
    {"gelu", {"elements: 7", "elements: 300003"}},
    {"layer_norm",
     {"rows: 1, columns: 7", "rows: 5, columns: 1003", "rows: 300, columns: 33",
      "rows: 1, columns: 300003"}},
    {"softmax",
     {"rows: 1, columns: 1", "rows: 5, columns: 1003", "rows: 300, columns: 33",
      "rows: 1, columns: 300003"}},
    {"transpose",
     {"rows: 1, columns: 1", "rows: 7, columns: 1003", "rows: 129, columns: 65",
      "rows: 300003, columns: 1"}},
    {"embedding_gather",
     {"vocabulary: 1, dimension: 1, lookups: 1", "vocabulary: 1003, dimension: 77, lookups: 501"}},
    {"adamw", {"elements: 1", "elements: 7", "elements: 300003"}},
};

TEST(odd_shapes)
{
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); ++i)
        for (size_t s = 0; s < 5 && odd[i].shapes[s] != NULL; ++s)
            run_and_verify(odd[i].kernel, odd[i].shapes[s], 1, PRECISION_FP32);
}

/* ---- a device that leaves out launches ---- */

static const struct device_ops *own;
static struct buffer
    *kept; /* what it had before is put there in place of a launch; NULL: nothing */
static unsigned char *before;

static enum status no_launch(struct device *base, const struct kernel_launch *launch,
                             struct error *err)
{
    (void)launch;
    return kept == NULL ? STATUS_OK : own->upload(base, kept, 0, before, kept->bytes, err);
}

/* Without the launch, and with the output that an earlier one wrote. */
TEST(spot_checks)
{
    struct device_ops ops = *device->ops;

    own = device->ops;
    ops.kernel_launch = no_launch;
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); ++i)
        for (int cached = 0; cached < 2; ++cached) {
            const struct memory_instance *instance;
            struct running running;
            struct tally tally = {0};
            struct error err = ERROR_INIT;
            enum status status;

            start(&running, odd[i].kernel, odd[i].shapes[1], 1, PRECISION_FP32);
            instance = (const struct memory_instance *)running.instance;
            assert_int_equal(running.workload.kind->iterate(running.instance, &err), STATUS_OK);
            if (cached && !instance->data.kernel->has_state) {
                kept = instance->arrays[instance->data.kernel->outputs[0].array];
                before = malloc(kept->bytes);
                assert_int_equal(device_download(kept, 0, before, kept->bytes, &err), STATUS_OK);
            }
            device->ops = &ops;
            if (changes(instance))
                assert_int_equal(change_sample(&running, 7, &tally, &err), STATUS_CHECK_FAILED);
            status = workload_spot_check(running.instance, 7, count_check, &tally, &err);
            device->ops = own;
            if (status != STATUS_CHECK_FAILED)
                fail_msg("%s%s passes without its launches", odd[i].kernel,
                         cached ? ", kept," : "");
            assert_true(tally.reported >= 1 && tally.failed >= 1);
            free(before);
            before = NULL;
            kept = NULL;
            stop(&running);
        }
}

static bool has_lanes(int lanes)
{
    return device->info.max_lanes == 0 || (uint32_t)lanes <= device->info.max_lanes;
}

/* Lanes share rows and meet at barriers as soon as there are several. */
TEST(lanes)
{
    static const int lanes[] = {8, 64};

    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); ++i)
        for (size_t l = 0; l < sizeof(lanes) / sizeof(lanes[0]); ++l)
            if (has_lanes(lanes[l]))
                run_and_verify(odd[i].kernel, odd[i].shapes[1], lanes[l], PRECISION_FP32);
}

TEST(storage)
{
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); ++i) {
        if (strcmp(odd[i].kernel, "adamw") == 0)
            continue;
        run_and_verify(odd[i].kernel, odd[i].shapes[1], 1, PRECISION_BF16);
        run_and_verify(odd[i].kernel, odd[i].shapes[1], 1, PRECISION_FP16);
    }
}

/* A device without f64 says so in the compiler's message. */
TEST(fp64)
{
    static const char *const with[] = {"copy",  "scale",     "add",
                                       "triad", "transpose", "embedding_gather"};
    size_t found = 0;

    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); ++i)
        for (size_t w = 0; w < sizeof(with) / sizeof(with[0]); ++w)
            if (strcmp(odd[i].kernel, with[w]) == 0) {
                run_and_verify(odd[i].kernel, odd[i].shapes[1], 1, PRECISION_FP64);
                if (has_lanes(8))
                    run_and_verify(odd[i].kernel, odd[i].shapes[0], 8, PRECISION_FP64);
                ++found;
            }
    assert_int_equal(found, sizeof(with) / sizeof(with[0]));
}

/* An element changed outside of the kernel is found, with its place. */
static void expect_damage(const char *kernel, const char *shape, size_t array, uint64_t index,
                          float value, const char *place)
{
    struct running running;
    struct tally tally = {0};
    struct error err = ERROR_INIT;
    struct memory_instance *instance;

    start(&running, kernel, shape, 1, PRECISION_FP32);
    instance = (struct memory_instance *)running.instance;
    assert_int_equal(workload_verify(running.instance, count_check, &tally, &err), STATUS_OK);
    assert_int_equal(running.workload.kind->iterate(running.instance, &err), STATUS_OK);
    assert_int_equal(
        device_upload(instance->arrays[array], index * sizeof(value), &value, sizeof(value), &err),
        STATUS_OK);
    assert_int_equal(workload_verify(running.instance, count_check, &tally, &err),
                     STATUS_CHECK_FAILED);
    if (strstr(err.message, place) == NULL)
        fail_msg("\"%s\" does not name %s", err.message, place);
    assert_int_equal(tally.failed >= 1, 1);
    stop(&running);
}

TEST(damage)
{
    expect_damage("copy", "elements: 100003", 1, 100002, 0.123f,
                  "copy: output c[100002]: got 0.123");
    expect_damage("triad", "elements: 100003", 2, 7, 9.0f, "triad: output a[7]: got 9");
    expect_damage("dot", "elements: 100003", 3, 0, 1.0f, "dot: output sum[0]: got 1");
    expect_damage("gelu", "elements: 100003", 1, 0, 0.5f, "gelu: output y[0]: got 0.5");
    expect_damage("layer_norm", "rows: 40, columns: 100", 3, 3999, 8.0f,
                  "layer_norm: output y[39, 99]: got 8");
    expect_damage("softmax", "rows: 40, columns: 100", 1, 101, 1.0f,
                  "softmax: output y[1, 1]: got 1");
    /* The output has 100 rows of 40. */
    expect_damage("transpose", "rows: 40, columns: 100", 1, 81, 3.0f,
                  "transpose: output y[2, 1]: got 3");
    expect_damage("embedding_gather", "vocabulary: 50, dimension: 10, lookups: 20", 2, 37, 3.0f,
                  "embedding_gather: output out[3, 7]: got 3");
    expect_damage("adamw", "elements: 100003", 1, 5, 2.0f, "adamw: output w[5]: got 2");
    expect_damage("adamw", "elements: 100003", 2, 6, 2.0f, "adamw: output m[6]: got 2");
    expect_damage("adamw", "elements: 100003", 3, 100002, 2.0f, "adamw: output v[100002]: got 2");
}

/* A window whose launches did nothing must not pass on what an earlier one wrote. */
TEST(stale_output)
{
    struct running running;
    struct memory_instance *instance;
    struct tally tally = {0};
    struct error err = ERROR_INIT;

    start(&running, "scale", "elements: 1003", 1, PRECISION_FP32);
    instance = (struct memory_instance *)running.instance;
    assert_int_equal(workload_verify(running.instance, count_check, &tally, &err), STATUS_OK);
    instance->base.unchecked = 100;
    assert_int_equal(workload_verify(running.instance, count_check, &tally, &err),
                     STATUS_CHECK_FAILED);
    assert_non_null(strstr(err.message, "output b[0]: got NaN (never written?)"));
    stop(&running);

    /* AdamW: steps that were counted and not made. */
    start(&running, "adamw", "elements: 1003", 1, PRECISION_FP32);
    instance = (struct memory_instance *)running.instance;
    assert_int_equal(workload_verify(running.instance, count_check, &tally, &err), STATUS_OK);
    assert_int_equal(running.workload.kind->iterate(running.instance, &err), STATUS_OK);
    ++instance->data.step;
    assert_int_equal(workload_verify(running.instance, count_check, &tally, &err),
                     STATUS_CHECK_FAILED);
    stop(&running);
}

static struct workload_recheck recheck(struct running *running, const char *expected)
{
    struct workload_recheck found = {0};
    struct error err = ERROR_INIT;

    if (workload_recheck(running->instance, expected, &found, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return found;
}

/* Another instance's verified output replaces the reference, bit for bit. */
TEST(recheck)
{
    struct running first, later;
    struct tally tally = {0};
    struct error err = ERROR_INIT;
    struct workload_recheck first_check, found;
    struct memory_instance *instance;
    float value = 0.123f;

    start(&first, "triad", "elements: 1100003", 1, PRECISION_FP32);
    start(&later, "triad", "elements: 1100003", 1, PRECISION_FP32);
    instance = (struct memory_instance *)later.instance;
    first_check = recheck(&first, NULL);
    assert_int_equal(first_check.compared, 1100003);
    assert_false(first_check.same);
    assert_int_equal(workload_verify(first.instance, count_check, &tally, &err), STATUS_OK);
    for (int i = 0; i < 2; i++) {
        found = recheck(&later, first_check.text);
        assert_true(found.same);
        free(found.text);
    }

    /* A window that wrote nothing does not pass by the output that the earlier check saw. */
    instance->base.unchecked = 100;
    found = recheck(&later, first_check.text);
    assert_false(found.same);
    free(found.text);
    assert_int_equal(workload_verify(later.instance, count_check, &tally, &err),
                     STATUS_CHECK_FAILED);

    /* One element, and two signs at the same place of two rows of the checksum. */
    for (int i = 0; i < 2; i++) {
        float pair[2];

        assert_int_equal(later.workload.kind->iterate(later.instance, &err), STATUS_OK);
        for (int k = 0; k < 2; k++) {
            const uint64_t at = 64 * (uint64_t)k;

            assert_int_equal(
                device_download(instance->arrays[2], at, &pair[k], sizeof(pair[k]), &err),
                STATUS_OK);
            value = i == 0 ? pair[k] + 0.5f : -pair[k];
            if (i == 1 || k == 0)
                assert_int_equal(
                    device_upload(instance->arrays[2], at, &value, sizeof(value), &err), STATUS_OK);
        }
        found = recheck(&later, first_check.text);
        assert_false(found.same);
        free(found.text);
        assert_int_equal(workload_verify(later.instance, count_check, &tally, &err),
                         STATUS_CHECK_FAILED);
        instance->base.unchecked = 0;
    }
    free(first_check.text);
    stop(&later);
    stop(&first);

    start(&first, "adamw", "elements: 1003", 1, PRECISION_FP32);
    found = recheck(&first, NULL);
    assert_null(found.text); /* its state continues: always verified */
    stop(&first);
}

TEST(facts)
{
    struct running running;
    struct module_artifact artifact = {0};
    json_t *facts;

    start(&running, "triad", "elements: 1003", 1, PRECISION_FP32);
    facts = running.workload.kind->facts(running.instance);
    assert_non_null(facts);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(facts, "lanes"), "triad")),
                     1);
    assert_true(json_integer_value(json_object_get(json_object_get(facts, "groups"), "triad")) > 0);
    assert_int_equal(json_integer_value(json_object_get(facts, "working_set_bytes")), 12036);
    assert_non_null(json_object_get(facts, "last_level_cache_bytes"));
    /* 12 KB fit in any last-level cache that is reported. */
    if (json_is_null(json_object_get(facts, "last_level_cache_bytes")))
        assert_string_equal(json_string_value(json_object_get(facts, "fits_in_cache")), "unknown");
    else
        assert_true(json_is_true(json_object_get(facts, "fits_in_cache")));
    assert_true(json_array_size(json_object_get(facts, "candidates")) >= 1);
    json_decref(facts);
    assert_int_equal(running.workload.kind->artifacts(running.instance, &artifact, 1), 1);
    assert_int_equal(artifact.lanes, 1);
    assert_string_equal(artifact.file, "workloads/kernels/memory_stream.h");
    module_artifact_finish(&artifact);
    stop(&running);
}

/* A given choice is used and nothing is measured; an invalid choice is refused. */
TEST(choices)
{
    static const char *const others[] = {"{}", "{\"lanes\": 1}", "{\"lanes\": 1, \"groups\": 0}",
                                         "{\"lanes\": 2, \"groups\": 3}", "[]"};
    struct running running;
    struct workload_instance *instance;
    struct tally tally = {0};
    struct error err = ERROR_INIT;
    json_t *given = json_pack("{s:i, s:i}", "lanes", 1, "groups", 3), *first_check, *facts;

    start(&running, "gelu", "elements: 100003", 1, PRECISION_FP32);
    running.work.choices = given;
    assert_int_equal(workload_instance_create(&running.work, device, &instance, &err), STATUS_OK);
    first_check = running.workload.kind->choices(instance);
    assert_true(json_equal(given, first_check));
    facts = running.workload.kind->facts(instance);
    assert_null(json_object_get(facts, "candidates"));
    assert_int_equal(workload_verify(instance, count_check, &tally, &err), STATUS_OK);
    workload_instance_destroy(instance);
    json_decref(facts);
    json_decref(first_check);
    json_decref(given);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); ++i) {
        given = json_loads(others[i], 0, NULL);
        running.work.choices = given;
        assert_int_equal(workload_instance_create(&running.work, device, &instance, &err),
                         STATUS_INVALID);
        json_decref(given);
    }
    stop(&running);
}

TEST(unsupported)
{
    struct running running;
    struct workload_instance *instance;
    struct error err = ERROR_INIT;

    start(&running, "adamw", "elements: 100", 1, PRECISION_FP32);
    running.work.precision = PRECISION_BF16;
    assert_int_equal(workload_instance_create(&running.work, device, &instance, &err),
                     STATUS_UNSUPPORTED);
    running.work.precision = PRECISION_FP32;
    running.work.implementation = IMPLEMENTATION_VENDOR;
    assert_int_equal(workload_instance_create(&running.work, device, &instance, &err),
                     STATUS_UNSUPPORTED);
    stop(&running);
}

int main(void)
{
    int failed;

    device = model_fixture_open();
    if (device == NULL)
        return 77;
    failed = unit_run(NULL, NULL);
    model_fixture_close(device);
    return failed;
}

#include "gemm_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"

char *fixture_declaration(const char *kind, const char *precisions, const char *more,
                          const char *section)
{
    return text_format("workload: mine\nversion: 1\nkind: %s\ndescription: d\n"
                       "precisions: [%s]\n%s%s:\n  %s\n",
                       kind, precisions, more, kind, section);
}

void gemm_mistakes_check(const char *kind, const struct gemm_mistake *mistakes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct workload workload;
        struct error err = ERROR_INIT;
        char *yaml = fixture_declaration(kind, mistakes[i].precisions, mistakes[i].more,
                                         mistakes[i].section);

        if (workload_parse("mine.yaml", yaml, strlen(yaml), &workload, &err) != STATUS_INVALID)
            fail_msg("taken: %s", yaml);
        if (!strstr(err.message, mistakes[i].message))
            fail_msg("%s\nlacks: %s", err.message, mistakes[i].message);
        free(yaml);
    }
}

enum status gemm_try_start(struct gemm_running *running, struct device *device,
                           const struct gemm_plan *plan, struct error *err)
{
    char *yaml =
        fixture_declaration(plan->kind, precision_name(plan->precision), "", plan->section);

    if (workload_parse("mine.yaml", yaml, strlen(yaml), &running->workload, err) != STATUS_OK)
        fail_msg("%s", err->message);
    free(yaml);
    running->work = (struct workload_case){.workload = &running->workload,
                                           .precision = plan->precision,
                                           .batch = plan->batch ? plan->batch : 1,
                                           .scenario = SCENARIO_OFFLINE,
                                           .implementation = plan->implementation,
                                           .seed = 99,
                                           .choices = plan->choices,
                                           .emulate = plan->emulate};
    running->instance = NULL;
    return workload_instance_create(&running->work, device, &running->instance, err);
}

void gemm_start(struct gemm_running *running, struct device *device, const struct gemm_plan *plan)
{
    struct error err = ERROR_INIT;

    if (gemm_try_start(running, device, plan, &err) != STATUS_OK)
        fail_msg("%s: %s", precision_name(plan->precision), err.message);
}

void gemm_stop(struct gemm_running *running)
{
    workload_instance_destroy(running->instance);
    workload_finish(&running->workload);
}

struct tally {
    size_t reported, failed;
};

static void count_check(void *context, const struct workload_check *check)
{
    struct tally *tally = context;

    tally->reported++;
    tally->failed += !check->passed;
    assert_int_equal(check->passed, check->error <= check->tolerance);
    assert_true(check->compared > 0);
    assert_non_null(check->reason);
}

static void assert_passed(enum status status, const struct tally *tally, size_t checks,
                          const struct error *err)
{
    if (status != STATUS_OK)
        fail_msg("%s", err->message);
    assert_int_equal(tally->reported, checks);
    assert_int_equal(tally->failed, 0);
}

static void assert_failed(enum status status, const struct tally *tally, size_t checks,
                          const char *words, const struct error *err)
{
    if (status != STATUS_CHECK_FAILED)
        fail_msg("passed, or %s: wanted: %s", err->message, words);
    if (!strstr(err->message, words))
        fail_msg("%s\nlacks: %s", err->message, words);
    assert_int_equal(tally->reported, checks);
    assert_int_equal(tally->failed >= 1, checks > 0);
}

static enum status verify(struct gemm_running *running, struct tally *tally, struct error *err)
{
    return workload_verify(running->instance, count_check, tally, err);
}

void gemm_verify_ok(struct gemm_running *running, size_t checks)
{
    struct tally tally = {0};
    struct error err = ERROR_INIT;

    assert_passed(verify(running, &tally, &err), &tally, checks, &err);
}

void gemm_verify_fails(struct gemm_running *running, size_t checks, const char *words)
{
    struct tally tally = {0};
    struct error err = ERROR_INIT;

    assert_failed(verify(running, &tally, &err), &tally, checks, words, &err);
}

static enum status spot_check(struct gemm_running *running, uint64_t secret, struct tally *tally,
                              struct error *err)
{
    return workload_spot_check(running->instance, secret, count_check, tally, err);
}

void gemm_spot_check_ok(struct gemm_running *running, uint64_t secret, size_t checks)
{
    struct tally tally = {0};
    struct error err = ERROR_INIT;

    assert_passed(spot_check(running, secret, &tally, &err), &tally, checks, &err);
}

void gemm_spot_check_fails(struct gemm_running *running, uint64_t secret, size_t checks,
                           const char *words)
{
    struct tally tally = {0};
    struct error err = ERROR_INIT;

    assert_failed(spot_check(running, secret, &tally, &err), &tally, checks, words, &err);
}

void gemm_refused(struct device *device, const struct gemm_plan *plan, const char *words)
{
    struct gemm_running running;
    struct error err = ERROR_INIT;

    assert_int_equal(gemm_try_start(&running, device, plan, &err), STATUS_UNSUPPORTED);
    if (!strstr(err.message, words))
        fail_msg("%s\nlacks: %s", err.message, words);
    assert_null(strchr(err.message, '\n'));
    gemm_stop(&running);
}

bool gemm_has_f64(const struct device *device)
{
    const struct reading *reading = reading_find(&device->info.readings, "device.fp64");

    return reading && reading->status == READING_MEASURED;
}

static struct device_ops with_library;
static const struct device_ops *without_library;

struct device_ops *gemm_library_add(struct device *device)
{
    without_library = device->ops;
    with_library = *device->ops;
    device->ops = &with_library;
    return &with_library;
}

void gemm_library_remove(struct device *device)
{
    device->ops = without_library;
}

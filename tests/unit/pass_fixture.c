#include "tests/unit/pass_fixture.h"

#include <stdio.h>
#include <string.h>

struct pass_lies pass_lies;

void pass_fixture_note(void *context, const struct workload_check *check)
{
    (void)context;
    assert_true(check->compared > 0);
}

void pass_fixture_check(struct workload_instance *base)
{
    struct workload_recheck first = {0}, again = {0};

    ASSERT_OK(workload_verify(base, pass_fixture_note, NULL, err));
    ASSERT_OK(workload_recheck(base, NULL, &first, err));
    for (uint64_t secret = 1; secret <= 3; secret++)
        ASSERT_OK(workload_spot_check(base, secret, pass_fixture_note, NULL, err));
    ASSERT_OK(workload_recheck(base, first.text, &again, err));
    assert_true(again.same);
    free(first.text);
    free(again.text);
}

void pass_fixture_each_precision(struct device *device, const char *yaml)
{
    static const enum precision precisions[] = {PRECISION_FP32, PRECISION_BF16, PRECISION_FP16};

    for (size_t p = 0; p < sizeof(precisions) / sizeof(precisions[0]); p++) {
        struct model_running running;

        model_running_start(&running, device, yaml, precisions[p]);
        pass_fixture_check(running.base);
        model_running_stop(&running);
    }
}

void pass_fixture_each_lanes(struct device *device, const char *yaml, enum precision precision,
                             void (*check)(struct workload_instance *base))
{
    uint32_t lanes[8];
    const size_t count = device_lane_candidates(device, lanes, 8);

    for (size_t k = 0; k < count; k++) {
        struct model_running running;
        struct workload_instance *other = NULL;
        struct workload_case work;
        json_t *choices;

        model_running_start(&running, device, yaml, precision);
        choices = running.workload.kind->choices(running.base);
        json_object_set_new(json_object_get(choices, "rows"), "lanes",
                            json_integer((json_int_t)lanes[k]));
        work = running.base->work;
        work.choices = choices;
        ASSERT_OK(workload_instance_create(&work, device, &other, err));
        check(other);
        workload_instance_destroy(other);
        model_running_stop(&running);
        json_decref(choices);
    }
}

void pass_fixture_refuse(struct device *device, const char *yaml, enum status status,
                         const char *words)
{
    struct workload workload;
    struct workload_case work = {.workload = &workload,
                                 .precision = PRECISION_FP32,
                                 .batch = 3,
                                 .implementation = IMPLEMENTATION_PORTABLE};
    struct workload_instance *instance = NULL;
    struct error refusal = ERROR_INIT;

    ASSERT_OK(workload_parse("test.yaml", yaml, strlen(yaml), &workload, err));
    assert_int_equal(workload_instance_create(&work, device, &instance, &refusal), status);
    if (!strstr(refusal.message, words))
        fail_msg("no \"%s\" in: %s", words, refusal.message);
    workload_finish(&workload);
}

enum status pass_lies_launch(struct device *device, const struct kernel_launch *launch,
                             struct error *err)
{
    if ((pass_lies.uncounted && !strcmp(launch->kernel, pass_lies.uncounted)) ||
        pass_lies.launches++ != pass_lies.drop)
        return pass_lies.kept->kernel_launch(device, launch, err);
    snprintf(pass_lies.dropped, sizeof(pass_lies.dropped), "%s", launch->kernel);
    return STATUS_OK;
}

static enum status load(struct device *target, const struct module_source *source,
                        struct module **ret, struct error *err)
{
    struct module_source other = *source;
    const char *place = pass_lies.from ? strstr(source->text, pass_lies.from) : NULL;
    enum status status;
    char *text;

    if (!place)
        return pass_lies.kept->module_load(target, source, ret, err);
    text = text_format("%.*s%s%s", (int)(place - source->text), source->text, pass_lies.to,
                       place + strlen(pass_lies.from));
    assert_non_null(text);
    other.text = text;
    pass_lies.changed = true;
    status = pass_lies.kept->module_load(target, &other, ret, err);
    free(text);
    return status;
}

void pass_lies_begin(struct device *device, uint64_t drop, const char *uncounted)
{
    pass_lies = (struct pass_lies){
        .kept = device->ops, .ops = *device->ops, .drop = drop, .uncounted = uncounted};
    pass_lies.ops.kernel_launch = pass_lies_launch;
    pass_lies.ops.module_load = load;
    device->ops = &pass_lies.ops;
}

void pass_lies_end(struct device *device)
{
    device->ops = pass_lies.kept;
}

void pass_lies_drop_each(struct device *device, struct workload_instance *base, size_t stack,
                         uint64_t least, const char *uncounted,
                         void (*reset)(struct workload_instance *base))
{
    uint64_t count;

    pass_lies_begin(device, UINT64_MAX, uncounted);
    ASSERT_OK(base->kind->iterate(base, err));
    pass_lies_end(device);
    count = pass_lies.launches;
    assert_true(count >= least);
    for (uint64_t k = 0; k < count; k++) {
        struct error failure = ERROR_INIT;
        enum status status;

        if (reset) {
            reset(base);
            ASSERT_OK(workload_spot_check(base, k, pass_fixture_note, NULL, err));
        }
        pass_lies_begin(device, k, uncounted);
        status = workload_spot_check(base, k, pass_fixture_note, NULL, &failure);
        pass_lies_end(device);
        if (status != STATUS_CHECK_FAILED)
            fail_msg("stack %zu: launch %llu, %s, was not missed: %s", stack, (unsigned long long)k,
                     pass_lies.dropped, status_name(status));
    }
}

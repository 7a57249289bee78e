/*
 * Copies and launches on a real device: they verify in every direction and at odd sizes, and a
 * device that leaves some out, copies less or an earlier time's bytes is found.
 */
#include "model_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"
#include "workloads/workload.h"

static struct device *device;

struct running {
    struct workload workload;
    struct workload_case work;
    struct workload_instance *instance;
    size_t failed;
    uint64_t compared;
};

static const char *const transfers[] = {
    "{direction: host_to_device}", "{direction: device_to_host}", "{direction: both}",
    "{direction: device_to_device}", "{direction: both, memory: pinned}"};
#define LAUNCHES NULL /* in place of one of them */

static void note(void *context, const struct workload_check *check)
{
    struct running *running = context;

    running->failed += !check->passed;
    running->compared += check->compared;
    assert_int_equal(check->passed, check->error <= check->tolerance);
    assert_true(running->workload.kind->checks->tolerance(&running->work, check->output,
                                                          check->metric) == check->tolerance);
}

/* False where the device does not have such copies. */
static bool start(struct running *running, const char *transfer, int64_t batch)
{
    struct error err = ERROR_INIT;
    char *yaml = transfer == LAUNCHES
                     ? text_format("workload: mine\nversion: 1\nkind: launch\ndescription: d\n"
                                   "batches: [%lld]\n",
                                   (long long)batch)
                     : text_format("workload: mine\nversion: 1\nkind: transfer\ndescription: d\n"
                                   "batches: [%lld]\ntransfer: %s\n",
                                   (long long)batch, transfer);
    enum status status;

    *running = (struct running){0};
    if (workload_parse("mine.yaml", yaml, strlen(yaml), &running->workload, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    free(yaml);
    running->work = (struct workload_case){
        .workload = &running->workload, .precision = PRECISION_FP32, .batch = batch, .seed = 12345};
    status = workload_instance_create(&running->work, device, &running->instance, &err);
    if (status == STATUS_OK)
        return true;
    workload_finish(&running->workload);
    if (status != STATUS_UNSUPPORTED)
        fail_msg("%s, %lld: %s", transfer, (long long)batch, err.message);
    return false;
}

static void stop(struct running *running)
{
    workload_instance_destroy(running->instance);
    workload_finish(&running->workload);
}

static enum status iterate(struct running *running, int times, struct error *err)
{
    for (int i = 0; i < times; ++i)
        TRY(running->workload.kind->iterate(running->instance, err));
    return device_synchronize(device, err);
}

/* All that a trial does. */
static enum status run(struct running *running, struct error *err)
{
    bool changed;

    TRY(workload_verify(running->instance, note, running, err));
    for (uint64_t secret = 1; secret <= 3; ++secret) {
        TRY(iterate(running, 2, err));
        TRY(workload_spot_check(running->instance, secret, note, running, err));
        TRY(workload_change(running->instance, secret, &changed, err));
        assert_true(changed);
        TRY(iterate(running, 1, err));
        TRY(workload_check_changed(running->instance, secret, note, running, err));
    }
    TRY(iterate(running, 3, err));
    return workload_verify(running->instance, note, running, err);
}

/* The largest has more than one tile, and is changed in pieces. */
TEST(every_direction)
{
    static const int64_t sizes[] = {1, 4, 7, 4097, 4500001};
    size_t ran = 0;

    for (size_t t = 0; t < sizeof(transfers) / sizeof(transfers[0]); ++t)
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); ++s) {
            struct running running;
            struct error err = ERROR_INIT;

            if (!start(&running, transfers[t], sizes[s]))
                continue;
            if (run(&running, &err) != STATUS_OK)
                fail_msg("%s, %lld: %s", transfers[t], (long long)sizes[s], err.message);
            assert_int_equal(running.failed, 0);
            assert_true(running.compared >= 5 * (uint64_t)sizes[s] || sizes[s] > 1 << 20);
            ++ran;
            stop(&running);
        }
    assert_true(ran >= 3 * sizeof(sizes) / sizeof(sizes[0]));
}

TEST(launches)
{
    for (int64_t batch = 1; batch <= 100; batch *= 10) {
        struct running running;
        struct error err = ERROR_INIT;

        assert_true(start(&running, LAUNCHES, batch));
        if (run(&running, &err) != STATUS_OK)
            fail_msg("%lld: %s", (long long)batch, err.message);
        stop(&running);
    }
}

/* ---- a device that cheats ---- */

enum cheat { DROPPED, HALF, STALE, CHEATS };
static const struct device_ops *own;
static enum cheat cheat;
static uint64_t cheated_bytes; /* copies of so many */
/* Bytes of the last upload, and of the last download. */
static unsigned char last_up[4097], last_down[4097];

static void exchange_with(unsigned char *last, unsigned char *bytes, uint64_t count)
{
    for (uint64_t i = 0; i < count; ++i) {
        const unsigned char now = bytes[i];

        bytes[i] = last[i];
        last[i] = now;
    }
}

static enum status cheating_upload(struct device *base, struct buffer *buffer, uint64_t offset,
                                   const void *source, uint64_t bytes, struct error *err)
{
    unsigned char *copy;
    enum status status;

    if (bytes != cheated_bytes)
        return own->upload(base, buffer, offset, source, bytes, err);
    if (cheat == DROPPED)
        return STATUS_OK;
    if (cheat == HALF)
        return own->upload(base, buffer, offset, source, bytes / 2, err);
    copy = malloc(bytes);
    assert_non_null(copy);
    memcpy(copy, source, bytes);
    exchange_with(last_up, copy, bytes);
    status = own->upload(base, buffer, offset, copy, bytes, err);
    free(copy);
    return status;
}

static enum status cheating_download(struct device *base, struct buffer *buffer, uint64_t offset,
                                     void *target, uint64_t bytes, struct error *err)
{
    if (bytes == cheated_bytes && cheat == DROPPED)
        return STATUS_OK;
    TRY(own->download(base, buffer, offset, target,
                      bytes == cheated_bytes && cheat == HALF ? bytes / 2 : bytes, err));
    if (bytes == cheated_bytes && cheat == STALE)
        exchange_with(last_down, target, bytes);
    return STATUS_OK;
}

static enum status cheating_copy(struct device *base, struct buffer *to, struct buffer *from,
                                 uint64_t bytes, struct error *err)
{
    return cheat != HALF ? STATUS_OK : own->copy(base, to, from, bytes / 2, err);
}

static enum status cheating_exchange(struct device *base, const struct device_exchange *both,
                                     struct error *err)
{
    TRY(cheating_upload(base, both->to, 0, both->source, both->bytes, err));
    return own->download(base, both->from, 0, both->target, both->bytes, err);
}

/* From the start, and after an honest check: by the spot check, a changed sample, and at the end.
 */
static void expect_found(const char *transfer, int phase)
{
    struct device_ops ops = *device->ops;
    struct running running;
    struct error err = ERROR_INIT;
    enum status status = STATUS_OK;
    bool changed;

    cheated_bytes = sizeof(last_up);
    memset(last_up, 0, sizeof(last_up));
    memset(last_down, 0, sizeof(last_down));
    if (!start(&running, transfer, 4097))
        return;
    if (phase > 0)
        assert_int_equal(workload_verify(running.instance, note, &running, &err), STATUS_OK);
    own = device->ops;
    ops.upload = cheating_upload;
    ops.download = cheating_download;
    ops.copy = own->copy == NULL ? NULL : cheating_copy;
    ops.exchange = own->exchange == NULL ? NULL : cheating_exchange;
    device->ops = &ops;
    if (phase == 1)
        status = workload_spot_check(running.instance, 7, note, &running, &err);
    else if (phase == 2) {
        assert_int_equal(workload_change(running.instance, 7, &changed, &err), STATUS_OK);
        assert_int_equal(iterate(&running, 1, &err), STATUS_OK);
        status = workload_check_changed(running.instance, 7, note, &running, &err);
    } else {
        assert_int_equal(iterate(&running, 1, &err), STATUS_OK);
        status = workload_verify(running.instance, note, &running, &err);
    }
    device->ops = own;
    if (status != STATUS_CHECK_FAILED || running.failed == 0)
        fail_msg("%s, cheat %d, phase %d goes unnoticed: %s", transfer, (int)cheat, phase,
                 err.message);
    if (strstr(err.message, "bytes are not the source's; byte ") == NULL)
        fail_msg("\"%s\"", err.message);
    stop(&running);
}

TEST(cheats_at_copies)
{
    for (cheat = DROPPED; cheat < CHEATS; ++cheat)
        for (size_t t = 0; t < sizeof(transfers) / sizeof(transfers[0]); ++t)
            for (int phase = 0; phase < 3; ++phase)
                expect_found(transfers[t], phase);
}

static int launch_count, left_out_at;

static enum status cheating_launch(struct device *base, const struct kernel_launch *launch,
                                   struct error *err)
{
    return launch_count++ == left_out_at ? STATUS_OK : own->kernel_launch(base, launch, err);
}

/* One of a thousand launches is left out. */
TEST(cheats_at_launches)
{
    struct device_ops ops = *device->ops;
    struct running running;
    struct error err = ERROR_INIT;

    own = device->ops;
    ops.kernel_launch = cheating_launch;
    for (left_out_at = 0; left_out_at < 1000; left_out_at += 333) {
        assert_true(start(&running, LAUNCHES, 10));
        assert_int_equal(workload_verify(running.instance, note, &running, &err), STATUS_OK);
        launch_count = 0;
        device->ops = &ops;
        assert_int_equal(iterate(&running, 100, &err), STATUS_OK);
        device->ops = own;
        assert_int_equal(workload_verify(running.instance, note, &running, &err),
                         STATUS_CHECK_FAILED);
        assert_non_null(strstr(err.message, ", 1 did not run"));
        stop(&running);
    }
}

/* ---- declarations ---- */

TEST(refused)
{
    model_fixture_refuse("workload: mine\nversion: 1\nkind: transfer\ndescription: d\n"
                         "transfer: {direction: both}\n",
                         "`batches` is missing: the sizes of a copy in bytes");
    model_fixture_refuse("workload: mine\nversion: 1\nkind: transfer\ndescription: d\n"
                         "batches: [4, 1073741825]\ntransfer: {direction: both}\n",
                         "is 1073741825; write a number of bytes up to 1073741824");
    model_fixture_refuse("workload: mine\nversion: 1\nkind: transfer\ndescription: d\n"
                         "batches: [4]\ntransfer: {direction: device_to_device, memory: pinned}\n",
                         "a copy within the device has no host memory; remove `memory`");
    model_fixture_refuse("workload: mine\nversion: 1\nkind: transfer\ndescription: d\n"
                         "batches: [4]\ntransfer: {direction: sideways}\n",
                         "host_to_device");
    model_fixture_refuse("workload: mine\nversion: 1\nkind: launch\ndescription: d\n"
                         "precisions: [bf16]\n",
                         "launch does not run in bf16; write fp32");
    model_fixture_refuse("workload: mine\nversion: 1\nkind: launch\ndescription: d\n"
                         "batches: [0]\n",
                         "write a number of launches from 1 up");
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

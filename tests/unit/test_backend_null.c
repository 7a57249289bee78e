#include "backends/null/null.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backends/null/plan.h"
#include "harness/core/clock.h"
#include "tests/support/unit.h"

TEST(defaults)
{
    struct null_plan plan;

    assert_int_equal(null_plan_parse(NULL, &plan, NULL), STATUS_OK);
    assert_int_equal(plan.launch_ns, 100000);
    assert_true(plan.cv == 0 && plan.delay == 0 && plan.once[0] == '\0');
    assert_false(plan.seeded);
    assert_int_equal(null_plan_parse("", &plan, NULL), STATUS_OK);
}

TEST(parse)
{
    struct null_plan plan;
    struct error err = ERROR_INIT;

    if (null_plan_parse("launch_ns=250us,cv=0.01,phi=-0.3,warmup_ns=2ms,warmup_launches=5,"
                        "drift=0.05,delay=-0.02,step_at=7,step=0.5,process_cv=0.1,seed=0,"
                        "fault=crash@3,fault=oom,once=/tmp/x y",
                        &plan, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_int_equal(plan.launch_ns, 250000);
    assert_int_equal(plan.warmup_ns, 2000000);
    assert_true(plan.cv == 0.01 && plan.phi == -0.3 && plan.delay == -0.02);
    assert_true(plan.warmup_launches == 5 && plan.drift == 0.05 && plan.process_cv == 0.1);
    assert_true(plan.step_at == 7 && plan.step == 0.5 && plan.seeded && plan.seed == 0);
    assert_int_equal(plan.faults[NULL_FAULT_CRASH], 3);
    assert_int_equal(plan.faults[NULL_FAULT_OOM], 1);
    assert_int_equal(plan.faults[NULL_FAULT_HANG], 0);
    assert_string_equal(plan.once, "/tmp/x y");
}

TEST(refused)
{
    static const char *const bad[][2] = {
        {"launch_ns", "key=value"},
        {"lunch_ns=5", "did you mean \"launch_ns\""},
        {"=5", "no key"},
        {"cv=", "number"},
        {"cv=nan", "number"},
        {"cv=-1", "from 0"},
        {"phi=1", "0.999"},
        {"launch_ns=-5", "0 and one hour"},
        {"launch_ns=5x", "nanoseconds"},
        {"launch_ns=2h", "one hour"},
        {"seed=-1", "whole number"},
        {"step_at=1.5", "whole number"},
        {"fault=crush@1", "\"crash\""},
        {"fault=crash@0", "from 1"},
        {"fault=crash@", "from 1"},
        {"fault=", "no fault"},
        {"once=", "path"},
        {"cv=0.1,", "key=value"},
        {",cv=0.1", "key=value"},
        {"warmup_launches=0", "0.001"},
    };
    size_t i;

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct null_plan plan = {.launch_ns = 42};
        struct error err = ERROR_INIT;

        if (null_plan_parse(bad[i][0], &plan, &err) != STATUS_INVALID)
            fail_msg("\"%s\" is accepted", bad[i][0]);
        if (strstr(err.message, bad[i][1]) == NULL || strstr(err.message, "ASSAY_NULL") == NULL)
            fail_msg("\"%s\": expected \"%s\" in \"%s\"", bad[i][0], bad[i][1], err.message);
        assert_int_equal(plan.launch_ns, 42);
    }
}

/* Mean, spread and autocorrelation of the noise are the declared ones. */
TEST(noise)
{
    enum { N = 200000 };
    static double x[N];
    struct null_plan plan;
    struct null_progress progress;
    double mean = 0, variance = 0, covariance = 0;
    int i;

    assert_int_equal(null_plan_parse("launch_ns=1000000,cv=0.02,phi=0.6,seed=7", &plan, NULL),
                     STATUS_OK);
    null_progress_init(&progress, &plan);
    for (i = 0; i < N; i++) {
        x[i] = (double)null_progress_next_ns(&progress);
        mean += x[i] / N;
    }
    for (i = 0; i < N; i++)
        variance += (x[i] - mean) * (x[i] - mean) / N;
    for (i = 1; i < N; i++)
        covariance += (x[i] - mean) * (x[i - 1] - mean) / N;
    /* Five standard errors of each estimate (the series is seeded, so this never changes). */
    assert_true(fabs(mean / 1e6 - 1) < 5 * 0.02 * sqrt(4.0 / N));
    assert_true(fabs(sqrt(variance) / 1e6 / 0.02 - 1) < 5 * sqrt(2.2 / N));
    assert_true(fabs(covariance / variance - 0.6) < 5 * sqrt((1 - 0.36) / N));
}

static int64_t nth(const char *text, int n)
{
    struct null_plan plan;
    struct null_progress progress;
    int64_t ns = -1;

    assert_int_equal(null_plan_parse(text, &plan, NULL), STATUS_OK);
    null_progress_init(&progress, &plan);
    while (n-- > 0)
        ns = null_progress_next_ns(&progress);
    return ns;
}

TEST(shape)
{
    assert_int_equal(nth("launch_ns=1000", 1), 1000);
    assert_int_equal(nth("launch_ns=1000,delay=0.02", 5), 1020);
    assert_int_equal(nth("launch_ns=1000,drift=0.5", 1), 1000);
    assert_int_equal(nth("launch_ns=1000,drift=0.5", 1001), 1500);
    assert_int_equal(nth("launch_ns=1000,step_at=3,step=0.25", 2), 1000);
    assert_int_equal(nth("launch_ns=1000,step_at=3,step=0.25", 3), 1250);
    assert_int_equal(nth("launch_ns=1000,warmup_ns=5000,warmup_launches=2", 1), 6000);
    assert_int_equal(nth("launch_ns=1000,warmup_ns=5000,warmup_launches=2", 3),
                     1000 + llround(5000 * exp(-1)));
    assert_int_equal(nth("launch_ns=1000,drift=-1", 5000), 0);
    assert_int_equal(nth("launch_ns=1000,cv=0.1,seed=3", 9),
                     nth("launch_ns=1000,cv=0.1,seed=3", 9));
    assert_int_not_equal(nth("launch_ns=1000000,cv=0.1,seed=3", 9),
                         nth("launch_ns=1000000,cv=0.1,seed=4", 9));
    assert_int_not_equal(nth("launch_ns=1000000,process_cv=0.1", 1),
                         nth("launch_ns=1000000,process_cv=0.1", 1));
}

static const char text[] = "KERNEL( work , u32 x)\n{\n}\nKERNEL(worker)\n{\n}\n";

/* A small scenario on null:0 under a plan of its own; ends in the first failing status. */
static enum status scenario(const char *plan_text, struct error *err)
{
    struct null_plan plan;
    struct backend backend = {.ops = &null_backend_ops};
    const struct device_options options = {.profile = true};
    const struct module_source source = {.file = "w.h", .text = text, .lanes = 1};
    struct kernel_launch launch = {.kernel = "work", .groups = {1, 1, 1}};
    struct device *device = NULL;
    struct buffer *buffer = NULL;
    struct event *a = NULL, *b = NULL;
    enum status status;
    char in[8] = "payload", out[8];
    int64_t ns = 0;

    /* The plan is checked first, so that a mistake in this test is not taken for a fault. */
    assert_int_equal(null_plan_parse(plan_text, &plan, NULL), STATUS_OK);
    setenv("ASSAY_NULL", plan_text, 1);
    status = backend_device_open(&backend, 0, &options, &device, err);
    if (status == STATUS_OK)
        status = device_buffer_alloc(device, 8, BUFFER_READ_WRITE, &buffer, err);
    if (status == STATUS_OK)
        status = device_upload(buffer, 0, in, 8, err);
    if (status == STATUS_OK)
        status = device_module_load(device, &source, &launch.module, err);
    if (status == STATUS_OK)
        status = device_event_create(device, &a, err);
    if (status == STATUS_OK)
        status = device_event_create(device, &b, err);
    for (int i = 0; status == STATUS_OK && i < 3; i++) {
        status = device_event_record(device, a, err);
        if (status == STATUS_OK)
            status = device_kernel_launch(device, &launch, err);
        if (status == STATUS_OK)
            status = device_event_record(device, b, err);
        if (status == STATUS_OK)
            status = device_synchronize(device, err);
        if (status == STATUS_OK)
            status = device_event_elapsed_ns(device, a, b, &ns, err);
    }
    if (status == STATUS_OK)
        status = device_download(buffer, 0, out, 8, err);
    if (status == STATUS_OK && memcmp(in, out, 8) != 0)
        status = error_set(err, STATUS_CHECK_FAILED, "other bytes came back");
    if (device != NULL) {
        device_event_destroy(device, a);
        device_event_destroy(device, b);
        device_module_unload(device, launch.module);
        device_buffer_free(buffer);
    }
    device_close(device);
    free(backend.state);
    return status;
}

TEST(faults)
{
    static const struct {
        const char *plan;
        enum status status;
    } cases[] = {
        {"launch_ns=1000", STATUS_OK},
        {"launch_ns=1000,fault=open", STATUS_DEVICE},
        {"launch_ns=1000,fault=alloc@1", STATUS_DEVICE},
        {"launch_ns=1000,fault=alloc@2", STATUS_OK},
        {"launch_ns=1000,fault=oom@1", STATUS_DEVICE_MEMORY},
        {"launch_ns=1000,fault=upload@1", STATUS_DEVICE},
        {"launch_ns=1000,fault=download@1", STATUS_DEVICE},
        {"launch_ns=1000,fault=download_corrupt@1", STATUS_CHECK_FAILED},
        {"launch_ns=1000,fault=compile@1", STATUS_COMPILE},
        {"launch_ns=1000,fault=launch@3", STATUS_DEVICE},
        {"launch_ns=1000,fault=launch@4", STATUS_OK},
        {"launch_ns=1000,fault=lost@2", STATUS_DEVICE_LOST},
        {"launch_ns=1000,fault=bad_time@2", STATUS_DEVICE},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = ERROR_INIT;

        if (scenario(cases[i].plan, &err) != cases[i].status)
            fail_msg("%s: expected %s, got %s: %s", cases[i].plan, status_name(cases[i].status),
                     status_name(err.code), err.message);
    }
}

/* Runs the scenario in a child and returns how it ended. */
static int child_end(const char *plan, bool kill_it)
{
    int status = 0;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(scenario(plan, NULL) == STATUS_OK ? 7 : 8);
    if (kill_it) {
        /* Already hanging or not yet: either way only the signal ends it. */
        usleep(100000);
        assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
        kill(pid, SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

TEST(deaths)
{
    int status;

    status = child_end("launch_ns=1000,fault=crash@2", false);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    status = child_end("launch_ns=1000,fault=abort@1", false);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    status = child_end("launch_ns=1000,fault=exit@3", false);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    status = child_end("launch_ns=1000,fault=exit@4", false);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    status = child_end("launch_ns=1000,fault=hang@1", true);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* A fault with `once` happens in the process that removes the file, and in no other. */
TEST(once)
{
    char path[] = "/tmp/assay_null_XXXXXX", plan[128];
    struct error err = ERROR_INIT;
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    snprintf(plan, sizeof(plan), "launch_ns=1000,fault=lost@2,once=%s", path);
    assert_int_equal(scenario(plan, &err), STATUS_DEVICE_LOST);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(scenario(plan, &err), STATUS_OK);
}

/* Memory is counted and freed; null:1 has 1 MiB. */
TEST(memory)
{
    struct backend backend = {.ops = &null_backend_ops};
    struct device *device = NULL;
    struct buffer *half = NULL, *rest = NULL, *more = NULL;
    struct error err = ERROR_INIT;

    unsetenv("ASSAY_NULL");
    assert_int_equal(backend_device_open(&backend, 1, NULL, &device, &err), STATUS_OK);
    assert_int_equal(device->info.memory_bytes, 1 << 20);
    assert_true(device->info.simulated);
    assert_int_equal(device_buffer_alloc(device, 1 << 19, BUFFER_READ_WRITE, &half, &err),
                     STATUS_OK);
    assert_int_equal(device_buffer_alloc(device, (1 << 19) + 1, BUFFER_READ_WRITE, &more, &err),
                     STATUS_DEVICE_MEMORY);
    assert_non_null(strstr(err.message, "524288 of 1048576 are free"));
    assert_int_equal(device_buffer_alloc(device, 1 << 19, BUFFER_READ_WRITE, &rest, &err),
                     STATUS_OK);
    assert_int_equal(device_buffer_alloc(device, 1, BUFFER_READ_WRITE, &more, &err),
                     STATUS_DEVICE_MEMORY);
    device_buffer_free(half);
    device_buffer_free(rest);
    assert_int_equal(device_buffer_alloc(device, 1 << 20, BUFFER_READ_WRITE, &more, &err),
                     STATUS_OK);
    device_buffer_free(more);
    device_close(device);
    free(backend.state);
}

static int64_t processor_ns(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

/* What takes long leaves the processor to others, who would take it from it otherwise. */
TEST(long_launches_sleep)
{
    struct backend backend = {.ops = &null_backend_ops};
    const struct module_source source = {.file = "w.h", .text = text, .lanes = 1};
    struct kernel_launch launch = {.kernel = "work", .groups = {1, 1, 1}};
    struct device *device = NULL;
    struct error err = ERROR_INIT;
    int64_t begin_ns, used_ns;

    setenv("ASSAY_NULL", "launch_ns=20ms", 1);
    assert_int_equal(backend_device_open(&backend, 0, NULL, &device, &err), STATUS_OK);
    assert_int_equal(device_module_load(device, &source, &launch.module, &err), STATUS_OK);
    begin_ns = clock_monotonic_ns();
    used_ns = processor_ns();
    for (int i = 0; i < 5; i++) {
        assert_int_equal(device_kernel_launch(device, &launch, &err), STATUS_OK);
        assert_int_equal(device_synchronize(device, &err), STATUS_OK);
    }
    assert_true(clock_monotonic_ns() - begin_ns >= 5 * 20000000);
    assert_true(processor_ns() - used_ns < 5 * 10000000);
    device_module_unload(device, launch.module);
    device_close(device);
    free(backend.state);
}

/* Never shorter than declared, and names are whole words. */
TEST(launch)
{
    struct backend backend = {.ops = &null_backend_ops};
    const struct module_source source = {.file = "w.h", .text = text, .lanes = 1};
    struct kernel_launch launch = {.kernel = "work", .groups = {1, 1, 1}};
    struct device *device = NULL;
    struct error err = ERROR_INIT;
    int64_t begin_ns;

    setenv("ASSAY_NULL", "launch_ns=300000", 1);
    assert_int_equal(backend_device_open(&backend, 0, NULL, &device, &err), STATUS_OK);
    assert_int_equal(device_module_load(device, &source, &launch.module, &err), STATUS_OK);
    begin_ns = clock_monotonic_ns();
    for (int i = 0; i < 5; i++)
        assert_int_equal(device_kernel_launch(device, &launch, &err), STATUS_OK);
    assert_int_equal(device_synchronize(device, &err), STATUS_OK);
    assert_true(clock_monotonic_ns() - begin_ns >= 5 * 300000);
    launch.kernel = "worker";
    assert_int_equal(device_kernel_launch(device, &launch, &err), STATUS_OK);
    launch.kernel = "wor";
    assert_int_equal(device_kernel_launch(device, &launch, &err), STATUS_NOT_FOUND);
    launch.kernel = "x";
    assert_int_equal(device_kernel_launch(device, &launch, &err), STATUS_NOT_FOUND);
    device_module_unload(device, launch.module);
    device_close(device);
    free(backend.state);
}

TEST(bad_variable)
{
    struct backend backend = {.ops = &null_backend_ops};
    struct error err = ERROR_INIT;

    setenv("ASSAY_NULL", "lanch_ns=5", 1);
    assert_int_equal(backend_probe(&backend, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "lanch_ns"));
    assert_null(backend.state);
}

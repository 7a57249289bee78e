/* The synthetic kind on the null backend: passes without faults, and requested faults are detected.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "workloads/workload.h"

static void note_check(void *context, const struct workload_check *check)
{
    *(struct workload_check *)context = *check;
}

/* Creates, verifies, iterates and verifies again; the plan counts for a whole process. */
static enum status run(const char *plan, struct workload_check *ret_check)
{
    struct backend *backend = backend_find("null");
    struct workload workload;
    struct workload_instance *instance = NULL;
    struct device *device = NULL;
    struct error err = ERROR_INIT;
    enum status status;

    setenv("ASSAY_NULL", plan, 1);
    status = backend_probe(backend, &err);
    if (status == STATUS_OK)
        status = backend_device_open(backend, 0, &(struct device_options){0}, &device, &err);
    if (status == STATUS_OK)
        status = workload_find("synthetic", &workload, &err);
    if (status == STATUS_OK) {
        const struct workload_case work = {
            .workload = &workload, .precision = PRECISION_FP32, .batch = 1, .seed = 3};

        status = workload_instance_create(&work, device, &instance, &err);
        for (int i = 0; i < 2 && status == STATUS_OK; ++i) {
            status = workload_verify(instance, note_check, ret_check, &err);
            for (int k = 0; k < 10 && status == STATUS_OK; ++k)
                status = workload.kind->iterate(instance, &err);
        }
        workload_instance_destroy(instance);
        workload_finish(&workload);
    }
    device_close(device);
    return status;
}

/* In a child, since the null backend reads its plan once. */
static void expect(const char *plan, enum status expected, bool passed)
{
    pid_t child = fork();
    int result;

    if (child == 0) {
        struct workload_check check = {0};
        enum status status = run(plan, &check);

        _exit(status == expected && check.passed == passed ? 0 : 1 + (int)status);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    assert_int_equal(WEXITSTATUS(result), 0);
}

TEST(clean)
{
    expect("launch_ns=1us", STATUS_OK, true);
}

TEST(faults)
{
    expect("launch_ns=1us,fault=download_corrupt@2", STATUS_CHECK_FAILED, false);
    expect("launch_ns=1us,fault=launch@5", STATUS_DEVICE, true);
    expect("launch_ns=1us,fault=oom@1", STATUS_DEVICE_MEMORY, false);
    expect("launch_ns=1us,fault=compile@1", STATUS_COMPILE, false);
}

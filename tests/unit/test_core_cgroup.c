#include "harness/core/cgroup.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/support/recorded_machine.h"
#include "tests/support/unit.h"

#define ROOT "/sys/fs/cgroup"

static void assert_limit(const char *name, const char *value, const char *source)
{
    struct reading_list list;
    const struct reading *reading;

    reading_list_init(&list);
    cgroup_read_limits(&list);
    reading = reading_find(&list, name);
    assert_non_null(reading);
    assert_int_equal(reading->status, READING_MEASURED);
    assert_string_equal(reading->text, value);
    assert_string_equal(reading->source, source);
    reading_list_finish(&list);
}

static int64_t throttled(void)
{
    struct reading_list list;
    const struct reading *reading;
    int64_t value = -1;

    reading_list_init(&list);
    cgroup_read_usage(&list);
    reading = reading_find(&list, "cgroup.throttled_periods");
    if (reading && reading->status == READING_MEASURED)
        value = reading->integer;
    reading_list_finish(&list);
    return value;
}

/* A batch system limits the job, and the process runs in a task below it without limits. */
TEST(limits_above)
{
    recorded_machine_use("laptop");
    recorded_machine_write("/proc/self/cgroup", "0::/batch/job_7/step_0/task_0\n");
    recorded_machine_write(ROOT "/batch/job_7/step_0/task_0/cpu.max", "max 100000\n");
    recorded_machine_write(ROOT "/batch/job_7/step_0/task_0/memory.max", "max\n");
    recorded_machine_write(ROOT "/batch/job_7/step_0/task_0/cpu.stat", "nr_throttled 0\n");
    recorded_machine_write(ROOT "/batch/job_7/step_0/cpu.max", "800000 100000\n");
    recorded_machine_write(ROOT "/batch/job_7/step_0/memory.max", "17179869184\n");
    recorded_machine_write(ROOT "/batch/job_7/step_0/cpu.stat", "nr_throttled 1\n");
    recorded_machine_write(ROOT "/batch/job_7/cpu.max", "200000 50000\n");
    recorded_machine_write(ROOT "/batch/job_7/memory.max", "34359738368\n");
    recorded_machine_write(ROOT "/batch/job_7/cpu.stat", "nr_periods 40\nnr_throttled 12\n");
    recorded_machine_write(ROOT "/batch/cpu.max", "max 100000\n");
    recorded_machine_write(ROOT "/batch/memory.max", "max\n");
    assert_limit("cgroup.cpu_max", "200000 50000", ROOT "/batch/job_7/cpu.max");
    assert_limit("cgroup.memory_max", "17179869184", ROOT "/batch/job_7/step_0/memory.max");
    assert_int_equal(throttled(), 12);
    /* Without a limit anywhere: of its own group. */
    recorded_machine_write(ROOT "/batch/job_7/step_0/cpu.max", "max 100000\n");
    recorded_machine_write(ROOT "/batch/job_7/cpu.max", "max 100000\n");
    assert_limit("cgroup.cpu_max", "max 100000", ROOT "/batch/job_7/step_0/task_0/cpu.max");
    assert_int_equal(throttled(), 0);
    recorded_machine_remove();
}

/* A session's groups have no processor controller, the user's slice above them has. */
TEST(no_controller_below)
{
    recorded_machine_use("laptop");
    recorded_machine_write("/proc/self/cgroup", "0::/user.slice/user-1000.slice/app/x.scope\n");
    recorded_machine_write(ROOT "/user.slice/user-1000.slice/app/x.scope/cgroup.procs", "1\n");
    recorded_machine_write(ROOT "/user.slice/user-1000.slice/cpu.max", "50000 100000\n");
    assert_limit("cgroup.cpu_max", "50000 100000", ROOT "/user.slice/user-1000.slice/cpu.max");
    recorded_machine_remove();
}

TEST(version_1)
{
    recorded_machine_use("cloud_guest");
    recorded_machine_write("/proc/self/cgroup", "4:memory:/guest/job\n2:cpu,cpuacct:/guest/job\n");
    recorded_machine_write(ROOT "/cpu/guest/cpu.cfs_quota_us", "150000\n");
    recorded_machine_write(ROOT "/cpu/guest/job/cpu.cfs_quota_us", "-1\n");
    recorded_machine_write(ROOT "/cpu/guest/job/cpu.cfs_period_us", "100000\n");
    recorded_machine_write(ROOT "/memory/guest/job/memory.limit_in_bytes", "9223372036854771712\n");
    recorded_machine_write(ROOT "/memory/guest/memory.limit_in_bytes", "1073741824\n");
    assert_limit("cgroup.cpu_max", "150000 100000", ROOT "/cpu/guest/cpu.cfs_quota_us");
    assert_limit("cgroup.memory_max", "1073741824", ROOT "/memory/guest/memory.limit_in_bytes");
    assert_int_equal(throttled(), 30);
    recorded_machine_write(ROOT "/memory/guest/memory.limit_in_bytes", "9223372036854771712\n");
    assert_limit("cgroup.memory_max", "max", ROOT "/memory/guest/job/memory.limit_in_bytes");
    recorded_machine_remove();
}

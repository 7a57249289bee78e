#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/runner/telemetry_host.h"
#include "tests/support/recorded_machine.h"
#include "tests/support/unit.h"

#define CHANNELS 128

static struct telemetry *open_host(void)
{
    struct telemetry *telemetry = NULL;
    struct error err = ERROR_INIT;

    assert_int_equal(telemetry_host_open(0, &telemetry, &err), STATUS_OK);
    assert_true(telemetry->channel_count < CHANNELS);
    return telemetry;
}

static const struct telemetry_channel *find(const struct telemetry *telemetry, const char *name,
                                            size_t *ret)
{
    for (size_t i = 0; i < telemetry->channel_count; i++) {
        if (!strcmp(telemetry->channels[i].name, name)) {
            *ret = i;
            return &telemetry->channels[i];
        }
    }
    fail_msg("there is no channel %s", name);
    return NULL;
}

static int64_t value_of(struct telemetry *telemetry, const char *name)
{
    int64_t values[CHANNELS];
    size_t at = 0;

    find(telemetry, name, &at);
    assert_int_equal(telemetry_read(telemetry, values, NULL), STATUS_OK);
    return values[at];
}

TEST(server)
{
    const struct telemetry_channel *package;
    struct telemetry *host;
    size_t at;

    recorded_machine_use("tuned_server");
    host = open_host();
    package = find(host, "rapl_0_package-0_energy_uj", &at);
    assert_int_equal(package->kind, TELEMETRY_COUNTER);
    assert_true(package->wraps_at == UINT64_C(262143328850));
    assert_int_equal(value_of(host, "rapl_0_package-0_energy_uj"), 123456789);
    assert_int_equal(value_of(host, "rapl_0.0_dram_energy_uj"), 5000);
    assert_int_equal(value_of(host, "rapl_1_package-1_energy_uj"), 99);
    assert_int_equal(value_of(host, "cpu3_clock_khz"), 2000003);
    assert_int_equal(value_of(host, "hwmon0_coretemp.package_id_0_mc"), 41000);
    assert_int_equal(value_of(host, "hwmon1_power_meter.power1_mw"), 312000);
    assert_int_equal(value_of(host, "cpu_stall_us"), 1200);
    /* A 0 is a value. */
    assert_int_equal(value_of(host, "cgroup_throttled_us"), 0);
    assert_int_equal(value_of(host, "cpu_steal_ms"), 0);
    /* user 4000, nice 20, system 300, irq 5, softirq 6; idle and iowait do not count. */
    assert_int_equal(value_of(host, "cpu_busy_ms"), 4331 * 1000 / sysconf(_SC_CLK_TCK));
    /* Each reading is fresh. */
    recorded_machine_write("/sys/class/powercap/intel-rapl:1/energy_uj", "150\n");
    assert_int_equal(value_of(host, "rapl_1_package-1_energy_uj"), 150);
    recorded_machine_write("/sys/class/powercap/intel-rapl:1/energy_uj", "nonsense\n");
    assert_true(value_of(host, "rapl_1_package-1_energy_uj") == TELEMETRY_MISSING);
    telemetry_close(host);
    recorded_machine_remove();
}

/* Version 1 of cgroups counts nanoseconds, and each controller has a folder of its own. */
TEST(guest)
{
    struct telemetry *host;
    size_t at;

    recorded_machine_use("cloud_guest");
    host = open_host();
    assert_int_equal(value_of(host, "cgroup_throttled_us"), 7000);
    assert_int_equal(value_of(host, "cgroup_throttled_periods"), 30);
    assert_int_equal(value_of(host, "cpu_steal_ms"), 4000 * 1000 / sysconf(_SC_CLK_TCK));
    assert_true(strstr(find(host, "rapl_0_package-0_energy_uj", &at)->reason, "virtual machine"));
    assert_true(value_of(host, "rapl_0_package-0_energy_uj") == TELEMETRY_MISSING);
    assert_true(value_of(host, "cpu0_clock_khz") == TELEMETRY_MISSING);
    assert_true(strstr(find(host, "cpu_stall_us", &at)->reason, "pressure"));
    telemetry_close(host);
    recorded_machine_remove();
}

/* A counter that only root may read says so, and is not 0. */
TEST(denied)
{
    struct telemetry *host;
    size_t at;

    recorded_machine_use("tuned_server");
    assert_int_equal(chmod(recorded_machine_path("/sys/class/powercap/intel-rapl:0/energy_uj"), 0),
                     0);
    /* Whoever is not root reads the rest, but perhaps not the folder of the sources. */
    assert_int_equal(chmod(recorded_machine_path("/"), 0755), 0);
    if (geteuid() == 0 && (setegid(65534) < 0 || seteuid(65534) < 0))
        skip();
    host = open_host();
    assert_true(strstr(find(host, "rapl_0_package-0_energy_uj", &at)->reason, "permission"));
    assert_true(value_of(host, "rapl_0_package-0_energy_uj") == TELEMETRY_MISSING);
    telemetry_close(host);
    if (getuid() == 0 && (seteuid(0) < 0 || setegid(0) < 0))
        fail();
    recorded_machine_remove();
}

/* 128 cores in a package, numbers of processors with a hole, a pod's group: nothing is lost. */
TEST(large_server)
{
    static const char group[] =
        "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0d8f1c1e_7a1b_4c37_9d57_"
        "3c6f4a5b9e21.slice/cri-containerd-6c1f6b8f0c7d4e2a9b3d5f7081a2b3c4.scope";
    char path[512], text[512];
    struct telemetry *host;
    size_t at;

    recorded_machine_use("tuned_server");
    for (int chip = 2; chip < 6; chip++) {
        snprintf(path, sizeof(path), "/sys/class/hwmon/hwmon%d/name", chip);
        recorded_machine_write(path, "coretemp\n");
        for (int i = 1; i <= 128; i++) {
            snprintf(path, sizeof(path), "/sys/class/hwmon/hwmon%d/temp%d_input", chip, i);
            snprintf(text, sizeof(text), "%d\n", 1000 * i);
            recorded_machine_write(path, text);
            snprintf(path, sizeof(path), "/sys/class/hwmon/hwmon%d/temp%d_label", chip, i);
            snprintf(text, sizeof(text), i == 1 ? "Package id 0\n" : "Core %d\n", i / 2);
            recorded_machine_write(path, text);
        }
    }
    recorded_machine_write("/sys/class/hwmon/hwmon9/name", "power_meter\n");
    recorded_machine_write("/sys/class/hwmon/hwmon9/power1_average", "5000000\n");
    recorded_machine_write("/sys/devices/system/cpu/cpu100/cpufreq/scaling_cur_freq", "1500000\n");
    snprintf(path, sizeof(path), "%s",
             recorded_machine_path("/sys/devices/system/cpu/cpu1/cpufreq"));
    assert_int_equal(rename(path, recorded_machine_path("/sys/devices/system/cpu/cpu1/was")), 0);
    snprintf(text, sizeof(text), "0::%s\n", group);
    recorded_machine_write("/proc/self/cgroup", text);
    snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.stat", group);
    recorded_machine_write(path, "usage_usec 1\nnr_periods 9\nnr_throttled 4\nthrottled_usec 77\n");
    host = open_host();
    assert_int_equal(value_of(host, "rapl_1_package-1_energy_uj"), 99);
    assert_int_equal(value_of(host, "hwmon2_coretemp.package_id_0_mc"), 1000);
    assert_int_equal(value_of(host, "hwmon2_coretemp.core_1_mc"), 2000);
    assert_int_equal(value_of(host, "hwmon2_coretemp.temp3_mc"), 3000); /* its label is taken */
    assert_int_equal(value_of(host, "hwmon9_power_meter.power1_mw"), 5000);
    assert_int_equal(value_of(host, "cpu3_clock_khz"), 2000003);
    assert_int_equal(value_of(host, "cpu100_clock_khz"), 1500000);
    assert_int_equal(value_of(host, "cgroup_throttled_us"), 77);
    assert_true(strstr(find(host, "cgroup_throttled_us", &at)->source, ".scope/cpu.stat"));
    for (size_t i = 0; i < host->channel_count; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(host->channels[i].name, host->channels[k].name);
    telemetry_close(host);
    recorded_machine_remove();
}

#include "tests/support/synthetic_context.h"

#include <string.h>

#include "harness/core/reading.h"

enum status synthetic_put_device(struct store *store, const struct synthetic_options *options,
                                 int64_t *ret, struct error *err)
{
    struct reading_list list;
    struct store_device device = {
        .backend = "opencl",
        .name = options->device_name ? options->device_name : "cpu-haswell-Example Processor 9000",
        .vendor = "Example Corp.",
        .type = "cpu",
        .simulated = options->simulated,
    };
    enum status status;

    reading_list_init(&list);
    reading_add_text(&list, "device.driver_version", "3.1+debian", "clGetDeviceInfo");
    reading_add_text(&list, "device.version",
                     "OpenCL 3.0 PoCL HSTR: cpu-x86_64-pc-linux-gnu-haswell", "clGetDeviceInfo");
    reading_add_text(&list, "device.platform.version",
                     "OpenCL 3.0 PoCL 3.1+debian, Linux, LLVM 14.0.6", "clGetPlatformInfo");
    reading_add_integer(&list, "device.compute_units", 2, NULL, "clGetDeviceInfo");
    reading_add_integer(&list, "device.clock_max", 2450000000, "hz", "clGetDeviceInfo");
    reading_add_integer(&list, "device.cache", 33554432, "bytes", "clGetDeviceInfo");
    reading_add_missing(&list, "device.uuid", READING_UNAVAILABLE, "clGetDeviceInfo",
                        "the platform has no cl_khr_device_uuid");
    reading_add_missing(&list, "device.memory_ecc", READING_NOT_APPLICABLE, "clGetDeviceInfo",
                        "a CPU device shares the host's memory");
    device.readings = reading_list_to_json(&list);
    status = store_put_device(store, &device, ret, err);
    json_decref((json_t *)device.readings);
    reading_list_finish(&list);
    return status;
}

static enum status add_readings(struct store *store, int64_t trial, const char *at,
                                struct reading_list *list, struct error *err)
{
    json_t *json = reading_list_to_json(list);
    enum status status = store_add_environment(store, trial, at, json, err);

    json_decref(json);
    reading_list_finish(list);
    return status;
}

enum status synthetic_add_host(struct store *store, int64_t trial, struct error *err)
{
    struct reading_list list;

    reading_list_init(&list);
    reading_add_text(&list, "host.cpu.model", "Example Processor 9000 (2.45 GHz)", "/proc/cpuinfo");
    reading_add_integer(&list, "host.cpu.usable", 2, NULL, "sched_getaffinity");
    reading_add_integer(&list, "host.memory.total", 16777216000, "bytes", "/proc/meminfo");
    reading_add_text(&list, "host.kernel.release", "6.1.0-18-amd64", "uname");
    reading_add_text(&list, "host.os", "Debian GNU/Linux 12 (bookworm)", "/etc/os-release");
    reading_add_missing(&list, "host.cpu.governor", READING_UNAVAILABLE,
                        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
                        "the kernel shows no frequency control (a virtual machine hides it)");
    reading_add_text(&list, "host.virtualised", "yes", "/proc/cpuinfo");
    reading_add_text(&list, "cgroup.cpu_max", "max 100000", "cpu.max");
    reading_add_missing(&list, "host.cpu.microcode", READING_DENIED, "/dev/cpu/0/msr",
                        "permission denied");
    reading_add_text(&list, "variable.OMP_NUM_THREADS", "2", "environ");
    return add_readings(store, trial, "host", &list, err);
}

enum status synthetic_add_load(struct store *store, int64_t trial, const char *at,
                               struct random *random, struct error *err)
{
    struct reading_list list;

    reading_list_init(&list);
    reading_add_real(&list, "load.average_1min", 0.4 + random_next_unit(random), NULL,
                     "getloadavg");
    reading_add_integer(&list, "load.memory_available",
                        9000000000 + (int64_t)random_next_below(random, 400000000), "bytes",
                        "/proc/meminfo");
    reading_add_missing(&list, "load.temperature", READING_UNAVAILABLE, "/sys/class/thermal",
                        "there is no sensor");
    return add_readings(store, trial, at, &list, err);
}

enum status synthetic_add_components(struct store *store, const struct synthetic_options *options,
                                     int64_t trial, const char *at, bool changed, struct error *err)
{
    static const struct {
        const char *path, *kind, *version;
        uint64_t size;
    } files[] = {
        {"/usr/bin/assay", "executable", "0.1.0", 1846272},
        {"/usr/lib/x86_64-linux-gnu/libOpenCL.so.1.0.0", "icd", "1.0.0", 51488},
        {"/usr/lib/x86_64-linux-gnu/libpocl.so.2.10.0", "library", "2.10.0", 1325664},
        {"/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", "library", "14.0.6", 117448152},
        {"/usr/lib/x86_64-linux-gnu/libc.so.6", "library", "2.36", 1926256},
        {"/usr/lib/x86_64-linux-gnu/libm.so.6", "library", NULL, 907784},
        {"/root/.cache/pocl/kcache/tempfile_Yx3.so", "library", NULL, 16384},
    };

    for (size_t i = 0; i <= sizeof(files) / sizeof(files[0]); ++i) {
        struct store_component component = {0};
        const char *build_id = "5c4ef9f1b8d3bd31e2a0c9b6a7d8e9f001122334";

        if (i < sizeof(files) / sizeof(files[0])) {
            component.path = files[i].path;
            component.kind = files[i].kind;
            component.version = files[i].version;
            component.size = files[i].size;
        } else if (options->library) {
            component.path = options->library;
            component.kind = "library";
            component.size = 12;
        } else {
            break;
        }
        component.sha256 = digest_bytes(component.path, strlen(component.path));
        if (changed && i == 2)
            component.sha256 = digest_bytes("upgraded", 8);
        if (i == 6) {
            component.sha256 = (struct digest){{0}};
            component.missing_reason = "deleted while it was mapped";
        } else {
            component.build_id = build_id;
        }
        TRY(store_add_components(store, trial, at, &component, 1, err));
    }
    return STATUS_OK;
}

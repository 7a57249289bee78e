#include "backends/cpu/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/cpu/threads.h"
#include "harness/core/cgroup.h"
#include "harness/core/file.h"
#include "harness/core/processor.h"

#define PROC_MAX ((size_t)64 << 20)

/* "MemTotal:  123 kB" in bytes; 0 when it cannot be read. */
static uint64_t memory_line(const char *key)
{
    char *text = NULL, *value = NULL;
    uint64_t kib = 0;

    if (file_read("/proc/meminfo", PROC_MAX, &text, NULL, NULL) == STATUS_OK)
        value = processor_line(text, key);
    if (value != NULL)
        kib = strtoull(value, NULL, 10);
    free(value);
    free(text);
    return kib * 1024;
}

/* The cgroup's limit in bytes; 0: none. */
static uint64_t memory_limit(void)
{
    struct reading_list list;
    const struct reading *reading;
    uint64_t limit = 0;

    reading_list_init(&list);
    cgroup_read_limits(&list);
    reading = reading_find(&list, "cgroup.memory_max");
    if (reading == NULL || reading->status != READING_MEASURED ||
        !text_parse_u64(reading->text, &limit))
        limit = 0;
    reading_list_finish(&list);
    return limit;
}

uint64_t cpu_memory_available(void)
{
    return memory_line("MemAvailable");
}

static void add_text(struct reading_list *list, const char *name, const char *value,
                     const char *source)
{
    if (value != NULL && value[0] != '\0')
        reading_add_text(list, name, value, source);
    else
        reading_add_missing(list, name, READING_UNAVAILABLE, source, "it has no such line");
}

static void add_line(struct reading_list *list, const char *name, const char *cpuinfo,
                     const char *key)
{
    char *value = processor_line(cpuinfo, key), source[96];

    snprintf(source, sizeof(source), "/proc/cpuinfo, %s", key);
    add_text(list, name, value, source);
    free(value);
}

/* Which of the instruction sets that matter to GEMMs are here: by the kernel's flag names. */
static void add_instruction_sets(struct reading_list *list, const char *cpuinfo)
{
    static const char *const names[] = {
        "avx",         "avx2",        "fma",      "f16c",     "avx_vnni", "avx512f",  "avx512_bf16",
        "avx512_fp16", "avx512_vnni", "amx_tile", "amx_bf16", "amx_int8", "amx_fp16", "avx10_1",
        "asimd",       "asimddp",     "asimdhp",  "sve",      "sve2",     "bf16",     "i8mm"};
    char *flags = processor_line(cpuinfo, "flags");
    struct text text;

    if (flags == NULL)
        flags = processor_line(cpuinfo, "Features");
    if (flags == NULL) {
        reading_add_missing(list, "device.isa", READING_UNAVAILABLE, "/proc/cpuinfo",
                            "it has no line \"flags\" or \"Features\"");
        return;
    }
    text_init(&text);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        for (const char *at = flags; (at = strstr(at, names[i])) != NULL; at++) {
            const char after = at[strlen(names[i])];

            if ((at == flags || at[-1] == ' ') && (after == ' ' || after == '\0')) {
                text_append_format(&text, "%s%s", text.length > 0 ? " " : "", names[i]);
                break;
            }
        }
    if (!text_ok(&text))
        list->failed = true;
    else
        reading_add_text(list, "device.isa", text.length > 0 ? text.data : "none",
                         "/proc/cpuinfo, flags");
    text_finish(&text);
    free(flags);
}

static char *cache_file(int index, const char *file)
{
    char *path = text_format("/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, file);
    char *line = NULL;

    if (path != NULL)
        file_read_line(path, &line, NULL);
    free(path);
    return line;
}

/* "32768K" in bytes; 0 when it is no size. */
static uint64_t cache_size(const char *text)
{
    char *end;
    uint64_t size = strtoull(text, &end, 10);

    return *end == 'K' ? size << 10 : *end == 'M' ? size << 20 : size;
}

/* device.cache.l1_data and so on, of the first processor; returns the last level's bytes. */
static uint64_t add_caches(struct reading_list *list)
{
    static const char source[] = "/sys/devices/system/cpu/cpu0/cache";
    uint64_t last = 0;
    int highest = 0;

    for (int index = 0; index < 16; index++) {
        char *level = cache_file(index, "level"), *type = cache_file(index, "type");
        char *size = cache_file(index, "size"), *shared = cache_file(index, "shared_cpu_list");

        if (level != NULL && type != NULL && size != NULL && strcmp(type, "Instruction") != 0) {
            const int number = (int)strtol(level, NULL, 10);
            char name[64];

            snprintf(name, sizeof(name), "device.cache.l%d", number);
            reading_add_integer(list, name, (int64_t)cache_size(size), "bytes", source);
            if (shared != NULL) {
                snprintf(name, sizeof(name), "device.cache.l%d.shared_by", number);
                reading_add_text(list, name, shared, source);
            }
            if (number >= highest) {
                highest = number;
                last = cache_size(size);
            }
        }
        free(level);
        free(type);
        free(size);
        free(shared);
    }
    if (highest == 0)
        reading_add_missing(list, "device.cache", READING_UNAVAILABLE, source,
                            "this kernel shows no caches");
    return last;
}

static void add_memory(struct device_info *info)
{
    struct reading_list *list = &info->readings;
    const uint64_t total = memory_line("MemTotal"), limit = memory_limit();
    const bool limited = limit > 0 && (total == 0 || limit < total);
    char *line = NULL;

    info->memory_bytes = limited ? limit : total;
    info->max_allocation_bytes = info->memory_bytes;
    if (info->memory_bytes > 0)
        reading_add_integer(list, "device.memory", (int64_t)info->memory_bytes, "bytes",
                            limited ? "cgroup memory.max" : "/proc/meminfo, MemTotal");
    else
        reading_add_missing(list, "device.memory", READING_UNAVAILABLE, "/proc/meminfo",
                            "it cannot be read");
    if (file_read_line("/sys/kernel/mm/transparent_hugepage/enabled", &line, NULL) == STATUS_OK)
        reading_add_text(list, "device.memory.huge_pages", line,
                         "/sys/kernel/mm/transparent_hugepage/enabled; buffers ask for them");
    else
        reading_add_missing(list, "device.memory.huge_pages", READING_UNAVAILABLE,
                            "/sys/kernel/mm/transparent_hugepage/enabled", "not readable");
    free(line);
}

static void add_stack(const struct cpu_state *state, struct reading_list *list)
{
    /* Said, and not left out: two results whose driver is not known do not compare. */
    reading_add_missing(list, "device.driver_version", READING_NOT_APPLICABLE, "assay",
                        "no driver is between a processor and its compiler's code");
    reading_add_text(list, "device.compiler", state->compiler.identity,
                     "--version, -print-prog-name=cc1, build-ids");
    reading_add_text(list, "device.compiler.options", cpu_compiler_options(&state->compiler),
                     "assay");
    if (state->cache.folder != NULL)
        reading_add_text(list, "device.kernel_cache", state->cache.folder,
                         "XDG_CACHE_HOME or HOME");
    else
        reading_add_missing(list, "device.kernel_cache", READING_UNAVAILABLE,
                            "XDG_CACHE_HOME or HOME", state->cache.reason);
    if (state->has_dnnl)
        reading_add_text(list, "device.gemm", state->dnnl.version, "oneDNN, dnnl_version");
    else
        reading_add_missing(list, "device.gemm", READING_UNAVAILABLE, "libdnnl",
                            state->dnnl_reason);
    reading_add_text(list, "device.fp32", "denormals inf_nan round_nearest fma exact_divide_sqrt",
                     "IEEE 754 by -ffp-contract=off and no -ffast-math");
    reading_add_text(list, "device.fp64", "denormals inf_nan round_nearest fma exact_divide_sqrt",
                     "IEEE 754 by -ffp-contract=off and no -ffast-math");
}

enum status cpu_device_info(struct backend *backend, uint32_t index, struct device_info *ret,
                            struct error *err)
{
    struct device_info info = {.type = DEVICE_CPU, .max_lanes = 1, .unified_memory = true};
    struct reading_list *list = &info.readings;
    char *cpuinfo = NULL;

    (void)index;
    reading_list_init(list);
    if (file_read("/proc/cpuinfo", PROC_MAX, &cpuinfo, NULL, NULL) != STATUS_OK)
        cpuinfo = strdup("");
    if (cpuinfo != NULL) {
        info.name = processor_name(cpuinfo);
        info.vendor = processor_vendor(cpuinfo);
        add_text(list, "device.name", info.name, "/proc/cpuinfo");
        add_text(list, "device.vendor", info.vendor, "/proc/cpuinfo");
        add_line(list, "device.family", cpuinfo, "cpu family");
        add_line(list, "device.model", cpuinfo, "model");
        add_line(list, "device.stepping", cpuinfo, "stepping");
        add_line(list, "device.microcode", cpuinfo, "microcode");
        add_instruction_sets(list, cpuinfo);
    }
    free(cpuinfo);
    info.last_level_cache_bytes = add_caches(list);
    add_memory(&info);
    add_stack(backend->state, list);
    cpu_threads_read(list);
    info.compute_units = cpu_threads_count();
    reading_add_text(list, "device.type", device_type_name(info.type), "the cpu backend");
    if (info.name == NULL)
        info.name = strdup("nameless processor");
    if (info.vendor == NULL)
        info.vendor = strdup("unknown vendor");
    if (info.name == NULL || info.vendor == NULL || list->failed) {
        device_info_finish(&info);
        return error_no_memory(err);
    }
    *ret = info;
    return STATUS_OK;
}

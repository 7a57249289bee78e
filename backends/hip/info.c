#include "backends/hip/internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "backends/hip/kfd.h"
#include "harness/core/text.h"

enum status hip_device_arch(const struct hip_runtime *api, int ordinal, char ret[HIP_ARCH_SIZE],
                            struct error *err)
{
    /* Far more than either layout, should a later one be longer still. */
    union {
        unsigned char bytes[4 * HIP_PROPERTIES_R0600_BYTES];
        max_align_t align;
    } properties;
    const bool newer = api->hipGetDevicePropertiesR0600 != NULL;
    const char *function = newer ? "hipGetDevicePropertiesR0600" : "hipGetDeviceProperties";
    unsigned (*ask)(void *, int) =
        newer ? api->hipGetDevicePropertiesR0600 : api->hipGetDeviceProperties;
    const char *arch;
    size_t length;
    int code;

    if (ask == NULL)
        return error_set(err, STATUS_UNAVAILABLE,
                         "the HIP runtime has neither hipGetDevicePropertiesR0600 nor "
                         "hipGetDeviceProperties, so the device's arch is not known");
    memset(&properties, 0, sizeof(properties));
    code = ask(&properties, ordinal);
    if (code != HIP_Success)
        return hip_runtime_fail(err, NULL, function, code);
    arch =
        (const char *)properties.bytes + (newer ? HIP_PROPERTIES_R0600_ARCH : HIP_PROPERTIES_ARCH);
    length = strnlen(arch, HIP_ARCH_SIZE);
    if (length < 4 || length == HIP_ARCH_SIZE || strncmp(arch, "gfx", 3) != 0 ||
        strspn(arch, "abcdefghijklmnopqrstuvwxyz0123456789:+-") != length)
        return error_set(err, STATUS_DEVICE, "%s: the gcnArchName that it gave is no arch",
                         function);
    memcpy(ret, arch, length + 1);
    return STATUS_OK;
}

enum status hip_device_pci(const struct hip_runtime *api, int ordinal, char ret[HIP_WORD_MAX],
                           struct error *err)
{
    char id[HIP_WORD_MAX] = "";
    int code = api->hipDeviceGetPCIBusId(id, sizeof(id) - 1, ordinal);

    if (code != HIP_Success || id[0] == '\0')
        return hip_runtime_fail(err, NULL, "hipDeviceGetPCIBusId", code);
    for (size_t i = 0; id[i] != '\0'; i++)
        id[i] = isprint((unsigned char)id[i]) ? (char)tolower((unsigned char)id[i]) : '?';
    memcpy(ret, id, sizeof(id));
    return STATUS_OK;
}

/*
 * ROCm fills the 16 bytes with the 16 hexadecimal digits that its tools show after "GPU-", and with
 * "XX" where the unit has no number. Others' bytes are shown as hexadecimal.
 */
static char *uuid_text(const struct hip_uuid *uuid)
{
    struct text text;
    bool digits = true, any = false;

    for (size_t i = 0; i < HIP_UUID_SIZE; i++) {
        digits = digits && isxdigit((unsigned char)uuid->bytes[i]);
        any = any || (uuid->bytes[i] != 0 && uuid->bytes[i] != 'X');
    }
    if (!any)
        return strdup("");
    text_init(&text);
    text_append(&text, "GPU-");
    for (size_t i = 0; i < HIP_UUID_SIZE; i++)
        if (digits)
            text_append_char(&text, uuid->bytes[i]);
        else
            text_append_format(&text, "%02x", (unsigned char)uuid->bytes[i]);
    return text_steal(&text);
}

static void add_uuid(const struct hip_runtime *api, int ordinal, struct device_info *info)
{
    static const char name[] = "device.uuid", source[] = "hipDeviceGetUuid";
    struct hip_uuid uuid = {{0}};
    struct error error = ERROR_INIT;
    char *text;
    int code;

    if (api->hipDeviceGetUuid == NULL) {
        reading_add_missing(&info->readings, name, READING_UNAVAILABLE, source,
                            "this HIP runtime has no such function");
        return;
    }
    code = api->hipDeviceGetUuid(&uuid, ordinal);
    if (code != HIP_Success) {
        hip_runtime_fail(&error, NULL, source, code);
        reading_add_missing(&info->readings, name, READING_UNAVAILABLE, source, error.message);
        return;
    }
    text = uuid_text(&uuid);
    if (text == NULL)
        info->readings.failed = true;
    else if (text[0] == '\0')
        reading_add_missing(&info->readings, name, READING_UNAVAILABLE, source,
                            "the device has none");
    else
        reading_add_text(&info->readings, name, text, source);
    if (text != NULL && text[0] == '\0') {
        free(text);
        text = NULL;
    }
    info->uuid = text;
}

static const struct {
    const char *name;
    int attribute;
    const char *constant;
    const char *unit;
    int64_t scale;   /* of the vendor's unit to ours */
    bool zero_is_no; /* 0 is no answer */
} questions[] = {
    {"device.compute_units", HIP_ATTRIBUTE_MultiprocessorCount, "MultiprocessorCount", NULL, 1,
     true},
    {"device.lanes_max", HIP_ATTRIBUTE_MaxThreadsPerBlock, "MaxThreadsPerBlock", NULL, 1, true},
    {"device.wavefront", HIP_ATTRIBUTE_WarpSize, "WarpSize", NULL, 1, true},
    {"device.clock_max", HIP_ATTRIBUTE_ClockRate, "ClockRate", "hz", 1000, true},
    {"device.memory_clock_max", HIP_ATTRIBUTE_MemoryClockRate, "MemoryClockRate", "hz", 1000, true},
    {"device.memory_bus", HIP_ATTRIBUTE_MemoryBusWidth, "MemoryBusWidth", "bits", 1, true},
    {"device.cache_l2", HIP_ATTRIBUTE_L2CacheSize, "L2CacheSize", "bytes", 1, true},
    {"device.local_memory", HIP_ATTRIBUTE_MaxSharedMemoryPerBlock, "MaxSharedMemoryPerBlock",
     "bytes", 1, true},
    {"device.registers_per_group", HIP_ATTRIBUTE_MaxRegistersPerBlock, "MaxRegistersPerBlock", NULL,
     1, true},
    {"device.revision", HIP_ATTRIBUTE_AsicRevision, "AsicRevision", NULL, 1, false},
    {"device.memory_unified", HIP_ATTRIBUTE_Integrated, "Integrated", NULL, 1, false},
};

static void add_attributes(const struct hip_runtime *api, int ordinal, struct reading_list *list)
{
    for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
        struct error error = ERROR_INIT;
        char source[96];
        int value = 0;
        int code = api->hipDeviceGetAttribute(&value, questions[i].attribute, ordinal);

        snprintf(source, sizeof(source), "hipDeviceGetAttribute(hipDeviceAttribute%s)",
                 questions[i].constant);
        if (code != HIP_Success) {
            hip_runtime_fail(&error, NULL, "hipDeviceGetAttribute", code);
            reading_add_missing(list, questions[i].name, READING_UNAVAILABLE, source,
                                error.message);
        } else if (value < 0 || (value == 0 && questions[i].zero_is_no)) {
            snprintf(error.message, sizeof(error.message), "the runtime gave %d", value);
            reading_add_missing(list, questions[i].name, READING_UNAVAILABLE, source,
                                error.message);
        } else if (questions[i].attribute == HIP_ATTRIBUTE_Integrated) {
            reading_add_text(list, questions[i].name, value != 0 ? "yes" : "no", source);
        } else {
            reading_add_integer(list, questions[i].name, value * questions[i].scale,
                                questions[i].unit, source);
        }
    }
}

/* What the runtime does not report, or reports wrongly: kfd.h. */
static void add_kernel_readings(const char *pci, struct reading_list *list)
{
    struct error error = ERROR_INIT;
    struct hip_kfd kfd = {.path = "/sys/class/kfd"};
    char source[128];
    const bool found = hip_kfd_find(pci, &kfd, &error) == STATUS_OK;

    snprintf(source, sizeof(source), "%s%s", kfd.path, found ? "/properties" : "");
    if (found)
        reading_add_text(list, "device.memory_ecc", kfd.memory_ecc ? "yes" : "no", source);
    else
        reading_add_missing(list, "device.memory_ecc", READING_UNAVAILABLE, source, error.message);
    snprintf(source, sizeof(source), "%s%s", kfd.path, found ? "/caches" : "");
    if (found && kfd.cache_bytes > 0)
        reading_add_integer(list, "device.cache", (int64_t)kfd.cache_bytes, "bytes", source);
    else
        reading_add_missing(list, "device.cache", READING_UNAVAILABLE, source,
                            found ? "it has no cache beyond the first level" : error.message);
}

static void add_versions(const struct hip_state *state, struct reading_list *list)
{
    struct error error = ERROR_INIT;
    char text[HIP_WORD_MAX];
    int version = 0;
    int code = state->runtime.hipDriverGetVersion(&version);

    if (state->runtime_version[0] != '\0')
        reading_add_text(list, "device.runtime_version", state->runtime_version,
                         "hipRuntimeGetVersion");
    else
        reading_add_missing(list, "device.runtime_version", READING_UNAVAILABLE,
                            "hipRuntimeGetVersion", state->runtime_version_error.message);
    if (state->rtc_open)
        reading_add_text(list, "device.compiler_version", state->rtc_version, "hiprtcVersion");
    /* HIP's "driver version" is the runtime's own; the kernel driver's is reported by telemetry. */
    if (code == HIP_Success && version > 0) {
        snprintf(text, sizeof(text), "HIP %d.%d.%d", version / 10000000, version / 100000 % 100,
                 version % 100000);
        reading_add_text(list, "device.driver_version", text, "hipDriverGetVersion");
    } else {
        hip_runtime_fail(&error, NULL, "hipDriverGetVersion", code);
        reading_add_missing(list, "device.driver_version", READING_UNAVAILABLE,
                            "hipDriverGetVersion", error.message);
    }
}

static uint64_t integer_of(const struct reading_list *list, const char *name)
{
    const struct reading *reading = reading_find(list, name);

    return reading != NULL && reading->status == READING_MEASURED &&
                   reading->type == READING_INTEGER && reading->integer > 0
               ? (uint64_t)reading->integer
               : 0;
}

static bool is_yes(const struct reading_list *list, const char *name)
{
    const struct reading *reading = reading_find(list, name);

    return reading != NULL && reading->status == READING_MEASURED && reading->text != NULL &&
           strcmp(reading->text, "yes") == 0;
}

/* Heap: printable. One that is not reported is no reading. */
static char *device_name(const struct hip_runtime *api, int ordinal, struct reading_list *list)
{
    static const char reading[] = "device.name", source[] = "hipDeviceGetName";
    struct error error = ERROR_INIT;
    char raw[256] = "", *name;
    const int code = api->hipDeviceGetName(raw, sizeof(raw) - 1, ordinal);
    struct text text;

    if (code != HIP_Success || raw[0] == '\0') {
        hip_runtime_fail(&error, NULL, source, code);
        reading_add_missing(list, reading, READING_UNAVAILABLE, source, error.message);
        return code == HIP_Success ? strdup("nameless AMD device")
                                   : text_format("nameless AMD device (%s)", error.message);
    }
    text_init(&text);
    text_append_printable(&text, raw, strnlen(raw, sizeof(raw)));
    name = text_steal(&text);
    if (name != NULL)
        reading_add_text(list, reading, name, source);
    return name;
}

enum status hip_device_info(struct backend *backend, uint32_t index, struct device_info *ret,
                            struct error *err)
{
    const struct hip_state *state = backend->state;
    const struct hip_runtime *api = &state->runtime;
    const int ordinal = (int)index;
    struct device_info info = {.type = DEVICE_GPU};
    struct reading_list *list = &info.readings;
    struct error error = ERROR_INIT;
    char arch[HIP_ARCH_SIZE], pci[HIP_WORD_MAX];
    size_t memory = 0;
    int code;

    reading_list_init(list);
    info.name = device_name(api, ordinal, list);
    info.vendor = strdup("Advanced Micro Devices, Inc.");
    if (hip_device_arch(api, ordinal, arch, &error) == STATUS_OK)
        reading_add_text(list, "device.arch", arch, "hipGetDeviceProperties(gcnArchName)");
    else
        reading_add_missing(list, "device.arch", READING_UNAVAILABLE, "hipGetDeviceProperties",
                            error.message);
    if (hip_device_pci(api, ordinal, pci, &error) == STATUS_OK) {
        reading_add_text(list, "device.pci_address", pci, "hipDeviceGetPCIBusId");
    } else {
        reading_add_missing(list, "device.pci_address", READING_UNAVAILABLE, "hipDeviceGetPCIBusId",
                            error.message);
        pci[0] = '\0';
    }
    add_kernel_readings(pci, list);
    code = api->hipDeviceTotalMem(&memory, ordinal);
    if (code == HIP_Success && memory > 0 && memory <= INT64_MAX) {
        reading_add_integer(list, "device.memory", (int64_t)memory, "bytes", "hipDeviceTotalMem");
    } else {
        hip_runtime_fail(&error, NULL, "hipDeviceTotalMem", code);
        reading_add_missing(list, "device.memory", READING_UNAVAILABLE, "hipDeviceTotalMem",
                            error.message);
    }
    add_uuid(api, ordinal, &info);
    add_attributes(api, ordinal, list);
    add_versions(state, list);
    gpu_add_arithmetic_readings(list, "the instruction set of every arch that HIPRTC compiles for");
    info.simulated = api->assay_simulated != NULL;
    if (info.simulated)
        info.type = DEVICE_SIMULATED;
    info.memory_bytes = integer_of(list, "device.memory");
    info.max_allocation_bytes = info.memory_bytes;
    info.compute_units = (uint32_t)integer_of(list, "device.compute_units");
    info.max_lanes = (uint32_t)integer_of(list, "device.lanes_max");
    info.last_level_cache_bytes = integer_of(list, "device.cache");
    info.unified_memory = is_yes(list, "device.memory_unified");
    reading_add_text(list, "device.type", device_type_name(info.type), "backend hip");
    if (info.name == NULL || info.vendor == NULL || list->failed) {
        device_info_finish(&info);
        return error_no_memory(err);
    }
    *ret = info;
    return STATUS_OK;
}

#include "backends/cuda/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"

enum kind { NUMBER, KILOHERTZ, BOOLEAN, COMPUTE_MODE };

struct question {
    const char *name;
    enum kind kind;
    int attribute;
    const char *constant;
    const char *unit;
};

#define ASK(name, kind, attribute, unit)                                                           \
    {                                                                                              \
        name, kind, CUDA_DEVICE_##attribute, "CU_DEVICE_ATTRIBUTE_" #attribute, unit               \
    }

static const struct question questions[] = {
    ASK("device.compute_units", NUMBER, MULTIPROCESSOR_COUNT, NULL),
    ASK("device.lanes_max", NUMBER, MAX_THREADS_PER_BLOCK, NULL),
    ASK("device.warp_size", NUMBER, WARP_SIZE, NULL),
    ASK("device.clock_max", KILOHERTZ, CLOCK_RATE, "hz"),
    ASK("device.memory_clock_max", KILOHERTZ, MEMORY_CLOCK_RATE, "hz"),
    ASK("device.memory_bus_width", NUMBER, GLOBAL_MEMORY_BUS_WIDTH, "bits"),
    ASK("device.cache", NUMBER, L2_CACHE_SIZE, "bytes"),
    ASK("device.local_memory", NUMBER, MAX_SHARED_MEMORY_PER_BLOCK, "bytes"),
    ASK("device.local_memory_per_unit", NUMBER, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, "bytes"),
    ASK("device.registers_per_unit", NUMBER, MAX_REGISTERS_PER_MULTIPROCESSOR, NULL),
    ASK("device.lanes_per_unit", NUMBER, MAX_THREADS_PER_MULTIPROCESSOR, NULL),
    ASK("device.copy_engines", NUMBER, ASYNC_ENGINE_COUNT, NULL),
    ASK("device.memory_ecc", BOOLEAN, ECC_ENABLED, NULL),
    ASK("device.memory_unified", BOOLEAN, INTEGRATED, NULL),
    ASK("device.kernel_timeout", BOOLEAN, KERNEL_EXEC_TIMEOUT, NULL),
    ASK("device.compute_mode", COMPUTE_MODE, COMPUTE_MODE, NULL),
};

/* False, and a reading that says why, when the driver does not report it. */
static bool answer(const struct cuda_driver_api *api, int device, const struct question *question,
                   struct reading_list *list, int *ret)
{
    static const char *const modes[] = {"default", "exclusive", "prohibited", "exclusive_process"};
    struct error error = ERROR_INIT;
    char source[96];
    int value = 0;
    unsigned code = api->cuDeviceGetAttribute(&value, (unsigned)question->attribute, device);

    snprintf(source, sizeof(source), "cuDeviceGetAttribute(%s)", question->constant);
    if (code != CUDA_DRIVER_SUCCESS || value < 0 || (question->kind == KILOHERTZ && value == 0)) {
        if (code == CUDA_DRIVER_SUCCESS)
            error_set(&error, STATUS_UNAVAILABLE, "the driver gave %d", value);
        else
            cuda_fail(api, &error, NULL, "cuDeviceGetAttribute", code);
        reading_add_missing(list, question->name, READING_UNAVAILABLE, source, error.message);
        return false;
    }
    switch (question->kind) {
    case NUMBER:
        reading_add_integer(list, question->name, value, question->unit, source);
        break;
    case KILOHERTZ:
        reading_add_integer(list, question->name, (int64_t)value * 1000, question->unit, source);
        break;
    case BOOLEAN:
        reading_add_text(list, question->name, value != 0 ? "yes" : "no", source);
        break;
    case COMPUTE_MODE:
        reading_add_text(list, question->name, value < 4 ? modes[value] : "unknown", source);
        break;
    }
    *ret = value;
    return true;
}

enum status cuda_device_arch(const struct cuda_state *state, int device, int *ret,
                             struct error *err)
{
    const struct cuda_driver_api *api = &state->driver;
    int major = 0, minor = 0;
    unsigned code = api->cuDeviceGetAttribute(&major, CUDA_DEVICE_COMPUTE_CAPABILITY_MAJOR, device);

    if (code == CUDA_DRIVER_SUCCESS)
        code = api->cuDeviceGetAttribute(&minor, CUDA_DEVICE_COMPUTE_CAPABILITY_MINOR, device);
    if (code != CUDA_DRIVER_SUCCESS || major < 1 || major > 99 || minor < 0 || minor > 9)
        return cuda_fail(api, err, "compute capability", "cuDeviceGetAttribute", code);
    *ret = major * 10 + minor;
    return STATUS_OK;
}

static char *uuid_text(const char *kind, const struct cuda_uuid *uuid)
{
    struct text text;

    text_init(&text);
    text_append_format(&text, "%s-", kind);
    for (size_t i = 0; i < sizeof(uuid->bytes); i++)
        text_append_format(&text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                           (unsigned char)uuid->bytes[i]);
    return text_steal(&text);
}

/*
 * A slice of MIG has a UUID of its own, not its board's: by NVML, and where NVML does not report
 * whether MIG is on, by the driver's older function. `whole` is the UUID's text, were it a board's.
 */
static bool is_slice(struct cuda_state *state, int device, const char *pci,
                     const struct cuda_uuid *uuid, const char *whole)
{
    const struct nvml_api *nvml = &state->nvml;
    struct nvmlDevice_st *board = NULL;
    struct cuda_uuid other;
    char reported[96] = "";
    unsigned mode = 0, pending = 0;

    if (cuda_nvml_device(state, pci, &board, NULL) == STATUS_OK &&
        nvml->nvmlDeviceGetMigMode != NULL && nvml->nvmlDeviceGetUUID != NULL &&
        nvml->nvmlDeviceGetMigMode(board, &mode, &pending) == NVML_OUR_SUCCESS &&
        nvml->nvmlDeviceGetUUID(board, reported, sizeof(reported) - 1) == NVML_OUR_SUCCESS)
        return mode != 0 && strcmp(reported, whole) != 0;
    return state->driver.cuDeviceGetUuid_old != NULL &&
           state->driver.cuDeviceGetUuid_old(&other, device) == CUDA_DRIVER_SUCCESS &&
           memcmp(&other, uuid, sizeof(other)) != 0;
}

enum status cuda_device_uuid(struct cuda_state *state, int device, const char *pci, char **ret,
                             const char **ret_source, struct error *err)
{
    const struct cuda_driver_api *api = &state->driver;
    struct cuda_uuid uuid = {{0}};
    char *text;
    unsigned code;

    *ret_source = api->cuDeviceGetUuid != NULL || api->cuDeviceGetUuid_old == NULL
                      ? "cuDeviceGetUuid_v2"
                      : "cuDeviceGetUuid";
    if (api->cuDeviceGetUuid != NULL)
        code = api->cuDeviceGetUuid(&uuid, device);
    else if (api->cuDeviceGetUuid_old != NULL)
        code = api->cuDeviceGetUuid_old(&uuid, device);
    else
        return error_set(err, STATUS_UNAVAILABLE, "the driver has no such function");
    if (code != CUDA_DRIVER_SUCCESS)
        return cuda_fail(api, err, NULL, *ret_source, code);
    text = uuid_text("GPU", &uuid);
    if (text != NULL && api->cuDeviceGetUuid != NULL && is_slice(state, device, pci, &uuid, text)) {
        free(text);
        text = uuid_text("MIG", &uuid);
    }
    if (text == NULL)
        return error_no_memory(err);
    *ret = text;
    return STATUS_OK;
}

static char *read_uuid(struct cuda_state *state, int device, const char *pci,
                       struct reading_list *list)
{
    struct error error = ERROR_INIT;
    const char *source = NULL;
    char *text = NULL;

    if (cuda_device_uuid(state, device, pci, &text, &source, &error) == STATUS_OK)
        reading_add_text(list, "device.uuid", text, source);
    else
        reading_add_missing(list, "device.uuid", READING_UNAVAILABLE, source, error.message);
    return text;
}

static char *printable(const char *raw)
{
    struct text text;

    text_init(&text);
    text_append_printable(&text, raw, strlen(raw));
    return text.length > 0 ? text_steal(&text) : strdup("nameless CUDA device");
}

static void add_version(struct reading_list *list, const char *name, int version,
                        const char *source)
{
    char text[32];

    snprintf(text, sizeof(text), "%d.%d", version / 1000, version % 1000 / 10);
    reading_add_text(list, name, text, source);
}

static enum status fill(struct cuda_state *state, int device, struct device_info *info,
                        struct error *err)
{
    const struct cuda_driver_api *api = &state->driver;
    struct reading_list *list = &info->readings;
    char raw[256] = "", pci[CUDA_PCI_SIZE] = "", capability[16];
    size_t memory = 0;
    struct error no_pci = ERROR_INIT;
    bool has_pci;
    int arch = 0;
    unsigned code = api->cuDeviceGetName(raw, sizeof(raw) - 1, device);

    if (code != CUDA_DRIVER_SUCCESS)
        return cuda_fail(api, err, NULL, "cuDeviceGetName", code);
    code = api->cuDeviceTotalMem(&memory, device);
    if (code != CUDA_DRIVER_SUCCESS)
        return cuda_fail(api, err, raw, "cuDeviceTotalMem", code);
    TRY(cuda_device_arch(state, device, &arch, err));
    code = api->cuDeviceGetPCIBusId(pci, sizeof(pci), device);
    has_pci = code == CUDA_DRIVER_SUCCESS;
    if (!has_pci)
        cuda_fail(api, &no_pci, NULL, "cuDeviceGetPCIBusId", code);
    info->name = printable(raw);
    info->vendor = strdup("NVIDIA");
    info->type = DEVICE_GPU;
    info->uuid = read_uuid(state, device, has_pci ? pci : NULL, list);
    reading_add_text(list, "device.name", info->name != NULL ? info->name : "", "cuDeviceGetName");
    reading_add_text(list, "device.vendor", "NVIDIA", "libcuda.so.1");
    if (memory > 0 && memory <= INT64_MAX) {
        info->memory_bytes = info->max_allocation_bytes = memory;
        reading_add_integer(list, "device.memory", (int64_t)memory, "bytes", "cuDeviceTotalMem");
    } else {
        reading_add_missing(list, "device.memory", READING_UNAVAILABLE, "cuDeviceTotalMem",
                            memory == 0 ? "the driver gave 0 bytes"
                                        : "the driver gave more bytes than there can be");
    }
    snprintf(capability, sizeof(capability), "%d.%d", arch / 10, arch % 10);
    reading_add_text(list, "device.compute_capability", capability,
                     "cuDeviceGetAttribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, MINOR)");
    add_version(list, "device.cuda_driver_version", state->driver_version, "cuDriverGetVersion");
    for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
        const struct question *question = &questions[i];
        int value = 0;

        if (!answer(api, device, question, list, &value))
            continue;
        if (question->attribute == CUDA_DEVICE_MULTIPROCESSOR_COUNT)
            info->compute_units = (uint32_t)value;
        else if (question->attribute == CUDA_DEVICE_MAX_THREADS_PER_BLOCK)
            info->max_lanes = (uint32_t)value;
        else if (question->attribute == CUDA_DEVICE_L2_CACHE_SIZE)
            info->last_level_cache_bytes = (uint64_t)value;
        else if (question->attribute == CUDA_DEVICE_INTEGRATED)
            info->unified_memory = value != 0;
    }
    if (has_pci)
        reading_add_text(list, "device.pci_address", pci, "cuDeviceGetPCIBusId");
    else
        reading_add_missing(list, "device.pci_address", READING_UNAVAILABLE, "cuDeviceGetPCIBusId",
                            no_pci.message);
    cuda_add_identity(state, has_pci ? pci : NULL, list);
    gpu_add_arithmetic_readings(list, "CUDA C++ programming guide, floating-point standard");
    return STATUS_OK;
}

enum status cuda_device_info(struct backend *backend, uint32_t index, struct device_info *ret,
                             struct error *err)
{
    struct cuda_state *state = backend->state;
    struct device_info info = {0};
    enum status status = STATUS_OK;
    int device = 0;
    unsigned code = state->driver.cuDeviceGet(&device, (int)index);

    if (code != CUDA_DRIVER_SUCCESS)
        return cuda_fail(&state->driver, err, NULL, "cuDeviceGet", code);
    reading_list_init(&info.readings);
    status = fill(state, device, &info, err);
    if (status == STATUS_OK && state->driver.assay_simulated != NULL) {
        info.simulated = true;
        info.type = DEVICE_SIMULATED;
    }
    if (status == STATUS_OK)
        reading_add_text(&info.readings, "device.type", device_type_name(info.type),
                         "libcuda.so.1");
    if (status == STATUS_OK && (info.name == NULL || info.vendor == NULL || info.readings.failed))
        status = error_no_memory(err);
    if (status != STATUS_OK) {
        device_info_finish(&info);
        return status;
    }
    *ret = info;
    return STATUS_OK;
}

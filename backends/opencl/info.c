#include "backends/opencl/internal.h"
#include "backends/opencl/words.h"
#include "harness/core/cleanup.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int32_t ask(const struct opencl_object *object, uint32_t parameter, size_t size, void *value,
                   size_t *ret_size)
{
    return object->device != NULL
               ? object->api->clGetDeviceInfo(object->device, parameter, size, value, ret_size)
               : object->api->clGetPlatformInfo(object->platform, parameter, size, value, ret_size);
}

static const char *function_name(const struct opencl_object *object)
{
    return object->device != NULL ? "clGetDeviceInfo" : "clGetPlatformInfo";
}

enum status opencl_query_text(const struct opencl_object *object, uint32_t parameter, char **ret,
                              struct error *err)
{
    struct text text;
    char *raw, *printable;
    size_t size = 0, begin = 0, end;
    int32_t code = ask(object, parameter, 0, NULL, &size);

    if (code != OCL_SUCCESS)
        return opencl_fail(err, NULL, function_name(object), code);
    if (size > OPENCL_STRING_MAX)
        return error_set(err, STATUS_DEVICE, "%s: the driver announces a text of %zu bytes",
                         function_name(object), size);
    raw = calloc(1, size + 1);
    if (raw == NULL)
        return error_no_memory(err);
    code = size > 0 ? ask(object, parameter, size, raw, NULL) : OCL_SUCCESS;
    if (code != OCL_SUCCESS) {
        free(raw);
        return opencl_fail(err, NULL, function_name(object), code);
    }
    end = strlen(raw);
    while (end > 0 && strchr(" \t\r\n", raw[end - 1]) != NULL)
        end--;
    while (begin < end && strchr(" \t\r\n", raw[begin]) != NULL)
        begin++;
    text_init(&text);
    text_append_printable(&text, raw + begin, end - begin);
    free(raw);
    printable = text_ok(&text) ? (text.length > 0 ? text_steal(&text) : strdup("")) : NULL;
    text_finish(&text);
    if (printable == NULL)
        return error_no_memory(err);
    *ret = printable;
    return STATUS_OK;
}

/* Answer of exactly `size` bytes. */
static enum status opencl_query_value(const struct opencl_object *object, uint32_t parameter,
                                      void *ret, size_t size, struct error *err)
{
    unsigned char value[64] = {0};
    size_t got = 0;
    int32_t code;

    if (size > sizeof(value))
        return error_set(err, STATUS_INTERNAL, "opencl_query_value: %zu bytes", size);
    code = ask(object, parameter, size, value, &got);
    if (code != OCL_SUCCESS)
        return opencl_fail(err, NULL, function_name(object), code);
    if (got != size)
        return error_set(err, STATUS_DEVICE, "%s: the driver gave %zu bytes in place of %zu",
                         function_name(object), got, size);
    memcpy(ret, value, size);
    return STATUS_OK;
}

enum kind {
    TEXT,
    U32,
    U64,
    SIZE,
    BOOLEAN,
    MEGAHERTZ,
    FP_CONFIG,
    CACHE_TYPE,
    LOCAL_TYPE,
    UUID,
    DOT_INPUTS,
    DOT_ACCELERATION
};

/* One reading a row. `extension` (NULL: none) must be offered before the question is asked. */
struct question {
    const char *name;
    enum kind kind;
    uint32_t parameter;
    const char *constant; /* its name, for the source */
    const char *unit;
    const char *extension;
};

#define ASK(name, kind, constant, unit, extension)                                                 \
    {                                                                                              \
        name, kind, OCL_##constant, "CL_" #constant, unit, extension                               \
    }

static const struct question platform_questions[] = {
    ASK("device.platform.name", TEXT, PLATFORM_NAME, NULL, NULL),
    ASK("device.platform.vendor", TEXT, PLATFORM_VENDOR, NULL, NULL),
    ASK("device.platform.version", TEXT, PLATFORM_VERSION, NULL, NULL),
    ASK("device.platform.profile", TEXT, PLATFORM_PROFILE, NULL, NULL),
    ASK("device.platform.extensions", TEXT, PLATFORM_EXTENSIONS, NULL, NULL),
    ASK("device.platform.icd_suffix", TEXT, PLATFORM_ICD_SUFFIX_KHR, NULL, NULL),
};

static const struct question device_questions[] = {
    ASK("device.name", TEXT, DEVICE_NAME, NULL, NULL),
    ASK("device.vendor", TEXT, DEVICE_VENDOR, NULL, NULL),
    ASK("device.vendor_id", U32, DEVICE_VENDOR_ID, NULL, NULL),
    ASK("device.driver_version", TEXT, DRIVER_VERSION, NULL, NULL),
    ASK("device.version", TEXT, DEVICE_VERSION, NULL, NULL),
    ASK("device.opencl_c_version", TEXT, DEVICE_OPENCL_C_VERSION, NULL, NULL),
    ASK("device.profile", TEXT, DEVICE_PROFILE, NULL, NULL),
    ASK("device.extensions", TEXT, DEVICE_EXTENSIONS, NULL, NULL),
    ASK("device.uuid", UUID, DEVICE_UUID_KHR, NULL, "cl_khr_device_uuid"),
    ASK("device.driver_uuid", UUID, DRIVER_UUID_KHR, NULL, "cl_khr_device_uuid"),
    ASK("device.available", BOOLEAN, DEVICE_AVAILABLE, NULL, NULL),
    ASK("device.compiler_available", BOOLEAN, DEVICE_COMPILER_AVAILABLE, NULL, NULL),
    ASK("device.compute_units", U32, DEVICE_MAX_COMPUTE_UNITS, NULL, NULL),
    ASK("device.clock_max", MEGAHERTZ, DEVICE_MAX_CLOCK_FREQUENCY, "hz", NULL),
    ASK("device.address_bits", U32, DEVICE_ADDRESS_BITS, "bits", NULL),
    ASK("device.little_endian", BOOLEAN, DEVICE_ENDIAN_LITTLE, NULL, NULL),
    ASK("device.memory", U64, DEVICE_GLOBAL_MEM_SIZE, "bytes", NULL),
    ASK("device.memory_allocation_max", U64, DEVICE_MAX_MEM_ALLOC_SIZE, "bytes", NULL),
    ASK("device.memory_ecc", BOOLEAN, DEVICE_ERROR_CORRECTION_SUPPORT, NULL, NULL),
    ASK("device.memory_unified", BOOLEAN, DEVICE_HOST_UNIFIED_MEMORY, NULL, NULL),
    ASK("device.memory_alignment", U32, DEVICE_MEM_BASE_ADDR_ALIGN, "bits", NULL),
    ASK("device.cache", U64, DEVICE_GLOBAL_MEM_CACHE_SIZE, "bytes", NULL),
    ASK("device.cache_line", U32, DEVICE_GLOBAL_MEM_CACHELINE_SIZE, "bytes", NULL),
    ASK("device.cache_type", CACHE_TYPE, DEVICE_GLOBAL_MEM_CACHE_TYPE, NULL, NULL),
    ASK("device.local_memory", U64, DEVICE_LOCAL_MEM_SIZE, "bytes", NULL),
    ASK("device.local_memory_type", LOCAL_TYPE, DEVICE_LOCAL_MEM_TYPE, NULL, NULL),
    ASK("device.lanes_max", SIZE, DEVICE_MAX_WORK_GROUP_SIZE, NULL, NULL),
    ASK("device.dimensions_max", U32, DEVICE_MAX_WORK_ITEM_DIMENSIONS, NULL, NULL),
    ASK("device.parameter_bytes_max", SIZE, DEVICE_MAX_PARAMETER_SIZE, "bytes", NULL),
    ASK("device.vector_width_f32", U32, DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, NULL, NULL),
    ASK("device.vector_width_f32_preferred", U32, DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, NULL, NULL),
    ASK("device.fp32", FP_CONFIG, DEVICE_SINGLE_FP_CONFIG, NULL, NULL),
    ASK("device.fp64", FP_CONFIG, DEVICE_DOUBLE_FP_CONFIG, NULL, "cl_khr_fp64"),
    ASK("device.fp16", FP_CONFIG, DEVICE_HALF_FP_CONFIG, NULL, "cl_khr_fp16"),
    ASK("device.int8_dot", DOT_INPUTS, DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES_KHR, NULL,
        "cl_khr_integer_dot_product"),
    ASK("device.int8_dot.accelerated", DOT_ACCELERATION,
        DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_8BIT_KHR, NULL,
        "cl_khr_integer_dot_product"),
    ASK("device.timer_resolution", SIZE, DEVICE_PROFILING_TIMER_RESOLUTION, "ns", NULL),
    ASK("device.nv.compute_capability_major", U32, DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, NULL,
        "cl_nv_device_attribute_query"),
    ASK("device.nv.compute_capability_minor", U32, DEVICE_COMPUTE_CAPABILITY_MINOR_NV, NULL,
        "cl_nv_device_attribute_query"),
    ASK("device.nv.warp_size", U32, DEVICE_WARP_SIZE_NV, NULL, "cl_nv_device_attribute_query"),
    ASK("device.amd.board_name", TEXT, DEVICE_BOARD_NAME_AMD, NULL,
        "cl_amd_device_attribute_query"),
    ASK("device.amd.wavefront_width", U32, DEVICE_WAVEFRONT_WIDTH_AMD, NULL,
        "cl_amd_device_attribute_query"),
};

static uint64_t integer_of(const struct reading_list *list, const char *name)
{
    const struct reading *reading = reading_find(list, name);

    return reading != NULL && reading->status == READING_MEASURED &&
                   reading->type == READING_INTEGER
               ? (uint64_t)reading->integer
               : 0;
}

static void append_hex(struct text *text, const unsigned char *bytes, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++)
        text_append_format(text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                           bytes[i]);
}

static enum status answer(const struct opencl_object *object, const struct question *question,
                          struct reading_list *list, const char *source, struct error *err)
{
    const char *const cache_types[] = {"none", "read_only", "read_write"};
    const char *const local_types[] = {"none", "dedicated", "global"};
    unsigned char uuid[OPENCL_UUID_SIZE];
    uint32_t u32 = 0, dots[OPENCL_DOT_KINDS] = {0};
    uint64_t u64 = 0;
    size_t size = 0;
    CLEANUP(text_finish) struct text text = TEXT_INIT;
    AUTO_FREE char *string = NULL;

    switch (question->kind) {
    case TEXT:
        TRY(opencl_query_text(object, question->parameter, &string, err));
        text_append(&text, string);
        break;
    case U32:
    case MEGAHERTZ:
        TRY(opencl_query_value(object, question->parameter, &u32, sizeof(u32), err));
        u64 = question->kind == MEGAHERTZ ? (uint64_t)u32 * 1000000 : u32;
        break;
    case U64:
        TRY(opencl_query_value(object, question->parameter, &u64, sizeof(u64), err));
        break;
    case SIZE:
        TRY(opencl_query_value(object, question->parameter, &size, sizeof(size), err));
        u64 = size;
        break;
    case BOOLEAN:
        TRY(opencl_query_value(object, question->parameter, &u32, sizeof(u32), err));
        text_append(&text, u32 != 0 ? "yes" : "no");
        break;
    case FP_CONFIG:
        TRY(opencl_query_value(object, question->parameter, &u64, sizeof(u64), err));
        opencl_append_fp_config(&text, u64);
        break;
    case DOT_INPUTS:
        TRY(opencl_query_value(object, question->parameter, &u64, sizeof(u64), err));
        opencl_append_dot_inputs(&text, u64);
        break;
    case DOT_ACCELERATION:
        TRY(opencl_query_value(object, question->parameter, dots, sizeof(dots), err));
        opencl_append_dot_acceleration(&text, dots);
        break;
    case CACHE_TYPE:
        TRY(opencl_query_value(object, question->parameter, &u32, sizeof(u32), err));
        text_append(&text, u32 < 3 ? cache_types[u32] : "unknown");
        break;
    case LOCAL_TYPE:
        TRY(opencl_query_value(object, question->parameter, &u32, sizeof(u32), err));
        text_append(&text, u32 < 3 ? local_types[u32] : "unknown");
        break;
    case UUID:
        TRY(opencl_query_value(object, question->parameter, uuid, sizeof(uuid), err));
        /* As CUDA, NVML and nvidia-smi write it, so that both stacks name one device alike. */
        if (integer_of(list, "device.vendor_id") == OPENCL_VENDOR_NVIDIA)
            text_append(&text, "GPU-");
        append_hex(&text, uuid, sizeof(uuid));
        break;
    }
    if (u64 > INT64_MAX)
        return error_set(err, STATUS_DEVICE, "the driver gave %" PRIu64, u64);
    if (question->kind == MEGAHERTZ && u64 == 0)
        return error_set(err, STATUS_UNAVAILABLE, "the driver gave 0");
    if (!text_ok(&text))
        list->failed = true;
    else if (question->kind == U32 || question->kind == U64 || question->kind == SIZE ||
             question->kind == MEGAHERTZ)
        reading_add_integer(list, question->name, (int64_t)u64, question->unit, source);
    else
        reading_add_text(list, question->name, text.data, source);
    return STATUS_OK;
}

static void answer_all(const struct opencl_object *object, const struct question *questions,
                       size_t count, const char *extensions, struct reading_list *list)
{
    size_t i;

    for (i = 0; i < count; i++) {
        const struct question *question = &questions[i];
        struct error error = ERROR_INIT;
        char source[96], reason[96];

        snprintf(source, sizeof(source), "%s(%s)", function_name(object), question->constant);
        if (question->extension != NULL && strstr(extensions, question->extension) == NULL) {
            /* Other vendors' attributes are not reported as missing. */
            if (strncmp(question->extension, "cl_khr_", 7) != 0)
                continue;
            if (question->kind == DOT_INPUTS || question->kind == DOT_ACCELERATION) {
                reading_add_text(list, question->name, "none",
                                 "clGetDeviceInfo(CL_DEVICE_EXTENSIONS)");
                continue;
            }
            snprintf(reason, sizeof(reason), "the driver does not offer %s", question->extension);
            reading_add_missing(list, question->name, READING_UNAVAILABLE, source, reason);
        } else if (answer(object, question, list, source, &error) != STATUS_OK) {
            reading_add_missing(list, question->name, READING_UNAVAILABLE, source, error.message);
        }
    }
}

/* AMD's own question, which has no domain: its driver offers no other, and no UUID. */
static void add_pci_amd(const struct opencl_object *object, struct reading_list *list,
                        const char *name)
{
    static const char source[] = "clGetDeviceInfo(CL_DEVICE_TOPOLOGY_AMD)";
    struct opencl_topology_amd topology;
    struct error error = ERROR_INIT;
    char address[64];

    if (opencl_query_value(object, OCL_DEVICE_TOPOLOGY_AMD, &topology, sizeof(topology), &error) ==
            STATUS_OK &&
        topology.type != OPENCL_TOPOLOGY_PCIE_AMD)
        error_set(&error, STATUS_UNAVAILABLE, "the device is not on a PCI bus");
    if (error.code != STATUS_OK) {
        reading_add_missing(list, name, READING_UNAVAILABLE, source, error.message);
        return;
    }
    snprintf(address, sizeof(address), "%02x:%02x.%x", topology.bus, topology.device,
             topology.function);
    reading_add_text(list, name, address, source);
}

static void add_pci(const struct opencl_object *object, const char *extensions,
                    struct reading_list *list)
{
    static const char name[] = "device.pci_address";
    static const char source[] = "clGetDeviceInfo(CL_DEVICE_PCI_BUS_INFO_KHR)";
    struct opencl_pci_bus_info pci;
    struct error error = ERROR_INIT;
    char address[64];

    if (strstr(extensions, "cl_khr_pci_bus_info") == NULL &&
        strstr(extensions, "cl_amd_device_attribute_query") != NULL) {
        add_pci_amd(object, list, name);
        return;
    }
    if (strstr(extensions, "cl_khr_pci_bus_info") == NULL) {
        reading_add_missing(list, name, READING_UNAVAILABLE, source,
                            "the driver does not offer cl_khr_pci_bus_info");
        return;
    }
    if (opencl_query_value(object, OCL_DEVICE_PCI_BUS_INFO_KHR, &pci, sizeof(pci), &error) !=
        STATUS_OK) {
        reading_add_missing(list, name, READING_UNAVAILABLE, source, error.message);
        return;
    }
    snprintf(address, sizeof(address), "%04x:%02x:%02x.%x", pci.domain, pci.bus, pci.device,
             pci.function);
    reading_add_text(list, name, address, source);
}

/* Heap copy; `fallback` when there is no such text. */
static char *text_of(const struct reading_list *list, const char *name, const char *fallback)
{
    const struct reading *reading = reading_find(list, name);

    if (reading != NULL && reading->status == READING_MEASURED && reading->text != NULL &&
        reading->text[0] != '\0')
        return strdup(reading->text);
    return fallback != NULL ? strdup(fallback) : NULL;
}

/*
 * What drivers report as the size of the device's cache: processors and Intel's GPUs their last
 * level, NVIDIA's and AMD's GPUs the first one, a thousandth of it.
 */
static bool tells_last_level(const struct device_info *info)
{
    const uint64_t vendor = integer_of(&info->readings, "device.vendor_id");

    return info->type != DEVICE_GPU ||
           (vendor != OPENCL_VENDOR_NVIDIA && vendor != OPENCL_VENDOR_AMD);
}

/* AMD's driver says no to ECC for every device, boards with HBM included. */
static void forget_ecc_of_amd(const struct device_info *info, struct reading_list *list)
{
    static const char name[] = "device.memory_ecc";
    const struct reading *ecc = reading_find(list, name);

    if (info->type == DEVICE_GPU && integer_of(list, "device.vendor_id") == OPENCL_VENDOR_AMD &&
        ecc != NULL && ecc->status == READING_MEASURED && strcmp(ecc->text, "no") == 0)
        reading_add_missing(list, name, READING_UNAVAILABLE,
                            "clGetDeviceInfo(CL_DEVICE_ERROR_CORRECTION_SUPPORT)",
                            "AMD's driver says no for every device");
}

static uint32_t clamp_u32(uint64_t value)
{
    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

/* Oclgrind interprets kernels: it finds defects, its times mean nothing. */
static bool is_simulator(const struct opencl_platform *platform)
{
    return platform->name != NULL && strstr(platform->name, "Oclgrind") != NULL;
}

static enum device_type type_of(const struct opencl_object *object,
                                const struct opencl_platform *platform)
{
    uint64_t bits = 0;

    if (is_simulator(platform))
        return DEVICE_SIMULATED;
    opencl_query_value(object, OCL_DEVICE_TYPE, &bits, sizeof(bits), NULL);
    if (bits & OCL_DEVICE_TYPE_GPU)
        return DEVICE_GPU;
    return bits & OCL_DEVICE_TYPE_CPU ? DEVICE_CPU : DEVICE_ACCELERATOR;
}

enum status opencl_device_info(struct backend *backend, uint32_t index, struct device_info *ret,
                               struct error *err)
{
    const struct opencl_state *state = backend->state;
    const struct opencl_slot *slot = &state->slots[index];
    const struct opencl_object platform = {.api = &state->api, .platform = slot->platform->id};
    const struct opencl_object device = {.api = &state->api, .device = slot->id};
    struct device_info info = {0};
    struct reading_list *list = &info.readings;
    char *extensions = NULL;
    enum status status;

    status = opencl_query_text(&device, OCL_DEVICE_EXTENSIONS, &extensions, err);
    if (status == STATUS_NO_MEMORY)
        return status;
    reading_list_init(list);
    answer_all(&platform, platform_questions,
               sizeof(platform_questions) / sizeof(platform_questions[0]), "", list);
    answer_all(&device, device_questions, sizeof(device_questions) / sizeof(device_questions[0]),
               extensions != NULL ? extensions : "", list);
    add_pci(&device, extensions != NULL ? extensions : "", list);
    free(extensions);

    info.name = text_of(list, "device.name", "nameless OpenCL device");
    info.vendor = text_of(list, "device.vendor", "unknown vendor");
    info.uuid = text_of(list, "device.uuid", NULL);
    info.type = type_of(&device, slot->platform);
    info.simulated = is_simulator(slot->platform);
    info.memory_bytes = integer_of(list, "device.memory");
    info.max_allocation_bytes = integer_of(list, "device.memory_allocation_max");
    info.compute_units = clamp_u32(integer_of(list, "device.compute_units"));
    info.max_lanes = clamp_u32(integer_of(list, "device.lanes_max"));
    info.last_level_cache_bytes = tells_last_level(&info) ? integer_of(list, "device.cache") : 0;
    forget_ecc_of_amd(&info, list);
    {
        const struct reading *unified = reading_find(list, "device.memory_unified");

        info.unified_memory = unified != NULL && unified->status == READING_MEASURED &&
                              strcmp(unified->text, "yes") == 0;
    }
    reading_add_text(list, "device.type", device_type_name(info.type),
                     "clGetDeviceInfo(CL_DEVICE_TYPE)");
    if (info.name == NULL || info.vendor == NULL || list->failed) {
        device_info_finish(&info);
        return error_no_memory(err);
    }
    *ret = info;
    return STATUS_OK;
}

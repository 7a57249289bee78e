/*
 * Our declarations of OpenCL against the real headers: every constant, structure and function type.
 * Without the headers (Debian package opencl-headers) this is skipped.
 */
#include "backends/opencl/api.h"

#include <stdio.h>

#if __has_include(<CL/cl_ext.h>)

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

static int failures, checks;

static void check(int good, const char *what, const char *name)
{
    checks++;
    if (!good) {
        failures++;
        printf("FAIL %s of %s differs from the headers\n", what, name);
    }
}

#define SAME_TYPE(a, b) __builtin_types_compatible_p(__typeof__(a), __typeof__(b))

int main(void)
{
    struct opencl_api api;

#define VALUE(name, value)                                                                         \
    check((long long)(CL_##name) == (long long)(OCL_##name), "the value", "CL_" #name);
    OPENCL_ERROR_MAP(VALUE)
    OPENCL_CONSTANT_MAP(VALUE)
#undef VALUE
    check(CL_DEVICE_TYPE_ALL == OCL_DEVICE_TYPE_ALL, "the value", "CL_DEVICE_TYPE_ALL");
    check(CL_UUID_SIZE_KHR == OPENCL_UUID_SIZE, "the value", "CL_UUID_SIZE_KHR");

#define FUNCTION(result, name, parameters) check(SAME_TYPE(&name, api.name), "the type", #name);
    OPENCL_REQUIRED_MAP(FUNCTION)
    OPENCL_OPTIONAL_MAP(FUNCTION)
#undef FUNCTION

#define TYPE(ours, theirs) check(SAME_TYPE(ours, theirs), "our type", #theirs);
    TYPE(int32_t, cl_int)
    TYPE(uint32_t, cl_uint)
    TYPE(uint32_t, cl_bool)
    TYPE(uint64_t, cl_ulong)
    TYPE(uint64_t, cl_device_type)
    TYPE(uint64_t, cl_device_fp_config)
    TYPE(uint64_t, cl_mem_flags)
    TYPE(uint64_t, cl_command_queue_properties)
    TYPE(uint32_t, cl_device_info)
    TYPE(intptr_t, cl_context_properties)
    TYPE(struct _cl_device_id *, cl_device_id)
    TYPE(struct _cl_mem *, cl_mem)
#undef TYPE

    check(sizeof(struct opencl_pci_bus_info) == sizeof(cl_device_pci_bus_info_khr), "the size",
          "cl_device_pci_bus_info_khr");
#define FIELD(ours, theirs)                                                                        \
    check(offsetof(struct opencl_pci_bus_info, ours) ==                                            \
              offsetof(cl_device_pci_bus_info_khr, theirs),                                        \
          "the offset", "cl_device_pci_bus_info_khr." #theirs);
    FIELD(domain, pci_domain)
    FIELD(bus, pci_bus)
    FIELD(device, pci_device)
    FIELD(function, pci_function)
#undef FIELD
    check(sizeof(struct opencl_topology_amd) == sizeof(cl_device_topology_amd), "the size",
          "cl_device_topology_amd");
#define FIELD(name)                                                                                \
    check(offsetof(struct opencl_topology_amd, name) ==                                            \
              offsetof(cl_device_topology_amd, pcie.name),                                         \
          "the offset", "cl_device_topology_amd.pcie." #name);
    FIELD(type)
    FIELD(bus)
    FIELD(device)
    FIELD(function)
#undef FIELD
    check(CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD == OPENCL_TOPOLOGY_PCIE_AMD, "the value",
          "CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD");
    check(sizeof(cl_device_integer_dot_product_acceleration_properties_khr) == 6 * sizeof(uint32_t),
          "the size", "cl_device_integer_dot_product_acceleration_properties_khr");
    printf("%d declarations checked, %d differ\n", checks, failures);
    return failures == 0 && checks > 150 ? 0 : 1;
}

#else

int main(void)
{
    printf("SKIP: <CL/cl_ext.h> is not installed (Debian package opencl-headers)\n");
    return 77;
}

#endif

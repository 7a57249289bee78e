/*
 * nvml - the part of NVIDIA's management library (libnvidia-ml.so.1) that we call, declared by
 * ourselves after nvml.h (driver 580; values and types have not changed since the calls came).
 */
#ifndef ASSAY_BACKENDS_CUDA_NVML_H
#define ASSAY_BACKENDS_CUDA_NVML_H

#include <stddef.h>

#include "harness/core/dynlib.h"

struct nvmlDevice_st;

union nvml_value {
    double d;
    int i;
    unsigned u;
    unsigned long ul;
    unsigned long long ull;
    long long ll;
    unsigned short us;
};

struct nvml_field {
    unsigned field, scope;
    long long timestamp_us, latency_us;
    unsigned type;
    unsigned result;
    union nvml_value value;
};

struct nvml_utilization {
    unsigned gpu, memory; /* percent */
};

struct nvml_memory {
    unsigned long long total, free, used;
};

/*
 * nvmlProcessInfo_v2_t, which the function ending in _v2 always fills. The one in _v3 fills an
 * array of it, too, except for the first drivers of 535 (CUDA 12.2), whose entries are 8 bytes
 * longer: it is asked where the other is not there.
 */
struct nvml_process {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
};

/* The ABI test puts the vendor's types in their place to compare the functions. */
#ifndef NVML_STRUCTURES_GIVEN
#define NVML_FIELD struct nvml_field
#define NVML_UTILIZATION struct nvml_utilization
#define NVML_MEMORY struct nvml_memory
#define NVML_PROCESS struct nvml_process
#endif

#define NVML_REQUIRED_MAP(X)                                                                       \
    X(unsigned, nvmlInit_v2, (void))                                                               \
    X(unsigned, nvmlShutdown, (void))                                                              \
    X(const char *, nvmlErrorString, (unsigned result))                                            \
    X(unsigned, nvmlSystemGetDriverVersion, (char *text, unsigned length))                         \
    X(unsigned, nvmlSystemGetNVMLVersion, (char *text, unsigned length))                           \
    X(unsigned, nvmlDeviceGetHandleByPciBusId_v2, (const char *id, struct nvmlDevice_st **device))

/* Each may be missing in an old library, and unsupported on a device. */
#define NVML_OPTIONAL_MAP(X)                                                                       \
    X(unsigned, nvmlDeviceGetHandleByUUID, (const char *uuid, struct nvmlDevice_st **device))      \
    X(unsigned, nvmlSystemGetProcessName, (unsigned pid, char *text, unsigned length))             \
    X(unsigned, nvmlDeviceGetUUID, (struct nvmlDevice_st * device, char *text, unsigned length))   \
    X(unsigned, nvmlDeviceGetSerial, (struct nvmlDevice_st * device, char *text, unsigned length)) \
    X(unsigned, nvmlDeviceGetVbiosVersion,                                                         \
      (struct nvmlDevice_st * device, char *text, unsigned length))                                \
    X(unsigned, nvmlDeviceGetBoardPartNumber,                                                      \
      (struct nvmlDevice_st * device, char *text, unsigned length))                                \
    X(unsigned, nvmlDeviceGetInforomImageVersion,                                                  \
      (struct nvmlDevice_st * device, char *text, unsigned length))                                \
    X(unsigned, nvmlDeviceGetGspFirmwareVersion, (struct nvmlDevice_st * device, char *text))      \
    X(unsigned, nvmlDeviceGetPersistenceMode, (struct nvmlDevice_st * device, unsigned *value))    \
    X(unsigned, nvmlDeviceGetEccMode,                                                              \
      (struct nvmlDevice_st * device, unsigned *current, unsigned *pending))                       \
    X(unsigned, nvmlDeviceGetMigMode,                                                              \
      (struct nvmlDevice_st * device, unsigned *current, unsigned *pending))                       \
    X(unsigned, nvmlDeviceGetComputeMode, (struct nvmlDevice_st * device, unsigned *value))        \
    X(unsigned, nvmlDeviceGetPowerManagementLimit,                                                 \
      (struct nvmlDevice_st * device, unsigned *value))                                            \
    X(unsigned, nvmlDeviceGetPowerManagementDefaultLimit,                                          \
      (struct nvmlDevice_st * device, unsigned *value))                                            \
    X(unsigned, nvmlDeviceGetEnforcedPowerLimit, (struct nvmlDevice_st * device, unsigned *value)) \
    X(unsigned, nvmlDeviceGetPowerManagementLimitConstraints,                                      \
      (struct nvmlDevice_st * device, unsigned *low, unsigned *high))                              \
    X(unsigned, nvmlDeviceGetPowerUsage, (struct nvmlDevice_st * device, unsigned *value))         \
    X(unsigned, nvmlDeviceGetTotalEnergyConsumption,                                               \
      (struct nvmlDevice_st * device, unsigned long long *value))                                  \
    X(unsigned, nvmlDeviceGetFieldValues,                                                          \
      (struct nvmlDevice_st * device, int count, NVML_FIELD *fields))                              \
    X(unsigned, nvmlDeviceGetClockInfo,                                                            \
      (struct nvmlDevice_st * device, unsigned type, unsigned *value))                             \
    X(unsigned, nvmlDeviceGetMaxClockInfo,                                                         \
      (struct nvmlDevice_st * device, unsigned type, unsigned *value))                             \
    X(unsigned, nvmlDeviceGetTemperature,                                                          \
      (struct nvmlDevice_st * device, unsigned sensor, unsigned *value))                           \
    X(unsigned, nvmlDeviceGetTemperatureThreshold,                                                 \
      (struct nvmlDevice_st * device, unsigned kind, unsigned *value))                             \
    X(unsigned, nvmlDeviceGetCurrentClocksEventReasons, /* its name since 12.2 */                  \
      (struct nvmlDevice_st * device, unsigned long long *value))                                  \
    X(unsigned, nvmlDeviceGetCurrentClocksThrottleReasons,                                         \
      (struct nvmlDevice_st * device, unsigned long long *value))                                  \
    X(unsigned, nvmlDeviceGetPerformanceState, (struct nvmlDevice_st * device, unsigned *value))   \
    X(unsigned, nvmlDeviceGetFanSpeed, (struct nvmlDevice_st * device, unsigned *value))           \
    X(unsigned, nvmlDeviceGetUtilizationRates,                                                     \
      (struct nvmlDevice_st * device, NVML_UTILIZATION * value))                                   \
    X(unsigned, nvmlDeviceGetMemoryInfo, (struct nvmlDevice_st * device, NVML_MEMORY * value))     \
    X(unsigned, nvmlDeviceGetTotalEccErrors,                                                       \
      (struct nvmlDevice_st * device, unsigned error, unsigned counter,                            \
       unsigned long long *value))                                                                 \
    X(unsigned, nvmlDeviceGetRemappedRows,                                                         \
      (struct nvmlDevice_st * device, unsigned *corrected, unsigned *uncorrected,                  \
       unsigned *pending, unsigned *failed))                                                       \
    X(unsigned, nvmlDeviceGetCurrPcieLinkGeneration,                                               \
      (struct nvmlDevice_st * device, unsigned *value))                                            \
    X(unsigned, nvmlDeviceGetCurrPcieLinkWidth, (struct nvmlDevice_st * device, unsigned *value))  \
    X(unsigned, nvmlDeviceGetMaxPcieLinkGeneration,                                                \
      (struct nvmlDevice_st * device, unsigned *value))                                            \
    X(unsigned, nvmlDeviceGetMaxPcieLinkWidth, (struct nvmlDevice_st * device, unsigned *value))   \
    X(unsigned, nvmlDeviceGetPcieReplayCounter, (struct nvmlDevice_st * device, unsigned *value))  \
    X(unsigned, nvmlDeviceGetComputeRunningProcesses_v3,                                           \
      (struct nvmlDevice_st * device, unsigned *count, NVML_PROCESS *processes))                   \
    X(unsigned, nvmlDeviceGetComputeRunningProcesses_v2,                                           \
      (struct nvmlDevice_st * device, unsigned *count, NVML_PROCESS *processes))

struct nvml_api {
    NVML_REQUIRED_MAP(DYNLIB_MEMBER)
    NVML_OPTIONAL_MAP(DYNLIB_MEMBER)
};

/* Our name, the header's, value. */
#define NVML_CONSTANT_MAP(X)                                                                       \
    X(SUCCESS, NVML_SUCCESS, 0)                                                                    \
    X(NOT_SUPPORTED, NVML_ERROR_NOT_SUPPORTED, 3)                                                  \
    X(NO_PERMISSION, NVML_ERROR_NO_PERMISSION, 4)                                                  \
    X(INSUFFICIENT_SIZE, NVML_ERROR_INSUFFICIENT_SIZE, 7)                                          \
    X(GPU_IS_LOST, NVML_ERROR_GPU_IS_LOST, 15)                                                     \
    X(CLOCK_SM, NVML_CLOCK_SM, 1)                                                                  \
    X(CLOCK_MEMORY, NVML_CLOCK_MEM, 2)                                                             \
    X(TEMPERATURE_GPU, NVML_TEMPERATURE_GPU, 0)                                                    \
    X(THRESHOLD_SHUTDOWN, NVML_TEMPERATURE_THRESHOLD_SHUTDOWN, 0)                                  \
    X(THRESHOLD_SLOWDOWN, NVML_TEMPERATURE_THRESHOLD_SLOWDOWN, 1)                                  \
    X(ECC_CORRECTED, NVML_MEMORY_ERROR_TYPE_CORRECTED, 0)                                          \
    X(ECC_UNCORRECTED, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, 1)                                      \
    X(ECC_VOLATILE, NVML_VOLATILE_ECC, 0)                                                          \
    X(ECC_AGGREGATE, NVML_AGGREGATE_ECC, 1)                                                        \
    X(VALUE_DOUBLE, NVML_VALUE_TYPE_DOUBLE, 0)                                                     \
    X(VALUE_UINT, NVML_VALUE_TYPE_UNSIGNED_INT, 1)                                                 \
    X(VALUE_ULONG, NVML_VALUE_TYPE_UNSIGNED_LONG, 2)                                               \
    X(VALUE_ULLONG, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, 3)                                         \
    X(VALUE_LLONG, NVML_VALUE_TYPE_SIGNED_LONG_LONG, 4)                                            \
    X(VALUE_INT, NVML_VALUE_TYPE_SIGNED_INT, 5)                                                    \
    X(VALUE_USHORT, NVML_VALUE_TYPE_UNSIGNED_SHORT, 6)                                             \
    X(FIELD_MEMORY_TEMPERATURE, NVML_FI_DEV_MEMORY_TEMP, 82)                                       \
    X(FIELD_POWER_AVERAGE, NVML_FI_DEV_POWER_AVERAGE, 185)                                         \
    X(FIELD_POWER_INSTANT, NVML_FI_DEV_POWER_INSTANT, 186)

enum nvml_constant {
#define NVML_CONSTANT_ENUM(name, theirs, value) NVML_OUR_##name = value,
    NVML_CONSTANT_MAP(NVML_CONSTANT_ENUM)
#undef NVML_CONSTANT_ENUM
};

/* Bits of nvmlDeviceGetCurrentClocksThrottleReasons, from bit 0 on, NULL-terminated. */
extern const char *const nvml_throttle_reasons[];

/* Opens libnvidia-ml.so.1 (name "nvml"). UNAVAILABLE as dynlib_open. */
enum status nvml_open(struct dynlib *lib, struct nvml_api *ret, struct error *err);

#endif

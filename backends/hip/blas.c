/* blas - opening hipBLASLt and rocBLAS: those that belong to the HIP runtime that is mapped. */
#include <stdio.h>

#include "backends/hip/internal.h"

/*
 * These libraries bring in the HIP runtime that they were built for; one of another major version
 * would put a second runtime, which knows none of our buffers, into the process.
 */
static const char *const hipblaslt_7[] = {"libhipblaslt.so.1", NULL};
/* Debian has the one of ROCm 7 over HIP 6; next to the runtime it is of the same installation. */
static const char *const hipblaslt_6[] = {"libhipblaslt.so.0", HIP_BESIDE "libhipblaslt.so.1",
                                          NULL};
static const char *const hipblaslt_any[] = {"libhipblaslt.so.1", "libhipblaslt.so.0", NULL};
static const char *const rocblas_7[] = {"librocblas.so.5", NULL};
static const char *const rocblas_6[] = {"librocblas.so.4", NULL};
static const char *const rocblas_5[] = {"librocblas.so.3", "librocblas.so.0", NULL};
static const char *const rocblas_any[] = {"librocblas.so.5", "librocblas.so.4", "librocblas.so.3",
                                          "librocblas.so.0", NULL};

static void open_once(struct hip_optional *optional, const struct dynlib_spec *spec, void *table)
{
    if (optional->asked)
        return;
    optional->asked = true;
    optional->status = dynlib_open(spec, &optional->lib, table, &optional->error);
}

void hip_hipblaslt_open(struct hip_state *state)
{
    const int major = hip_runtime_major(state->runtime_lib.path);
    struct hip_candidates candidates;
#define DYNLIB_API struct hip_hipblaslt
    static const struct dynlib_symbol symbols[] = {HIPBLASLT_REQUIRED_MAP(HIP_REQUIRED)};
    const struct dynlib_spec spec = DYNLIB_SPEC("hipblaslt", candidates.list, symbols);
#undef DYNLIB_API

    hip_runtime_candidates(state->runtime_lib.path,
                           major == 7                 ? hipblaslt_7
                           : major == 6 || major == 5 ? hipblaslt_6
                                                      : hipblaslt_any,
                           &candidates);
    open_once(&state->hipblaslt_lib, &spec, &state->hipblaslt);
}

void hip_rocblas_open(struct hip_state *state)
{
    const int major = hip_runtime_major(state->runtime_lib.path);
    struct hip_candidates candidates;
#define DYNLIB_API struct hip_rocblas
    static const struct dynlib_symbol symbols[] = {ROCBLAS_REQUIRED_MAP(HIP_REQUIRED)};
    const struct dynlib_spec spec = DYNLIB_SPEC("rocblas", candidates.list, symbols);
#undef DYNLIB_API

    hip_runtime_candidates(state->runtime_lib.path,
                           major == 7   ? rocblas_7
                           : major == 6 ? rocblas_6
                           : major == 5 ? rocblas_5
                                        : rocblas_any,
                           &candidates);
    open_once(&state->rocblas_lib, &spec, &state->rocblas);
}

void hipblaslt_version_text(int version, char *ret, size_t size)
{
    snprintf(ret, size, "%d.%d.%d", version / 100000, version / 100 % 1000, version % 100);
}

const char *hipblaslt_status_name(int status)
{
    switch (status) {
#define NAME(name, value)                                                                          \
    case value:                                                                                    \
        return "HIPBLAS_STATUS_" #name;
        HIPBLASLT_STATUS_MAP(NAME)
#undef NAME
    default:
        return "unknown status";
    }
}

const char *rocblas_status_name(int status)
{
    switch (status) {
#define NAME(name, value)                                                                          \
    case value:                                                                                    \
        return "rocblas_status_" #name;
        ROCBLAS_STATUS_MAP(NAME)
        ROCBLAS_STATUS_3_MAP(NAME)
#undef NAME
    default:
        return "unknown status";
    }
}

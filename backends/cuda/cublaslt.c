#include "backends/cuda/cublaslt.h"

#define DYNLIB_API struct cublaslt_api
static const struct dynlib_symbol symbols[] = {CUBLASLT_REQUIRED_MAP(DYNLIB_REQUIRED)
                                                   CUBLASLT_OPTIONAL_MAP(DYNLIB_OPTIONAL)};

enum status cublaslt_open(int driver_version, struct dynlib *lib, struct cublaslt_api *ret,
                          struct error *err)
{
    static const struct {
        const char *soname;
        int major;
    } all[] = {
        {"libcublasLt.so.14", 14},
        {"libcublasLt.so.13", 13},
        {"libcublasLt.so.12", 12},
        {"libcublasLt.so.11", 11},
        {"/usr/local/cuda/lib64/libcublasLt.so", 0},
        {"/usr/local/cuda/lib/libcublasLt.so", 0},
    };
    const size_t total = sizeof(all) / sizeof(all[0]);
    const char *sonames[sizeof(all) / sizeof(all[0]) + 1] = {NULL};
    const struct dynlib_spec spec = DYNLIB_SPEC("cublaslt", sonames, symbols);
    const int driver = driver_version / 1000;
    size_t count = 0;

    /* Not newer than the driver, newest first; then what is newer, nearest last. */
    for (int newer = 0; newer <= 1; newer++)
        for (size_t i = 0; i < total; i++)
            if ((all[i].major > driver) == (newer == 1))
                sonames[count++] = all[i].soname;
    return dynlib_open(&spec, lib, ret, err);
}

const char *cublaslt_status_name(const struct cublaslt_api *api, unsigned status)
{
    const char *name =
        api->cublasLtGetStatusName != NULL ? api->cublasLtGetStatusName(status) : NULL;

    if (name != NULL)
        return name;
    switch (status) {
#define NAME(ours, theirs, value)                                                                  \
    case value:                                                                                    \
        return #theirs;
        /* The first ten rows of the list. */
        NAME(, CUBLAS_STATUS_SUCCESS, LT_STATUS_SUCCESS)
        NAME(, CUBLAS_STATUS_NOT_INITIALIZED, LT_STATUS_NOT_INITIALIZED)
        NAME(, CUBLAS_STATUS_ALLOC_FAILED, LT_STATUS_ALLOC_FAILED)
        NAME(, CUBLAS_STATUS_INVALID_VALUE, LT_STATUS_INVALID_VALUE)
        NAME(, CUBLAS_STATUS_ARCH_MISMATCH, LT_STATUS_ARCH_MISMATCH)
        NAME(, CUBLAS_STATUS_MAPPING_ERROR, LT_STATUS_MAPPING_ERROR)
        NAME(, CUBLAS_STATUS_EXECUTION_FAILED, LT_STATUS_EXECUTION_FAILED)
        NAME(, CUBLAS_STATUS_INTERNAL_ERROR, LT_STATUS_INTERNAL_ERROR)
        NAME(, CUBLAS_STATUS_NOT_SUPPORTED, LT_STATUS_NOT_SUPPORTED)
        NAME(, CUBLAS_STATUS_LICENSE_ERROR, LT_STATUS_LICENSE_ERROR)
#undef NAME
    default:
        return "unknown status";
    }
}

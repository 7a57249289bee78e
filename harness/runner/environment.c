#include "harness/runner/environment.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "harness/core/reading.h"
#include "harness/core/text.h"
#include "harness/core/cgroup.h"
#include "harness/runner/host.h"
#include "harness/runner/host_details.h"

/* A name ending in '_' matches all variables that begin with it. */
static const char *const relevant[] = {
    "ASSAY_",    "CUDA_",       "NVIDIA_",        "HIP_",
    "ROCR_",     "HSA_",        "GPU_",           "OCL_",
    "OPENCL_",   "POCL_",       "OMP_",           "GOMP_",
    "KMP_",      "LIBOMP_",     "DNNL_",          "ONEDNN_",
    "MKL_",      "OPENBLAS_",   "MALLOC_",        "NCCL_",
    "RCCL_",     "CLBLAST_",    "LD_PRELOAD",     "LD_LIBRARY_PATH",
    "LD_AUDIT",  "LD_BIND_NOW", "GLIBC_TUNABLES", "CUBLAS_",
    "CUBLASLT_", "CUDNN_",      "NVRTC_",         "LP_NUM_THREADS",
    "KOKKOS_",   "AMD_",        "HIPRTC_",        "HIPBLASLT_",
    "ROCBLAS_",  "TENSILE_",    "MIOPEN_",        "ROC_",
    "ROCM_",     "DEBUG_CLR_",  "DEBUG_HIP_",     "PAL_",
    "HSAKMT_",   "RSMI_",       "RUSTICL_",       "CL_CONFIG_",
    "IGC_",      "TORCH_",      "TORCHINDUCTOR_", "TORCHDYNAMO_",
    "PYTORCH_",  "ATEN_",       "XLA_",           "JAX_",
    "TF_",       "ORT_",        "OPENVINO_",      "OV_",
    "PYTHONPATH"};

/* NVIDIA_API_KEY is a credential, and would be disclosed to every recipient of a bundle. */
static bool is_secret(const char *variable, size_t length)
{
    static const char *const words[] = {"KEY",      "APIKEY",     "TOKEN",      "SECRET",
                                        "PASSWORD", "PASSWD",     "PASSPHRASE", "BEARER",
                                        "AUTH",     "CREDENTIAL", "CREDENTIALS"};

    for (size_t at = 0; at < length;) {
        const size_t word = strcspn(variable + at, "_=");

        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
            if (strlen(words[i]) == word && !strncasecmp(variable + at, words[i], word))
                return true;
        at += word + 1;
    }
    return false;
}

bool environment_is_relevant(const char *variable)
{
    size_t name_length = strcspn(variable, "=");

    if (is_secret(variable, name_length)) /* but that one is the path of a key */
        return name_length == strlen("ASSAY_KEY") && !strncmp(variable, "ASSAY_KEY", name_length);

    for (size_t i = 0; i < sizeof(relevant) / sizeof(relevant[0]); i++) {
        size_t length = strlen(relevant[i]);

        if (relevant[i][length - 1] == '_'
                ? name_length >= length && !strncmp(variable, relevant[i], length)
                : name_length == length && !strncmp(variable, relevant[i], length))
            return true;
    }
    return false;
}

static void read_variables(struct reading_list *list)
{
    for (char **entry = environ; *entry; entry++) {
        const char *equals = strchr(*entry, '=');
        struct text name, value;

        if (!equals || !environment_is_relevant(*entry))
            continue;
        text_init(&name);
        text_init(&value);
        text_append(&name, "variable.");
        text_append_printable(&name, *entry, (size_t)(equals - *entry));
        text_append_printable(&value, equals + 1, strlen(equals + 1));
        if (text_ok(&name) && text_ok(&value))
            reading_add_text(list, name.data, value.data, "environ");
        else
            list->failed = true;
        text_finish(&name);
        text_finish(&value);
    }
}

static enum status take_json(struct reading_list *list, json_t **ret, struct error *err)
{
    json_t *json = list->failed ? NULL : reading_list_to_json(list);

    reading_list_finish(list);
    if (!json)
        return error_no_memory(err);
    *ret = json;
    return STATUS_OK;
}

enum status environment_read_fixed(json_t **ret, struct error *err)
{
    struct reading_list list;

    reading_list_init(&list);
    host_read_fixed(&list);
    host_read_details(&list);
    cgroup_read_limits(&list);
    read_variables(&list);
    return take_json(&list, ret, err);
}

enum status environment_read_moving(json_t **ret, struct error *err)
{
    struct reading_list list;

    reading_list_init(&list);
    host_read_moving(&list);
    host_read_time(&list);
    cgroup_read_usage(&list);
    return take_json(&list, ret, err);
}

#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/noted_file.h"
#include "workloads/onnx/onnx.h"

static enum status is_there(const struct digest *digest, const char *what, struct error *err)
{
    AUTO_FREE char *path = NULL;

    return noted_file_find(digest, what, &path, err);
}

static enum status are_there(const struct onnx_parameters *parameters, struct error *err)
{
    TRY(is_there(&parameters->model, "the model", err));
    for (size_t i = 0; i < parameters->data_count; i++)
        TRY(is_there(&parameters->data[i].digest, parameters->data[i].location, err));
    if (parameters->has_reference)
        TRY(is_there(&parameters->reference, "the reference", err));
    for (size_t i = 0; i < parameters->input_count; i++)
        if (parameters->inputs[i].has_file)
            TRY(is_there(&parameters->inputs[i].file, "an input's file", err));
    return STATUS_OK;
}

enum status onnx_files_ready(const struct workload *workload, struct error *err)
{
    return are_there(workload->parameters, err) == STATUS_OK
               ? STATUS_OK
               : error_prefix(err, "%s", workload->name);
}

enum status onnx_file_read(const struct digest *digest, const char *what, struct text *ret,
                           struct error *err)
{
    AUTO_FREE char *path = NULL;
    char *bytes = NULL;
    size_t length = 0;

    TRY(noted_file_find(digest, what, &path, err));
    TRY(file_read(path, ONNX_FILE_MAX, &bytes, &length, err));
    *ret = (struct text){.data = bytes, .length = length, .capacity = length + 1};
    return STATUS_OK;
}

enum status onnx_file_tensors(const struct digest *digest, const char *what, struct tensors *ret,
                              struct error *err)
{
    AUTO_FREE char *path = NULL;

    TRY(noted_file_find(digest, what, &path, err));
    return tensors_open(path, ret, err);
}

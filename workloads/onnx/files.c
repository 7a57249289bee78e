#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/core/file.h"
#include "harness/core/cleanup.h"
#include "workloads/onnx/onnx.h"

char *onnx_file_noted(const struct digest *digest)
{
    char hex[DIGEST_HEX_SIZE];
    AUTO_FREE char *name = text_format("files/%s", digest_hex(digest, hex));

    return name ? file_in_cache(name) : NULL;
}

void onnx_file_note(const struct digest *digest, const char *path)
{
    AUTO_FREE char *noted = onnx_file_noted(digest), *full = realpath(path, NULL);
    AUTO_FREE char *folder = file_in_cache("files");
    AUTO_FREE char *draft = noted ? text_format("%s.%ld", noted, (long)getpid()) : NULL;

    if (!draft || !full || !folder || file_make_directories(folder, 0700, NULL) != STATUS_OK)
        return;
    /* Where it cannot be noted, the trial that looks for it says so. */
    if (symlink(full, draft) < 0 || rename(draft, noted) < 0)
        unlink(draft);
}

enum status onnx_file_find(const struct digest *digest, const char *what, char **ret,
                           struct error *err)
{
    char hex[DIGEST_HEX_SIZE];
    AUTO_FREE char *noted = onnx_file_noted(digest), *path = noted ? realpath(noted, NULL) : NULL;
    struct digest found;

    if (!path)
        return error_set(err, STATUS_NOT_FOUND, "%s, the file of SHA-256 %s, is not known here: %s",
                         what, digest_hex(digest, hex),
                         noted ? "`assay describe` of its declaration, beside which it lies, makes "
                                 "it known"
                               : "set XDG_CACHE_HOME or HOME");
    TRY(digest_file(path, &found, NULL, err));
    if (!digest_equal(digest, &found))
        return error_set(err, STATUS_INVALID,
                         "%s was changed since the campaign was planned: %s has no longer the "
                         "SHA-256 %s",
                         what, path, digest_hex(digest, hex));
    *ret = path;
    path = NULL;
    return STATUS_OK;
}

static enum status is_there(const struct digest *digest, const char *what, struct error *err)
{
    AUTO_FREE char *path = NULL;

    return onnx_file_find(digest, what, &path, err);
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

    TRY(onnx_file_find(digest, what, &path, err));
    TRY(file_read(path, ONNX_FILE_MAX, &bytes, &length, err));
    *ret = (struct text){.data = bytes, .length = length, .capacity = length + 1};
    return STATUS_OK;
}

enum status onnx_file_tensors(const struct digest *digest, const char *what, struct tensors *ret,
                              struct error *err)
{
    AUTO_FREE char *path = NULL;

    TRY(onnx_file_find(digest, what, &path, err));
    return tensors_open(path, ret, err);
}

/* What a declaration says of files, compared with the files: all that a trial needs of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/noted_file.h"
#include "workloads/declaration.h"
#include "workloads/onnx/external.h"
#include "workloads/onnx/onnx.h"

/* What a declaration names as a file: the section, its keys, and what it must be. */
struct named_file {
    const char *place, *key, *from; /* "path", which counts from a folder: "the declaration's" */
    const struct digest *wanted;
};

/* Whether the file is there and what it is said to be; noted for the trials. */
static enum status look_at(const struct declaration *declaration, const struct named_file *file,
                           const char *full, uint64_t *ret_size, struct error *err)
{
    char path[96], hex[DIGEST_HEX_SIZE];
    struct digest found;
    struct error inner = ERROR_INIT;
    struct stat about;

    snprintf(path, sizeof(path), "%s.%s", file->place, file->key);
    if (stat(full, &about) < 0 || !S_ISREG(about.st_mode))
        return declaration_error(declaration, path, err,
                                 "there is no file %s; `%s` counts from %s folder", full, file->key,
                                 file->from);
    if (about.st_size > (off_t)ONNX_FILE_MAX)
        return declaration_error(declaration, path, err,
                                 "%s has %lld bytes, and a model in one file at most %zu", full,
                                 (long long)about.st_size, ONNX_FILE_MAX);
    if (digest_file(full, &found, NULL, &inner) != STATUS_OK)
        return declaration_error(declaration, path, err, "%s", inner.message);
    snprintf(path, sizeof(path), "%s.sha256", file->place);
    if (!digest_equal(&found, file->wanted))
        return declaration_error(declaration, path, err, "%s is another file: its SHA-256 is %s",
                                 full, digest_hex(&found, hex));
    noted_file_note(file->wanted, full);
    *ret_size = (uint64_t)about.st_size;
    return STATUS_OK;
}

/* One that is named beside the declaration. `ret_path`: heap. */
static enum status look(const struct declaration *declaration, const char *place, const char *path,
                        const struct digest *wanted, char **ret_path, struct error *err)
{
    const struct named_file file = {place, "path", "the declaration's", wanted};
    AUTO_FREE char *full = file_beside(declaration->origin, path);
    uint64_t size;

    TRY(full ? look_at(declaration, &file, full, &size, err) : error_no_memory(err));
    *ret_path = full;
    full = NULL;
    return STATUS_OK;
}

/* A declared array against those that the file has. */
static enum status match(const struct declaration *declaration, const char *place,
                         const struct onnx_declared *declared, const struct onnx_value *values,
                         size_t count, const char *what, struct error *err)
{
    const struct onnx_value *value = NULL;
    CLEANUP(text_finish) struct text words = TEXT_INIT;
    char path[64];
    bool same;

    for (size_t i = 0; i < count; i++)
        if (!strcmp(values[i].name, declared->name))
            value = &values[i];
    if (!value) {
        for (size_t i = 0; i < count; i++)
            text_append_format(&words, "%s \"%s\"", i ? "," : "", values[i].name);
        snprintf(path, sizeof(path), "%s.name", place);
        return declaration_error(declaration, path, err, "the model has no %s \"%s\"; it has%s",
                                 what, declared->name, words.data);
    }
    same = value->rank == declared->rank;
    for (size_t i = 0; i < declared->rank && same; i++)
        same = value->shape[i] == 0 || value->shape[i] == declared->shape[i];
    if (!same) {
        onnx_append_shape(&words, value->rank, value->shape);
        snprintf(path, sizeof(path), "%s.shape", place);
        return declaration_error(declaration, path, err, "the model's %s \"%s\" has the shape %s",
                                 what, declared->name, words.data);
    }
    if (value->type != onnx_type_of(declared->type))
        return declaration_error(declaration, place, err,
                                 "the model's %s \"%s\" is not of the type %s (its is number %d "
                                 "of ONNX)",
                                 what, declared->name, dtype_name(declared->type), value->type);
    return STATUS_OK;
}

/* What a tensor's values lie in although the declaration does not say so. */
static enum status check_undeclared(const struct declaration *declaration,
                                    const struct onnx_model *model, const char *path,
                                    struct error *err)
{
    const struct onnx_tensor *tensor = onnx_external_first(model);
    const char *location = tensor ? tensor->external.location : "";
    AUTO_FREE char *full = NULL;
    char hex[DIGEST_HEX_SIZE];
    struct digest found;

    if (!tensor || !location[0] || !onnx_external_stays(location))
        return STATUS_OK; /* onnx_external_join has the words */
    full = file_beside(path, location);
    if (full && digest_file(full, &found, NULL, NULL) == STATUS_OK)
        return declaration_error(declaration, "model", err,
                                 "%s has weights in the file %s, which are a part of what is "
                                 "measured: write `data: [{location: %s, sha256: %s}]` beside "
                                 "`path`",
                                 path, full, location, digest_hex(&found, hex));
    return declaration_error(declaration, "model", err,
                             "%s has weights in the file %s, which is not there; put it beside the "
                             "model, and write it as `data: [{location, sha256}]`",
                             path, full ? full : location);
}

/* The model with what lies beside it in it, if each file is what is declared. */
static enum status join(const struct declaration *declaration,
                        const struct onnx_parameters *parameters, const char *path,
                        struct onnx_model *model, struct text *bytes, struct onnx_side_file *files,
                        struct error *err)
{
    struct error inner = ERROR_INIT;

    for (size_t i = 0; i < parameters->data_count; i++) {
        char place[40];
        const struct named_file file = {place, "location", "the model's",
                                        &parameters->data[i].digest};

        snprintf(place, sizeof(place), "model.data[%zu]", i);
        files[i].location = parameters->data[i].location;
        files[i].path = file_beside(path, files[i].location);
        TRY(files[i].path ? look_at(declaration, &file, files[i].path, &files[i].size, err)
                          : error_no_memory(err));
    }
    if (parameters->data_count == 0)
        TRY(check_undeclared(declaration, model, path, err));
    return onnx_external_join(model, bytes, files, parameters->data_count, &inner) == STATUS_OK
               ? STATUS_OK
               : declaration_error(declaration, "model", err, "%s: %s", path, inner.message);
}

/* Whether the reference can compute the model, all of it, on inputs of the declared shapes. */
static enum status check_reference(const struct declaration *declaration,
                                   const struct onnx_parameters *parameters,
                                   const struct onnx_model *model, const char *path,
                                   struct error *err)
{
    struct onnx_array inputs[ONNX_ARRAYS_MAX], outputs[ONNX_ARRAYS_MAX];
    struct error inner = ERROR_INIT;

    for (size_t i = 0; i < parameters->input_count; i++)
        inputs[i] = onnx_declared_array(&parameters->inputs[i]);
    for (size_t i = 0; i < parameters->output_count; i++)
        outputs[i] = onnx_declared_array(&parameters->outputs[i]);
    if (onnx_reference_check(model, inputs, parameters->input_count, outputs,
                             parameters->output_count, &inner) == STATUS_OK)
        return STATUS_OK;
    return declaration_error(declaration, "model", err,
                             "%s: %s; nothing is measured without a check of what it computes: "
                             "where the model and these shapes are right, declare the outputs that "
                             "are expected, computed elsewhere, as `reference: {path, sha256}`",
                             path, inner.message);
}

static enum status check_arrays(const struct declaration *declaration,
                                const struct onnx_parameters *parameters,
                                const struct onnx_model *model, struct error *err)
{
    char place[40];

    for (size_t i = 0; i < parameters->input_count; i++) {
        snprintf(place, sizeof(place), "inputs[%zu]", i);
        TRY(match(declaration, place, &parameters->inputs[i], model->inputs, model->input_count,
                  "input", err));
    }
    for (size_t i = 0; i < parameters->output_count; i++) {
        snprintf(place, sizeof(place), "outputs[%zu]", i);
        TRY(match(declaration, place, &parameters->outputs[i], model->outputs, model->output_count,
                  "output", err));
    }
    if (model->input_count != parameters->input_count)
        TRY(declaration_error(declaration, "inputs", err,
                              "the model has %zu inputs, and %zu are declared", model->input_count,
                              parameters->input_count));
    return STATUS_OK;
}

static enum status check_model(const struct declaration *declaration,
                               const struct onnx_parameters *parameters, const char *path,
                               struct error *err)
{
    struct onnx_side_file files[ONNX_SIDE_FILES_MAX] = {0};
    CLEANUP(onnx_model_finish) struct onnx_model model = {0};
    CLEANUP(text_finish) struct text bytes = TEXT_INIT;
    struct error inner = ERROR_INIT;
    enum status status;

    TRY(file_read(path, ONNX_FILE_MAX, &bytes.data, &bytes.length, err));
    bytes.capacity = bytes.length + 1;
    if (onnx_model_read(bytes.data, bytes.length, &model, &inner) != STATUS_OK)
        return declaration_error(declaration, "model.path", err, "%s: %s", path, inner.message);
    TRY(check_arrays(declaration, parameters, &model, err));
    status = join(declaration, parameters, path, &model, &bytes, files, err);
    onnx_side_files_finish(files, ONNX_SIDE_FILES_MAX);
    TRY(status);
    return parameters->has_reference ? STATUS_OK
                                     : check_reference(declaration, parameters, &model, path, err);
}

/* Whether a file of tensors has these arrays, by name, type (or `other` for f32) and shape. */
static enum status check_tensors(const struct declaration *declaration, const char *place,
                                 const char *path, const struct onnx_declared *arrays, size_t count,
                                 enum dtype other, struct error *err)
{
    AUTO_FREE char *full = realpath(path, NULL); /* as a trial finds it, which follows no link */
    CLEANUP(tensors_close) struct tensors file = {0};
    const struct tensor *tensor;
    struct error inner = ERROR_INIT;
    enum status status = tensors_open(full ? full : path, &file, &inner);

    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = tensors_find(&file, arrays[i].name, arrays[i].type,
                              arrays[i].type == DTYPE_F32 ? other : arrays[i].type, arrays[i].rank,
                              arrays[i].shape, &tensor, &inner);
    return status == STATUS_OK
               ? status
               : declaration_error(declaration, place, err, "%s: %s", path, inner.message);
}

enum status onnx_check_files(const struct declaration *declaration, const struct onnx_paths *paths,
                             const struct onnx_parameters *parameters, struct error *err)
{
    AUTO_FREE char *model = NULL;
    AUTO_FREE char *reference = NULL;

    TRY(look(declaration, "model", paths->model, &parameters->model, &model, err));
    TRY(check_model(declaration, parameters, model, err));
    if (parameters->has_reference) {
        TRY(look(declaration, "reference", paths->reference, &parameters->reference, &reference,
                 err));
        TRY(check_tensors(declaration, "reference", reference, parameters->outputs,
                          parameters->output_count, DTYPE_F64, err));
    }
    for (size_t i = 0; i < parameters->input_count; i++) {
        const struct onnx_declared *input = &parameters->inputs[i];
        AUTO_FREE char *path = NULL;
        char place[64];

        if (!input->has_file)
            continue;
        snprintf(place, sizeof(place), "inputs[%zu].file", i);
        TRY(look(declaration, place, paths->inputs[i], &input->file, &path, err));
        TRY(check_tensors(declaration, place, path, input, 1, DTYPE_F32, err));
    }
    return STATUS_OK;
}

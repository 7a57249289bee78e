#include "harness/core/cleanup.h"
#include "workloads/onnx/external.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODEL_GRAPH = 7, GRAPH_TENSOR = 5 };                               /* fields of onnx.proto */
enum { TENSOR_RAW = 9, TENSOR_EXTERNAL = 13, TENSOR_DATA_LOCATION = 14 }; /* of a tensor */

const struct onnx_tensor *onnx_external_first(const struct onnx_model *model)
{
    for (size_t i = 0; i < model->tensor_count; i++)
        if (model->tensors[i].unread)
            return &model->tensors[i];
    return NULL;
}

bool onnx_external_stays(const char *location)
{
    if (location[0] == '/' || !location[0])
        return false;
    for (const char *at = location; *at; at += strcspn(at, "/"), at += *at == '/')
        if (!strncmp(at, "..", 2) && (at[2] == '/' || !at[2]))
            return false;
    return true;
}

static const struct onnx_side_file *find_file(const struct onnx_tensor *tensor,
                                              const struct onnx_side_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(files[i].location, tensor->external.location))
            return &files[i];
    return NULL;
}

/* How many bytes it has: as it says, else all that follow its offset. */
static uint64_t length_of(const struct onnx_tensor *tensor, const struct onnx_side_file *file)
{
    const struct onnx_external *external = &tensor->external;

    return external->has_length ? external->length : file->size - external->offset;
}

static enum status check_tensor(const struct onnx_tensor *tensor, const struct onnx_side_file *file,
                                struct error *err)
{
    const struct onnx_external *external = &tensor->external;
    const uint64_t wanted = tensor->elements * onnx_type_size(tensor->type);
    uint64_t length;

    if (!external->location[0])
        return error_set(err, STATUS_INVALID,
                         "its tensor \"%s\" lies in another file, and does not say in which",
                         tensor->name);
    if (!onnx_external_stays(external->location))
        return error_set(err, STATUS_INVALID,
                         "its tensor \"%s\" lies in \"%s\", which leaves the model's folder",
                         tensor->name, external->location);
    if (!file)
        return error_set(err, STATUS_INVALID,
                         "its tensor \"%s\" lies in \"%s\", which `data` does not name",
                         tensor->name, external->location);
    if (external->broken)
        return error_set(err, STATUS_INVALID,
                         "offset or length of its tensor \"%s\" in %s is not a number",
                         tensor->name, file->path);
    if (external->offset > file->size || length_of(tensor, file) > file->size - external->offset)
        return error_set(err, STATUS_INVALID,
                         "its tensor \"%s\" reaches from byte %llu beyond the end of %s, which has "
                         "%llu bytes",
                         tensor->name, (unsigned long long)external->offset, file->path,
                         (unsigned long long)file->size);
    length = length_of(tensor, file);
    if (wanted > 0 && length != wanted)
        return error_set(
            err, STATUS_INVALID, "its tensor \"%s\" has %llu bytes in %s, and its shape takes %llu",
            tensor->name, (unsigned long long)length, file->path, (unsigned long long)wanted);
    return STATUS_OK;
}

static bool is_used(const struct onnx_model *model, const struct onnx_side_file *file)
{
    for (size_t i = 0; i < model->tensor_count; i++)
        if (model->tensors[i].unread &&
            !strcmp(model->tensors[i].external.location, file->location))
            return true;
    return false;
}

static enum status check(const struct onnx_model *model, size_t length,
                         const struct onnx_side_file *files, size_t count, struct error *err)
{
    uint64_t whole = length;

    if (model->lies_deeper)
        return error_set(err, STATUS_INVALID,
                         "a constant within one of its nodes lies in another file, which only "
                         "initializers of the graph may");
    for (size_t i = 0; i < model->tensor_count; i++) {
        const struct onnx_tensor *tensor = &model->tensors[i];
        const struct onnx_side_file *file = find_file(tensor, files, count);

        if (!tensor->unread)
            continue;
        TRY(check_tensor(tensor, file, err));
        whole += length_of(tensor, file);
        if (whole > ONNX_FILE_MAX)
            return error_set(err, STATUS_INVALID,
                             "with its files it has more than %zu bytes, and a model has at most "
                             "that",
                             ONNX_FILE_MAX);
    }
    for (size_t i = 0; i < count; i++)
        if (!is_used(model, &files[i]))
            return error_set(err, STATUS_INVALID,
                             "no tensor of it lies in \"%s\"; remove that from `data`",
                             files[i].location);
    return STATUS_OK;
}

/* ---- joining ---- */

static enum status read_into(struct text *out, const struct onnx_tensor *tensor,
                             const struct onnx_side_file *file, struct error *err)
{
    const size_t length = (size_t)length_of(tensor, file);
    FILE *stream = fopen(file->path, "rbe");
    char *to = stream ? text_extend(out, length) : NULL;
    enum status status = STATUS_OK;

    if (!stream)
        return error_set(err, STATUS_IO, "%s: %s", file->path, strerror(errno));
    if (!to)
        status = error_no_memory(err);
    else if (fseeko(stream, (off_t)tensor->external.offset, SEEK_SET) < 0 ||
             fread(to, 1, length, stream) < length)
        status = feof(stream) ? error_set(err, STATUS_INVALID, "%s has become shorter", file->path)
                              : error_set(err, STATUS_IO, "%s: %s", file->path, strerror(errno));
    fclose(stream);
    return status;
}

/* A tensor's own fields, and its values as raw_data. */
static enum status put_tensor(struct text *out, struct onnx_bytes bytes,
                              const struct onnx_tensor *tensor, const struct onnx_side_file *file,
                              struct error *err)
{
    struct protobuf_field field;
    CLEANUP(text_finish) struct text kept = TEXT_INIT, head = TEXT_INIT;
    bool broken = false;

    while (protobuf_next(&bytes, &field, &broken))
        if (field.number != TENSOR_RAW && field.number != TENSOR_EXTERNAL &&
            field.number != TENSOR_DATA_LOCATION)
            text_append_bytes(&kept, field.whole.at, field.whole.length);
    protobuf_put_head(&head, TENSOR_RAW, length_of(tensor, file));
    protobuf_put_head(out, GRAPH_TENSOR, kept.length + head.length + length_of(tensor, file));
    text_append_bytes(out, kept.data, kept.length);
    text_append_bytes(out, head.data, head.length);
    out->failed = out->failed || kept.failed || head.failed;
    return read_into(out, tensor, file, err);
}

/* The graph's fields; its tensors come in the order in which the model has them. */
static enum status put_graph(struct text *out, const struct onnx_model *model,
                             struct onnx_bytes bytes, const struct onnx_side_file *files,
                             size_t count, struct error *err)
{
    struct protobuf_field field;
    size_t number = 0;
    bool broken = false;

    while (protobuf_next(&bytes, &field, &broken)) {
        const struct onnx_tensor *tensor =
            field.number == GRAPH_TENSOR ? &model->tensors[number++] : NULL;

        if (tensor && tensor->unread)
            TRY(put_tensor(out, field.bytes, tensor, find_file(tensor, files, count), err));
        else
            text_append_bytes(out, field.whole.at, field.whole.length);
    }
    return STATUS_OK;
}

static enum status put_model(struct text *out, const struct onnx_model *model,
                             struct onnx_bytes bytes, const struct onnx_side_file *files,
                             size_t count, struct error *err)
{
    CLEANUP(text_finish) struct text graph = TEXT_INIT;
    struct protobuf_field field;
    bool broken = false;

    while (protobuf_next(&bytes, &field, &broken)) {
        if (field.number != MODEL_GRAPH) {
            text_append_bytes(out, field.whole.at, field.whole.length);
            continue;
        }
        TRY(put_graph(&graph, model, field.bytes, files, count, err));
        protobuf_put_head(out, MODEL_GRAPH, graph.length);
        text_append_bytes(out, graph.data, graph.length);
    }
    return text_ok(out) && text_ok(&graph) ? STATUS_OK : error_no_memory(err);
}

enum status onnx_external_join(struct onnx_model *model, struct text *bytes,
                               const struct onnx_side_file *files, size_t count, struct error *err)
{
    const struct onnx_bytes own = {(const uint8_t *)bytes->data, bytes->length};
    CLEANUP(text_finish) struct text joined = TEXT_INIT;

    TRY(check(model, bytes->length, files, count, err));
    if (!onnx_external_first(model))
        return STATUS_OK;
    TRY(put_model(&joined, model, own, files, count, err));
    onnx_model_finish(model);
    text_finish(bytes);
    *bytes = joined;
    joined = (struct text)TEXT_INIT;
    return onnx_model_read(bytes->data, bytes->length, model, err);
}

void onnx_side_files_finish(struct onnx_side_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(files[i].path);
}

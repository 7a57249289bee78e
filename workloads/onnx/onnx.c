#include "workloads/onnx/onnx.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "harness/core/cleanup.h"
#include "harness/core/noted_file.h"
#include "workloads/kinds.h"
#include "workloads/onnx/external.h"

static void finish(struct workload_instance *base)
{
    struct onnx_instance *instance = (struct onnx_instance *)base;

    for (size_t i = 0; i < ONNX_ARRAYS_MAX; i++) {
        device_buffer_free(instance->inputs[i]);
        device_buffer_free(instance->outputs[i]);
        free(instance->expected[i]);
    }
    onnx_reference_destroy(instance->reference);
    onnx_model_finish(&instance->model);
    text_finish(&instance->file);
}

/* The files in which weights lie that are beside the model, and the model with these in it. */
static enum status join_weights(struct onnx_instance *instance, struct onnx_side_file *files,
                                struct error *err)
{
    const struct onnx_parameters *parameters = instance->parameters;

    for (size_t i = 0; i < parameters->data_count; i++) {
        const struct onnx_data_file *data = &parameters->data[i];
        struct stat about;

        files[i].location = data->location;
        TRY(noted_file_find(&data->digest, data->location, &files[i].path, err));
        if (stat(files[i].path, &about) == 0)
            files[i].size = (uint64_t)about.st_size;
    }
    return onnx_external_join(&instance->model, &instance->file, files, parameters->data_count,
                              err);
}

static enum status read_model(struct onnx_instance *instance, struct error *err)
{
    struct onnx_side_file files[ONNX_SIDE_FILES_MAX] = {0};
    enum status status;

    TRY(onnx_file_read(&instance->parameters->model, "the model", &instance->file, err));
    TRY(onnx_model_read(instance->file.data, instance->file.length, &instance->model, err));
    status = join_weights(instance, files, err);
    onnx_side_files_finish(files, ONNX_SIDE_FILES_MAX);
    TRY(status);
    if (!instance->parameters->has_reference)
        TRY(onnx_reference_create(&instance->model, &instance->reference, err));
    return STATUS_OK;
}

static enum status bind(struct onnx_instance *instance, const struct onnx_declared *declared,
                        struct buffer **buffer, struct framework_array *ret, struct error *err)
{
    *ret = (struct framework_array){
        .name = declared->name, .type = declared->type, .rank = declared->rank};
    for (size_t i = 0; i < declared->rank; i++)
        ret->shape[i] = (int64_t)declared->shape[i];
    TRY(device_buffer_alloc(instance->base.device,
                            declared->elements * (dtype_bits(declared->type) / 8),
                            BUFFER_READ_WRITE, buffer, err));
    ret->buffer = *buffer;
    return STATUS_OK;
}

static enum status init(struct workload_instance *base, struct error *err)
{
    struct onnx_instance *instance = (struct onnx_instance *)base;
    const struct onnx_parameters *parameters = base->work.workload->parameters;
    struct framework_array inputs[ONNX_ARRAYS_MAX], outputs[ONNX_ARRAYS_MAX];
    struct framework_model wanted = workload_framework_model(base);

    instance->parameters = parameters;
    text_init(&instance->file);
    if (!base->work.framework)
        return error_set(err, STATUS_UNSUPPORTED,
                         "assay's own backends do not run ONNX files: a worker does, such as "
                         "--worker onnxruntime");
    TRY(read_model(instance, err));
    for (size_t i = 0; i < parameters->input_count; i++)
        TRY(bind(instance, &parameters->inputs[i], &instance->inputs[i], &inputs[i], err));
    for (size_t i = 0; i < parameters->output_count; i++)
        TRY(bind(instance, &parameters->outputs[i], &instance->outputs[i], &outputs[i], err));
    TRY(onnx_fill(instance, NULL, err));
    TRY(onnx_poison(instance, err));
    wanted.onnx = instance->file.data;
    wanted.length = instance->file.length;
    wanted.inputs = inputs;
    wanted.outputs = outputs;
    wanted.input_count = parameters->input_count;
    wanted.output_count = parameters->output_count;
    return framework_prepare(base->work.framework, &wanted, err);
}

static json_t *facts(struct workload_instance *base)
{
    const struct onnx_instance *instance = (const struct onnx_instance *)base;
    char hex[DIGEST_HEX_SIZE];

    return json_pack(
        "{s:o, s:{s:s, s:I, s:I, s:I, s:s}}", "framework", workload_framework_json(&base->work),
        "model", "sha256", digest_hex(&instance->parameters->model, hex), "bytes",
        (json_int_t)instance->file.length, "nodes", (json_int_t)instance->model.node_count,
        "operators", (json_int_t)instance->model.operators, "reference",
        instance->reference ? "fp64" : "declared");
}

static void add_file(const struct digest *digest, struct backend_file_list *ret)
{
    AUTO_FREE char *path = noted_file_path(digest);

    if (path)
        backend_file_list_add(ret, "model", path, NULL);
}

static void files(const struct workload_case *work, struct backend_file_list *ret)
{
    const struct onnx_parameters *parameters = work->workload->parameters;

    add_file(&parameters->model, ret);
    for (size_t i = 0; i < parameters->data_count; i++)
        add_file(&parameters->data[i].digest, ret);
}

static struct buffer *result(struct workload_instance *base)
{
    return ((struct onnx_instance *)base)->outputs[0];
}

const struct workload_kind workload_onnx = {
    .name = "onnx",
    .summary = "a model in an ONNX file, run by a framework",
    .form = &onnx_form,
    .cost = onnx_cost,
    .describe = onnx_describe,
    .ready = onnx_files_ready,
    .instance_size = sizeof(struct onnx_instance),
    .init = init,
    .iterate = onnx_iterate,
    .result = result,
    .runs_frameworks = true,
    .needs_framework = true,
    .checks = &onnx_checks,
    .facts = facts,
    .files = files,
    .finish = finish,
};

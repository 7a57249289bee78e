#include "backends/framework.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/internal.h"
#include "backends/cpu/threads.h"
#include "backends/frameworks/frameworks.h"

enum status framework_open(const char *interface, const char *library, struct framework **ret,
                           struct error *err)
{
    static const struct framework_ops *const known[] = {&framework_onnxruntime,
                                                        &framework_openvino};
    const char *const sonames[] = {library, NULL};
    const struct framework_ops *ops = NULL;
    struct framework *framework;
    enum status status;

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (!strcmp(known[i]->name, interface))
            ops = known[i];
    if (!ops)
        return error_set(err, STATUS_UNSUPPORTED,
                         "no interface \"%s\" is known: write onnxruntime or openvino", interface);
    framework = calloc(1, ops->size);
    if (!framework)
        return error_no_memory(err);
    framework->ops = ops;
    strcpy(framework->info.name, ops->name);
    /* This thread is bound as the first of our own pool; a library's threads would inherit that. */
    cpu_threads_unbind();
    status = ops->open(framework, sonames, err);
    if (status != STATUS_OK) {
        framework_close(framework);
        return status;
    }
    *ret = framework;
    return STATUS_OK;
}

size_t framework_array_bytes(const struct framework_array *array)
{
    size_t bytes = dtype_bits(array->type) / 8;

    for (size_t i = 0; i < array->rank; i++)
        bytes *= (size_t)array->shape[i];
    return bytes;
}

enum status framework_memory(const struct buffer *buffer, void **ret, struct error *err)
{
    if (buffer->device->backend->ops != &cpu_backend_ops)
        return error_set(err, STATUS_UNSUPPORTED,
                         "frameworks run in this processor's memory: choose the device cpu:0");
    *ret = ((const struct cpu_buffer *)buffer)->bytes;
    return STATUS_OK;
}

/* The memory of an array. */
static enum status find_memory(const struct framework_array *array, void **ret, struct error *err)
{
    const uint64_t bytes = array->buffer->bytes;
    uint64_t room;

    TRY(framework_memory(array->buffer, ret, err));
    if (array->type != DTYPE_F64 && array->type != DTYPE_F32 && array->type != DTYPE_BF16 &&
        array->type != DTYPE_I32 && array->type != DTYPE_I64)
        return error_set(err, STATUS_UNSUPPORTED,
                         "%s is in %s: frameworks take f64, f32, bf16, i32 and i64", array->name,
                         dtype_name(array->type));
    room = array->offset > bytes ? 0 : (bytes - array->offset) / (dtype_bits(array->type) / 8);
    for (size_t i = 0; i < array->rank && array->rank <= FRAMEWORK_RANK_MAX; i++)
        room = array->shape[i] < 1 ? 0 : room / (uint64_t)array->shape[i];
    if (room < 1 || array->rank > FRAMEWORK_RANK_MAX)
        return error_set(err, STATUS_INVALID, "%s exceeds its buffer", array->name);
    *ret = (char *)*ret + array->offset;
    return STATUS_OK;
}

/* "fp32" of ours is "f32" of theirs. */
static const char *element_name(enum precision precision)
{
    return dtype_name(precision_dtype(precision));
}

enum status framework_prepare(struct framework *framework, const struct framework_model *model,
                              struct error *err)
{
    const struct framework_info *info = &framework->info;
    struct framework_memory memory;

    if (framework->model_count == FRAMEWORK_MODELS_MAX)
        return error_set(err, STATUS_INTERNAL, "more than %d models", FRAMEWORK_MODELS_MAX);
    if (model->input_count > FRAMEWORK_ARRAYS_MAX || model->output_count > FRAMEWORK_ARRAYS_MAX)
        return error_set(err, STATUS_INVALID, "a model has at most %d inputs and as many outputs",
                         FRAMEWORK_ARRAYS_MAX);
    for (size_t i = 0; i < model->input_count; i++)
        TRY(find_memory(&model->inputs[i], &memory.inputs[i], err));
    for (size_t i = 0; i < model->output_count; i++)
        TRY(find_memory(&model->outputs[i], &memory.outputs[i], err));
    TRY(framework->ops->prepare(framework, model, &memory, err));
    if (!model->own_precision && info->precision[0] &&
        strcmp(info->precision, element_name(model->precision)) != 0)
        return error_set(
            err, STATUS_UNSUPPORTED,
            "%s %s was told to compute in %s and reports %s: it has that on other processors",
            info->name, info->version, element_name(model->precision), info->precision);
    framework->model_count++;
    return STATUS_OK;
}

uint32_t framework_threads(const struct device *device)
{
    return device->backend->ops == &cpu_backend_ops ? ((const struct cpu_device *)device)->threads
                                                    : 1;
}

enum status framework_run(struct framework *framework, size_t model, struct error *err)
{
    return framework->ops->run(framework, model, err);
}

void framework_describe(const struct framework *framework, struct framework_info *ret)
{
    *ret = framework->info;
}

void framework_close(struct framework *framework)
{
    if (!framework)
        return;
    framework->ops->finish(framework);
    free(framework->library.path);
    free(framework->library.tried);
    free(framework);
}

/*
 * OpenVINO by its C interface (docs.openvino.ai, "OpenVINO Runtime C API"), of which the part that
 * is used is declared anew. Element types are those of 2024.4 and later.
 */
#include <stdio.h>
#include <stdlib.h>

#include "backends/frameworks/frameworks.h"

enum { OV_BF16 = 2, OV_F32 = 4, OV_I32 = 9, OV_I64 = 10 };

struct ov_shape {
    int64_t rank, *dims;
};

struct ov_version {
    const char *build, *description;
};

/* Of ov_core_compile_model `count` texts follow: names and values of properties in turn. */
#define OPENVINO_MAP(X)                                                                            \
    X(int, ov_get_openvino_version, (struct ov_version *))                                         \
    X(void, ov_version_free, (struct ov_version *))                                                \
    X(const char *, ov_get_error_info, (int status))                                               \
    X(const char *, ov_get_last_err_msg, (void))                                                   \
    X(void, ov_free, (const char *))                                                               \
    X(int, ov_core_create, (void **core))                                                          \
    X(void, ov_core_free, (void *))                                                                \
    X(int, ov_core_read_model_from_memory_buffer,                                                  \
      (const void *core, const char *model, size_t length, const void *weights, void **ret))       \
    X(int, ov_core_compile_model,                                                                  \
      (const void *core, const void *model, const char *device, size_t count, void **ret, ...))    \
    X(int, ov_compiled_model_get_property, (const void *compiled, const char *key, char **ret))    \
    X(int, ov_compiled_model_create_infer_request, (const void *compiled, void **ret))             \
    X(int, ov_shape_create, (int64_t rank, const int64_t *dims, struct ov_shape *ret))             \
    X(int, ov_shape_free, (struct ov_shape *))                                                     \
    X(int, ov_tensor_create_from_host_ptr,                                                         \
      (int type, struct ov_shape shape, void *memory, void **ret))                                 \
    X(int, ov_infer_request_set_tensor, (void *request, const char *name, const void *tensor))     \
    X(int, ov_infer_request_infer, (void *request))                                                \
    X(void, ov_tensor_free, (void *))                                                              \
    X(void, ov_infer_request_free, (void *))                                                       \
    X(void, ov_compiled_model_free, (void *))                                                      \
    X(void, ov_model_free, (void *))

struct functions {
    OPENVINO_MAP(DYNLIB_MEMBER)
};

#define DYNLIB_API struct functions
static const struct dynlib_symbol symbols[] = {OPENVINO_MAP(DYNLIB_REQUIRED)};

struct prepared {
    void *model, *compiled, *request;
    void *tensors[2 * FRAMEWORK_ARRAYS_MAX]; /* inputs, then outputs */
    size_t count;
};

struct openvino {
    struct framework base;
    struct functions api;
    void *core;
    struct prepared models[FRAMEWORK_MODELS_MAX];
};

static struct openvino *self_of(struct framework *framework)
{
    return (struct openvino *)framework;
}

static enum status check(const struct openvino *self, const char *call, int answer,
                         struct error *err)
{
    const char *words;
    enum status status;

    if (answer == 0)
        return STATUS_OK;
    words = self->api.ov_get_last_err_msg();
    status = error_set(err, STATUS_DEVICE, "OpenVINO: %s: %s (%d): %s", call,
                       self->api.ov_get_error_info(answer), answer, words ? words : "");
    self->api.ov_free(words);
    return status;
}

static enum status open_library(struct framework *framework, const char *const *sonames,
                                struct error *err)
{
    const struct dynlib_spec spec = DYNLIB_SPEC("openvino", sonames, symbols);
    struct openvino *self = self_of(framework);
    struct ov_version version = {0};

    TRY(dynlib_open(&spec, &framework->library, &self->api, err));
    TRY(check(self, "ov_get_openvino_version", self->api.ov_get_openvino_version(&version), err));
    snprintf(framework->info.version, sizeof(framework->info.version), "%s",
             version.build ? version.build : "");
    self->api.ov_version_free(&version);
    return check(self, "ov_core_create", self->api.ov_core_create(&self->core), err);
}

/* What the compiled model says of itself; "" where it has no such property. */
static void ask(const struct openvino *self, const void *compiled, const char *key,
                char ret[FRAMEWORK_WORD_MAX])
{
    char *value = NULL;

    ret[0] = '\0';
    if (self->api.ov_compiled_model_get_property(compiled, key, &value) != 0 || !value)
        return;
    snprintf(ret, FRAMEWORK_WORD_MAX, "%s", value);
    self->api.ov_free(value);
}

static enum status compile(struct openvino *self, const struct framework_model *model,
                           struct prepared *made, struct error *err)
{
    static const char device[] = "CPU", hint[] = "PERFORMANCE_HINT", latency[] = "LATENCY";
    static const char streams[] = "NUM_STREAMS", threads[] = "INFERENCE_NUM_THREADS";
    static const char precision[] = "INFERENCE_PRECISION_HINT";
    const char *const type = dtype_name(precision_dtype(model->precision));
    char number[16], said[FRAMEWORK_WORD_MAX];
    int answer;

    snprintf(number, sizeof(number), "%u", model->threads);
    answer =
        model->own_precision
            ? self->api.ov_core_compile_model(self->core, made->model, device, 6, &made->compiled,
                                              hint, latency, streams, "1", threads, number)
            : self->api.ov_core_compile_model(self->core, made->model, device, 8, &made->compiled,
                                              hint, latency, streams, "1", threads, number,
                                              precision, type);
    TRY(check(self, "ov_core_compile_model", answer, err));
    ask(self, made->compiled, precision, self->base.info.precision);
    ask(self, made->compiled, threads, said);
    self->base.info.threads = (uint32_t)strtoul(said, NULL, 10);
    return STATUS_OK;
}

static enum status bind(struct openvino *self, const struct framework_array *array, void *memory,
                        struct prepared *made, struct error *err)
{
    const int type = array->type == DTYPE_BF16  ? OV_BF16
                     : array->type == DTYPE_F32 ? OV_F32
                     : array->type == DTYPE_I32 ? OV_I32
                                                : OV_I64;
    struct ov_shape shape = {0};
    void *tensor = NULL;
    enum status status =
        check(self, "ov_shape_create",
              self->api.ov_shape_create((int64_t)array->rank, array->shape, &shape), err);

    TRY(status);
    status = check(self, "ov_tensor_create_from_host_ptr",
                   self->api.ov_tensor_create_from_host_ptr(type, shape, memory, &tensor), err);
    self->api.ov_shape_free(&shape);
    TRY(status);
    made->tensors[made->count++] = tensor;
    return check(self, array->name,
                 self->api.ov_infer_request_set_tensor(made->request, array->name, tensor), err);
}

static enum status prepare(struct framework *framework, const struct framework_model *model,
                           const struct framework_memory *memory, struct error *err)
{
    struct openvino *self = self_of(framework);
    const struct functions *api = &self->api;
    struct prepared *made = &self->models[framework->model_count];

    TRY(check(self, "ov_core_read_model_from_memory_buffer",
              api->ov_core_read_model_from_memory_buffer(self->core, model->onnx, model->length,
                                                         NULL, &made->model),
              err));
    TRY(compile(self, model, made, err));
    TRY(check(self, "ov_compiled_model_create_infer_request",
              api->ov_compiled_model_create_infer_request(made->compiled, &made->request), err));
    for (size_t i = 0; i < model->input_count; i++)
        TRY(bind(self, &model->inputs[i], memory->inputs[i], made, err));
    for (size_t i = 0; i < model->output_count; i++)
        TRY(bind(self, &model->outputs[i], memory->outputs[i], made, err));
    return STATUS_OK;
}

static enum status run(struct framework *framework, size_t model, struct error *err)
{
    struct openvino *self = self_of(framework);

    return check(self, "ov_infer_request_infer",
                 self->api.ov_infer_request_infer(self->models[model].request), err);
}

static void finish(struct framework *framework)
{
    struct openvino *self = self_of(framework);
    const struct functions *api = &self->api;

    for (size_t i = 0; i < FRAMEWORK_MODELS_MAX; i++) {
        const struct prepared *made = &self->models[i];

        for (size_t t = 0; t < made->count; t++)
            api->ov_tensor_free(made->tensors[t]);
        if (made->request)
            api->ov_infer_request_free(made->request);
        if (made->compiled)
            api->ov_compiled_model_free(made->compiled);
        if (made->model)
            api->ov_model_free(made->model);
    }
    if (self->core)
        api->ov_core_free(self->core);
}

const struct framework_ops framework_openvino = {
    .name = "openvino",
    .size = sizeof(struct openvino),
    .open = open_library,
    .prepare = prepare,
    .run = run,
    .finish = finish,
};

#include "backends/frameworks/onnxruntime.h"

#include <stdio.h>

#include "backends/frameworks/frameworks.h"

struct functions {
    const struct ort_base *(*OrtGetApiBase)(void);
};

/* Arrays in the form that a run takes. */
struct bound {
    const char *names[FRAMEWORK_ARRAYS_MAX];
    struct ort_value *values[FRAMEWORK_ARRAYS_MAX];
    size_t count;
};

struct prepared {
    struct ort_session *session;
    struct bound inputs, outputs;
};

struct onnxruntime {
    struct framework base;
    const struct ort_api *api;
    struct ort_threads *threads;
    struct ort_env *env;
    struct ort_options *options;
    struct ort_memory *memory;
    struct prepared models[FRAMEWORK_MODELS_MAX];
};

static struct onnxruntime *self_of(struct framework *framework)
{
    return (struct onnxruntime *)framework;
}

/* Takes what a call answered. */
static enum status check(const struct onnxruntime *self, const char *call,
                         struct ort_status *answer, struct error *err)
{
    enum status status;

    if (!answer)
        return STATUS_OK;
    status = error_set(err, STATUS_DEVICE, "ONNX Runtime: %s: %s", call,
                       self->api->get_error_message(answer));
    self->api->release_status(answer);
    return status;
}

static enum status open_library(struct framework *framework, const char *const *sonames,
                                struct error *err)
{
#define DYNLIB_API struct functions
    static const struct dynlib_symbol symbols[] = {DYNLIB_REQUIRED(, OrtGetApiBase)};
    const struct dynlib_spec spec = DYNLIB_SPEC("onnxruntime", sonames, symbols);
    struct onnxruntime *self = self_of(framework);
    struct functions functions = {0};
    const struct ort_base *base;

    TRY(dynlib_open(&spec, &framework->library, &functions, err));
    base = functions.OrtGetApiBase();
    snprintf(framework->info.version, sizeof(framework->info.version), "%s", base->get_version());
    self->api = base->get_api(ORT_TABLE_VERSION);
    if (!self->api)
        return error_set(err, STATUS_UNAVAILABLE,
                         "ONNX Runtime %s has no interface of 1.%d: install a later one",
                         framework->info.version, ORT_TABLE_VERSION);
    return STATUS_OK;
}

static enum status bind(const struct onnxruntime *self, const struct framework_array *arrays,
                        size_t count, void *const *memory, struct bound *ret, struct error *err)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        const struct framework_array *array = &arrays[i];
        const int type = array->type == DTYPE_F64   ? ORT_DOUBLE
                         : array->type == DTYPE_F32 ? ORT_FLOAT
                         : array->type == DTYPE_I32 ? ORT_INT32
                                                    : ORT_INT64;

        ret->names[i] = array->name;
        status =
            check(self, "CreateTensorWithDataAsOrtValue",
                  self->api->create_tensor(self->memory, memory[i], framework_array_bytes(array),
                                           array->shape, array->rank, type, &ret->values[i]),
                  err);
        ret->count = i + 1;
    }
    return status;
}

/* What all models share: with a pool of threads each, those of one would spin beside the other's.
 */
static enum status begin(struct onnxruntime *self, int threads, struct error *err)
{
    const struct ort_api *api = self->api;

    self->base.info.threads = (uint32_t)threads;
    TRY(check(self, "CreateThreadingOptions", api->create_threads(&self->threads), err));
    TRY(check(self, "SetGlobalIntraOpNumThreads", api->set_threads_within(self->threads, threads),
              err));
    TRY(check(self, "SetGlobalInterOpNumThreads", api->set_threads_between(self->threads, 1), err));
    TRY(check(self, "CreateEnvWithGlobalThreadPools",
              api->create_env(ORT_LOG_WARNING, "assay", self->threads, &self->env), err));
    TRY(check(self, "CreateSessionOptions", api->create_options(&self->options), err));
    TRY(check(self, "DisablePerSessionThreads", api->share_threads(self->options), err));
    TRY(check(self, "SetSessionGraphOptimizationLevel",
              api->set_optimisation(self->options, ORT_OPTIMISE_ALL), err));
    return check(self, "CreateCpuMemoryInfo",
                 api->create_memory(ORT_ARENA_ALLOCATOR, ORT_MEMORY_DEFAULT, &self->memory), err);
}

static enum status prepare(struct framework *framework, const struct framework_model *model,
                           const struct framework_memory *memory, struct error *err)
{
    struct onnxruntime *self = self_of(framework);
    struct prepared *made = &self->models[framework->model_count];

    if (model->outputs[0].type != precision_dtype(model->precision) ||
        (model->precision != PRECISION_FP64 && model->precision != PRECISION_FP32))
        return error_set(err, STATUS_UNSUPPORTED,
                         "ONNX Runtime computes a model in the types that it is written in, on "
                         "processors in fp64 and fp32: not in %s one whose results are in %s",
                         precision_name(model->precision), dtype_name(model->outputs[0].type));
    if (framework->model_count == 0)
        TRY(begin(self, (int)model->threads, err));
    TRY(check(self, "CreateSessionFromArray",
              self->api->create_session(self->env, model->onnx, model->length, self->options,
                                        &made->session),
              err));
    TRY(bind(self, model->inputs, model->input_count, memory->inputs, &made->inputs, err));
    return bind(self, model->outputs, model->output_count, memory->outputs, &made->outputs, err);
}

static enum status run(struct framework *framework, size_t model, struct error *err)
{
    struct onnxruntime *self = self_of(framework);
    struct prepared *made = &self->models[model];
    struct bound *in = &made->inputs, *out = &made->outputs;

    return check(self, "Run",
                 self->api->run(made->session, NULL, in->names,
                                (const struct ort_value *const *)in->values, in->count, out->names,
                                out->count, out->values),
                 err);
}

static void release(const struct ort_api *api, const struct bound *bound)
{
    for (size_t i = 0; i < bound->count; i++)
        if (bound->values[i])
            api->release_value(bound->values[i]);
}

static void finish(struct framework *framework)
{
    struct onnxruntime *self = self_of(framework);
    const struct ort_api *api = self->api;

    if (!api)
        return;
    for (size_t i = 0; i < FRAMEWORK_MODELS_MAX; i++) {
        release(api, &self->models[i].outputs);
        release(api, &self->models[i].inputs);
        if (self->models[i].session)
            api->release_session(self->models[i].session);
    }
    if (self->memory)
        api->release_memory(self->memory);
    if (self->options)
        api->release_options(self->options);
    if (self->env)
        api->release_env(self->env);
    if (self->threads)
        api->release_threads(self->threads);
}

const struct framework_ops framework_onnxruntime = {
    .name = "onnxruntime",
    .size = sizeof(struct onnxruntime),
    .open = open_library,
    .prepare = prepare,
    .run = run,
    .finish = finish,
};

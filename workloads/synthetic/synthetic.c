/*
 * synthetic - a workload that measures no device but tests the tool: so many launches an iteration,
 * and a check that needs only memory that keeps its content. It is meant for the null backend,
 * whose declared timings and faults it makes visible.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/clock.h"
#include "harness/core/cleanup.h"
#include "harness/core/random.h"
#include "workloads/declaration.h"
#include "workloads/check/frame.h"
#include "workloads/kernel_text.h"
#include "workloads/kinds.h"

#define LAUNCHES_MAX 1000000
#define ELEMENTS_MAX (1 << 28)
#define SERVICE_STREAM 0x73657276 /* "serv" */
#define TIMER_SLACK_NS INT64_C(100000)

enum service_law { SERVICE_DETERMINISTIC, SERVICE_EXPONENTIAL };

/* How long a step of a server takes: (base + per_item * batch), or exponential with that mean,
 * drawn anew in each trial. */
struct synthetic_service {
    int64_t base_ns, per_item_ns;
    enum service_law law;
    int64_t stall_at_ns, stall_ns; /* the first step after stall_at takes so much longer; 0: none */
};

struct synthetic_section {
    int64_t launches;
    int64_t elements;
};

struct synthetic_parameters {
    int64_t launches;
    int64_t elements;
    struct synthetic_service service;
};

struct synthetic_declaration {
    struct workload_declaration common;
    struct synthetic_section synthetic;
    struct synthetic_service service;
};

static const struct declaration_name law_names[] = {
    {"deterministic", SERVICE_DETERMINISTIC},
    {"exponential", SERVICE_EXPONENTIAL},
};

#define DURATION (FIELD_OPTIONAL | DECLARATION_DURATION)

static const struct declaration_field service_fields[] = {
    FIELD_INT("base", DURATION, struct synthetic_service, base_ns),
    FIELD_INT("per_item", DURATION, struct synthetic_service, per_item_ns),
    FIELD_ENUM("distribution", FIELD_OPTIONAL, struct synthetic_service, law, law_names, 2),
    FIELD_INT("stall_at", DURATION, struct synthetic_service, stall_at_ns),
    FIELD_INT("stall", DURATION, struct synthetic_service, stall_ns),
    FIELD_END,
};

static const struct declaration_field section_fields[] = {
    FIELD_INT("launches", FIELD_OPTIONAL, struct synthetic_section, launches),
    FIELD_INT("elements", FIELD_OPTIONAL, struct synthetic_section, elements),
    FIELD_END,
};

static const struct declaration_field fields[] = {
    WORKLOAD_DECLARATION_FIELDS(struct synthetic_declaration),
    FIELD_GROUP("synthetic", FIELD_REQUIRED, struct synthetic_declaration, synthetic,
                section_fields),
    FIELD_GROUP("service", FIELD_OPTIONAL, struct synthetic_declaration, service, service_fields),
    FIELD_END,
};

static const struct declaration_schema schema = {ENTRY_GROUP(struct synthetic_declaration, fields)};

struct synthetic_instance {
    struct workload_instance base;
    int64_t launches;
    uint64_t elements;
    float *pattern; /* what was uploaded to `source` */
    float *received;
    struct buffer *source, *target;
    struct module *module;
    bool stalled; /* the declared stall is over */
};

static enum status check_service(const struct declaration *declaration,
                                 const struct synthetic_declaration *data, struct error *err)
{
    const struct synthetic_service *service = &data->service;

    if (declaration_has(declaration, "service") && data->common.scenario != SCENARIO_SERVER)
        return declaration_error(declaration, "service", err,
                                 "`service` belongs to `scenario: server`; write that, or remove "
                                 "it");
    if (service->base_ns < 0 || service->per_item_ns < 0 || service->stall_ns < 0)
        return declaration_error(declaration, "service", err,
                                 "a time of `service` is negative; write durations such as 200us");
    return STATUS_OK;
}

static enum status check_declaration(const struct declaration *declaration,
                                     struct workload *workload, struct error *err)
{
    struct synthetic_declaration *data = declaration->data;
    struct synthetic_parameters *parameters;

    if (!declaration_has(declaration, "synthetic.launches"))
        data->synthetic.launches = 1;
    if (!declaration_has(declaration, "synthetic.elements"))
        data->synthetic.elements = 4096;
    TRY(workload_declaration_check_count(declaration, "synthetic.launches",
                                         data->synthetic.launches, LAUNCHES_MAX, "launches", err));
    TRY(workload_declaration_check_count(declaration, "synthetic.elements",
                                         data->synthetic.elements, ELEMENTS_MAX, "elements", err));
    TRY(check_service(declaration, data, err));
    parameters = malloc(sizeof(*parameters));
    if (parameters == NULL)
        return error_no_memory(err);
    *parameters = (struct synthetic_parameters){data->synthetic.launches, data->synthetic.elements,
                                                data->service};
    workload->parameters = parameters;
    return STATUS_OK;
}

static const struct workload_form form = {&schema, check_declaration};

static enum status cost(const struct workload_case *work, struct workload_cost *ret,
                        struct error *err)
{
    const struct synthetic_parameters *parameters = work->workload->parameters;
    uint64_t bytes = 2 * (uint64_t)parameters->elements * sizeof(float);

    (void)err;
    *ret = (struct workload_cost){
        .items = (uint64_t)parameters->launches,
        .item_name = "call",
        .device_memory_bytes = bytes,
        .working_set_bytes = bytes,
        .headline = "items",
    };
    return STATUS_OK;
}

static void describe(const struct workload *workload, struct text *ret)
{
    const struct synthetic_parameters *parameters = workload->parameters;

    text_append_format(ret, "launches per iteration: %lld\nelements: %lld\n",
                       (long long)parameters->launches, (long long)parameters->elements);
}

static void finish(struct workload_instance *base)
{
    struct synthetic_instance *instance = (struct synthetic_instance *)base;

    device_module_unload(base->device, instance->module);
    device_buffer_free(instance->target);
    device_buffer_free(instance->source);
    free(instance->received);
    free(instance->pattern);
}

static enum status allocate(struct synthetic_instance *instance, struct error *err)
{
    uint64_t bytes = instance->elements * sizeof(float);

    instance->pattern = malloc(bytes);
    instance->received = malloc(bytes);
    if (instance->pattern == NULL || instance->received == NULL)
        return error_no_memory(err);
    for (uint64_t i = 0; i < instance->elements; ++i)
        instance->pattern[i] =
            (float)(2 * random_unit(random_at(instance->base.work.seed, 0, i)) - 1);
    TRY(device_buffer_alloc(instance->base.device, bytes, BUFFER_READ_WRITE, &instance->source,
                            err));
    TRY(device_buffer_alloc(instance->base.device, bytes, BUFFER_READ_WRITE, &instance->target,
                            err));
    return device_upload(instance->source, 0, instance->pattern, bytes, err);
}

static enum status compile(struct synthetic_instance *instance, struct error *err)
{
    static const char *const files[] = {"synthetic.h"};
    const struct module_source source = {.file = "workloads/kernels/synthetic.h", .lanes = 1};

    return kernel_text_load(instance->base.device, files, 1, source, &instance->module, err);
}

static enum status init(struct workload_instance *base, struct error *err)
{
    const struct workload_case *work = &base->work;
    const struct synthetic_parameters *parameters = work->workload->parameters;
    struct synthetic_instance *instance = (struct synthetic_instance *)base;

    if (work->implementation != IMPLEMENTATION_PORTABLE)
        return error_set(err, STATUS_UNSUPPORTED, "synthetic has no %s implementation",
                         implementation_name(work->implementation));
    if (work->precision != PRECISION_FP32)
        return error_set(err, STATUS_UNSUPPORTED, "synthetic runs in fp32, not in %s",
                         precision_name(work->precision));
    instance->launches = parameters->launches;
    instance->elements = (uint64_t)parameters->elements;
    TRY(allocate(instance, err));
    return compile(instance, err);
}

static enum status iterate(struct workload_instance *base, struct error *err)
{
    struct synthetic_instance *instance = (struct synthetic_instance *)base;
    const struct kernel_arg args[] = {
        {.type = KERNEL_ARG_BUFFER, .buffer = instance->source},
        {.type = KERNEL_ARG_BUFFER, .buffer = instance->target},
        {.type = KERNEL_ARG_U64, .u64 = instance->elements},
    };
    const struct kernel_launch launch = {
        .module = instance->module,
        .kernel = "synthetic_touch",
        .groups = {1, 1, 1},
        .args = args,
        .arg_count = sizeof(args) / sizeof(args[0]),
    };

    for (int64_t i = 0; i < instance->launches; ++i)
        TRY(device_kernel_launch(base->device, &launch, err));
    return STATUS_OK;
}

static enum status serve(struct workload_instance *base, const struct workload_step *step,
                         struct error *err)
{
    struct synthetic_instance *instance = (struct synthetic_instance *)base;
    const struct synthetic_parameters *parameters = base->work.workload->parameters;
    const struct synthetic_service *service = &parameters->service;
    double length_ns =
        (double)service->base_ns + (double)service->per_item_ns * (double)step->batch;
    const enum status status = check_iterate(base, err);

    if (service->law == SERVICE_EXPONENTIAL)
        length_ns *= -log1p(-random_unit(random_at(step->seed, SERVICE_STREAM, step->number)));
    if (service->stall_ns > 0 && step->at_ns >= service->stall_at_ns && !instance->stalled) {
        instance->stalled = true;
        length_ns += (double)service->stall_ns;
    }
    clock_wait_until_ns(step->begin_ns + (int64_t)length_ns, TIMER_SLACK_NS);
    return status;
}

static void compare_pattern(const struct synthetic_instance *instance, struct check_sink *sink)
{
    struct workload_check check = {
        .output = "pattern",
        .metric = "max_absolute",
        .reason = "memory must give back what it was given",
        .compared = instance->elements,
        .passed = true,
    };
    uint64_t worst = 0;

    for (uint64_t i = 0; i < instance->elements; ++i) {
        double difference = fabs((double)instance->received[i] - (double)instance->pattern[i]);

        /* Bits are compared, so that a NaN counts as well. */
        if (memcmp(&instance->received[i], &instance->pattern[i], sizeof(float)) == 0)
            continue;
        if (check.passed || difference > check.error) {
            worst = i;
            check.error = isfinite(difference) ? difference : DBL_MAX; /* JSON has no infinity */
        }
        check.passed = false;
    }
    check_sink_put(sink, &check);
    if (!check.passed)
        check_sink_fail(sink,
                        "pattern[%llu]: got %.9g, expected %.9g: what was uploaded did not come "
                        "back",
                        (unsigned long long)worst, (double)instance->received[worst],
                        (double)instance->pattern[worst]);
}

static enum status verify(struct workload_instance *base, struct check_sink *sink,
                          struct error *err)
{
    struct synthetic_instance *instance = (struct synthetic_instance *)base;

    /* A launch triggers the device's launch faults here too. */
    TRY(check_iterate(base, err));
    TRY(device_download(instance->source, 0, instance->received, instance->elements * sizeof(float),
                        err));
    compare_pattern(instance, sink);
    return STATUS_OK;
}

/* The device computes nothing, so a launch and what memory holds is all that can be looked at. */
static enum status spot_check(struct workload_instance *base, uint64_t secret,
                              struct check_sink *sink, struct error *err)
{
    (void)secret;
    return verify(base, sink, err);
}

static double tolerance(const struct workload_case *work, const char *output, const char *metric)
{
    (void)work;
    return strcmp(output, "pattern") || strcmp(metric, "max_absolute") ? WORKLOAD_NO_CHECK : 0.0;
}

static enum status recheck(struct workload_instance *base, struct recheck *recheck,
                           struct error *err)
{
    struct synthetic_instance *instance = (struct synthetic_instance *)base;
    const struct check_output pattern = {.buffer = instance->source,
                                         .type = DTYPE_F32,
                                         .rows = 1,
                                         .columns = instance->elements,
                                         .stride = instance->elements};

    TRY(check_iterate(base, err));
    return recheck_add(recheck, &pattern, err);
}

static const struct workload_checks checks = {
    .verify = verify,
    .spot_check = spot_check,
    .tolerance = tolerance,
    .recheck = recheck,
};

/* ---- handed over ---- */

static void fill_pattern(const struct workload_case *work, const uint64_t *secret, float *ret)
{
    const struct synthetic_parameters *parameters = work->workload->parameters;
    const uint64_t seed = secret ? *secret : work->seed;

    for (uint64_t i = 0; i < (uint64_t)parameters->elements; ++i)
        ret[i] = (float)(2 * random_unit(random_at(seed, 0, i)) - 1);
}

static struct tensor pattern_tensor(const struct workload_case *work)
{
    const struct synthetic_parameters *parameters = work->workload->parameters;

    return tensor_new("pattern", DTYPE_F32, 1, (const uint64_t[]){(uint64_t)parameters->elements});
}

static enum status write_handover(const struct workload_case *work, const uint64_t *secret,
                                  const char *path, struct error *err)
{
    const struct tensor pattern = pattern_tensor(work);
    CLEANUP(tensors_close) struct tensors file = {0};

    TRY(tensors_create(path, &pattern, 1, &file, err));
    fill_pattern(work, secret, file.items[0].data);
    return STATUS_OK;
}

static enum status judge_handover(const struct workload_handed *handed, struct check_sink *sink,
                                  struct error *err)
{
    const struct tensor pattern = pattern_tensor(handed->work), *got = NULL;
    AUTO_FREE float *wanted = malloc(pattern.bytes);
    struct synthetic_instance instance = {.pattern = wanted, .elements = pattern.shape[0]};

    if (!wanted)
        return error_no_memory(err);
    TRY(tensors_find(handed->outputs, "pattern", DTYPE_F32, DTYPE_F32, 1, pattern.shape, &got,
                     err));
    fill_pattern(handed->work, handed->secret, wanted);
    instance.received = got->data;
    compare_pattern(&instance, sink);
    return STATUS_OK;
}

static const struct workload_handover handover = {write_handover, judge_handover};

static size_t artifacts(struct workload_instance *base, struct module_artifact *ret,
                        size_t capacity)
{
    struct synthetic_instance *instance = (struct synthetic_instance *)base;

    if (capacity == 0 ||
        device_module_describe(base->device, instance->module, ret, NULL) != STATUS_OK)
        return 0;
    return 1;
}

const struct workload_kind workload_synthetic = {
    .name = "synthetic",
    .summary = "launches without meaning, to try the tool itself on the null backend",
    .form = &form,
    .cost = cost,
    .describe = describe,
    .instance_size = sizeof(struct synthetic_instance),
    .init = init,
    .iterate = iterate,
    .serve = serve,
    .serves_tokens = true,
    .checks = &checks,
    .artifacts = artifacts,
    .handover = &handover,
    .finish = finish,
};

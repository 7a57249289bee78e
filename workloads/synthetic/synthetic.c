/*
 * synthetic - a workload that measures no device but tests the tool: so many launches an iteration,
 * and a check that needs only memory that keeps its content. It is meant for the null backend,
 * whose declared timings and faults it makes visible.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "workloads/declaration.h"
#include "workloads/fingerprint.h"
#include "workloads/kernel_text.h"
#include "workloads/kinds.h"

#define LAUNCHES_MAX 1000000
#define ELEMENTS_MAX (1 << 28)

struct synthetic_parameters {
    int64_t launches;
    int64_t elements;
};

struct synthetic_declaration {
    struct workload_declaration common;
    struct synthetic_parameters synthetic;
};

static const struct declaration_field section_fields[] = {
    FIELD_INT("launches", FIELD_OPTIONAL, struct synthetic_parameters, launches),
    FIELD_INT("elements", FIELD_OPTIONAL, struct synthetic_parameters, elements),
    FIELD_END,
};

static const struct declaration_field fields[] = {
    WORKLOAD_DECLARATION_FIELDS(struct synthetic_declaration),
    FIELD_GROUP("synthetic", FIELD_REQUIRED, struct synthetic_declaration, synthetic,
                section_fields),
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
};

static enum status check_declaration(const struct declaration *declaration,
                                     struct workload *workload, struct error *err)
{
    struct synthetic_declaration *data = declaration->data;
    enum status status;

    if (!declaration_has(declaration, "synthetic.launches"))
        data->synthetic.launches = 1;
    if (!declaration_has(declaration, "synthetic.elements"))
        data->synthetic.elements = 4096;
    status = workload_declaration_check_count(
        declaration, "synthetic.launches", data->synthetic.launches, LAUNCHES_MAX, "launches", err);
    if (status == STATUS_OK)
        status = workload_declaration_check_count(declaration, "synthetic.elements",
                                                  data->synthetic.elements, ELEMENTS_MAX,
                                                  "elements", err);
    if (status != STATUS_OK)
        return status;
    workload->parameters = malloc(sizeof(data->synthetic));
    if (workload->parameters == NULL)
        return error_set(err, STATUS_NO_MEMORY, "loading a workload: out of memory");
    memcpy(workload->parameters, &data->synthetic, sizeof(data->synthetic));
    return STATUS_OK;
}

static enum status load(struct workload *workload, const char *origin, const char *yaml,
                        size_t length, struct error *err)
{
    return workload_declaration_load(workload, origin, yaml, length, &schema, check_declaration,
                                     err);
}

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
    enum status status;

    instance->pattern = malloc(bytes);
    instance->received = malloc(bytes);
    if (instance->pattern == NULL || instance->received == NULL)
        return error_set(err, STATUS_NO_MEMORY, "synthetic: out of memory");
    for (uint64_t i = 0; i < instance->elements; ++i)
        instance->pattern[i] =
            (float)(2 * random_unit(random_at(instance->base.work.seed, 0, i)) - 1);
    status = device_buffer_alloc(instance->base.device, bytes, BUFFER_READ_WRITE, &instance->source,
                                 err);
    if (status == STATUS_OK)
        status = device_buffer_alloc(instance->base.device, bytes, BUFFER_READ_WRITE,
                                     &instance->target, err);
    if (status == STATUS_OK)
        status = device_upload(instance->source, 0, instance->pattern, bytes, err);
    return status;
}

static enum status compile(struct synthetic_instance *instance, struct error *err)
{
    static const char *const files[] = {"synthetic.h"};
    struct module_source source = {.file = "workloads/kernels/synthetic.h", .lanes = 1};
    char *text;
    enum status status;

    status = kernel_text_join(files, 1, &text, err);
    if (status != STATUS_OK)
        return status;
    source.text = text;
    status = device_module_load(instance->base.device, &source, &instance->module, err);
    free(text);
    return status;
}

static enum status init(struct workload_instance *base, struct error *err)
{
    const struct workload_case *work = &base->work;
    const struct synthetic_parameters *parameters = work->workload->parameters;
    struct synthetic_instance *instance = (struct synthetic_instance *)base;
    enum status status;

    if (work->implementation != IMPLEMENTATION_PORTABLE)
        return error_set(err, STATUS_UNSUPPORTED, "synthetic has no %s implementation",
                         implementation_name(work->implementation));
    if (work->precision != PRECISION_FP32)
        return error_set(err, STATUS_UNSUPPORTED, "synthetic runs in fp32, not in %s",
                         precision_name(work->precision));
    instance->launches = parameters->launches;
    instance->elements = (uint64_t)parameters->elements;
    status = allocate(instance, err);
    return status == STATUS_OK ? compile(instance, err) : status;
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

    for (int64_t i = 0; i < instance->launches; ++i) {
        enum status status = device_kernel_launch(base->device, &launch, err);

        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status verify(struct workload_instance *base, workload_check_fn *report, void *context,
                          struct error *err)
{
    struct synthetic_instance *instance = (struct synthetic_instance *)base;
    struct workload_check check = {
        .output = "pattern",
        .metric = "max_absolute",
        .reason = "memory must give back what it was given",
        .compared = instance->elements,
        .passed = true,
    };
    uint64_t worst = 0;
    enum status status;

    /* A launch triggers the device's launch faults here too. */
    status = iterate(base, err);
    if (status == STATUS_OK)
        status = device_synchronize(base->device, err);
    if (status == STATUS_OK)
        status = device_download(instance->source, 0, instance->received,
                                 instance->elements * sizeof(float), err);
    if (status != STATUS_OK)
        return status;
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
    report(context, &check);
    if (!check.passed)
        return error_set(err, STATUS_CHECK_FAILED,
                         "pattern[%llu]: got %.9g, expected %.9g: what was uploaded did not come "
                         "back",
                         (unsigned long long)worst, (double)instance->received[worst],
                         (double)instance->pattern[worst]);
    return STATUS_OK;
}

/* The device computes nothing, so a launch and what memory holds is all that can be looked at. */
static enum status spot_check(struct workload_instance *base, uint64_t secret,
                              workload_check_fn *report, void *context, struct error *err)
{
    (void)secret;
    return verify(base, report, context, err);
}

static double tolerance(const struct workload_case *work, const char *output, const char *metric)
{
    (void)work;
    (void)metric;
    return strcmp(output, "pattern") ? -1.0 : 0.0;
}

static enum status recheck(struct workload_instance *base, const char *expected,
                           struct workload_recheck *ret, struct error *err)
{
    struct synthetic_instance *instance = (struct synthetic_instance *)base;
    struct fingerprint fingerprint;
    enum status status = iterate(base, err);

    fingerprint_init(&fingerprint);
    if (status == STATUS_OK)
        status = device_synchronize(base->device, err);
    if (status == STATUS_OK)
        status = fingerprint_add_buffer(&fingerprint, instance->source, 0,
                                        instance->elements * sizeof(float), err);
    if (status != STATUS_OK)
        return status;
    ret->compared = instance->elements;
    ret->text = fingerprint_text(&fingerprint);
    if (ret->text == NULL)
        return error_set(err, STATUS_NO_MEMORY, "synthetic: out of memory");
    ret->same = expected != NULL && !strcmp(ret->text, expected);
    return STATUS_OK;
}

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
    .load = load,
    .cost = cost,
    .describe = describe,
    .instance_size = sizeof(struct synthetic_instance),
    .init = init,
    .iterate = iterate,
    .verify = verify,
    .spot_check = spot_check,
    .tolerance = tolerance,
    .recheck = recheck,
    .artifacts = artifacts,
    .finish = finish,
};

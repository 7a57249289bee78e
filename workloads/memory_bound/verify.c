#include "workloads/memory_bound/memory_bound.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "workloads/fingerprint.h"

#define TILE_ELEMENTS ((uint64_t)1 << 20)

void memory_compare(struct memory_worst *worst, uint64_t begin, uint64_t count, const double *got,
                    const struct memory_expected *expected)
{
    for (uint64_t i = 0; i < count; ++i) {
        const double difference = fabs(got[i] - expected[i].value);
        double error = difference == 0.0 ? 0.0 : difference / expected[i].magnitude;

        /* A NaN is the worst of all; the first one is kept. */
        if (isnan(error))
            error = INFINITY;
        if (error > worst->error || worst->compared + i == 0) {
            worst->error = error;
            worst->got = got[i];
            worst->expected = expected[i].value;
            worst->index = begin + i;
        }
    }
    worst->compared += count;
}

static void describe_place(const struct memory_instance *instance, uint64_t index,
                           struct text *place)
{
    const struct memory_kernel *kernel = instance->data.kernel;
    uint64_t columns = instance->data.sizes.columns;

    if (kernel->shape == MEMORY_SHAPE_ELEMENTS) {
        text_append_format(place, "[%llu]", (unsigned long long)index);
        return;
    }
    if (kernel->reference != NULL && !kernel->by_row && kernel->shape == MEMORY_SHAPE_ROWS)
        columns = instance->data.sizes.rows; /* the transposed */
    text_append_format(place, "[%llu, %llu]", (unsigned long long)(index / columns),
                       (unsigned long long)(index % columns));
}

enum status memory_conclude(const struct memory_instance *instance, const char *output,
                            const struct memory_worst *worst, double tolerance, const char *reason,
                            workload_check_fn *report, void *context, struct error *err)
{
    const struct workload_check check = {
        .output = output,
        .error = fmin(worst->error, DBL_MAX), /* JSON has no infinity */
        .tolerance = tolerance,
        .metric = "max_scaled",
        .reason = reason,
        .compared = worst->compared,
        .passed = worst->error <= tolerance,
    };
    struct text place;

    if (report != NULL)
        report(context, &check);
    if (check.passed)
        return STATUS_OK;
    text_init(&place);
    describe_place(instance, worst->index, &place);
    if (isnan(worst->got))
        text_append(&place, ": got NaN (never written?)");
    else
        text_append_format(&place, ": got %.9g", worst->got);
    error_set(err, STATUS_CHECK_FAILED,
              "%s: output %s%s, expected %.9g: error %.3g, tolerance %.3g (%s)",
              instance->data.kernel->name, output, place.data, worst->expected, worst->error,
              tolerance, reason);
    text_finish(&place);
    return STATUS_CHECK_FAILED;
}

size_t memory_output_of(const struct memory_kernel *kernel)
{
    size_t i = 0;

    while (kernel->arrays[i].role != MEMORY_OUTPUT)
        ++i;
    return i;
}

/*
 * fp32's roundings, and those of a shorter storage type. In fp64 the reference rounds as often as
 * the device.
 */
double memory_tolerance_of(const struct memory_instance *instance, size_t output)
{
    const struct memory_kernel *kernel = instance->data.kernel;
    double tolerance = kernel->roundings(instance) *
                       (instance->data.storage == DTYPE_F64 ? 2.0 * MEMORY_U64 : MEMORY_U);

    if (kernel->arrays[output].type != MEMORY_STORAGE)
        return tolerance;
    if (instance->data.storage == DTYPE_BF16)
        tolerance += kernel->storage_roundings * 0x1p-8 * (1.0 + tolerance);
    else if (instance->data.storage == DTYPE_F16)
        tolerance += kernel->storage_roundings * 0x1p-11 * (1.0 + tolerance);
    return tolerance;
}

/* The largest over what `tune` may choose: the depth of sums follows from lanes and groups. */
double memory_tolerance(const struct workload_case *work, const char *output, const char *metric)
{
    const struct memory_parameters *parameters = work->workload->parameters;
    struct memory_instance instance = {
        .data = {.kernel = memory_kernel_at((size_t)parameters->kernel),
                 .sizes = memory_sizes_of(parameters),
                 .storage = precision_dtype(work->precision)},
    };
    const struct memory_kernel *kernel = instance.data.kernel;
    double largest = -1.0;
    size_t i;

    (void)metric;
    if (kernel->reference == NULL)
        return memory_adamw_tolerance(output);
    i = memory_output_of(kernel);
    if (strcmp(output, kernel->arrays[i].name) != 0)
        return -1.0;
    for (instance.lanes = 1; instance.lanes <= MEMORY_LANES_MAX; instance.lanes *= 2)
        for (instance.groups = 1; instance.groups <= MEMORY_GROUPS_MAX; instance.groups *= 2)
            largest = fmax(largest, memory_tolerance_of(&instance, i));
    return largest;
}

/* Below 2^-14 the spacing of f16 no longer shrinks. */
static void raise_magnitudes(enum dtype storage, struct memory_expected *expected, uint64_t count)
{
    if (storage != DTYPE_F16)
        return;
    for (uint64_t i = 0; i < count; ++i)
        expected[i].magnitude = fmax(expected[i].magnitude, 0x1p-14);
}

enum status memory_compare_part(struct memory_instance *instance, size_t output, uint64_t begin,
                                uint64_t count, struct memory_expected *expected,
                                struct memory_worst *worst, struct error *err)
{
    const struct memory_data *data = &instance->data;
    const struct memory_array *what = &data->kernel->arrays[output];
    const uint64_t element_bytes = memory_element_bytes(what, data->storage);
    AUTO_FREE double *got = malloc(count * sizeof(*got));
    AUTO_FREE void *bytes = malloc(count * element_bytes);

    TRY(got != NULL && bytes != NULL
            ? device_download(instance->arrays[output], begin * element_bytes, bytes,
                              count * element_bytes, err)
            : error_no_memory(err));
    memory_decode(what->type, data->storage, bytes, count, got);
    raise_magnitudes(what->type == MEMORY_STORAGE ? data->storage : DTYPE_F32, expected, count);
    memory_compare(worst, begin, count, got, expected);
    return STATUS_OK;
}

static enum status compare_output(struct memory_instance *instance, size_t output,
                                  struct memory_worst *worst, struct error *err)
{
    const struct memory_data *data = &instance->data;
    const struct memory_array *what = &data->kernel->arrays[output];
    const uint64_t count = memory_array_elements(what, &data->sizes, 1);
    const uint64_t unit = data->kernel->by_row ? data->sizes.columns : 1;
    uint64_t tile = unit < TILE_ELEMENTS ? TILE_ELEMENTS / unit * unit : unit;
    struct memory_expected *expected;
    enum status status = STATUS_OK;

    if (tile > count)
        tile = count;
    expected = malloc(tile * sizeof(*expected));
    if (expected == NULL)
        return error_no_memory(err);
    for (uint64_t begin = 0; begin < count && status == STATUS_OK; begin += tile) {
        const uint64_t part = count - begin < tile ? count - begin : tile;

        data->kernel->reference(data, begin, part, expected);
        status = memory_compare_part(instance, output, begin, part, expected, worst, err);
    }
    if (what->extent == MEMORY_EXTENT_ONE) {
        instance->sum = expected[0];
        instance->has_sum = true;
    }
    free(expected);
    return status;
}

/* The latest iteration's outputs are complete; one runs where none has since the last check. */
static enum status finish_iteration(struct memory_instance *instance, struct error *err)
{
    TRY(instance->unchecked == 0 ? memory_iterate(&instance->base, err) : STATUS_OK);
    return device_synchronize(instance->base.device, err);
}

/*
 * The outputs hold NaN until an iteration writes them: at the start, and again after each check. So
 * what is compared here was written since, in the warmup or the window when they lie between.
 */
enum status memory_verify(struct workload_instance *base, workload_check_fn *report, void *context,
                          struct error *err)
{
    struct memory_instance *instance = (struct memory_instance *)base;
    const struct memory_kernel *kernel = instance->data.kernel;
    struct memory_worst worst = {0};
    size_t output;

    TRY(finish_iteration(instance, err));
    if (kernel->reference == NULL)
        return memory_verify_adamw(instance, report, context, err);
    output = memory_output_of(kernel);
    TRY(compare_output(instance, output, &worst, err));
    TRY(memory_conclude(instance, kernel->arrays[output].name, &worst,
                        memory_tolerance_of(instance, output), kernel->reason, report, context,
                        err));
    return memory_poison_outputs(instance, err);
}

/* Every iteration writes the same, except for AdamW, whose state changes. */
enum status memory_recheck(struct workload_instance *base, const char *expected,
                           struct workload_recheck *ret, struct error *err)
{
    struct memory_instance *instance = (struct memory_instance *)base;
    const struct memory_kernel *kernel = instance->data.kernel;
    struct fingerprint fingerprint;
    const struct memory_array *what;
    size_t output;

    if (kernel->reference == NULL)
        return STATUS_OK;
    output = memory_output_of(kernel);
    what = &kernel->arrays[output];
    ret->compared = memory_array_elements(what, &instance->data.sizes, 1);
    fingerprint_init(&fingerprint);
    TRY(finish_iteration(instance, err));
    TRY(fingerprint_add_buffer(&fingerprint, instance->arrays[output], 0,
                               ret->compared * memory_element_bytes(what, instance->data.storage),
                               err));
    ret->text = fingerprint_text(&fingerprint);
    if (ret->text == NULL)
        return error_no_memory(err);
    ret->same = expected != NULL && !strcmp(ret->text, expected);
    return ret->same ? memory_poison_outputs(instance, err) : STATUS_OK;
}

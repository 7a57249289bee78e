/* Outputs against the references of reference.h, whole and in drawn pieces. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/random.h"
#include "workloads/memory_bound/memory_bound.h"

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
    if (!kernel->by_row && kernel->shape == MEMORY_SHAPE_ROWS)
        columns = instance->data.sizes.rows; /* the transposed */
    text_append_format(place, "[%llu, %llu]", (unsigned long long)(index / columns),
                       (unsigned long long)(index % columns));
}

void memory_conclude(const struct memory_instance *instance, const char *name,
                     const struct memory_worst *worst, double tolerance, const char *reason,
                     struct check_sink *sink)
{
    const struct workload_check check = {
        .output = name,
        .error = fmin(worst->error, DBL_MAX), /* JSON has no infinity */
        .tolerance = tolerance,
        .metric = "max_scaled",
        .reason = reason,
        .compared = worst->compared,
        .passed = worst->error <= tolerance,
    };
    struct text place;

    check_sink_put(sink, &check);
    if (check.passed)
        return;
    text_init(&place);
    describe_place(instance, worst->index, &place);
    if (isnan(worst->got))
        text_append(&place, ": got NaN (never written?)");
    else
        text_append_format(&place, ": got %.9g", worst->got);
    check_sink_fail(sink, "%s: output %s%s, expected %.9g: error %.3g, tolerance %.3g (%s)",
                    instance->data.kernel->name, name, place.data, worst->expected, worst->error,
                    tolerance, reason);
    text_finish(&place);
}

/*
 * fp32's roundings, and those of a shorter storage type. In fp64 the reference rounds as often as
 * the device.
 */
static double tolerance_of(const struct memory_instance *instance,
                           const struct memory_output *output)
{
    const enum dtype storage = instance->data.storage;
    double tolerance =
        output->roundings(instance) * (storage == DTYPE_F64 ? 2.0 * MEMORY_U64 : MEMORY_U);

    if (instance->data.kernel->arrays[output->array].type != MEMORY_STORAGE)
        return tolerance;
    if (storage == DTYPE_BF16)
        tolerance += output->storage_roundings * 0x1p-8 * (1.0 + tolerance);
    else if (storage == DTYPE_F16)
        tolerance += output->storage_roundings * 0x1p-11 * (1.0 + tolerance);
    return tolerance;
}

static void conclude_output(const struct memory_instance *instance,
                            const struct memory_output *output, const struct memory_worst *worst,
                            struct check_sink *sink)
{
    memory_conclude(instance, instance->data.kernel->arrays[output->array].name, worst,
                    tolerance_of(instance, output), output->reason, sink);
}

/*
 * The largest over what `tune` may choose, since the depth of sums follows from lanes and groups,
 * and after any number of steps.
 */
static double tolerance(const struct workload_case *work, const char *output, const char *metric)
{
    const struct memory_parameters *parameters = work->workload->parameters;
    struct memory_instance instance = {
        .data = {.kernel = memory_kernel_at((size_t)parameters->kernel),
                 .sizes = memory_sizes_of(parameters),
                 .storage = precision_dtype(work->precision),
                 .step = UINT64_MAX},
    };
    const struct memory_kernel *kernel = instance.data.kernel;
    const struct memory_output *found = kernel->outputs;
    double largest = -1.0;

    (void)metric;
    while (found->reference && strcmp(output, kernel->arrays[found->array].name))
        ++found;
    if (!found->reference)
        return kernel->has_state ? memory_step_tolerance(output) : WORKLOAD_NO_CHECK;
    for (instance.lanes = 1; instance.lanes <= MEMORY_LANES_MAX; instance.lanes *= 2)
        for (instance.groups = 1; instance.groups <= MEMORY_GROUPS_MAX; instance.groups *= 2)
            largest = fmax(largest, tolerance_of(&instance, found));
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

static enum status compare_part(struct memory_instance *instance,
                                const struct memory_output *output, uint64_t begin, uint64_t count,
                                struct memory_expected *expected, struct memory_worst *worst,
                                struct error *err)
{
    const struct memory_data *data = &instance->data;
    const struct memory_array *what = &data->kernel->arrays[output->array];
    const uint64_t element_bytes = memory_element_bytes(what, data->storage);
    AUTO_FREE double *got = malloc(count * sizeof(*got));
    AUTO_FREE void *bytes = malloc(count * element_bytes);

    TRY(got != NULL && bytes != NULL
            ? device_download(instance->arrays[output->array], begin * element_bytes, bytes,
                              count * element_bytes, err)
            : error_no_memory(err));
    memory_decode(what->type, data->storage, bytes, count, got);
    raise_magnitudes(what->type == MEMORY_STORAGE ? data->storage : DTYPE_F32, expected, count);
    memory_compare(worst, begin, count, got, expected);
    return STATUS_OK;
}

static uint64_t elements_of(const struct memory_instance *instance,
                            const struct memory_output *output)
{
    return memory_array_elements(&instance->data.kernel->arrays[output->array],
                                 &instance->data.sizes, 1);
}

static enum status compare_output(struct memory_instance *instance,
                                  const struct memory_output *output, struct memory_worst *worst,
                                  struct error *err)
{
    const struct memory_data *data = &instance->data;
    const uint64_t count = elements_of(instance, output);
    const uint64_t unit = data->kernel->by_row ? data->sizes.columns : 1;
    const uint64_t most = unit < TILE_ELEMENTS ? TILE_ELEMENTS / unit * unit : unit;
    const uint64_t tile = most < count ? most : count;
    AUTO_FREE struct memory_expected *expected = malloc(tile * sizeof(*expected));

    if (expected == NULL)
        return error_no_memory(err);
    for (uint64_t begin = 0; begin < count; begin += tile) {
        const uint64_t part = count - begin < tile ? count - begin : tile;

        output->reference(data, begin, part, expected);
        TRY(compare_part(instance, output, begin, part, expected, worst, err));
    }
    if (data->kernel->arrays[output->array].extent == MEMORY_EXTENT_ONE) {
        instance->sum = expected[0];
        instance->has_sum = true;
    }
    return STATUS_OK;
}

/*
 * The outputs hold NaN until an iteration writes them: at the start, and again after each check. So
 * what is compared here was written since, in the warmup or the window when they lie between.
 */
static enum status verify(struct workload_instance *base, struct check_sink *sink,
                          struct error *err)
{
    struct memory_instance *instance = (struct memory_instance *)base;
    const struct memory_kernel *kernel = instance->data.kernel;

    TRY(check_settle(base, err));
    for (const struct memory_output *output = kernel->outputs; output->reference; ++output) {
        struct memory_worst worst = {0};

        TRY(compare_output(instance, output, &worst, err));
        conclude_output(instance, output, &worst, sink);
    }
    return kernel->has_state ? memory_check_step(instance, NULL, sink, err) : STATUS_OK;
}

/* Every iteration writes the same, unless it moves a state. */
static enum status recheck(struct workload_instance *base, struct recheck *recheck,
                           struct error *err)
{
    const struct memory_instance *instance = (struct memory_instance *)base;
    const struct memory_output *output = instance->data.kernel->outputs;
    const uint64_t count = elements_of(instance, output);
    const struct check_output what = {.buffer = instance->arrays[output->array],
                                      .type = memory_type_of(&instance->data, output->array),
                                      .rows = 1,
                                      .columns = count,
                                      .stride = count};

    if (instance->data.kernel->has_state)
        return STATUS_OK;
    TRY(check_settle(base, err));
    return recheck_add(recheck, &what, err);
}

/* ---- spot checks ---- */

/*
 * Spot checks of kernels that write an output whole. Drawn pieces of it are filled with NaN and the
 * inputs that these pieces are made of come from another seed, so that neither a launch that is
 * left out nor an output that was kept passes. A kernel with one result gets zeros in a drawn part
 * of an input, which moves the result by far more than its tolerance.
 */
#define PIECES 16
#define PIECE_ELEMENTS 64
#define COLUMN_ELEMENTS 8 /* of the transposed: each of its inputs is a copy by itself */
#define PART_OF_SUM 64
#define PART_MAX ((uint64_t)1 << 19)

struct spot {
    struct memory_instance *instance;
    struct memory_data changed; /* makes the changed inputs, and what they come to */
    const struct memory_output *output;
    uint64_t begins[PIECES], length;
};

static bool is_transposed(const struct spot *spot)
{
    return spot->changed.kernel->shape == MEMORY_SHAPE_ROWS && !spot->changed.kernel->by_row;
}

static void draw(struct spot *spot, uint64_t secret)
{
    const struct memory_data *data = &spot->instance->data;
    const bool rows = data->kernel->by_row || data->kernel->shape == MEMORY_SHAPE_GATHER;
    const uint64_t count = data->sizes.elements;
    uint64_t length = rows                  ? data->sizes.columns
                      : is_transposed(spot) ? COLUMN_ELEMENTS
                                            : PIECE_ELEMENTS;

    length = length < count ? length : count;
    spot->length = length;
    for (size_t i = 0; i < PIECES; ++i) {
        const uint64_t bits = random_at(secret, 1, i);

        spot->begins[i] = rows ? bits % (count / length) * length : bits % (count - length + 1);
    }
}

/* The inputs of piece `begin`, as `data` makes them. */
static enum status upload_inputs(const struct spot *spot, const struct memory_data *data,
                                 uint64_t begin, struct error *err)
{
    const struct memory_sizes *sizes = &data->sizes;

    for (size_t a = 0; a < data->kernel->array_count; ++a) {
        if (!(spot->changed.changed_arrays >> a & 1))
            continue;
        if (data->kernel->arrays[a].extent == MEMORY_EXTENT_ROWS)
            TRY(memory_upload(spot->instance, data, a, begin / sizes->columns, 1, err));
        else if (!is_transposed(spot))
            TRY(memory_upload(spot->instance, data, a, begin, spot->length, err));
        else
            for (uint64_t i = begin; i < begin + spot->length; ++i)
                TRY(memory_upload(spot->instance, data, a,
                                  i % sizes->rows * sizes->columns + i / sizes->rows, 1, err));
    }
    return STATUS_OK;
}

static enum status iterate_timed(struct spot *spot, uint64_t element, struct error *err)
{
    const struct memory_data *data = &spot->instance->data;
    const size_t array = spot->output->array;

    return check_iterate_timed(
        &spot->instance->base, spot->instance->arrays[array],
        element * memory_element_bytes(&data->kernel->arrays[array], data->storage), err);
}

static enum status run(struct spot *spot, struct memory_worst *worst, struct error *err)
{
    struct memory_instance *instance = spot->instance;
    AUTO_FREE struct memory_expected *expected = malloc(spot->length * sizeof(*expected));

    if (expected == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < PIECES; ++i) {
        TRY(memory_poison(instance, spot->output->array, spot->begins[i], spot->length, err));
        TRY(upload_inputs(spot, &spot->changed, spot->begins[i], err));
    }
    TRY(iterate_timed(spot, spot->begins[0], err));
    for (size_t i = 0; i < PIECES; ++i) {
        spot->output->reference(&spot->changed, spot->begins[i], spot->length, expected);
        TRY(compare_part(instance, spot->output, spot->begins[i], spot->length, expected, worst,
                         err));
    }
    for (size_t i = 0; i < PIECES; ++i)
        TRY(upload_inputs(spot, &instance->data, spot->begins[i], err));
    return STATUS_OK;
}

/* The first input is zero from `begin` on. */
static enum status run_sum(struct spot *spot, uint64_t secret, struct memory_worst *worst,
                           struct error *err)
{
    struct memory_instance *instance = spot->instance;
    const struct memory_data *data = &instance->data;
    const uint64_t count = data->sizes.elements, size = dtype_bits(data->storage) / 8;
    const uint64_t wanted = count / PART_OF_SUM, part = wanted < PART_MAX ? wanted + 1 : PART_MAX;
    const uint64_t begin = random_at(secret, 1, 0) % (count - part + 1);
    AUTO_FREE void *zeros = calloc(part, size);
    struct memory_expected expected;
    double without = 0.0;

    if (zeros == NULL)
        return error_no_memory(err);
    if (!instance->has_sum) {
        spot->output->reference(data, 0, 1, &instance->sum);
        instance->has_sum = true;
    }
#pragma omp parallel for schedule(static) reduction(+ : without)
    for (uint64_t i = begin; i < begin + part; ++i)
        without += memory_value(data, 0, i) * memory_value(data, 1, i);
    expected = (struct memory_expected){instance->sum.value - without, instance->sum.magnitude};
    TRY(memory_poison(instance, spot->output->array, 0, 1, err));
    TRY(device_upload(instance->arrays[0], begin * size, zeros, part * size, err));
    TRY(iterate_timed(spot, 0, err));
    TRY(compare_part(instance, spot->output, 0, 1, &expected, worst, err));
    return memory_upload(instance, data, 0, begin, part, err);
}

/* Of the first output: what the secret changes, and where. */
static struct spot spot_of(struct memory_instance *instance, uint64_t secret)
{
    const struct memory_kernel *kernel = instance->data.kernel;
    struct spot spot = {.instance = instance, .changed = instance->data, .output = kernel->outputs};

    spot.changed.changed_seed = random_at(secret, 0, 0);
    for (size_t a = 0; a < kernel->array_count; ++a)
        if (kernel->arrays[a].role == MEMORY_INPUT &&
            (kernel->arrays[a].extent == MEMORY_EXTENT_ELEMENTS ||
             kernel->arrays[a].extent == MEMORY_EXTENT_ROWS))
            spot.changed.changed_arrays |= UINT32_C(1) << a;
    draw(&spot, secret);
    return spot;
}

static enum status spot_check(struct workload_instance *base, uint64_t secret,
                              struct check_sink *sink, struct error *err)
{
    struct memory_instance *instance = (struct memory_instance *)base;
    const struct memory_kernel *kernel = instance->data.kernel;
    struct spot spot = spot_of(instance, secret);
    struct memory_worst worst = {0};

    if (kernel->has_state)
        return memory_check_step(instance, &secret, sink, err);
    TRY(kernel->arrays[spot.output->array].extent == MEMORY_EXTENT_ONE
            ? run_sum(&spot, secret, &worst, err)
            : run(&spot, &worst, err));
    conclude_output(instance, spot.output, &worst, sink);
    return check_iterate(base, err); /* of the inputs as they were */
}

/* ---- samples of changed inputs ---- */

/* The first piece that a spot check of the secret has. A state moves on, and in a sum of all
 * elements those of a piece are lost. */
static enum status change(struct workload_instance *base, uint64_t secret, bool *ret_changed,
                          struct error *err)
{
    struct memory_instance *instance = (struct memory_instance *)base;
    const struct memory_kernel *kernel = instance->data.kernel;
    const struct spot spot = spot_of(instance, secret);

    *ret_changed = !kernel->has_state && spot.changed.changed_arrays != 0 &&
                   kernel->arrays[spot.output->array].extent != MEMORY_EXTENT_ONE;
    return *ret_changed ? upload_inputs(&spot, &spot.changed, spot.begins[0], err) : STATUS_OK;
}

static enum status check_changed(struct workload_instance *base, uint64_t secret,
                                 struct check_sink *sink, struct error *err)
{
    struct memory_instance *instance = (struct memory_instance *)base;
    const struct spot spot = spot_of(instance, secret);
    AUTO_FREE struct memory_expected *expected = malloc(spot.length * sizeof(*expected));
    struct memory_worst worst = {0};

    if (expected == NULL)
        return error_no_memory(err);
    spot.output->reference(&spot.changed, spot.begins[0], spot.length, expected);
    TRY(compare_part(instance, spot.output, spot.begins[0], spot.length, expected, &worst, err));
    conclude_output(instance, spot.output, &worst, sink);
    return upload_inputs(&spot, &instance->data, spot.begins[0], err);
}

const struct workload_checks memory_checks = {
    .verify = verify,
    .spot_check = spot_check,
    .change = change,
    .check_changed = check_changed,
    .tolerance = tolerance,
    .recheck = recheck,
    .resume = memory_resume,
};

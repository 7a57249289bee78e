/*
 * Spot checks of kernels that write an output whole. Drawn pieces of it are filled with NaN and the
 * inputs that these pieces are made of come from another seed, so that neither a launch that is
 * left out nor an output that was kept passes. A kernel with one result gets zeros in a drawn part
 * of an input, which moves the result by far more than its tolerance.
 */
#include <math.h>
#include <stdlib.h>

#include "harness/core/random.h"
#include "harness/core/cleanup.h"
#include "workloads/memory_bound/memory_bound.h"

#define PIECES 16
#define PIECE_ELEMENTS 64
#define COLUMN_ELEMENTS 8 /* of the transposed: each of its inputs is a copy by itself */
#define PART_OF_SUM 64
#define PART_MAX ((uint64_t)1 << 19)

struct spot {
    struct memory_instance *instance;
    struct memory_data changed; /* makes the changed inputs, and what they come to */
    size_t output;
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

static enum status run(struct spot *spot, struct memory_worst *worst, struct error *err)
{
    struct memory_instance *instance = spot->instance;
    AUTO_FREE struct memory_expected *expected = malloc(spot->length * sizeof(*expected));

    if (expected == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < PIECES; ++i) {
        TRY(memory_poison(instance, spot->output, spot->begins[i], spot->length, err));
        TRY(upload_inputs(spot, &spot->changed, spot->begins[i], err));
    }
    TRY(memory_iterate(&instance->base, err));
    TRY(device_synchronize(instance->base.device, err));
    for (size_t i = 0; i < PIECES; ++i) {
        spot->changed.kernel->reference(&spot->changed, spot->begins[i], spot->length, expected);
        TRY(memory_compare_part(instance, spot->output, spot->begins[i], spot->length, expected,
                                worst, err));
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
    struct memory_expected expected;
    void *zeros = calloc(part, size);
    double without = 0.0;
    enum status status = STATUS_OK;

    if (zeros == NULL)
        return error_no_memory(err);
    if (!instance->has_sum) {
        data->kernel->reference(data, 0, 1, &instance->sum);
        instance->has_sum = true;
    }
#pragma omp parallel for schedule(static) reduction(+ : without)
    for (uint64_t i = begin; i < begin + part; ++i)
        without += memory_value(data, 0, i) * memory_value(data, 1, i);
    expected = (struct memory_expected){instance->sum.value - without, instance->sum.magnitude};
    status = memory_poison(instance, spot->output, 0, 1, err);
    if (status == STATUS_OK)
        status = device_upload(instance->arrays[0], begin * size, zeros, part * size, err);
    if (status == STATUS_OK)
        status = memory_iterate(&instance->base, err);
    if (status == STATUS_OK)
        status = device_synchronize(instance->base.device, err);
    if (status == STATUS_OK)
        status = memory_compare_part(instance, spot->output, 0, 1, &expected, worst, err);
    if (status == STATUS_OK)
        status = memory_upload(instance, data, 0, begin, part, err);
    free(zeros);
    return status;
}

enum status memory_spot_check(struct workload_instance *base, uint64_t secret,
                              workload_check_fn *report, void *context, struct error *err)
{
    struct memory_instance *instance = (struct memory_instance *)base;
    const struct memory_kernel *kernel = instance->data.kernel;
    struct spot spot = {.instance = instance, .changed = instance->data};
    struct memory_worst worst = {0};

    if (kernel->reference == NULL)
        return memory_spot_check_adamw(instance, secret, report, context, err);
    spot.output = memory_output_of(kernel);
    spot.changed.changed_seed = random_at(secret, 0, 0);
    for (size_t a = 0; a < kernel->array_count; ++a)
        if (kernel->arrays[a].role == MEMORY_INPUT &&
            (kernel->arrays[a].extent == MEMORY_EXTENT_ELEMENTS ||
             kernel->arrays[a].extent == MEMORY_EXTENT_ROWS))
            spot.changed.changed_arrays |= UINT32_C(1) << a;
    draw(&spot, secret);
    TRY(kernel->arrays[spot.output].extent == MEMORY_EXTENT_ONE
            ? run_sum(&spot, secret, &worst, err)
            : run(&spot, &worst, err));
    TRY(memory_conclude(instance, kernel->arrays[spot.output].name, &worst,
                        memory_tolerance_of(instance, spot.output), kernel->reason, report, context,
                        err));
    TRY(memory_iterate(base, err)); /* of the inputs as they were */
    return device_synchronize(base->device, err);
}

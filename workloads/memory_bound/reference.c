#include "workloads/memory_bound/reference.h"

#include <math.h>

void memory_reference_copy(const struct memory_data *data, uint64_t begin, uint64_t count,
                           struct memory_expected *ret)
{
#pragma omp parallel for schedule(static) if (count > MEMORY_SERIAL_MOST)
    for (uint64_t i = 0; i < count; ++i) {
        ret[i].value = memory_value(data, 0, begin + i);
        ret[i].magnitude = fabs(ret[i].value);
    }
}

/* As the kernel gets it. */
static double scalar_of(const struct memory_data *data)
{
    return data->storage == DTYPE_F64 ? MEMORY_SCALAR : (double)(float)MEMORY_SCALAR;
}

void memory_reference_scale(const struct memory_data *data, uint64_t begin, uint64_t count,
                            struct memory_expected *ret)
{
    const double scalar = scalar_of(data);

#pragma omp parallel for schedule(static) if (count > MEMORY_SERIAL_MOST)
    for (uint64_t i = 0; i < count; ++i) {
        ret[i].value = scalar * memory_value(data, 0, begin + i);
        ret[i].magnitude = fabs(ret[i].value);
    }
}

static void reference_sum(const struct memory_data *data, double scalar, uint64_t begin,
                          uint64_t count, struct memory_expected *ret)
{
#pragma omp parallel for schedule(static) if (count > MEMORY_SERIAL_MOST)
    for (uint64_t i = 0; i < count; ++i) {
        const double a = memory_value(data, 0, begin + i);
        const double b = scalar * memory_value(data, 1, begin + i);

        ret[i].value = a + b;
        ret[i].magnitude = fabs(a) + fabs(b);
    }
}

void memory_reference_add(const struct memory_data *data, uint64_t begin, uint64_t count,
                          struct memory_expected *ret)
{
    reference_sum(data, 1.0, begin, count, ret);
}

void memory_reference_triad(const struct memory_data *data, uint64_t begin, uint64_t count,
                            struct memory_expected *ret)
{
    reference_sum(data, scalar_of(data), begin, count, ret);
}

#define DOT_BLOCKS 1024

/* Block by block, so that the result does not depend on the number of threads. */
void memory_reference_dot(const struct memory_data *data, uint64_t begin, uint64_t count,
                          struct memory_expected *ret)
{
    const uint64_t n = data->sizes.elements;
    struct memory_expected blocks[DOT_BLOCKS];

    (void)begin;
    (void)count;
#pragma omp parallel for schedule(static)
    for (uint64_t block = 0; block < DOT_BLOCKS; ++block) {
        const uint64_t size = (n + DOT_BLOCKS - 1) / DOT_BLOCKS;
        const uint64_t end = (block + 1) * size < n ? (block + 1) * size : n;

        blocks[block] = (struct memory_expected){0.0, 0.0};
        for (uint64_t i = block * size; i < end; ++i) {
            const double product = memory_value(data, 0, i) * memory_value(data, 1, i);

            blocks[block].value += product;
            blocks[block].magnitude += fabs(product);
        }
    }
    ret[0] = (struct memory_expected){0.0, 0.0};
    for (size_t block = 0; block < DOT_BLOCKS; ++block) {
        ret[0].value += blocks[block].value;
        ret[0].magnitude += blocks[block].magnitude;
    }
}

void memory_reference_gelu(const struct memory_data *data, uint64_t begin, uint64_t count,
                           struct memory_expected *ret)
{
    const double root = 0.79788456080286535588; /* sqrt(2/pi) */

#pragma omp parallel for schedule(static) if (count > MEMORY_SERIAL_MOST)
    for (uint64_t i = 0; i < count; ++i) {
        const double x = memory_value(data, 0, begin + i);

        ret[i].value = 0.5 * x * (1.0 + tanh(root * (x + 0.044715 * x * x * x)));
        ret[i].magnitude = fabs(ret[i].value);
    }
}

/*
 * The magnitude of a normalised element is that of the terms it is made of: the mean carries an
 * error of the size of the mean of |x|, however near x is to it.
 */
static void norm_row(const struct memory_data *data, uint64_t row, struct memory_expected *ret)
{
    const uint64_t columns = data->sizes.columns;
    double sum = 0.0, absolute = 0.0, square = 0.0;
    double mean, scale;

    for (uint64_t i = 0; i < columns; ++i) {
        ret[i].value = memory_value(data, 0, row * columns + i);
        sum += ret[i].value;
        absolute += fabs(ret[i].value);
    }
    mean = sum / (double)columns;
    absolute /= (double)columns;
    for (uint64_t i = 0; i < columns; ++i)
        square += (ret[i].value - mean) * (ret[i].value - mean);
    scale = 1.0 / sqrt(square / (double)columns + (double)(float)MEMORY_EPSILON);
    for (uint64_t i = 0; i < columns; ++i) {
        const double weight = memory_value(data, 1, i), bias = memory_value(data, 2, i);

        ret[i].magnitude = (fabs(ret[i].value) + absolute) * scale * fabs(weight) + fabs(bias);
        ret[i].value = (ret[i].value - mean) * scale * weight + bias;
    }
}

void memory_reference_layer_norm(const struct memory_data *data, uint64_t begin, uint64_t count,
                                 struct memory_expected *ret)
{
    const uint64_t columns = data->sizes.columns;

#pragma omp parallel for schedule(static) if (count > MEMORY_SERIAL_MOST)
    for (uint64_t row = 0; row < count / columns; ++row)
        norm_row(data, begin / columns + row, ret + row * columns);
}

static void softmax_row(const struct memory_data *data, uint64_t row, struct memory_expected *ret)
{
    const uint64_t columns = data->sizes.columns;
    double top = -INFINITY, sum = 0.0;

    for (uint64_t i = 0; i < columns; ++i) {
        ret[i].value = memory_value(data, 0, row * columns + i);
        top = fmax(top, ret[i].value);
    }
    for (uint64_t i = 0; i < columns; ++i) {
        ret[i].value = exp(ret[i].value - top);
        sum += ret[i].value;
    }
    for (uint64_t i = 0; i < columns; ++i) {
        ret[i].value /= sum;
        ret[i].magnitude = ret[i].value;
    }
}

void memory_reference_softmax(const struct memory_data *data, uint64_t begin, uint64_t count,
                              struct memory_expected *ret)
{
    const uint64_t columns = data->sizes.columns;

#pragma omp parallel for schedule(static) if (count > MEMORY_SERIAL_MOST)
    for (uint64_t row = 0; row < count / columns; ++row)
        softmax_row(data, begin / columns + row, ret + row * columns);
}

/* Output [column, row] is input [row, column]. */
void memory_reference_transpose(const struct memory_data *data, uint64_t begin, uint64_t count,
                                struct memory_expected *ret)
{
    const uint64_t rows = data->sizes.rows, columns = data->sizes.columns;

#pragma omp parallel for schedule(static) if (count > MEMORY_SERIAL_MOST)
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t column = (begin + i) / rows, row = (begin + i) % rows;

        ret[i].value = memory_value(data, 0, row * columns + column);
        ret[i].magnitude = fabs(ret[i].value);
    }
}

void memory_reference_gather(const struct memory_data *data, uint64_t begin, uint64_t count,
                             struct memory_expected *ret)
{
    const uint64_t columns = data->sizes.columns;

#pragma omp parallel for schedule(static) if (count > MEMORY_SERIAL_MOST)
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t lookup = (begin + i) / columns, column = (begin + i) % columns;
        const uint64_t row = memory_index(data, 1, lookup, data->sizes.vocabulary);

        ret[i].value = memory_value(data, 0, row * columns + column);
        ret[i].magnitude = fabs(ret[i].value);
    }
}

/* ---- tolerances, in roundings of fp32 ---- */

double memory_roundings_none(const struct memory_instance *instance)
{
    (void)instance;
    return 0.0;
}

double memory_roundings_one(const struct memory_instance *instance)
{
    (void)instance;
    return 1.0;
}

double memory_roundings_two(const struct memory_instance *instance)
{
    (void)instance;
    return 2.0;
}

/*
 * Of a sum whose longest chain has `depth` additions: 6 sqrt(depth), exceeded with a probability
 * below 1e-7 an addition (Higham and Mary, "A new approach to probabilistic rounding error
 * analysis", 2019, theorem 2.4 with lambda = 6). The depth follows from the kernels' stripes.
 */
static double sum_roundings(const struct memory_instance *instance, uint64_t terms, uint64_t groups)
{
    const uint64_t stripes = instance->lanes == 1 ? 32 : 4;
    const uint64_t a_step = stripes * instance->lanes;
    const double lane = (double)(terms / groups / a_step + a_step / instance->lanes + 1);
    const double tree = log2((double)a_step) + 1.0;
    const double partials = groups > 1 ? (double)(groups / instance->lanes + 1) + tree : 0.0;

    return 6.0 * sqrt(lane + tree + partials);
}

double memory_roundings_dot(const struct memory_instance *instance)
{
    return sum_roundings(instance, instance->data.sizes.elements, instance->groups) + 1.0;
}

/*
 * |w| <= 3.8 for |x| < 2 makes of 4 roundings of w 15 of e^-w; exp has 1.3, the sum 1, the quotient
 * 5 where OpenCL allows 2.5 ulp.
 */
double memory_roundings_gelu(const struct memory_instance *instance)
{
    (void)instance;
    return 24.0;
}

/* The mean's and half the variance's sums; then the quotients, the root and the products. */
double memory_roundings_layer_norm(const struct memory_instance *instance)
{
    return 2.0 * sum_roundings(instance, instance->data.sizes.columns, 1) + 16.0;
}

/* x - max: 4 of e^x for |x| < 2; exp 1.3; the sum; its inverse 5; the product 1; one kept e^x. */
double memory_roundings_softmax(const struct memory_instance *instance)
{
    return sum_roundings(instance, instance->data.sizes.columns, 1) + 13.0;
}

#include "protocols/stats/fft.h"

#include <math.h>

void fft_init_table(double *table, size_t count)
{
    size_t k;

    for (k = 0; k < count / 2; k++) {
        double angle = 2 * M_PI * (double)k / (double)count;

        table[2 * k] = cos(angle);
        table[2 * k + 1] = sin(angle);
    }
}

static void reverse_bits(double *data, size_t count)
{
    size_t i, j = 0;

    for (i = 1; i < count; i++) {
        size_t bit = count >> 1;

        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            double re = data[2 * i], im = data[2 * i + 1];

            data[2 * i] = data[2 * j];
            data[2 * i + 1] = data[2 * j + 1];
            data[2 * j] = re;
            data[2 * j + 1] = im;
        }
    }
}

void fft_transform(double *data, size_t count, const double *table)
{
    size_t half, start, k;

    reverse_bits(data, count);
    for (half = 1; half < count; half *= 2) {
        size_t stride = count / (2 * half);

        for (start = 0; start < count; start += 2 * half) {
            for (k = 0; k < half; k++) {
                double *a = data + 2 * (start + k), *b = a + 2 * half;
                double c = table[2 * k * stride], s = -table[2 * k * stride + 1];
                double re = b[0] * c - b[1] * s, im = b[0] * s + b[1] * c;

                b[0] = a[0] - re;
                b[1] = a[1] - im;
                a[0] += re;
                a[1] += im;
            }
        }
    }
}

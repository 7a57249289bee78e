/*
 * fft - the discrete Fourier transform of a power-of-two length, in place.
 *
 * Iterative radix-2 after Cooley and Tukey (1965), decimation in time. Used for autocovariances
 * only, on at most 2^15 points, so a plain transform is enough.
 */
#ifndef ASSAY_PROTOCOLS_STATS_FFT_H
#define ASSAY_PROTOCOLS_STATS_FFT_H

#include <stddef.h>

/*
 * Forward transform of `count` complex numbers (a power of two): interleaved real and imaginary
 * parts in `data`. `table` holds `count` doubles made by fft_init_table.
 */
void fft_transform(double *data, size_t count, const double *table);

/* cos and sin of 2 pi k / count for k < count / 2, interleaved: `count` doubles. */
void fft_init_table(double *table, size_t count);

#endif

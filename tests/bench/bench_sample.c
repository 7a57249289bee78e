/*
 * The cost of one sample: timer and bookkeeping of the sampler around nothing at all.
 *
 * usage: bench_sample REPEATS Prints one line a repeat: nanoseconds per sample, over a million
 * samples. Next to it is the cost of the two clock readings alone, which shows that of the
 * bookkeeping.
 */
#include <stdio.h>
#include <stdlib.h>

#include "harness/core/clock.h"
#include "harness/core/status.h"
#include "harness/runner/sampler.h"

#define SAMPLES 1000000

int main(int argc, char **argv)
{
    long repeats = argc == 2 ? atol(argv[1]) : 0;

    if (repeats <= 0) {
        fprintf(stderr, "usage: bench_sample REPEATS\n");
        return 2;
    }
    for (long r = 0; r < repeats; r++) {
        struct sampler sampler;
        struct error err = ERROR_INIT;
        int64_t start, clocks, with_sampler;
        int64_t sum = 0;

        if (sampler_init(&sampler, SAMPLES, &err)) {
            fprintf(stderr, "bench_sample: %s\n", err.message);
            return 1;
        }
        start = clock_monotonic_ns();
        for (int i = 0; i < SAMPLES; i++) {
            sum -= clock_monotonic_ns();
            sum += clock_monotonic_ns();
        }
        clocks = clock_monotonic_ns() - start;
        start = clock_monotonic_ns();
        while (!sampler_full(&sampler)) {
            sampler_begin(&sampler);
            sampler_end(&sampler);
        }
        with_sampler = clock_monotonic_ns() - start;
        printf("%.1f %.1f\n", (double)with_sampler / SAMPLES, (double)clocks / SAMPLES);
        if (sum < 0)
            fprintf(stderr, "bench_sample: the clock ran backwards\n");
        sampler_finish(&sampler);
    }
    return 0;
}

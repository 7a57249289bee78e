/*
 * The yardstick of bench: BabelStream's copy and triad as plain OpenMP loops, fp32.
 *
 * usage: openmp_stream copy|triad ELEMENTS ITERATIONS
 * Takes a sample for each line that comes on stdin: one iteration that does not count, then a block
 * of ITERATIONS, of which it prints the nanoseconds of one.
 * Compiled with -O3 -march=native and nothing else, as anybody would. It knows nothing of assay.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void copy(const float *restrict a, float *restrict c, long n)
{
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++)
        c[i] = a[i];
}

static void triad(float *restrict a, const float *restrict b, const float *restrict c, long n)
{
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++)
        a[i] = b[i] + 0.4f * c[i];
}

/* Page-aligned, and touched by the threads that will use it. */
static float *make_array(long n, uint32_t seed)
{
    float *array = aligned_alloc(4096, ((size_t)n * sizeof(float) + 4095) / 4096 * 4096);

    if (!array) {
        fprintf(stderr, "openmp_stream: no memory for %ld elements\n", n);
        exit(1);
    }
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++)
        array[i] = (float)(((uint32_t)i * 2654435761u + seed) >> 8) * 0x1p-24f;
    return array;
}

int main(int argc, char **argv)
{
    long n = argc == 4 ? atol(argv[2]) : 0;
    long iterations = argc == 4 ? atol(argv[3]) : 0;
    int is_triad = argc == 4 && strcmp(argv[1], "triad") == 0;
    float *a, *b, *c;
    volatile float used;
    char turn[8];

    if (n <= 0 || iterations <= 0 || (!is_triad && strcmp(argv[1], "copy") != 0)) {
        fprintf(stderr, "usage: openmp_stream copy|triad ELEMENTS ITERATIONS\n");
        return 2;
    }
    a = make_array(n, 1);
    b = make_array(n, 2);
    c = make_array(n, 3);
    while (fgets(turn, sizeof(turn), stdin)) {
        int64_t start = 0;

        for (long i = -1; i < iterations; i++) {
            if (i == 0)
                start = now_ns();
            if (is_triad)
                triad(a, b, c, n);
            else
                copy(a, c, n);
        }
        printf("%lld\n", (long long)((now_ns() - start) / iterations));
        fflush(stdout);
    }
    /* The outputs are used, so that no loop can be left out. */
    used = a[n / 2] + c[n - 1];
    (void)used;
    free(a);
    free(b);
    free(c);
    return 0;
}

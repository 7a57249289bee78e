#include "harness/runner/sampler.h"

#include <stdlib.h>
#include <string.h>

enum status sampler_init(struct sampler *sampler, size_t capacity, struct error *err)
{
    memset(sampler, 0, sizeof(*sampler));
    if (capacity == 0 || capacity > SIZE_MAX / sizeof(int64_t))
        return error_set(err, STATUS_INVALID, "max_samples is %zu: use 1 or more", capacity);
    sampler->wall_ns = malloc(capacity * sizeof(int64_t));
    sampler->gap_ns = malloc(capacity * sizeof(int64_t));
    if (!sampler->wall_ns || !sampler->gap_ns) {
        sampler_finish(sampler);
        return error_no_memory(err);
    }
    sampler_touch(sampler->wall_ns, capacity);
    sampler_touch(sampler->gap_ns, capacity);
    sampler->capacity = capacity;
    return STATUS_OK;
}

void sampler_touch(int64_t *values, size_t capacity)
{
    memset(values, 1, (capacity < SAMPLER_TOUCHED ? capacity : SAMPLER_TOUCHED) * sizeof(*values));
}

void sampler_finish(struct sampler *sampler)
{
    if (!sampler)
        return;
    free(sampler->wall_ns);
    free(sampler->gap_ns);
    memset(sampler, 0, sizeof(*sampler));
}

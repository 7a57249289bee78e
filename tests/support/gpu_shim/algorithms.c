#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/gpu_shim/core.h"

#define LIST "ASSAY_SHIM_ALGORITHMS"

static _Atomic int64_t clock_ns;

const char *core_word_at(const char *variable, unsigned index)
{
    const char *word = getenv(variable);

    for (; word != NULL && index > 0; index--) {
        word = strchr(word, ',');
        if (word != NULL)
            word++;
    }
    return word;
}

unsigned core_algorithm_count(void)
{
    unsigned count = 0;

    while (count < CORE_ALGORITHMS_MAX && core_word_at(LIST, count) != NULL)
        count++;
    return count > 0 ? count : 2;
}

bool core_algorithm_launch(unsigned index)
{
    const char *word = core_word_at(LIST, index);
    int64_t ns;

    if (word == NULL)
        return getenv(LIST) == NULL && index < 2;
    if (strncmp(word, "fail", 4) == 0)
        return false;
    ns = strtoll(word, NULL, 10);
    /* It takes that time, too: a device's clock that runs ahead of the host's is a false one. */
    clock_nanosleep(CLOCK_MONOTONIC, 0,
                    &(struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000},
                    NULL);
    clock_ns += ns;
    return true;
}

bool core_algorithm_clock(int64_t *ret)
{
    *ret = clock_ns;
    return getenv(LIST) != NULL;
}

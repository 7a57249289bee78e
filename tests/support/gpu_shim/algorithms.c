#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/gpu_shim/core.h"

static _Atomic int64_t clock_ns;

/* The list's word of this index, up to a comma or the end; NULL: there is none. */
static const char *word_at(unsigned index)
{
    const char *word = getenv("ASSAY_SHIM_ALGORITHMS");

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

    while (count < CORE_ALGORITHMS_MAX && word_at(count) != NULL)
        count++;
    return count > 0 ? count : 2;
}

bool core_algorithm_launch(unsigned index)
{
    const char *word = word_at(index);

    if (word == NULL)
        return getenv("ASSAY_SHIM_ALGORITHMS") == NULL && index < 2;
    if (strncmp(word, "fail", 4) == 0)
        return false;
    clock_ns += strtoll(word, NULL, 10);
    return true;
}

bool core_algorithm_clock(int64_t *ret)
{
    *ret = clock_ns;
    return getenv("ASSAY_SHIM_ALGORITHMS") != NULL;
}

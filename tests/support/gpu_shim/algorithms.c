#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

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

    if (word == NULL)
        return getenv(LIST) == NULL && index < 2;
    if (strncmp(word, "fail", 4) == 0)
        return false;
    clock_ns += strtoll(word, NULL, 10);
    return true;
}

bool core_algorithm_clock(int64_t *ret)
{
    *ret = clock_ns;
    return getenv(LIST) != NULL;
}

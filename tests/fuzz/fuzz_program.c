/* What a program writes, for the number that it counts; the first byte chooses where it stands. */
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/program/program.h"

static const struct program_metric metrics[] = {
    {.unit = (char *)"x", .pattern = (char *)"rate: {value} tokens/s", .take = PROGRAM_MEAN},
    {.unit = (char *)"x", .json = (char *)"a.b[].c", .take = PROGRAM_MEDIAN},
    {.unit = (char *)"x", .csv = (char *)"rate", .take = PROGRAM_ONE},
    {.unit = (char *)"x", .pattern = (char *)"^([^ ]*)$", .take = PROGRAM_LAST},
    {.unit = (char *)"x", .json = (char *)"[0]", .take = PROGRAM_ONE},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t which =
        size > 0 ? (size_t)(data[0] + 3) % (sizeof(metrics) / sizeof(*metrics)) : 0;
    struct error err = ERROR_INIT;
    double value = 0;
    char *text;
    enum status status;

    if (size < 1)
        return 0;
    text = malloc(size);
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    status = program_find_number(&metrics[which], text, strlen(text), &value, &err);
    free(text);
    if (status == STATUS_OK)
        FUZZ_REQUIRE(isfinite(value) && value > 0);
    else
        fuzz_require_good_message(&err, status);
    return 0;
}

#include "harness/core/precision.h"

#include <string.h>

static const struct {
    const char *name;
    size_t bits;
} dtypes[DTYPE_COUNT] = {
#define DTYPE_ROW(code, name, bits) [DTYPE_##code] = {name, bits},
    DTYPE_MAP(DTYPE_ROW)
#undef DTYPE_ROW
};

static const struct {
    const char *name;
    enum dtype dtype;
} precisions[PRECISION_COUNT] = {
#define PRECISION_ROW(code, name, storage) [PRECISION_##code] = {name, DTYPE_##storage},
    PRECISION_MAP(PRECISION_ROW)
#undef PRECISION_ROW
};

const char *dtype_name(enum dtype dtype)
{
    return (unsigned)dtype < DTYPE_COUNT ? dtypes[dtype].name : "unknown";
}

size_t dtype_bits(enum dtype dtype)
{
    return (unsigned)dtype < DTYPE_COUNT ? dtypes[dtype].bits : 0;
}

const char *precision_name(enum precision precision)
{
    return (unsigned)precision < PRECISION_COUNT ? precisions[precision].name : "unknown";
}

enum dtype precision_dtype(enum precision precision)
{
    return (unsigned)precision < PRECISION_COUNT ? precisions[precision].dtype : DTYPE_COUNT;
}

bool precision_from_name(const char *name, enum precision *ret)
{
    for (int i = 0; name && i <= PRECISION_UNKNOWN; ++i) {
        if (!strcmp(precision_name((enum precision)i), name)) {
            *ret = (enum precision)i;
            return true;
        }
    }
    return false;
}

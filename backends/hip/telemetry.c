#include "backends/hip/internal.h"
#include "backends/telemetry.h"

enum status hip_telemetry_open(struct backend *backend, uint32_t index, struct telemetry **ret,
                               struct error *err)
{
    (void)backend;
    (void)index;
    (void)ret;
    return error_set(err, STATUS_UNAVAILABLE, "not here");
}

size_t hip_telemetry_libraries(struct backend_library *ret, size_t capacity)
{
    (void)ret;
    (void)capacity;
    return 0;
}

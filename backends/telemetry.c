#include "backends/telemetry.h"

#include "backends/backend.h"

enum status backend_telemetry_open(struct backend *backend, uint32_t index, struct telemetry **ret,
                                   struct error *err)
{
    TRY(backend_probe(backend, err));
    if (backend->ops->telemetry_open == NULL)
        return error_set(err, STATUS_UNAVAILABLE, "%s: the backend has no telemetry",
                         backend->ops->name);
    if (index >= backend->device_count)
        return error_set(err, STATUS_NOT_FOUND, "%s has no device %u", backend->ops->name, index);
    return backend->ops->telemetry_open(backend, index, ret, err);
}

enum status telemetry_read(struct telemetry *telemetry, int64_t *values, struct error *err)
{
    return telemetry->ops->read(telemetry, values, err);
}

enum status telemetry_edges(struct telemetry *telemetry, struct reading_list *ret,
                            struct error *err)
{
    return telemetry->ops->edges != NULL ? telemetry->ops->edges(telemetry, ret, err) : STATUS_OK;
}

enum status telemetry_dump(struct telemetry *telemetry, char **ret, struct error *err)
{
    if (telemetry->ops->dump == NULL)
        return error_set(err, STATUS_UNAVAILABLE, "the device's telemetry has no dump");
    return telemetry->ops->dump(telemetry, ret, err);
}

void telemetry_close(struct telemetry *telemetry)
{
    if (telemetry != NULL)
        telemetry->ops->close(telemetry);
}

/*
 * Events are markers in the in-order queue: a marker ends when everything before it has ended, so
 * the time between two is the difference of their CL_PROFILING_COMMAND_END. README.md says what was
 * checked on which driver.
 */
#include "backends/opencl/internal.h"

#include <stdlib.h>

struct opencl_event {
    struct event base;
    struct _cl_event *marker; /* NULL until recorded */
};

enum status opencl_event_create(struct device *device, struct event **ret, struct error *err)
{
    struct opencl_event *event = calloc(1, sizeof(*event));

    (void)device;
    if (event == NULL)
        return error_no_memory(err);
    *ret = &event->base;
    return STATUS_OK;
}

void opencl_event_destroy(struct device *base, struct event *event)
{
    struct opencl_event *self = (struct opencl_event *)event;

    if (self->marker != NULL)
        opencl_device(base)->api->clReleaseEvent(self->marker);
    free(self);
}

enum status opencl_event_record(struct device *base, struct event *event, struct error *err)
{
    struct opencl_device *device = opencl_device(base);
    struct opencl_event *self = (struct opencl_event *)event;
    struct _cl_event *marker = NULL;
    int32_t code = device->api->clEnqueueMarkerWithWaitList(device->queue, 0, NULL, &marker);

    if (code != OCL_SUCCESS || marker == NULL)
        return opencl_fail(err, NULL, "clEnqueueMarkerWithWaitList", code);
    if (self->marker != NULL)
        device->api->clReleaseEvent(self->marker);
    self->marker = marker;
    return STATUS_OK;
}

static enum status end_of(struct opencl_device *device, const struct event *event, uint64_t *ret,
                          struct error *err)
{
    const struct opencl_event *self = (const struct opencl_event *)event;
    uint64_t value = 0;
    int32_t code;

    if (self->marker == NULL)
        return error_set(err, STATUS_INTERNAL, "an event was asked for its time but not recorded");
    code = device->api->clGetEventProfilingInfo(self->marker, OCL_PROFILING_COMMAND_END,
                                                sizeof(value), &value, NULL);
    if (code != OCL_SUCCESS)
        return opencl_fail(err, NULL, "clGetEventProfilingInfo", code);
    if (value == 0)
        return error_set(err, STATUS_DEVICE,
                         "clGetEventProfilingInfo: the driver gives a marker no time");
    *ret = value;
    return STATUS_OK;
}

enum status opencl_event_elapsed_ns(struct device *base, const struct event *start,
                                    const struct event *end, int64_t *ret, struct error *err)
{
    uint64_t from = 0, to = 0;

    TRY(end_of(opencl_device(base), start, &from, err));
    TRY(end_of(opencl_device(base), end, &to, err));
    *ret = (int64_t)(to - from);
    return STATUS_OK;
}

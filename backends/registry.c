#include "backends/registry.h"

#include <string.h>

#include "backends/cpu/cpu.h"
#include "backends/cuda/cuda.h"
#include "backends/hip/hip.h"
#include "backends/null/null.h"
#include "backends/opencl/opencl.h"

/*
 * The one explicit table. Order is the order of `assay devices`, and decides which device a plain
 * run lists first. A new backend is one line here, one include above and one folder.
 */
static struct backend compiled_in[] = {
    {.ops = &cuda_backend_ops},   {.ops = &hip_backend_ops},
    {.ops = &cpu_backend_ops}, /* before opencl: see same_processor of harness/runner/probe.c */
    {.ops = &opencl_backend_ops}, {.ops = &null_backend_ops},
};

static struct backend *table = compiled_in;
static size_t table_count = sizeof(compiled_in) / sizeof(compiled_in[0]);
static bool table_checked;

enum status backend_ops_check(const struct backend_ops *ops, struct error *err)
{
    const char *missing = NULL;

    if (ops == NULL)
        return error_set(err, STATUS_INTERNAL, "a backend has no table of functions");
    if (ops->name == NULL || ops->name[0] == '\0')
        return error_set(err, STATUS_INTERNAL, "a backend has no name");
    if (strspn(ops->name, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(ops->name))
        return error_set(err, STATUS_INTERNAL, "backend name \"%s\" is not [a-z0-9_]+", ops->name);
    if (ops->description == NULL)
        missing = "description";
    else if (ops->probe == NULL)
        missing = "probe";
    else if (ops->device_info == NULL)
        missing = "device_info";
    else if (ops->device_open == NULL)
        missing = "device_open";
    if (missing != NULL)
        return error_set(err, STATUS_INTERNAL, "backend %s lacks the hook \"%s\"", ops->name,
                         missing);
    return STATUS_OK;
}

#define HAS(hook) (ops->hook != NULL)

static enum status check_optional(const struct device_ops *ops, struct error *err)
{
    const int present =
        HAS(event_create) + HAS(event_destroy) + HAS(event_record) + HAS(event_elapsed_ns);

    if (present != 0 && present != 4)
        return error_set(err, STATUS_INTERNAL,
                         "a device has %d of the 4 event hooks; all or none are needed", present);
    if (HAS(host_alloc) != HAS(host_free))
        return error_set(err, STATUS_INTERNAL,
                         "a device has one of host_alloc and host_free; both or none are needed");
    return STATUS_OK;
}

enum status device_ops_check(const struct device_ops *ops, struct error *err)
{
    const char *missing = NULL;

    if (ops == NULL)
        return error_set(err, STATUS_INTERNAL, "a device has no table of functions");
#define NEED(hook)                                                                                 \
    if (missing == NULL && !HAS(hook))                                                             \
    missing = #hook
    NEED(buffer_alloc);
    NEED(buffer_free);
    NEED(upload);
    NEED(download);
    NEED(module_load);
    NEED(module_unload);
    NEED(module_describe);
    NEED(kernel_launch);
    NEED(synchronize);
    NEED(close);
#undef NEED
    if (missing != NULL)
        return error_set(err, STATUS_INTERNAL, "a device lacks the hook \"%s\"", missing);
    return check_optional(ops, err);
}

#undef HAS

/* A defective table stays in the list, as a backend that is not available and says why. */
static void check_table(void)
{
    size_t i, j;

    table_checked = true;
    for (i = 0; i < table_count; i++) {
        struct backend *backend = &table[i];
        struct error error = ERROR_INIT;
        enum status status = backend_ops_check(backend->ops, &error);

        for (j = 0; status == STATUS_OK && j < i; j++)
            if (table[j].ops != NULL && table[j].ops->name != NULL &&
                strcmp(table[j].ops->name, backend->ops->name) == 0)
                status = error_set(&error, STATUS_INTERNAL, "two backends are called \"%s\"",
                                   backend->ops->name);
        if (status != STATUS_OK) {
            backend->probed = true;
            backend->probe_status = status;
            backend->probe_error = error;
            backend->device_count = 0;
        }
    }
}

void backend_registry_replace(struct backend *backends, size_t count)
{
    table = backends != NULL ? backends : compiled_in;
    table_count = backends != NULL ? count : sizeof(compiled_in) / sizeof(compiled_in[0]);
    table_checked = false;
}

size_t backend_count(void)
{
    if (!table_checked)
        check_table();
    return table_count;
}

struct backend *backend_at(size_t index)
{
    return index < backend_count() ? &table[index] : NULL;
}

struct backend *backend_find(const char *name)
{
    size_t i, count = backend_count();

    for (i = 0; name != NULL && i < count; i++)
        if (table[i].ops != NULL && table[i].ops->name != NULL &&
            strcmp(table[i].ops->name, name) == 0)
            return &table[i];
    return NULL;
}

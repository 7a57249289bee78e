#include "workloads/memory_bound/memory_bound.h"

#include <stdio.h>
#include <stdlib.h>

#include "harness/core/file.h"
#include "workloads/kernel_text.h"
#include "workloads/kinds.h"

#define CACHE_INDICES 8

static void finish(struct workload_instance *base)
{
    struct memory_instance *instance = (struct memory_instance *)base;

    device_module_unload(base->device, instance->module);
    for (size_t i = 0; i < MEMORY_ARRAYS_MAX; ++i)
        device_buffer_free(instance->arrays[i]);
    json_decref(instance->candidates);
    free(instance->text);
}

static enum status allocate(struct memory_instance *instance, struct error *err)
{
    const struct memory_data *data = &instance->data;

    for (size_t i = 0; i < data->kernel->array_count; ++i) {
        const struct memory_array *array = &data->kernel->arrays[i];
        const uint64_t bytes = memory_array_elements(array, &data->sizes, MEMORY_GROUPS_MAX) *
                               memory_element_bytes(array, data->storage);
        enum status status = device_buffer_alloc(instance->base.device, bytes, BUFFER_READ_WRITE,
                                                 &instance->arrays[i], err);

        if (status == STATUS_OK && (array->role == MEMORY_INPUT || array->role == MEMORY_STATE))
            status = memory_upload_array(instance, i, err);
        if (status != STATUS_OK)
            return error_prefix(err, "%s: array %s", data->kernel->name, array->name);
    }
    return memory_resume(&instance->base, err);
}

/* Measuring lanes and groups wrote outputs and changed states. */
static enum status restore(struct memory_instance *instance, struct error *err)
{
    instance->data.step = 0;
    for (size_t i = 0; i < instance->data.kernel->array_count; ++i)
        if (instance->data.kernel->arrays[i].role == MEMORY_STATE)
            TRY(memory_upload_array(instance, i, err));
    return memory_resume(&instance->base, err);
}

static enum status check_support(const struct workload_case *work,
                                 const struct memory_kernel *kernel, struct error *err)
{
    if (work->implementation != IMPLEMENTATION_PORTABLE)
        return error_set(err, STATUS_UNSUPPORTED, "memory_bound has no %s implementation",
                         implementation_name(work->implementation));
    if (!memory_kernel_has(kernel, work->precision))
        return error_set(err, STATUS_UNSUPPORTED, "%s does not run in %s", kernel->name,
                         precision_name(work->precision));
    return STATUS_OK;
}

static size_t file_count(const struct memory_kernel *kernel)
{
    size_t count = 0;

    while (count < sizeof(kernel->files) / sizeof(kernel->files[0]) && kernel->files[count] != NULL)
        ++count;
    return count;
}

static enum status init(struct workload_instance *base, struct error *err)
{
    const struct workload_case *work = &base->work;
    const struct memory_parameters *parameters = work->workload->parameters;
    const struct memory_kernel *kernel = memory_kernel_at((size_t)parameters->kernel);
    struct memory_instance *instance = (struct memory_instance *)base;

    TRY(check_support(work, kernel, err));
    instance->data = (struct memory_data){
        .kernel = kernel,
        .sizes = memory_sizes_of(parameters),
        .storage = precision_dtype(work->precision),
        .seed = work->seed,
    };
    TRY(kernel_text_join(kernel->files, file_count(kernel), &instance->text, err));
    TRY(allocate(instance, err));
    TRY(memory_tune(instance, err));
    if (work->choices == NULL)
        TRY(restore(instance, err));
    return STATUS_OK;
}

enum status memory_launch(struct memory_instance *instance, struct error *err)
{
    const struct memory_kernel *kernel = instance->data.kernel;
    struct kernel_arg args[MEMORY_ARGS_MAX];
    struct kernel_launch launch = {
        .module = instance->module,
        .kernel = kernel->entry,
        .groups = {instance->groups, 1, 1},
        .args = args,
        .arg_count = memory_args(instance, args),
    };

    TRY(device_kernel_launch(instance->base.device, &launch, err));
    if (kernel->finish == NULL)
        return STATUS_OK;
    launch.kernel = kernel->finish;
    launch.groups[0] = 1;
    launch.arg_count = memory_finish_args(instance, args);
    return device_kernel_launch(instance->base.device, &launch, err);
}

static enum status memory_iterate(struct workload_instance *base, struct error *err)
{
    struct memory_instance *instance = (struct memory_instance *)base;

    TRY(memory_launch(instance, err));
    ++instance->data.step;
    ++base->unchecked;
    return STATUS_OK;
}

static size_t artifacts(struct workload_instance *base, struct module_artifact *ret,
                        size_t capacity)
{
    struct memory_instance *instance = (struct memory_instance *)base;

    if (capacity == 0 ||
        device_module_describe(base->device, instance->module, ret, NULL) != STATUS_OK)
        return 0;
    return 1;
}

/* The largest cache that Linux shows for the first processor; 0 when it shows none. */
static uint64_t sysfs_last_level_cache(void)
{
    uint64_t largest = 0;

    for (int i = 0; i < CACHE_INDICES; ++i) {
        char path[80], with_unit[32];
        char *line;
        uint64_t bytes;

        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (file_read_line(path, &line, NULL) != STATUS_OK)
            break;
        snprintf(with_unit, sizeof(with_unit), "%siB", line); /* "32768K" */
        if (text_parse_bytes(with_unit, &bytes) && bytes > largest)
            largest = bytes;
        free(line);
    }
    return largest;
}

static json_t *cache_facts(const struct memory_instance *instance, uint64_t working_set_bytes)
{
    const struct device_info *info = &instance->base.device->info;
    uint64_t bytes = info->last_level_cache_bytes;
    const char *source = "device";

    if (bytes == 0 && info->type == DEVICE_CPU) {
        bytes = sysfs_last_level_cache();
        source = "/sys/devices/system/cpu/cpu0/cache";
    }
    if (bytes == 0)
        return json_pack("{s:n, s:s, s:I, s:s}", "last_level_cache_bytes",
                         "last_level_cache_source", "not reported", "working_set_bytes",
                         (json_int_t)working_set_bytes, "fits_in_cache", "unknown");
    return json_pack("{s:I, s:s, s:I, s:b}", "last_level_cache_bytes", (json_int_t)bytes,
                     "last_level_cache_source", source, "working_set_bytes",
                     (json_int_t)working_set_bytes, "fits_in_cache", working_set_bytes <= bytes);
}

static json_t *choices(struct workload_instance *base)
{
    struct memory_instance *instance = (struct memory_instance *)base;

    return json_pack("{s:I, s:I}", "lanes", (json_int_t)instance->lanes, "groups",
                     (json_int_t)instance->groups);
}

static json_t *facts(struct workload_instance *base)
{
    struct memory_instance *instance = (struct memory_instance *)base;
    const char *name = instance->data.kernel->name;
    struct workload_cost cost;
    json_t *ret;

    if (memory_cost(&base->work, &cost, NULL) != STATUS_OK)
        return NULL;
    ret = cache_facts(instance, cost.working_set_bytes);
    if (ret == NULL)
        return NULL;
    json_object_set_new(ret, "lanes", json_pack("{s:I}", name, (json_int_t)instance->lanes));
    json_object_set_new(ret, "groups", json_pack("{s:I}", name, (json_int_t)instance->groups));
    if (json_array_size(instance->candidates) > 0)
        json_object_set(ret, "candidates", instance->candidates);
    return ret;
}

static struct buffer *result(struct workload_instance *base)
{
    const struct memory_instance *instance = (struct memory_instance *)base;
    const struct memory_kernel *kernel = instance->data.kernel;

    return instance->arrays[kernel->has_state ? 0 : kernel->outputs->array];
}

const struct workload_kind workload_memory_bound = {
    .name = "memory_bound",
    .summary = "kernels bound by memory: BabelStream's, layer norm, softmax, GELU, gather, "
               "transpose, AdamW",
    .form = &memory_form,
    .cost = memory_cost,
    .describe = memory_describe,
    .instance_size = sizeof(struct memory_instance),
    .init = init,
    .iterate = memory_iterate,
    .result = result,
    .checks = &memory_checks,
    .artifacts = artifacts,
    .choices = choices,
    .facts = facts,
    .finish = finish,
};

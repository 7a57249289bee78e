/*
 * transfer - a copy between host and device, both ways at once, or within the device. An iteration
 * is one copy of as many bytes as the case's batch.
 */
#include "workloads/transfer/transfer.h"

#include <stdlib.h>

#include "workloads/declaration.h"
#include "workloads/kinds.h"

#define PAGE ((uint64_t)4096)

struct section {
    int64_t direction, memory;
};

struct transfer_declaration {
    struct workload_declaration common;
    struct section transfer;
};

static const struct declaration_name direction_names[] = {
    {"host_to_device", TRANSFER_TO_DEVICE},
    {"device_to_host", TRANSFER_TO_HOST},
    {"both", TRANSFER_BOTH},
    {"device_to_device", TRANSFER_WITHIN},
};
static const struct declaration_name memory_names[] = {
    {"pageable", TRANSFER_PAGEABLE},
    {"pinned", TRANSFER_PINNED},
};

static const struct declaration_field section_fields[] = {
    FIELD_ENUM("direction", FIELD_REQUIRED, struct section, direction, direction_names, 4),
    FIELD_ENUM("memory", FIELD_OPTIONAL, struct section, memory, memory_names, 2),
    FIELD_END,
};

static const struct declaration_field fields[] = {
    WORKLOAD_DECLARATION_FIELDS(struct transfer_declaration),
    FIELD_GROUP("transfer", FIELD_REQUIRED, struct transfer_declaration, transfer, section_fields),
    FIELD_END,
};

static const struct declaration_schema schema = {ENTRY_GROUP(struct transfer_declaration, fields)};

static enum status check_declaration(const struct declaration *declaration,
                                     struct workload *workload, struct error *err)
{
    static const enum precision runs[] = {PRECISION_FP32};
    struct transfer_declaration *data = declaration->data;
    struct transfer_parameters *parameters;

    if (!declaration_has(declaration, "batches"))
        return declaration_error(declaration, "transfer", err,
                                 "`batches` is missing: the sizes of a copy in bytes; write for "
                                 "instance `batches: [4, 65536, 67108864]`");
    if (data->transfer.direction == TRANSFER_WITHIN && data->transfer.memory == TRANSFER_PINNED)
        return declaration_error(declaration, "transfer.memory", err,
                                 "a copy within the device has no host memory; remove `memory`");
    TRY(workload_declaration_check_precisions(declaration, &data->common, runs, 1, err));
    parameters = malloc(sizeof(*parameters));
    if (parameters == NULL)
        return error_no_memory(err);
    *parameters = (struct transfer_parameters){(enum transfer_direction)data->transfer.direction,
                                               (enum transfer_memory)data->transfer.memory};
    workload->parameters = parameters;
    return STATUS_OK;
}

static const struct workload_form form = {&schema, check_declaration};

/* By direction: what it is made of, and how its bytes are counted. */
static const struct {
    size_t legs, buffers, hosts;
    uint64_t factor;
    const char *formula, *words;
} shapes[] = {
    [TRANSFER_TO_DEVICE] = {1, 1, 1, 1, "n (bytes of the copy)", "from host to device"},
    [TRANSFER_TO_HOST] = {1, 1, 1, 1, "n (bytes of the copy)", "from device to host"},
    [TRANSFER_BOTH] = {2, 2, 2, 2, "2*n (n each way)", "to the device and to the host at once"},
    [TRANSFER_WITHIN] = {1, 2, 0, 2, "2*n (read and written, as CUDA's bandwidthTest counts)",
                         "within the device"},
};

static enum status cost(const struct workload_case *work, struct workload_cost *ret,
                        struct error *err)
{
    const struct transfer_parameters *parameters = work->workload->parameters;
    const uint64_t bytes = (uint64_t)work->batch;

    (void)err;
    *ret = (struct workload_cost){
        .bytes = shapes[parameters->direction].factor * bytes,
        .bytes_formula = shapes[parameters->direction].formula,
        .items = shapes[parameters->direction].legs,
        .item_name = "transfer",
        .device_memory_bytes = shapes[parameters->direction].buffers * bytes,
        .working_set_bytes = 2 * shapes[parameters->direction].legs * bytes,
        .headline = "bytes",
    };
    return STATUS_OK;
}

static void describe(const struct workload *workload, struct text *ret)
{
    const struct transfer_parameters *parameters = workload->parameters;

    text_append_format(ret, "copy: %s, waited for\n", shapes[parameters->direction].words);
    if (parameters->direction != TRANSFER_WITHIN)
        text_append_format(ret, "host memory: %s\n", memory_names[parameters->memory].str);
    text_append(ret, "batch: bytes of the copy\n");
}

static void finish(struct workload_instance *base)
{
    struct transfer_instance *instance = (struct transfer_instance *)base;

    for (size_t i = 0; i < TRANSFER_LEGS_MAX; ++i) {
        device_buffer_free(instance->buffers[i]);
        device_host_free(instance->pinned[i]);
        free(instance->pageable[i]);
    }
    free(instance->expected);
    free(instance->got);
}

/* Memory of the host's for leg `index`: pages of its own, as a program that reads a file has. */
static enum status host_alloc(struct transfer_instance *instance, enum transfer_memory memory,
                              size_t index, unsigned char **ret, struct error *err)
{
    const uint64_t pages = (instance->bytes + PAGE - 1) / PAGE * PAGE;

    if (memory == TRANSFER_PINNED) {
        TRY(device_host_alloc(instance->base.device, instance->bytes, &instance->pinned[index],
                              err));
        *ret = instance->pinned[index]->bytes;
        return STATUS_OK;
    }
    instance->pageable[index] = aligned_alloc(PAGE, pages);
    if (instance->pageable[index] == NULL)
        return error_no_memory(err);
    *ret = instance->pageable[index];
    return STATUS_OK;
}

static enum status allocate(struct transfer_instance *instance, enum transfer_memory memory,
                            struct error *err)
{
    const uint64_t tile = instance->bytes < TRANSFER_TILE ? instance->bytes : TRANSFER_TILE;
    unsigned char *hosts[TRANSFER_LEGS_MAX] = {NULL};

    for (size_t i = 0; i < shapes[instance->direction].buffers; ++i)
        TRY(device_buffer_alloc(instance->base.device, instance->bytes, BUFFER_READ_WRITE,
                                &instance->buffers[i], err));
    for (size_t i = 0; i < shapes[instance->direction].hosts; ++i)
        TRY(host_alloc(instance, memory, i, &hosts[i], err));
    for (size_t i = 0; i < instance->leg_count; ++i) {
        struct transfer_leg *leg = &instance->legs[i];
        const struct transfer_end device = {instance->buffers[i], NULL}, host = {NULL, hosts[i]};

        if (instance->direction == TRANSFER_WITHIN)
            *leg = (struct transfer_leg){"within_device", device, {instance->buffers[1], NULL}};
        else if (instance->direction == TRANSFER_TO_HOST || i == 1)
            *leg = (struct transfer_leg){"to_host", device, host};
        else
            *leg = (struct transfer_leg){"to_device", host, device};
    }
    instance->expected = malloc(tile);
    instance->got = malloc(tile);
    return instance->expected && instance->got ? STATUS_OK : error_no_memory(err);
}

static enum status iterate(struct workload_instance *base, struct error *err)
{
    struct transfer_instance *instance = (struct transfer_instance *)base;
    const struct transfer_leg *leg = &instance->legs[0], *other = &instance->legs[1];
    const uint64_t bytes = instance->bytes;
    const struct device_exchange both = {.to = leg->target.buffer,
                                         .source = leg->source.host,
                                         .from = other->source.buffer,
                                         .target = other->target.host,
                                         .bytes = bytes};

    ++base->unchecked;
    switch (instance->direction) {
    case TRANSFER_TO_DEVICE:
        return device_upload(leg->target.buffer, 0, leg->source.host, bytes, err);
    case TRANSFER_TO_HOST:
        return device_download(leg->source.buffer, 0, leg->target.host, bytes, err);
    case TRANSFER_BOTH:
        return device_exchange(&both, err);
    case TRANSFER_WITHIN:
        break;
    }
    return device_copy(leg->target.buffer, leg->source.buffer, bytes, err);
}

static enum status init(struct workload_instance *base, struct error *err)
{
    const struct workload_case *work = &base->work;
    const struct transfer_parameters *parameters = work->workload->parameters;
    struct transfer_instance *instance = (struct transfer_instance *)base;

    if (work->implementation != IMPLEMENTATION_PORTABLE)
        return error_set(err, STATUS_UNSUPPORTED, "transfer has no %s implementation",
                         implementation_name(work->implementation));
    instance->direction = parameters->direction;
    instance->bytes = (uint64_t)work->batch;
    instance->leg_count = shapes[parameters->direction].legs;
    TRY(allocate(instance, parameters->memory, err));
    TRY(transfer_fill_sources(instance, err));
    /* Whether the device has such a copy; queues that are made at the first are there after it. */
    TRY(iterate(base, err));
    TRY(device_synchronize(base->device, err));
    return transfer_checks.resume(base, err);
}

static struct buffer *result(struct workload_instance *base)
{
    const struct transfer_instance *instance = (struct transfer_instance *)base;

    return instance->buffers[instance->direction == TRANSFER_WITHIN];
}

const struct workload_kind workload_transfer = {
    .name = "transfer",
    .summary = "copies between host and device, both ways at once, and within the device",
    .form = &form,
    .largest_batch = TRANSFER_BYTES_MAX,
    .batch_unit = "bytes",
    .cost = cost,
    .describe = describe,
    .instance_size = sizeof(struct transfer_instance),
    .init = init,
    .iterate = iterate,
    .result = result,
    .checks = &transfer_checks,
    .finish = finish,
};

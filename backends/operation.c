/* operation - the checks in front of the implementations, for every kind. */
#include "backends/backend.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct operation_kind_ops *const kinds[OPERATION_KINDS] = {
    [OPERATION_GEMM] = &gemm_kind,
    [OPERATION_CONVOLUTION] = &convolution_kind,
    [OPERATION_ATTENTION] = &attention_kind,
    [OPERATION_ATTENTION_BACKWARD] = &attention_kind,
};

const char *operation_kind_name(enum operation_kind kind)
{
    return kinds[kind]->name;
}

char *operation_key(const struct operation_desc *desc)
{
    return kinds[desc->kind]->key(desc);
}

enum status operation_make(const struct operation_ops *ops, struct device *device,
                           const struct operation_desc *desc, struct operation **ret,
                           struct error *err)
{
    struct operation *operation = calloc(1, ops->size);
    enum status status;

    if (operation == NULL)
        return error_no_memory(err);
    operation->ops = ops;
    operation->device = device;
    operation->desc = *desc;
    status = ops->prepare != NULL ? ops->prepare(operation, err) : STATUS_OK;
    if (status == STATUS_OK)
        *ret = operation;
    else
        ops->destroy(operation);
    return status;
}

/* The first of the table from `at` on that is of the kind and here; NULL: none. */
static const struct operation_implementation *
find_implementation(const struct device *device, enum operation_kind kind,
                    const struct operation_implementation *at)
{
    while (at != NULL && at->create != NULL) {
        if (at->kind == kind && (at->present == NULL || at->present(device)))
            return at;
        at++;
    }
    return NULL;
}

bool device_has_operation(const struct device *device, enum operation_kind kind)
{
    return find_implementation(device, kind, device->ops->operations) != NULL;
}

const char *device_no_gemm_reason(const struct device *device)
{
    const struct reading *reading = reading_find(&device->info.readings, "device.gemm");

    return reading != NULL && reading->reason != NULL ? reading->reason
                                                      : "see `assay devices -v` for what was tried";
}

static enum status fail_none(const struct device *device, enum operation_kind kind,
                             struct error *err)
{
    if (kind == OPERATION_GEMM)
        return error_set(err, STATUS_UNSUPPORTED, "no vendor GEMM: %s",
                         device_no_gemm_reason(device));
    return error_set(err, STATUS_UNSUPPORTED, "%s has no vendor %s", device->info.name,
                     kinds[kind]->name);
}

/* What the libraries say no to is joined to one message. */
static enum status create_any(struct device *device, const struct operation_desc *desc,
                              struct operation **ret, struct error *err)
{
    const struct operation_implementation *at =
        find_implementation(device, desc->kind, device->ops->operations);
    struct error all = ERROR_INIT;

    while (at != NULL) {
        struct error one = ERROR_INIT, joined = ERROR_INIT;
        const enum status status = at->create(device, desc, ret, &one);

        if (status == STATUS_OK)
            return status;
        if (status != STATUS_UNSUPPORTED && status != STATUS_UNAVAILABLE)
            return error_set(err, status, "%s", one.message);
        if (all.code != STATUS_OK)
            error_set(&joined, STATUS_UNSUPPORTED, "%s; %s", all.message, one.message);
        all = joined.code != STATUS_OK ? joined : one;
        at = find_implementation(device, desc->kind, at + 1);
    }
    return error_set(err, all.code, "%s", all.message);
}

enum status operation_create(struct device *device, const struct operation_desc *desc,
                             struct operation **ret, struct error *err)
{
    struct operation_desc whole = *desc;
    struct operation *operation = NULL;

    if (!device_has_operation(device, desc->kind))
        return fail_none(device, desc->kind, err);
    TRY(kinds[desc->kind]->complete(&whole, err));
    TRY(create_any(device, &whole, &operation, err));
    *ret = operation;
    return STATUS_OK;
}

void operation_destroy(struct operation *operation)
{
    if (operation != NULL)
        operation->ops->destroy(operation);
}

static enum status check_operand(const struct operation *operation, const struct operand *operand,
                                 const struct operation_extent *extent, struct error *err)
{
    const char *kind = kinds[operation->desc.kind]->name;

    if (operand->buffer == NULL || operand->buffer->device != operation->device)
        return error_set(err, STATUS_INTERNAL, "%s: %s is not a buffer of this device", kind,
                         extent->name);
    if (((extent->elements + operand->offset) * dtype_bits(extent->type) + 7) / 8 >
        operand->buffer->bytes)
        return error_set(err, STATUS_INVALID,
                         "%s: %s at offset %" PRIu64 " goes beyond its buffer of %" PRIu64 " bytes",
                         kind, extent->name, operand->offset, operand->buffer->bytes);
    return STATUS_OK;
}

enum status operation_set_weights(struct operation *operation, const struct operand *weights,
                                  struct error *err)
{
    const struct operation_kind_ops *kind = kinds[operation->desc.kind];
    struct operation_extent extents[OPERANDS_MAX] = {0};

    if (kind->weights < 0 || operation->ops->set_weights == NULL)
        return error_set(err, STATUS_INTERNAL, "%s: there are no weights to set", kind->name);
    kind->extents(&operation->desc, extents);
    TRY(check_operand(operation, weights, &extents[kind->weights], err));
    TRY(operation->ops->set_weights(operation, weights, err));
    operation->has_weights = true;
    return STATUS_OK;
}

enum status operation_run(struct operation *operation, const union operands *operands,
                          struct error *err)
{
    const struct operation_kind_ops *kind = kinds[operation->desc.kind];
    struct operation_extent extents[OPERANDS_MAX] = {0};

    kind->extents(&operation->desc, extents);
    for (int i = 0; i < OPERANDS_MAX; i++)
        if (extents[i].name != NULL && i != kind->weights)
            TRY(check_operand(operation, &operands->at[i], &extents[i], err));
    if (kind->weights >= 0 && !operation->has_weights)
        return error_set(err, STATUS_INTERNAL, "%s: run before it was given weights", kind->name);
    return operation->ops->run(operation, operands, err);
}

enum status operation_describe(const struct operation *operation, struct operation_info *ret,
                               struct error *err)
{
    struct operation_info info = {0};

    TRY(operation->ops->describe(operation, &info, err));
    *ret = info;
    return STATUS_OK;
}

enum status operation_select(struct operation *operation, uint32_t index, struct error *err)
{
    const char *kind = kinds[operation->desc.kind]->name;
    struct operation_info info = {0};

    TRY(operation_describe(operation, &info, err));
    if (operation->ops->select == NULL || info.algorithms == 0)
        return error_set(err, STATUS_UNSUPPORTED, "%s lists no algorithms for this %s",
                         info.library, kind);
    if (index >= info.algorithms)
        return error_set(err, STATUS_NOT_FOUND,
                         "%s lists %" PRIu32 " algorithms for this %s, there is no number %" PRIu32,
                         info.library, info.algorithms, kind, index);
    return operation->ops->select(operation, index, err);
}

/* ---- what a library says of a precision ---- */

const char *support_name(enum support support)
{
    switch (support) {
    case SUPPORT_NATIVE:
        return "native";
    case SUPPORT_EMULATED:
        return "emulated";
    case SUPPORT_ABSENT:
        return "absent";
    case SUPPORT_UNKNOWN:
        break;
    }
    return "unknown";
}

void support_answers_add(struct support_answers *answers, enum status status,
                         const struct error *err)
{
    struct error *kept = status == STATUS_UNSUPPORTED ? &answers->refusal : &answers->failure;

    if (status != STATUS_OK && kept->code == STATUS_OK)
        error_set(kept, status, "%s", err->message);
}

void support_answers_tell(const struct support_answers *answers, bool granted,
                          struct operation_info *ret)
{
    const bool failed = answers->failure.code != STATUS_OK;
    const char *message = failed ? answers->failure.message : answers->refusal.message;
    const size_t length = granted ? strlen(ret->method) : 0, room = sizeof(ret->method) - length;

    if (granted && failed)
        snprintf(ret->method + length, room, "; asked otherwise: %.*s", (int)room - 1, message);
    if (granted)
        return;
    ret->support = failed ? SUPPORT_UNKNOWN : SUPPORT_ABSENT;
    snprintf(ret->method, room, "%.*s", (int)room - 1, message);
}

static enum status ask(struct device *device, const struct operation_desc *desc,
                       struct operation_info *ret, struct error *err)
{
    struct operation *operation = NULL;
    enum status status = operation_create(device, desc, &operation, err);

    if (status == STATUS_OK)
        status = operation_describe(operation, ret, err);
    operation_destroy(operation);
    return status;
}

void operation_support(struct device *device, enum operation_kind kind, enum precision precision,
                       struct operation_info *ret)
{
    struct operation_desc desc = {.kind = kind};
    struct support_answers answers = {0};
    const char *other = NULL, *granted_other = NULL;
    bool granted = false;

    memset(ret, 0, sizeof(*ret));
    for (unsigned i = 0; kinds[kind]->question(precision, i, &desc, &other); i++) {
        struct operation_info info = {0};
        struct error err = ERROR_INIT;
        enum status status;

        if (other != NULL ? granted_other != NULL : granted)
            continue;
        status = ask(device, &desc, &info, &err);
        support_answers_add(&answers, status, &err);
        if (status != STATUS_OK)
            continue;
        if (other == NULL || !granted)
            *ret = info;
        granted = granted || other == NULL;
        granted_other = other;
    }
    if (granted_other != NULL) {
        const size_t length = strlen(ret->method);

        snprintf(ret->method + length, sizeof(ret->method) - length, " (%s%s%s)",
                 granted ? "and " : "", granted_other, granted ? "" : " alone");
    }
    support_answers_tell(&answers, granted || granted_other != NULL, ret);
}

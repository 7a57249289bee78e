#include "harness/runner/message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/text.h"

static const char *const type_names[MESSAGE_TYPE_COUNT] = {
#define MESSAGE_NAME(code, name) name,
    MESSAGE_MAP(MESSAGE_NAME)
#undef MESSAGE_NAME
};

const char *message_type_name(enum message_type type)
{
    return (unsigned)type < MESSAGE_TYPE_COUNT ? type_names[type] : "unknown";
}

static enum status bad_member(const struct message *message, const char *key, const char *expected,
                              struct error *err)
{
    return error_set(err, STATUS_PROTOCOL, "worker message \"%s\": \"%s\" must be %s",
                     message_type_name(message->type), key, expected);
}

static enum status get_string(const struct message *message, const char *key, bool optional,
                              const char **ret, struct error *err)
{
    const json_t *value = json_object_get(message->json, key);

    if (optional && (!value || json_is_null(value)))
        return STATUS_OK;
    if (!json_is_string(value))
        return bad_member(message, key, "a string", err);
    *ret = json_string_value(value);
    return STATUS_OK;
}

/* Names become keys and titles: short, printable ASCII without blanks. */
static enum status get_name(const struct message *message, const char *key, const char **ret,
                            struct error *err)
{
    const char *name = NULL;

    TRY(get_string(message, key, false, &name, err));
    for (size_t i = 0; name[i] || i == 0; i++)
        if (name[i] <= ' ' || name[i] > '~' || i + 1 >= MESSAGE_NAME_MAX)
            return bad_member(message, key, "1 to 63 printable ASCII characters without blanks",
                              err);
    *ret = name;
    return STATUS_OK;
}

static enum status get_integer(const struct message *message, const char *key, int64_t low,
                               int64_t *ret, struct error *err)
{
    const json_t *value = json_object_get(message->json, key);

    if (!json_is_integer(value) || json_integer_value(value) < low)
        return bad_member(message, key, low == 0 ? "an integer >= 0" : "an integer", err);
    *ret = json_integer_value(value);
    return STATUS_OK;
}

/* From 0 on; -1 where it is missing or null. */
static enum status get_optional(const struct message *message, const char *key, int64_t *ret,
                                struct error *err)
{
    const json_t *value = json_object_get(message->json, key);

    *ret = -1;
    return value && !json_is_null(value) ? get_integer(message, key, 0, ret, err) : STATUS_OK;
}

static enum status get_real(const struct message *message, const char *key, double *ret,
                            struct error *err)
{
    const json_t *value = json_object_get(message->json, key);

    if (json_is_null(value))
        *ret = NAN;
    else if (json_is_number(value))
        *ret = json_number_value(value);
    else
        return bad_member(message, key, "a number or null", err);
    return STATUS_OK;
}

static enum status get_object(struct message *message, const char *key, struct error *err)
{
    message->body = json_object_get(message->json, key);
    if (!json_is_object(message->body))
        return bad_member(message, key, "an object", err);
    return STATUS_OK;
}

static enum status get_values(struct message *message, struct error *err)
{
    const json_t *values = json_object_get(message->json, "values");
    int64_t first = 0;

    TRY(get_name(message, "series", &message->name, err));
    TRY(get_integer(message, "first", 0, &first, err));
    message->first = (uint64_t)first;
    if (!json_is_array(values))
        return bad_member(message, "values", "an array of integers", err);
    message->count = json_array_size(values);
    if (message->count == 0)
        return STATUS_OK;
    message->values = malloc(message->count * sizeof(int64_t));
    if (!message->values)
        return error_no_memory(err);
    for (size_t i = 0; i < message->count; i++) {
        const json_t *value = json_array_get(values, i);

        if (!json_is_integer(value))
            return bad_member(message, "values", "an array of integers", err);
        message->values[i] = json_integer_value(value);
    }
    return STATUS_OK;
}

static enum status get_check(struct message *message, struct error *err)
{
    const json_t *passed = json_object_get(message->json, "passed");
    int64_t compared = 0;

    TRY(get_name(message, "phase", &message->phase, err));
    TRY(get_string(message, "output", false, &message->output, err));
    TRY(get_string(message, "metric", false, &message->metric, err));
    TRY(get_string(message, "reason", true, &message->reason, err));
    TRY(get_real(message, "error", &message->error, err));
    TRY(get_real(message, "tolerance", &message->tolerance, err));
    TRY(get_integer(message, "compared", 0, &compared, err));
    message->compared = (uint64_t)compared;
    if (!json_is_boolean(passed))
        return bad_member(message, "passed", "true or false", err);
    message->passed = json_is_true(passed);
    return STATUS_OK;
}

static enum status get_end(struct message *message, struct error *err)
{
    const char *name = NULL;

    TRY(get_string(message, "status", false, &name, err));
    message->status = status_from_name(name);
    if (message->status == STATUS_COUNT)
        return bad_member(message, "status", "one of assay's status names (\"ok\", ...)", err);
    TRY(get_string(message, "message", true, &message->text, err));
    TRY(get_integer(message, "iterations_per_sample", 0, &message->iterations_per_sample, err));
    TRY(get_integer(message, "window_first", -1, &message->window_first, err));
    TRY(get_integer(message, "samples", 0, &message->samples, err));
    if (message->status == STATUS_OK &&
        (message->iterations_per_sample < 1 || message->window_first < 0 ||
         message->window_first >= message->samples))
        return error_set(err, STATUS_PROTOCOL,
                         "worker message \"end\": an \"ok\" trial has iterations_per_sample >= 1 "
                         "and a window inside its samples");
    return STATUS_OK;
}

/* JSON's integers have a sign, so the secret is 16 hex digits. */
static enum status get_spot_check(struct message *message, struct error *err)
{
    const char *secret = NULL;

    TRY(get_integer(message, "number", 0, &message->number, err));
    if (message->type == MESSAGE_SPOT_CHECKED) {
        TRY(get_optional(message, "iteration_ns", &message->iteration_ns, err));
        return get_integer(message, "took_ns", 0, &message->took_ns, err);
    }
    TRY(get_string(message, "secret", false, &secret, err));
    if (strlen(secret) != 16 || strspn(secret, "0123456789abcdef") != 16)
        return bad_member(message, "secret", "16 hex digits", err);
    message->secret = strtoull(secret, NULL, 16);
    return STATUS_OK;
}

static enum status get_members(struct message *message, struct error *err)
{
    enum status status = STATUS_OK;

    switch (message->type) {
    case MESSAGE_HELLO:
        status = get_integer(message, "protocol", 0, &message->protocol, err);
        if (status == STATUS_OK)
            status = get_string(message, "worker", false, &message->worker, err);
        message->handover = json_is_true(json_object_get(message->json, "handover"));
        return status;
    case MESSAGE_TRIAL:
        return get_object(message, "trial", err);
    case MESSAGE_DEVICE:
        return get_object(message, "device", err);
    case MESSAGE_ARTIFACT:
        return get_object(message, "artifact", err);
    case MESSAGE_CHOICES:
        return get_object(message, "choices", err);
    case MESSAGE_FACTS:
        return get_object(message, "facts", err);
    case MESSAGE_PHASE:
        status = get_name(message, "name", &message->name, err);
        if (status == STATUS_OK)
            status = get_integer(message, "begin_ns", 0, &message->begin_ns, err);
        if (status == STATUS_OK)
            status = get_integer(message, "end_ns", 0, &message->end_ns, err);
        if (status == STATUS_OK && message->end_ns < message->begin_ns)
            return bad_member(message, "end_ns", "at or after begin_ns", err);
        message->clocks = json_object_get(message->json, "clocks");
        TRY(status);
        TRY(get_optional(message, "reference_ns", &message->reference_ns, err));
        return get_optional(message, "read_back_ns", &message->read_back_ns, err);
    case MESSAGE_SYNC:
        return get_name(message, "at", &message->name, err);
    case MESSAGE_HANDED_OVER:
        status = get_integer(message, "number", 0, &message->number, err);
        if (status == STATUS_OK)
            status = get_integer(message, "iteration", 0, &message->iteration, err);
        if (status == STATUS_OK)
            status = get_integer(message, "took_ns", 0, &message->took_ns, err);
        return status;
    case MESSAGE_SPOT_CHECK:
    case MESSAGE_SPOT_CHECKED:
        return get_spot_check(message, err);
    case MESSAGE_SAMPLES:
        return get_values(message, err);
    case MESSAGE_CHECK:
        return get_check(message, err);
    case MESSAGE_END:
        return get_end(message, err);
    case MESSAGE_GO:
    case MESSAGE_HAND_OVER:
    case MESSAGE_ALIVE:
    case MESSAGE_TYPE_COUNT:
        break;
    }
    return STATUS_OK;
}

enum status message_parse(const char *line, size_t length, struct message *ret, struct error *err)
{
    struct message message = {.type = MESSAGE_TYPE_COUNT};
    const char *type;
    enum status status = canonical_parse(line, length, "worker message", &message.json, err);

    if (status != STATUS_OK) {
        if (err && status == STATUS_CORRUPT)
            err->code = STATUS_PROTOCOL;
        return status == STATUS_NO_MEMORY ? status : STATUS_PROTOCOL;
    }
    type = json_string_value(json_object_get(message.json, "type"));
    for (int i = 0; type && i < MESSAGE_TYPE_COUNT; i++)
        if (!strcmp(type, type_names[i]))
            message.type = (enum message_type)i;
    if (message.type == MESSAGE_TYPE_COUNT)
        status = error_set(err, STATUS_PROTOCOL,
                           "worker message without a known \"type\" (hello, device, phase, ...)");
    else
        status = get_members(&message, err);
    if (status != STATUS_OK) {
        message_finish(&message);
        return status;
    }
    *ret = message;
    return STATUS_OK;
}

void message_finish(struct message *message)
{
    if (!message)
        return;
    json_decref(message->json);
    free(message->values);
    memset(message, 0, sizeof(*message));
}

json_t *message_new(enum message_type type)
{
    return json_pack("{s:s}", "type", message_type_name(type));
}

json_t *message_new_phase(const char *name, int64_t begin_ns, int64_t end_ns)
{
    return json_pack("{s:s, s:s, s:I, s:I}", "type", "phase", "name", name, "begin_ns",
                     (json_int_t)begin_ns, "end_ns", (json_int_t)end_ns);
}

json_t *message_new_samples(const char *series, uint64_t first, const int64_t *values, size_t count)
{
    json_t *array = json_array();

    if (!array)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (json_array_append_new(array, json_integer(values[i])) < 0) {
            json_decref(array);
            return NULL;
        }
    }
    return json_pack("{s:s, s:s, s:I, s:o}", "type", "samples", "series", series, "first",
                     (json_int_t)first, "values", array);
}

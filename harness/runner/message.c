#include "harness/runner/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"

static const char *const type_names[MESSAGE_TYPE_COUNT] = {
#define MESSAGE_NAME(code, name) name,
    MESSAGE_MAP(MESSAGE_NAME)
#undef MESSAGE_NAME
};

const char *message_type_name(enum message_type type)
{
    return (unsigned)type < MESSAGE_TYPE_COUNT ? type_names[type] : "unknown";
}

/* ---- members that no kind fits ---- */

static json_t *text_to_json(const void *at)
{
    return json_string(*(const char *const *)at);
}

/* Names become keys and titles: short, printable ASCII without blanks. */
static const char *name_from_json(const json_t *json, void *at)
{
    const char *name = json_string_value(json);
    size_t length = 0;

    while (name && name[length] > ' ' && name[length] <= '~')
        length++;
    if (length == 0 || name[length] || length >= MESSAGE_NAME_MAX)
        return "";
    *(const char **)at = name;
    return NULL;
}

static const struct member_codec name_codec = {.to_json = text_to_json,
                                               .from_json = name_from_json};

/* JSON's integers have a sign, so the secret is 16 hex digits. */
static json_t *secret_to_json(const void *at)
{
    return json_sprintf("%016" PRIx64, *(const uint64_t *)at);
}

static const char *secret_from_json(const json_t *json, void *at)
{
    const char *secret = json_string_value(json);

    if (!secret || strlen(secret) != 16 || strspn(secret, "0123456789abcdef") != 16)
        return "";
    *(uint64_t *)at = strtoull(secret, NULL, 16);
    return NULL;
}

static const struct member_codec secret_codec = {.to_json = secret_to_json,
                                                 .from_json = secret_from_json};

/* ---- the members of each type ---- */

#define UNION offsetof(struct message, body)
#define ROW(of_kind, type, member, ...)                                                            \
    {                                                                                              \
        .name = #member, .kind = MEMBER_##of_kind,                                                 \
        .offset = offsetof(struct message, type.member) - UNION, __VA_ARGS__                       \
    }
#define NAME .codec = &name_codec
#define LENT .flags = MEMBER_BORROWED

static const struct member hello_members[] = {
    ROW(COUNT, hello, protocol),
    ROW(TEXT, hello, worker, LENT),
    ROW(BOOLEAN, hello, handover, .flags = MEMBER_OPTIONAL),
};

static bool is_no_window(const void *phase)
{
    return strcmp(*(const char *const *)phase, "window") != 0;
}

static const struct member phase_members[] = {
    ROW(CUSTOM, phase, name, NAME),
    ROW(COUNT, phase, begin_ns),
    ROW(COUNT, phase, end_ns),
    ROW(RECORD, phase, clocks, .of = &conduct_clocks_type, .absent = is_no_window,
        .flags = MEMBER_NULLABLE | MEMBER_OPTIONAL),
    MEMBER_ALL_OF(conduct_report_type, .absent = is_no_window, .flags = MEMBER_OPTIONAL,
                  .offset = offsetof(struct message, phase.report) - UNION),
};
static const struct member spot_check_members[] = {
    ROW(COUNT, spot_check, number),
    ROW(CUSTOM, spot_check, secret, .codec = &secret_codec),
};
static const struct member spot_checked_members[] = {
    ROW(COUNT, spot_checked, number),
    ROW(COUNT, spot_checked, took_ns),
    ROW(COUNT, spot_checked, iteration_ns, .flags = MEMBER_FROM_0 | MEMBER_LATER),
};
static const struct member hand_over_members[] = {
    ROW(COUNT, hand_over, number),
    ROW(TEXT, hand_over, outputs, LENT),
    ROW(TEXT, hand_over, inputs, LENT),
};
static const struct member handed_over_members[] = {
    ROW(COUNT, handed_over, number),
    ROW(COUNT, handed_over, iteration),
    ROW(COUNT, handed_over, took_ns),
};
static const struct member samples_members[] = {
    ROW(CUSTOM, samples, series, NAME),
    ROW(COUNT, samples, first),
    ROW(LIST, samples, values, .of = &type_of_integer,
        .count = offsetof(struct message, samples.count) - UNION),
};
static const struct member sync_members[] = {{.name = "at", .kind = MEMBER_CUSTOM, NAME}};
static const struct member check_members[] = {
    ROW(CUSTOM, check, phase, NAME),
    ROW(TEXT, check, output, LENT),
    ROW(TEXT, check, metric, LENT),
    ROW(TEXT, check, reason, .flags = MEMBER_BORROWED | MEMBER_NULLABLE | MEMBER_LATER),
    ROW(REAL, check, error),
    ROW(FINITE, check, tolerance),
    ROW(COUNT, check, compared),
    ROW(BOOLEAN, check, passed),
};
static const struct member end_members[] = {
    ROW(RECORD, end, status, .of = &type_of_status),
    ROW(TEXT, end, message, .flags = MEMBER_BORROWED | MEMBER_NULLABLE | MEMBER_LATER),
    ROW(COUNT, end, iterations_per_sample),
    ROW(INTEGER, end, window_first),
    ROW(COUNT, end, samples),
};

#define OF(table) TYPE_OF_MEMBERS(table##_members)
#define BODY(of_name)                                                                              \
    {                                                                                              \
        .members = &(const struct member){.name = (of_name), .kind = MEMBER_JSON, LENT},           \
        .count = 1                                                                                 \
    }
static const struct type types[MESSAGE_TYPE_COUNT] = {
    [MESSAGE_HELLO] = OF(hello),
    [MESSAGE_TRIAL] = BODY("trial"),
    [MESSAGE_DEVICE] = BODY("device"),
    [MESSAGE_CHOICES] = BODY("choices"),
    [MESSAGE_TRACE] = BODY("trace"),
    [MESSAGE_PHASE] = OF(phase),
    [MESSAGE_ARTIFACT] = BODY("artifact"),
    [MESSAGE_CHECK] = OF(check),
    [MESSAGE_SYNC] = OF(sync),
    [MESSAGE_SPOT_CHECK] = OF(spot_check),
    [MESSAGE_SPOT_CHECKED] = OF(spot_checked),
    [MESSAGE_HAND_OVER] = OF(hand_over),
    [MESSAGE_HANDED_OVER] = OF(handed_over),
    [MESSAGE_SAMPLES] = OF(samples),
    [MESSAGE_FACTS] = BODY("facts"),
    [MESSAGE_END] = OF(end),
};

/* ---- reading ---- */

/* What several members must be together. */
static enum status check_together(const struct message *message, struct error *err)
{
    if (message->type == MESSAGE_PHASE && message->phase.end_ns < message->phase.begin_ns)
        return error_set(err, STATUS_PROTOCOL,
                         "worker message \"phase\": \"end_ns\" must be at or after begin_ns");
    if (message->type == MESSAGE_END && message->end.status == STATUS_OK &&
        (message->end.iterations_per_sample < 1 || message->end.window_first < 0 ||
         message->end.window_first >= message->end.samples))
        return error_set(err, STATUS_PROTOCOL,
                         "worker message \"end\": an \"ok\" trial has iterations_per_sample >= 1 "
                         "and a window inside its samples");
    return STATUS_OK;
}

static enum status read_members(struct message *message, struct error *err)
{
    const char *wrong = type_read(&types[message->type], message->json, &message->body);

    if (wrong == type_no_memory)
        return error_no_memory(err);
    if (wrong)
        return error_set(err, STATUS_PROTOCOL,
                         "worker message \"%s\": \"%s\" is missing or not what "
                         "harness/runner/PROTOCOL.md says",
                         message_type_name(message->type), wrong);
    return check_together(message, err);
}

enum status message_parse(const char *line, size_t length, struct message *ret, struct error *err)
{
    CLEANUP(message_finish) struct message message = {.type = MESSAGE_TYPE_COUNT};
    const enum status status = canonical_parse(line, length, "worker message", &message.json, err);
    const char *type = member_text(message.json, "type");

    if (err && status == STATUS_CORRUPT)
        err->code = STATUS_PROTOCOL;
    if (status != STATUS_OK)
        return status == STATUS_NO_MEMORY ? status : STATUS_PROTOCOL;
    for (int i = 0; i < MESSAGE_TYPE_COUNT; i++)
        if (!strcmp(type, type_names[i]))
            message.type = (enum message_type)i;
    if (message.type == MESSAGE_TYPE_COUNT)
        return error_set(err, STATUS_PROTOCOL,
                         "worker message without a known \"type\" (hello, device, phase, ...)");
    TRY(read_members(&message, err));
    *ret = message;
    message = (struct message){.type = MESSAGE_TYPE_COUNT};
    return STATUS_OK;
}

void message_finish(struct message *message)
{
    if (!message)
        return;
    if ((unsigned)message->type < MESSAGE_TYPE_COUNT)
        type_finish(&types[message->type], &message->body);
    json_decref(message->json);
    memset(message, 0, sizeof(*message));
}

/* ---- writing ---- */

enum status message_send(struct channel *channel, const struct message *message,
                         int64_t deadline_ns, struct error *err)
{
    json_auto_t *json = type_to_json(&types[message->type], &message->body);

    if (json_object_set_new(json, "type", json_string(type_names[message->type])) != 0)
        return error_no_memory(err);
    return channel_write_json(channel, json, deadline_ns, err);
}

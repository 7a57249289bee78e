#include "harness/core/array.h"
#include "harness/core/reading.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"
#include "harness/core/type.h"

static const char *const status_names[] = {
#define READING_NAME(code, name) [READING_##code] = name,
    READING_STATUS_MAP(READING_NAME)
#undef READING_NAME
};
#define STATUS_NAMES (sizeof(status_names) / sizeof(*status_names))

const char *reading_status_name(enum reading_status status)
{
    return (unsigned)status < STATUS_NAMES ? status_names[status] : "unknown";
}

bool reading_status_from_name(const char *name, enum reading_status *ret)
{
    for (size_t i = 0; name && i < STATUS_NAMES; ++i) {
        if (!strcmp(status_names[i], name)) {
            *ret = (enum reading_status)i;
            return true;
        }
    }
    return false;
}

static bool has_value(const struct reading *reading)
{
    return reading->status == READING_MEASURED || reading->status == READING_DECLARED;
}

static void finish_reading(struct reading *reading)
{
    free(reading->name);
    free(reading->text);
    free(reading->unit);
    free(reading->source);
    free(reading->reason);
}

void reading_list_init(struct reading_list *list)
{
    *list = (struct reading_list){0};
}

void reading_list_finish(struct reading_list *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < list->count; ++i)
        finish_reading(&list->items[i]);
    free(list->items);
    reading_list_init(list);
}

static struct reading *find(const struct reading_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; ++i)
        if (!strcmp(list->items[i].name, name))
            return &list->items[i];
    return NULL;
}

const char *reading_method(const char *source)
{
    if (!source || !*source)
        return "told by";
    if (*source == '/')
        return "read from";
    return source[strspn(source, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] ? "told by"
                                                                           : "environment variable";
}

const struct reading *reading_find(const struct reading_list *list, const char *name)
{
    return find(list, name);
}

/* The strings are borrowed until add() copies them. */
struct draft {
    const char *name, *text, *unit, *source, *reason;
};

static bool copy_string(const char *string, char **ret)
{
    if (!string)
        return true;
    *ret = strdup(string);
    return *ret;
}

/* Puts `value`, with copies of the draft's strings, in the place of its name or at the end. */
static void add(struct reading_list *list, struct reading value, const struct draft *draft)
{
    struct reading *place;

    if (list->failed)
        return;
    if (!copy_string(draft->name, &value.name) || !copy_string(draft->text, &value.text) ||
        !copy_string(draft->unit, &value.unit) || !copy_string(draft->source, &value.source) ||
        !copy_string(draft->reason, &value.reason))
        goto failed;
    place = find(list, draft->name);
    if (place) {
        finish_reading(place);
        *place = value;
        return;
    }
    if (!ARRAY_ROOM(list->items, list->count, 1))
        goto failed;
    list->items[list->count++] = value;
    return;
failed:
    finish_reading(&value);
    list->failed = true;
}

void reading_add_text(struct reading_list *list, const char *name, const char *value,
                      const char *source)
{
    add(list, (struct reading){.status = READING_MEASURED, .type = READING_TEXT},
        &(struct draft){.name = name, .text = value ? value : "", .source = source});
}

void reading_add_integer(struct reading_list *list, const char *name, int64_t value,
                         const char *unit, const char *source)
{
    add(list,
        (struct reading){.status = READING_MEASURED, .type = READING_INTEGER, .integer = value},
        &(struct draft){.name = name, .unit = unit, .source = source});
}

void reading_add_real(struct reading_list *list, const char *name, double value, const char *unit,
                      const char *source)
{
    if (!isfinite(value)) {
        reading_add_missing(list, name, READING_UNAVAILABLE, source, "the value is not finite");
        return;
    }
    add(list, (struct reading){.status = READING_MEASURED, .type = READING_REAL, .real = value},
        &(struct draft){.name = name, .unit = unit, .source = source});
}

void reading_add_missing(struct reading_list *list, const char *name, enum reading_status status,
                         const char *source, const char *reason)
{
    add(list, (struct reading){.status = status, .type = READING_TEXT},
        &(struct draft){.name = name, .source = source, .reason = reason});
}

/*
 * Strings of devices and of the kernel are bytes; JSON takes only UTF-8, so other bytes are shown
 * escaped. Returns 0 on success.
 */
static int set_string(json_t *object, const char *key, const char *value)
{
    json_t *string;

    if (!value)
        return 0;
    string = json_string(value);
    if (!string) {
        struct text safe;

        text_init(&safe);
        text_append_printable(&safe, value, strlen(value));
        string = text_ok(&safe) ? json_string(safe.data) : NULL;
        text_finish(&safe);
    }
    return json_object_set_new(object, key, string);
}

static json_t *reading_to_json(const struct reading *reading)
{
    json_t *object = json_object();
    int failed = 0;

    if (!object)
        return NULL;
    failed |= set_string(object, "status", reading_status_name(reading->status));
    if (has_value(reading)) {
        if (reading->type == READING_TEXT)
            failed |= set_string(object, "value", reading->text);
        else if (reading->type == READING_INTEGER)
            failed |= json_object_set_new(object, "value", json_integer(reading->integer));
        else
            failed |= json_object_set_new(object, "value", json_real(reading->real));
    }
    failed |= set_string(object, "unit", reading->unit);
    failed |= set_string(object, "source", reading->source);
    failed |= set_string(object, "reason", reading->reason);
    if (failed) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static const char *const status_words[] = {
#define READING_WORD(code, name) name,
    READING_STATUS_MAP(READING_WORD)
#undef READING_WORD
};
static const struct type status_type = {
    TYPE_OF_VALUE(MEMBER_NAME, .names = MEMBER_NAMES(status_words)), .def = "reading_status"};
static const struct type *const values[] = {&type_of_text, &type_of_finite, NULL};
static const struct member reading_members[] = {
    {.name = "status", .kind = MEMBER_RECORD, .of = &status_type},
    {.name = "source", .kind = MEMBER_TEXT, .help = "what was read or asked"},
    {.name = "value",
     .kind = MEMBER_ANY,
     .choices = values,
     .flags = MEMBER_NULLABLE | MEMBER_OPTIONAL},
    {.name = "unit", .kind = MEMBER_TEXT, .flags = MEMBER_NULLABLE | MEMBER_OPTIONAL},
    {.name = "reason", .kind = MEMBER_TEXT, .flags = MEMBER_NULLABLE | MEMBER_OPTIONAL},
};
static const struct type reading_type = {.members = reading_members,
                                         .count =
                                             sizeof(reading_members) / sizeof(*reading_members),
                                         .def = "reading"};
const struct type reading_list_type = {TYPE_OF_VALUE(MEMBER_JSON, .of = &reading_type),
                                       .def = "readings"};

json_t *reading_list_to_json(const struct reading_list *list)
{
    json_t *object = json_object();

    for (size_t i = 0; object && i < list->count; ++i) {
        if (json_object_set_new(object, list->items[i].name, reading_to_json(&list->items[i]))) {
            json_decref(object);
            object = NULL;
        }
    }
    return object;
}

/* One member of a reading's object as a string or NULL; false when it has another type. */
static bool get_string(const json_t *object, const char *key, const char **ret)
{
    const json_t *member = json_object_get(object, key);

    if (member && !json_is_null(member) && !json_is_string(member))
        return false;
    *ret = json_string_value(member);
    return true;
}

static enum status reading_from_json(const char *name, const json_t *json,
                                     struct reading_list *list, struct error *err)
{
    const json_t *value = json_object_get(json, "value");
    struct draft draft = {.name = name};
    struct reading reading = {0};
    const char *status;

    if (!json_is_object(json) || !get_string(json, "status", &status) ||
        !get_string(json, "unit", &draft.unit) || !get_string(json, "source", &draft.source) ||
        !get_string(json, "reason", &draft.reason))
        return error_set(err, STATUS_CORRUPT, "reading \"%s\": not an object of strings", name);
    if (!reading_status_from_name(status, &reading.status))
        return error_set(err, STATUS_CORRUPT, "reading \"%s\": unknown status \"%s\"", name,
                         status ? status : "");
    if (json_is_null(value))
        value = NULL; /* the form of a value that a bundle withholds */
    if (has_value(&reading) != (value != NULL))
        return error_set(err, STATUS_CORRUPT, "reading \"%s\": status \"%s\" %s", name, status,
                         value ? "has no value" : "needs a value");
    if (json_is_string(value)) {
        reading.type = READING_TEXT;
        draft.text = json_string_value(value);
    } else if (json_is_integer(value)) {
        reading.type = READING_INTEGER;
        reading.integer = json_integer_value(value);
    } else if (json_is_real(value)) {
        reading.type = READING_REAL;
        reading.real = json_real_value(value);
    } else if (value) {
        return error_set(err, STATUS_CORRUPT, "reading \"%s\": value is not a string or a number",
                         name);
    }
    add(list, reading, &draft);
    return STATUS_OK;
}

enum status reading_list_from_json(const json_t *json, struct reading_list *ret, struct error *err)
{
    enum status status = STATUS_OK;
    struct reading_list list;
    const char *name;
    json_t *member;

    if (!json_is_object(json))
        return error_set(err, STATUS_CORRUPT, "readings are no JSON object");
    reading_list_init(&list);
    json_object_foreach((json_t *)json, name, member)
    {
        status = reading_from_json(name, member, &list, err);
        if (status != STATUS_OK)
            break;
    }
    if (status == STATUS_OK && list.failed)
        status = error_no_memory(err);
    if (status != STATUS_OK) {
        reading_list_finish(&list);
        return status;
    }
    *ret = list;
    return STATUS_OK;
}

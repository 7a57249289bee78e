#include "harness/core/type.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/member.h"

static void *at_of(const struct member *m, const void *record)
{
    return (char *)(uintptr_t)record + m->offset;
}

static const struct member real_member = {.kind = MEMBER_REAL}, text_member = {.kind = MEMBER_TEXT};
const struct type type_of_real = {"a number", sizeof(double), &real_member, 1, NULL, NULL};
const struct type type_of_integer = {"an integer", sizeof(int64_t), TYPE_OF_VALUE(MEMBER_INTEGER)};
const struct type type_of_finite = {"a number", sizeof(double), TYPE_OF_VALUE(MEMBER_FINITE)};
const struct type type_of_object = {"an object", sizeof(json_t *), TYPE_OF_VALUE(MEMBER_JSON)};
const struct type type_of_text = {"a text", sizeof(char *), &text_member, 1, NULL, NULL};

static const char *const statuses[] = {
#define STATUS_WORD(code, name, meaning) name,
    STATUS_MAP(STATUS_WORD)
#undef STATUS_WORD
};
const struct type type_of_status = {"a status", sizeof(enum status),
                                    TYPE_OF_VALUE(MEMBER_NAME, .names = MEMBER_NAMES(statuses)),
                                    .def = "status"};

bool type_is_value(const struct type *type)
{
    return type->count == 1 && !type->members->name;
}

static bool has_value(const struct member *m, const void *record)
{
    return m->has == 0 || *(const bool *)((const char *)record + m->has);
}

static size_t list_count(const struct member *m, const void *record)
{
    return *(const size_t *)((const char *)record + m->count);
}

/* The first item of a list. */
static char *items_of(const struct member *m, const void *record)
{
    char *at = at_of(m, record);

    return m->size ? at : *(char **)at;
}

/* ---- writing ---- */

static json_t *list_to_json(const struct member *m, const void *record)
{
    const char *items = items_of(m, record);
    const size_t count = list_count(m, record);
    json_t *array = json_array();

    for (size_t i = 0; array && i < count; i++)
        if (json_array_append_new(array, type_to_json(m->of, items + i * m->of->size)) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

/* NULL: the value has no name. */
static const char *name_of(const struct member *m, const void *record)
{
    const unsigned value = *(const unsigned *)at_of(m, record);

    return value < m->name_count ? m->names[value] : NULL;
}

static bool is_left_out(const struct member *m, const void *record);

static bool all_left_out(const struct type *type, const void *record)
{
    size_t i = 0;

    while (i < type->count && is_left_out(&type->members[i], record))
        i++;
    return i == type->count;
}

/* Whether the member says nothing: 0, NULL or empty. */
static bool is_empty(const struct member *m, const void *record)
{
    const void *at = at_of(m, record);

    if (m->absent)
        return m->absent(record);
    switch (m->kind) {
    case MEMBER_REAL:
    case MEMBER_FINITE:
        return !has_value(m, record) || !isfinite(*(const double *)at);
    case MEMBER_COUNT:
    case MEMBER_INTEGER:
        if (m->flags & MEMBER_FROM_0)
            return *(const int64_t *)at < 0;
        return m->has ? !has_value(m, record) : *(const uint64_t *)at == 0;
    case MEMBER_BOOLEAN:
        return !*(const bool *)at;
    case MEMBER_NAME:
        return name_of(m, record) == NULL;
    case MEMBER_TEXT:
    case MEMBER_JSON:
    case MEMBER_ANY:
        return *(void *const *)at == NULL;
    case MEMBER_CHARS:
        return *(const char *)at == '\0';
    case MEMBER_DIGEST:
        return !has_value(m, record) || digest_equal(at, &(struct digest){{0}});
    case MEMBER_LIST:
        return list_count(m, record) == 0;
    case MEMBER_RECORD:
        return m->has ? !has_value(m, record) : all_left_out(m->of, at);
    case MEMBER_CUSTOM:
        break;
    }
    return false;
}

/* Text of anyone's, which may be malformed, must not cost the record that it stands in. */
static json_t *string_json(const struct member *m, const char *text)
{
    json_t *json = m->flags & MEMBER_PRINTABLE ? NULL : json_string(text);

    return json || !text ? json : printable_or_null(text);
}

static json_t *member_to_json(const struct member *m, const void *record)
{
    const void *at = at_of(m, record);
    char hex[DIGEST_HEX_SIZE];

    switch (m->kind) {
    case MEMBER_REAL:
    case MEMBER_FINITE:
        return real_or_null(*(const double *)at);
    case MEMBER_COUNT:
    case MEMBER_INTEGER:
        return json_integer(*(const json_int_t *)at);
    case MEMBER_BOOLEAN:
        return json_boolean(*(const bool *)at);
    case MEMBER_NAME:
        return json_string(name_of(m, record));
    case MEMBER_TEXT:
        return string_json(m, *(const char *const *)at);
    case MEMBER_CHARS:
        return string_json(m, at);
    case MEMBER_DIGEST:
        return json_string(digest_hex(at, hex));
    case MEMBER_JSON:
    case MEMBER_ANY:
        return json_incref(*(json_t *const *)at);
    case MEMBER_RECORD:
        return type_to_json(m->of, at);
    case MEMBER_LIST:
        return list_to_json(m, record);
    case MEMBER_CUSTOM:
        return m->codec->to_json(at);
    }
    return NULL;
}

bool member_may_be_null(const struct member *m)
{
    return m->kind == MEMBER_REAL || m->has != 0 || (m->flags & (MEMBER_NULLABLE | MEMBER_FROM_0));
}

static bool is_null(const struct member *m, const void *record)
{
    return (member_may_be_null(m) || m->kind == MEMBER_NAME) && is_empty(m, record);
}

static bool is_left_out(const struct member *m, const void *record)
{
    if (!(m->flags & MEMBER_OPTIONAL))
        return false;
    if (m->kind == MEMBER_NAME && !m->absent)
        return *(const unsigned *)at_of(m, record) == 0;
    return is_empty(m, record);
}

static json_t *member_or_null(const struct member *m, const void *record)
{
    return is_null(m, record) ? json_null() : member_to_json(m, record);
}

/* As a member of the object; a record without a name: all of its members. */
static int set_member(json_t *object, const struct member *m, const void *record)
{
    json_t *value = member_or_null(m, record);
    int failed;

    if (m->name)
        return json_object_set_new(object, m->name, value);
    failed = json_object_update(object, value);
    json_decref(value);
    return failed;
}

json_t *type_to_json(const struct type *type, const void *record)
{
    json_t *object;

    if (type_is_value(type))
        return member_or_null(type->members, record);
    object = json_object();
    for (size_t i = 0; object && i < type->count; i++) {
        const struct member *m = &type->members[i];

        if (is_left_out(m, record))
            continue;
        if (set_member(object, m, record) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

/* ---- reading ---- */

const char type_no_memory[] = "";

static bool read_name(const struct member *m, const json_t *json, unsigned *ret)
{
    const char *name = json_string_value(json);

    for (unsigned i = 0; i < m->name_count; i++)
        if (m->names[i] ? name && strcmp(m->names[i], name) == 0 : json_is_null(json)) {
            *ret = i;
            return true;
        }
    return false;
}

static const char *read_text(const struct member *m, const json_t *json, char **ret)
{
    if (!json_is_string(json))
        return "";
    *ret = m->flags & MEMBER_BORROWED ? (char *)(uintptr_t)json_string_value(json)
                                      : strdup(json_string_value(json));
    return *ret ? NULL : type_no_memory;
}

/* A prefix that fits and does not end within a character. */
static bool read_chars(const struct member *m, const json_t *json, char *ret)
{
    size_t length = json_string_length(json);

    if (!json_is_string(json) || (length >= m->size && (m->flags & MEMBER_WHOLE)))
        return false;
    if (length >= m->size)
        for (length = m->size - 1; length && (json_string_value(json)[length] & 0xC0) == 0x80;)
            length--;
    memcpy(ret, json_string_value(json), length);
    ret[length] = '\0';
    return true;
}

static const char *read_list(const struct member *m, const json_t *json, void *record)
{
    const size_t count = json_array_size(json);
    const char *wrong = NULL;
    char *items;

    if (!json_is_array(json) || (m->size && count > m->size))
        return "";
    if (!m->size) {
        items = calloc(count + 1, m->of->size);
        if (!items)
            return type_no_memory;
        *(char **)at_of(m, record) = items;
    }
    items = items_of(m, record);
    for (size_t i = 0; i < count; i++) {
        const char *first = type_read(m->of, json_array_get(json, i), items + i * m->of->size);

        if (!wrong || first == type_no_memory)
            wrong = first;
    }
    *(size_t *)((char *)record + m->count) = count;
    return wrong;
}

static bool read_real(const struct member *m, const json_t *json, char *record)
{
    double value = json_is_number(json) ? json_number_value(json) : NAN;

    *(double *)(record + m->offset) = value;
    if (m->has)
        *(bool *)(record + m->has) = isfinite(value);
    return json_is_number(json) || (m->kind == MEMBER_REAL && json_is_null(json));
}

static bool read_integer(const struct member *m, const json_t *json, char *record)
{
    const bool is_good =
        json_is_integer(json) && (m->kind == MEMBER_INTEGER || json_integer_value(json) >= 0);

    if (is_good)
        *(int64_t *)(record + m->offset) = json_integer_value(json);
    else if (json_is_null(json))
        *(int64_t *)(record + m->offset) = m->flags & MEMBER_FROM_0 ? -1 : 0;
    if (m->has)
        *(bool *)(record + m->has) = is_good;
    return is_good || (member_may_be_null(m) && json_is_null(json));
}

/* Numbers and names read null themselves. */
static bool takes_null(const struct member *m)
{
    switch (m->kind) {
    case MEMBER_BOOLEAN:
    case MEMBER_TEXT:
    case MEMBER_CHARS:
    case MEMBER_DIGEST:
    case MEMBER_JSON:
    case MEMBER_ANY:
    case MEMBER_RECORD:
    case MEMBER_LIST:
        return member_may_be_null(m);
    default:
        return false;
    }
}

/* NULL, or the path of what is wrong within the member; "": the member itself. */
static const char *member_read(const struct member *m, const json_t *json, char *record)
{
    void *at = at_of(m, record);
    bool is_good = false;

    if (json_is_null(json) && takes_null(m))
        return NULL;
    switch (m->kind) {
    case MEMBER_REAL:
    case MEMBER_FINITE:
        is_good = read_real(m, json, record);
        break;
    case MEMBER_COUNT:
    case MEMBER_INTEGER:
        is_good = read_integer(m, json, record);
        break;
    case MEMBER_BOOLEAN:
        *(bool *)at = json_is_true(json);
        is_good = json_is_boolean(json);
        break;
    case MEMBER_NAME:
        is_good = read_name(m, json, at);
        break;
    case MEMBER_TEXT:
        return read_text(m, json, at);
    case MEMBER_CHARS:
        is_good = read_chars(m, json, at);
        break;
    case MEMBER_DIGEST:
        is_good = digest_from_hex(json_string_value(json), at);
        break;
    case MEMBER_JSON:
    case MEMBER_ANY:
        is_good = json && (m->kind == MEMBER_ANY || json_typeof(json) == m->json);
        if (is_good)
            *(const json_t **)at = m->flags & MEMBER_BORROWED ? json : json_incref((json_t *)json);
        break;
    case MEMBER_RECORD:
        if (m->has)
            *(bool *)(record + m->has) = json_is_object(json);
        return type_read(m->of, json, at);
    case MEMBER_LIST:
        return read_list(m, json, record);
    case MEMBER_CUSTOM:
        return m->codec->from_json(json, at);
    }
    return is_good ? NULL : "";
}

static void set_from_0(const struct type *type, char *record)
{
    for (size_t i = 0; i < type->count; i++) {
        const struct member *m = &type->members[i];

        if (m->flags & MEMBER_FROM_0)
            *(int64_t *)(record + m->offset) = -1;
        else if (m->kind == MEMBER_RECORD)
            set_from_0(m->of, record + m->offset);
    }
}

void type_unknown(const struct type *type, void *ret)
{
    if (type->unknown) {
        memcpy(ret, type->unknown, type->size);
        return;
    }
    memset(ret, 0, type->size);
    set_from_0(type, ret);
}

const char *type_read(const struct type *type, const json_t *json, void *ret)
{
    static _Thread_local char path[256];
    const char *wrong = json_is_object(json) ? NULL : "";

    type_unknown(type, ret);
    if (type_is_value(type))
        wrong = member_read(type->members, json, ret);
    for (size_t i = 0; i < type->count && json_is_object(json) && !type_is_value(type); i++) {
        const struct member *m = &type->members[i];
        const json_t *value = m->name ? json_object_get(json, m->name) : json;
        const char *inner = NULL;
        char within[sizeof(path) / 2];

        if (value || !(m->flags & (MEMBER_OPTIONAL | MEMBER_LATER)))
            inner = member_read(m, value, ret);
        if (inner == type_no_memory)
            wrong = inner;
        if (!inner || wrong)
            continue;
        snprintf(within, sizeof(within), "%s", inner);
        snprintf(path, sizeof(path), "%.100s%s%s", m->name ? m->name : "",
                 m->name && *within ? "." : "", within);
        wrong = path;
    }
    if (type->settle)
        type->settle(ret);
    return wrong;
}

enum status type_from_json(const struct type *type, const json_t *json, void *ret,
                           struct error *err)
{
    const char *wrong = type_read(type, json, ret);

    if (!wrong)
        return STATUS_OK;
    type_finish(type, ret);
    if (wrong == type_no_memory)
        return error_no_memory(err);
    if (!*wrong)
        return error_set(err, STATUS_CORRUPT, "%s must be a JSON object", type->what);
    return error_set(err, STATUS_CORRUPT, "%s has no valid '%s'", type->what, wrong);
}

/* ---- the end of a record ---- */

static void finish_list(const struct member *m, void *record)
{
    char *items = items_of(m, record);
    size_t *count = (size_t *)((char *)record + m->count);

    for (size_t i = 0; i < *count; i++)
        type_finish(m->of, items + i * m->of->size);
    if (!m->size) {
        free(items);
        *(char **)at_of(m, record) = NULL;
    }
    *count = 0;
}

void type_finish(const struct type *type, void *record)
{
    for (size_t i = 0; i < type->count; i++) {
        const struct member *m = &type->members[i];
        void *at = at_of(m, record);

        if (m->flags & MEMBER_BORROWED)
            continue;
        if (m->kind == MEMBER_TEXT) {
            free(*(char **)at);
            *(char **)at = NULL;
        } else if (m->kind == MEMBER_JSON || m->kind == MEMBER_ANY) {
            json_decref(*(json_t **)at);
            *(json_t **)at = NULL;
        } else if (m->kind == MEMBER_RECORD) {
            type_finish(m->of, at);
        } else if (m->kind == MEMBER_LIST) {
            finish_list(m, record);
        } else if (m->kind == MEMBER_CUSTOM && m->codec->finish) {
            m->codec->finish(at);
        }
    }
}

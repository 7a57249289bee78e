/* The JSON Schema (draft 2020-12) of a type, as --json prints it. */
#include <string.h>

#include "harness/core/text.h"
#include "harness/core/type.h"

bool member_is_printed_as_text(const char *name)
{
    return text_ends_in(name, "utc_ns") || !strcmp(name, "seed") || text_ends_in(name, "_seed");
}

/* The unit that a member's name ends in. */
static const char *unit_of(const char *name)
{
    static const char *const units[][2] = {{"_ns", "ns"}, {"_bytes", "B"}, {"_w", "W"},
                                           {"_j", "J"},   {"_hz", "Hz"},   {"seconds", "s"}};

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (text_ends_in(name, units[i][0]))
            return units[i][1];
    return NULL;
}

static json_t *plain(const char *type)
{
    return json_pack("{s:s}", "type", type);
}

static json_t *text_of(const char *pattern)
{
    return json_pack("{s:s, s:s}", "type", "string", "pattern", pattern);
}

/* Within what a double holds exactly. */
static json_t *integer_schema(void)
{
    const json_int_t most = (json_int_t)1 << 53;

    return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", -most, "maximum", most);
}

static json_t *number_schema(const struct member *m)
{
    if (m->name && member_is_printed_as_text(m->name))
        return text_of("^-?[0-9]+$");
    if (m->kind == MEMBER_INTEGER)
        return integer_schema();
    return json_pack("{s:[o, o]}", "anyOf", integer_schema(), text_of("^-?[0-9]{16,}$"));
}

static json_t *names_schema(const struct member *m)
{
    json_t *names = json_array();

    for (size_t i = 0; i < m->name_count; i++)
        if (m->names[i])
            json_array_append_new(names, json_string(m->names[i]));
    for (size_t i = 0; i < m->name_count; i++)
        if (!m->names[i])
            json_array_append_new(names, json_null());
    return json_pack("{s:o}", "enum", names);
}

static json_t *choices_schema(const struct member *m, json_t *definitions)
{
    json_t *list;

    if (!m->choices[1])
        return type_schema(m->choices[0], definitions);
    list = json_array();
    for (const struct type *const *choice = m->choices; *choice; choice++)
        json_array_append_new(list, type_schema(*choice, definitions));
    return json_pack("{s:o}", "anyOf", list);
}

static json_t *values_schema(const struct member *m, json_t *definitions)
{
    const bool is_array = m->kind == MEMBER_LIST || m->json == JSON_ARRAY;

    return json_pack("{s:s, s:o}", "type", is_array ? "array" : "object",
                     is_array ? "items" : "additionalProperties",
                     m->of ? type_schema(m->of, definitions) : json_object());
}

static json_t *value_schema(const struct member *m, json_t *definitions)
{
    switch (m->kind) {
    case MEMBER_REAL:
    case MEMBER_FINITE:
        return plain("number");
    case MEMBER_COUNT:
    case MEMBER_INTEGER:
        return number_schema(m);
    case MEMBER_BOOLEAN:
        return plain("boolean");
    case MEMBER_NAME:
        return names_schema(m);
    case MEMBER_TEXT:
    case MEMBER_CHARS:
        return plain("string");
    case MEMBER_DIGEST:
        return text_of("^[0-9a-f]{64}$");
    case MEMBER_ANY:
        return m->choices ? choices_schema(m, definitions) : json_object();
    case MEMBER_JSON:
        return m->choices ? choices_schema(m, definitions) : values_schema(m, definitions);
    case MEMBER_LIST:
        return values_schema(m, definitions);
    case MEMBER_RECORD:
        return type_schema(m->of, definitions);
    case MEMBER_CUSTOM:
        return m->codec->schema();
    }
    return NULL;
}

static json_t *member_schema(const struct member *m, json_t *definitions)
{
    json_t *schema = value_schema(m, definitions);
    const char *unit = m->name ? unit_of(m->name) : NULL;

    if (member_may_be_null(m))
        schema = json_pack("{s:[o, {s:s}]}", "anyOf", schema, "type", "null");
    if (unit)
        json_object_set_new(schema, "unit", json_string(unit));
    if (m->help)
        json_object_set_new(schema, "description", json_string(m->help));
    return schema;
}

/* "created_utc" next to "created_utc_ns"; absent where the time is null. */
static void add_twin(const struct member *m, json_t *properties, json_t *required)
{
    char *name = text_format("%.*s", (int)strlen(m->name) - 3, m->name);

    if (!name)
        return;
    json_object_set_new(properties, name,
                        json_pack("{s:s, s:s}", "type", "string", "format", "date-time"));
    if (!(m->flags & (MEMBER_NULLABLE | MEMBER_OPTIONAL | MEMBER_LATER)))
        json_array_append_new(required, json_string(name));
    free(name);
}

static void add_members(const struct type *type, json_t *properties, json_t *required,
                        json_t *definitions)
{
    for (size_t i = 0; i < type->count; i++) {
        const struct member *m = &type->members[i];

        if (!m->name) {
            add_members(m->of, properties, required, definitions);
            continue;
        }
        json_object_set_new(properties, m->name, member_schema(m, definitions));
        if (!(m->flags & (MEMBER_OPTIONAL | MEMBER_LATER)))
            json_array_append_new(required, json_string(m->name));
        if (text_ends_in(m->name, "utc_ns"))
            add_twin(m, properties, required);
    }
}

static json_t *object_schema(const struct type *type, json_t *definitions)
{
    json_t *properties = json_object(), *required = json_array();

    add_members(type, properties, required, definitions);
    return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties, "required",
                     required, "additionalProperties", type->is_open);
}

static json_t *schema_here(const struct type *type, json_t *definitions)
{
    return type_is_value(type) ? member_schema(type->members, definitions)
                               : object_schema(type, definitions);
}

json_t *type_schema(const struct type *type, json_t *definitions)
{
    if (!type->def || !definitions)
        return schema_here(type, definitions);
    if (!json_object_get(definitions, type->def))
        json_object_set_new(definitions, type->def, schema_here(type, definitions));
    return json_pack("{s:s+}", "$ref", "#/$defs/", type->def);
}

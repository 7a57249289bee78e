#include "harness/cli/schema.h"

#include <stdio.h>
#include <string.h>

#include "harness/cli/schema_data.h"
#include "harness/core/status.h"
#include "harness/core/text.h"
#include "protocols/finding.h"

const struct shape shape_any = {.kind = SHAPE_ANY};
const struct shape shape_null = {.kind = SHAPE_NULL};
const struct shape shape_string = {.kind = SHAPE_STRING};
const struct shape shape_digest = {.kind = SHAPE_DIGEST};
const struct shape shape_seed = {.kind = SHAPE_SEED};
const struct shape shape_utc_ns = {.kind = SHAPE_UTC_NS};
const struct shape shape_boolean = {.kind = SHAPE_BOOLEAN};
const struct shape shape_integer = {.kind = SHAPE_INTEGER};
const struct shape shape_count = {.kind = SHAPE_COUNT};
const struct shape shape_number = {.kind = SHAPE_NUMBER};
const struct shape shape_strings = {.kind = SHAPE_LIST, .items = &shape_string};
const struct shape shape_object = {.kind = SHAPE_MAP, .items = &shape_any};

static const char *const statuses[] = {
#define STATUS_WORD(code, name, meaning) name,
    STATUS_MAP(STATUS_WORD)
#undef STATUS_WORD
        NULL};
const struct shape shape_status = {.kind = SHAPE_WORD, .name = "status", .words = statuses};

static const struct shape findings = SHAPE_GENERATED_AS("findings", findings_for_people_schema);

static const struct member error_members[] = {
    {"status", &shape_status, 0, NULL},
    {"message", &shape_string, 0, "what happened and what to do: the line on standard error"},
    {"where", &shape_string, MEMBER_NULLABLE, "FILE:LINE, of what is wrong in a file"},
    {0}};
static const struct shape error = {.kind = SHAPE_OBJECT, .name = "error", .members = error_members};
static const struct shape errors = {.kind = SHAPE_LIST, .items = &error};

static const struct schema schemas[] = {
#define SCHEMA_ROW(name, version) {#name, version, &schema_##name},
    SCHEMA_MAP(SCHEMA_ROW)
#undef SCHEMA_ROW
};
static const struct schema of_errors = {"error", 1, NULL};

const struct schema *schemas_all(size_t *ret_count)
{
    *ret_count = sizeof(schemas) / sizeof(schemas[0]);
    return schemas;
}

const struct schema *schema_find(const char *command)
{
    for (size_t i = 0; command && i < sizeof(schemas) / sizeof(schemas[0]); i++)
        if (!strcmp(schemas[i].command, command))
            return &schemas[i];
    return &of_errors;
}

const char *schema_id(const struct schema *schema, char ret[SCHEMA_ID_MAX])
{
    snprintf(ret, SCHEMA_ID_MAX, "urn:assay:schema:%s:%u", schema->command, schema->version);
    return ret;
}

/* The unit that a member's name ends in. */
static const char *unit_of(const char *name)
{
    static const char *const units[][2] = {{"_ns", "ns"}, {"_bytes", "B"}, {"_w", "W"},
                                           {"_j", "J"},   {"_hz", "Hz"},   {"seconds", "s"}};
    const size_t length = strlen(name);

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        const size_t end = strlen(units[i][0]);

        if (length >= end && !strcmp(name + length - end, units[i][0]))
            return units[i][1];
    }
    return NULL;
}

static json_t *generate(const struct shape *shape, json_t *definitions);

static json_t *words_json(const char *const *words)
{
    json_t *list = json_array();

    for (; *words; words++)
        json_array_append_new(list, json_string(*words));
    return json_pack("{s:o}", "enum", list);
}

/* Adds null to what a value may be. */
static json_t *nullable(json_t *schema)
{
    return json_pack("{s:[o, {s:s}]}", "anyOf", schema, "type", "null");
}

static json_t *member_json(const struct member *member, json_t *definitions)
{
    json_t *schema = generate(member->shape, definitions);
    const char *unit = unit_of(member->name);

    if (member->flags & MEMBER_NULLABLE)
        schema = nullable(schema);
    if (unit)
        json_object_set_new(schema, "unit", json_string(unit));
    if (member->text)
        json_object_set_new(schema, "description", json_string(member->text));
    return schema;
}

/* "created_utc" next to "created_utc_ns". */
static void add_twin(const struct member *member, json_t *properties, json_t *required)
{
    char *name = text_format("%.*s", (int)strlen(member->name) - 3, member->name);
    json_t *schema = json_pack("{s:s, s:s}", "type", "string", "format", "date-time");

    if (!name) {
        json_decref(schema);
        return;
    }
    if (member->flags & MEMBER_NULLABLE) /* absent where the time is null */
        json_object_set_new(properties, name, schema);
    else if (json_object_set_new(properties, name, schema) == 0 &&
             !(member->flags & MEMBER_OPTIONAL))
        json_array_append_new(required, json_string(name));
    free(name);
}

static json_t *object_json(const struct member *members, json_t *definitions)
{
    json_t *properties = json_object(), *required = json_array();

    for (; members->name; members++) {
        json_object_set_new(properties, members->name, member_json(members, definitions));
        if (!(members->flags & MEMBER_OPTIONAL))
            json_array_append_new(required, json_string(members->name));
        if (members->shape->kind == SHAPE_UTC_NS)
            add_twin(members, properties, required);
    }
    return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties, "required",
                     required, "additionalProperties", 0);
}

static json_t *either_json(const struct shape *const *choices, json_t *definitions)
{
    json_t *list = json_array();

    for (; *choices; choices++)
        json_array_append_new(list, generate(*choices, definitions));
    return json_pack("{s:o}", "anyOf", list);
}

/* Within what a double holds exactly. */
static json_t *integer_json(void)
{
    const json_int_t most = (json_int_t)1 << 53;

    return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", -most, "maximum", most);
}

static json_t *generate_here(const struct shape *shape, json_t *definitions)
{
    switch (shape->kind) {
    case SHAPE_ANY:
        return json_object();
    case SHAPE_NULL:
        return json_pack("{s:s}", "type", "null");
    case SHAPE_STRING:
        return json_pack("{s:s}", "type", "string");
    case SHAPE_WORD:
        return words_json(shape->words);
    case SHAPE_DIGEST:
        return json_pack("{s:s, s:s}", "type", "string", "pattern", "^[0-9a-f]{64}$");
    case SHAPE_SEED:
    case SHAPE_UTC_NS:
        return json_pack("{s:s, s:s}", "type", "string", "pattern", "^-?[0-9]+$");
    case SHAPE_BOOLEAN:
        return json_pack("{s:s}", "type", "boolean");
    case SHAPE_INTEGER:
        return integer_json();
    case SHAPE_COUNT:
        return json_pack("{s:[o, {s:s, s:s}]}", "anyOf", integer_json(), "type", "string",
                         "pattern", "^-?[0-9]{16,}$");
    case SHAPE_NUMBER:
        return json_pack("{s:s}", "type", "number");
    case SHAPE_OBJECT:
        return object_json(shape->members, definitions);
    case SHAPE_MAP:
        return json_pack("{s:s, s:o}", "type", "object", "additionalProperties",
                         generate(shape->items, definitions));
    case SHAPE_LIST:
        return json_pack("{s:s, s:o}", "type", "array", "items",
                         generate(shape->items, definitions));
    case SHAPE_EITHER:
        return either_json(shape->choices, definitions);
    case SHAPE_GENERATED:
        return shape->generate();
    }
    return NULL;
}

/* In "$defs" where it has a name, else in place. */
static json_t *generate(const struct shape *shape, json_t *definitions)
{
    if (!shape->name)
        return generate_here(shape, definitions);
    if (!json_object_get(definitions, shape->name))
        json_object_set_new(definitions, shape->name, generate_here(shape, definitions));
    return json_pack("{s:s+}", "$ref", "#/$defs/", shape->name);
}

json_t *schema_json(const struct schema *schema)
{
    char id[SCHEMA_ID_MAX];
    json_t *definitions = json_object(), *data, *command, *properties;

    schema_id(schema, id);
    data = schema->data ? nullable(generate(schema->data, definitions))
                        : json_pack("{s:s}", "type", "null");
    command = schema->data ? json_pack("{s:s}", "const", schema->command)
                           : nullable(generate(&shape_string, definitions));
    properties =
        json_pack("{s:{s:s}, s:{s:s}, s:o, s:o, s:o, s:o}", "schema", "const", id, "version",
                  "type", "string", "command", command, "data", data, "findings",
                  generate(&findings, definitions), "errors", generate(&errors, definitions));
    return json_pack("{s:s, s:s, s:s+, s:s, s:o, s:[s, s, s, s, s, s], s:b, s:{s:{s:{s:s}}}, "
                     "s:{s:{s:{s:i}}}, s:o}",
                     "$schema", "https://json-schema.org/draft/2020-12/schema", "$id", id, "title",
                     "assay --json: ", schema->command, "type", "object", "properties", properties,
                     "required", "schema", "version", "command", "data", "findings", "errors",
                     "additionalProperties", 0, "if", "properties", "data", "type", "null", "then",
                     "properties", "errors", "minItems", 1, "$defs", definitions);
}

#include "harness/cli/schema.h"

#include <stdio.h>
#include <string.h>

#include "harness/cli/command.h"
#include "harness/cli/judging.h"
#include "harness/cli/schema_data.h"
#include "harness/core/shape.h"
#include "protocols/finding.h"

static const struct type findings = {LIST_OF(finding_told_type), .def = "findings"};

static const struct member error_members[] = {
    SHOWN("status", RECORD, .of = &type_of_status),
    SHOWN("message", TEXT, .help = "what happened and what to do: the line on standard error"),
    OR_NULL("where", TEXT, .help = "FILE:LINE, of what is wrong in a file"),
};
static const struct type error = TYPE_OF_MEMBERS(error_members, .def = "error");
static const struct type errors = {LIST_OF(error)};

static const struct schema schemas[] = {
#define SCHEMA_ROW(name, version) {#name, version, &schema_##name, false},
    SCHEMA_MAP(SCHEMA_ROW)
#undef SCHEMA_ROW
};

struct schema schema_find(const char *name)
{
    size_t count;
    const struct command *const *commands = commands_all(&count);

    for (size_t i = 0; name && i < sizeof(schemas) / sizeof(schemas[0]); i++)
        if (!strcmp(schemas[i].command, name))
            return schemas[i];
    for (size_t i = 0; name && i < count; i++)
        if (commands[i]->judging && !strcmp(commands[i]->name, name))
            return (struct schema){commands[i]->name, 1, commands[i]->judging->judgement->type,
                                   commands[i]->judging->several};
    return (struct schema){"error", 1, NULL, false};
}

const char *schema_id(const struct schema *schema, char ret[SCHEMA_ID_MAX])
{
    snprintf(ret, SCHEMA_ID_MAX, "urn:assay:schema:%s:%u", schema->command, schema->version);
    return ret;
}

/* Adds null to what a value may be. */
static json_t *nullable(json_t *schema)
{
    return json_pack("{s:[o, {s:s}]}", "anyOf", schema, "type", "null");
}

json_t *schema_json(const struct schema *schema)
{
    char id[SCHEMA_ID_MAX];
    json_t *definitions = json_object(), *data = NULL, *command, *properties;

    schema_id(schema, id);
    if (schema->data)
        data = type_schema(schema->data, definitions);
    if (schema->is_list)
        data = json_pack("{s:s, s:o}", "type", "array", "items", data);
    data = data ? nullable(data) : json_pack("{s:s}", "type", "null");
    command = schema->data ? json_pack("{s:s}", "const", schema->command)
                           : nullable(json_pack("{s:s}", "type", "string"));
    properties =
        json_pack("{s:{s:s}, s:{s:s}, s:o, s:o, s:o, s:o}", "schema", "const", id, "version",
                  "type", "string", "command", command, "data", data, "findings",
                  type_schema(&findings, definitions), "errors", type_schema(&errors, definitions));
    return json_pack("{s:s, s:s, s:s+, s:s, s:o, s:[s, s, s, s, s, s], s:b, s:{s:{s:{s:s}}}, "
                     "s:{s:{s:{s:i}}}, s:o}",
                     "$schema", "https://json-schema.org/draft/2020-12/schema", "$id", id, "title",
                     "assay --json: ", schema->command, "type", "object", "properties", properties,
                     "required", "schema", "version", "command", "data", "findings", "errors",
                     "additionalProperties", 0, "if", "properties", "data", "type", "null", "then",
                     "properties", "errors", "minItems", 1, "$defs", definitions);
}

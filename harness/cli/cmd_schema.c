#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/cli/schema.h"
#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/text.h"

enum { KEY_WRITE = 0x100 };

/* "results-1.schema.json" */
static char *file_name(const char *folder, const struct schema *schema)
{
    return text_format("%s/%s-%u.schema.json", folder, schema->command, schema->version);
}

static enum status append(struct text *out, const struct schema *schema, struct error *err)
{
    json_auto_t *json = schema_json(schema);
    AUTO_FREE char *dumped = json ? json_dumps(json, JSON_INDENT(2)) : NULL;

    if (!dumped)
        return error_no_memory(err);
    text_append_format(out, "%s\n", dumped);
    return STATUS_OK;
}

static enum status write_one(const char *folder, const struct schema *schema, struct error *err)
{
    AUTO_FREE char *path = file_name(folder, schema);
    struct file_draft draft;
    CLEANUP(text_finish) struct text out = TEXT_INIT;
    enum status status = STATUS_OK;

    TRY(append(&out, schema, err));
    if (!path || !text_ok(&out))
        return error_no_memory(err);
    TRY(file_draft_begin(&draft, path, err));
    if (fwrite(out.data, 1, out.length, draft.stream) != out.length)
        status = error_set_errno(err, errno, "%s", path);
    return file_draft_end(&draft, status, err);
}

/* That of command `i`, in the order of help; false: it writes no JSON. */
static bool schema_at(size_t i, struct schema *ret)
{
    size_t count;
    const struct command *const *commands = commands_all(&count);

    *ret = schema_find(i < count ? commands[i]->name : NULL);
    return ret->data != NULL;
}

static enum status write_all(const char *folder, struct error *err)
{
    struct schema schema = schema_find(NULL);
    size_t count;

    commands_all(&count);
    TRY(write_one(folder, &schema, err));
    for (size_t i = 0; i < count; i++)
        if (schema_at(i, &schema))
            TRY(write_one(folder, &schema, err));
    return STATUS_OK;
}

static int show_list(const struct command_line *line)
{
    size_t count;
    struct schema schema;
    json_t *rows = json_array();
    char id[SCHEMA_ID_MAX];
    CLEANUP(text_finish) struct text out = TEXT_INIT;

    commands_all(&count);
    for (size_t i = 0; i < count; i++) {
        if (!schema_at(i, &schema))
            continue;
        schema_id(&schema, id);
        text_append_format(&out, "%-12s %s\n", schema.command, id);
        json_array_append_new(rows, json_pack("{s:s, s:s, s:o}", "command", schema.command, "id",
                                              id, "schema", json_null()));
    }
    if (command_has(line, KEY_JSON))
        return output_json(rows);
    json_decref(rows);
    return output_text(&out);
}

static int show_one(const struct command_line *line, const char *command)
{
    const struct schema schema = schema_find(command);
    struct error err = ERROR_INIT;
    char id[SCHEMA_ID_MAX];
    CLEANUP(text_finish) struct text out = TEXT_INIT;

    if (strcmp(schema.command, command) != 0) {
        error_set(&err, STATUS_NOT_FOUND,
                  "%s: no command with --json is called so; `assay schema` lists them", command);
        return command_fail(&err);
    }
    if (command_has(line, KEY_JSON))
        return output_json(json_pack("[{s:s, s:s, s:o}]", "command", command, "id",
                                     schema_id(&schema, id), "schema", schema_json(&schema)));
    if (append(&out, &schema, &err) != STATUS_OK)
        return command_fail(&err);
    return output_text(&out);
}

static int run(const struct command_line *line)
{
    const char *folder = command_value(line, KEY_WRITE);
    struct error err = ERROR_INIT;

    if (folder && command_has(line, KEY_JSON)) {
        error_set(&err, STATUS_INVALID, "--write writes files: leave out --json");
        return command_fail(&err);
    }
    if (folder)
        return write_all(folder, &err) == STATUS_OK ? ASSAY_EXIT_OK : command_fail(&err);
    return line->argument_count > 0 ? show_one(line, line->arguments[0]) : show_list(line);
}

static const struct argp_option options[] = {
    {"write", KEY_WRITE, "FOLDER", 0, "write every schema into this folder"}, {0}};

const struct command command_schema = {
    .name = "schema",
    .arguments = "[COMMAND]",
    .summary = "Show the JSON Schema of a command's --json, or list them",
    .text =
        "Each call with --json writes one document: `schema` (the identifier of its JSON Schema), "
        "`version` (assay's), `command`, `data` (null where there is none), `findings` (warnings) "
        "and `errors` (status, message, where). Errors are written like this, too, with the same "
        "exit status as without --json.\n"
        "\n"
        "  assay schema results\n"
        "  assay results --json | jq '.data[] | {id, value, unit, created_utc}'",
    .options = options,
    .groups = GROUP_JSON,
    .arguments_max = 1,
    .run = run,
};

#include <stdio.h>
#include <string.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "protocols/protocol.h"
#include "workloads/declared.h"

enum { KEY_NAMES = 0x100 };

/* One row, wherever it came from. */
static void add_row(json_t *rows, const char *type, const char *name, const char *kind,
                    const char *description)
{
    json_array_append_new(rows,
                          json_pack("{s:s, s:s, s:s, s:s}", "type", type, "name", name, "kind",
                                    kind, "description", description ? description : ""));
}

static enum status collect(json_t *rows, struct error *err)
{
    size_t count;
    const struct catalog_entry *entries = catalog_suites(&count);
    const struct protocol_builtin *protocols;

    for (size_t i = 0; i < count; i++) {
        CLEANUP(suite_finish) struct suite suite = {0};

        TRY(suite_find(entries[i].name, &suite, err));
        add_row(rows, "suite", suite.name, "", suite.description);
    }
    entries = catalog_workloads(&count);
    for (size_t i = 0; i < count; i++) {
        CLEANUP(workload_finish) struct workload workload = {0};

        TRY(workload_find(entries[i].name, &workload, err));
        add_row(rows, "workload", workload.name, workload_kind_name(&workload),
                workload.description);
    }
    protocols = protocol_builtins(&count);
    for (size_t i = 0; i < count; i++) {
        CLEANUP(protocol_finish) struct protocol protocol = {0};

        TRY(protocol_find(protocols[i].name, &protocol, err));
        add_row(rows, "protocol", protocol.name, protocol_purpose(&protocol), protocol.description);
    }
    return STATUS_OK;
}

/* "suites" names the rows of the type "suite"; NULL: all do. */
static bool is_asked(const char *types, const json_t *row)
{
    const char *type = member_string(row, "type");

    return !types || !strncmp(types, type, strlen(type));
}

static void append_rows(struct text *out, const json_t *rows, size_t columns)
{
    static const char *const titles[][2] = {
        {"suite", "Suites"}, {"workload", "Workloads"}, {"protocol", "Protocols"}};
    size_t width = 0;

    EACH(row, rows) {
        size_t length = strlen(member_string(row, "name"));

        width = length > width ? length : width;
    }
    for (size_t t = 0; t < 3; t++) {
        text_append_format(out, "%s%s\n", t ? "\n" : "", titles[t][1]);
        EACH(row, rows) {
            const char *name = member_string(row, "name");

            if (strcmp(member_string(row, "type"), titles[t][0]))
                continue;
            text_append_format(out, "  %-*s  ", (int)width, name);
            output_wrapped(out, member_string(row, "description"), width + 4, columns);
        }
    }
}

static int run(const struct command_line *line)
{
    struct error err = ERROR_INIT;
    struct text out = TEXT_INIT;
    const char *types = command_value(line, KEY_NAMES);
    json_t *rows = json_array();

    if (collect(rows, &err) != STATUS_OK) {
        json_decref(rows);
        return command_fail(&err);
    }
    if (command_has(line, KEY_JSON))
        return output_json(rows);
    if (command_has(line, KEY_NAMES)) {
        EACH(row, rows)
            if (is_asked(types, row))
                text_append_format(&out, "%s\n", member_string(row, "name"));
    } else {
        append_rows(&out, rows, output_columns());
        text_append_char(&out, '\n');
        output_wrapped(&out,
                       "`assay describe NAME` shows one of them; `assay run NAME` measures a "
                       "workload or a suite; a file of your own (./NAME.yaml) serves as NAME in "
                       "both.",
                       0, output_columns());
    }
    json_decref(rows);
    return output_text(&out);
}

static const struct argp_option options[] = {{"names", KEY_NAMES, "suites|workloads|protocols",
                                              OPTION_ARG_OPTIONAL,
                                              "names only, one a line (=TYPE: of these)"},
                                             {0}};

const struct command command_list = {
    .name = "list",
    .summary = "List the workloads, suites and protocols that come with assay",
    .options = options,
    .groups = GROUP_JSON,
    .run = run,
};

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/core/cleanup.h"
#include "harness/core/embed.h"
#include "harness/core/file.h"
#include "harness/core/shell.h"
#include "harness/core/text.h"
#include "workloads/declared.h"

extern const struct embed_file init_templates[];
extern const size_t init_templates_count;

/* X(name, its file, what is written, with which command one goes on; %s is the file) */
#define KIND_MAP(X)                                                                                \
    X("workload", "workload.yaml", "what is measured", "assay run %s --protocol quick")            \
    X("suite", "suite.yaml", "workloads that are measured together",                               \
      "assay run %s --protocol quick")                                                             \
    X("protocol", "protocol.yaml", "how long and how often", "assay run triad --protocol %s")      \
    X("contract", "contract.yaml", "what a supplier declares, and what a buyer does not accept",   \
      "assay power %s --sd 0.02")                                                                  \
    X("decision", "decision.yaml", "which of several results to take", "assay decide %s")          \
    X("prices", "prices.csv", "what devices, energy and staff cost",                               \
      "assay cost RESULT --item card --prices %s")                                                 \
    X("endpoint", "endpoint.yaml", "a server that speaks the OpenAI API",                          \
      "assay run %s --protocol serving_look")

static const struct kind {
    const char *name, *file, *about, *next;
} kinds[] = {
#define KIND_ROW(...) {__VA_ARGS__},
    KIND_MAP(KIND_ROW)
#undef KIND_ROW
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const struct kind *kind_find(const char *name)
{
    for (size_t i = 0; i < KINDS; i++)
        if (!strcmp(kinds[i].name, name))
            return &kinds[i];
    return NULL;
}

static enum status unknown_kind(const char *name, struct error *err)
{
    CLEANUP(text_finish) struct text names = TEXT_INIT;

    for (size_t i = 0; i < KINDS; i++)
        text_append_format(&names, "%s%s", i ? ", " : "", kinds[i].name);
    return error_set(err, STATUS_INVALID, "there is no template for \"%s\": write one of %s", name,
                     names.data);
}

/* The declared name: `given` without folders and without the template's extension. */
static enum status take_name(const struct kind *kind, const char *given,
                             char ret[WORKLOAD_NAME_MAX], struct error *err)
{
    const char *base = file_base_name(given);
    const char *extension = strchr(kind->file, '.');
    size_t length = strlen(base);

    if (length > strlen(extension) && !strcmp(base + length - strlen(extension), extension))
        length -= strlen(extension);
    snprintf(ret, WORKLOAD_NAME_MAX, "%.*s", (int)length, base);
    if (length >= WORKLOAD_NAME_MAX || !workload_name_is_valid(ret))
        return error_set(err, STATUS_INVALID,
                         "\"%s\": a name has 1 to 63 letters a-z, digits, \"_\" and \"-\"", base);
    return STATUS_OK;
}

/* The lines of a decision's options, one a result. */
static void append_options(struct text *out, const struct command_line *line)
{
    for (size_t i = 2; i < line->argument_count; i++)
        text_append_format(out, "  - {name: option %zu, result: %s}\n", i - 1, line->arguments[i]);
}

/* Appends the template with its places filled in. */
static void fill(struct text *out, const char *template, const char *name,
                 const struct command_line *line)
{
    while (*template) {
        if (!strncmp(template, "@NAME@", 6)) {
            text_append(out, name);
            template += 6;
        } else if (!strncmp(template, "@OPTIONS@", 9)) {
            append_options(out, line);
            template += 9;
        } else {
            text_append_char(out, *template ++);
        }
    }
}

static enum status write_template(const struct kind *kind, const struct command_line *line,
                                  struct text *ret_path, struct error *err)
{
    const char *given = line->argument_count > 1 ? line->arguments[1] : kind->name;
    const char *extension = strchr(kind->file, '.');
    CLEANUP(text_finish) struct text content = TEXT_INIT;
    char name[WORKLOAD_NAME_MAX];

    TRY(take_name(kind, given, name, err));
    if (!strcmp(kind->name, "decision") && line->argument_count < 4)
        return error_set(err, STATUS_INVALID,
                         "a decision is between results: assay init decision %s RESULT RESULT "
                         "(`assay results` lists them)",
                         given);
    if (strcmp(kind->name, "decision") && line->argument_count > 2)
        return error_set(err, STATUS_INVALID, "%s: a %s takes one name", line->arguments[2],
                         kind->name);
    text_append_format(ret_path, "%.*s%s%s", (int)(file_base_name(given) - given), given, name,
                       extension);
    if (access(ret_path->data, F_OK) == 0)
        return error_set(err, STATUS_INVALID,
                         "%s is there already and is left as it is: give another name",
                         ret_path->data);
    fill(&content, embed_find(init_templates, init_templates_count, kind->file)->text, name, line);
    if (!text_ok(ret_path) || !text_ok(&content))
        return error_no_memory(err);
    return file_write_atomic(ret_path->data, content.data, content.length, 0666, err);
}

static json_t *describe(const struct kind *kind, const char *path)
{
    CLEANUP(text_finish) struct text next = TEXT_INIT;
    AUTO_FREE char *here = text_format("%s%s", strchr(path, '/') ? "" : "./", path);
    AUTO_FREE char *word = here ? shell_quoted(here) : NULL;
    const char *place = strstr(kind->next, "%s");

    text_append_format(&next, "%.*s%s%s", (int)(place - kind->next), kind->next, word ? word : path,
                       place + 2);
    return json_pack("{s:s, s:s, s:s, s:s}", "type", kind->name, "file", path, "about", kind->about,
                     "next", next.data);
}

static int show_kinds(const struct command_line *line)
{
    CLEANUP(text_finish) struct text out = TEXT_INIT;
    json_t *rows = json_array();

    for (size_t i = 0; i < KINDS; i++) {
        json_array_append_new(rows, describe(&kinds[i], kinds[i].file));
        text_append_format(&out, "assay init %-10s %s\n", kinds[i].name, kinds[i].about);
    }
    if (command_has(line, KEY_JSON))
        return output_json(rows);
    json_decref(rows);
    return output_text(&out);
}

static int run(const struct command_line *line)
{
    CLEANUP(text_finish) struct text path = TEXT_INIT, out = TEXT_INIT;
    const struct kind *kind = line->argument_count > 0 ? kind_find(line->arguments[0]) : NULL;
    struct error err = ERROR_INIT;
    json_auto_t *made = NULL;

    if (line->argument_count == 0)
        return show_kinds(line);
    if ((kind ? write_template(kind, line, &path, &err) : unknown_kind(line->arguments[0], &err)) !=
        STATUS_OK)
        return command_fail(&err);
    made = describe(kind, path.data);
    if (command_has(line, KEY_JSON))
        return output_json(json_pack("[O]", made));
    text_append_format(&out, "%s is written: %s. It can be used as it is:\n\n    %s\n", path.data,
                       kind->about, json_string_value(json_object_get(made, "next")));
    return output_text(&out);
}

#define KIND_NAME(name, ...) name " "

const struct command command_init = {
    .name = "init",
    .arguments = "[TYPE [NAME [RESULT...]]]",
    .summary = "Write a commented declaration to start from: a workload, a contract ...",
    .text =
        "`assay init` lists what TYPE may be. The file NAME.yaml (prices: NAME.csv) is written in "
        "this folder, or where NAME says, and can be used as it is; a file that is there is left "
        "alone. A decision is between results, which follow its name.",
    .groups = GROUP_JSON,
    .arguments_max = 18,
    .first_words = KIND_MAP(KIND_NAME),
    .completes = "RESULT",
    .run = run,
};

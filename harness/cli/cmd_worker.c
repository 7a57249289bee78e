#include <stdlib.h>
#include <string.h>

#include "harness/cli/cell_lists.h"
#include "harness/cli/commands.h"
#include "harness/cli/interrupt.h"
#include "harness/cli/output.h"
#include "harness/core/cleanup.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "harness/runner/named_worker.h"
#include "harness/runner/package_install.h"
#include "harness/runner/worker.h"

enum { KEY_FIND_LINKS = 0x100 };

static json_t *names_json(char *const *names, uint32_t count)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(list, json_string(names[i]));
    return list;
}

static json_t *runs_json(const struct worker_values *values)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < values->runs_count; i++) {
        const struct worker_runs *runs = &values->runs[i];
        json_t *precisions = json_array();

        for (uint32_t p = 0; p < runs->precisions_count; p++)
            json_array_append_new(precisions, json_string(precision_name(runs->precisions[p])));
        json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "kind", runs->kind, "precisions",
                                              precisions, "devices",
                                              names_json(runs->devices, runs->devices_count)));
    }
    return list;
}

/* {"nvrtc": "nvidia/cu13/lib/libnvrtc.so"} */
static json_t *libraries_json(const struct worker_values *values)
{
    json_t *all = json_object();

    for (uint32_t i = 0; i < values->libraries_count; i++)
        json_object_set_new(all, values->libraries[i].name, json_string(values->libraries[i].path));
    return all;
}

/* One version, as every subcommand shows it. */
static json_t *worker_json(const struct named_worker *worker)
{
    const struct worker_values *values = worker->declared.values;
    const bool installed = named_worker_is_installed(worker);
    char declaration[DIGEST_HEX_SIZE], lock[DIGEST_HEX_SIZE];

    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:b, s:s, s:o, s:s, s:s, s:O}", "name", values->name, "version",
        worker->version, "description", values->description, "installed", installed, "folder",
        worker->folder, "bytes",
        installed ? json_integer((json_int_t)package_installed_bytes(worker->folder)) : json_null(),
        "declaration", digest_hex(&worker->declared.digest, declaration), "lock",
        digest_hex(&worker->lock, lock), "packages", worker->packages);

    if (worker->declared.form == DECLARED_STACK)
        json_object_update_new(json, json_pack("{s:s?, s:o}", "driver", values->library,
                                               "libraries", libraries_json(values)));
    else
        json_object_update_new(json, json_pack("{s:s, s:s?, s:o, s:o}", "entry", values->entry,
                                               "interpreter", values->interpreter, "modes",
                                               names_json(values->modes, values->modes_count),
                                               "runs", runs_json(values)));
    return json;
}

static void append_list(struct text *out, const json_t *list)
{
    EACH(item, list)
        text_append_format(out, "%s%s", item_at ? ", " : "", json_string_value(item));
}

/* "batched_inference in fp32, bf16 on cpu" */
static void append_runs(struct text *out, const json_t *list)
{
    EACH(runs, list) {
        text_append_format(out, "%s%s in ", runs_at ? "; " : "", member_string(runs, "kind"));
        append_list(out, json_object_get(runs, "precisions"));
        text_append(out, " on ");
        append_list(out, json_object_get(runs, "devices"));
    }
}

static void append_row(struct text *out, const json_t *row)
{
    const json_t *bytes = json_object_get(row, "bytes");
    AUTO_FREE char *name =
        text_format("%s@%s", member_string(row, "name"), member_string(row, "version"));
    char size[TEXT_HUMAN_SIZE];

    text_append_format(out, "%-24s  %-10s  ", name ? name : "",
                       json_is_integer(bytes)
                           ? text_human_bytes((double)json_integer_value(bytes), size)
                           : "not here");
    if (json_object_get(row, "driver"))
        text_append(out, member_string(row, "description"));
    append_runs(out, json_object_get(row, "runs"));
    text_append_char(out, '\n');
}

static void append_details(struct text *out, const json_t *row)
{
    const char *interpreter = member_string(row, "interpreter"),
               *driver = member_string(row, "driver");

    append_row(out, row);
    text_append_format(out, "  description  %s\n  folder       %s%s\n",
                       member_string(row, "description"), member_string(row, "folder"),
                       member_is_true(row, "installed") ? "" : " (not installed)");
    if (driver)
        text_append_format(out, "  driver       %s\n", driver);
    else
        text_append_format(out, "  entry        %s%s%s\n", member_string(row, "entry"),
                           interpreter ? " by " : "", interpreter ? interpreter : "");
    if (member_size(row, "modes") > 0) {
        text_append(out, "  modes        ");
        append_list(out, json_object_get(row, "modes"));
        text_append_char(out, '\n');
    }
    text_append(out, "  packages     ");
    append_list(out, json_object_get(row, "packages"));
    text_append_format(out, "\n  declaration  %s\n  lock         %s\n",
                       member_string(row, "declaration"), member_string(row, "lock"));
}

static int show_rows(const struct command_line *line, json_t *rows, bool details)
{
    struct text out = TEXT_INIT;

    if (command_has(line, KEY_JSON))
        return output_json(rows);
    EACH(row, rows)
        (details ? append_details : append_row)(&out, row);
    json_decref(rows);
    return output_lines(&out);
}

/* Every version that is declared, or the one that `name` has. */
static enum status add_worker(json_t *rows, enum declared_form form, const char *name, bool all,
                              struct error *err)
{
    CLEANUP(named_worker_cleanup) struct named_worker *worker = NULL;

    TRY(named_worker_read(form, name, &worker, err));
    for (uint32_t i = 0; i < worker->declared.values->versions_count; i++) {
        CLEANUP(named_worker_cleanup) struct named_worker *one = NULL;
        AUTO_FREE char *text =
            text_format("%s@%s", worker->from, worker->declared.values->versions[i]);

        if (!all && strcmp(worker->declared.values->versions[i], worker->version) != 0)
            continue;
        if (!text)
            return error_no_memory(err);
        TRY(named_worker_read(form, text, &one, err));
        json_array_append_new(rows, worker_json(one));
    }
    return STATUS_OK;
}

static enum status install(const struct command_line *line, enum declared_form form,
                           const char *name, int wake_fd, struct error *err)
{
    CLEANUP(named_worker_cleanup) struct named_worker *worker = NULL;

    TRY(named_worker_read(form, name, &worker, err));
    TRY(named_worker_install(worker, command_value(line, KEY_FIND_LINKS),
                             command_has(line, KEY_QUIET), wake_fd, err));
    if (!command_has(line, KEY_JSON) && !command_has(line, KEY_QUIET))
        log_info("%s@%s is installed in %s", worker->declared.values->name, worker->version,
                 worker->folder);
    return STATUS_OK;
}

static enum status take_away(enum declared_form form, const char *name, struct error *err)
{
    CLEANUP(named_worker_cleanup) struct named_worker *worker = NULL;
    enum status status;

    TRY(named_worker_read(form, name, &worker, err));
    status = package_remove(worker->folder, err);
    return status != STATUS_NOT_FOUND ? status
                                      : error_set(err, STATUS_NOT_FOUND, "%s@%s is not installed",
                                                  worker->declared.values->name, worker->version);
}

static int list(const struct command_line *line, enum declared_form form)
{
    struct error err = ERROR_INIT;
    json_t *rows = json_array();
    char name[WORKER_NAME_SIZE];
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && worker_declared_name(form, i, name); i++)
        status = add_worker(rows, form, name, true, &err);
    if (status != STATUS_OK) {
        json_decref(rows);
        return command_fail(&err);
    }
    return show_rows(line, rows, false);
}

static int run_form(const struct command_line *line, enum declared_form form)
{
    const char *what = line->argument_count > 0 ? line->arguments[0] : NULL;
    const bool installs = what && !strcmp(what, "install");
    const bool removes = what && !strcmp(what, "remove");
    struct error err = ERROR_INIT;
    json_t *rows;
    int wake_fd = -1;
    enum status status = STATUS_OK;

    if (what && !strcmp(what, "list") && line->argument_count == 1)
        return list(line, form);
    if (!installs && !removes && !(what && !strcmp(what, "show"))) {
        log_error("assay %s: write list, show NAME, install NAME or remove NAME",
                  declared_form_name(form));
        return ASSAY_EXIT_USAGE;
    }
    if (line->argument_count < 2) {
        log_error("assay %s %s: name a %s; `assay %s list` shows what there is",
                  declared_form_name(form), what, declared_form_name(form),
                  declared_form_name(form));
        return ASSAY_EXIT_USAGE;
    }
    rows = json_array();
    if (installs)
        status = interrupt_open(INTERRUPT_READING, &wake_fd, &err);
    for (size_t i = 1; i < line->argument_count && status == STATUS_OK; i++) {
        const char *name = line->arguments[i];

        status = installs  ? install(line, form, name, wake_fd, &err)
                 : removes ? take_away(form, name, &err)
                           : STATUS_OK;
        if (status == STATUS_OK)
            status = add_worker(rows, form, name, false, &err);
    }
    if (status != STATUS_OK) {
        json_decref(rows);
        return status == STATUS_INTERRUPTED ? command_interrupted("%s", err.message)
                                            : command_fail(&err);
    }
    return show_rows(line, rows, !installs && !removes);
}

static int run_worker(const struct command_line *line)
{
    if (line->argument_count == 0 && getenv("ASSAY_WORKER_PROTOCOL"))
        return worker_main(); /* as a trial starts it */
    return run_form(line, DECLARED_WORKER);
}

static int run_stack(const struct command_line *line)
{
    return run_form(line, DECLARED_STACK);
}

static const struct argp_option options[] = {
    {"find-links", KEY_FIND_LINKS, "FOLDER", 0,
     "install: take the wheels from this folder, and download nothing"},
    {0}};

const struct command command_worker = {
    .name = "worker",
    .arguments = "list|show|install|remove [NAME[@VERSION]]...",
    .summary = "Install and show the frameworks that can measure in place of assay's own kernels",
    .text = "A worker is declared with its versions, each with a lock file that has the SHA-256 of "
            "every package. With `install`, pip downloads the packages of the lock file, and "
            "nothing else, into a folder of its own below ASSAY_WORKERS, else assay/workers under "
            "XDG_DATA_HOME or ~/.local/share; several versions can be installed at once. NAME "
            "alone is the newest version, NAME@1.24 the first that begins so; the path of a "
            "worker.yaml names one of your own (backends/workers/README.md).\n"
            "\n"
            "  assay worker install onnxruntime@1.24 openvino\n"
            "  assay worker install onnxruntime --find-links /srv/wheels\n"
            "  assay ab gpt2_small_batched_inference --a worker=assay --b worker=openvino",
    .options = options,
    .groups = GROUP_JSON | GROUP_QUIET,
    .arguments_max = CELL_LIST_MAX,
    .first_words = "list show install remove",
    .run = run_worker,
};

const struct command command_stack = {
    .name = "stack",
    .arguments = "list|show|install|remove [NAME[@VERSION]]...",
    .summary = "Install and show several versions of drivers, to compare them",
    .text = "A stack is a driver, declared with its versions, each with a lock file that has the "
            "SHA-256 of every package; it is installed as a worker is (`assay worker --help`), in "
            "a folder of its own, and changes no driver of the machine. An arm chooses it by "
            "driver=NAME@VERSION (backends/stacks/README.md).\n"
            "\n"
            "  assay stack install intel-opencl-rt@2022.2 intel-opencl-rt@2026.2\n"
            "  assay matrix triad --over driver=intel-opencl-rt@{2022.2,2026.2},pocl",
    .options = options,
    .groups = GROUP_JSON | GROUP_QUIET,
    .arguments_max = CELL_LIST_MAX,
    .first_words = "list show install remove",
    .run = run_stack,
};

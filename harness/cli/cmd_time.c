#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/cli/results_view.h"
#include "harness/cli/run_start.h"
#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "reports/view.h"
#include "workloads/declared.h"

enum { KEY_WARMUP = 0x180, KEY_PATTERN, KEY_UNIT, KEY_BETTER, KEY_NAME, KEY_DECLARATION };

#define WORDS_MAX 1024
#define RUNS_MAX 1000

/* What results are found under: "time-train" of ./train.py --steps 20. */
static void name_of(const char *command, char ret[WORKLOAD_NAME_MAX])
{
    size_t at = (size_t)snprintf(ret, WORKLOAD_NAME_MAX, "time-");

    for (const char *c = file_base_name(command); *c && *c != '.' && at < 40; c++) {
        const char lower = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;

        ret[at++] = strchr("abcdefghijklmnopqrstuvwxyz0123456789_-", lower) ? lower : '_';
    }
    ret[at] = '\0';
}

static bool is_file(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* The first argument, where it is a file (a script, a model), is an input that no trial may find
 * changed. */
static json_t *inputs_of(const struct command_line *line)
{
    return line->argument_count > 1 && is_file(line->arguments[1])
               ? json_pack("[{s:s}]", "path", line->arguments[1])
               : NULL;
}

static enum status metric_of(const struct command_line *line, json_t **ret, struct error *err)
{
    const char *pattern = command_value(line, KEY_PATTERN), *unit = command_value(line, KEY_UNIT);
    const char *better = command_value(line, KEY_BETTER);

    if (!pattern && (unit || better))
        return error_set(err, STATUS_INVALID,
                         "--unit and --better are of a number that --pattern finds: write it, too");
    if (pattern && (!unit || !better))
        return error_set(err, STATUS_INVALID,
                         "--pattern finds a number: write its --unit, as in tokens/s, and --better "
                         "higher or lower");
    *ret = pattern
               ? json_pack("{s:s, s:s, s:s}", "pattern", pattern, "unit", unit, "better", better)
               : NULL;
    return STATUS_OK;
}

static enum status warmup_of(const struct command_line *line, int64_t *ret, struct error *err)
{
    const char *value = command_value(line, KEY_WARMUP);

    *ret = 0;
    if (value && (!text_parse_i64(value, ret) || *ret < 0 || *ret > RUNS_MAX))
        return error_set(err, STATUS_INVALID, "--warmup %s: write a number of runs up to %d", value,
                         RUNS_MAX);
    return STATUS_OK;
}

static char *words_of(const struct command_line *line)
{
    struct text words = TEXT_INIT;

    for (size_t i = 0; i < line->argument_count; i++)
        text_append_format(&words, "%s%s", i ? " " : "", line->arguments[i]);
    return text_steal(&words);
}

/* The declaration that stands for the command line. */
static enum status declare(const struct command_line *line, json_t **ret, struct error *err)
{
    const char *given = command_value(line, KEY_NAME);
    char name[WORKLOAD_NAME_MAX];
    json_auto_t *command = json_array(), *metric = NULL;
    AUTO_FREE char *words = words_of(line);
    int64_t warmup;

    name_of(line->arguments[0], name);
    TRY(warmup_of(line, &warmup, err));
    TRY(metric_of(line, &metric, err));
    for (size_t i = 0; i < line->argument_count; i++)
        json_array_append_new(command, json_string(line->arguments[i]));
    *ret = json_pack("{s:s, s:i, s:s, s:s?, s:{s:O, s:o*, s:o*, s:O*}}", "workload",
                     given ? given : name, "version", 1, "kind", "program", "description", words,
                     "program", "command", command, "inputs", inputs_of(line), "warmup",
                     warmup > 0 ? json_integer(warmup) : NULL, "metric", metric);
    return *ret ? STATUS_OK
                : error_set(err, STATUS_INVALID,
                            "the command is not UTF-8: write a declaration of "
                            "`kind: program`, and use `assay run`");
}

/* In a file without a name, whose path goes where that of a declaration would. */
static enum status write_down(const json_t *declaration, int *ret, char ret_path[64],
                              struct error *err)
{
    AUTO_FREE char *text = json_dumps(declaration, JSON_INDENT(2));

    if (!text)
        return error_no_memory(err);
    *ret = file_open_memory("declaration", strlen(text));
    if (*ret < 0)
        return error_set(err, STATUS_IO, "memory for the declaration");
    snprintf(ret_path, 64, "/proc/self/fd/%d", *ret);
    return file_write_all(*ret, text, strlen(text), err);
}

/* ---- the answer ---- */

/* "sleep 1 takes 1.002 s a run (1.001 to 1.003 s, 95 % interval), grade C". */
static void append_answer(const struct view_cell *cell, struct text *out)
{
    enum metric_id id = METRIC_ITERATION_TIME;
    const struct metric_value *value = view_headline(cell, &id);
    const char *reason = view_no_value_reason(cell);
    struct view_figure figure;

    if (!view_figure_of(id, value, &figure)) {
        text_append_format(out, "%s: %s", view_no_value_label(cell), reason ? reason : "unknown");
        return;
    }
    text_append_format(out, metric_is_counted(id) ? "It counts %s" : "A run takes %s",
                       figure.value);
    if (figure.ends[0])
        text_append_format(out, " (%s, %g %% interval)", figure.ends,
                           cell->estimate->confidence * 100);
    else
        text_append(out, ", without an interval");
    text_append_format(out, "; grade %s: %zu samples in %zu trials", figure.grade,
                       cell->estimate->sample_count, cell->ok_count);
}

static int show(struct store *store, int64_t campaign, struct error *err)
{
    CLEANUP(view_finish) struct view view = {0};
    CLEANUP(text_finish) struct text sentence = TEXT_INIT;
    struct text out = TEXT_INIT;
    AUTO_FREE int64_t *cells = NULL;
    size_t count = 0;
    enum status status =
        store_find_cells(store, &(struct store_filter){.campaign = campaign}, &cells, &count, err);
    int result;

    if (status == STATUS_OK)
        status = view_load(store, cells, count, VIEW_SUMMARY, &view, err);
    if (status != STATUS_OK || count == 0)
        return command_fail(err);
    append_answer(&view.cells[0], &sentence);
    text_append(&sentence, ".");
    output_wrapped(&out, text_ok(&sentence) ? sentence.data : "", 0, output_columns());
    text_append_char(&out, '\n');
    result = output_text(&out);
    if (result == ASSAY_EXIT_OK)
        result = results_view_table(store, campaign, err);
    if (view.cells[0].evidence)
        log_info("once more, and whether it holds: assay reproduce %s", view.cells[0].result);
    else
        log_info(
            "to repeat it and compare: the same with --protocol paired, then `assay reproduce` "
            "of its result");
    return result;
}

static enum status plan_of(const struct command_line *line, const char *path, struct plan *ret,
                           struct error *err)
{
    const char *devices[] = {command_value(line, KEY_DEVICE)};
    const struct plan_request request = {.names = &path,
                                         .name_count = 1,
                                         .devices = devices,
                                         .device_count = devices[0] != NULL,
                                         .protocol = command_protocol(line)};

    return plan_build(&request, ret, err);
}

static int run(const struct command_line *line)
{
    CLEANUP(plan_finish) struct plan plan = {0};
    json_auto_t *declaration = NULL;
    struct error err = ERROR_INIT;
    char path[64];
    int fd = -1, result;
    enum status status = declare(line, &declaration, &err);

    if (status == STATUS_OK && command_has(line, KEY_DECLARATION) && command_has(line, KEY_JSON))
        status =
            error_set(&err, STATUS_INVALID, "the declaration is JSON as it is: leave out --json");
    if (status == STATUS_OK && command_has(line, KEY_DECLARATION)) {
        AUTO_FREE char *text = json_dumps(declaration, JSON_INDENT(2));
        struct text out = TEXT_INIT;

        text_append_format(&out, "%s\n", text ? text : "");
        return output_text(&out);
    }
    if (status == STATUS_OK)
        status = write_down(declaration, &fd, path, &err);
    if (status == STATUS_OK)
        status = plan_of(line, path, &plan, &err);
    if (fd >= 0)
        close(fd);
    result = status == STATUS_OK ? run_start(line, &plan, show) : command_fail(&err);
    return result;
}

static const struct argp_option options[] = {
    {"protocol", KEY_PROTOCOL, "PROTOCOL|FILE", 0, "how to measure (default: quick)"},
    {"device", KEY_DEVICE, "DEVICE", 0,
     "whose readings and telemetry are recorded, too (default: the host's processor)"},
    {"warmup", KEY_WARMUP, "N", 0, "runs of each trial before those of the protocol"},
    {"pattern", KEY_PATTERN, "TEXT", 0,
     "by a number of its standard output in place of the time: \"rate: {value} tokens/s\""},
    {"unit", KEY_UNIT, "UNIT", 0, "of that number"},
    {"better", KEY_BETTER, "higher|lower", 0, "of that number"},
    {"name", KEY_NAME, "NAME", 0, "of the workload (default: of the command)"},
    {"declaration", KEY_DECLARATION, NULL, 0,
     "write the declaration that stands for this call, and run nothing"},
    {0}};

const struct command command_time = {
    .name = "time",
    .arguments = "-- COMMAND [ARGUMENT]...",
    .summary = "Measure any command, as `assay run` measures workloads",
    .text =
        "Each run is a fresh process; trials, warmup, telemetry, files and intervals are as of any "
        "result, which is stored. The first argument of the command, where it is a file, is held "
        "to its digest. What else can be declared of a program (other inputs, outputs and how they "
        "are checked, the number it counts, in JSON or CSV, too) is in a file: --declaration > "
        "mine.yaml begins one for `assay run ./mine.yaml`, `assay ab` and `assay matrix`.\n"
        "\n"
        "  assay time -- sleep 0.1\n"
        "  assay time -- python3 train.py --steps 20\n"
        "  assay time --pattern \"t/s: {value}\" --unit t/s --better higher -- ./bench",
    .options = options,
    .groups = GROUP_STORE | GROUP_JSON | GROUP_STACK | GROUP_QUIET,
    .arguments_min = 1,
    .arguments_max = WORDS_MAX,
    .run = run,
};

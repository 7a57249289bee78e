#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/cli/with_store.h"
#include "harness/core/cleanup.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "harness/runner/tool.h"
#include "results/evidence/bundle.h"
#include "results/formats/import.h"

enum { KEY_FORMAT = 0x100 };

#define LEFT_OUT_SHOWN 20 /* messages of one file */

/* The first digits of each uid, as commands show and take them; new array. */
static json_t *short_ids(const json_t *uids)
{
    json_t *ids = json_array();

    EACH(uid, uids)
        json_array_append_new(ids, json_sprintf("%.8s", json_string_value(uid)));
    return ids;
}

/* On standard error, each by its place in the file. */
static void tell_left_out(const struct import_outcome *outcome)
{
    EACH(message, outcome->left_out) {
        if (message_at == LEFT_OUT_SHOWN)
            break;
        log_warning("left out: %s", json_string_value(message));
    }
    if (outcome->left_out_count > LEFT_OUT_SHOWN)
        log_warning("left out: %lld more", (long long)outcome->left_out_count - LEFT_OUT_SHOWN);
}

static void tell(const char *path, const struct import_outcome *outcome, const json_t *ids)
{
    CLEANUP(text_finish) struct text line = TEXT_INIT;

    text_append_format(&line, "%s: %s %lld result%s of %s as campaign%s", path,
                       outcome->known ? "known already," : "imported", (long long)outcome->results,
                       outcome->results == 1 ? "" : "s", outcome->program,
                       json_array_size(ids) == 1 ? "" : "s");
    EACH(id, ids)
        text_append_format(&line, "%s %s", id_at ? "," : "", json_string_value(id));
    if (outcome->left_out_count > 0)
        text_append_format(&line, "; %lld left out", (long long)outcome->left_out_count);
    text_append_char(&line, '\n');
    if (!output_page(&line))
        log_error("no memory for the output");
}

/* On standard output, or with --json in `rows`. */
static void report(const struct command_line *line, const char *path,
                   const struct import_outcome *outcome, json_t *rows)
{
    json_t *ids = short_ids(outcome->campaigns);

    tell_left_out(outcome);
    if (command_has(line, KEY_JSON))
        json_array_append_new(
            rows, json_pack("{s:o, s:O, s:O, s:I, s:s, s:b, s:I}", "file", printable_or_null(path),
                            "campaign", json_array_get(ids, 0), "campaigns", ids, "results",
                            (json_int_t)outcome->results, "program", outcome->program, "known",
                            outcome->known, "left_out", (json_int_t)outcome->left_out_count));
    else
        tell(path, outcome, ids);
    json_decref(ids);
}

struct taking {
    const struct import_format *format; /* NULL: seen by the file's beginning */
    bool taken;                         /* a file at least */
};

static int take(const struct command_line *line, struct store *store, void *context)
{
    struct taking *taking = context;
    struct import_request request = {.command = line->text, .tool_version = tool_version()};
    struct error err = ERROR_INIT;
    json_t *rows = json_array();
    int result = ASSAY_EXIT_OK;

    for (size_t i = 0; i < line->argument_count; i++) {
        struct import_outcome outcome;
        int failed;

        request.path = line->arguments[i];
        /* A bundle has the digest of the assay that measured. */
        if ((!bundle_recognise(request.path) &&
             tool_digest(&request.tool_digest, &err) != STATUS_OK) ||
            import_file(store, taking->format, &request, &outcome, &err) != STATUS_OK) {
            failed = command_fail(&err);
            result = result ? result : failed;
            continue;
        }
        taking->taken = true;
        report(line, request.path, &outcome, rows);
        json_decref(outcome.campaigns);
        json_decref(outcome.left_out);
    }
    if (command_has(line, KEY_JSON) && (taking->taken || result == ASSAY_EXIT_OK))
        result = output_json(rows) ? ASSAY_EXIT_SYSTEM : result;
    else
        json_decref(rows);
    return result;
}

static bool is_there(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

/* Gives the file its name, if no other process has taken it meanwhile. */
static enum status publish(const char *temporary, const char *path, struct error *err)
{
    int reason = link(temporary, path) == 0 ? 0 : errno;

    /* Not every file system has links. */
    if (reason && reason != EEXIST && !is_there(path))
        reason = rename(temporary, path) == 0 ? 0 : errno;
    if (reason == EEXIST)
        return error_set(
            err, STATUS_BUSY,
            "%s: was made by another process meanwhile, and nothing was taken into it; "
            "import again",
            path);
    return reason ? error_set_errno(err, reason, "%s", path) : STATUS_OK;
}

static void remove_database(const char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm"};

    for (size_t i = 0; i < 3; i++) {
        AUTO_FREE char *name = text_format("%s%s", path, endings[i]);

        if (name)
            unlink(name);
    }
}

/* A database that is not there yet appears only with something in it. */
static int run_into_new(const struct command_line *line, const char *path, struct taking *taking)
{
    AUTO_FREE char *temporary = text_format("%s.import%ld", path, (long)getpid());
    struct error err = ERROR_INIT;
    int result;

    if (!temporary) {
        error_no_memory(&err);
        return command_fail(&err);
    }
    result = with_store_at(line, temporary, STORE_CREATE, take, taking);
    if (taking->taken && publish(temporary, path, &err) != STATUS_OK)
        result = command_fail(&err);
    remove_database(temporary);
    return result;
}

static int run(const struct command_line *line)
{
    const char *name = command_value(line, KEY_FORMAT);
    struct taking taking = {0};
    struct error err = ERROR_INIT;

    if (name && !(taking.format = import_format_find(name, &err)))
        return command_fail(&err);
    if (!is_there(command_database(line)))
        return run_into_new(line, command_database(line), &taking);
    return with_store(line, STORE_CREATE, take, &taking);
}

static const struct argp_option options[] = {
    {"format", KEY_FORMAT, "NAME", 0,
     "bundle, llama-bench-sqlite, llama-bench-json, llama-bench-jsonl, llama-bench-csv, "
     "mlperf-summary, hyperfine, google-benchmark, pytest-benchmark, fio, phoronix or superbench "
     "(default: by the beginning of the file)"},
    {0}};

const struct command command_import = {
    .name = "import",
    .arguments = "FILE...",
    .summary = "Import bundles, and results that another program measured",
    .text =
        "FILE is a bundle (`assay bundle`): it is checked, and its campaigns become part of "
        "this database, with their origin; nothing is imported when any check fails. Or FILE "
        "is the output of llama-bench (JSON, JSON lines, CSV, or its SQLite database), MLPerf "
        "Inference's mlperf_log_summary.txt, or JSON of hyperfine, Google Benchmark, "
        "pytest-benchmark, fio, the Phoronix Test Suite or SuperBench. Each file becomes a "
        "campaign of its own, marked as imported, with its name, its SHA-256 and what it does "
        "not report (driver, raw samples, warmup ...). `assay compare` says why such a result "
        "compares with none of ours. What failed, by the file's own words or for want of a number, "
        "is left out and named. The same file again changes nothing.",
    .options = options,
    .groups = GROUP_STORE | GROUP_JSON,
    .arguments_min = 1,
    .arguments_max = 1000,
    .completes = "FILE",
    .run = run,
};

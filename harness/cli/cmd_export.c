#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/cli/results_view.h"
#include "harness/cli/with_store.h"
#include "harness/core/array.h"
#include "harness/core/file.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "results/formats/export.h"
#include "results/evidence/key.h"

enum { KEY_PRECISION = 0x100, KEY_LIMIT, KEY_ARCHIVED, KEY_NO_TIMES, KEY_SIGN, KEY_FILE };

struct selection {
    int64_t *cells; /* heap */
    size_t count;
};

/* Cells of store_list_results' rows, added to the selection. */
static enum status add_rows(struct selection *selection, const json_t *rows, struct error *err)
{
    TRY(ARRAY_GROW(selection->cells, selection->count, json_array_size(rows), err));
    EACH(row, rows)
        selection->cells[selection->count++] = member_integer(row, "cell");
    return STATUS_OK;
}

static enum status add_listed(struct selection *selection, struct store *store,
                              const struct store_filter *filter, struct error *err)
{
    json_auto_t *rows = NULL;

    TRY(store_list_results(store, filter, &rows, err));
    return add_rows(selection, rows, err);
}

/*
 * The results that the arguments after FORMAT name, or all; without those that the filters exclude.
 */
static enum status select_cells(const struct command_line *line, struct store *store,
                                struct selection *selection, struct error *err)
{
    struct store_filter filter = {.workload = command_value(line, KEY_WORKLOAD),
                                  .precision = command_value(line, KEY_PRECISION),
                                  .protocol = command_value(line, KEY_PROTOCOL),
                                  .device = command_value(line, KEY_DEVICE)};
    const char *limit = command_value(line, KEY_LIMIT);

    if (limit && (!text_parse_i64(limit, &filter.limit) || filter.limit < 0))
        return error_set(err, STATUS_INVALID, "--limit %s: write a whole number, 0 for all", limit);
    if (line->argument_count == 1 && !command_has(line, KEY_ARCHIVED)) {
        filter.hide_archived = true;
        say_archived(store, "--archived shows them");
    }
    if (line->argument_count == 1)
        return add_listed(selection, store, &filter, err);
    for (size_t i = 1; i < line->argument_count; i++) {
        const char *id = line->arguments[i];

        if (strchr(id, '/')) {
            struct store_filter one = {0};

            TRY(store_find_cell(store, id, &one.cell, err));
            TRY(add_listed(selection, store, &one, err));
        } else {
            TRY(store_find_campaign(store, id, &filter.campaign, err));
            TRY(add_listed(selection, store, &filter, err));
        }
    }
    return STATUS_OK;
}

static enum status write_file(struct store *store, const struct export_format *format,
                              const struct export_request *request, const char *path,
                              struct error *err)
{
    struct file_draft draft;
    enum status status;

    TRY(file_draft_begin(&draft, path, err));
    status = export_write(store, format, request, draft.stream, err);
    return file_draft_end(&draft, status, err);
}

static enum status sign(void *context, const void *bytes, size_t length, uint8_t *ret,
                        size_t *ret_length, struct error *err)
{
    *ret_length = KEY_SIGNATURE_SIZE;
    return key_sign(context, bytes, length, ret, err);
}

/* The key of --key, or the usual one of --sign. */
static enum status read_key(const struct command_line *line, struct key *ret, struct error *err)
{
    const char *path = command_value(line, KEY_FILE);
    enum status status = path ? key_read(path, ret, err) : key_read_default(ret, err);

    if (status == STATUS_NOT_FOUND && !path)
        error_set(err, status, "there is no key to sign with; `assay key new` makes one");
    return status;
}

static int export_selected(const struct command_line *line, struct store *store, void *context)
{
    const struct export_format *format = context;
    const char *path = command_value(line, KEY_OUTPUT);
    struct selection selection = {0};
    struct export_request request = {.without_times = command_has(line, KEY_NO_TIMES)};
    struct error err = ERROR_INIT;
    struct dsse_signer signer = {.sign = sign};
    char public[KEY_TEXT_MAX];
    struct key key = {0};
    int result = ASSAY_EXIT_OK;

    if (command_has(line, KEY_SIGN) || command_has(line, KEY_FILE)) {
        if (strcmp(format->name, "intoto") != 0)
            error_set(&err, STATUS_INVALID, "only intoto is signed, %s is not", format->name);
        else if (read_key(line, &key, &err) == STATUS_OK)
            request.signer = &signer;
        if (!request.signer)
            return command_fail(&err);
        signer.key_id = key_public_text(&key.public, public);
        signer.context = &key;
    }
    if (select_cells(line, store, &selection, &err) != STATUS_OK) {
        command_say(&err);
        result = err.code == STATUS_INVALID ? ASSAY_EXIT_USAGE : ASSAY_EXIT_STORE;
        goto done;
    }
    request.cells = selection.cells;
    request.count = selection.count;
    if (selection.count == 0) {
        log_error("no results in %s that pass; `assay results --db %s` lists what there is",
                  store_path(store), store_path_word(store));
        result = ASSAY_EXIT_STORE;
    } else if (path && strcmp(path, "-") != 0) {
        if (write_file(store, format, &request, path, &err) != STATUS_OK)
            result = command_fail(&err);
        else
            log_info("%s holds %zu results as %s", path, selection.count, format->name);
    } else if (export_write(store, format, &request, stdout, &err) != STATUS_OK) {
        result = output_fail(&err);
    }
done:
    key_finish(&key);
    free(selection.cells);
    return result;
}

static int run(const struct command_line *line)
{
    const struct export_format *format;
    struct error err = ERROR_INIT;

    format = export_format_find(line->arguments[0], &err);
    if (!format)
        return command_fail(&err);
    return with_store(line, STORE_READ, export_selected, (void *)(uintptr_t)format);
}

static const struct argp_option options[] = {
    {"output", KEY_OUTPUT, "FILE", 0,
     "write here, completely or not at all (default: standard output)"},
    {"workload", KEY_WORKLOAD, "WORKLOAD", 0, "only this workload"},
    {"device", KEY_DEVICE, "DEVICE|TEXT", 0,
     "only devices whose spec is, or whose name contains, this"},
    {"protocol", KEY_PROTOCOL, "PROTOCOL", 0, "only this protocol"},
    {"precision", KEY_PRECISION, "PRECISION", 0, "only this precision"},
    {"limit", KEY_LIMIT, "N", 0, "at most this many, newest first (default: all)"},
    {"archived", KEY_ARCHIVED, NULL, 0, "those of archived campaigns, too"},
    {"without-times", KEY_NO_TIMES, NULL, 0,
     "openmetrics: no time stamps, as node_exporter's textfile collector requires"},
    {"sign", KEY_SIGN, NULL, 0, "intoto: in a DSSE envelope signed with the default key"},
    {"key", KEY_FILE, "FILE", 0, "intoto: the same with this key (`assay key new` makes one)"},
    {0}};

const struct command command_export = {
    .name = "export",
    .arguments = "FORMAT [ID]...",
    .summary = "Write results in a format that other programs read",
    .text =
        "FORMAT is csv (a row a result), csv-samples (a row a raw sample), parquet (as csv, by the "
        "program duckdb), json or jsonl (whole records), cyclonedx (the stack of one result, "
        "CycloneDX 1.6), intoto (in-toto Statement v1), openmetrics, or mlperf (lines :::MLLOG). "
        "ID is a result (9f2c41aa/3) or a campaign (9f2c41aa, last); without one, all results that "
        "pass the options. Every row, label and record has the context of its number.",
    .options = options,
    .groups = GROUP_STORE,
    .arguments_min = 1,
    .arguments_max = 1000,
    .completes = "RESULT|CAMPAIGN",
    .first_words = "csv csv-samples parquet json jsonl cyclonedx intoto openmetrics mlperf",
    .run = run,
};

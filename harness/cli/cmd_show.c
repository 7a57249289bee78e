#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/cli/results_view.h"
#include "harness/cli/with_store.h"
#include "harness/core/cleanup.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "harness/core/shell.h"
#include "harness/core/text.h"
#include "harness/library/inside.h"
#include "reports/cell_document.h"
#include "reports/decision_words.h"
#include "reports/terminal.h"
#include "reports/view.h"
#include "results/analysis/peak_share.h"
#include "results/formats/csv_export.h"
#include "results/formats/peak_sheet.h"
#include "results/store/store.h"

enum { KEY_SERIES = 0x100, KEY_DUMP, KEY_READINGS, KEY_PEAKS, KEY_RELEASES, KEY_RELEASE_KEY };

/* What the result is held against. */
struct sheets {
    json_t *peaks; /* NULL: nothing */
    bool asks_release;
    struct releases releases; /* where it asks */
};

/* The raw samples of every trial as CSV, the form that `assay analyze` reads. */
static int show_series(struct store *store, int64_t cell)
{
    struct error err = ERROR_INIT;

    if (csv_export_samples(store, cell, stdout, &err) != STATUS_OK)
        return output_fail(&err);
    return output_flush();
}

/* What a tool reported of the machine, byte by byte but on a terminal. */
static int show_dump(struct store *store, int64_t cell, const char *tool)
{
    struct error err = ERROR_INIT;
    struct text page = TEXT_INIT;
    AUTO_FREE char *text = NULL;

    if (store_load_dump(store, cell, tool, &text, &err) != STATUS_OK)
        return command_fail(&err);
    if (!isatty(STDOUT_FILENO)) {
        fputs(text, stdout);
        return output_flush();
    }
    text_append(&page, text);
    return output_text(&page);
}

/* The only result of a bundle; where it has several, their table. True: `ret` is set. */
static bool only_result(struct store *store, const char *bundle, int64_t *ret, int *ret_exit)
{
    struct error err = ERROR_INIT;
    AUTO_FREE int64_t *cells = NULL;
    size_t count = 0;

    if (store_find_cells(store, &(struct store_filter){0}, &cells, &count, &err) != STATUS_OK) {
        *ret_exit = command_fail_store(&err);
        return false;
    }
    if (count == 1)
        *ret = cells[0];
    if (count == 1)
        return true;
    *ret_exit = results_view_table(store, 0, &err);
    if (*ret_exit == ASSAY_EXIT_OK) {
        AUTO_FREE char *word = shell_quoted(bundle);

        log_info("one of them in full: assay show %s ID", word ? word : "BUNDLE");
    }
    return false;
}

/* Below the result: what share of its declared peaks it came to. */
static enum status say_peaks(struct doc *doc, struct store *store, int64_t cell,
                             const json_t *peaks, struct error *err)
{
    json_auto_t *record = NULL, *shares = NULL;

    if (!peaks)
        return STATUS_OK;
    TRY(store_cell_json(store, cell, &record, err));
    shares = peak_shares(record, peaks, NULL);
    if (json_array_size(shares) == 0)
        doc_say(doc, NULL, "No declared peak is of this device, precision and metrics.");
    EACH(share, shares) {
        decision_peak_words(&doc->block, peaks, share);
        doc_end(doc, NULL);
    }
    return STATUS_OK;
}

/* Which release ran the campaign of a record; NULL: none is known. */
static const struct release *release_of(const struct sheets *sheets, const json_t *record)
{
    struct digest digest;

    return digest_from_hex(member_string(json_object_get(record, "campaign"), "tool_digest"),
                           &digest)
               ? releases_find(&sheets->releases, &digest)
               : NULL;
}

static enum status say_release(struct doc *doc, struct store *store, int64_t cell,
                               const struct sheets *sheets, struct error *err)
{
    json_auto_t *record = NULL;
    const struct release *release;
    AUTO_FREE char *words = NULL;

    if (!sheets->asks_release)
        return STATUS_OK;
    TRY(store_cell_json(store, cell, &record, err));
    release = release_of(sheets, record);
    words = release ? release_words(release) : NULL;
    if (release && !words)
        return error_no_memory(err);
    doc_say(doc, NULL, "Program: %s", words ? words : "no release known");
    return STATUS_OK;
}

/*
 * The result for people, with its release and peaks: in lines as long as the terminal's, or as
 * Markdown.
 */
static enum status write_result(const struct command_line *line, struct store *store, int64_t row,
                                const struct sheets *sheets, struct text *out, struct error *err)
{
    CLEANUP(view_finish) struct view view = {0};
    CLEANUP(text_finish) struct text lines = TEXT_INIT;
    CLEANUP(doc_finish) struct doc doc = output_doc(line, &lines);
    const struct view_cell *cell;

    TRY(view_load(store, &row, 1, VIEW_FULL, &view, err));
    cell = &view.cells[0];
    doc.screen = output_columns();
    doc.width = 0;
    doc.is_short = true;
    if (command_has(line, KEY_READINGS))
        cell_readings(&doc, cell);
    else if (command_has(line, KEY_ALL) || command_has(line, KEY_MARKDOWN))
        cell_document(&doc, cell, &view.campaigns[cell->campaign], command_has(line, KEY_ALL));
    else
        report_terminal_brief(out, cell, doc.screen, output_colour());
    TRY(say_release(&doc, store, row, sheets, err));
    TRY(say_peaks(&doc, store, row, sheets->peaks, err));
    text_append(out, out->length > 0 && lines.length > 0 ? "\n" : "");
    if (doc.medium == &doc_lines)
        doc_wrap(out, lines.data, doc.screen);
    else
        text_append(out, lines.data);
    out->failed |= lines.failed;
    return STATUS_OK;
}

static json_t *release_json(const struct release *release)
{
    return release ? json_pack("{s:O, s:O, s:O}", "name", release->name, "builder",
                               release->builder, "source", release->source)
                   : json_null();
}

static int show(const struct command_line *line, struct store *store, void *context)
{
    const struct sheets *sheets = context;
    const json_t *peaks = sheets->peaks;
    struct error err = ERROR_INIT;
    CLEANUP(text_finish) struct text out = TEXT_INIT;
    int64_t row;
    json_t *record;
    int result;

    if (line->argument_count == 0) {
        if (!only_result(store, line->bundle, &row, &result))
            return result;
    } else if (store_find_cell(store, line->arguments[0], &row, &err) != STATUS_OK)
        return command_fail_store(&err);
    if (command_has(line, KEY_SERIES))
        return show_series(store, row);
    if (command_has(line, KEY_DUMP))
        return show_dump(store, row, command_value(line, KEY_DUMP));
    if (command_has(line, KEY_JSON)) {
        if (store_cell_json(store, row, &record, &err) != STATUS_OK)
            return command_fail(&err);
        if (peaks)
            json_object_set_new(record, "peaks", peak_shares(record, peaks, NULL));
        if (sheets->asks_release)
            json_object_set_new(record, "release", release_json(release_of(sheets, record)));
        results_view_findings(member_in(record, "estimate", "findings"),
                              member_string(record, "id"));
        return output_json(record);
    }
    if (write_result(line, store, row, sheets, &out, &err) != STATUS_OK)
        return command_fail(&err);
    return output_text(&out);
}

static int run(const struct command_line *line)
{
    struct error err = ERROR_INIT;
    struct sheets sheets = {.asks_release = command_has(line, KEY_RELEASES)};
    int result;

    if (command_has(line, KEY_JSON) &&
        (command_has(line, KEY_SERIES) || command_has(line, KEY_DUMP))) {
        error_set(&err, STATUS_INVALID,
                  "--series and --dump write text that is not JSON: leave out --json");
        return command_fail(&err);
    }
    if (command_has(line, KEY_PEAKS) &&
        peak_sheet_read(command_value(line, KEY_PEAKS), &sheets.peaks, &err) != STATUS_OK)
        return command_fail(&err);
    result =
        library_releases(command_value(line, KEY_RELEASES), command_value(line, KEY_RELEASE_KEY),
                         &sheets.releases, &err) == STATUS_OK
            ? with_store(line, STORE_READ, show, &sheets)
            : command_fail(&err);
    json_decref(sheets.peaks);
    releases_finish(&sheets.releases);
    return result;
}

static const struct argp_option options[] = {
    {"all", KEY_ALL, NULL, 0,
     "every figure, finding, attempt, check and file, and the whole context, in place of a dozen "
     "lines"},
    {"series", KEY_SERIES, NULL, 0, "the raw samples of all its trials, as CSV"},
    {"readings", KEY_READINGS, NULL, 0,
     "every reading of the device and of a trial's surroundings, with its status, method and "
     "source"},
    {"dump", KEY_DUMP, "TOOL", 0,
     "what lscpu, clinfo, nvidia-smi ... said of the machine before its campaign, verbatim"},
    {"peaks", KEY_PEAKS, "FILE", 0,
     "declared peaks, CSV (`assay decide --help`): which share of them the result reached"},
    {"releases", KEY_RELEASES, "FILE", 0,
     "signed statements of releases: which of them the program is (see assay verify)"},
    {"release-key", KEY_RELEASE_KEY, "PUBLIC|FILE", 0, "whose key has signed each of them"},
    {0}};

const struct command command_show = {
    .name = "show",
    .arguments = "ID | BUNDLE [ID]",
    .summary = "Show one result: in a dozen lines, or with its full context",
    .text = "ID is what `assay results` lists, such as 9f2c41aa/3. A BUNDLE (what `assay bundle` "
            "writes) is verified and shown without being imported.",
    .options = options,
    .groups = GROUP_STORE | GROUP_JSON | GROUP_MARKDOWN,
    .arguments_min = 1,
    .arguments_max = 1,
    .takes_bundle = true,
    .completes = "RESULT|BUNDLE",
    .run = run,
};

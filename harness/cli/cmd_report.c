#include <stdlib.h>
#include <string.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/cli/results_view.h"
#include "harness/cli/with_store.h"
#include "harness/core/array.h"
#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/log.h"
#include "reports/dossier.h"
#include "reports/html.h"
#include "reports/terminal.h"
#include "reports/view.h"
#include "results/store/store.h"

enum { KEY_HTML = 0x100, KEY_DOSSIER };

/* A growing list of cells' rows. */
struct cells {
    int64_t *rows;
    size_t count;
};

static enum status add(struct cells *cells, const int64_t *rows, size_t count, struct error *err)
{
    TRY(ARRAY_GROW(cells->rows, cells->count, count, err));
    if (count > 0)
        memcpy(cells->rows + cells->count, rows, count * sizeof(*rows));
    cells->count += count;
    return STATUS_OK;
}

/* `id` NULL: all campaigns. */
static enum status add_campaign(struct cells *cells, struct store *store, const char *id,
                                struct error *err)
{
    struct store_filter filter = {.campaign = 0};
    AUTO_FREE int64_t *rows = NULL;
    size_t count = 0;

    TRY(id ? store_find_campaign(store, id, &filter.campaign, err) : STATUS_OK);
    TRY(store_find_cells(store, &filter, &rows, &count, err));
    return add(cells, rows, count, err);
}

/*
 * An id with a slash is a result, without one a campaign; none at all is the newest campaign, or
 * all of a bundle.
 */
static enum status collect(const struct command_line *line, struct store *store,
                           struct cells *cells, struct error *err)
{
    if (line->argument_count == 0 && !line->bundle)
        say_archived(store, "their ids show them");
    if (line->argument_count == 0)
        return add_campaign(cells, store, line->bundle ? NULL : "last", err);
    for (size_t i = 0; i < line->argument_count; i++) {
        const char *id = line->arguments[i];
        int64_t row;

        if (!strchr(id, '/')) {
            TRY(add_campaign(cells, store, id, err));
            continue;
        }
        TRY(store_find_cell(store, id, &row, err));
        TRY(add(cells, &row, 1, err));
    }
    return STATUS_OK;
}

static int write_table(struct store *store, const struct cells *cells)
{
    struct error err = ERROR_INIT;
    CLEANUP(view_finish) struct view view = {0};
    struct text out = TEXT_INIT;

    if (view_load(store, cells->rows, cells->count, VIEW_SUMMARY, &view, &err) != STATUS_OK)
        return command_fail(&err);
    report_terminal_table(&out, &view, output_columns(), output_colour());
    return output_text(&out);
}

typedef enum status text_fn(struct store *store, const int64_t *cells, size_t count,
                            struct text *ret, struct error *err);

/* A page to standard output. */
static int print_page(struct store *store, const struct cells *cells, text_fn *append)
{
    struct error err = ERROR_INIT;
    CLEANUP(text_finish) struct text page = TEXT_INIT;

    if (append(store, cells->rows, cells->count, &page, &err) == STATUS_OK)
        return output_text(&page);
    return command_fail(&err);
}

/* What was asked for, one after the other; each that is written is reported. */
static int write_pages(struct store *store, const struct cells *cells, const char *html,
                       const char *dossier)
{
    const char *ending = cells->count == 1 ? "" : "s";
    struct error err = ERROR_INIT;

    if (html && dossier && !strcmp(html, dossier)) {
        error_set(&err, STATUS_INVALID,
                  "--html and --dossier name the same file, %s: give each its own", html);
        return command_fail(&err);
    }
    if (dossier && !strcmp(dossier, "-")) {
        const int result = print_page(store, cells, report_dossier_text);

        if (result != ASSAY_EXIT_OK)
            return result;
    } else if (dossier) {
        if (report_dossier_file(store, cells->rows, cells->count, dossier, &err) != STATUS_OK)
            return command_fail(&err);
        log_info("%s is the dossier of %zu result%s", dossier, cells->count, ending);
    }
    if (html && !strcmp(html, "-"))
        return print_page(store, cells, report_html_text);
    if (html) {
        if (report_html_file(store, cells->rows, cells->count, html, &err) != STATUS_OK)
            return command_fail(&err);
        log_info("%s shows %zu result%s", html, cells->count, ending);
    }
    return ASSAY_EXIT_OK;
}

static int report(const struct command_line *line, struct store *store, void *context)
{
    const char *html = command_value(line, KEY_HTML);
    const char *dossier = command_value(line, KEY_DOSSIER);
    struct error err = ERROR_INIT;
    struct cells cells = {0};
    int result;

    (void)context;
    if (collect(line, store, &cells, &err) != STATUS_OK) {
        command_say(&err);
        result = ASSAY_EXIT_STORE;
    } else if (cells.count == 0) {
        log_error("no results in %s; `assay run first-look --db %s` makes some", store_path(store),
                  store_path_word(store) ? store_path_word(store) : "FILE");
        result = ASSAY_EXIT_STORE;
    } else if (!html && !dossier) {
        result = write_table(store, &cells);
    } else {
        result = write_pages(store, &cells, html, dossier);
    }
    free(cells.rows);
    return result;
}

static int run(const struct command_line *line)
{
    static const int keys[] = {KEY_HTML, KEY_DOSSIER};
    struct error err = ERROR_INIT;

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *path = command_value(line, keys[i]);

        if (path && file_check_output(path, &err) != STATUS_OK)
            return command_fail(&err);
    }
    return with_store(line, STORE_READ, report, NULL);
}

static const struct argp_option options[] = {
    {"html", KEY_HTML, "FILE", 0,
     "write a self-contained page instead of the table (-: to standard output)"},
    {"dossier", KEY_DOSSIER, "FILE", 0,
     "write the page that an auditor gets (-: to standard output)"},
    {0}};

const struct command command_report = {
    .name = "report",
    .arguments = "[BUNDLE] [ID]...",
    .summary = "Show results as a table, or as a self-contained HTML page",
    .text = "ID is a result (9f2c41aa/3) or a campaign (9f2c41aa, last); without one, the newest "
            "campaign that is not archived. A BUNDLE (what `assay bundle` writes) is verified and "
            "shown without being imported.\n"
            "\n"
            "The dossier has the question, the method, the items tested, the conditions, every "
            "deviation and attempt, the results with their decision rule, limits, signatures, and "
            "how to check all of it: `assay run --question` puts the question into the plan.",
    .options = options,
    .groups = GROUP_STORE,
    .arguments_max = 1000,
    .takes_bundle = true,
    .completes = "RESULT|CAMPAIGN|BUNDLE",
    .run = run,
};

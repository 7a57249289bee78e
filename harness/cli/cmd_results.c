#include <stdio.h>
#include <string.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/cli/results_view.h"
#include "harness/cli/with_store.h"
#include "harness/core/cleanup.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "reports/results_document.h"
#include "reports/terminal.h"
#include "reports/view.h"
#include "results/store/store.h"

enum { KEY_PRECISION = 0x100, KEY_LIMIT, KEY_IDS, KEY_SINCE, KEY_SORT, KEY_ARCHIVED };

#define DEFAULT_LIMIT 50

/* --sort KEY, or -KEY for the largest first. */
static enum status read_sort(const char *word, struct store_filter *filter, struct error *err)
{
    CLEANUP(text_finish) struct text keys = TEXT_INIT;

    filter->descending = word[0] == '-';
    for (const char *const *key = store_sort_keys; *key; key++)
        if (!strcmp(*key, word + filter->descending))
            filter->sort = *key;
    if (filter->sort)
        return STATUS_OK;
    for (const char *const *key = store_sort_keys; *key; key++)
        text_append_format(&keys, "%s%s", key == store_sort_keys ? "" : ", ", *key);
    error_set(err, STATUS_INVALID, "--sort %s: write one of %s, or -KEY for the largest first",
              word, text_ok(&keys) ? keys.data : "its keys");
    return STATUS_INVALID;
}

static enum status read_filter(const struct command_line *line, struct store *store,
                               struct store_filter *filter, struct error *err)
{
    const char *limit = command_value(line, KEY_LIMIT);
    const char *sort = command_value(line, KEY_SORT);

    *filter = (struct store_filter){.workload = command_value(line, KEY_WORKLOAD),
                                    .precision = command_value(line, KEY_PRECISION),
                                    .protocol = command_value(line, KEY_PROTOCOL),
                                    .device = command_value(line, KEY_DEVICE),
                                    .hide_archived = !command_has(line, KEY_ARCHIVED) &&
                                                     line->argument_count == 0,
                                    .limit = DEFAULT_LIMIT};
    if (limit && (!text_parse_i64(limit, &filter->limit) || filter->limit < 0))
        return error_set(err, STATUS_INVALID, "--limit %s: write a whole number, 0 for all", limit);
    TRY(command_since(line, KEY_SINCE, &filter->since_utc_ns, err));
    if (sort && read_sort(sort, filter, err) != STATUS_OK)
        return STATUS_INVALID;
    if (line->argument_count > 0)
        return store_find_campaign(store, line->arguments[0], &filter->campaign, err);
    return STATUS_OK;
}

static int show_table(const struct command_line *line, struct store *store,
                      const struct store_filter *filter)
{
    AUTO_FREE int64_t *cells = NULL;
    struct error err = ERROR_INIT;
    CLEANUP(view_finish) struct view view = {0};
    struct text out = TEXT_INIT;
    size_t count = 0;

    if (store_find_cells(store, filter, &cells, &count, &err) != STATUS_OK)
        return command_fail(&err);
    if (count == 0) {
        if (filter->workload || filter->device || filter->precision || filter->protocol ||
            filter->since_utc_ns)
            log_info("no results in %s that pass these filters", store_path(store));
        else
            log_info("no results in %s; `assay run first-look --db %s` makes some",
                     store_path(store), store_path_word(store) ? store_path_word(store) : "FILE");
        return ASSAY_EXIT_OK;
    }
    if (view_load(store, cells, count, VIEW_SUMMARY, &view, &err) != STATUS_OK)
        return command_fail(&err);
    view.sorted = filter->sort != NULL;
    if (command_has(line, KEY_MARKDOWN)) {
        struct doc doc = output_doc(line, &out);

        results_document(&doc, &view, true);
        return output_document(&doc);
    }
    report_terminal_table(&out, &view, output_columns(), output_colour());
    if (filter->limit && count == (size_t)filter->limit)
        text_append_format(&out, "\nThe %s %lld; `--limit 0` shows all.\n",
                           filter->sort ? "first" : "newest", (long long)filter->limit);
    return output_text(&out);
}

static int show(const struct command_line *line, struct store *store, void *context)
{
    struct error err = ERROR_INIT;
    struct store_filter filter;
    json_auto_t *rows = NULL;

    (void)context;
    if (read_filter(line, store, &filter, &err) != STATUS_OK) {
        command_say(&err);
        return err.code == STATUS_INVALID ? ASSAY_EXIT_USAGE : ASSAY_EXIT_STORE;
    }
    if (command_has(line, KEY_IDS) && !command_has(line, KEY_LIMIT))
        filter.limit = 0;
    if (filter.hide_archived)
        say_archived(store, "--archived shows them");
    if (!command_has(line, KEY_JSON) && !command_has(line, KEY_IDS))
        return show_table(line, store, &filter);
    if (store_list_results(store, &filter, &rows, &err) != STATUS_OK)
        return command_fail(&err);
    if (command_has(line, KEY_JSON)) {
        results_view_rows(rows);
        return output_json(json_incref(rows));
    }
    EACH(row, rows)
        puts(member_string(row, "id"));
    return output_flush();
}

static int run(const struct command_line *line)
{
    return with_store(line, STORE_READ, show, NULL);
}

static const struct argp_option options[] = {
    {"workload", KEY_WORKLOAD, "WORKLOAD", 0, "only this workload"},
    {"device", KEY_DEVICE, "DEVICE|TEXT", 0,
     "only devices whose spec is, or whose name contains, this"},
    {"protocol", KEY_PROTOCOL, "PROTOCOL", 0, "only this protocol"},
    {"precision", KEY_PRECISION, "PRECISION", 0, "only this precision"},
    {"limit", KEY_LIMIT, "N", 0, "at most this many, newest first (default: 50; 0: all)"},
    {"since", KEY_SINCE, "DATE|AGE", 0,
     "only campaigns from then on: 2026-11-20, 2026-11-20T15:52 (UTC), 7d, 12h"},
    {"sort", KEY_SORT, "KEY", 0,
     "by created, workload, device, precision, batch, protocol, result (within its unit), grade or "
     "verdict; -KEY: the largest first (default: newest campaign first)"},
    {"archived", KEY_ARCHIVED, NULL, 0, "those of archived campaigns, too"},
    {"ids", KEY_IDS, NULL, 0, "ids only, one a line"},
    {0}};

const struct command command_results = {
    .name = "results",
    .arguments = "[BUNDLE] [CAMPAIGN]",
    .summary = "List stored results, newest first",
    .text = "CAMPAIGN is the start of a campaign's identifier, or `last`. A BUNDLE (what `assay "
            "bundle` writes) is verified and shown without being imported. Archived campaigns "
            "(`assay archive`) are left out unless they are asked for.",
    .options = options,
    .groups = GROUP_STORE | GROUP_JSON | GROUP_MARKDOWN,
    .arguments_max = 1,
    .takes_bundle = true,
    .completes = "CAMPAIGN|BUNDLE",
    .run = run,
};

#include "harness/cli/results_view.h"

#include <stdlib.h>

#include "harness/cli/command.h"
#include "harness/cli/envelope.h"
#include "harness/cli/output.h"
#include "harness/core/cleanup.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "protocols/finding.h"
#include "reports/terminal.h"
#include "reports/view.h"

void results_view_findings(const json_t *findings, const char *result)
{
    CLEANUP(finding_list_finish) struct finding_list list = {0};

    type_read(&findings_type, findings, &list);
    envelope_add_findings(findings_for_people(&list, result));
}

void results_view_rows(json_t *rows)
{
    EACH(row, rows) {
        results_view_findings(json_object_get(row, "findings"), member_string(row, "id"));
        json_object_del(row, "findings");
    }
}

enum status results_view_json(struct store *store, int64_t campaign, json_t **ret,
                              struct error *err)
{
    struct store_filter filter = {.campaign = campaign};

    TRY(store_list_results(store, &filter, ret, err));
    results_view_rows(*ret);
    return STATUS_OK;
}

int results_view_table(struct store *store, int64_t campaign, struct error *err)
{
    const struct store_filter filter = {.campaign = campaign};
    CLEANUP(view_finish) struct view view = {0};
    struct text out = TEXT_INIT;
    AUTO_FREE int64_t *cells = NULL;
    size_t count = 0;
    enum status status = store_find_cells(store, &filter, &cells, &count, err);

    if (status == STATUS_OK)
        status = view_load(store, cells, count, VIEW_SUMMARY, &view, err);
    if (status != STATUS_OK)
        return command_fail(err);
    report_terminal_table(&out, &view, output_columns(), output_colour());
    return output_text(&out);
}

void say_archived(struct store *store, const char *how)
{
    int64_t count = 0;

    if (store_count_archived(store, &count, NULL) == STATUS_OK && count > 0)
        log_info("%lld archived campaign%s not shown; %s", (long long)count,
                 count == 1 ? " is" : "s are", how);
}

/* One result as text, with the whole context of its number. */
#include <stdio.h>

#include "harness/core/cleanup.h"
#include "reports/cell_document.h"
#include "reports/terminal_internal.h"

static void say_trial(struct doc *doc, const struct view_trial *trial)
{
    cell_kernels(doc, trial);
    cell_files(doc, trial, true);
    cell_files(doc, trial, false);
}

static void say_telemetry(struct doc *doc, const struct view_cell *cell)
{
    for (size_t i = 0; i < cell->trial_count; ++i)
        if (json_array_size(cell->trials[i].telemetry) > 0) {
            doc_heading(doc, 4, NULL, "System telemetry, trial %lld",
                        (long long)cell->trials[i].number);
            cell_telemetry(doc, &cell->trials[i]);
            return;
        }
}

void report_terminal_cell(struct text *out, const struct view_campaign *campaign,
                          const struct view_cell *cell, size_t columns)
{
    CLEANUP(text_finish) struct text lines = TEXT_INIT;
    CLEANUP(doc_finish) struct doc doc = doc_new(&lines, &doc_lines);
    const struct terminal terminal = terminal_make(&lines, columns, false);

    doc.is_short = true;
    cell_title(&doc, cell);
    cell_sections(&doc, cell, CELL_TERMINAL);
    terminal_load_timeline(&terminal, cell->load_timeline);
    cell_system(&doc, cell, NULL);
    cell_configuration(&doc, cell, campaign, NULL);
    cell_environment(&doc, cell, campaign, NULL);
    cell_readings(&doc, cell);
    if (cell_shown_trial(cell))
        say_trial(&doc, cell_shown_trial(cell));
    say_telemetry(&doc, cell);
    cell_citation(&doc, cell, campaign);
    doc_wrap(out, lines.data, terminal.columns);
    out->failed = out->failed || lines.failed;
}

void report_terminal_readings(struct text *out, const struct view_cell *cell, size_t columns)
{
    CLEANUP(text_finish) struct text lines = TEXT_INIT;
    CLEANUP(doc_finish) struct doc doc = doc_new(&lines, &doc_lines);

    cell_readings(&doc, cell);
    doc_wrap(out, lines.data, columns);
    out->failed = out->failed || lines.failed;
}

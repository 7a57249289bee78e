/* One result as an article of a page: its document (cell_document.h), and its charts. */
#include "reports/cell_document.h"

#include <stdio.h>

#include "harness/core/cleanup.h"

/* What the worker reported of its choices and losses. */
static void append_facts(struct text *out, const struct view_cell *cell)
{
    for (size_t i = 0; i < cell->trial_count; ++i)
        if (cell->trials[i].estimate && json_object_size(cell->trials[i].facts)) {
            char summary[64];

            snprintf(summary, sizeof(summary), "Choices made while running (trial %lld)",
                     (long long)cell->trials[i].number);
            html_json_details(out, "extra", summary, cell->trials[i].facts);
            return;
        }
}

void html_cell_summary(struct text *out, const struct view_cell *cell, bool is_open)
{
    CLEANUP(text_finish) struct text words = TEXT_INIT;
    struct view_figure figure;

    text_append_format(out, "<details class=\"fold\"%s><summary>", is_open ? " open=\"\"" : "");
    phrase_title(&words, cell);
    if (view_headline_figure(cell, &figure))
        doc_phrase(&words, figure.marked ? " {bold (%s%s)}" : " {bold %s%s}", figure.value,
                   figure.of);
    else
        doc_phrase(&words, " {care %s}", view_no_value_label(cell));
    doc_phrase(&words, " {soft %s %s, %s, %s}", figure.spread, view_verdict_label(cell),
               cell->device_spec, cell->result);
    doc_html_phrases(out, words.data);
    text_append(out, "</summary>\n");
    out->failed = out->failed || words.failed;
}

enum status html_cell(struct doc *doc, struct store *store, const struct view_cell *cell,
                      const struct view_campaign *campaign, const struct html_appendix *appendix,
                      size_t marks, struct error *err)
{
    struct text *out = doc->out;

    text_append(out, "<article class=\"result\" id=\"");
    html_result_id(out, cell);
    text_append(out, "\">\n");
    cell_title(doc, cell);
    text_append(out, "<div class=\"columns\"><div>\n");
    cell_sections(doc, cell, CELL_HEAD);
    if (cell->imported.present) {
        cell_readings(doc, cell);
    } else {
        TRY(html_charts(doc, store, cell, marks, err));
        cell_sections(doc, cell, CELL_BODY);
        text_append(out, "<div class=\"full\">\n");
        cell_sections(doc, cell, CELL_FULL);
        append_facts(out, cell);
        text_append(out, "</div>\n");
    }
    cell_citation(doc, cell, campaign);
    text_append(out, "</div>\n");
    text_append(out, "<aside class=\"context\" aria-label=\"Context of this result\">"
                     "<div class=\"sheets\"><section>");
    cell_system(doc, cell, appendix);
    text_append(out, "</section>\n<section>");
    cell_configuration(doc, cell, campaign, appendix);
    text_append(out, "</section>\n<section>");
    cell_environment(doc, cell, campaign, appendix);
    text_append(out, "</section></div></aside>\n</div></article>\n");
    return text_ok(out) ? STATUS_OK : error_no_memory(err);
}

/* What the work of results costs, as recorded by `assay cost`: the newest figures of each. */
#include "reports/cost_document.h"
#include "reports/dossier_internal.h"

static void append_cost(struct doc *doc, const struct dossier_row *row)
{
    json_auto_t *body = dossier_json(row, 0);

    cost_append(doc, body);
}

enum status dossier_costs(struct doc *doc, struct store *store, const struct view *view, int level,
                          struct error *err)
{
    const size_t before = doc->out->length;
    size_t rows = 0;

    doc_heading(doc, level, level == 2 ? "cost" : NULL, "Cost");
    doc_add(doc,
            "The newest recorded figures of each result. Bounds combine the measurement's interval "
            "with the prices' own bounds. What is rented is without the other rows of the sheet.");
    cost_open(doc);
    for (size_t i = 0; i < view->cell_count; i++)
        TRY(dossier_each_row(doc, store, view,
                             "SELECT body FROM comparison WHERE kind = 'cost' AND a = ?1"
                             " ORDER BY id DESC LIMIT 1",
                             view->cells[i].id, append_cost, &rows, err));
    doc_close(doc);
    if (rows == 0)
        doc_undo(doc, before);
    return STATUS_OK;
}

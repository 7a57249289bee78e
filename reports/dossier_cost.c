/* What the work of results costs, as recorded by `assay cost`: the newest figures of each. */
#include "reports/cost_document.h"
#include "reports/dossier_internal.h"

enum status dossier_costs(struct doc *doc, struct store *store, const struct view *view, int level,
                          struct error *err)
{
    json_auto_t *bodies = NULL;

    TRY(dossier_newest(store, view, &judgement_cost, &bodies, err));
    if (json_array_size(bodies) == 0)
        return STATUS_OK;
    doc_heading(doc, level, level == 2 ? "cost" : NULL, "Cost");
    doc_add(doc,
            "The newest recorded figures of each result. Bounds combine the measurement's interval "
            "with the prices' own bounds. What is rented is without the other rows of the sheet.");
    cost_document(doc, bodies);
    return STATUS_OK;
}

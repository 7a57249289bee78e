/* plan_document - how many devices serve a demand (results/analysis/fleet_plan.h), for people. */
#ifndef ASSAY_REPORTS_PLAN_DOCUMENT_H
#define ASSAY_REPORTS_PLAN_DOCUMENT_H

#include <jansson.h>

#include "reports/doc.h"

/* What `assay plan` says. */
void plan_document(struct doc *doc, const json_t *plan);

#endif

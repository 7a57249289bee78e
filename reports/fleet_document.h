/* fleet_document - which units of a fleet are slow, for people. */
#ifndef ASSAY_REPORTS_FLEET_DOCUMENT_H
#define ASSAY_REPORTS_FLEET_DOCUMENT_H

#include <jansson.h>

#include "reports/doc.h"

/* The answer first, then the units that need somebody, then how sure; `fleet` is the judgement's
 * body. */
void fleet_document(struct doc *doc, const json_t *fleet);

#endif

/* doctor_document - what `assay doctor` found on a machine (harness/runner/doctor.h), for people.
 */
#ifndef ASSAY_REPORTS_DOCTOR_DOCUMENT_H
#define ASSAY_REPORTS_DOCTOR_DOCUMENT_H

#include <jansson.h>

#include "reports/doc.h"

/* Its findings, and what is in order and not known; the report is as the store has it. */
void doctor_document(struct doc *doc, const json_t *report);

#endif

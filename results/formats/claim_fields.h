/*
 * claim_fields - what the readers of foreign JSON share: fields with a form that is checked, and
 * the readings that say what a file declares and what it lacks. `where` begins messages.
 */
#ifndef ASSAY_RESULTS_FORMATS_CLAIM_FIELDS_H
#define ASSAY_RESULTS_FORMATS_CLAIM_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "results/store/store_import.h"

/* A number above 0; text of digits counts, as CSV has it. INVALID where it is missing or another.
 */
enum status claim_get_positive(const json_t *fields, const char *where, const char *name,
                               double *ret, struct error *err);
/*
 * NULL where it is missing or empty; INVALID when it is no text or longer than IMPORT_TEXT_MAX.
 * Borrowed.
 */
enum status claim_get_text(const json_t *fields, const char *where, const char *name,
                           const char **ret, struct error *err);
/*
 * A text about the whole file, such as a host's name, borrowed: where it is none the results are
 * what they are, and it is unknown. NULL then, and where it is missing.
 */
const char *claim_text_about(const json_t *object, const char *name);
/* The reading `name` has the value that the program's file has in `field`; NULL: the file lacks it.
 */
void claim_declare(struct store_claim *claim, const char *program, const char *name,
                   const char *value, const char *field);
/* The program's files never tell the reading `name`, because of `reason`. */
void claim_lack(struct store_claim *claim, const char *program, const char *name,
                const char *reason);
/* Heap copy; NULL for NULL. `*ok` becomes false when out of memory. */
char *claim_copy(const char *text, bool *ok);

#endif

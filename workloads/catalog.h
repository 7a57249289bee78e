/* catalog - what workload.h does not show of the catalog: shared by catalog.c and suite.c. */
#ifndef ASSAY_WORKLOADS_CATALOG_H
#define ASSAY_WORKLOADS_CATALOG_H

#include "workloads/workload.h"

/* Where a declaration's text is: `heap` is NULL for a built-in one. */
struct catalog_text {
    const char *origin; /* "built-in", or the path */
    const char *yaml;
    size_t length;
    char *heap;
};
void catalog_text_finish(struct catalog_text *text); /* of zeros, too */

/*
 * The text that a built-in name, or a path, leads to. NOT_FOUND
 * suggests the nearest name; `what` is "workload" or "suite". Otherwise as file_read.
 */
enum status catalog_read(const char *name_or_path, const struct catalog_entry *entries,
                         size_t count, const char *what, struct catalog_text *ret,
                         struct error *err);

#endif

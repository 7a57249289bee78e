/* catalog - what workload.h does not show of the catalog: shared by catalog.c and suite.c. */
#ifndef ASSAY_WORKLOADS_CATALOG_H
#define ASSAY_WORKLOADS_CATALOG_H

#include "workloads/workload.h"

/* The entry with this name, or NULL. */
const struct catalog_entry *catalog_lookup(const struct catalog_entry *entries, size_t count,
                                           const char *name);

/* Sets NOT_FOUND with the nearest name; `what` is "workload" or "suite". Returns NOT_FOUND. */
enum status catalog_not_found(const struct catalog_entry *entries, size_t count, const char *what,
                              const char *name, struct error *err);

/* True when it has '/' or ends in ".yaml", so that it names a file. */
bool catalog_is_path(const char *name_or_path);

#endif

/* format_name - a format by its name, in either direction. */
#ifndef ASSAY_RESULTS_FORMATS_FORMAT_NAME_H
#define ASSAY_RESULTS_FORMATS_FORMAT_NAME_H

#include <stddef.h>

#include "harness/core/status.h"

/*
 * Which of `count` entries of `size` bytes, each beginning with its name, is called so. INVALID,
 * with the nearest name, or all of them where none is near.
 */
enum status format_name_find(const char *name, const void *table, size_t count, size_t size,
                             size_t *ret, struct error *err);

#endif

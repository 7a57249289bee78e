/* format_name - a format by its name, in either direction. */
#ifndef ASSAY_RESULTS_FORMATS_FORMAT_NAME_H
#define ASSAY_RESULTS_FORMATS_FORMAT_NAME_H

#include <stddef.h>

#include "harness/core/status.h"

/*
 * The one of `count` entries of `size` bytes, each beginning with its name, that is called so.
 * NULL: INVALID, with the nearest name, or all of them where none is near.
 */
const void *format_name_find(const char *name, const void *table, size_t count, size_t size,
                             struct error *err);

#endif

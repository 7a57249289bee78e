/*
 * array - arrays on the heap that grow at their end.
 *
 * An array begins as NULL with a count of 0 and gets its room here alone: as much as the least
 * power of two that holds the count, so that nobody has to keep how much there is.
 */
#ifndef ASSAY_CORE_ARRAY_H
#define ASSAY_CORE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/core/status.h"

/*
 * Room for `more` items of `size` bytes behind `count`, in the array whose pointer is at `address`.
 * False: no memory, and the array is as it was.
 */
bool array_room(void *address, size_t count, size_t more, size_t size);

#define ARRAY_ROOM(array, count, more) array_room(&(array), count, more, sizeof(*(array)))
/* The same as a status. NO_MEMORY. */
#define ARRAY_GROW(array, count, more, err)                                                        \
    (ARRAY_ROOM(array, count, more) ? STATUS_OK : error_no_memory(err))

#endif

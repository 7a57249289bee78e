/* json_shapes - every value of a record replaced by values of another shape, one at a time. */
#ifndef ASSAY_TESTS_SUPPORT_JSON_SHAPES_H
#define ASSAY_TESTS_SUPPORT_JSON_SHAPES_H

#include <stddef.h>

#include <jansson.h>

/* A dozen values that are rarely expected; new reference. */
size_t json_shape_count(void);
json_t *json_shape(size_t index);

/*
 * Calls `attempt` with a copy of `root` (which it takes) for each value at any depth and each shape
 * in its place. Returns how many calls were made.
 */
size_t json_shapes_try(json_t *root, void (*attempt)(void *context, json_t *copy), void *context);

#endif

/*
 * foreign_text - JSON as other programs leave it in a file: between lines of a log, with numbers
 * that JSON does not have (NaN, Infinity, integers beyond 64 bits), or cut off where the program
 * was killed. What is no number in JSON is kept as text ("NaN"), so that it is nobody's value.
 */
#ifndef ASSAY_RESULTS_FORMATS_FOREIGN_TEXT_H
#define ASSAY_RESULTS_FORMATS_FOREIGN_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "harness/core/status.h"

/*
 * The one object with the member `list`, or with `list` NULL the one array of objects, that the
 * bytes hold; other lines are passed over. Where its end is missing, `ret_cut` is true and the
 * entries before that place are there. INVALID ("WHERE...") for none, for several, and for JSON
 * that is malformed. `ret` is a new reference.
 */
enum status foreign_text_find(const char *bytes, size_t length, const char *where, const char *list,
                              json_t **ret, bool *ret_cut, struct error *err);

/* One JSON value and nothing else, as on a line of JSON lines. A new reference; INVALID. */
enum status foreign_text_parse(const char *bytes, size_t length, const char *where, json_t **ret,
                               struct error *err);

/*
 * Whether a line of `head` begins with '{' and a member, or with `array` with '[' and an object: a
 * line such as "[12:00:01] loading" begins neither.
 */
bool foreign_text_begins(const char *head, size_t length, bool array);

#endif

/* view_json - untrusted JSON: a member of another type is treated as missing. */
#ifndef ASSAY_REPORTS_VIEW_JSON_H
#define ASSAY_REPORTS_VIEW_JSON_H

#include "reports/view.h"

struct view_count view_json_count(const json_t *object, const char *key);
/* A list that is always initialised; what cannot be read becomes one reading that says so. */
void view_json_readings(const json_t *object, const char *key, struct reading_list *ret);

/* view_origin.c: fills a zeroed one from the array of trials; false: out of memory. */
bool view_origin_read(const json_t *trials, struct view_origin *ret);
void view_origin_finish(struct view_origin *origin);

/* view_trial.c: fills `ret` (zeroed); false when out of memory, finish it all the same. */
bool view_trial_read(json_t *json, enum view_depth depth, struct view_trial *ret);
void view_trial_finish(struct view_trial *trial);

#endif

/*
 * attribution - to which factor (device, driver, library ...) each field belongs in which two
 * results differ. A part of comparability.h, which has the rules.
 */
#ifndef ASSAY_PROTOCOLS_ATTRIBUTION_H
#define ASSAY_PROTOCOLS_ATTRIBUTION_H

#include <stdbool.h>

#include <jansson.h>

#include "protocols/comparability.h"

struct attribution {
    const json_t *a, *b;  /* the fields of both results, the caller's */
    json_t *packages;     /* name of a package -> the factor that its files belong to */
    bool same_processor;  /* whatever the drivers call it, so that it belongs to the driver */
    bool driver_compiles; /* of both: kernels are the work of the driver's own compiler */
};

/* Learns the factors of packages. Finish with attribution_finish. */
void attribution_init(struct attribution *attribution, const json_t *a, const json_t *b);
void attribution_finish(struct attribution *attribution);

/* The factor of a subject, from its rule or the package of its file; lasts with the attribution. */
const char *attribution_factor(const struct attribution *attribution, const char *field,
                               const struct field_rule *rule);

/*
 * [{"factor", "fields", "a", "b"}, ...] as comparability_judge gives them, of `factors`: an object,
 * factor -> array of fields. New.
 */
json_t *attribution_list(const struct attribution *attribution, const json_t *factors);

#endif

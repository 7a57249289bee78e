/* power_serving - what `assay power` prints of a server's declaration. */
#ifndef ASSAY_CLI_POWER_SERVING_H
#define ASSAY_CLI_POWER_SERVING_H

#include <stdbool.h>

#include "protocols/serving/power.h"

/* `name_or_path`: of a workload. Prints; returns an exit status. */
int power_serving(const char *name_or_path, const struct serving_power_options *options, bool json);

#endif

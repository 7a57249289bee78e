/*
 * fleet - which units of a fleet are slow, by stored results of each (judgement_fleet). Statistics:
 * protocols/units.h.
 *
 * Asked for by "request": {"workload", and where set "precision", "protocol", "device", "batch",
 * "since_utc_ns": which results; "margin": how far below the fleet's median a unit may lie, "fdr":
 * the share of those called slow that may be wrong, "expected": how many units there are, or
 * null}. They must be of one workload, precision, batch, scenario, implementation, protocol and
 * device; a body's "results" stand in their place when it is made again. A unit is a device, its
 * UUID and its machine; its results within an hour of each other are one sitting, of their mean. A
 * result without a value is a failure of its unit, and a unit that has nothing else has failed.
 * What failed before it knew its device is counted to the one unit of its host that another result
 * names alike ("cuda:3"), or is a unit by itself.
 *
 * INVALID: fewer than UNITS_LEAST units, or results of several kinds, which the message tells
 * apart. NOT_FOUND: no result matches.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_FLEET_H
#define ASSAY_RESULTS_ANALYSIS_FLEET_H

/* More results are not judged at once. */
#define FLEET_RESULTS_MAX 100000

#endif

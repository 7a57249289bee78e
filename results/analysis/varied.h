/*
 * varied - what the two arms of a plan set on purpose, and whether it had an effect.
 *
 * A planned cell has in "spec" what its arm was given: {"root", "driver", "environment":
 * ["NAME=VALUE", "NAME", ...], ...}; its other members say what came of the rest.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_VARIED_H
#define ASSAY_RESULTS_ANALYSIS_VARIED_H

#include <jansson.h>

#include "harness/core/status.h"

/* An arm sets no more variables than these. */
#define VARIED_VARIABLES_MAX 32

/*
 * What two arms set on purpose, in the form of comparability_judge's `varied`. `a` and `b` are
 * their cells as the plan has them: only what comes out differently counts, so a setting that says
 * in one arm what the other gets anyway does not. New object in `ret`. CORRUPT for variables that
 * are not text, or too many; NO_MEMORY.
 */
enum status varied_of_arms(const json_t *a, const json_t *b, json_t **ret, struct error *err);

/*
 * Whether what the arms set by variables or libraries had any effect that was recorded. `varied` as
 * above, `judgement` what comparability_judge made with it. Where no field differs but the
 * variables themselves (and what may differ anyway), `ret` gets a warning in a sentence, heap; else
 * NULL. NO_MEMORY.
 */
enum status varied_without_effect(const json_t *varied, const json_t *judgement, char **ret,
                                  struct error *err);

#endif

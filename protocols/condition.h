/*
 * condition - findings of the hour in which a result was measured, and not of its subject: at
 * another hour the winner may be another. A gate and a contract decide under them only where their
 * declaration allows it.
 */
#ifndef ASSAY_PROTOCOLS_CONDITION_H
#define ASSAY_PROTOCOLS_CONDITION_H

#include <stdbool.h>

#include <jansson.h>

#include "harness/core/declaration.h"
#include "harness/core/text.h"

/* X(constant, code of the finding, words behind "under") */
#define CONDITION_MAP(X)                                                                           \
    X(CONTENTION, "contention", "contention by other processes")                                   \
    X(STEAL, "steal", "steal by the hypervisor")                                                   \
    X(CGROUP_THROTTLED, "cgroup_throttled", "a CPU quota")                                         \
    X(DEVICE_THROTTLED, "device_throttled", "throttling of the device")                            \
    X(DEVICE_SHARED, "device_shared", "other processes on the device")

enum condition {
#define CONDITION_ENUM(constant, code, words) CONDITION_##constant,
    CONDITION_MAP(CONDITION_ENUM)
#undef CONDITION_ENUM
        CONDITION_COUNT
};

/* Their codes, as declarations name them. */
extern const struct declaration_name condition_names[CONDITION_COUNT];

/* Those of the table that the array `codes` has, in its order. New array; NULL: out of memory. */
json_t *condition_known(const json_t *codes);

/*
 * Adds to the array `codes` those that the estimate of a result's record has as findings, unless
 * they are in it. False: out of memory.
 */
bool condition_add(const json_t *record, json_t *codes);

/* The codes that are not in the array `allowed` (NULL: none is). New array; NULL: out of memory. */
json_t *condition_beyond(const json_t *codes, const json_t *allowed);

/* "contention by other processes, a CPU quota and steal by the hypervisor", to write behind
 * "under"; empty: nothing. */
void condition_append(struct text *out, const json_t *codes);

#endif

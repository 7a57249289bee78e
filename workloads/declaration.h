/*
 * declaration - what every workload declaration has in common, and the loader that kinds share.
 *
 * A kind describes its declaration by a struct whose first member is `struct workload_declaration
 * common`, and a schema that starts with WORKLOAD_DECLARATION_FIELDS:
 *
 *     struct copy_declaration {
 *         struct workload_declaration common;
 *         struct { int64_t elements; } copy;
 *     };
 *     static const struct declaration_field fields[] = {
 *         WORKLOAD_DECLARATION_FIELDS(struct copy_declaration),
 *         FIELD_GROUP("copy", FIELD_REQUIRED, struct copy_declaration, copy, section),
 *         FIELD_END,
 *     };
 *     static const struct declaration_schema schema = {
 *         ENTRY_GROUP(struct copy_declaration, fields)};
 *
 * and its `form` is that schema, with what checks the section.
 */
#ifndef ASSAY_WORKLOADS_DECLARATION_H
#define ASSAY_WORKLOADS_DECLARATION_H

#include <stdint.h>

#include "harness/core/declaration.h"
#include "workloads/serving.h"
#include "workloads/workload.h"

struct workload_declaration {
    char *workload; /* its name */
    int64_t version;
    char *kind;
    char *description;
    enum precision *precisions; /* as written; {fp32} (an endpoint: {unknown}) when not */
    uint32_t precisions_count;
    int64_t *batches; /* as written; {1} when not */
    uint32_t batches_count;
    enum scenario scenario;             /* offline when not written */
    struct serving_declaration serving; /* zeros where the scenario is not server */
};

#define WORKLOAD_SCENARIO_COUNT 3
#define WORKLOAD_NAMES_MAX 64 /* precisions or batches of one declaration */

extern const struct declaration_name workload_scenario_strings[WORKLOAD_SCENARIO_COUNT];
extern const struct declaration_schema workload_precision_entry;
extern const struct declaration_schema workload_batch_entry;

/* Fields of the common part; `type` has it as its member `common`. */
#define WORKLOAD_DECLARATION_FIELDS(type)                                                          \
    FIELD_STRING("workload", FIELD_REQUIRED, type, common.workload, 1, FIELD_UNLIMITED),           \
        FIELD_INT("version", FIELD_REQUIRED, type, common.version),                                \
        FIELD_STRING("kind", FIELD_REQUIRED, type, common.kind, 1, FIELD_UNLIMITED),               \
        FIELD_STRING("description", FIELD_REQUIRED, type, common.description, 1, FIELD_UNLIMITED), \
        FIELD_LIST("precisions", FIELD_OPTIONAL, type, common.precisions,                          \
                   &workload_precision_entry, 1, WORKLOAD_NAMES_MAX),                              \
        FIELD_LIST("batches", FIELD_OPTIONAL, type, common.batches, &workload_batch_entry, 1,      \
                   WORKLOAD_NAMES_MAX),                                                            \
        FIELD_ENUM("scenario", FIELD_OPTIONAL, type, common.scenario, workload_scenario_strings,   \
                   WORKLOAD_SCENARIO_COUNT),                                                       \
        FIELD_GROUP("load", FIELD_OPTIONAL, type, common.serving.load, serving_load_fields),       \
        FIELD_GROUP("batching", FIELD_OPTIONAL, type, common.serving.batching,                     \
                    serving_batching_fields),                                                      \
        FIELD_GROUP("slo", FIELD_OPTIONAL, type, common.serving.slo, serving_slo_fields)

/*
 * Parses `yaml` by the form of workload->kind, which the caller has set and keeps, checks the
 * common part, then the kind's, and fills the rest of `workload`. workload->json holds the defaults
 * too.
 */
enum status workload_declaration_load(struct workload *workload, const char *origin,
                                      const char *yaml, size_t length, struct error *err);

/*
 * INVALID at `path` unless 1 <= value <= max. `unit` as in "elements"; `max` is what the kind can
 * address.
 */
enum status workload_declaration_check_count(const struct declaration *declaration,
                                             const char *path, int64_t value, int64_t max,
                                             const char *unit, struct error *err);

/* Every declared precision must be one of those, two at least, in which the kind runs. */
enum status workload_declaration_check_precisions(const struct declaration *declaration,
                                                  const struct workload_declaration *common,
                                                  const enum precision *runs, size_t count,
                                                  struct error *err);

#endif

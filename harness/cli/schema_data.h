/* schema_data - the shape of each command's data, in the order of help. */
#ifndef ASSAY_CLI_SCHEMA_DATA_H
#define ASSAY_CLI_SCHEMA_DATA_H

#include "harness/cli/schema.h"

/* Command and version. */
#define SCHEMA_MAP(X)                                                                              \
    X(devices, 1)                                                                                  \
    X(doctor, 1)                                                                                   \
    X(list, 1)                                                                                     \
    X(describe, 1)                                                                                 \
    X(run, 1)                                                                                      \
    X(results, 1)                                                                                  \
    X(show, 1)                                                                                     \
    X(compare, 1)                                                                                  \
    X(ab, 1)                                                                                       \
    X(matrix, 1)                                                                                   \
    X(gate, 1)                                                                                     \
    X(plan, 1)                                                                                     \
    X(accept, 1)                                                                                   \
    X(history, 1)                                                                                  \
    X(cost, 1)                                                                                     \
    X(decide, 1)                                                                                   \
    X(reproduce, 1)                                                                                \
    X(analyze, 1)                                                                                  \
    X(power, 1)                                                                                    \
    X(calibrate, 1)                                                                                \
    X(verify, 1)                                                                                   \
    X(bundle, 1)                                                                                   \
    X(import, 1)                                                                                   \
    X(checkpoint, 1)                                                                               \
    X(amend, 1)                                                                                    \
    X(key, 1)                                                                                      \
    X(worker, 1)                                                                                   \
    X(stack, 1)                                                                                    \
    X(schema, 1)

#define SCHEMA_DECLARATION(name, version) extern const struct shape schema_##name;
SCHEMA_MAP(SCHEMA_DECLARATION)
#undef SCHEMA_DECLARATION

/* Rows of the tables: a member, one that may be null, one that may be absent, one that may be both.
 */
#define MEMBER(name, shape)                                                                        \
    {                                                                                              \
        name, &(shape), 0, NULL                                                                    \
    }
#define MEMBER_SAYS(name, shape, text)                                                             \
    {                                                                                              \
        name, &(shape), 0, text                                                                    \
    }
#define OR_NULL(name, shape)                                                                       \
    {                                                                                              \
        name, &(shape), MEMBER_NULLABLE, NULL                                                      \
    }
#define OR_NULL_SAYS(name, shape, text)                                                            \
    {                                                                                              \
        name, &(shape), MEMBER_NULLABLE, text                                                      \
    }
#define OPTIONAL(name, shape)                                                                      \
    {                                                                                              \
        name, &(shape), MEMBER_OPTIONAL, NULL                                                      \
    }
#define OPTIONAL_OR_NULL(name, shape)                                                              \
    {                                                                                              \
        name, &(shape), MEMBER_OPTIONAL | MEMBER_NULLABLE, NULL                                    \
    }

#define SHAPE_OBJECT_OF(table)                                                                     \
    {                                                                                              \
        .kind = SHAPE_OBJECT, .members = table                                                     \
    }
#define SHAPE_OBJECT_NAMED(id, table)                                                              \
    {                                                                                              \
        .kind = SHAPE_OBJECT, .name = id, .members = table                                         \
    }
#define SHAPE_LIST_OF(shape)                                                                       \
    {                                                                                              \
        .kind = SHAPE_LIST, .items = &(shape)                                                      \
    }
#define SHAPE_MAP_OF(shape)                                                                        \
    {                                                                                              \
        .kind = SHAPE_MAP, .items = &(shape)                                                       \
    }
#define SHAPE_ONE_OF(list)                                                                         \
    {                                                                                              \
        .kind = SHAPE_EITHER, .choices = list                                                      \
    }
#define SHAPE_GENERATED_AS(id, function)                                                           \
    {                                                                                              \
        .kind = SHAPE_GENERATED, .name = id, .generate = function                                  \
    }
#define SHAPE_WORD_OF(id, list)                                                                    \
    {                                                                                              \
        .kind = SHAPE_WORD, .name = id, .words = list                                              \
    }

/* Used by several commands. */
extern const struct shape shape_readings, shape_amendments, shape_capacity, shape_peaks,
    shape_precision, shape_contract_power, shape_serving_power;

#endif

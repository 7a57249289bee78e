/* schema_data - the type of each command's data, but of those that make judgements. */
#ifndef ASSAY_CLI_SCHEMA_DATA_H
#define ASSAY_CLI_SCHEMA_DATA_H

/* Command and version. */
#define SCHEMA_MAP(X)                                                                              \
    X(devices, 1)                                                                                  \
    X(doctor, 1)                                                                                   \
    X(list, 1)                                                                                     \
    X(describe, 1)                                                                                 \
    X(init, 1)                                                                                     \
    X(run, 1)                                                                                      \
    X(time, 1)                                                                                     \
    X(results, 1)                                                                                  \
    X(show, 1)                                                                                     \
    X(compare, 1)                                                                                  \
    X(ab, 1)                                                                                       \
    X(matrix, 1)                                                                                   \
    X(gate, 1)                                                                                     \
    X(history, 1)                                                                                  \
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

#define SCHEMA_DECLARATION(name, version) extern const struct type schema_##name;
SCHEMA_MAP(SCHEMA_DECLARATION)
#undef SCHEMA_DECLARATION

#endif

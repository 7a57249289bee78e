/* commands - every command's table, defined in its cmd_<name>.c, in the order of help. */
#ifndef ASSAY_CLI_COMMANDS_H
#define ASSAY_CLI_COMMANDS_H

#include "harness/cli/command.h"

/* Hidden: delete says why there is none, probe asks a backend, telemetry reads it in a trial. */
#define COMMAND_MAP(X)                                                                             \
    X(devices)                                                                                     \
    X(doctor)                                                                                      \
    X(list)                                                                                        \
    X(describe)                                                                                    \
    X(init)                                                                                        \
    X(run)                                                                                         \
    X(time)                                                                                        \
    X(results)                                                                                     \
    X(show)                                                                                        \
    X(report)                                                                                      \
    X(compare)                                                                                     \
    X(ab)                                                                                          \
    X(matrix)                                                                                      \
    X(gate)                                                                                        \
    X(accept)                                                                                      \
    X(cost)                                                                                        \
    X(decide)                                                                                      \
    X(plan)                                                                                        \
    X(fleet)                                                                                       \
    X(history)                                                                                     \
    X(reproduce)                                                                                   \
    X(analyze)                                                                                     \
    X(power)                                                                                       \
    X(calibrate)                                                                                   \
    X(verify)                                                                                      \
    X(bundle)                                                                                      \
    X(export)                                                                                      \
    X(import)                                                                                      \
    X(checkpoint)                                                                                  \
    X(witness)                                                                                     \
    X(amend)                                                                                       \
    X(archive)                                                                                     \
    X(delete)                                                                                      \
    X(key)                                                                                         \
    X(worker)                                                                                      \
    X(stack)                                                                                       \
    X(schema)                                                                                      \
    X(help)                                                                                        \
    X(probe)                                                                                       \
    X(telemetry)

#define COMMAND_EXTERN(name) extern const struct command command_##name;
COMMAND_MAP(COMMAND_EXTERN)
#undef COMMAND_EXTERN

#endif

#include "harness/cli/commands.h"

/* In the order of help. */
/* clang-format off */
static const struct command *const commands[] = {
    &command_devices,
    &command_doctor,
    &command_list,
    &command_describe,
    &command_run,
    &command_results,
    &command_show,
    &command_report,
    &command_compare,
    &command_ab,
    &command_matrix,
    &command_gate,
    &command_accept,
    &command_cost,
    &command_decide,
    &command_plan,
    &command_history,
    &command_reproduce,
    &command_analyze,
    &command_power,
    &command_calibrate,
    &command_verify,
    &command_bundle,
    &command_export,
    &command_import,
    &command_checkpoint,
    &command_witness,
    &command_amend,
    &command_archive,
    &command_delete,
    &command_key,
    &command_worker,
    &command_stack,
    &command_schema,
    &command_probe,
    &command_telemetry,
};
/* clang-format on */

const struct command *const *commands_all(size_t *ret_count)
{
    *ret_count = sizeof(commands) / sizeof(commands[0]);
    return commands;
}

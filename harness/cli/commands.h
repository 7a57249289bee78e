/* commands - every command's table, defined in its cmd_<name>.c. */
#ifndef ASSAY_CLI_COMMANDS_H
#define ASSAY_CLI_COMMANDS_H

#include "harness/cli/command.h"

extern const struct command command_devices;
extern const struct command command_doctor;
extern const struct command command_list;
extern const struct command command_describe;
extern const struct command command_run;
extern const struct command command_results;
extern const struct command command_show;
extern const struct command command_report;
extern const struct command command_analyze;
extern const struct command command_compare;
extern const struct command command_ab;
extern const struct command command_accept;
extern const struct command command_matrix;
extern const struct command command_cost;
extern const struct command command_decide;
extern const struct command command_gate;
extern const struct command command_reproduce;
extern const struct command command_plan;
extern const struct command command_history;
extern const struct command command_power;
extern const struct command command_calibrate;
extern const struct command command_verify;
extern const struct command command_bundle;
extern const struct command command_checkpoint;
extern const struct command command_witness;
extern const struct command command_amend;
extern const struct command command_archive;
extern const struct command command_delete; /* hidden: says why there is none */
extern const struct command command_key;
extern const struct command command_schema;
extern const struct command command_worker;
extern const struct command command_stack;
extern const struct command command_export;
extern const struct command command_import;
extern const struct command command_telemetry; /* hidden: telemetry of a trial */
extern const struct command command_probe;     /* hidden: what asks a backend */

#endif

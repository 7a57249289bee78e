/* The commands that assay starts itself with, beside `worker`: a trial's telemetry, the probe. */
#include <string.h>

#include "harness/cli/commands.h"
#include "harness/runner/probe.h"
#include "harness/runner/probe_precisions.h"
#include "harness/runner/telemetry_child.h"

static int run_probe(const struct command_line *line)
{
    const char *detail = line->argument_count == 2 ? line->arguments[1] : NULL;

    if (detail && strcmp(detail, "libraries") != 0)
        return probe_precisions_child_main(line->arguments[0], detail);
    return probe_child_main(line->arguments[0], detail != NULL);
}

const struct command command_probe = {
    .name = "probe",
    .arguments = "BACKEND [libraries] | DEVICE PRECISION|all",
    .summary = "Describe a backend's devices or libraries, or a device's precisions, as JSON "
               "(started by `assay devices`)",
    .arguments_min = 1,
    .arguments_max = 2,
    .hidden = true,
    .run = run_probe,
};

static int run_telemetry(const struct command_line *line)
{
    return telemetry_child_main(line->arguments[0], line->arguments[1], line->arguments[2],
                                line->arguments[3]);
}

const struct command command_telemetry = {
    .name = "telemetry",
    .arguments = "host|DEVICE INTERVAL_NS PID dump|-",
    .summary = "Sample telemetry during a trial (started by `assay run`)",
    .arguments_min = 4,
    .arguments_max = 4,
    .hidden = true,
    .run = run_telemetry,
};

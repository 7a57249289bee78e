/* The two commands that assay starts itself with: the worker of a trial and the backends' probe. */
#include "harness/cli/commands.h"
#include "harness/runner/probe.h"
#include "harness/runner/worker.h"

static int run_worker(const struct command_line *line)
{
    (void)line;
    return worker_main();
}

const struct command command_worker = {
    .name = "worker",
    .summary = "Run one trial, as told on descriptor 3 (started by `assay run`)",
    .hidden = true,
    .run = run_worker,
};

static int run_probe(const struct command_line *line)
{
    return probe_child_main(line->arguments[0]);
}

const struct command command_probe = {
    .name = "probe",
    .arguments = "BACKEND",
    .summary = "Describe a backend's devices as JSON (started by `assay devices`)",
    .arguments_min = 1,
    .arguments_max = 1,
    .hidden = true,
    .run = run_probe,
};

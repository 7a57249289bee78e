#include "harness/runner/trial_telemetry.h"

#include <string.h>

#include "harness/core/log.h"
#include "harness/runner/child_environment.h"
#include "harness/runner/trial.h"

static const char *const names[TRIAL_TELEMETRY_PARTS] = {"device", "host"};

void trial_telemetry_start(struct trial_telemetry *telemetry, const struct trial_request *request,
                           pid_t worker)
{
    const char *device = json_string_value(json_object_get(request->message, "device"));
    struct error err = ERROR_INIT;
    char **envp = NULL;

    telemetry->interval_ns = request->telemetry_ns;
    if (request->telemetry_ns == 0)
        return;
    if (child_environment_build(request->environment_changes, &envp, &err) != STATUS_OK) {
        log_warning("no telemetry: %s", err.message);
        return;
    }
    for (size_t i = 0; i < TRIAL_TELEMETRY_PARTS; i++) {
        struct telemetry_watch_options options = {
            .part = i == 0 ? device : names[i],
            .interval_ns = request->telemetry_ns,
            .worker = worker,
            .envp = envp,
            .root = i == 0 ? request->root : NULL,
            .dump = i == 0 && request->dump,
        };

        /* An endpoint's device is not assay's to ask. */
        if (!options.part || !strncmp(options.part, "endpoint:", strlen("endpoint:")))
            continue;
        telemetry->runs[i] =
            telemetry_watch_start(&options, &telemetry->watches[i], &err) == STATUS_OK;
        if (!telemetry->runs[i])
            log_warning("no telemetry of the %s: %s", names[i], err.message);
    }
    process_free_words(envp);
}

void trial_telemetry_mark(struct trial_telemetry *telemetry)
{
    for (size_t i = 0; i < TRIAL_TELEMETRY_PARTS; i++)
        if (telemetry->runs[i])
            telemetry_watch_mark(&telemetry->watches[i]);
}

enum status trial_telemetry_end(struct trial_telemetry *telemetry, struct trial_record *record,
                                struct error *err)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < TRIAL_TELEMETRY_PARTS; i++) {
        struct telemetry_log log;
        enum status stopped;

        if (!telemetry->runs[i])
            continue;
        telemetry->runs[i] = false;
        stopped = telemetry_watch_stop(&telemetry->watches[i], telemetry->interval_ns, &log,
                                       status == STATUS_OK ? err : NULL);
        if (stopped == STATUS_OK) {
            if (record && status == STATUS_OK)
                stopped = trial_record_telemetry(record, names[i], &log, err);
            telemetry_log_finish(&log);
        }
        if (status == STATUS_OK)
            status = stopped;
    }
    return status;
}

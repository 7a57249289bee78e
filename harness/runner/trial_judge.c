#include "harness/runner/trial_judge.h"

#include <inttypes.h>
#include <string.h>

#include "harness/core/member.h"
#include "harness/runner/trial_declared.h"

/* The status of a reading of the host or the device ("measured", ...); NULL when there is none. */
static const char *reading_state(const struct trial_request *request, const json_t *device,
                                 const char *name, const char **ret_reason)
{
    const json_t *reading = json_object_get(request->environment, name);

    if (!reading)
        reading = member_in(device, "readings", name);
    if (!reading && !strncmp(name, "device.", 7) &&
        json_is_string(json_object_get(device, name + 7)))
        return "measured"; /* name, vendor, uuid are next to the readings */
    *ret_reason = member_string(reading, "reason");
    return member_string(reading, "status");
}

/* That a reading has no meaning here (a processor has no driver) is knowledge, too. */
static bool is_known(const char *state)
{
    return state && (!strcmp(state, "measured") || !strcmp(state, "declared") ||
                     !strcmp(state, "not_applicable"));
}

enum status trial_judge_device(const struct trial_request *request, const json_t *device,
                               struct error *err)
{
    const json_t *protocol = json_object_get(request->message, "protocol");

    EACH(entry, json_object_get(protocol, "required")) {
        const char *name = json_string_value(entry), *reason = NULL;
        const char *state = name ? reading_state(request, device, name, &reason) : NULL;

        if (!name || is_known(state))
            continue;
        return error_set(
            err, STATUS_UNAVAILABLE,
            "the protocol requires the reading %s, which is %s%s%s: use a protocol that does not, "
            "or a machine that reports it",
            name, state ? state : "not among those taken here", reason ? ": " : "",
            reason ? reason : "");
    }
    return STATUS_OK;
}

/* Was it measured as the protocol says? */
static enum status judge_conduct(const struct trial_request *request,
                                 const struct protocol *protocol, const struct handover *handover,
                                 const struct message *end, struct trial_record *record,
                                 struct error *err)
{
    const int64_t samples = (int64_t)trial_record_samples(record, "wall_ns");
    const int64_t last =
        handover->made > 0 ? handover->entries[handover->made - 1].iteration : INT64_MAX;

    trial_record_conduct(record);
    record->conduct.planned_worker = request->worker;
    if (end->end.window_first != record->conduct.warmup.samples)
        return error_set(err, STATUS_PROTOCOL,
                         "the worker's window begins at sample %" PRId64
                         ", and it had sent %" PRId64 " before its sync window_start",
                         end->end.window_first, record->conduct.warmup.samples);
    if (last < samples * record->iterations_per_sample)
        return error_set(err, STATUS_PROTOCOL,
                         "the worker's last outputs are of iteration %" PRId64
                         ", and its samples have more of them",
                         last);
    TRY(conduct_judge(protocol, &record->conduct, err));
    TRY(trial_declared_end(request, record, err));
    if (request->first)
        TRY(trial_record_same_stack(record, request->first, err));
    return STATUS_OK;
}

enum status trial_judge_end(const struct trial_request *request, const struct protocol *protocol,
                            const struct handover *handover, const struct message *end,
                            struct trial_record *record, struct error *err)
{
    const uint64_t samples = trial_record_samples(record, "wall_ns");

    record->iterations_per_sample = end->end.iterations_per_sample;
    record->window_first = end->end.window_first;
    if (end->end.status != STATUS_OK)
        return error_set(err, end->end.status, "%s",
                         end->end.message ? end->end.message : status_meaning(end->end.status));
    if (record->checks_failed > 0)
        return error_set(err, STATUS_CHECK_FAILED,
                         "the worker said ok, but %zu of its checks did not pass",
                         record->checks_failed);
    if ((uint64_t)end->end.samples != samples)
        return error_set(err, STATUS_PROTOCOL,
                         "the worker counts %" PRId64 " samples and sent %" PRIu64,
                         end->end.samples, samples);
    if (!record->saw_window)
        return error_set(err, STATUS_PROTOCOL,
                         "the worker ended without the syncs window_start and window_end");
    if (!record->has_device)
        return error_set(err, STATUS_PROTOCOL, "the worker ended without a device");
    return judge_conduct(request, protocol, handover, end, record, err);
}

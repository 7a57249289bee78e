#include "harness/runner/trial_required.h"

#include <string.h>

/* The status of a reading of the host or the device ("measured", ...); NULL when there is none. */
static const char *reading_state(const struct trial_request *request, const json_t *device,
                                 const char *name, const char **ret_reason)
{
    const json_t *reading = json_object_get(request->environment, name);

    if (!reading)
        reading = json_object_get(json_object_get(device, "readings"), name);
    if (!reading && !strncmp(name, "device.", 7) &&
        json_is_string(json_object_get(device, name + 7)))
        return "measured"; /* name, vendor, uuid are next to the readings */
    *ret_reason = json_string_value(json_object_get(reading, "reason"));
    return json_string_value(json_object_get(reading, "status"));
}

/* That a reading has no meaning here (a processor has no driver) is knowledge, too. */
static bool is_known(const char *state)
{
    return state && (!strcmp(state, "measured") || !strcmp(state, "declared") ||
                     !strcmp(state, "not_applicable"));
}

enum status trial_required_check(const struct trial_request *request, const json_t *device,
                                 struct error *err)
{
    const json_t *protocol = json_object_get(request->message, "protocol");
    size_t i;
    json_t *entry;

    json_array_foreach(json_object_get(protocol, "required"), i, entry)
    {
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

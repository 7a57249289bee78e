#include "harness/endpoint/endpoint.h"

static bool add_count(json_t *object, const char *name, uint64_t value)
{
    return !json_object_set_new(object, name, json_integer((json_int_t)value));
}

static json_t *reasons_json(const struct reasons *reasons)
{
    json_t *list = json_array();

    for (size_t i = 0; i < reasons->count; ++i) {
        const struct reason *reason = &reasons->list[i];

        if (json_array_append_new(list, json_pack("{s:s,s:I,s:s}", "reason", reason->reason,
                                                  "count", (json_int_t)reason->count, "example",
                                                  reason->example))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

json_t *endpoint_stats_to_json(const struct endpoint_stats *stats)
{
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {
        {"wall_ns", (uint64_t)stats->wall_ns},
        {"cpu_ns", (uint64_t)stats->cpu_ns},
        {"connections_warm", stats->connections_warm},
        {"connections_opened", stats->connections_opened},
        {"connections_peak", stats->connections_peak},
        {"held", stats->held},
        {"retried", stats->retried},
        {"without_usage", stats->without_usage},
        {"usage_above_events", stats->usage_above_events},
        {"usage_below_events", stats->usage_below_events},
        {"output_not_as_asked", stats->output_not_as_asked},
        {"below_demand", stats->below_demand},
        {"without_end", stats->without_end},
        {"not_found", stats->not_found},
        {"prompt_asked", stats->prompt_asked},
        {"prompt_told", stats->prompt_told},
        {"events", stats->events},
        {"bytes", stats->bytes},
    };
    json_t *object = json_object();
    bool is_good = object != NULL;

    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); ++i)
        is_good = is_good && add_count(object, counts[i].name, counts[i].value);
    is_good = is_good && !json_object_set_new(object, "with_key", json_boolean(stats->with_key)) &&
              !json_object_set_new(object, "is_unverified", json_boolean(stats->is_unverified)) &&
              !json_object_set_new(object, "reasons", reasons_json(&stats->reasons));
    if (!is_good) {
        json_decref(object);
        return NULL;
    }
    return object;
}

#include "harness/core/type.h"
#include "harness/endpoint/endpoint.h"

static const struct member reason_members[] = {
    MEMBER(struct reason, CHARS, reason, .size = REASON_SIZE),
    MEMBER(struct reason, COUNT, count),
    MEMBER(struct reason, CHARS, example, .size = REASON_EXAMPLE_SIZE),
};
static const struct type reason_type = TYPE(struct reason, "a reason", reason_members);

#define COUNTED(name) MEMBER(struct endpoint_stats, COUNT, name)
static const struct member stats_members[] = {
    COUNTED(wall_ns),
    COUNTED(cpu_ns),
    COUNTED(connections_warm),
    COUNTED(connections_opened),
    COUNTED(connections_peak),
    COUNTED(held),
    COUNTED(retried),
    COUNTED(without_usage),
    COUNTED(usage_above_events),
    COUNTED(usage_below_events),
    COUNTED(usage_above_asked),
    COUNTED(tokens_above_bytes),
    COUNTED(blank_first),
    COUNTED(output_not_as_asked),
    COUNTED(below_demand),
    COUNTED(without_end),
    COUNTED(not_found),
    COUNTED(prompts_repeated),
    COUNTED(prompt_asked),
    COUNTED(prompt_told),
    COUNTED(events),
    COUNTED(bytes),
    MEMBER(struct endpoint_stats, BOOLEAN, with_key),
    MEMBER(struct endpoint_stats, BOOLEAN, is_unverified),
    MEMBER_AS(struct endpoint_stats, LIST, "reasons", reasons.list, .of = &reason_type,
              .size = REASONS_MAX, .count = offsetof(struct endpoint_stats, reasons.count)),
};
const struct type endpoint_stats_type = TYPE(struct endpoint_stats, "stats", stats_members);

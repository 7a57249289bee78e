/* The shapes of `history`. */
#include "harness/cli/schema_data.h"

static const struct member past_result_members[] = {
    SHOWN("id", TEXT),
    SHOWN("created", TEXT),
    SHOWN("value", FINITE),
    SHOWN("lo", REAL),
    SHOWN("hi", REAL),
    OR_NULL("driver_version", TEXT),
    OR_NULL("stack", LIST, .of = &type_of_text, .help = "what differs from the result before"),
};
static const struct type past_result = TYPE_OF_MEMBERS(past_result_members);
static const char *const history_kinds[] = {"too_few", "constant", "line",
                                            "ramp",    "approach", "steps"};
static const struct type history_kind = {WORD_OF(history_kinds), .def = "history_kind"};
static const struct member change_members[] = {
    SHOWN("before", TEXT, .help = "the change lies after this result"),
    SHOWN("after", TEXT, .help = "and before or at this one"),
    SHOWN("ratio", REAL, .help = "of the levels, after over before"),
    OR_NULL("stack", LIST, .of = &type_of_text, .help = "what differs between the two"),
};
static const struct type change = TYPE_OF_MEMBERS(change_members);
static const struct member baseline_members[] = {
    SHOWN("name", TEXT),
    SHOWN("result", TEXT),
    SHOWN("ratio", REAL, .help = "of the newest result over it"),
};
static const struct type baseline = TYPE_OF_MEMBERS(baseline_members);
static const struct member stale_members[] = {
    SHOWN("result", TEXT, .help = "the newest on this device, whose stack is another"),
    OR_NULL("stack", LIST, .of = &type_of_text),
};
static const struct type stale = TYPE_OF_MEMBERS(stale_members);
static const struct member past_members[] = {
    SHOWN("workload", TEXT),
    SHOWN("precision", TEXT),
    OR_NULL("batch", INTEGER),
    SHOWN("scenario", TEXT),
    OR_NULL("arm", TEXT),
    SHOWN("implementation", TEXT),
    SHOWN("protocol", TEXT),
    OR_NULL("device", TEXT),
    SHOWN("device_spec", TEXT),
    OR_NULL("host", TEXT),
    SHOWN("metric", TEXT),
    SHOWN("unit", TEXT),
    SHOWN("results", LIST, .of = &past_result),
    SHOWN("kind", RECORD, .of = &history_kind),
    SHOWN("changes", LIST, .of = &change),
    SHOWN("baselines", LIST, .of = &baseline),
    OR_NULL("stale", RECORD, .of = &stale),
};
static const struct type past = TYPE_OF_MEMBERS(past_members);
const struct type schema_history = {LIST_OF(past)};

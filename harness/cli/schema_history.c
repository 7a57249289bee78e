/* The shapes of `history`. */
#include "harness/cli/schema_data.h"

static const struct member past_result_members[] = {
    MEMBER("id", shape_string),
    MEMBER("created", shape_string),
    MEMBER("value", shape_number),
    OR_NULL("lo", shape_number),
    OR_NULL("hi", shape_number),
    OR_NULL("driver_version", shape_string),
    OR_NULL_SAYS("stack", shape_strings, "what differs from the result before"),
    {0}};
static const struct shape past_result = SHAPE_OBJECT_OF(past_result_members);
static const struct shape past_results = SHAPE_LIST_OF(past_result);
static const char *const history_kinds[] = {"too_few",  "constant", "line", "ramp",
                                            "approach", "steps",    NULL};
static const struct shape history_kind = SHAPE_WORD_OF("history_kind", history_kinds);
static const struct member change_members[] = {
    MEMBER_SAYS("before", shape_string, "the change lies after this result"),
    MEMBER_SAYS("after", shape_string, "and before or at this one"),
    OR_NULL_SAYS("ratio", shape_number, "of the levels, after over before"),
    OR_NULL_SAYS("stack", shape_strings, "what differs between the two"),
    {0}};
static const struct shape change = SHAPE_OBJECT_OF(change_members);
static const struct shape changes = SHAPE_LIST_OF(change);
static const struct member baseline_members[] = {
    MEMBER("name", shape_string),
    MEMBER("result", shape_string),
    OR_NULL_SAYS("ratio", shape_number, "of the newest result over it"),
    {0}};
static const struct shape baseline = SHAPE_OBJECT_OF(baseline_members);
static const struct shape baselines = SHAPE_LIST_OF(baseline);
static const struct member stale_members[] = {
    MEMBER_SAYS("result", shape_string, "the newest on this device, whose stack is another"),
    OR_NULL("stack", shape_strings),
    {0}};
static const struct shape stale = SHAPE_OBJECT_OF(stale_members);
static const struct member past_members[] = {MEMBER("workload", shape_string),
                                             MEMBER("precision", shape_string),
                                             OR_NULL("batch", shape_integer),
                                             MEMBER("scenario", shape_string),
                                             OR_NULL("arm", shape_string),
                                             MEMBER("implementation", shape_string),
                                             MEMBER("protocol", shape_string),
                                             OR_NULL("device", shape_string),
                                             MEMBER("device_spec", shape_string),
                                             OR_NULL("host", shape_string),
                                             MEMBER("metric", shape_string),
                                             MEMBER("unit", shape_string),
                                             MEMBER("results", past_results),
                                             MEMBER("kind", history_kind),
                                             MEMBER("changes", changes),
                                             MEMBER("baselines", baselines),
                                             OR_NULL("stale", stale),
                                             {0}};
static const struct shape past = SHAPE_OBJECT_OF(past_members);
const struct shape schema_history = SHAPE_LIST_OF(past);

/* What show, compare, ab, gate, reproduce and analyze write: the whole record, and comparisons. */
#include "harness/cli/schema_data.h"
#include "protocols/estimate.h"
#include "results/analysis/gate.h"
#include "results/analysis/reproduction.h"

static const struct member interval_members[] = {
    OR_NULL("value", shape_number), OR_NULL("lo", shape_number), OR_NULL("hi", shape_number), {0}};
static const struct shape shape_interval = SHAPE_OBJECT_NAMED("interval", interval_members);

/* An estimate with the name of its series, as analyze has it. */
static json_t *series_schema(void)
{
    json_t *schema = estimate_schema();

    json_object_set_new(json_object_get(schema, "properties"), "series",
                        json_pack("{s:s}", "type", "string"));
    json_object_set_new(json_object_get(schema, "properties"), "trial_names",
                        json_pack("{s:s, s:{s:s}, s:s}", "type", "array", "items", "type", "string",
                                  "description", "as the file has them, in the order of trials"));
    json_array_append_new(json_object_get(schema, "required"), json_string("series"));
    return schema;
}

static const struct shape estimate = SHAPE_GENERATED_AS("estimate", estimate_schema);
static const struct member estimate_row_members[] = {MEMBER("id", shape_integer),
                                                     MEMBER("version", shape_integer),
                                                     MEMBER("created_utc_ns", shape_utc_ns),
                                                     MEMBER("created", shape_string),
                                                     {0}};
static const struct shape estimate_row = SHAPE_OBJECT_OF(estimate_row_members);

/* ---- the record of a result ---- */

static const struct member campaign_members[] = {MEMBER("id", shape_integer),
                                                 MEMBER("uid", shape_string),
                                                 MEMBER("created_utc_ns", shape_utc_ns),
                                                 MEMBER("created", shape_string),
                                                 OR_NULL("command", shape_string),
                                                 OR_NULL("tool_version", shape_string),
                                                 OR_NULL("tool_digest", shape_string),
                                                 OR_NULL("plan_digest", shape_digest),
                                                 {0}};
static const struct shape campaign = SHAPE_OBJECT_OF(campaign_members);
static const struct member identity_members[] = {OR_NULL("workload", shape_string),
                                                 OR_NULL("workload_digest", shape_digest),
                                                 OR_NULL("protocol", shape_string),
                                                 OR_NULL("protocol_digest", shape_digest),
                                                 OR_NULL("kind", shape_string),
                                                 OR_NULL("precision", shape_string),
                                                 OR_NULL("batch", shape_integer),
                                                 OR_NULL("scenario", shape_string),
                                                 OR_NULL("implementation", shape_string),
                                                 OR_NULL("seed", shape_seed),
                                                 {0}};
static const struct shape identity = SHAPE_OBJECT_OF(identity_members);
static const struct member work_members[] = {OR_NULL("flops", shape_count),
                                             OR_NULL("flops_formula", shape_string),
                                             OR_NULL("bytes", shape_count),
                                             OR_NULL("bytes_formula", shape_string),
                                             OR_NULL("items", shape_count),
                                             OR_NULL("item_name", shape_string),
                                             OR_NULL("device_memory_bytes", shape_count),
                                             OR_NULL("working_set_bytes", shape_count),
                                             OR_NULL("headline", shape_string),
                                             {0}};
static const struct shape work = SHAPE_OBJECT_OF(work_members);
static const struct member device_members[] = {MEMBER("id", shape_integer),
                                               MEMBER("backend", shape_string),
                                               MEMBER("index", shape_integer),
                                               OR_NULL("name", shape_string),
                                               OR_NULL("vendor", shape_string),
                                               OR_NULL("uuid", shape_string),
                                               OR_NULL("type", shape_string),
                                               OR_NULL("simulated", shape_boolean),
                                               MEMBER("digest", shape_digest),
                                               MEMBER("readings", shape_readings),
                                               {0}};
static const struct shape device = SHAPE_OBJECT_OF(device_members);

static const struct member trial_device_members[] = {MEMBER("id", shape_integer),
                                                     OR_NULL("name", shape_string),
                                                     MEMBER("digest", shape_digest),
                                                     {0}};
static const struct shape trial_device = SHAPE_OBJECT_OF(trial_device_members);
static const struct member phase_members[] = {
    MEMBER("name", shape_string),
    MEMBER_SAYS("begin_ns", shape_count, "of the monotonic clock"),
    OR_NULL("end_ns", shape_count),
    {0}};
static const struct shape phase = SHAPE_OBJECT_OF(phase_members);
static const struct shape phases = SHAPE_LIST_OF(phase);
static const struct member chunk_members[] = {
    MEMBER("name", shape_string),    MEMBER("samples", shape_integer),
    OR_NULL("minimum", shape_count), OR_NULL("maximum", shape_count),
    MEMBER("chunks", shape_integer), {0}};
static const struct shape chunk = SHAPE_OBJECT_OF(chunk_members);
static const struct shape chunks = SHAPE_LIST_OF(chunk);
static const struct shape *const error_choices[] = {&shape_number, &shape_string, NULL};
static const struct shape error_value = SHAPE_ONE_OF(error_choices);
static const struct member check_members[] = {
    MEMBER("phase", shape_string),
    MEMBER("output", shape_string),
    MEMBER("metric", shape_string),
    OR_NULL_SAYS("error", error_value, "text where it is no number: nan, inf"),
    OR_NULL("tolerance", shape_number),
    OR_NULL("compared", shape_count),
    MEMBER("passed", shape_boolean),
    OR_NULL("reason", shape_string),
    {0}};
static const struct shape check = SHAPE_OBJECT_OF(check_members);
static const struct shape checks = SHAPE_LIST_OF(check);
static const struct member environment_members[] = {OPTIONAL("host", shape_readings),
                                                    OPTIONAL("before", shape_readings),
                                                    OPTIONAL("after", shape_readings),
                                                    {0}};
static const struct shape environment = SHAPE_OBJECT_OF(environment_members);
static const struct member component_members[] = {
    MEMBER("at", shape_string),        OR_NULL("path", shape_string),
    OR_NULL("kind", shape_string),     OR_NULL("version", shape_string),
    OR_NULL("build_id", shape_string), OR_NULL("size", shape_count),
    OR_NULL("sha256", shape_digest),   OR_NULL("missing_reason", shape_string),
    OR_NULL("package", shape_string),  OR_NULL("package_version", shape_string),
    OR_NULL("manager", shape_string),  {0}};
static const struct shape component = SHAPE_OBJECT_OF(component_members);
static const struct shape components = SHAPE_LIST_OF(component);
static const struct member channel_members[] = {MEMBER("name", shape_string),
                                                MEMBER("kind", shape_string),
                                                OPTIONAL("unit", shape_string),
                                                OPTIONAL_OR_NULL("wraps_at", shape_count),
                                                OPTIONAL_OR_NULL("bits", shape_any),
                                                OPTIONAL_OR_NULL("source", shape_string),
                                                OPTIONAL_OR_NULL("reason", shape_string),
                                                {0}};
static const struct shape channel = SHAPE_OBJECT_OF(channel_members);
static const struct shape channel_list = SHAPE_LIST_OF(channel);
static const struct shape *const channel_choices[] = {&channel_list, &shape_object, NULL};
static const struct shape channels = SHAPE_ONE_OF(channel_choices);
static const struct member telemetry_members[] = {
    MEMBER("part", shape_string),
    MEMBER("status", shape_status),
    OR_NULL("message", shape_string),
    OR_NULL_SAYS("channels", channels, "an object where they were withheld"),
    OR_NULL("interval_ns", shape_count),
    OR_NULL("ticks", shape_integer),
    OR_NULL("late_ticks", shape_integer),
    OR_NULL("cpu_ns", shape_count),
    OR_NULL("reading_ns", shape_count),
    OR_NULL("dump", shape_string),
    OR_NULL("begin", shape_readings),
    OR_NULL("end", shape_readings),
    {0}};
static const struct shape telemetry = SHAPE_OBJECT_OF(telemetry_members);
static const struct shape telemetries = SHAPE_LIST_OF(telemetry);
static const struct member artifact_members[] = {
    MEMBER("digest", shape_digest), MEMBER("artifact", shape_object), {0}};
static const struct shape artifact = SHAPE_OBJECT_OF(artifact_members);
static const struct shape artifacts = SHAPE_LIST_OF(artifact);

static const struct member trial_members[] = {
    MEMBER("id", shape_integer),
    MEMBER("sequence", shape_integer),
    MEMBER("attempt", shape_integer),
    MEMBER_SAYS("status", shape_string, "the name of a status, or no_end"),
    OR_NULL("message", shape_string),
    OR_NULL_SAYS("orphan", shape_boolean, "the harness ended before it"),
    MEMBER("started_utc_ns", shape_utc_ns),
    MEMBER("started", shape_string),
    OR_NULL("ended_utc_ns", shape_utc_ns),
    OR_NULL("iterations_per_sample", shape_integer),
    OR_NULL("window_first", shape_integer),
    OR_NULL("samples", shape_integer),
    OR_NULL_SAYS("facts", shape_object, "what the workload reported of itself"),
    OR_NULL("exit_code", shape_integer),
    OR_NULL("signal", shape_integer),
    OR_NULL("max_rss_bytes", shape_count),
    OR_NULL("device", trial_device),
    MEMBER("phases", phases),
    MEMBER("series", chunks),
    MEMBER("checks", checks),
    MEMBER("environment", environment),
    MEMBER("components", components),
    MEMBER("telemetry", telemetries),
    MEMBER("artifacts", artifacts),
    {0}};
static const struct shape trial = SHAPE_OBJECT_OF(trial_members);
static const struct shape trials = SHAPE_LIST_OF(trial);

static const struct member origin_members[] = {
    OR_NULL("file", shape_string),    OR_NULL("sha256", shape_digest),
    OR_NULL("size", shape_count),     OR_NULL("format", shape_string),
    OR_NULL("program", shape_string), OR_NULL("program_version", shape_string),
    MEMBER("imported", shape_string), {0}};
static const struct shape origin = SHAPE_OBJECT_OF(origin_members);
static const struct member imported_members[] = {
    MEMBER_SAYS("claim", shape_object, "what the file says of the result"),
    MEMBER("readings", shape_readings),
    OR_NULL("origin", origin),
    {0}};
static const struct shape imported = SHAPE_OBJECT_OF(imported_members);

static const struct member record_members[] = {
    MEMBER("id", shape_string),
    MEMBER("cell", shape_integer),
    MEMBER("ordinal", shape_integer),
    OR_NULL("backend", shape_string),
    OR_NULL("device_spec", shape_string),
    OR_NULL("device_index", shape_integer),
    OR_NULL("trials_planned", shape_integer),
    OR_NULL_SAYS("arm", shape_string, "a or b of an A/B"),
    OR_NULL_SAYS("arm_settings", shape_any, "what the arm was given"),
    OR_NULL_SAYS("worker", shape_any, "the framework that measured; null: assay's own kernels"),
    OR_NULL_SAYS("workload", shape_object, "its declaration"),
    OR_NULL_SAYS("protocol", shape_object, "its declaration"),
    MEMBER("campaign", campaign),
    MEMBER("identity", identity),
    MEMBER_SAYS("cost", work, "of one iteration"),
    OR_NULL("device", device),
    OR_NULL_SAYS("choices", shape_object, "what was chosen once for all of its trials"),
    MEMBER("trials", trials),
    OR_NULL("estimate", estimate),
    OR_NULL("estimate_row", estimate_row),
    MEMBER("amendments", shape_amendments),
    OR_NULL_SAYS("imported", imported, "null: measured here"),
    {"peaks", &shape_peaks, MEMBER_OPTIONAL, "shares of declared peaks (--peaks)"},
    {0}};
const struct shape schema_show = SHAPE_OBJECT_OF(record_members);

/* ---- comparisons ---- */

static const struct member counts_members[] = {
    MEMBER("a", shape_integer), MEMBER("b", shape_integer), {0}};
static const struct shape counts = SHAPE_OBJECT_OF(counts_members);
#define COMPARISON_MEMBERS                                                                         \
    OPTIONAL("pairs", shape_integer), OPTIONAL("trials", counts),                                  \
        OPTIONAL("compare_by", shape_string), MEMBER("verdict", shape_string),                     \
        MEMBER_SAYS("ratio", shape_interval, "time of b over time of a"),                          \
        MEMBER("margin", shape_number), OR_NULL("needed_pairs", shape_integer),                    \
        MEMBER_SAYS("differs", shape_boolean, "the interval excludes no difference"),              \
        MEMBER("confidence", shape_number), MEMBER("equivalence_interval", shape_interval),        \
        OR_NULL("p_difference", shape_number), OR_NULL("p_equivalence", shape_number),             \
        OR_NULL("sd_log", shape_number), OPTIONAL("no_spread", shape_boolean),                     \
        OPTIONAL("family", shape_integer), OPTIONAL("verdict_alone", shape_string),                \
        {"p_worse", &shape_number, MEMBER_OPTIONAL | MEMBER_NULLABLE, NULL},                       \
        OPTIONAL("p_worse_family", shape_number), OPTIONAL("p_difference_family", shape_number),   \
        OPTIONAL("p_equivalence_family", shape_number), OPTIONAL("q_difference", shape_number),    \
        MEMBER("version", shape_integer)
static const struct member comparison_members[] = {COMPARISON_MEMBERS, {0}};
static const struct shape shape_comparison = SHAPE_OBJECT_NAMED("comparison", comparison_members);
static const struct member pair_series_members[] = {COMPARISON_MEMBERS,
                                                    MEMBER("series", shape_string),
                                                    OPTIONAL("baseline", shape_string),
                                                    OPTIONAL("basis", shape_string),
                                                    OPTIONAL("note", shape_string),
                                                    {0}};
static const struct shape pair_series = SHAPE_OBJECT_OF(pair_series_members);
static const struct shape estimate_series = SHAPE_GENERATED_AS("series", series_schema);
static const struct shape *const series_choices[] = {&estimate_series, &pair_series, NULL};
static const struct shape series = SHAPE_ONE_OF(series_choices);
const struct shape schema_analyze = SHAPE_LIST_OF(series);

static const struct member factor_members[] = {
    MEMBER("factor", shape_string),
    MEMBER("fields", shape_strings),
    MEMBER_SAYS("a", shape_any, "what it is in a: a version, a name; null: not known"),
    MEMBER("b", shape_any),
    {0}};
static const struct shape factor = SHAPE_OBJECT_OF(factor_members);
static const struct shape factors = SHAPE_LIST_OF(factor);
static const struct member field_members[] = {
    MEMBER("field", shape_string),   MEMBER("class", shape_string),
    OR_NULL("factor", shape_string), MEMBER("state", shape_string),
    MEMBER("a", shape_any),          MEMBER("b", shape_any),
    MEMBER("why", shape_string),     {0}};
static const struct shape field = SHAPE_OBJECT_OF(field_members);
static const struct shape fields = SHAPE_LIST_OF(field);
static const struct member comparability_members[] = {
    MEMBER("verdict", shape_string),
    MEMBER("reasons", shape_strings),
    MEMBER_SAYS("except", shape_strings,
                "fields that differ, are not known, or mark both (simulated, a foreign worker)"),
    MEMBER("factors", factors),
    OR_NULL("attribution", shape_string),
    MEMBER_SAYS("brought", factors, "what differs because of the one thing that the arms set"),
    MEMBER("fields", fields),
    {0}};
static const struct shape comparability =
    SHAPE_OBJECT_NAMED("comparability", comparability_members);

static const struct member rate_members[] = {MEMBER("metric", shape_string),
                                             MEMBER("value", shape_number),
                                             OR_NULL("lo", shape_number),
                                             OR_NULL("hi", shape_number),
                                             MEMBER("unit", shape_string),
                                             OR_NULL("grade", shape_string),
                                             {0}};
static const struct shape rate = SHAPE_OBJECT_OF(rate_members);
static const struct member left_out_members[] = {
    MEMBER("trial", shape_integer), MEMBER("why", shape_string), {0}};
static const struct shape left_out = SHAPE_OBJECT_OF(left_out_members);
static const struct shape left_out_list = SHAPE_LIST_OF(left_out);
static const struct member capacity_members[] = {MEMBER("state", shape_string),
                                                 OR_NULL("value", shape_number),
                                                 OR_NULL("lo", shape_number),
                                                 OR_NULL("hi", shape_number),
                                                 OR_NULL("met", shape_number),
                                                 OR_NULL("missed", shape_number),
                                                 {0}};
const struct shape shape_capacity = SHAPE_OBJECT_OF(capacity_members);
static const struct shape arm_figures = SHAPE_LIST_OF(rate);
static const struct member arm_members[] = {
    MEMBER("id", shape_string),
    OR_NULL("implementation", shape_string),
    OR_NULL("workload", shape_string),
    OR_NULL("precision", shape_string),
    OR_NULL("batch", shape_integer),
    OR_NULL("device_spec", shape_string),
    OR_NULL("device", shape_string),
    OR_NULL("foreign_worker", shape_string),
    OR_NULL("verdict", shape_string),
    OR_NULL("result", rate),
    OR_NULL("planned", shape_integer),
    OR_NULL("counted", shape_integer),
    MEMBER("left_out", left_out_list),
    MEMBER_SAYS("figures", arm_figures, "of a server, what it is compared by; else empty"),
    OR_NULL("capacity", shape_capacity),
    {0}};
static const struct shape arm = SHAPE_OBJECT_NAMED("arm", arm_members);
static const struct shape arms = SHAPE_LIST_OF(arm);

static const struct member served_figure_members[] = {
    OR_NULL("value", shape_number), OR_NULL("lo", shape_number), OR_NULL("hi", shape_number), {0}};
static const struct shape served_figure =
    SHAPE_OBJECT_NAMED("served_figure", served_figure_members);
static const struct member served_members[] = {
    MEMBER("a", served_figure),
    MEMBER("b", served_figure),
    MEMBER_SAYS("change", served_figure, "attainment: b - a; capacity: b / a"),
    MEMBER("margin", shape_number),
    MEMBER("confidence", shape_number),
    OR_NULL("p_worse", shape_number),
    OR_NULL("p_worse_family", shape_number),
    {"pairs", &shape_integer, MEMBER_OPTIONAL, "that the change of attainment rests on"},
    {0}};
static const struct shape served = SHAPE_OBJECT_OF(served_members);
#define COMPARED_MEMBERS                                                                           \
    MEMBER("a", shape_string), MEMBER("b", shape_string), OPTIONAL("arms", arms),                  \
        MEMBER("comparability", comparability), MEMBER("separating_runs", shape_strings),          \
        OR_NULL("attribution", shape_string), OR_NULL("comparison", shape_comparison),             \
        OR_NULL("verdict", shape_string),                                                          \
        {"reason", &shape_string, MEMBER_OPTIONAL, "why there are no numbers"},                    \
        OPTIONAL("note", shape_string), OPTIONAL("family_of", family_of),                          \
        {"served", &served, MEMBER_OPTIONAL,                                                       \
         "of attainment and capacity, in place of comparison"},                                    \
        {"by", &shape_string, MEMBER_OPTIONAL, "attainment or capacity; else it is time"},         \
    {                                                                                              \
        "latency", &shape_comparison, MEMBER_OPTIONAL, "of paired servers: their mean latency"     \
    }
static const struct member family_of_members[] = {OPTIONAL("a", shape_string),
                                                  OPTIONAL("b", shape_string),
                                                  OPTIONAL("campaign", shape_string),
                                                  MEMBER("size", shape_integer),
                                                  MEMBER("margin", shape_number),
                                                  OPTIONAL("by", shape_string),
                                                  {0}};
static const struct shape family_of = SHAPE_OBJECT_OF(family_of_members);
#define FAMILY_MEMBER MEMBER_SAYS("family", shape_integer, "comparisons that were judged together")
static const struct member compared_members[] = {COMPARED_MEMBERS, {0}};
static const struct shape compared = SHAPE_OBJECT_NAMED("compared", compared_members);
static const struct shape compared_list = SHAPE_LIST_OF(compared);
static const struct member compared_campaigns_members[] = {
    MEMBER("a", shape_string),
    MEMBER("b", shape_string),
    FAMILY_MEMBER,
    MEMBER_SAYS("comparisons", compared_list, "of the cells of both, judged together"),
    MEMBER("only_in_a", shape_strings),
    MEMBER("only_in_b", shape_strings),
    {0}};
static const struct shape compared_campaigns = SHAPE_OBJECT_OF(compared_campaigns_members);
static const struct member compared_arms_members[] = {
    MEMBER("campaign", shape_string),
    FAMILY_MEMBER,
    MEMBER_SAYS("comparisons", compared_list, "of both arms, judged together"),
    {0}};
static const struct shape compared_arms = SHAPE_OBJECT_OF(compared_arms_members);
static const struct shape *const compare_choices[] = {&compared, &compared_campaigns,
                                                      &compared_arms, NULL};
const struct shape schema_compare = SHAPE_ONE_OF(compare_choices);
static const struct shape *const ab_choices[] = {&compared, &compared_arms, NULL};
const struct shape schema_ab = SHAPE_ONE_OF(ab_choices);
const struct shape schema_matrix = SHAPE_ONE_OF(ab_choices);

static const char *const decisions[] = {
#define DECISION_WORD(code, name) name,
    GATE_MAP(DECISION_WORD)
#undef DECISION_WORD
        NULL};
static const struct shape decision = SHAPE_WORD_OF("decision", decisions);
static const struct member gate_members[] = {
    MEMBER("decision", decision),
    MEMBER("margin", shape_number),
    MEMBER("paired", shape_boolean),
    MEMBER("allow_foreign_worker", shape_boolean),
    {"by", &shape_string, MEMBER_OPTIONAL, "attainment or capacity; else it is time"},
    {0}};
static const struct shape gate = SHAPE_OBJECT_OF(gate_members);
static const struct member gated_members[] = {COMPARED_MEMBERS, MEMBER("gate", gate), {0}};
static const struct shape gated = SHAPE_OBJECT_NAMED("gated", gated_members);
static const struct shape gated_list = SHAPE_LIST_OF(gated);
#define GATED_FAMILY_MEMBERS                                                                       \
    MEMBER_SAYS("decision", decision, "of all cells together"), FAMILY_MEMBER,                     \
        MEMBER("comparisons", gated_list)
static const struct member gated_arms_members[] = {
    MEMBER("campaign", shape_string), GATED_FAMILY_MEMBERS, {0}};
static const struct shape gated_arms = SHAPE_OBJECT_OF(gated_arms_members);
static const struct member gated_campaigns_members[] = {
    MEMBER("a", shape_string),          MEMBER("b", shape_string),          GATED_FAMILY_MEMBERS,
    MEMBER("only_in_a", shape_strings), MEMBER("only_in_b", shape_strings), {0}};
static const struct shape gated_campaigns = SHAPE_OBJECT_OF(gated_campaigns_members);
static const struct shape *const gate_choices[] = {&gated, &gated_campaigns, &gated_arms, NULL};
const struct shape schema_gate = SHAPE_ONE_OF(gate_choices);

static const char *const reproductions[] = {
#define REPRODUCTION_WORD(code, name) name,
    REPRODUCTION_MAP(REPRODUCTION_WORD)
#undef REPRODUCTION_WORD
        NULL};
static const struct shape reproduction = SHAPE_WORD_OF("reproduction", reproductions);
static const struct member repeatability_members[] = {MEMBER("count", shape_integer),
                                                      MEMBER("results", shape_strings),
                                                      OR_NULL("sd_log", shape_number),
                                                      OR_NULL("df", shape_number),
                                                      {0}};
static const struct shape repeatability = SHAPE_OBJECT_OF(repeatability_members);
static const struct member reproduce_members[] = {
    MEMBER("verdict", reproduction),
    MEMBER("margin", shape_number),
    MEMBER_SAYS("rests_on", shape_string, "what the interval's spread was taken from"),
    OR_NULL("ratio", shape_interval),
    OR_NULL("equivalence_interval", shape_interval),
    OR_NULL("repeatability", repeatability),
    {0}};
static const struct shape reproduce = SHAPE_OBJECT_OF(reproduce_members);
static const struct member reproduced_members[] = {
    MEMBER("verdict", reproduction),
    MEMBER("original", shape_string),
    OR_NULL("again", shape_string),
    OR_NULL_SAYS("reason", shape_string, "why it is not reproducible here"),
    OR_NULL("comparison", compared),
    OR_NULL("reproduce", reproduce),
    {0}};
const struct shape schema_reproduce = SHAPE_OBJECT_OF(reproduced_members);

/* ---- accept ---- */

static const char *const acceptance_verdicts[] = {"accepted", "rejected", "inconclusive", NULL};
static const struct shape acceptance_verdict = SHAPE_WORD_OF("acceptance", acceptance_verdicts);
static const struct member accepted_unit_members[] = {
    MEMBER("result", shape_string),
    OR_NULL("device", shape_string),
    OR_NULL("value", shape_number),
    OR_NULL_SAYS("best", shape_number, "no better than that, with confidence 1 - alpha"),
    OR_NULL_SAYS("worst", shape_number, "no worse than that, with confidence 1 - beta"),
    MEMBER("trials", shape_integer),
    MEMBER("verdict", acceptance_verdict),
    OR_NULL_SAYS("reason", shape_string, "why it decides nothing"),
    {0}};
static const struct shape accepted_unit = SHAPE_OBJECT_OF(accepted_unit_members);
static const struct shape accepted_units = SHAPE_LIST_OF(accepted_unit);
static const struct member accepted_item_members[] = {
    MEMBER("metric", shape_string),
    MEMBER("unit", shape_string),
    MEMBER_SAYS("declared", shape_number, "in that unit"),
    MEMBER("limiting", shape_number),
    MEMBER("alpha", shape_number),
    MEMBER("beta", shape_number),
    MEMBER("units", accepted_units),
    MEMBER("rejected", shape_integer),
    MEMBER("inconclusive", shape_integer),
    MEMBER("verdict", acceptance_verdict),
    OR_NULL("reason", shape_string),
    {0}};
static const struct shape accepted_item = SHAPE_OBJECT_OF(accepted_item_members);
static const struct shape accepted_items = SHAPE_LIST_OF(accepted_item);
static const struct member accepted_campaign_members[] = {
    MEMBER("campaign", shape_string),
    MEMBER_SAYS("planned", shape_boolean, "this very contract is in its plan"),
    MEMBER_SAYS("nonce", shape_boolean, "the plan has the contract's nonce, or none is demanded"),
    {0}};
static const struct shape accepted_campaign = SHAPE_OBJECT_OF(accepted_campaign_members);
static const struct shape accepted_campaigns = SHAPE_LIST_OF(accepted_campaign);
static const struct member accept_members[] = {MEMBER("a", shape_string),
                                               MEMBER("campaigns", accepted_campaigns),
                                               MEMBER("contract", shape_object),
                                               MEMBER("contract_sha256", shape_digest),
                                               MEMBER("items", accepted_items),
                                               MEMBER("verdict", acceptance_verdict),
                                               {0}};
const struct shape schema_accept = SHAPE_OBJECT_OF(accept_members);

/* ---- power of a contract ---- */

static const struct member chances_members[] = {
    OR_NULL_SAYS("truth", shape_number, "the figure, or the share of units that conform"),
    OR_NULL("accepted", shape_number),
    OR_NULL("rejected", shape_number),
    OR_NULL("inconclusive", shape_number),
    {0}};
static const struct shape chances = SHAPE_OBJECT_OF(chances_members);
static const struct shape characteristic = SHAPE_LIST_OF(chances);
static const struct member fleet_chances_members[] = {MEMBER("units", shape_integer),
                                                      MEMBER("declared", chances),
                                                      MEMBER("characteristic", characteristic),
                                                      {0}};
static const struct shape fleet_chances = SHAPE_OBJECT_OF(fleet_chances_members);
static const struct member contract_item_members[] = {
    MEMBER("workload", shape_string),
    MEMBER("metric", shape_string),
    MEMBER("unit", shape_string),
    MEMBER("declared", shape_number),
    MEMBER("limiting", shape_number),
    MEMBER("alpha", shape_number),
    MEMBER("beta", shape_number),
    MEMBER("trials", shape_integer),
    OR_NULL_SAYS("trials_needed", shape_integer, "that tell both levels apart with both risks"),
    MEMBER("characteristic", characteristic),
    OR_NULL("fleet", fleet_chances),
    {0}};
static const struct shape contract_item = SHAPE_OBJECT_OF(contract_item_members);
static const struct shape contract_items = SHAPE_LIST_OF(contract_item);
static const struct member contract_power_members[] = {
    MEMBER("contract", shape_string),
    MEMBER("contract_sha256", shape_digest),
    MEMBER_SAYS("sd", shape_number, "of logarithms, between trials"),
    MEMBER("items", contract_items),
    MEMBER_SAYS("accepted_as_declared", shape_number,
                "at least so likely are all items accepted that are as declared"),
    {0}};
const struct shape shape_contract_power = SHAPE_OBJECT_OF(contract_power_members);

/* ---- power of a load ---- */

static const struct member request_count_members[] = {
    MEMBER_SAYS("requests", shape_integer, "of a trial, with its warmup"),
    OR_NULL_SAYS("total_s", shape_number, "of all trials"),
    {0}};
static const struct shape request_count = SHAPE_OBJECT_OF(request_count_members);
static const struct member request_need_members[] = {
    MEMBER("figure", shape_string),
    MEMBER_SAYS("tail", shape_number, "share that misses or lies above"),
    MEMBER_SAYS("least", request_count, "from which an interval is given at all"),
    OR_NULL_SAYS("precision", shape_number, "half-width of the share's interval, relative to it"),
    MEMBER_SAYS("wanted", request_count, "for the precision"),
    {0}};
static const struct shape request_need = SHAPE_OBJECT_OF(request_need_members);
static const struct shape request_needs = SHAPE_LIST_OF(request_need);
static const struct member served_rate_members[] = {
    MEMBER("rate", shape_number),
    OR_NULL("load", shape_number),
    OR_NULL_SAYS("relaxation_s", shape_number, "null: the backlog grows"),
    MEMBER("needs", request_needs),
    {0}};
static const struct shape served_rate = SHAPE_OBJECT_OF(served_rate_members);
static const struct shape served_rates = SHAPE_LIST_OF(served_rate);
static const struct member serving_power_members[] = {
    MEMBER("workload", shape_string),   MEMBER("capacity", shape_number),
    MEMBER("precision", shape_number),  MEMBER("margin", shape_number),
    MEMBER("confidence", shape_number), MEMBER("trials", shape_integer),
    MEMBER("rates", served_rates),      {0}};
const struct shape shape_serving_power = SHAPE_OBJECT_OF(serving_power_members);

/* What show, compare, ab, gate, reproduce and analyze write: the whole record, and comparisons. */
#include "harness/cli/schema_data.h"
#include "protocols/compare.h"
#include "protocols/estimate.h"
#include "protocols/serving/change.h"
#include "results/analysis/gate.h"
#include "results/analysis/reproduction.h"

/* An estimate with the name of its series, as analyze has it. */
static const struct member estimate_series_members[] = {
    {.kind = MEMBER_RECORD, .of = &estimate_type},
    SHOWN("series", TEXT),
    OPTIONAL("trial_names", LIST, .of = &type_of_text,
             .help = "as the file has them, in the order of trials"),
};
static const struct type estimate_series = TYPE_SHOWN(estimate_series_members, .def = "series");
static const struct member estimate_row_members[] = {
    SHOWN("id", INTEGER),
    SHOWN("version", INTEGER),
    SHOWN("created_utc_ns", INTEGER),
    SHOWN("created", TEXT),
};
static const struct type estimate_row = TYPE_SHOWN(estimate_row_members);

/* ---- the record of a result ---- */

static const struct member campaign_members[] = {
    SHOWN("id", INTEGER),
    SHOWN("uid", TEXT),
    SHOWN("created_utc_ns", INTEGER),
    SHOWN("created", TEXT),
    OR_NULL("command", TEXT),
    OR_NULL("tool_version", TEXT),
    OR_NULL("tool_digest", TEXT),
    OR_NULL("plan_digest", DIGEST),
};
static const struct type campaign = TYPE_SHOWN(campaign_members);
static const struct member identity_members[] = {
    OR_NULL("workload", TEXT),       OR_NULL("workload_digest", DIGEST),
    OR_NULL("protocol", TEXT),       OR_NULL("protocol_digest", DIGEST),
    OR_NULL("kind", TEXT),           OR_NULL("precision", TEXT),
    OR_NULL("batch", INTEGER),       OR_NULL("scenario", TEXT),
    OR_NULL("implementation", TEXT), OR_NULL("seed", INTEGER),
};
static const struct type identity = TYPE_SHOWN(identity_members);
static const struct member work_members[] = {
    OR_NULL("flops", COUNT),
    OR_NULL("flops_formula", TEXT),
    OR_NULL("bytes", COUNT),
    OR_NULL("bytes_formula", TEXT),
    OR_NULL("items", COUNT),
    OR_NULL("item_name", TEXT),
    OR_NULL("device_memory_bytes", COUNT),
    OR_NULL("working_set_bytes", COUNT),
    OR_NULL("headline", TEXT),
};
static const struct type work = TYPE_SHOWN(work_members);
static const struct member device_members[] = {
    SHOWN("id", INTEGER),    SHOWN("backend", TEXT),
    SHOWN("index", INTEGER), OR_NULL("name", TEXT),
    OR_NULL("vendor", TEXT), OR_NULL("uuid", TEXT),
    OR_NULL("type", TEXT),   OR_NULL("simulated", BOOLEAN),
    SHOWN("digest", DIGEST), SHOWN("readings", RECORD, .of = &shape_readings),
};
static const struct type device = TYPE_SHOWN(device_members);

static const struct member trial_device_members[] = {
    SHOWN("id", INTEGER),
    OR_NULL("name", TEXT),
    SHOWN("digest", DIGEST),
};
static const struct type trial_device = TYPE_SHOWN(trial_device_members);
static const struct member phase_members[] = {
    SHOWN("name", TEXT),
    SHOWN("begin_ns", COUNT, .help = "of the monotonic clock"),
    OR_NULL("end_ns", COUNT),
};
static const struct type phase = TYPE_SHOWN(phase_members);
static const struct member chunk_members[] = {
    SHOWN("name", TEXT),       SHOWN("samples", INTEGER), OR_NULL("minimum", COUNT),
    OR_NULL("maximum", COUNT), SHOWN("chunks", INTEGER),
};
static const struct type chunk = TYPE_SHOWN(chunk_members);
static const struct type *const error_choices[] = {&shape_number, &shape_string, NULL};
static const struct type error_value = {ONE_OF(error_choices)};
static const struct member check_members[] = {
    SHOWN("phase", TEXT),
    SHOWN("output", TEXT),
    SHOWN("metric", TEXT),
    OR_NULL("error", RECORD, .of = &error_value, .help = "text where it is no number: nan, inf"),
    SHOWN("tolerance", REAL),
    OR_NULL("compared", COUNT),
    SHOWN("passed", BOOLEAN),
    OR_NULL("reason", TEXT),
};
static const struct type check = TYPE_SHOWN(check_members);
static const struct member environment_members[] = {
    OPTIONAL("host", RECORD, .of = &shape_readings),
    OPTIONAL("before", RECORD, .of = &shape_readings),
    OPTIONAL("after", RECORD, .of = &shape_readings),
};
static const struct type environment = TYPE_SHOWN(environment_members);
static const struct member component_members[] = {
    SHOWN("at", TEXT),         OR_NULL("path", TEXT),
    OR_NULL("kind", TEXT),     OR_NULL("version", TEXT),
    OR_NULL("build_id", TEXT), OR_NULL("size", COUNT),
    OR_NULL("sha256", DIGEST), OR_NULL("missing_reason", TEXT),
    OR_NULL("package", TEXT),  OR_NULL("package_version", TEXT),
    OR_NULL("manager", TEXT),
};
static const struct type component = TYPE_SHOWN(component_members);
static const struct member channel_members[] = {
    SHOWN("name", TEXT),
    SHOWN("kind", TEXT),
    OPTIONAL("unit", TEXT),
    OPTIONAL_OR_NULL("wraps_at", COUNT),
    OPTIONAL_OR_NULL("bits", ANY),
    OPTIONAL_OR_NULL("source", TEXT),
    OPTIONAL_OR_NULL("reason", TEXT),
};
static const struct type channel = TYPE_SHOWN(channel_members);
static const struct type channel_list = {LIST_OF(channel)};
static const struct type *const channel_choices[] = {&channel_list, &shape_object, NULL};
static const struct type channels = {ONE_OF(channel_choices)};
static const struct member telemetry_members[] = {
    SHOWN("part", TEXT),
    SHOWN("status", RECORD, .of = &shape_status),
    OR_NULL("message", TEXT),
    OR_NULL("channels", RECORD, .of = &channels, .help = "an object where they were withheld"),
    OR_NULL("interval_ns", COUNT),
    OR_NULL("ticks", INTEGER),
    OR_NULL("late_ticks", INTEGER),
    OR_NULL("cpu_ns", COUNT),
    OR_NULL("reading_ns", COUNT),
    OR_NULL("dump", TEXT),
    OR_NULL("begin", RECORD, .of = &shape_readings),
    OR_NULL("end", RECORD, .of = &shape_readings),
};
static const struct type telemetry = TYPE_SHOWN(telemetry_members);
static const struct member artifact_members[] = {
    SHOWN("digest", DIGEST),
    SHOWN("artifact", JSON),
};
static const struct type artifact = TYPE_SHOWN(artifact_members);

static const struct member trial_members[] = {
    SHOWN("id", INTEGER),
    SHOWN("sequence", INTEGER),
    SHOWN("attempt", INTEGER),
    SHOWN("status", TEXT, .help = "the name of a status, or no_end"),
    OR_NULL("message", TEXT),
    OR_NULL("orphan", BOOLEAN, .help = "the harness ended before it"),
    SHOWN("started_utc_ns", INTEGER),
    SHOWN("started", TEXT),
    OR_NULL("ended_utc_ns", INTEGER),
    OR_NULL("iterations_per_sample", INTEGER),
    OR_NULL("window_first", INTEGER),
    OR_NULL("samples", INTEGER),
    OR_NULL("facts", JSON, .help = "what the workload reported of itself"),
    OR_NULL("exit_code", INTEGER),
    OR_NULL("signal", INTEGER),
    OR_NULL("max_rss_bytes", COUNT),
    OR_NULL("device", RECORD, .of = &trial_device),
    SHOWN("phases", LIST, .of = &phase),
    SHOWN("series", LIST, .of = &chunk),
    SHOWN("checks", LIST, .of = &check),
    SHOWN("environment", RECORD, .of = &environment),
    SHOWN("components", LIST, .of = &component),
    SHOWN("telemetry", LIST, .of = &telemetry),
    SHOWN("artifacts", LIST, .of = &artifact),
};
static const struct type trial = TYPE_SHOWN(trial_members);

static const struct member origin_members[] = {
    OR_NULL("file", TEXT),   OR_NULL("sha256", DIGEST), OR_NULL("size", COUNT),
    OR_NULL("format", TEXT), OR_NULL("program", TEXT),  OR_NULL("program_version", TEXT),
    SHOWN("imported", TEXT),
};
static const struct type origin = TYPE_SHOWN(origin_members);
static const struct member imported_members[] = {
    SHOWN("claim", JSON, .help = "what the file says of the result"),
    SHOWN("readings", RECORD, .of = &shape_readings),
    OR_NULL("origin", RECORD, .of = &origin),
};
static const struct type imported = TYPE_SHOWN(imported_members);

static const struct member record_members[] = {
    SHOWN("id", TEXT),
    SHOWN("cell", INTEGER),
    SHOWN("ordinal", INTEGER),
    OR_NULL("backend", TEXT),
    OR_NULL("device_spec", TEXT),
    OR_NULL("device_index", INTEGER),
    OR_NULL("trials_planned", INTEGER),
    OR_NULL("arm", TEXT, .help = "a or b of an A/B"),
    OR_NULL("arm_settings", ANY, .help = "what the arm was given"),
    OR_NULL("worker", ANY, .help = "the framework that measured; null: assay's own kernels"),
    OR_NULL("workload", JSON, .help = "its declaration"),
    OR_NULL("protocol", JSON, .help = "its declaration"),
    SHOWN("campaign", RECORD, .of = &campaign),
    SHOWN("identity", RECORD, .of = &identity),
    SHOWN("cost", RECORD, .of = &work, .help = "of one iteration"),
    OR_NULL("device", RECORD, .of = &device),
    OR_NULL("choices", JSON, .help = "what was chosen once for all of its trials"),
    SHOWN("trials", LIST, .of = &trial),
    OR_NULL("estimate", RECORD, .of = &estimate_type),
    OR_NULL("estimate_row", RECORD, .of = &estimate_row),
    SHOWN("amendments", RECORD, .of = &shape_amendments),
    OR_NULL("imported", RECORD, .of = &imported, .help = "null: measured here"),
    OPTIONAL("peaks", RECORD, .of = &shape_peaks, .help = "shares of declared peaks (--peaks)")};
const struct type schema_show = TYPE_SHOWN(record_members);

/* ---- comparisons ---- */

static const struct member pair_series_members[] = {
    {.kind = MEMBER_RECORD, .of = &comparison_type},
    SHOWN("series", TEXT),
    OPTIONAL("baseline", TEXT),
    OPTIONAL("basis", TEXT),
    OPTIONAL("note", TEXT),
};
static const struct type pair_series = TYPE_SHOWN(pair_series_members);
static const struct type *const series_choices[] = {&estimate_series, &pair_series, NULL};
static const struct type series = {ONE_OF(series_choices)};
const struct type schema_analyze = {LIST_OF(series)};

static const struct member factor_members[] = {
    SHOWN("factor", TEXT), SHOWN("fields", LIST, .of = &type_of_text),
    SHOWN("a", ANY, .help = "what it is in a: a version, a name; null: not known"),
    SHOWN("b", ANY)};
static const struct type factor = TYPE_SHOWN(factor_members);
static const struct member field_members[] = {
    SHOWN("field", TEXT), SHOWN("class", TEXT), OR_NULL("factor", TEXT), SHOWN("state", TEXT),
    SHOWN("a", ANY),      SHOWN("b", ANY),      SHOWN("why", TEXT),
};
static const struct type field = TYPE_SHOWN(field_members);
static const struct member comparability_members[] = {
    SHOWN("verdict", TEXT),
    SHOWN("reasons", LIST, .of = &type_of_text),
    SHOWN("except", LIST, .of = &type_of_text,
          .help = "fields that differ, are not known, or mark both (simulated, a foreign worker)"),
    SHOWN("factors", LIST, .of = &factor),
    OR_NULL("attribution", TEXT),
    SHOWN("brought", LIST, .of = &factor,
          .help = "what differs because of the one thing that the arms set"),
    SHOWN("fields", LIST, .of = &field),
};
static const struct type comparability = TYPE_SHOWN(comparability_members, .def = "comparability");

static const struct member rate_members[] = {
    SHOWN("metric", TEXT), SHOWN("value", FINITE), SHOWN("lo", REAL),
    SHOWN("hi", REAL),     SHOWN("unit", TEXT),    OR_NULL("grade", TEXT),
};
static const struct type rate = TYPE_SHOWN(rate_members);
static const struct member left_out_members[] = {
    SHOWN("trial", INTEGER),
    SHOWN("why", TEXT),
};
static const struct type left_out = TYPE_SHOWN(left_out_members);
static const struct member arm_members[] = {
    SHOWN("id", TEXT),
    OR_NULL("implementation", TEXT),
    OR_NULL("workload", TEXT),
    OR_NULL("precision", TEXT),
    OR_NULL("batch", INTEGER),
    OR_NULL("device_spec", TEXT),
    OR_NULL("device", TEXT),
    OR_NULL("foreign_worker", TEXT),
    OR_NULL("verdict", TEXT),
    OR_NULL("result", RECORD, .of = &rate),
    OR_NULL("planned", INTEGER),
    OR_NULL("counted", INTEGER),
    SHOWN("left_out", LIST, .of = &left_out),
    SHOWN("figures", LIST, .of = &rate, .help = "of a server, what it is compared by; else empty"),
    OR_NULL("capacity", RECORD, .of = &capacity_result_type)};
static const struct type arm = TYPE_SHOWN(arm_members, .def = "arm");

#define COMPARED_MEMBERS                                                                           \
    SHOWN("a", TEXT), SHOWN("b", TEXT), OPTIONAL("arms", LIST, .of = &arm),                        \
        SHOWN("comparability", RECORD, .of = &comparability),                                      \
        SHOWN("separating_runs", LIST, .of = &type_of_text), OR_NULL("attribution", TEXT),         \
        OR_NULL("comparison", RECORD, .of = &comparison_type), OR_NULL("verdict", TEXT),           \
        OPTIONAL("reason", TEXT, .help = "why there are no numbers"), OPTIONAL("note", TEXT),      \
        OPTIONAL("family_of", RECORD, .of = &family_of),                                           \
        OPTIONAL("served", RECORD, .of = &served_change_type,                                      \
                 .help = "of attainment and capacity, in place of comparison"),                    \
        OPTIONAL("by", TEXT, .help = "attainment or capacity; else it is time"),                   \
        OPTIONAL("latency", RECORD, .of = &comparison_type,                                        \
                 .help = "of paired servers: their mean latency")
static const struct member family_of_members[] = {
    OPTIONAL("a", TEXT),    OPTIONAL("b", TEXT),     OPTIONAL("campaign", TEXT),
    SHOWN("size", INTEGER), SHOWN("margin", FINITE), OPTIONAL("by", TEXT),
};
static const struct type family_of = TYPE_SHOWN(family_of_members);
#define FAMILY_MEMBER SHOWN("family", INTEGER, .help = "comparisons that were judged together")
static const struct member compared_members[] = {
    COMPARED_MEMBERS,
};
static const struct type compared = TYPE_SHOWN(compared_members, .def = "compared");
static const struct member compared_campaigns_members[] = {
    SHOWN("a", TEXT),
    SHOWN("b", TEXT),
    FAMILY_MEMBER,
    SHOWN("comparisons", LIST, .of = &compared, .help = "of the cells of both, judged together"),
    SHOWN("only_in_a", LIST, .of = &type_of_text),
    SHOWN("only_in_b", LIST, .of = &type_of_text),
};
static const struct type compared_campaigns = TYPE_SHOWN(compared_campaigns_members);
static const struct member compared_arms_members[] = {
    SHOWN("campaign", TEXT),
    FAMILY_MEMBER,
    SHOWN("comparisons", LIST, .of = &compared, .help = "of both arms, judged together"),
};
static const struct type compared_arms = TYPE_SHOWN(compared_arms_members);
static const struct type *const compare_choices[] = {&compared, &compared_campaigns, &compared_arms,
                                                     NULL};
const struct type schema_compare = {ONE_OF(compare_choices)};
static const struct type *const ab_choices[] = {&compared, &compared_arms, NULL};
const struct type schema_ab = {ONE_OF(ab_choices)};
const struct type schema_matrix = {ONE_OF(ab_choices)};

static const char *const decisions[] = {
#define DECISION_WORD(code, name) name,
    GATE_MAP(DECISION_WORD)
#undef DECISION_WORD
};
static const struct type decision = {WORD_OF(decisions), .def = "decision"};
static const struct member gate_members[] = {
    SHOWN("decision", RECORD, .of = &decision), SHOWN("margin", FINITE), SHOWN("paired", BOOLEAN),
    SHOWN("allow_foreign_worker", BOOLEAN),
    OPTIONAL("by", TEXT, .help = "attainment or capacity; else it is time")};
static const struct type gate = TYPE_SHOWN(gate_members);
static const struct member gated_members[] = {
    COMPARED_MEMBERS,
    SHOWN("gate", RECORD, .of = &gate),
};
static const struct type gated = TYPE_SHOWN(gated_members, .def = "gated");
#define GATED_FAMILY_MEMBERS                                                                       \
    SHOWN("decision", RECORD, .of = &decision, .help = "of all cells together"), FAMILY_MEMBER,    \
        SHOWN("comparisons", LIST, .of = &gated)
static const struct member gated_arms_members[] = {
    SHOWN("campaign", TEXT),
    GATED_FAMILY_MEMBERS,
};
static const struct type gated_arms = TYPE_SHOWN(gated_arms_members);
static const struct member gated_campaigns_members[] = {
    SHOWN("a", TEXT),
    SHOWN("b", TEXT),
    GATED_FAMILY_MEMBERS,
    SHOWN("only_in_a", LIST, .of = &type_of_text),
    SHOWN("only_in_b", LIST, .of = &type_of_text),
};
static const struct type gated_campaigns = TYPE_SHOWN(gated_campaigns_members);
static const struct type *const gate_choices[] = {&gated, &gated_campaigns, &gated_arms, NULL};
const struct type schema_gate = {ONE_OF(gate_choices)};

static const char *const reproductions[] = {
#define REPRODUCTION_WORD(code, name) name,
    REPRODUCTION_MAP(REPRODUCTION_WORD)
#undef REPRODUCTION_WORD
};
static const struct type reproduction = {WORD_OF(reproductions), .def = "reproduction"};
static const struct member repeatability_members[] = {
    SHOWN("count", INTEGER),
    SHOWN("results", LIST, .of = &type_of_text),
    SHOWN("sd_log", REAL),
    SHOWN("df", REAL),
};
static const struct type repeatability = TYPE_SHOWN(repeatability_members);
static const struct member reproduce_members[] = {
    SHOWN("verdict", RECORD, .of = &reproduction),
    SHOWN("margin", FINITE),
    SHOWN("rests_on", TEXT, .help = "what the interval's spread was taken from"),
    OR_NULL("ratio", RECORD, .of = &estimate_interval_type),
    OR_NULL("equivalence_interval", RECORD, .of = &estimate_interval_type),
    OR_NULL("repeatability", RECORD, .of = &repeatability),
};
static const struct type reproduce = TYPE_SHOWN(reproduce_members);
static const struct member reproduced_members[] = {
    SHOWN("verdict", RECORD, .of = &reproduction),
    SHOWN("original", TEXT),
    OR_NULL("again", TEXT),
    OR_NULL("reason", TEXT, .help = "why it is not reproducible here"),
    OR_NULL("comparison", RECORD, .of = &compared),
    OR_NULL("reproduce", RECORD, .of = &reproduce),
};
const struct type schema_reproduce = TYPE_SHOWN(reproduced_members);

/* ---- accept ---- */

static const char *const acceptance_verdicts[] = {"accepted", "rejected", "inconclusive"};
static const struct type acceptance_verdict = {WORD_OF(acceptance_verdicts), .def = "acceptance"};
static const struct member accepted_unit_members[] = {
    SHOWN("result", TEXT),
    OR_NULL("device", TEXT),
    SHOWN("value", REAL),
    SHOWN("best", REAL, .help = "no better than that, with confidence 1 - alpha"),
    SHOWN("worst", REAL, .help = "no worse than that, with confidence 1 - beta"),
    SHOWN("trials", INTEGER),
    SHOWN("verdict", RECORD, .of = &acceptance_verdict),
    OR_NULL("reason", TEXT, .help = "why it decides nothing"),
};
static const struct type accepted_unit = TYPE_SHOWN(accepted_unit_members);
static const struct member accepted_item_members[] = {
    SHOWN("metric", TEXT),
    SHOWN("unit", TEXT),
    SHOWN("declared", FINITE, .help = "in that unit"),
    SHOWN("limiting", FINITE),
    SHOWN("alpha", FINITE),
    SHOWN("beta", FINITE),
    SHOWN("units", LIST, .of = &accepted_unit),
    SHOWN("rejected", INTEGER),
    SHOWN("inconclusive", INTEGER),
    SHOWN("verdict", RECORD, .of = &acceptance_verdict),
    OR_NULL("reason", TEXT),
};
static const struct type accepted_item = TYPE_SHOWN(accepted_item_members);
static const struct member accepted_campaign_members[] = {
    SHOWN("campaign", TEXT),
    SHOWN("planned", BOOLEAN, .help = "this very contract is in its plan"),
    SHOWN("nonce", BOOLEAN, .help = "the plan has the contract's nonce, or none is demanded"),
};
static const struct type accepted_campaign = TYPE_SHOWN(accepted_campaign_members);
static const struct member accept_members[] = {
    SHOWN("a", TEXT),
    SHOWN("campaigns", LIST, .of = &accepted_campaign),
    SHOWN("contract", JSON),
    SHOWN("contract_sha256", DIGEST),
    SHOWN("items", LIST, .of = &accepted_item),
    SHOWN("verdict", RECORD, .of = &acceptance_verdict),
};
const struct type schema_accept = TYPE_SHOWN(accept_members);

/* ---- power of a contract ---- */

static const struct member chances_members[] = {
    SHOWN("truth", REAL, .help = "the figure, or the share of units that conform"),
    SHOWN("accepted", REAL),
    SHOWN("rejected", REAL),
    SHOWN("inconclusive", REAL),
};
static const struct type chances = TYPE_SHOWN(chances_members);
static const struct member fleet_chances_members[] = {
    SHOWN("units", INTEGER),
    SHOWN("declared", RECORD, .of = &chances),
    SHOWN("characteristic", LIST, .of = &chances),
};
static const struct type fleet_chances = TYPE_SHOWN(fleet_chances_members);
static const struct member contract_item_members[] = {
    SHOWN("workload", TEXT),
    SHOWN("metric", TEXT),
    SHOWN("unit", TEXT),
    SHOWN("declared", FINITE),
    SHOWN("limiting", FINITE),
    SHOWN("alpha", FINITE),
    SHOWN("beta", FINITE),
    SHOWN("trials", INTEGER),
    OR_NULL("trials_needed", INTEGER, .help = "that tell both levels apart with both risks"),
    SHOWN("characteristic", LIST, .of = &chances),
    OR_NULL("fleet", RECORD, .of = &fleet_chances),
};
static const struct type contract_item = TYPE_SHOWN(contract_item_members);
static const struct member contract_power_members[] = {
    SHOWN("contract", TEXT),
    SHOWN("contract_sha256", DIGEST),
    SHOWN("sd", FINITE, .help = "of logarithms, between trials"),
    SHOWN("items", LIST, .of = &contract_item),
    SHOWN("accepted_as_declared", FINITE,
          .help = "at least so likely are all items accepted that are as declared"),
};
const struct type shape_contract_power = TYPE_SHOWN(contract_power_members);

/* ---- power of a load ---- */

static const struct member request_count_members[] = {
    SHOWN("requests", INTEGER, .help = "of a trial, with its warmup"),
    SHOWN("total_s", REAL, .help = "of all trials"),
};
static const struct type request_count = TYPE_SHOWN(request_count_members);
static const struct member request_need_members[] = {
    SHOWN("figure", TEXT),
    SHOWN("tail", FINITE, .help = "share that misses or lies above"),
    SHOWN("least", RECORD, .of = &request_count, .help = "from which an interval is given at all"),
    SHOWN("precision", REAL, .help = "half-width of the share's interval, relative to it"),
    SHOWN("wanted", RECORD, .of = &request_count, .help = "for the precision"),
};
static const struct type request_need = TYPE_SHOWN(request_need_members);
static const struct member served_rate_members[] = {
    SHOWN("rate", FINITE),
    SHOWN("load", REAL),
    SHOWN("relaxation_s", REAL, .help = "null: the backlog grows"),
    SHOWN("needs", LIST, .of = &request_need),
};
static const struct type served_rate = TYPE_SHOWN(served_rate_members);
static const struct member serving_power_members[] = {
    SHOWN("workload", TEXT),
    SHOWN("capacity", FINITE),
    SHOWN("precision", FINITE),
    SHOWN("margin", FINITE),
    SHOWN("confidence", FINITE),
    SHOWN("trials", INTEGER),
    SHOWN("rates", LIST, .of = &served_rate),
};
const struct type shape_serving_power = TYPE_SHOWN(serving_power_members);

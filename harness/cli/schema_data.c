/* What the commands that measure, list and keep write: rows of results, machines, evidence. */
#include "harness/cli/schema_data.h"

#include <stddef.h>

#include "harness/core/precision.h"
#include "harness/core/reading.h"
#include "harness/runner/doctor.h"
#include "protocols/metric.h"
#include "results/evidence/verify.h"

static const char *const precisions[] = {
#define PRECISION_WORD(code, name, storage) name,
    PRECISION_MAP(PRECISION_WORD)
#undef PRECISION_WORD
        "unknown", /* of an endpoint */
    NULL};
const struct shape shape_precision = SHAPE_WORD_OF("precision", precisions);

static const char *const reading_statuses[] = {
#define READING_WORD(code, name) name,
    READING_STATUS_MAP(READING_WORD)
#undef READING_WORD
        NULL};
static const struct shape reading_status = SHAPE_WORD_OF("reading_status", reading_statuses);
static const struct shape *const reading_values[] = {&shape_string, &shape_number, NULL};
static const struct shape reading_value = SHAPE_ONE_OF(reading_values);
static const struct member reading_members[] = {
    MEMBER("status", reading_status),
    MEMBER_SAYS("source", shape_string, "what was read or asked"),
    OPTIONAL_OR_NULL("value", reading_value),
    OPTIONAL_OR_NULL("unit", shape_string),
    OPTIONAL_OR_NULL("reason", shape_string),
    {0}};
static const struct shape reading = SHAPE_OBJECT_NAMED("reading", reading_members);
const struct shape shape_readings = {.kind = SHAPE_MAP, .name = "readings", .items = &reading};

/* ---- devices ---- */

static const struct member package_members[] = {MEMBER("manager", shape_string),
                                                MEMBER("name", shape_string),
                                                MEMBER("version", shape_string),
                                                {0}};
static const struct shape package = SHAPE_OBJECT_OF(package_members);
static const struct member library_members[] = {
    OR_NULL("name", shape_string),
    OR_NULL_SAYS("path", shape_string, "the file that was opened; null or empty: none"),
    OR_NULL_SAYS("tried", shape_string, "names that could not be opened, with the reason"),
    OR_NULL("version", shape_string),
    OR_NULL_SAYS("version_reason", shape_string, "why the version is not known"),
    OPTIONAL("sha256", shape_digest),
    OPTIONAL("digest_reason", shape_string),
    OPTIONAL("package", package),
    {0}};
static const struct shape library = SHAPE_OBJECT_OF(library_members);
static const struct shape libraries = SHAPE_LIST_OF(library);

static const struct member answer_members[] = {
    MEMBER("support", shape_string),
    OR_NULL_SAYS("method", shape_string, "how that was found out"),
    OPTIONAL_OR_NULL("library", shape_string),
    OPTIONAL_OR_NULL("version", shape_string),
    OPTIONAL_OR_NULL("algorithm", shape_string),
    {0}};
static const struct shape answer = SHAPE_OBJECT_NAMED("answer", answer_members);
static const struct member support_members[] = {MEMBER("precision", shape_precision),
                                                MEMBER("vendor", answer),
                                                MEMBER("portable", answer),
                                                MEMBER("convolution", answer),
                                                MEMBER("attention", answer),
                                                MEMBER("attention_backward", answer),
                                                {0}};
static const struct shape support = SHAPE_OBJECT_OF(support_members);
static const struct shape supports = SHAPE_LIST_OF(support);

static const struct member device_members[] = {
    MEMBER_SAYS("spec", shape_string, "what --device takes"),
    MEMBER("backend", shape_string),
    MEMBER("index", shape_integer),
    OR_NULL("name", shape_string),
    OR_NULL("vendor", shape_string),
    OR_NULL("uuid", shape_string),
    MEMBER("type", shape_string),
    MEMBER("simulated", shape_boolean),
    MEMBER("memory_bytes", shape_count),
    MEMBER("max_allocation_bytes", shape_count),
    MEMBER("compute_units", shape_integer),
    MEMBER("last_level_cache_bytes", shape_count),
    MEMBER("unified_memory", shape_boolean),
    MEMBER("readings", shape_readings),
    OPTIONAL("precisions", supports),
    {0}};
static const struct shape device = SHAPE_OBJECT_OF(device_members);
static const struct shape devices = SHAPE_LIST_OF(device);
static const struct member unusable_members[] = {
    MEMBER("spec", shape_string), OR_NULL("reason", shape_string), {0}};
static const struct shape unusable = SHAPE_OBJECT_OF(unusable_members);
static const struct shape unusables = SHAPE_LIST_OF(unusable);
static const struct member backend_members[] = {
    MEMBER("backend", shape_string),
    MEMBER("description", shape_string),
    MEMBER_SAYS("hidden", shape_boolean, "it only tests assay itself"),
    MEMBER("available", shape_boolean),
    OR_NULL_SAYS("reason", shape_string, "why it is not available"),
    MEMBER("libraries", libraries),
    OPTIONAL("libraries_reason", shape_string),
    OPTIONAL("failed", shape_boolean), /* the process that asked ended or hung */
    MEMBER("devices", devices),
    MEMBER("unusable", unusables),
    {0}};
static const struct shape backend = SHAPE_OBJECT_OF(backend_members);
const struct shape schema_devices = SHAPE_LIST_OF(backend);

/* ---- doctor ---- */

static const char *const severities[] = {
#define SEVERITY_WORD(code, name) name,
    DOCTOR_SEVERITY_MAP(SEVERITY_WORD)
#undef SEVERITY_WORD
        NULL};
static const struct shape severity = SHAPE_WORD_OF("severity", severities);
static const struct member diagnosis_members[] = {
    MEMBER("check", shape_string),
    MEMBER("severity", severity),
    MEMBER("observed", shape_string),
    MEMBER_SAYS("effect", shape_string, "what it does to results"),
    MEMBER("remedy", shape_string),
    {0}};
static const struct shape diagnosis = SHAPE_OBJECT_OF(diagnosis_members);
static const struct shape diagnoses = SHAPE_LIST_OF(diagnosis);
static const struct member passed_members[] = {
    MEMBER("check", shape_string), MEMBER("observed", shape_string), {0}};
static const struct shape passed = SHAPE_OBJECT_OF(passed_members);
static const struct shape passed_list = SHAPE_LIST_OF(passed);
static const struct member unknown_members[] = {
    MEMBER("check", shape_string), MEMBER("reason", shape_string), {0}};
static const struct shape unknown = SHAPE_OBJECT_OF(unknown_members);
static const struct shape unknown_list = SHAPE_LIST_OF(unknown);
static const struct member jitter_members[] = {
    MEMBER("duration_ns", shape_count), MEMBER("threshold_ns", shape_integer),
    MEMBER("gaps", shape_integer),      MEMBER("lost_ns", shape_count),
    MEMBER("longest_ns", shape_count),  {0}};
static const struct shape jitter = SHAPE_OBJECT_OF(jitter_members);
static const struct member doctor_members[] = {
    MEMBER("version", shape_integer), MEMBER("utc_ns", shape_utc_ns),
    MEMBER("worst", severity),        OR_NULL("host", shape_string),
    MEMBER("devices", shape_strings), MEMBER("findings", diagnoses),
    MEMBER("passed", passed_list),    MEMBER("unknown", unknown_list),
    OR_NULL("jitter", jitter),        {0}};
const struct shape schema_doctor = SHAPE_OBJECT_OF(doctor_members);

/* ---- list, describe ---- */

static const char *const declaration_types[] = {"suite", "workload", "protocol", NULL};
static const struct shape declaration_type = SHAPE_WORD_OF("declaration", declaration_types);
static const struct member listed_members[] = {MEMBER("type", declaration_type),
                                               MEMBER("name", shape_string),
                                               MEMBER("kind", shape_string),
                                               MEMBER("description", shape_string),
                                               {0}};
static const struct shape listed = SHAPE_OBJECT_OF(listed_members);
const struct shape schema_list = SHAPE_LIST_OF(listed);

static const struct member cost_members[] = {MEMBER("precision", shape_precision),
                                             MEMBER("batch", shape_integer),
                                             OR_NULL("flops", shape_count),
                                             OR_NULL("flops_formula", shape_string),
                                             OR_NULL("bytes", shape_count),
                                             OR_NULL("bytes_formula", shape_string),
                                             MEMBER("items", shape_count),
                                             OR_NULL("item_name", shape_string),
                                             MEMBER("device_memory_bytes", shape_count),
                                             MEMBER("working_set_bytes", shape_count),
                                             {0}};
static const struct shape cost = SHAPE_OBJECT_OF(cost_members);
static const struct shape costs = SHAPE_LIST_OF(cost);
static const struct member described_members[] = {
    MEMBER("type", declaration_type),
    MEMBER("digest", shape_digest),
    MEMBER_SAYS("declaration", shape_object, "as it was declared, defaults filled in"),
    {"costs", &costs, MEMBER_OPTIONAL, "of one iteration, for each precision and batch"},
    {0}};
const struct shape schema_describe = SHAPE_OBJECT_OF(described_members);

/* ---- run, results ---- */

static const struct shape shape_metrics = SHAPE_GENERATED_AS("metrics", metrics_schema);
static const struct member row_members[] = {
    MEMBER("id", shape_string),
    MEMBER("cell", shape_integer),
    MEMBER("campaign", shape_integer),
    MEMBER("workload", shape_string),
    OR_NULL("kind", shape_string),
    OR_NULL("precision", shape_string),
    OR_NULL("batch", shape_integer),
    OR_NULL("scenario", shape_string),
    OR_NULL("implementation", shape_string),
    OR_NULL_SAYS("arm", shape_string, "a or b of an A/B"),
    OR_NULL("support", shape_string),
    OR_NULL("library", shape_string),
    OR_NULL("library_version", shape_string),
    OR_NULL("protocol", shape_string),
    OR_NULL("backend", shape_string),
    OR_NULL("device_spec", shape_string),
    OR_NULL("device", shape_string),
    OR_NULL("simulated", shape_boolean),
    MEMBER("trials_ok", shape_integer),
    MEMBER("trials_ended", shape_integer),
    OR_NULL("trials_planned", shape_integer),
    OR_NULL("verdict", shape_string),
    OR_NULL("grade", shape_string),
    OR_NULL_SAYS("metric", shape_string, "the headline: the metric that value, lo and hi are of"),
    OR_NULL("value", shape_number),
    OR_NULL("lo", shape_number),
    OR_NULL("hi", shape_number),
    OR_NULL("unit", shape_string),
    OR_NULL("metrics", shape_metrics),
    OR_NULL("energy_source", shape_string),
    MEMBER("created_utc_ns", shape_utc_ns),
    MEMBER("created", shape_string),
    OR_NULL("workload_digest", shape_digest),
    OR_NULL("protocol_digest", shape_digest),
    OR_NULL("driver_version", shape_string),
    OR_NULL("host", shape_string),
    OR_NULL("tool_version", shape_string),
    OR_NULL_SAYS("imported", shape_string, "the program whose result this is; null: assay's own"),
    OR_NULL_SAYS("foreign_worker", shape_string,
                 "the program that measured in place of assay's own worker; null: none"),
    {0}};
static const struct shape row = SHAPE_OBJECT_NAMED("result", row_members);
const struct shape schema_results = SHAPE_LIST_OF(row);

static const struct member expected_members[] = {
    MEMBER("cells", shape_integer),
    MEMBER("trials", shape_integer),
    MEMBER_SAYS("cells_known", shape_integer, "whose trials the database has times of"),
    MEMBER("least_ns", shape_count),
    OR_NULL("expected_ns", shape_count),
    {0}};
static const struct shape expected = SHAPE_OBJECT_NAMED("expected", expected_members);
static const struct member ran_members[] = {MEMBER("campaign", shape_string),
                                            MEMBER("database", shape_string),
                                            MEMBER("resume_with", shape_string),
                                            MEMBER("trials_ok", shape_integer),
                                            MEMBER("trials_failed", shape_integer),
                                            MEMBER("trials_unsupported", shape_integer),
                                            MEMBER("trials_left", shape_integer),
                                            MEMBER("interrupted", shape_boolean),
                                            MEMBER("results", schema_results),
                                            MEMBER("expected", expected),
                                            {0}};
static const struct shape ran = SHAPE_OBJECT_OF(ran_members);

static const struct member planned_members[] = {MEMBER("ordinal", shape_integer),
                                                MEMBER("workload", shape_string),
                                                MEMBER("workload_digest", shape_digest),
                                                MEMBER("precision", shape_precision),
                                                MEMBER("batch", shape_integer),
                                                MEMBER("scenario", shape_string),
                                                MEMBER("implementation", shape_string),
                                                MEMBER("seed", shape_seed),
                                                MEMBER("device", shape_string),
                                                OR_NULL("spec", shape_object),
                                                OPTIONAL("worker", shape_object),
                                                OPTIONAL("emulate", shape_boolean),
                                                {0}};
static const struct shape planned = SHAPE_OBJECT_OF(planned_members);
static const struct shape planned_list = SHAPE_LIST_OF(planned);
static const struct shape order = SHAPE_LIST_OF(shape_integer);
static const struct member plan_members[] = {
    MEMBER_SAYS("tool", shape_object, "what this build of assay is"),
    MEMBER_SAYS("worker", shape_digest, "SHA-256 of the program that measures"),
    MEMBER("protocol", shape_string),
    MEMBER("protocol_digest", shape_digest),
    MEMBER("order_seed", shape_seed),
    MEMBER("cells", planned_list),
    MEMBER_SAYS("order", order, "ordinals of the cells, trial by trial"),
    OR_NULL("nonce", shape_string),
    OPTIONAL("question", shape_string),
    OPTIONAL("contract", shape_object),
    MEMBER("expected", expected),
    {0}};
static const struct shape plan = SHAPE_OBJECT_OF(plan_members);
static const struct member recorded_members[] = {
    MEMBER("campaign", shape_string),
    MEMBER("database", shape_string),
    MEMBER("run_with", shape_string),
    MEMBER_SAYS("checkpoint", shape_integer, "of the plan's head"),
    MEMBER_SAYS("size", shape_integer, "records of the log"),
    MEMBER("root", shape_digest),
    MEMBER_SAYS("note", shape_string, "the head as a signed note, which a witness cosigns"),
    {0}};
static const struct shape recorded = SHAPE_OBJECT_OF(recorded_members);
static const struct shape *const run_choices[] = {&ran, &plan, &recorded, NULL};
const struct shape schema_run = SHAPE_ONE_OF(run_choices);

/* ---- power, calibrate ---- */

static const struct member percentile_members[] = {
    MEMBER("percentile", shape_string), MEMBER("samples", shape_integer), {0}};
static const struct shape percentile = SHAPE_OBJECT_OF(percentile_members);
static const struct shape percentiles = SHAPE_LIST_OF(percentile);
static const struct member power_members[] = {
    MEMBER("source", shape_string),
    OR_NULL_SAYS("process_sd", shape_number, "of log time, between processes"),
    OR_NULL_SAYS("process_df", shape_number,
                 "degrees of freedom that it was estimated on; null: it was given"),
    OR_NULL_SAYS("pair_sd", shape_number, "of log time, of a pair's difference"),
    OR_NULL("pair_df", shape_number),
    MEMBER("margin", shape_number),
    MEMBER("power", shape_number),
    MEMBER("confidence", shape_number),
    OR_NULL("trials_for_precision", shape_integer),
    OR_NULL("pairs_for_difference", shape_integer),
    OR_NULL("pairs_for_equivalence", shape_integer),
    MEMBER_SAYS("samples_for_percentiles", percentiles,
                "effective sample size that each trial needs, for an interval between trials"),
    {0}};
static const struct shape power = SHAPE_OBJECT_OF(power_members);
static const struct shape *const power_choices[] = {&power, &shape_contract_power,
                                                    &shape_serving_power, NULL};
const struct shape schema_power = SHAPE_ONE_OF(power_choices);

static const struct member self_comparison_members[] = {
    MEMBER("workload", shape_string),
    MEMBER("campaign", shape_string),
    MEMBER("margin", shape_number),
    {"reason", &shape_string, MEMBER_OPTIONAL, "why there are no numbers"},
    OPTIONAL_OR_NULL("ratio", shape_number),
    OPTIONAL_OR_NULL("sd_log", shape_number),
    OPTIONAL("differs", shape_boolean),
    OPTIONAL("verdict", shape_string),
    OPTIONAL("blocked_differs", shape_boolean),
    {0}};
static const struct shape self_comparison = SHAPE_OBJECT_OF(self_comparison_members);
static const struct shape self_comparisons = SHAPE_LIST_OF(self_comparison);
static const struct member calibration_members[] = {
    MEMBER("clock_resolution_ns", shape_integer),
    MEMBER("clock_read_ns", shape_number),
    MEMBER("sample_overhead_ns", shape_number),
    MEMBER("comparisons", shape_integer),
    MEMBER("without_numbers", shape_integer),
    MEMBER_SAYS("paired_different", shape_integer, "whose interval excludes no difference"),
    MEMBER_SAYS("paired_verdicts", shape_integer, "called faster or slower"),
    MEMBER_SAYS("blocked_different", shape_integer, "as if one arm had run after the other"),
    MEMBER("rows", self_comparisons),
    {0}};
const struct shape schema_calibrate = SHAPE_OBJECT_OF(calibration_members);

/* ---- evidence ---- */

static const char *const checks[] = {
#define CHECK_WORD(code, name, meaning) name,
    VERIFY_CHECK_MAP(CHECK_WORD)
#undef CHECK_WORD
        NULL};
static const struct shape check = SHAPE_WORD_OF("check", checks);
static const char *const levels[] = {"wrong", "note", NULL};
static const struct shape level = SHAPE_WORD_OF("level", levels);
static const struct member verify_finding_members[] = {
    MEMBER("level", level),       MEMBER("check", check),          OR_NULL("table", shape_string),
    OR_NULL("key", shape_string), MEMBER("message", shape_string), {0}};
static const struct shape verify_finding = SHAPE_OBJECT_OF(verify_finding_members);
static const struct shape verify_findings = SHAPE_LIST_OF(verify_finding);
static const struct member seen_by_members[] = {
    MEMBER_SAYS("name", shape_string, "of the witness, from the roster"),
    MEMBER_SAYS("id", shape_string, "of its key"),
    MEMBER_SAYS("utc_ns", shape_utc_ns, "when it cosigned the plan's head, by its clock"),
    MEMBER("before_first_trial", shape_boolean),
    {0}};
static const struct shape seen_by = SHAPE_OBJECT_OF(seen_by_members);
static const struct shape seen_by_list = SHAPE_LIST_OF(seen_by);
static const struct member witnessed_members[] = {
    MEMBER("campaign", shape_string),
    MEMBER_SAYS("witnessed_before_first_trial", shape_boolean,
                "by as many witnesses as --witnesses asks for, else by one"),
    MEMBER("witnesses", seen_by_list),
    MEMBER_SAYS("unknown_cosignatures", shape_integer, "of keys that no roster names"),
    OR_NULL_SAYS("first_trial_utc_ns", shape_utc_ns, "by the file's clock; null: no trial"),
    {0}};
static const struct shape witnessed = SHAPE_OBJECT_OF(witnessed_members);
static const struct shape witnessed_list = SHAPE_LIST_OF(witnessed);
static const struct member verify_campaign_members[] = {
    MEMBER("uid", shape_string),
    MEMBER_SAYS("origin", shape_string, "its log"),
    MEMBER_SAYS("planned", shape_integer, "trials"),
    MEMBER_SAYS("retried", shape_integer, "attempts after the first"),
    MEMBER_SAYS("not_ok", shape_integer, "attempts that did not end well"),
    MEMBER_SAYS("no_end", shape_integer, "attempts without an end"),
    MEMBER_SAYS("resumed", shape_integer, "times"),
    MEMBER("archived", shape_boolean),
    OR_NULL("state", shape_string),
    MEMBER_SAYS("same_cells", shape_integer,
                "campaigns of its log with the same protocol and cells"),
    MEMBER_SAYS("same_cells_here", shape_integer, "of them in this file"),
    {0}};
static const struct shape verify_campaign = SHAPE_OBJECT_OF(verify_campaign_members);
static const struct shape verify_campaigns = SHAPE_LIST_OF(verify_campaign);
static const struct shape verify_withheld = {.kind = SHAPE_MAP, .items = &shape_integer};
static const struct member verify_log_members[] = {
    MEMBER("origin", shape_string),
    MEMBER_SAYS("records", shape_integer, "of the log, under the bundle's head"),
    MEMBER_SAYS("records_here", shape_integer, "in this file"),
    OR_NULL("campaigns", shape_integer),
    MEMBER("campaigns_here", shape_integer),
    MEMBER_SAYS("withheld", verify_withheld, "how many values, by name"),
    {0}};
static const struct shape verify_log = SHAPE_OBJECT_OF(verify_log_members);
static const struct shape verify_logs = SHAPE_LIST_OF(verify_log);
static const struct member verify_shown_members[] = {
    MEMBER("campaigns", verify_campaigns), MEMBER_SAYS("logs", verify_logs, "of bundles"), {0}};
static const struct shape verify_shown = SHAPE_OBJECT_OF(verify_shown_members);
static const char *const verify_states[] = {"verified", "not_verified", "could_not_verify", NULL};
static const struct shape verify_state = SHAPE_WORD_OF("verify_state", verify_states);
static const struct member verify_members[] = {
    MEMBER("file", shape_string),
    MEMBER_SAYS("verified", shape_boolean, "nothing is wrong, and all could be checked"),
    MEMBER_SAYS(
        "state", verify_state,
        "could_not_verify: the system refused memory or files, and nothing is known of what "
        "was not checked"),
    MEMBER("schema_version", shape_integer),
    MEMBER("origin", shape_string),
    MEMBER("leaves", shape_integer),
    MEMBER("root", shape_digest),
    MEMBER("records", shape_integer),
    MEMBER("bytes", shape_integer),
    MEMBER("checkpoints", shape_integer),
    MEMBER("signatures", shape_integer),
    MEMBER("trusted_signatures", shape_integer),
    MEMBER("signed_leaves", shape_integer),
    MEMBER_SAYS("estimates", shape_integer, "recomputed from the samples"),
    MEMBER_SAYS("comparisons", shape_integer, "recomputed from the samples"),
    MEMBER("wrong", shape_integer),
    MEMBER("notes", shape_integer),
    MEMBER("seconds", shape_number),
    {"campaigns", &witnessed_list, 0, "who witnessed their plans"},
    MEMBER("findings", verify_findings),
    MEMBER_SAYS("shown", verify_shown, "what of the logs is here, and what is not"),
    {0}};
const struct shape schema_verify = SHAPE_OBJECT_OF(verify_members);

static const struct member bundle_members[] = {
    MEMBER("bundle", shape_string),    MEMBER("records", shape_integer),
    MEMBER("withheld", shape_integer), MEMBER_SAYS("size", shape_integer, "records of the log"),
    MEMBER("root", shape_digest),      MEMBER("sha256", shape_digest),
    MEMBER("signed", shape_boolean),   {0}};
const struct shape schema_bundle = SHAPE_OBJECT_OF(bundle_members);

static const struct member import_members[] = {
    MEMBER("file", shape_string),
    OR_NULL("campaign", shape_string),
    MEMBER("campaigns", shape_strings),
    MEMBER("results", shape_integer),
    MEMBER("program", shape_string),
    MEMBER_SAYS("known", shape_boolean, "imported before; nothing was added"),
    MEMBER_SAYS("left_out", shape_integer, "entries that failed or are malformed"),
    {0}};
static const struct shape import = SHAPE_OBJECT_OF(import_members);
const struct shape schema_import = SHAPE_LIST_OF(import);

static const struct member checkpoint_members[] = {
    MEMBER("checkpoint", shape_integer), MEMBER_SAYS("size", shape_integer, "records of the log"),
    MEMBER("root", shape_digest),        MEMBER("utc_ns", shape_utc_ns),
    MEMBER("kind", shape_string),        MEMBER("origin", shape_string),
    MEMBER("note", shape_string),        {0}};
const struct shape schema_checkpoint = SHAPE_OBJECT_OF(checkpoint_members);

static const struct member amendment_members[] = {
    MEMBER("amendment", shape_integer), MEMBER("utc_ns", shape_utc_ns),
    MEMBER("created", shape_string),    OR_NULL("author", shape_string),
    OR_NULL("reason", shape_string),    {0}};
static const struct shape amendment = SHAPE_OBJECT_NAMED("amendment", amendment_members);
const struct shape shape_amendments = SHAPE_LIST_OF(amendment);
static const struct member amended_members[] = {
    MEMBER("id", shape_string),
    MEMBER_SAYS("amendments", shape_amendments, "all of the result, the new one included"),
    {0}};
const struct shape schema_amend = SHAPE_OBJECT_OF(amended_members);

static const struct member key_members[] = {MEMBER("name", shape_string),
                                            MEMBER("id", shape_string),
                                            MEMBER("public_key", shape_string),
                                            OR_NULL("file", shape_string),
                                            {0}};
static const struct shape key = SHAPE_OBJECT_NAMED("key", key_members);
static const struct shape keys = SHAPE_LIST_OF(key);
static const struct shape *const key_choices[] = {&key, &keys, NULL};
const struct shape schema_key = SHAPE_ONE_OF(key_choices);

static const struct member schema_members[] = {
    MEMBER("command", shape_string),
    MEMBER("id", shape_string),
    OR_NULL_SAYS("schema", shape_object, "null in the list of all"),
    {0}};
static const struct shape schema_row = SHAPE_OBJECT_OF(schema_members);
const struct shape schema_schema = SHAPE_LIST_OF(schema_row);

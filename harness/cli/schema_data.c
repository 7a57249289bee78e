/* What the commands that measure, list and keep write: rows of results, machines, evidence. */
#include "harness/cli/schema_data.h"

#include <stddef.h>

#include "harness/core/precision.h"
#include "harness/core/reading.h"
#include "harness/core/shape.h"
#include "harness/runner/doctor.h"
#include "harness/runner/expected.h"
#include "harness/runner/probe.h"
#include "protocols/contract.h"
#include "protocols/serving/power.h"
#include "results/analysis/calibration.h"
#include "results/analysis/history.h"
#include "results/evidence/verify.h"
#include "results/store/store.h"

static const char *const precisions[] = {
#define PRECISION_WORD(code, name, storage) name,
    PRECISION_MAP(PRECISION_WORD)
#undef PRECISION_WORD
        "unknown", /* of an endpoint */
};
static const struct type precision = {WORD_OF(precisions), .def = "precision"};

/* ---- devices ---- */

static const struct type package = TYPE_OF({
    SHOWN("manager", TEXT),
    SHOWN("name", TEXT),
    SHOWN("version", TEXT),
});
static const struct type library = TYPE_OF({
    MEMBER_ALL_OF(probe_library_type),
    OPTIONAL("sha256", DIGEST),
    OPTIONAL("digest_reason", TEXT),
    OPTIONAL("package", RECORD, .of = &package),
});

static const struct member answer_members[] = {
    SHOWN("support", TEXT),
    OR_NULL("method", TEXT, .help = "how that was found out"),
    OPTIONAL_OR_NULL("library", TEXT),
    OPTIONAL_OR_NULL("version", TEXT),
    OPTIONAL_OR_NULL("algorithm", TEXT),
};
static const struct type answer = TYPE_OF_MEMBERS(answer_members, .def = "answer");
static const struct type support = TYPE_OF({
    SHOWN("precision", RECORD, .of = &precision),
    SHOWN("vendor", RECORD, .of = &answer),
    SHOWN("portable", RECORD, .of = &answer),
    SHOWN("convolution", RECORD, .of = &answer),
    SHOWN("attention", RECORD, .of = &answer),
    SHOWN("attention_backward", RECORD, .of = &answer),
});

static const struct type device = TYPE_OF({
    SHOWN("spec", TEXT, .help = "what --device takes"),
    SHOWN("backend", TEXT),
    SHOWN("index", INTEGER),
    OR_NULL("name", TEXT),
    OR_NULL("vendor", TEXT),
    OR_NULL("uuid", TEXT),
    SHOWN("type", TEXT),
    SHOWN("simulated", BOOLEAN),
    SHOWN("memory_bytes", COUNT),
    SHOWN("max_allocation_bytes", COUNT),
    SHOWN("compute_units", INTEGER),
    SHOWN("last_level_cache_bytes", COUNT),
    SHOWN("unified_memory", BOOLEAN),
    SHOWN("readings", RECORD, .of = &reading_list_type),
    OPTIONAL("precisions", LIST, .of = &support),
});
static const struct type unusable = TYPE_OF({
    SHOWN("spec", TEXT),
    OR_NULL("reason", TEXT),
});
static const struct type backend = TYPE_OF({
    SHOWN("backend", TEXT),
    SHOWN("description", TEXT),
    SHOWN("hidden", BOOLEAN, .help = "it only tests assay itself"),
    SHOWN("available", BOOLEAN),
    OR_NULL("reason", TEXT, .help = "why it is not available"),
    SHOWN("libraries", LIST, .of = &library),
    OPTIONAL("libraries_reason", TEXT),
    OPTIONAL("failed", BOOLEAN), /* the process that asked ended or hung */
    SHOWN("devices", LIST, .of = &device),
    SHOWN("unusable", LIST, .of = &unusable),
});
const struct type schema_devices = {LIST_OF(backend)};

/* ---- doctor ---- */

static const char *const severities[] = {
#define SEVERITY_WORD(code, name) name,
    FINDING_SEVERITY_MAP(SEVERITY_WORD)
#undef SEVERITY_WORD
};
static const struct type severity = {WORD_OF(severities), .def = "severity"};
static const struct type diagnosis = TYPE_OF({
    SHOWN("check", TEXT),
    SHOWN("severity", RECORD, .of = &severity),
    SHOWN("observed", TEXT),
    SHOWN("effect", TEXT, .help = "what it does to results"),
    SHOWN("remedy", TEXT),
});
static const struct type passed = TYPE_OF({
    SHOWN("check", TEXT),
    SHOWN("observed", TEXT),
});
static const struct type unknown = TYPE_OF({
    SHOWN("check", TEXT),
    SHOWN("reason", TEXT),
});
const struct type schema_doctor = TYPE_OF({
    SHOWN("version", INTEGER),
    SHOWN("utc_ns", INTEGER),
    SHOWN("worst", RECORD, .of = &severity),
    OR_NULL("host", TEXT),
    SHOWN("devices", LIST, .of = &type_of_text),
    SHOWN("findings", LIST, .of = &diagnosis),
    SHOWN("passed", LIST, .of = &passed),
    SHOWN("unknown", LIST, .of = &unknown),
    OR_NULL("jitter", RECORD, .of = &doctor_jitter_type),
});

/* ---- list, describe ---- */

static const char *const declaration_types[] = {"suite", "workload", "protocol"};
static const struct type declaration_type = {WORD_OF(declaration_types), .def = "declaration"};
static const struct type listed = TYPE_OF({
    SHOWN("type", RECORD, .of = &declaration_type),
    SHOWN("name", TEXT),
    SHOWN("kind", TEXT),
    SHOWN("description", TEXT),
});
const struct type schema_list = {LIST_OF(listed)};

static const struct type template_type = TYPE_OF({
    SHOWN("type", TEXT),
    SHOWN("file", TEXT, .help = "that was written, or would be"),
    SHOWN("about", TEXT),
    SHOWN("next", TEXT, .help = "a command that uses the file"),
});
const struct type schema_init = {LIST_OF(template_type)};

static const struct type cost = TYPE_OF({
    SHOWN("precision", RECORD, .of = &precision),
    SHOWN("batch", INTEGER),
    MEMBER_ALL_OF(workload_cost_type),
});
const struct type schema_describe = TYPE_OF({
    SHOWN("type", RECORD, .of = &declaration_type),
    SHOWN("digest", DIGEST),
    SHOWN("declaration", JSON, .help = "as it was declared, defaults filled in"),
    OPTIONAL("costs", LIST, .of = &cost, .help = "of one iteration, for each precision and batch"),
});

/* ---- run, results ---- */

const struct type schema_results = {LIST_OF(store_result_type)};

static const struct type ran = TYPE_OF({
    SHOWN("campaign", TEXT),
    SHOWN("database", TEXT),
    SHOWN("resume_with", TEXT),
    SHOWN("trials_ok", INTEGER),
    SHOWN("trials_failed", INTEGER),
    SHOWN("trials_unsupported", INTEGER),
    SHOWN("trials_left", INTEGER),
    SHOWN("interrupted", BOOLEAN),
    SHOWN("results", RECORD, .of = &schema_results),
    SHOWN("expected", RECORD, .of = &expected_type),
});

static const struct type planned = TYPE_OF({
    SHOWN("ordinal", INTEGER),
    SHOWN("workload", TEXT),
    SHOWN("workload_digest", DIGEST),
    SHOWN("precision", RECORD, .of = &precision),
    SHOWN("batch", INTEGER),
    SHOWN("scenario", TEXT),
    SHOWN("implementation", TEXT),
    SHOWN("seed", INTEGER),
    SHOWN("device", TEXT),
    OR_NULL("spec", JSON),
    OPTIONAL("worker", JSON),
    OPTIONAL("emulate", BOOLEAN),
});
static const struct type plan = TYPE_OF({
    SHOWN("tool", JSON, .help = "what this build of assay is"),
    SHOWN("worker", DIGEST, .help = "SHA-256 of the program that measures"),
    SHOWN("protocol", TEXT),
    SHOWN("protocol_digest", DIGEST),
    SHOWN("order_seed", INTEGER),
    SHOWN("cells", LIST, .of = &planned),
    SHOWN("order", LIST, .of = &type_of_integer, .help = "ordinals of the cells, trial by trial"),
    OR_NULL("nonce", TEXT),
    OPTIONAL("question", TEXT),
    OPTIONAL("contract", JSON),
    SHOWN("expected", RECORD, .of = &expected_type),
});
static const struct type recorded = TYPE_OF({
    SHOWN("campaign", TEXT),
    SHOWN("database", TEXT),
    SHOWN("run_with", TEXT),
    SHOWN("checkpoint", INTEGER, .help = "of the plan's head"),
    SHOWN("size", INTEGER, .help = "records of the log"),
    SHOWN("root", DIGEST),
    SHOWN("note", TEXT, .help = "the head as a signed note, which a witness cosigns"),
});
static const struct type *const run_choices[] = {&ran, &plan, &recorded, NULL};
const struct type schema_run = {ONE_OF(run_choices)};
const struct type schema_time = {ONE_OF(run_choices)};

/* ---- power, calibrate ---- */

static const struct type percentile = TYPE_OF({
    SHOWN("percentile", TEXT),
    SHOWN("samples", INTEGER),
});
static const struct type power = TYPE_OF({
    SHOWN("source", TEXT),
    SHOWN("process_sd", REAL, .help = "of log time, between processes"),
    SHOWN("process_df", REAL,
          .help = "degrees of freedom that it was estimated on; null: it was given"),
    SHOWN("pair_sd", REAL, .help = "of log time, of a pair's difference"),
    SHOWN("pair_df", REAL),
    SHOWN("margin", FINITE),
    SHOWN("power", FINITE),
    SHOWN("confidence", FINITE),
    OR_NULL("trials_for_precision", INTEGER),
    OR_NULL("pairs_for_difference", INTEGER),
    OR_NULL("pairs_for_equivalence", INTEGER),
    SHOWN("samples_for_percentiles", LIST, .of = &percentile,
          .help = "effective sample size that each trial needs, for an interval between trials"),
});
static const struct type *const power_choices[] = {&power, &contract_power_type,
                                                   &serving_power_type, NULL};
const struct type schema_power = {ONE_OF(power_choices)};

const struct type schema_calibrate = {RECORD_OF(calibration_type)};

/* ---- history ---- */

const struct type schema_history = {LIST_OF(history_type)};

/* ---- evidence ---- */

static const char *const checks[] = {
#define CHECK_WORD(code, name, meaning) name,
    VERIFY_CHECK_MAP(CHECK_WORD)
#undef CHECK_WORD
};
static const struct type check = {WORD_OF(checks), .def = "check"};
static const char *const levels[] = {"wrong", "unverified", "note"};
static const struct type level = {WORD_OF(levels), .def = "level"};
static const struct type verify_finding = TYPE_OF({
    SHOWN("code", TEXT, .help = "of the rule that is broken; it does not change"),
    SHOWN("level", RECORD, .of = &level),
    SHOWN("check", RECORD, .of = &check),
    OR_NULL("table", TEXT),
    OR_NULL("key", TEXT),
    SHOWN("message", TEXT),
});
static const struct type seen_by = TYPE_OF({
    SHOWN("name", TEXT, .help = "of the witness, from the roster"),
    SHOWN("id", TEXT, .help = "of its key"),
    SHOWN("utc_ns", INTEGER, .help = "when it cosigned the plan's head, by its clock"),
    SHOWN("before_first_trial", BOOLEAN),
    OR_NULL("end_utc_ns", INTEGER, .help = "when it cosigned the end's head; null: it did not"),
    OR_NULL("elapsed_least_ns", INTEGER,
            .help = "from plan to end by the file's clock, at the least; null: not known"),
    OR_NULL("elapsed_most_ns", INTEGER, .help = "at the most"),
});
static const struct type witnessed = TYPE_OF({
    SHOWN("campaign", TEXT),
    SHOWN("witnessed_before_first_trial", BOOLEAN,
          .help = "by as many witnesses as --witnesses asks for, else by one"),
    SHOWN("witnesses", LIST, .of = &seen_by),
    SHOWN("unknown_cosignatures", INTEGER, .help = "of keys that no roster names"),
    OR_NULL("first_trial_utc_ns", INTEGER, .help = "by the file's clock; null: no trial"),
});
static const struct type verify_campaign = TYPE_OF({
    SHOWN("uid", TEXT),
    SHOWN("origin", TEXT, .help = "its log"),
    SHOWN("planned", INTEGER, .help = "trials"),
    SHOWN("retried", INTEGER, .help = "attempts after the first"),
    SHOWN("not_ok", INTEGER, .help = "attempts that did not end well"),
    SHOWN("no_end", INTEGER, .help = "attempts without an end"),
    SHOWN("resumed", INTEGER, .help = "times"),
    SHOWN("archived", BOOLEAN),
    OR_NULL("state", TEXT),
    SHOWN("same_cells", INTEGER, .help = "campaigns of its log with the same protocol and cells"),
    SHOWN("same_cells_here", INTEGER, .help = "of them in this file"),
});
static const struct type verify_log = TYPE_OF({
    SHOWN("origin", TEXT),
    SHOWN("records", INTEGER, .help = "of the log, under the bundle's head"),
    SHOWN("records_here", INTEGER, .help = "in this file"),
    OR_NULL("campaigns", INTEGER),
    SHOWN("campaigns_here", INTEGER),
    SHOWN("withheld", JSON, .of = &type_of_integer, .help = "how many values, by name"),
});
static const struct type verify_shown = TYPE_OF({
    SHOWN("campaigns", LIST, .of = &verify_campaign),
    SHOWN("logs", LIST, .of = &verify_log, .help = "of bundles"),
});
static const char *const verify_states[] = {"verified", "not_verified", "could_not_verify"};
static const struct type verify_state = {WORD_OF(verify_states), .def = "verify_state"};
const struct type schema_verify = TYPE_OF({
    SHOWN("file", TEXT),
    SHOWN("verified", BOOLEAN, .help = "nothing is wrong, and all could be checked"),
    SHOWN("state", RECORD, .of = &verify_state,
          .help =
              "could_not_verify: nothing that was checked is wrong, and nothing is known of the "
              "rest: "
              "the system refused memory or files, or another version made it (level unverified)"),
    MEMBER_ALL_OF(verify_summary_type),
    SHOWN("campaigns", LIST, .of = &witnessed, .help = "who witnessed their plans"),
    SHOWN("findings", LIST, .of = &verify_finding),
    SHOWN("shown", RECORD, .of = &verify_shown,
          .help = "what of the logs is here, and what is not"),
});

const struct type schema_bundle = TYPE_OF({
    SHOWN("bundle", TEXT),
    SHOWN("records", INTEGER),
    SHOWN("withheld", INTEGER),
    SHOWN("size", INTEGER, .help = "records of the log"),
    SHOWN("root", DIGEST),
    SHOWN("sha256", DIGEST),
    SHOWN("signed", BOOLEAN),
});

static const struct type import = TYPE_OF({
    SHOWN("file", TEXT),
    OR_NULL("campaign", TEXT),
    SHOWN("campaigns", LIST, .of = &type_of_text),
    SHOWN("results", INTEGER),
    SHOWN("program", TEXT),
    SHOWN("known", BOOLEAN, .help = "imported before; nothing was added"),
    SHOWN("left_out", INTEGER, .help = "entries that failed or are malformed"),
});
const struct type schema_import = {LIST_OF(import)};

const struct type schema_checkpoint = TYPE_OF({
    SHOWN("checkpoint", INTEGER),
    SHOWN("size", INTEGER, .help = "records of the log"),
    SHOWN("root", DIGEST),
    SHOWN("utc_ns", INTEGER),
    SHOWN("kind", TEXT),
    SHOWN("origin", TEXT),
    SHOWN("note", TEXT),
});

const struct type schema_amend = TYPE_OF({
    SHOWN("id", TEXT),
    SHOWN("amendments", LIST, .of = &store_amendment_type,
          .help = "all of the result, the new one included"),
});

static const struct member key_members[] = {
    SHOWN("name", TEXT),
    SHOWN("id", TEXT),
    SHOWN("public_key", TEXT),
    OR_NULL("file", TEXT),
};
static const struct type key = TYPE_OF_MEMBERS(key_members, .def = "key");
static const struct type keys = {LIST_OF(key)};
static const struct type *const key_choices[] = {&key, &keys, NULL};
const struct type schema_key = {ONE_OF(key_choices)};

static const struct type schema_row = TYPE_OF({
    SHOWN("command", TEXT),
    SHOWN("id", TEXT),
    OR_NULL("schema", JSON, .help = "null in the list of all"),
});
const struct type schema_schema = {LIST_OF(schema_row)};

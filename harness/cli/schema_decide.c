/* What the commands that price, decide and plan write. */
#include <stddef.h>

#include "harness/cli/schema_data.h"
#include "protocols/cost.h"
#include "protocols/decision.h"
#include "protocols/serving/change.h"

/* ---- cost ---- */

static const struct member cost_part_members[] = {
    SHOWN("line", INTEGER, .help = "of the price sheet"),
    SHOWN("item", TEXT),
    SHOWN("kind", TEXT),
    SHOWN("hourly", RECORD, .of = &cost_range_type, .help = "in the sheet's currency"),
};
static const struct type cost_part = TYPE_OF_MEMBERS(cost_part_members);
static const struct member cost_figure_members[] = {
    SHOWN("metric", TEXT),
    SHOWN("per", TEXT, .help = "how much work it is of"),
    SHOWN("cost", RECORD, .of = &cost_range_type),
    SHOWN("measured_share", REAL,
          .help = "of the logarithmic width between the bounds, what comes from the measurement"),
};
static const struct type cost_figure = TYPE_OF_MEMBERS(cost_figure_members);
static const struct member cost_option_members[] = {
    SHOWN("item", TEXT),
    SHOWN("line", INTEGER),
    SHOWN("kind", TEXT),
    SHOWN("parts", LIST, .of = &cost_part),
    SHOWN("hourly", RECORD, .of = &cost_range_type),
    SHOWN("figures", LIST, .of = &cost_figure),
};
static const struct type cost_option = TYPE_OF_MEMBERS(cost_option_members);
static const struct member cost_note_members[] = {
    SHOWN("code", TEXT),
    OR_NULL("line", INTEGER),
    SHOWN("text", TEXT),
};
static const struct type cost_note = TYPE_OF_MEMBERS(cost_note_members);
static const struct member price_rows_members[] = {
    SHOWN("currency", TEXT),
    SHOWN("sha256", DIGEST),
    SHOWN("rows", LIST, .of = &type_of_object, .help = "of the sheet, those that count"),
};
static const struct type price_rows = TYPE_OF_MEMBERS(price_rows_members);
static const struct member cost_assumption_members[] = {
    SHOWN("as_of", TEXT),         SHOWN("discount", FINITE), SHOWN("pue", FINITE),
    SHOWN("utilisation", FINITE), OR_NULL("item", TEXT),
};
static const struct type cost_assumptions = TYPE_OF_MEMBERS(cost_assumption_members);
static const struct member priced_members[] = {
    SHOWN("a", TEXT),
    OR_NULL("device", TEXT),
    SHOWN("metrics_of", TEXT),
    SHOWN("assumptions", RECORD, .of = &cost_assumptions),
    SHOWN("prices", RECORD, .of = &price_rows),
    SHOWN("options", LIST, .of = &cost_option),
    SHOWN("notes", LIST, .of = &cost_note),
};
static const struct type priced = TYPE_OF_MEMBERS(priced_members);
const struct type schema_cost = {LIST_OF(priced)};

/* ---- decide ---- */

static const char *const decision_standings[] = {
#define STANDING_WORD(code, name) name,
    DECISION_STANDING_MAP(STANDING_WORD)
#undef STANDING_WORD
};
static const struct type decision_standing = {WORD_OF(decision_standings), .def = "standing"};
static const char *const decision_verdicts[] = {
#define DECISION_WORD(code, name) name,
    DECISION_VERDICT_MAP(DECISION_WORD)
#undef DECISION_WORD
};
static const struct type decision_verdict = {WORD_OF(decision_verdicts), .def = "decision"};
static const char *const decision_mets[] = {"missed", "open", "met"};
static const struct type decision_met = {WORD_OF(decision_mets), .def = "met"};
static const struct member decided_figure_members[] = {
    SHOWN("name", TEXT),
    SHOWN("unit", TEXT),
    SHOWN("better", TEXT, .help = "\"higher\" or \"lower\""),
    SHOWN("objective", BOOLEAN, .help = "else only a requirement"),
};
static const struct type decided_figure = TYPE_OF_MEMBERS(decided_figure_members);
static const struct member decided_peak_members[] = {
    SHOWN("line", INTEGER, .help = "of the peaks"),
    SHOWN("metric", TEXT),
    SHOWN("value", FINITE),
    SHOWN("peak", FINITE, .help = "as declared, in that unit"),
    SHOWN("unit", TEXT),
    SHOWN("share", REAL),
};
static const struct type decided_peak = TYPE_OF_MEMBERS(decided_peak_members);
const struct type shape_peaks = {LIST_OF(decided_peak)};
static const struct member decided_requirement_members[] = {
    SHOWN("verdict", RECORD, .of = &decision_met),
    SHOWN("margin", REAL,
          .help = "of the worse bound to the limit, as a share of it; negative beyond it")};
static const struct type decided_requirement = TYPE_OF_MEMBERS(decided_requirement_members);
static const struct member decided_option_members[] = {
    SHOWN("name", TEXT),
    SHOWN("result", TEXT),
    OR_NULL("device", TEXT),
    OR_NULL("line", INTEGER, .help = "of its own price"),
    OR_NULL("hourly", RECORD, .of = &cost_range_type),
    OR_NULL("reason", TEXT, .help = "why it decides nothing"),
    SHOWN("figures", LIST, .of = &cost_range_type, .help = "in the order of figures"),
    SHOWN("peaks", RECORD, .of = &shape_peaks),
    SHOWN("requirements", LIST, .of = &decided_requirement,
          .help = "in the order of the declaration"),
    SHOWN("met", RECORD, .of = &decision_met, .help = "the worst of them"),
    SHOWN("standing", RECORD, .of = &decision_standing),
    SHOWN("dominated_by", LIST, .of = &type_of_text),
};
static const struct type decided_option = TYPE_OF_MEMBERS(decided_option_members);
static const struct member decided_then_members[] = {
    SHOWN("option", TEXT),
    SHOWN("standing", RECORD, .of = &decision_standing),
};
static const struct type decided_then = TYPE_OF_MEMBERS(decided_then_members);
static const struct member decided_change_members[] = {
    SHOWN("what", TEXT, .help = "\"price\", \"metric\", \"limit\" or \"margin\""),
    OPTIONAL("line", INTEGER),
    OPTIONAL("option", TEXT),
    OPTIONAL("metric", TEXT),
    OPTIONAL("requirement", INTEGER),
    SHOWN("now", REAL),
    SHOWN("unit", TEXT),
    SHOWN("factor", REAL, .help = "nearest to 1 by which a standing changes"),
    SHOWN("then", LIST, .of = &decided_then),
    SHOWN("verdict", RECORD, .of = &decision_verdict),
};
static const struct type decided_change = TYPE_OF_MEMBERS(decided_change_members);
static const struct member decided_note_members[] = {
    SHOWN("options", LIST, .of = &type_of_text),
    OR_NULL("line", INTEGER),
    SHOWN("text", TEXT),
};
static const struct type decided_note = TYPE_OF_MEMBERS(decided_note_members);
static const struct member peak_rows_members[] = {
    SHOWN("sha256", DIGEST),
    SHOWN("rows", LIST, .of = &type_of_object, .help = "of the sheet, those that count"),
};
static const struct type peak_rows = TYPE_OF_MEMBERS(peak_rows_members);
static const struct member decide_members[] = {
    SHOWN("a", TEXT),
    SHOWN("decision", JSON),
    SHOWN("decision_sha256", DIGEST),
    OR_NULL("prices", RECORD, .of = &price_rows),
    OR_NULL("peaks", RECORD, .of = &peak_rows),
    SHOWN("figures", LIST, .of = &decided_figure),
    SHOWN("options", LIST, .of = &decided_option),
    SHOWN("changes", LIST, .of = &decided_change),
    SHOWN("notes", LIST, .of = &decided_note),
    SHOWN("verdict", RECORD, .of = &decision_verdict),
};
const struct type schema_decide = TYPE_OF_MEMBERS(decide_members);

/* ---- plan ---- */

static const struct member plan_unit_members[] = {
    SHOWN("result", TEXT),
    OR_NULL("device", TEXT),
    SHOWN("capacity", RECORD, .of = &capacity_result_type, .help = "requests/s within the limits"),
};
static const struct type plan_unit = TYPE_OF_MEMBERS(plan_unit_members);
static const struct member plan_request_members[] = {
    SHOWN("demand", FINITE, .help = "requests/s"),
    SHOWN("growth", FINITE),
    SHOWN("confidence", FINITE),
    SHOWN("availability", FINITE),
    SHOWN("risk", FINITE),
    OPTIONAL("quantile", FINITE),
    OPTIONAL("span_ns", INTEGER),
    OPTIONAL("trace", DIGEST),
};
static const struct type plan_request = TYPE_OF_MEMBERS(plan_request_members);
static const struct member plan_note_members[] = {
    SHOWN("code", TEXT),
    SHOWN("text", TEXT),
};
static const struct type plan_note = TYPE_OF_MEMBERS(plan_note_members);
static const struct member fleet_plan_members[] = {
    SHOWN("a", TEXT),
    SHOWN("results", LIST, .of = &type_of_text),
    SHOWN("request", RECORD, .of = &plan_request),
    SHOWN("units", LIST, .of = &plan_unit),
    OR_NULL("devices", INTEGER),
    OR_NULL("spares", INTEGER),
    OR_NULL("total", INTEGER),
    SHOWN("notes", LIST, .of = &plan_note),
};
const struct type schema_plan = TYPE_OF_MEMBERS(fleet_plan_members);

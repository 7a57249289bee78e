/* What the commands that price, decide and plan write. */
#include <stddef.h>

#include "harness/cli/schema_data.h"
#include "protocols/decision.h"

/* ---- cost ---- */

static const struct member range_members[] = {
    OR_NULL("value", shape_number), OR_NULL("lo", shape_number), OR_NULL("hi", shape_number), {0}};
static const struct shape range = SHAPE_OBJECT_NAMED("range", range_members);
static const struct member cost_part_members[] = {
    MEMBER_SAYS("line", shape_integer, "of the price sheet"),
    MEMBER("item", shape_string),
    MEMBER("kind", shape_string),
    MEMBER_SAYS("hourly", range, "in the sheet's currency"),
    {0}};
static const struct shape cost_part = SHAPE_OBJECT_OF(cost_part_members);
static const struct shape cost_parts = SHAPE_LIST_OF(cost_part);
static const struct member cost_figure_members[] = {
    MEMBER("metric", shape_string),
    MEMBER_SAYS("per", shape_string, "how much work it is of"),
    MEMBER("cost", range),
    OR_NULL_SAYS("measured_share", shape_number,
                 "of the logarithmic width between the bounds, what comes from the measurement"),
    {0}};
static const struct shape cost_figure = SHAPE_OBJECT_OF(cost_figure_members);
static const struct shape cost_figures = SHAPE_LIST_OF(cost_figure);
static const struct member cost_option_members[] = {MEMBER("item", shape_string),
                                                    MEMBER("line", shape_integer),
                                                    MEMBER("kind", shape_string),
                                                    MEMBER("parts", cost_parts),
                                                    MEMBER("hourly", range),
                                                    MEMBER("figures", cost_figures),
                                                    {0}};
static const struct shape cost_option = SHAPE_OBJECT_OF(cost_option_members);
static const struct shape cost_options = SHAPE_LIST_OF(cost_option);
static const struct member cost_note_members[] = {MEMBER("code", shape_string),
                                                  OR_NULL("line", shape_integer),
                                                  MEMBER("text", shape_string),
                                                  {0}};
static const struct shape cost_note = SHAPE_OBJECT_OF(cost_note_members);
static const struct shape cost_notes = SHAPE_LIST_OF(cost_note);
static const struct shape price_row_list = SHAPE_LIST_OF(shape_object);
static const struct member price_rows_members[] = {
    MEMBER("currency", shape_string),
    MEMBER("sha256", shape_digest),
    MEMBER_SAYS("rows", price_row_list, "of the sheet, those that count"),
    {0}};
static const struct shape price_rows = SHAPE_OBJECT_OF(price_rows_members);
static const struct member cost_assumption_members[] = {
    MEMBER("as_of", shape_string), MEMBER("discount", shape_number),
    MEMBER("pue", shape_number),   MEMBER("utilisation", shape_number),
    OR_NULL("item", shape_string), {0}};
static const struct shape cost_assumptions = SHAPE_OBJECT_OF(cost_assumption_members);
static const struct member priced_members[] = {
    MEMBER("a", shape_string),          OR_NULL("device", shape_string),
    MEMBER("metrics_of", shape_string), MEMBER("assumptions", cost_assumptions),
    MEMBER("prices", price_rows),       MEMBER("options", cost_options),
    MEMBER("notes", cost_notes),        {0}};
static const struct shape priced = SHAPE_OBJECT_OF(priced_members);
const struct shape schema_cost = SHAPE_LIST_OF(priced);

/* ---- decide ---- */

static const char *const decision_standings[] = {
#define STANDING_WORD(code, name) name,
    DECISION_STANDING_MAP(STANDING_WORD)
#undef STANDING_WORD
        NULL};
static const struct shape decision_standing = SHAPE_WORD_OF("standing", decision_standings);
static const char *const decision_verdicts[] = {
#define DECISION_WORD(code, name) name,
    DECISION_VERDICT_MAP(DECISION_WORD)
#undef DECISION_WORD
        NULL};
static const struct shape decision_verdict = SHAPE_WORD_OF("decision", decision_verdicts);
static const char *const decision_mets[] = {"missed", "open", "met", NULL};
static const struct shape decision_met = SHAPE_WORD_OF("met", decision_mets);
static const struct member decided_figure_members[] = {
    MEMBER("name", shape_string),
    MEMBER("unit", shape_string),
    MEMBER_SAYS("better", shape_string, "\"higher\" or \"lower\""),
    MEMBER_SAYS("objective", shape_boolean, "else only a requirement"),
    {0}};
static const struct shape decided_figure = SHAPE_OBJECT_OF(decided_figure_members);
static const struct shape decided_figures = SHAPE_LIST_OF(decided_figure);
static const struct shape ranges = SHAPE_LIST_OF(range);
static const struct member decided_peak_members[] = {
    MEMBER_SAYS("line", shape_integer, "of the peaks"),
    MEMBER("metric", shape_string),
    MEMBER("value", shape_number),
    MEMBER_SAYS("peak", shape_number, "as declared, in that unit"),
    MEMBER("unit", shape_string),
    OR_NULL("share", shape_number),
    {0}};
static const struct shape decided_peak = SHAPE_OBJECT_OF(decided_peak_members);
const struct shape shape_peaks = SHAPE_LIST_OF(decided_peak);
static const struct member decided_requirement_members[] = {
    MEMBER("verdict", decision_met),
    OR_NULL_SAYS("margin", shape_number,
                 "of the worse bound to the limit, as a share of it; negative beyond it"),
    {0}};
static const struct shape decided_requirement = SHAPE_OBJECT_OF(decided_requirement_members);
static const struct shape decided_requirements = SHAPE_LIST_OF(decided_requirement);
static const struct member decided_option_members[] = {
    MEMBER("name", shape_string),
    MEMBER("result", shape_string),
    OR_NULL("device", shape_string),
    OR_NULL_SAYS("line", shape_integer, "of its own price"),
    OR_NULL("hourly", range),
    OR_NULL_SAYS("reason", shape_string, "why it decides nothing"),
    MEMBER_SAYS("figures", ranges, "in the order of figures"),
    MEMBER("peaks", shape_peaks),
    MEMBER_SAYS("requirements", decided_requirements, "in the order of the declaration"),
    MEMBER_SAYS("met", decision_met, "the worst of them"),
    MEMBER("standing", decision_standing),
    MEMBER("dominated_by", shape_strings),
    {0}};
static const struct shape decided_option = SHAPE_OBJECT_OF(decided_option_members);
static const struct shape decided_options = SHAPE_LIST_OF(decided_option);
static const struct member decided_then_members[] = {
    MEMBER("option", shape_string), MEMBER("standing", decision_standing), {0}};
static const struct shape decided_then = SHAPE_OBJECT_OF(decided_then_members);
static const struct shape decided_thens = SHAPE_LIST_OF(decided_then);
static const struct member decided_change_members[] = {
    MEMBER_SAYS("what", shape_string, "\"price\", \"metric\", \"limit\" or \"margin\""),
    OPTIONAL("line", shape_integer),
    OPTIONAL("option", shape_string),
    OPTIONAL("metric", shape_string),
    OPTIONAL("requirement", shape_integer),
    OR_NULL("now", shape_number),
    MEMBER("unit", shape_string),
    OR_NULL_SAYS("factor", shape_number, "nearest to 1 by which a standing changes"),
    MEMBER("then", decided_thens),
    MEMBER("verdict", decision_verdict),
    {0}};
static const struct shape decided_change = SHAPE_OBJECT_OF(decided_change_members);
static const struct shape decided_changes = SHAPE_LIST_OF(decided_change);
static const struct member decided_note_members[] = {MEMBER("options", shape_strings),
                                                     OR_NULL("line", shape_integer),
                                                     MEMBER("text", shape_string),
                                                     {0}};
static const struct shape decided_note = SHAPE_OBJECT_OF(decided_note_members);
static const struct shape decided_notes = SHAPE_LIST_OF(decided_note);
static const struct member peak_rows_members[] = {
    MEMBER("sha256", shape_digest),
    MEMBER_SAYS("rows", price_row_list, "of the sheet, those that count"),
    {0}};
static const struct shape peak_rows = SHAPE_OBJECT_OF(peak_rows_members);
static const struct member decide_members[] = {MEMBER("a", shape_string),
                                               MEMBER("decision", shape_object),
                                               MEMBER("decision_sha256", shape_digest),
                                               OR_NULL("prices", price_rows),
                                               OR_NULL("peaks", peak_rows),
                                               MEMBER("figures", decided_figures),
                                               MEMBER("options", decided_options),
                                               MEMBER("changes", decided_changes),
                                               MEMBER("notes", decided_notes),
                                               MEMBER("verdict", decision_verdict),
                                               {0}};
const struct shape schema_decide = SHAPE_OBJECT_OF(decide_members);

/* ---- plan ---- */

static const struct member plan_unit_members[] = {
    MEMBER("result", shape_string),
    OR_NULL("device", shape_string),
    MEMBER_SAYS("capacity", shape_capacity, "requests/s within the limits"),
    {0}};
static const struct shape plan_unit = SHAPE_OBJECT_OF(plan_unit_members);
static const struct shape plan_units = SHAPE_LIST_OF(plan_unit);
static const struct member plan_request_members[] = {
    MEMBER_SAYS("demand", shape_number, "requests/s"),
    MEMBER("growth", shape_number),
    MEMBER("confidence", shape_number),
    MEMBER("availability", shape_number),
    MEMBER("risk", shape_number),
    OPTIONAL("quantile", shape_number),
    OPTIONAL("span_ns", shape_integer),
    OPTIONAL("trace", shape_digest),
    {0}};
static const struct shape plan_request = SHAPE_OBJECT_OF(plan_request_members);
static const struct member plan_note_members[] = {
    MEMBER("code", shape_string), MEMBER("text", shape_string), {0}};
static const struct shape plan_note = SHAPE_OBJECT_OF(plan_note_members);
static const struct shape plan_notes = SHAPE_LIST_OF(plan_note);
static const struct member fleet_plan_members[] = {MEMBER("a", shape_string),
                                                   MEMBER("results", shape_strings),
                                                   MEMBER("request", plan_request),
                                                   MEMBER("units", plan_units),
                                                   OR_NULL("devices", shape_integer),
                                                   OR_NULL("spares", shape_integer),
                                                   OR_NULL("total", shape_integer),
                                                   MEMBER("notes", plan_notes),
                                                   {0}};
const struct shape schema_plan = SHAPE_OBJECT_OF(fleet_plan_members);

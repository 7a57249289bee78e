/* What show, compare, ab, gate, reproduce and analyze write: the whole record, and comparisons. */
#include "harness/cli/schema_data.h"
#include "protocols/compare.h"
#include "protocols/estimate.h"
#include "protocols/serving/change.h"
#include "results/analysis/gate.h"
#include "results/analysis/reproduction.h"
#include "results/store/store.h"

/* An estimate with the name of its series, as analyze has it. */
static const struct member estimate_series_members[] = {
    MEMBER_ALL_OF(estimate_type),
    SHOWN("series", TEXT),
    OPTIONAL("trial_names", LIST, .of = &type_of_text,
             .help = "as the file has them, in the order of trials"),
};
static const struct type estimate_series =
    TYPE_OF_MEMBERS(estimate_series_members, .def = "series");
static const struct member record_members[] = {
    MEMBER_ALL_OF(store_cell_type),
    OPTIONAL("peaks", RECORD, .of = &shape_peaks, .help = "shares of declared peaks (--peaks)"),
};
const struct type schema_show = TYPE_OF_MEMBERS(record_members);

/* ---- comparisons ---- */

static const struct member pair_series_members[] = {
    MEMBER_ALL_OF(comparison_type), SHOWN("series", TEXT),  OPTIONAL("baseline", TEXT),
    OPTIONAL("basis", TEXT),        OPTIONAL("note", TEXT),
};
static const struct type pair_series = TYPE_OF_MEMBERS(pair_series_members);
static const struct type *const series_choices[] = {&estimate_series, &pair_series, NULL};
static const struct type series = {ONE_OF(series_choices)};
const struct type schema_analyze = {LIST_OF(series)};

static const struct member factor_members[] = {
    SHOWN("factor", TEXT), SHOWN("fields", LIST, .of = &type_of_text),
    SHOWN("a", ANY, .help = "what it is in a: a version, a name; null: not known"),
    SHOWN("b", ANY)};
static const struct type factor = TYPE_OF_MEMBERS(factor_members);
static const struct member field_members[] = {
    SHOWN("field", TEXT), SHOWN("class", TEXT), OR_NULL("factor", TEXT), SHOWN("state", TEXT),
    SHOWN("a", ANY),      SHOWN("b", ANY),      SHOWN("why", TEXT),
};
static const struct type field = TYPE_OF_MEMBERS(field_members);
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
static const struct type comparability =
    TYPE_OF_MEMBERS(comparability_members, .def = "comparability");

static const struct member rate_members[] = {
    SHOWN("metric", TEXT), SHOWN("value", FINITE), SHOWN("lo", REAL),
    SHOWN("hi", REAL),     SHOWN("unit", TEXT),    OR_NULL("grade", TEXT),
};
static const struct type rate = TYPE_OF_MEMBERS(rate_members);
static const struct member left_out_members[] = {
    SHOWN("trial", INTEGER),
    SHOWN("why", TEXT),
};
static const struct type left_out = TYPE_OF_MEMBERS(left_out_members);
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
static const struct type arm = TYPE_OF_MEMBERS(arm_members, .def = "arm");

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
static const struct type family_of = TYPE_OF_MEMBERS(family_of_members);
#define FAMILY_MEMBER SHOWN("family", INTEGER, .help = "comparisons that were judged together")
static const struct member compared_members[] = {
    COMPARED_MEMBERS,
};
static const struct type compared = TYPE_OF_MEMBERS(compared_members, .def = "compared");
static const struct member compared_campaigns_members[] = {
    SHOWN("a", TEXT),
    SHOWN("b", TEXT),
    FAMILY_MEMBER,
    SHOWN("comparisons", LIST, .of = &compared, .help = "of the cells of both, judged together"),
    SHOWN("only_in_a", LIST, .of = &type_of_text),
    SHOWN("only_in_b", LIST, .of = &type_of_text),
};
static const struct type compared_campaigns = TYPE_OF_MEMBERS(compared_campaigns_members);
static const struct member compared_arms_members[] = {
    SHOWN("campaign", TEXT),
    FAMILY_MEMBER,
    SHOWN("comparisons", LIST, .of = &compared, .help = "of both arms, judged together"),
};
static const struct type compared_arms = TYPE_OF_MEMBERS(compared_arms_members);
static const struct type *const compare_choices[] = {&compared, &compared_campaigns, &compared_arms,
                                                     NULL};
const struct type schema_compare = {ONE_OF(compare_choices)};
static const struct type *const ab_choices[] = {&compared, &compared_arms, NULL};
const struct type schema_ab = {ONE_OF(ab_choices)};
const struct type schema_matrix = {ONE_OF(ab_choices)};

static const struct member gated_members[] = {
    COMPARED_MEMBERS,
    SHOWN("gate", RECORD, .of = &gate_type),
};
static const struct type gated = TYPE_OF_MEMBERS(gated_members, .def = "gated");
#define GATED_FAMILY_MEMBERS                                                                       \
    SHOWN("decision", RECORD, .of = &gate_decision_type, .help = "of all cells together"),         \
        FAMILY_MEMBER, SHOWN("comparisons", LIST, .of = &gated)
static const struct member gated_arms_members[] = {
    SHOWN("campaign", TEXT),
    GATED_FAMILY_MEMBERS,
};
static const struct type gated_arms = TYPE_OF_MEMBERS(gated_arms_members);
static const struct member gated_campaigns_members[] = {
    SHOWN("a", TEXT),
    SHOWN("b", TEXT),
    GATED_FAMILY_MEMBERS,
    SHOWN("only_in_a", LIST, .of = &type_of_text),
    SHOWN("only_in_b", LIST, .of = &type_of_text),
};
static const struct type gated_campaigns = TYPE_OF_MEMBERS(gated_campaigns_members);
static const struct type *const gate_choices[] = {&gated, &gated_campaigns, &gated_arms, NULL};
const struct type schema_gate = {ONE_OF(gate_choices)};

static const char *const reproductions[] = {
#define REPRODUCTION_WORD(code, name) name,
    REPRODUCTION_MAP(REPRODUCTION_WORD)
#undef REPRODUCTION_WORD
};
static const struct type reproduction = {WORD_OF(reproductions), .def = "reproduction"};
static const struct member reproduced_members[] = {
    SHOWN("verdict", RECORD, .of = &reproduction),
    SHOWN("original", TEXT),
    OR_NULL("again", TEXT),
    OR_NULL("reason", TEXT, .help = "why it is not reproducible here"),
    OR_NULL("comparison", RECORD, .of = &compared),
    OR_NULL("reproduce", RECORD, .of = &reproduction_type),
};
const struct type schema_reproduce = TYPE_OF_MEMBERS(reproduced_members);

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
static const struct type accepted_unit = TYPE_OF_MEMBERS(accepted_unit_members);
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
static const struct type accepted_item = TYPE_OF_MEMBERS(accepted_item_members);
static const struct member accepted_campaign_members[] = {
    SHOWN("campaign", TEXT),
    SHOWN("planned", BOOLEAN, .help = "this very contract is in its plan"),
    SHOWN("nonce", BOOLEAN, .help = "the plan has the contract's nonce, or none is demanded"),
};
static const struct type accepted_campaign = TYPE_OF_MEMBERS(accepted_campaign_members);
static const struct member accept_members[] = {
    SHOWN("a", TEXT),
    SHOWN("campaigns", LIST, .of = &accepted_campaign),
    SHOWN("contract", JSON),
    SHOWN("contract_sha256", DIGEST),
    SHOWN("items", LIST, .of = &accepted_item),
    SHOWN("verdict", RECORD, .of = &acceptance_verdict),
};
const struct type schema_accept = TYPE_OF_MEMBERS(accept_members);

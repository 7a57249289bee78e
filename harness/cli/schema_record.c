/* What show, compare, ab, gate, reproduce and analyze write: the whole record, and comparisons. */
#include "harness/cli/comparison_view.h"
#include "harness/cli/schema_data.h"
#include "harness/core/shape.h"
#include "protocols/comparability.h"
#include "protocols/compare.h"
#include "protocols/estimate.h"
#include "protocols/spread.h"
#include "results/analysis/gate.h"
#include "results/analysis/peak_share.h"
#include "results/analysis/reproduction.h"

/* An estimate with the name of its series, as analyze has it. */
static const struct member estimate_series_members[] = {
    MEMBER_ALL_OF(estimate_type),
    SHOWN("series", TEXT),
    OPTIONAL("trial_names", LIST, .of = &type_of_text,
             .help = "as the file has them, in the order of trials"),
    OPTIONAL("samples_spread", RECORD, .of = &spread_shape,
             .help =
                 "all samples after the warmup, in nanoseconds, or as the file has them where it "
                 "declares no unit"),
};
static const struct type estimate_series =
    TYPE_OF_MEMBERS(estimate_series_members, .def = "series");
static const struct type release = TYPE_OF({
    SHOWN("name", TEXT),
    SHOWN("builder", TEXT, .help = "who built it, by the statement"),
    SHOWN("source", TEXT, .help = "URI and commit; empty: not stated"),
});
const struct type schema_show = TYPE_OF({
    MEMBER_ALL_OF(store_cell_type),
    OPTIONAL("peaks", RECORD, .of = &peak_shares_type,
             .help = "shares of declared peaks (--peaks)"),
    OPTIONAL_OR_NULL("release", RECORD, .of = &release,
                     .help = "which release its program is (--releases); null: no release known"),
});

/* ---- comparisons ---- */

static const struct type pair_series = TYPE_OF({
    MEMBER_ALL_OF(comparison_type),
    SHOWN("series", TEXT),
    OPTIONAL("baseline", TEXT),
    OPTIONAL("basis", TEXT),
    OPTIONAL("note", TEXT),
});
static const struct type *const series_choices[] = {&estimate_series, &pair_series, NULL};
static const struct type series = {ONE_OF(series_choices)};
const struct type schema_analyze = {LIST_OF(series)};

#define COMPARED_MEMBERS                                                                           \
    SHOWN("a", TEXT), SHOWN("b", TEXT), OPTIONAL("arms", LIST, .of = &compared_arm_type),          \
        SHOWN("comparability", RECORD, .of = &comparability_type),                                 \
        SHOWN("separating_runs", LIST, .of = &type_of_text), OR_NULL("attribution", TEXT),         \
        OR_NULL("comparison", RECORD, .of = &comparison_type), OR_NULL("verdict", TEXT),           \
        OPTIONAL("conditions", LIST, .of = &type_of_text,                                          \
                 .help = "findings on either result that could turn the verdict"),                 \
        OPTIONAL("reason", TEXT, .help = "why there are no numbers"), OPTIONAL("note", TEXT),      \
        OPTIONAL("family_of", RECORD, .of = &family_of),                                           \
        OPTIONAL("served", RECORD, .of = &served_change_type,                                      \
                 .help = "of attainment and capacity, in place of comparison"),                    \
        OPTIONAL("by", TEXT, .help = "attainment or capacity; else it is time"),                   \
        OPTIONAL("latency", RECORD, .of = &comparison_type,                                        \
                 .help = "of paired servers: their mean latency")
static const struct type family_of = TYPE_OF({
    OPTIONAL("a", TEXT),
    OPTIONAL("b", TEXT),
    OPTIONAL("campaign", TEXT),
    SHOWN("size", INTEGER),
    SHOWN("margin", FINITE),
    OPTIONAL("by", TEXT),
});
#define FAMILY_MEMBER SHOWN("family", INTEGER, .help = "comparisons that were judged together")
static const struct member compared_members[] = {
    COMPARED_MEMBERS,
};
static const struct type compared = TYPE_OF_MEMBERS(compared_members, .def = "compared");
static const struct type compared_campaigns = TYPE_OF({
    SHOWN("a", TEXT),
    SHOWN("b", TEXT),
    FAMILY_MEMBER,
    SHOWN("comparisons", LIST, .of = &compared, .help = "of the cells of both, judged together"),
    SHOWN("only_in_a", LIST, .of = &type_of_text),
    SHOWN("only_in_b", LIST, .of = &type_of_text),
});
static const struct type compared_arms = TYPE_OF({
    SHOWN("campaign", TEXT),
    FAMILY_MEMBER,
    SHOWN("comparisons", LIST, .of = &compared, .help = "of both arms, judged together"),
});
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
static const struct type gated_arms = TYPE_OF({
    SHOWN("campaign", TEXT),
    GATED_FAMILY_MEMBERS,
});
static const struct type gated_campaigns = TYPE_OF({
    SHOWN("a", TEXT),
    SHOWN("b", TEXT),
    GATED_FAMILY_MEMBERS,
    SHOWN("only_in_a", LIST, .of = &type_of_text),
    SHOWN("only_in_b", LIST, .of = &type_of_text),
});
static const struct type *const gate_choices[] = {&gated, &gated_campaigns, &gated_arms, NULL};
const struct type schema_gate = {ONE_OF(gate_choices)};

static const char *const reproductions[] = {
#define REPRODUCTION_WORD(code, name) name,
    REPRODUCTION_MAP(REPRODUCTION_WORD)
#undef REPRODUCTION_WORD
};
static const struct type reproduction = {WORD_OF(reproductions), .def = "reproduction"};
const struct type schema_reproduce = TYPE_OF({
    SHOWN("verdict", RECORD, .of = &reproduction),
    SHOWN("original", TEXT),
    OR_NULL("again", TEXT),
    OR_NULL("reason", TEXT, .help = "why it is not reproducible here"),
    OR_NULL("comparison", RECORD, .of = &compared),
    OR_NULL("reproduce", RECORD, .of = &reproduction_type),
});

#include "protocols/comparability.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/shape.h"
#include "protocols/attribution.h"

static const struct type factor_shape = TYPE_OF({
    SHOWN("factor", TEXT),
    SHOWN("fields", LIST, .of = &type_of_text),
    SHOWN("a", ANY, .help = "what it is in a: a version, a name; null: not known"),
    SHOWN("b", ANY),
});
static const struct type field_shape = TYPE_OF({
    SHOWN("field", TEXT),
    SHOWN("class", TEXT),
    OR_NULL("factor", TEXT),
    SHOWN("state", TEXT),
    SHOWN("a", ANY),
    SHOWN("b", ANY),
    SHOWN("why", TEXT),
});
static const struct member judgement_members[] = {
    SHOWN("verdict", TEXT),
    SHOWN("reasons", LIST, .of = &type_of_text),
    SHOWN("except", LIST, .of = &type_of_text,
          .help = "fields that differ, are not known, or mark both (simulated, a foreign worker)"),
    SHOWN("factors", LIST, .of = &factor_shape),
    OR_NULL("attribution", TEXT),
    SHOWN("brought", LIST, .of = &factor_shape,
          .help = "what differs because of the one thing that the arms set"),
    SHOWN("fields", LIST, .of = &field_shape),
};
const struct type comparability_type = TYPE_OF_MEMBERS(judgement_members, .def = "comparability");

const char *comparability_verdict_name(enum comparability_verdict verdict)
{
    static const char *const names[] = {"comparable", "comparable_except", "not_comparable",
                                        "exploratory"};

    return names[verdict];
}

bool comparability_is_evidence(const json_t *judgement)
{
    const char *verdict = member_string(judgement, "verdict");

    return verdict && (!strcmp(verdict, comparability_verdict_name(COMPARABLE)) ||
                       !strcmp(verdict, comparability_verdict_name(COMPARABLE_EXCEPT)));
}

static const char *foreign_worker_in(const json_t *origin)
{
    static const char lead[] = COMPARABILITY_FOREIGN_ORIGIN;
    const char *text = json_string_value(origin);

    return text && !strncmp(text, lead, strlen(lead)) ? text + strlen(lead) : NULL;
}

const char *comparability_foreign_worker(const json_t *judgement)
{

    EACH(field, json_object_get(judgement, "fields")) {
        const char *name = member_string(field, "field"), *path;

        if (!name || strcmp(name, "identity.origin"))
            continue;
        path = foreign_worker_in(json_object_get(field, "a"));
        return path ? path : foreign_worker_in(json_object_get(field, "b"));
    }
    return NULL;
}

/* ---- judging ---- */

#define KERNEL_BINARY "kernel binary"

/* A judgement in progress. `factors` and `brought`: name -> array of fields. */
struct judgement {
    const json_t *a, *b, *varied;
    struct attribution attribution;
    json_t *reasons, *except, *factors, *fields;
    json_t *brought;     /* what differs in consequence of `setting` */
    const char *setting; /* the one thing that an experiment set; NULL: none, or several */
    bool exploratory;
};

/* What two results know of a field. */
enum state { SAME, DIFFERS, ONE_KNOWN, NONE_KNOWN };

static enum state state_of(const json_t *a, const json_t *b)
{
    const bool has_a = a && !json_is_null(a), has_b = b && !json_is_null(b);

    if (has_a && has_b)
        return json_equal(a, b) ? SAME : DIFFERS;
    return has_a || has_b ? ONE_KNOWN : NONE_KNOWN;
}

/* One field, classified. */
struct finding {
    const char *field, *factor, *why;
    const char *of; /* the factor that it would belong to if no experiment had set anything */
    enum field_class field_class;
    enum state state;
    bool required;
    const json_t *a, *b;
};

static const char *varied_factor(const json_t *varied, const char *field)
{
    const char *pattern;
    json_t *factor;

    json_object_foreach((json_t *)varied, pattern, factor)
    {
        if (field_matches(pattern, field))
            return json_string_value(factor);
    }
    return NULL;
}

static struct finding find(const struct judgement *judgement, const char *field)
{
    const struct field_rule *rule = field_rule_find(field);
    const char *set = field_matches("*" COMPARABILITY_PACKAGE, field)
                          ? NULL /* it only says whose a file is */
                          : varied_factor(judgement->varied, field);
    struct finding finding = {.field = field,
                              .why = "no class is declared for it",
                              .field_class = FIELD_CONTROLLED,
                              .a = json_object_get(judgement->a, field),
                              .b = json_object_get(judgement->b, field)};

    if (rule) {
        finding.field_class = rule->field_class;
        finding.required = rule->required;
        finding.why = rule->why;
        if (rule->field_class == FIELD_SUBJECT)
            finding.factor = attribution_factor(&judgement->attribution, field, rule);
    }
    finding.of = finding.factor;
    if (set) {
        finding.field_class = FIELD_SUBJECT;
        finding.factor = set;
        finding.why = "the experiment set it";
    }
    if (judgement->setting && finding.field_class == FIELD_SUBJECT)
        finding.factor = judgement->setting;
    finding.state = state_of(finding.a, finding.b);
    return finding;
}

static json_t *value_or_null(const json_t *value)
{
    return value ? json_incref((json_t *)value) : json_null();
}

static void add_reason(json_t *list, const struct finding *finding)
{
    static const char *const words[] = {[DIFFERS] = "differs",
                                        [ONE_KNOWN] = "is known of one of them only",
                                        [NONE_KNOWN] = "is not known of either"};

    json_array_append_new(
        list, json_sprintf("%s %s: %s", finding->field, words[finding->state], finding->why));
}

static void add_field(json_t *factors, const char *factor, const char *field)
{
    json_t *list = json_object_get(factors, factor);

    if (!list) {
        json_object_set_new(factors, factor, json_array());
        list = json_object_get(factors, factor);
    }
    json_array_append_new(list, json_string(field));
}

static void add_factor(struct judgement *judgement, const struct finding *finding)
{
    add_field(judgement->factors, finding->factor, finding->field);
    if (finding->of && strcmp(finding->of, finding->factor) != 0)
        add_field(judgement->brought, finding->of, finding->field);
}

static void weigh(struct judgement *judgement, const struct finding *finding)
{
    static const char *const names[] = {"same", "differs", "unknown", "unknown"};
    const enum field_class field_class = finding->field_class;
    const enum state state = finding->state;

    json_array_append_new(judgement->fields,
                          json_pack("{s:s, s:s, s:s?, s:s, s:o, s:o, s:s}", "field", finding->field,
                                    "class", field_class_name(field_class), "factor",
                                    finding->factor, "state", names[state], "a",
                                    value_or_null(finding->a), "b", value_or_null(finding->b),
                                    "why", finding->why));
    if (state == SAME || field_class == FIELD_NUISANCE)
        return;
    if (field_class == FIELD_IDENTITY ||
        (field_class == FIELD_SUBJECT && state != DIFFERS && finding->required))
        add_reason(judgement->reasons, finding);
    else if (field_class == FIELD_SUBJECT && state != NONE_KNOWN)
        add_factor(judgement, finding); /* a library that only one of them maps, too */
    else
        json_array_append_new(judgement->except, json_string(finding->field));
}

/*
 * One unit of one machine. A processor has no UUID: then its name and the machine's must do, and a
 * machine's name must be known.
 */
static bool same_machine(const json_t *a, const json_t *b)
{
    static const char *const names[] = {"host.name", "host.cpu.model", "device.name",
                                        "device.uuid"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const enum state state =
            state_of(json_object_get(a, names[i]), json_object_get(b, names[i]));

        if (state == DIFFERS || state == ONE_KNOWN ||
            (state == NONE_KNOWN && !strcmp(names[i], "host.name")))
            return false;
    }
    return true;
}

/* A rate that its own campaign contradicts compares with nothing, nor does one of two stacks. */
static void refuse(struct judgement *judgement, const json_t *fields, const char *which)
{
    const char *mixed = member_string(fields, "identity.mixed_stacks");
    static const char above[] = "its rate is above what its campaign measured the device to do; "
                                "find out why, and measure again";

    if (json_object_get(fields, "identity.above_ceiling"))
        json_array_append_new(judgement->reasons,
                              json_sprintf("identity.above_ceiling: of %s, %s", which, above));
    if (mixed)
        json_array_append_new(judgement->reasons,
                              json_sprintf("identity.mixed_stacks: of %s, %s", which, mixed));
}

static const char no_evidence[] =
    "identity.protocol_evidence is false: the protocol is a first look, whose results compare with "
    "others of the same device and machine only; measure under `standard`";

/* The stored reason keeps its words, since verify recomputes it and compares. */
const char *comparability_reason_words(const char *reason)
{
    if (!reason)
        return "";
    return strcmp(reason, no_evidence)
               ? reason
               : "identity.protocol_evidence is false: by the protocol it is no evidence, and "
                 "compares with results of the same device and machine only; measure both under "
                 "`standard`, or `serving` for servers";
}

const char *comparability_why_no_evidence(const json_t *judgement)
{
    const char *first = json_string_value(json_array_get(json_object_get(judgement, "reasons"), 0));

    if (first)
        return comparability_reason_words(first);
    return strcmp(member_text(judgement, "verdict"), comparability_verdict_name(EXPLORATORY))
               ? NULL
               : "exploratory: by protocol no evidence, of the same machine";
}

/* Options, lanes and variables: what a kernel is compiled with, besides its text. */
static bool is_condition_of_kernels(const json_t *field)
{
    const char *name = member_text(field, "field");

    return (field_matches("kernel.*", name) || field_matches("variable.*", name)) &&
           !strcmp(member_text(field, "class"), field_class_name(FIELD_CONTROLLED));
}

/*
 * What differs that kernels are made by: its factor; "": one of their conditions does; NULL:
 * nothing of the kind is recorded. A driver that compiles in the worker may use any library there.
 */
static const char *maker_of_kernels(const struct judgement *judgement)
{
    static const char *const makers[] = {"compiler", "driver",    "runtime",
                                         "backend",  "device",    "host",
                                         "assay",    "precision", "implementation"};
    static const char *const others[] = {"variable ", "library", "package "};
    const bool apart = !strcmp(member_text(judgement->a, "device.backend"), "cpu");
    json_t *factors = judgement->setting ? judgement->brought : judgement->factors;
    const char *factor;
    json_t *list;

    for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
        if (json_object_get(factors, makers[i]))
            return makers[i];
    json_object_foreach(factors, factor, list)
    {
        for (size_t i = 0; i < (apart ? 1 : sizeof(others) / sizeof(others[0])); i++)
            if (!strncmp(factor, others[i], strlen(others[i])))
                return factor;
    }
    EACH(field, judgement->fields)
        if (!strcmp(member_text(field, "state"), "differs") && is_condition_of_kernels(field))
            return "";
    return NULL;
}

/*
 * The bytes of a kernel follow from what made them. Where nothing of that differs, they are a
 * factor by themselves, so that other bytes are never said to be nothing.
 */
static void weigh_kernel(struct judgement *judgement, struct finding *finding)
{
    const char *maker = maker_of_kernels(judgement);

    if (finding->state != DIFFERS || (maker && !*maker && !judgement->setting))
        finding->field_class = FIELD_NUISANCE;
    finding->of = !maker ? KERNEL_BINARY : *maker ? maker : finding->factor;
    if (!judgement->setting)
        finding->factor = finding->of;
    weigh(judgement, finding);
}

/* A first look, a simulated device and a foreign worker are marked as such in both results. */
static void weigh_self_declared(struct judgement *judgement, const json_t *a, const json_t *b)
{
    if (json_is_false(json_object_get(a, "identity.protocol_evidence")) ||
        json_is_false(json_object_get(b, "identity.protocol_evidence"))) {
        if (same_machine(a, b))
            judgement->exploratory = true; /* unless something else separates them */
        else
            json_array_append_new(judgement->reasons, json_string(no_evidence));
    }
    if (member_is_true(a, "device.simulated") && member_is_true(b, "device.simulated"))
        json_array_append_new(judgement->except, json_string("device.simulated"));
    if (foreign_worker_in(json_object_get(a, "identity.origin")) &&
        json_equal(json_object_get(a, "identity.origin"), json_object_get(b, "identity.origin")))
        json_array_append_new(judgement->except, json_string("identity.origin"));
}

static bool is_kernel(const char *field)
{
    return field_matches("kernel.*.binary", field);
}

static json_t *conclude(struct judgement *judgement)
{
    enum comparability_verdict verdict = json_array_size(judgement->reasons) > 0 ? NOT_COMPARABLE
                                         : judgement->exploratory                ? EXPLORATORY
                                         : json_array_size(judgement->except) > 0
                                             ? COMPARABLE_EXCEPT
                                             : COMPARABLE;
    const char *only = json_object_size(judgement->factors) == 1 && verdict != NOT_COMPARABLE &&
                               verdict != EXPLORATORY
                           ? json_object_iter_key(json_object_iter(judgement->factors))
                           : NULL;

    return json_pack("{s:s, s:O, s:O, s:o, s:s?, s:o, s:O}", "verdict",
                     comparability_verdict_name(verdict), "reasons", judgement->reasons, "except",
                     judgement->except, "factors",
                     attribution_list(&judgement->attribution, judgement->factors), "attribution",
                     only, "brought", attribution_list(&judgement->attribution, judgement->brought),
                     "fields", judgement->fields);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A field that must be known is judged also when neither result has it. */
static bool must_be_known(const struct field_rule *rule)
{
    return !strchr(rule->field, '*') && (rule->required || rule->field_class == FIELD_IDENTITY);
}

/* Names of both objects and of what must be known, sorted, each once; heap, borrowed strings. */
static const char **names_to_judge(const json_t *a, const json_t *b, size_t *ret_count)
{
    size_t rule_count = 0, count = 0;
    const struct field_rule *rules = field_rules(&rule_count, NULL);
    const char **names =
        calloc(json_object_size(a) + json_object_size(b) + rule_count + 1, sizeof(*names));
    const char *name;
    json_t *value;

    if (!names)
        return NULL;
    for (size_t i = 0; i < rule_count; i++)
        if (must_be_known(&rules[i]) && !json_object_get(a, rules[i].field) &&
            !json_object_get(b, rules[i].field))
            names[count++] = rules[i].field;
    json_object_foreach((json_t *)a, name, value) names[count++] = name;
    json_object_foreach((json_t *)b, name, value) if (!json_object_get(a, name)) names[count++] =
        name;
    qsort(names, count, sizeof(*names), compare_names);
    *ret_count = count;
    return names;
}

/* The one factor that all of `varied` is of; NULL: none, or several. Borrowed. */
static const char *only_setting(const json_t *varied)
{
    const char *pattern, *setting = NULL;
    json_t *factor;

    json_object_foreach((json_t *)varied, pattern, factor)
    {
        if (setting && strcmp(setting, json_string_value(factor)) != 0)
            return NULL;
        setting = json_string_value(factor);
    }
    return setting;
}

static void finish(struct judgement *judgement)
{
    json_decref(judgement->reasons);
    json_decref(judgement->except);
    json_decref(judgement->factors);
    json_decref(judgement->fields);
    json_decref(judgement->brought);
    attribution_finish(&judgement->attribution);
}

enum status comparability_judge(const json_t *a, const json_t *b, const json_t *varied,
                                json_t **ret, struct error *err)
{
    CLEANUP(finish)
    struct judgement judgement = {.a = a,
                                  .b = b,
                                  .varied = varied,
                                  .reasons = json_array(),
                                  .except = json_array(),
                                  .factors = json_object(),
                                  .fields = json_array(),
                                  .brought = json_object(),
                                  .setting = only_setting(varied)};
    AUTO_FREE const char **names = NULL;
    size_t count = 0, rules;

    attribution_init(&judgement.attribution, a, b);
    if (!field_rules(&rules, err))
        return STATUS_INTERNAL;
    names = names_to_judge(a, b, &count);
    if (!names)
        return error_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const struct finding finding = find(&judgement, names[i]);

        if (!is_kernel(names[i]))
            weigh(&judgement, &finding);
    }
    for (size_t i = 0; i < count; i++) {
        struct finding finding = find(&judgement, names[i]);

        if (is_kernel(names[i]))
            weigh_kernel(&judgement, &finding);
    }
    weigh_self_declared(&judgement, a, b);
    refuse(&judgement, a, "a");
    refuse(&judgement, b, "b");
    *ret = conclude(&judgement);
    return *ret ? STATUS_OK : error_no_memory(err);
}

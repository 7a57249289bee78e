#include "protocols/comparability.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/declaration.h"
#include "harness/core/embed.h"

extern const struct embed_file field_declared[];
extern const size_t field_declared_count;

const char *field_class_name(enum field_class field_class)
{
    static const char *const names[] = {"identity", "subject", "controlled", "nuisance"};

    return names[field_class];
}

const char *comparability_verdict_name(enum comparability_verdict verdict)
{
    static const char *const names[] = {"comparable", "comparable_except", "not_comparable",
                                        "exploratory"};

    return names[verdict];
}

bool comparability_is_evidence(const json_t *judgement)
{
    const char *verdict = json_string_value(json_object_get(judgement, "verdict"));

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
    size_t i;
    json_t *field;

    json_array_foreach(json_object_get(judgement, "fields"), i, field)
    {
        const char *name = json_string_value(json_object_get(field, "field")), *path;

        if (!name || strcmp(name, "identity.origin"))
            continue;
        path = foreign_worker_in(json_object_get(field, "a"));
        return path ? path : foreign_worker_in(json_object_get(field, "b"));
    }
    return NULL;
}

/* ---- the declared table ---- */

struct rules_file {
    struct field_rule *rules;
    uint32_t rules_count;
};

static const struct declaration_name class_names[] = {
    {"identity", FIELD_IDENTITY},
    {"subject", FIELD_SUBJECT},
    {"controlled", FIELD_CONTROLLED},
    {"nuisance", FIELD_NUISANCE},
};

static const struct declaration_field rule_fields[] = {
    FIELD_STRING("field", FIELD_REQUIRED, struct field_rule, field, 1, 128),
    FIELD_ENUM("class", FIELD_REQUIRED, struct field_rule, field_class, class_names, 4),
    FIELD_STRING("factor", FIELD_OPTIONAL, struct field_rule, factor, 1, 64),
    FIELD_BOOL("required", FIELD_OPTIONAL, struct field_rule, required),
    FIELD_STRING("why", FIELD_REQUIRED, struct field_rule, why, 1, 200),
    FIELD_END};

static const struct declaration_schema rule_schema = {ENTRY_GROUP(struct field_rule, rule_fields)};

static const struct declaration_field file_fields[] = {
    FIELD_LIST("fields", FIELD_REQUIRED, struct rules_file, rules, &rule_schema, 1, 1000),
    FIELD_END};

static const struct declaration_schema file_schema = {ENTRY_GROUP(struct rules_file, file_fields)};

static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static struct declaration table;
static struct error load_error = ERROR_INIT;

static void load(void)
{
    if (field_declared_count != 1)
        error_set(&load_error, STATUS_INTERNAL, "fields.yaml is not embedded");
    else
        declaration_parse(field_declared[0].name, field_declared[0].text, field_declared[0].length,
                          &file_schema, &table, &load_error);
}

const struct field_rule *field_rules(size_t *ret_count, struct error *err)
{
    const struct rules_file *file;

    pthread_once(&loaded, load);
    if (load_error.code != STATUS_OK) {
        error_set(err, STATUS_INTERNAL, "%s", load_error.message);
        return NULL;
    }
    file = table.data;
    *ret_count = file->rules_count;
    return file->rules;
}

/* One '*' matches any sequence of characters. */
static bool matches(const char *pattern, const char *field)
{
    const char *star = strchr(pattern, '*');
    size_t head, tail, length = strlen(field);

    if (!star)
        return !strcmp(pattern, field);
    head = (size_t)(star - pattern);
    tail = strlen(star + 1);
    return length >= head + tail && !strncmp(pattern, field, head) &&
           !strcmp(field + length - tail, star + 1);
}

const struct field_rule *field_rule_find(const char *field)
{
    size_t count;
    const struct field_rule *rules = field_rules(&count, NULL);

    for (size_t i = 0; rules && i < count; i++)
        if (matches(rules[i].field, field))
            return &rules[i];
    return NULL;
}

/* ---- judging ---- */

/* A judgement in progress. `factors` and `brought`: name -> array of fields. */
struct judgement {
    const json_t *a, *b, *varied;
    json_t *reasons, *except, *factors, *fields;
    json_t *packages; /* name of a package -> the factor that its files belong to */
    json_t *brought;  /* what differs in consequence of `setting` */
    const char
        *setting; /* the one thing that an experiment set on purpose; NULL: none, or several */
    bool same_processor;
    bool driver_compiles; /* of both: kernels are the work of the driver's own compiler */
    bool exploratory;
};

/* The state of one field, before it is classified. */
struct finding {
    const char *field, *factor, *why, *state;
    const char *of; /* the factor that it would belong to if no experiment had set anything */
    enum field_class field_class;
    bool required;
    const json_t *a, *b;
};

static const char *varied_factor(const json_t *varied, const char *field)
{
    const char *pattern;
    json_t *factor;

    json_object_foreach((json_t *)varied, pattern, factor)
    {
        if (matches(pattern, field))
            return json_string_value(factor);
    }
    return NULL;
}

/* What a result knows of the package of the file behind `field`: "NAME VERSION", or NULL. */
static const char *package_of(const json_t *fields, const char *field)
{
    char key[256];

    snprintf(key, sizeof(key), "%s" COMPARABILITY_PACKAGE, field);
    return json_string_value(json_object_get(fields, key));
}

/* "NAME VERSION" without the version and the architecture; a folder's path has neither. */
static void package_name(const char *package, char *ret, size_t size)
{
    snprintf(ret, size, "package %.*s", (int)strcspn(package, ": "), package);
    if (!strncmp(package, COMPARABILITY_FOLDER, strlen(COMPARABILITY_FOLDER)))
        snprintf(ret, size, "%s", package);
}

/* In which order: the driver's package is the driver, though its compiler comes with it. */
enum learned { OF_DRIVERS, OF_ANY_RULE, OF_NO_RULE };

/*
 * The factor of each package: of that one of its files that has a rule (PoCL's library makes its
 * package part of the driver), else the package itself. A file that changed its package (another
 * folder, another package manager) makes the two one.
 */
static void learn_package(struct judgement *judgement, enum learned learned, const char *field)
{
    const struct field_rule *rule = field_rule_find(field);
    const char *texts[2] = {package_of(judgement->a, field), package_of(judgement->b, field)};
    const char *factor = NULL;
    char names[2][256];

    if (!rule || rule->field_class != FIELD_SUBJECT || (learned < OF_NO_RULE && !rule->factor) ||
        (learned == OF_DRIVERS && strcmp(rule->factor, "driver") != 0))
        return;
    for (size_t i = 0; i < 2; i++) {
        package_name(texts[i] ? texts[i] : "", names[i], sizeof(names[i]));
        if (!factor)
            factor = json_string_value(json_object_get(judgement->packages, names[i]));
    }
    if (!factor)
        factor = rule->factor ? rule->factor : texts[0] ? names[0] : names[1];
    for (size_t i = 0; i < 2; i++)
        if (texts[i] && !json_object_get(judgement->packages, names[i]))
            json_object_set_new(judgement->packages, names[i], json_string(factor));
}

static void learn_packages(struct judgement *judgement, enum learned learned)
{
    const json_t *const sides[2] = {judgement->a, judgement->b};
    const char *field;
    json_t *value;

    for (size_t i = 0; i < 2; i++) /* what b alone has, too; a second time changes nothing */
        json_object_foreach((json_t *)sides[i], field, value)
            learn_package(judgement, learned, field);
}

static bool is_opencl(const json_t *fields)
{
    const char *backend = json_string_value(json_object_get(fields, "device.backend"));

    return backend && !strcmp(backend, "opencl");
}

/* A processor is one device whatever a driver calls it, as long as the machine is the same. */
static bool is_same_processor(const json_t *a, const json_t *b)
{
    static const char *const names[] = {"host.name", "host.cpu.model", "device.type"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *one = json_string_value(json_object_get(a, names[i]));
        const char *other = json_string_value(json_object_get(b, names[i]));

        if (!one || !other || strcmp(one, other) != 0)
            return false;
    }
    return !strcmp(json_string_value(json_object_get(a, "device.type")), "cpu");
}

/* The factor of a subject, from its rule or the package of its file; lasts with the judgement. */
static const char *factor_of(const struct judgement *judgement, const char *field,
                             const struct field_rule *rule)
{
    const char *package = package_of(judgement->a, field), *factor = NULL;
    char name[256];

    if (!package)
        package = package_of(judgement->b, field);
    if (package) {
        package_name(package, name, sizeof(name));
        factor = json_string_value(json_object_get(judgement->packages, name));
    }
    if (!factor)
        factor = rule->factor ? rule->factor : field;
    if (judgement->same_processor && !strcmp(factor, "device"))
        return "driver";
    return judgement->driver_compiles && !strncmp(field, "kernel.", 7) ? "driver" : factor;
}

static bool has_ending(const char *text, const char *ending)
{
    const size_t length = strlen(text), end = strlen(ending);

    return length >= end && !strcmp(text + length - end, ending);
}

static struct finding find(const struct judgement *judgement, const char *field)
{
    const struct field_rule *rule = field_rule_find(field);
    const char *set = has_ending(field, COMPARABILITY_PACKAGE)
                          ? NULL /* it only says whose a file is */
                          : varied_factor(judgement->varied, field);
    struct finding finding = {.field = field,
                              .why = "no class is declared for it",
                              .field_class = FIELD_CONTROLLED,
                              .a = json_object_get(judgement->a, field),
                              .b = json_object_get(judgement->b, field)};

    if (rule) {
        finding.field_class = rule->field_class;
        finding.factor =
            rule->field_class == FIELD_SUBJECT ? factor_of(judgement, field, rule) : NULL;
        finding.required = rule->required;
        finding.why = rule->why;
    }
    finding.of = finding.factor;
    if (set) {
        finding.field_class = FIELD_SUBJECT;
        finding.factor = set;
        finding.why = "the experiment set it";
    }
    if (judgement->setting && finding.field_class == FIELD_SUBJECT)
        finding.factor = judgement->setting;
    if (!finding.a || !finding.b || json_is_null(finding.a) || json_is_null(finding.b))
        finding.state = "unknown";
    else
        finding.state = json_equal(finding.a, finding.b) ? "same" : "differs";
    return finding;
}

static json_t *value_or_null(const json_t *value)
{
    return value ? json_incref((json_t *)value) : json_null();
}

static void add_reason(json_t *list, const struct finding *finding)
{
    bool unknown = !strcmp(finding->state, "unknown");
    bool only_one = unknown && (!finding->a || json_is_null(finding->a)) !=
                                   (!finding->b || json_is_null(finding->b));

    json_array_append_new(list, json_sprintf("%s %s: %s", finding->field,
                                             !unknown   ? "differs"
                                             : only_one ? "is known of one of them only"
                                                        : "is not known of either",
                                             finding->why));
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
    bool same = !strcmp(finding->state, "same");
    bool unknown = !strcmp(finding->state, "unknown");

    json_array_append_new(judgement->fields,
                          json_pack("{s:s, s:s, s:s?, s:s, s:o, s:o, s:s}", "field", finding->field,
                                    "class", field_class_name(finding->field_class), "factor",
                                    finding->factor, "state", finding->state, "a",
                                    value_or_null(finding->a), "b", value_or_null(finding->b),
                                    "why", finding->why));
    if (same || finding->field_class == FIELD_NUISANCE)
        return;
    if (finding->field_class == FIELD_IDENTITY ||
        (finding->field_class == FIELD_SUBJECT && unknown && finding->required))
        add_reason(judgement->reasons, finding);
    else if (finding->field_class == FIELD_SUBJECT && !unknown)
        add_factor(judgement, finding);
    else if (finding->field_class == FIELD_SUBJECT &&
             (finding->a && !json_is_null(finding->a)) !=
                 (finding->b && !json_is_null(finding->b)) &&
             !finding->required)
        add_factor(judgement, finding); /* a library that only one of them maps */
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
        const json_t *left = json_object_get(a, names[i]), *right = json_object_get(b, names[i]);
        const bool known = left && right && !json_is_null(left) && !json_is_null(right);
        const bool neither = (!left || json_is_null(left)) && (!right || json_is_null(right));

        if (known ? !json_equal(left, right) : !neither || !strcmp(names[i], "host.name"))
            return false;
    }
    return true;
}

/* A rate that its own campaign contradicts compares with nothing, nor does one of two stacks. */
static void refuse(struct judgement *judgement, const json_t *fields, const char *which)
{
    const char *mixed = json_string_value(json_object_get(fields, "identity.mixed_stacks"));
    static const char above[] = "its rate is above what its campaign measured the device to do; "
                                "find out why, and measure again";

    if (json_object_get(fields, "identity.above_ceiling"))
        json_array_append_new(judgement->reasons,
                              json_sprintf("identity.above_ceiling: of %s, %s", which, above));
    if (mixed)
        json_array_append_new(judgement->reasons,
                              json_sprintf("identity.mixed_stacks: of %s, %s", which, mixed));
}

/* A first look, a simulated device and a foreign worker are marked as such in both results. */
static void weigh_self_declared(struct judgement *judgement, const json_t *a, const json_t *b)
{
    if (json_is_false(json_object_get(a, "identity.protocol_evidence")) ||
        json_is_false(json_object_get(b, "identity.protocol_evidence"))) {
        if (same_machine(a, b))
            judgement->exploratory = true; /* unless something else separates them */
        else
            json_array_append_new(
                judgement->reasons,
                json_string("identity.protocol_evidence is false: the protocol is a first look, "
                            "whose results compare with others of the same device and machine "
                            "only; measure under `standard`"));
    }
    if (json_is_true(json_object_get(a, "device.simulated")) &&
        json_is_true(json_object_get(b, "device.simulated")))
        json_array_append_new(judgement->except, json_string("device.simulated"));
    if (foreign_worker_in(json_object_get(a, "identity.origin")) &&
        json_equal(json_object_get(a, "identity.origin"), json_object_get(b, "identity.origin")))
        json_array_append_new(judgement->except, json_string("identity.origin"));
}

/*
 * What tells a person which of a factor is meant: the version of a driver or a package, a device's
 * name. New reference; null where nothing of the kind is known.
 */
static json_t *label_of(const json_t *fields, const json_t *list)
{
    static const char *const telling[] = {"device.driver_version", "device.name", "gemm.version",
                                          "attention.version", "tool.version"};
    const char *package = NULL;
    size_t i;
    json_t *field;

    for (size_t k = 0; k < sizeof(telling) / sizeof(telling[0]); k++)
        json_array_foreach(list, i, field)
        {
            if (!strcmp(json_string_value(field), telling[k]))
                return value_or_null(json_object_get(fields, telling[k]));
        }
    json_array_foreach(list, i, field) if (!package) package =
        package_of(fields, json_string_value(field));
    if (!package)
        return json_null();
    if (strncmp(package, COMPARABILITY_FOLDER, strlen(COMPARABILITY_FOLDER)) != 0)
        package += strcspn(package, " ");
    return json_string(package + (package[0] == ' '));
}

static json_t *factors_list(const struct judgement *judgement, const json_t *factors)
{
    json_t *list = json_array(), *fields;
    const char *factor;

    json_object_foreach((json_t *)factors, factor, fields)
    {
        json_array_append_new(list, json_pack("{s:s, s:O, s:o, s:o}", "factor", factor, "fields",
                                              fields, "a", label_of(judgement->a, fields), "b",
                                              label_of(judgement->b, fields)));
    }
    return list;
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
                     judgement->except, "factors", factors_list(judgement, judgement->factors),
                     "attribution", only, "brought", factors_list(judgement, judgement->brought),
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

enum status comparability_judge(const json_t *a, const json_t *b, const json_t *varied,
                                json_t **ret, struct error *err)
{
    struct judgement judgement = {.a = a,
                                  .b = b,
                                  .varied = varied,
                                  .reasons = json_array(),
                                  .except = json_array(),
                                  .factors = json_object(),
                                  .fields = json_array(),
                                  .packages = json_object(),
                                  .brought = json_object(),
                                  .setting = only_setting(varied),
                                  .same_processor = is_same_processor(a, b),
                                  .driver_compiles = is_opencl(a) && is_opencl(b)};
    size_t count = 0, rules;
    const char **names = NULL;
    json_t *result = NULL;
    enum status status = STATUS_OK;

    if (!field_rules(&rules, err)) {
        status = STATUS_INTERNAL;
        goto done;
    }
    for (enum learned learned = OF_DRIVERS; learned <= OF_NO_RULE; learned++)
        learn_packages(&judgement, learned);
    names = names_to_judge(a, b, &count);
    for (size_t i = 0; names && i < count; i++) {
        struct finding finding = find(&judgement, names[i]);

        weigh(&judgement, &finding);
    }
    weigh_self_declared(&judgement, a, b);
    refuse(&judgement, a, "a");
    refuse(&judgement, b, "b");
    result = names ? conclude(&judgement) : NULL;
    if (result)
        *ret = result;
    else
        status = error_set(err, STATUS_NO_MEMORY, "no memory for the comparison");
done:
    free(names);
    json_decref(judgement.reasons);
    json_decref(judgement.except);
    json_decref(judgement.factors);
    json_decref(judgement.fields);
    json_decref(judgement.packages);
    json_decref(judgement.brought);
    return status;
}

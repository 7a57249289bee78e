#include "protocols/attribution.h"

#include <stdio.h>
#include <string.h>

#include "harness/core/member.h"
#include "harness/core/text.h"

/* What a result knows of the package of the file behind `field`: "NAME VERSION", a folder, or NULL.
 */
static const char *package_of(const json_t *fields, const char *field)
{
    char key[256];

    snprintf(key, sizeof(key), "%s" COMPARABILITY_PACKAGE, field);
    return member_string(fields, key);
}

/* Whether that is a folder, which has no version. */
static bool is_folder(const char *package)
{
    return !strncmp(package, COMPARABILITY_FOLDER, strlen(COMPARABILITY_FOLDER));
}

/* "NAME VERSION" without the version and the architecture; a folder's path has neither. */
static void package_name(const char *package, char *ret, size_t size)
{
    if (is_folder(package))
        snprintf(ret, size, "%s", package);
    else
        snprintf(ret, size, "package %.*s", (int)strcspn(package, ": "), package);
}

/* In which order: the driver's package is the driver, though its compiler comes with it. */
enum learned { OF_DRIVERS, OF_ANY_RULE, OF_NO_RULE };

/*
 * The factor of each package: of that one of its files that has a rule (PoCL's library makes its
 * package part of the driver), else the package itself. A file that changed its package (another
 * folder, another package manager) makes the two one.
 */
static void learn_package(struct attribution *attribution, enum learned learned, const char *field)
{
    const struct field_rule *rule = field_rule_find(field);
    const char *texts[2] = {package_of(attribution->a, field), package_of(attribution->b, field)};
    const char *factor = NULL;
    char names[2][256];

    if (!rule || rule->field_class != FIELD_SUBJECT || (learned < OF_NO_RULE && !rule->factor) ||
        (learned == OF_DRIVERS && strcmp(rule->factor, "driver") != 0))
        return;
    for (size_t i = 0; i < 2; i++) {
        package_name(texts[i] ? texts[i] : "", names[i], sizeof(names[i]));
        if (!factor)
            factor = member_string(attribution->packages, names[i]);
    }
    if (!factor)
        factor = rule->factor ? rule->factor : texts[0] ? names[0] : names[1];
    for (size_t i = 0; i < 2; i++)
        if (texts[i] && !json_object_get(attribution->packages, names[i]))
            json_object_set_new(attribution->packages, names[i], json_string(factor));
}

static bool is_opencl(const json_t *fields)
{
    const char *backend = member_string(fields, "device.backend");

    return backend && !strcmp(backend, "opencl");
}

/* A processor is one device whatever a driver calls it, as long as the machine is the same. */
static bool is_same_processor(const json_t *a, const json_t *b)
{
    static const char *const names[] = {"host.name", "host.cpu.model", "device.type"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *one = member_string(a, names[i]), *other = member_string(b, names[i]);

        if (!one || !other || strcmp(one, other) != 0)
            return false;
    }
    return !strcmp(member_string(a, "device.type"), "cpu");
}

void attribution_init(struct attribution *attribution, const json_t *a, const json_t *b)
{
    const json_t *const sides[2] = {a, b};
    const char *field;
    json_t *value;

    *attribution = (struct attribution){.a = a,
                                        .b = b,
                                        .packages = json_object(),
                                        .same_processor = is_same_processor(a, b),
                                        .driver_compiles = is_opencl(a) && is_opencl(b)};
    for (enum learned learned = OF_DRIVERS; learned <= OF_NO_RULE; learned++)
        for (size_t i = 0; i < 2; i++) /* what b alone has, too; a second time changes nothing */
            json_object_foreach((json_t *)sides[i], field, value)
                learn_package(attribution, learned, field);
}

void attribution_finish(struct attribution *attribution)
{
    json_decref(attribution->packages);
}

const char *attribution_factor(const struct attribution *attribution, const char *field,
                               const struct field_rule *rule)
{
    const char *package = package_of(attribution->a, field), *factor = NULL;
    char name[256];

    if (!package)
        package = package_of(attribution->b, field);
    if (package) {
        package_name(package, name, sizeof(name));
        factor = member_string(attribution->packages, name);
    }
    if (!factor)
        factor = rule->factor ? rule->factor : field;
    if (attribution->same_processor && !strcmp(factor, "device"))
        return "driver";
    return attribution->driver_compiles && !strncmp(field, "kernel.", 7) ? "driver" : factor;
}

/* ---- what tells a person which of a factor is meant ---- */

#define PACKAGES_NAMED 3

/*
 * The fields that say of a factor which one it is. Rows of one factor are tried in their order, and
 * the first by which the two results differ counts. Only fields of the factor itself stand here: an
 * experiment that sets a worker changes libraries and drivers, too, and none of them names it.
 */
static const struct telling {
    const char *factor;  /* ends in a blank: all that begin so */
    const char *product; /* NULL: the factor's name says enough */
    const char *version;
    bool if_other; /* the product is named only where it is not the same */
} telling[] = {
    {"worker", "worker.name", "worker.version", false},
    {"driver", "device.platform_name", "device.driver_version", true},
    {"device", NULL, "device.name", false},
    {"device", NULL, "device.uuid", false},
    {"backend", NULL, "device.backend", false},
    {"library", "gemm.library", "gemm.version", false},
    {"library", "attention.library", "attention.version", false},
    {"library ", "gemm.library", "gemm.version", false},
    {"library ", "attention.library", "attention.version", false},
    {"compiler", NULL, "device.compiler", false},
    {"server", NULL, "endpoint.version", false},
    {"server", NULL, "endpoint.server", false},
    {"server", NULL, "endpoint.model", false},
    {"server", NULL, "endpoint.url", false},
    {"assay", NULL, "tool.version", false},
    {"host", NULL, "host.cpu.model", false},
    {"host", NULL, "host.machine.product", false},
    {"precision", NULL, "identity.precision", false},
    {"implementation", NULL, "identity.implementation", false},
    {"emulation", NULL, "gemm.support", false},
    {"root directory", NULL, "worker.root", false},
};

static bool is_of(const struct telling *row, const char *factor)
{
    const size_t length = strlen(row->factor);

    return row->factor[length - 1] == ' ' ? !strncmp(row->factor, factor, length)
                                          : !strcmp(row->factor, factor);
}

static json_t *string_or_null(struct text *words)
{
    json_t *string = words->length > 0 && text_ok(words) ? json_string(words->data) : json_null();

    text_finish(words);
    return string;
}

static void append_word(struct text *out, const char *word)
{
    if (word)
        text_append_format(out, "%s%s", out->length > 0 ? " " : "", word);
}

/* assay's own worker has no declaration to name it, and a program of the user's has its path. */
static void append_undeclared_worker(struct text *out, const json_t *fields)
{
    static const char lead[] = COMPARABILITY_FOREIGN_ORIGIN;
    const char *origin = member_string(fields, "identity.origin");

    if (origin && !strncmp(origin, lead, strlen(lead))) {
        append_word(out, origin + strlen(lead));
    } else if (origin && !strcmp(origin, "measured by assay")) {
        append_word(out, "assay");
        append_word(out, member_string(fields, "tool.version"));
    }
}

/* What a row says of one result; `other`: the second one. */
static json_t *told_by(const struct telling *row, const json_t *fields, const json_t *other)
{
    const char *product = row->product ? member_string(fields, row->product) : NULL;
    const char *another = row->product ? member_string(other, row->product) : NULL;
    struct text words;

    text_init(&words);
    if (!(row->if_other && product && another && !strcmp(product, another)))
        append_word(&words, product);
    append_word(&words, member_string(fields, row->version));
    if (words.length == 0 && !strcmp(row->factor, "worker"))
        append_undeclared_worker(&words, fields);
    return string_or_null(&words);
}

/* ---- by packages ---- */

static bool holds(const json_t *list, const char *word)
{

    EACH(entry, list)
        if (!strcmp(json_string_value(entry), word))
            return true;
    return false;
}

/* The packages of those files of `list` that belong to the factor itself, each once. */
static json_t *packages_of(const struct attribution *attribution, const json_t *fields,
                           const char *factor, const json_t *list)
{
    json_t *packages = json_array();

    EACH(entry, list) {
        const char *field = json_string_value(entry);
        const struct field_rule *rule = field_rule_find(field);
        const char *package = package_of(fields, field);

        if (package && rule && rule->field_class == FIELD_SUBJECT && !holds(packages, package) &&
            !strcmp(attribution_factor(attribution, field, rule), factor))
            json_array_append_new(packages, json_string(package));
    }
    return packages;
}

/* "NAME VERSION" without the architecture, and without the name where the factor is that package.
 */
static void append_package(struct text *out, const char *package, const char *factor)
{
    static const char lead[] = "package ";
    const size_t name = strcspn(package, ": "), whole = strcspn(package, " ");

    if (is_folder(package) || !package[whole])
        text_append(out, package);
    else if (!strncmp(factor, lead, strlen(lead)) && strlen(factor) == strlen(lead) + name &&
             !strncmp(factor + strlen(lead), package, name))
        text_append(out, package + whole + 1);
    else
        text_append_format(out, "%.*s%s", (int)name, package, package + whole);
}

/* Those that the other result has not; all where there is none such. */
static json_t *packages_label(const json_t *own, const json_t *other, const char *factor)
{
    struct text words;
    size_t left = 0, named = 0;

    EACH(entry, own)
        left += !holds(other, json_string_value(entry));
    text_init(&words);
    EACH(entry, own) {
        if ((left > 0 && holds(other, json_string_value(entry))) || named++ >= PACKAGES_NAMED)
            continue;
        text_append(&words, words.length > 0 ? ", " : "");
        append_package(&words, json_string_value(entry), factor);
    }
    left = left > 0 ? left : json_array_size(own);
    if (left > PACKAGES_NAMED)
        text_append_format(&words, " and %zu more", left - PACKAGES_NAMED);
    return string_or_null(&words);
}

/* ---- by variables ---- */

/* What was set: the value of one variable, "NAME=VALUE" of several. */
static json_t *variables_label(const json_t *fields, const json_t *list)
{
    static const char lead[] = "variable.";
    struct text words;
    size_t count = 0;

    EACH(entry, list)
        count += !strncmp(json_string_value(entry), lead, strlen(lead));
    text_init(&words);
    EACH(entry, list) {
        const char *field = json_string_value(entry), *value = member_string(fields, field);

        if (strncmp(field, lead, strlen(lead)) != 0)
            continue;
        if (count == 1)
            append_word(&words, value);
        else if (value)
            text_append_format(&words, "%s%s=%s", words.length > 0 ? " " : "", field + strlen(lead),
                               value);
    }
    return string_or_null(&words);
}

/* ---- all of them ---- */

/* Gives both up unless they tell the two results apart. */
static bool tell_apart(json_t *labels[2])
{
    if (!json_equal(labels[0], labels[1]))
        return true;
    json_decref(labels[0]);
    json_decref(labels[1]);
    return false;
}

/*
 * What tells a person of both results which of `factor` is meant, of which the fields of `list`
 * differ: a product and its version, a device's name, the packages of the factor's own files, what
 * a variable was set to. New references; null where nothing of the kind is known.
 */
static void labels_of(const struct attribution *attribution, const char *factor, const json_t *list,
                      json_t *ret_labels[2])
{
    const json_t *sides[2] = {attribution->a, attribution->b};
    json_t *packages[2];
    bool apart;

    for (size_t k = 0; k < sizeof(telling) / sizeof(telling[0]); k++) {
        if (!is_of(&telling[k], factor))
            continue;
        for (int i = 0; i < 2; i++)
            ret_labels[i] = told_by(&telling[k], sides[i], sides[1 - i]);
        if (tell_apart(ret_labels))
            return;
    }
    for (int i = 0; i < 2; i++)
        packages[i] = packages_of(attribution, sides[i], factor, list);
    for (int i = 0; i < 2; i++)
        ret_labels[i] = packages_label(packages[i], packages[1 - i], factor);
    json_decref(packages[0]);
    json_decref(packages[1]);
    apart = tell_apart(ret_labels);
    for (int i = 0; i < 2 && !apart; i++)
        ret_labels[i] = variables_label(sides[i], list);
}

bool comparability_append_labels(struct text *out, const json_t *factor)
{
    const char *labels[2] = {member_string(factor, "a"), member_string(factor, "b")};

    if ((!labels[0] && !labels[1]) || (labels[0] && labels[1] && !strcmp(labels[0], labels[1])))
        return false;
    for (int i = 0; i < 2; i++) {
        text_append(out, i ? " -> " : "");
        text_append(out, labels[i] ? labels[i] : "none");
    }
    return true;
}

json_t *attribution_list(const struct attribution *attribution, const json_t *factors)
{
    json_t *list = json_array(), *fields;
    const char *factor;

    json_object_foreach((json_t *)factors, factor, fields)
    {
        json_t *labels[2];

        labels_of(attribution, factor, fields, labels);
        json_array_append_new(list, json_pack("{s:s, s:O, s:o, s:o}", "factor", factor, "fields",
                                              fields, "a", labels[0], "b", labels[1]));
    }
    return list;
}

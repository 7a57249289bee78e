#include "protocols/attribution.h"

#include <stdio.h>
#include <string.h>

#include "harness/core/member.h"

const char *attribution_package(const json_t *fields, const char *field)
{
    char key[256];

    snprintf(key, sizeof(key), "%s" COMPARABILITY_PACKAGE, field);
    return member_string(fields, key);
}

bool attribution_is_folder(const char *package)
{
    return !strncmp(package, COMPARABILITY_FOLDER, strlen(COMPARABILITY_FOLDER));
}

/* "NAME VERSION" without the version and the architecture; a folder's path has neither. */
static void package_name(const char *package, char *ret, size_t size)
{
    if (attribution_is_folder(package))
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
    const char *texts[2] = {attribution_package(attribution->a, field),
                            attribution_package(attribution->b, field)};
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
    const char *package = attribution_package(attribution->a, field), *factor = NULL;
    char name[256];

    if (!package)
        package = attribution_package(attribution->b, field);
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

json_t *attribution_list(const struct attribution *attribution, const json_t *factors)
{
    json_t *list = json_array(), *fields;
    const char *factor;

    json_object_foreach((json_t *)factors, factor, fields)
    {
        json_t *labels[2];

        attribution_labels(attribution, factor, fields, labels);
        json_array_append_new(list, json_pack("{s:s, s:O, s:o, s:o}", "factor", factor, "fields",
                                              fields, "a", labels[0], "b", labels[1]));
    }
    return list;
}

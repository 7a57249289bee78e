/* The declared table of fields (declared/fields.yaml). */
#include "protocols/comparability.h"

#include <pthread.h>
#include <string.h>

#include "harness/core/declaration.h"
#include "harness/core/embed.h"

extern const struct embed_file field_declared[];
extern const size_t field_declared_count;

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

const char *field_class_name(enum field_class field_class)
{
    return class_names[field_class].str;
}

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

bool field_matches(const char *pattern, const char *field)
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
        if (field_matches(rules[i].field, field))
            return &rules[i];
    return NULL;
}

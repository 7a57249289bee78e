/*
 * Compares what is written with what the schema tables allow, so that errors can say what to write.
 */
#include "harness/core/declaration_node.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct check {
    const struct declaration *declaration;
    struct text *out; /* the text for libcyaml */
    size_t copied;    /* bytes of the declaration that are in `out` */
    struct text path; /* of the place being checked: "model.heads" */
    struct error *err;
};

/* "FILE:LINE: WHAT", taking `what`. */
static enum status fail(struct check *check, int line, struct text *what)
{
    enum status status;

    if (text_ok(what) && text_ok(&check->path))
        status = error_set_at(check->err, STATUS_INVALID, check->declaration->origin,
                              (uint64_t)line, "%s", what->data);
    else
        status = error_set(check->err, STATUS_NO_MEMORY, "%s: out of memory",
                           check->declaration->origin);
    text_finish(what);
    return status;
}

static bool has_flag(const cyaml_schema_value_t *schema, unsigned flag)
{
    return ((unsigned)schema->flags & flag) != 0;
}

static void append_names(struct text *text, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        text_append(text, i ? ", " : "");
        text_append(text, names[i]);
    }
}

static enum status fail_type(struct check *check, const struct declaration_node *node,
                             const cyaml_schema_value_t *schema)
{
    struct text what;

    text_init(&what);
    if (check->path.length)
        text_append_format(&what, "\"%s\"", check->path.data);
    else
        text_append(&what, "the declaration");
    text_append(&what, " is ");
    declaration_append_found(&what, node);
    text_append(&what, ", but should be ");
    declaration_append_expected(&what, schema);
    return fail(check, node->line, &what);
}

static bool fits_int(int64_t value, uint32_t size)
{
    return size >= 8 || (value >= -(int64_t)(1ull << (8 * size - 1)) &&
                         value < (int64_t)(1ull << (8 * size - 1)));
}

static bool fits_uint(uint64_t value, uint32_t size)
{
    return size >= 8 || value < 1ull << (8 * size);
}

/* Puts an integer into libcyaml's text where the declaration has a number with its unit. */
static void replace(struct check *check, const struct declaration_node *node, int64_t value)
{
    text_append_bytes(check->out, check->declaration->yaml + check->copied,
                      node->start - check->copied);
    text_append_format(check->out, "%" PRId64, value);
    check->copied = node->end;
}

static bool check_integer(struct check *check, const struct declaration_node *node,
                          const cyaml_schema_value_t *schema)
{
    const char *digits = node->text + (*node->text == '-');
    uint64_t u64;
    int64_t i64;

    if (has_flag(schema, DECLARATION_DURATION)) {
        if (!text_parse_duration_ns(node->text, &i64) || !fits_int(i64, schema->data_size))
            return false;
        replace(check, node, i64);
        return true;
    }
    if (has_flag(schema, DECLARATION_BYTES)) {
        if (!text_parse_bytes(node->text, &u64) || u64 > INT64_MAX ||
            !fits_int((int64_t)u64, schema->data_size))
            return false;
        replace(check, node, (int64_t)u64);
        return true;
    }
    if (digits[0] == '0' && digits[1]) /* libcyaml would read 010 as 8 */
        return false;
    if (schema->type == CYAML_UINT)
        return text_parse_u64(node->text, &u64) && fits_uint(u64, schema->data_size);
    return text_parse_i64(node->text, &i64) && fits_int(i64, schema->data_size);
}

static enum status check_enumeration(struct check *check, const struct declaration_node *node,
                                     const cyaml_schema_value_t *schema)
{
    const cyaml_strval_t *strings = schema->enumeration.strings;
    const char *nearest = NULL;
    struct text what;

    for (uint32_t i = 0; i < schema->enumeration.count; ++i)
        if (!strcmp(strings[i].str, node->text))
            return STATUS_OK;
    for (uint32_t i = 0; i < schema->enumeration.count; ++i) {
        const char *name = text_nearest(node->text, &strings[i].str, 1);

        if (name &&
            (!nearest || text_distance(node->text, name) < text_distance(node->text, nearest)))
            nearest = name;
    }
    text_init(&what);
    text_append_format(&what, "\"%s\" is ", check->path.data);
    declaration_append_found(&what, node);
    text_append(&what, ", which is none of ");
    declaration_append_enumeration(&what, schema);
    if (nearest)
        text_append_format(&what, "; did you mean \"%s\"?", nearest);
    else
        text_append(&what, "; write one of these");
    return fail(check, node->line, &what);
}

static enum status check_string(struct check *check, const struct declaration_node *node,
                                const cyaml_schema_value_t *schema)
{
    size_t length = strlen(node->text), min = schema->string.min, max = schema->string.max;
    struct text what;

    /* In place the C string's NUL needs room too; libcyaml's macro sets max so. */
    if (length >= min && length <= max)
        return STATUS_OK;
    text_init(&what);
    text_append_format(&what, "\"%s\" is ", check->path.data);
    declaration_append_found(&what, node);
    if (length == 0)
        text_append(&what, ", but must not be empty; write a text");
    else if (length < min)
        text_append_format(&what, ", shorter than %zu characters; write a longer text", min);
    else
        text_append_format(&what, ", longer than %zu characters; write a shorter text", max);
    return fail(check, node->line, &what);
}

static enum status check_scalar(struct check *check, const struct declaration_node *node,
                                const cyaml_schema_value_t *schema)
{
    double real;

    switch (schema->type) {
    case CYAML_INT:
    case CYAML_UINT:
        return check_integer(check, node, schema) ? STATUS_OK : fail_type(check, node, schema);
    case CYAML_BOOL:
        return !strcmp(node->text, "true") || !strcmp(node->text, "false")
                   ? STATUS_OK
                   : fail_type(check, node, schema);
    case CYAML_FLOAT:
        if (!text_parse_double(node->text, &real) ||
            (schema->data_size == sizeof(float) && fabs(real) > FLT_MAX))
            return fail_type(check, node, schema);
        return STATUS_OK;
    case CYAML_ENUM:
        return check_enumeration(check, node, schema);
    default:
        return check_string(check, node, schema);
    }
}

static enum status check_value(struct check *check, const struct declaration_node *node,
                               const cyaml_schema_value_t *schema);

static enum status check_sequence(struct check *check, const struct declaration_node *node,
                                  const cyaml_schema_value_t *schema)
{
    size_t min = schema->sequence.min, max = schema->sequence.max, index = 0;
    size_t length = check->path.length;
    enum status status = STATUS_OK;
    struct text what;

    if (node->count < min || node->count > max) {
        text_init(&what);
        text_append_format(&what, "\"%s\" has %zu %s, but should have ", check->path.data,
                           node->count, node->count == 1 ? "item" : "items");
        if (min == max)
            text_append_format(&what, "exactly %zu", min);
        else if (node->count < min)
            text_append_format(&what, "at least %zu; add some", min);
        else
            text_append_format(&what, "at most %zu; take some out", max);
        return fail(check, node->line, &what);
    }
    for (const struct declaration_node *child = node->first; child && status == STATUS_OK;
         child = child->next) {
        text_append_format(&check->path, "[%zu]", index++);
        status = check_value(check, child, schema->sequence.entry);
        check->path.length = length;
    }
    return status;
}

/* All names allowed here; a schema has no more than these in practice. */
#define FIELDS_MAX 128

static enum status fail_unknown(struct check *check, const struct declaration_node *node,
                                const char *const *names, size_t count)
{
    const char *nearest = text_nearest(node->key, names, count);
    struct text what;

    text_init(&what);
    text_append(&what, "unknown key ");
    declaration_append_quoted(&what, node->key);
    if (check->path.length)
        text_append_format(&what, " in \"%s\"", check->path.data);
    if (nearest)
        text_append_format(&what, "; did you mean \"%s\"?", nearest);
    else
        text_append(&what, "; take it out.");
    text_append(&what, " Keys here: ");
    append_names(&what, names, count);
    return fail(check, node->line, &what);
}

static enum status fail_twice(struct check *check, const struct declaration_node *node,
                              const struct declaration_node *first)
{
    struct text what;

    text_init(&what);
    text_append_format(&what, "key \"%s\" is written twice, first in line %d; take one out",
                       node->key, first->line);
    return fail(check, node->line, &what);
}

static enum status fail_missing(struct check *check, const struct declaration_node *node,
                                const cyaml_schema_field_t *field)
{
    struct text what;

    text_init(&what);
    text_append_format(&what, "key \"%s\" is missing", field->key);
    if (check->path.length)
        text_append_format(&what, " in \"%s\"", check->path.data);
    text_append_format(&what, "; add a line \"%s: ...\", which is ", field->key);
    declaration_append_expected(&what, &field->value);
    return fail(check, node->line, &what);
}

static enum status check_mapping(struct check *check, const struct declaration_node *node,
                                 const cyaml_schema_value_t *schema)
{
    const cyaml_schema_field_t *fields = schema->mapping.fields;
    const struct declaration_node *seen[FIELDS_MAX] = {NULL};
    const char *names[FIELDS_MAX];
    size_t length = check->path.length, count = 0;
    enum status status = STATUS_OK;

    for (; fields[count].key; ++count) {
        if (count == FIELDS_MAX)
            return error_set(check->err, STATUS_INTERNAL, "a schema has more than %d keys",
                             FIELDS_MAX);
        names[count] = fields[count].key;
    }
    for (const struct declaration_node *child = node->first; child && status == STATUS_OK;
         child = child->next) {
        size_t i = 0;

        while (i < count && strcmp(names[i], child->key))
            ++i;
        if (i == count)
            return fail_unknown(check, child, names, count);
        if (seen[i])
            return fail_twice(check, child, seen[i]);
        seen[i] = child;
        text_append(&check->path, length ? "." : "");
        text_append(&check->path, names[i]);
        status = check_value(check, child, &fields[i].value);
        check->path.length = length;
        if (check->path.capacity)
            check->path.data[length] = '\0';
    }
    for (size_t i = 0; i < count && status == STATUS_OK; ++i)
        if (!seen[i] && !has_flag(&fields[i].value, CYAML_FLAG_OPTIONAL))
            status = fail_missing(check, node, &fields[i]);
    return status;
}

static enum status check_value(struct check *check, const struct declaration_node *node,
                               const cyaml_schema_value_t *schema)
{
    enum declaration_kind kind = DECLARATION_SCALAR;

    switch (schema->type) {
    case CYAML_INT:
    case CYAML_UINT:
    case CYAML_BOOL:
    case CYAML_FLOAT:
    case CYAML_ENUM:
    case CYAML_STRING:
        break;
    case CYAML_MAPPING:
        kind = DECLARATION_MAPPING;
        break;
    case CYAML_SEQUENCE:
    case CYAML_SEQUENCE_FIXED:
        kind = DECLARATION_SEQUENCE;
        break;
    default:
        return error_set(check->err, STATUS_INTERNAL,
                         "schema of \"%s\" has a type that "
                         "declarations do not take",
                         check->path.data);
    }
    if (node->kind != kind || declaration_node_is_null(node))
        return fail_type(check, node, schema);
    if (kind == DECLARATION_MAPPING)
        return check_mapping(check, node, schema);
    if (kind == DECLARATION_SEQUENCE)
        return check_sequence(check, node, schema);
    return check_scalar(check, node, schema);
}

enum status declaration_check(const struct declaration *declaration, struct text *ret,
                              struct error *err)
{
    struct check check = {.declaration = declaration, .out = ret, .err = err};
    enum status status;

    text_init(&check.path);
    if (!declaration->root || (declaration_node_is_null(declaration->root))) {
        struct text what;

        text_init(&what);
        text_append(&what, "nothing is declared here; write \"key: value\" lines. Keys: ");
        for (const cyaml_schema_field_t *field = declaration->schema->mapping.fields; field->key;
             ++field)
            text_append_format(&what, "%s%s", field->key, field[1].key ? ", " : "");
        status = fail(&check, 1, &what);
    } else {
        status = check_value(&check, declaration->root, declaration->schema);
    }
    if (status == STATUS_OK)
        text_append_bytes(ret, declaration->yaml + check.copied,
                          declaration->length - check.copied);
    if (status == STATUS_OK && (!text_ok(&check.path) || !text_ok(ret)))
        status = error_set(err, STATUS_NO_MEMORY, "%s: out of memory", declaration->origin);
    text_finish(&check.path);
    return status;
}

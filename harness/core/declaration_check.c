/*
 * Compares what is written with what the schema tables allow, so that errors can say what to write,
 * and puts it into the struct that they describe.
 */
#include "harness/core/declaration_node.h"

#include <stdlib.h>
#include <string.h>

struct check {
    const struct declaration *declaration;
    struct text path; /* of the place being checked: "model.heads" */
    struct error *err;
};

static enum status fail_memory(struct check *check)
{
    return error_no_memory(check->err);
}

/* "FILE:LINE: WHAT", taking `what`. */
static enum status fail(struct check *check, int line, struct text *what)
{
    enum status status;

    if (text_ok(what) && text_ok(&check->path))
        status = error_set_at(check->err, STATUS_INVALID, check->declaration->origin,
                              (uint64_t)line, "%s", what->data);
    else
        status = fail_memory(check);
    text_finish(what);
    return status;
}

static void append_names(struct text *text, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        text_append(text, i ? ", " : "");
        text_append(text, names[i]);
    }
}

static enum status fail_type(struct check *check, const struct declaration_node *node,
                             const struct declaration_schema *schema)
{
    struct text what = TEXT_INIT;

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

static void store(char *place, uint64_t value, uint32_t size)
{
    memcpy(place, DECLARATION_LOW(&value, size), size);
}

static bool parse_real(const char *text, unsigned flags, double *ret)
{
    const size_t length = strlen(text);
    char digits[32];

    if (!(flags & DECLARATION_TIMES) || length < 2 || length > sizeof(digits) ||
        text[length - 1] != 'x')
        return text_parse_double(text, ret) && (!(flags & DECLARATION_TIMES) || *ret >= 0);
    memcpy(digits, text, length - 1);
    digits[length - 1] = '\0';
    if (!text_parse_double(digits, ret) || !(*ret > 0))
        return false;
    *ret = -*ret;
    return true;
}

static bool check_integer(const struct declaration_node *node,
                          const struct declaration_schema *schema, char *place)
{
    const char *digits = node->text + (*node->text == '-');
    uint64_t u64;
    int64_t i64;

    if (schema->flags & DECLARATION_DURATION) {
        if (!text_parse_duration_ns(node->text, &i64) || !fits_int(i64, schema->size))
            return false;
        u64 = (uint64_t)i64;
    } else if (schema->flags & DECLARATION_BYTES) {
        if (!text_parse_bytes(node->text, &u64) || u64 > INT64_MAX ||
            !fits_int((int64_t)u64, schema->size))
            return false;
    } else if (digits[0] == '0' && digits[1]) { /* elsewhere 010 is 8 */
        return false;
    } else if (schema->type == DECLARATION_UINT) {
        if (!text_parse_u64(node->text, &u64) || !fits_uint(u64, schema->size))
            return false;
    } else {
        if (!text_parse_i64(node->text, &i64) || !fits_int(i64, schema->size))
            return false;
        u64 = (uint64_t)i64;
    }
    store(place, u64, schema->size);
    return true;
}

static enum status check_enumeration(struct check *check, const struct declaration_node *node,
                                     const struct declaration_schema *schema, char *place)
{
    const struct declaration_name *names = schema->names;
    const char *nearest = NULL;
    struct text what = TEXT_INIT;

    for (uint32_t i = 0; i < schema->max; ++i)
        if (!strcmp(names[i].str, node->text)) {
            store(place, (uint64_t)names[i].val, schema->size);
            return STATUS_OK;
        }
    for (uint32_t i = 0; i < schema->max; ++i) {
        const char *name = text_nearest(node->text, &names[i].str, 1);

        if (name &&
            (!nearest || text_distance(node->text, name) < text_distance(node->text, nearest)))
            nearest = name;
    }
    text_append_format(&what, "\"%s\" is ", check->path.data);
    declaration_append_found(&what, node);
    text_append(&what, ", which is not one of ");
    declaration_append_enumeration(&what, schema);
    if (nearest)
        text_append_format(&what, "; did you mean \"%s\"?", nearest);
    else
        text_append(&what, "; write one of these");
    return fail(check, node->line, &what);
}

static enum status check_string(struct check *check, const struct declaration_node *node,
                                const struct declaration_schema *schema, char *place)
{
    size_t length = strlen(node->text), min = schema->min, max = schema->max;
    struct text what = TEXT_INIT;

    if (length >= min && length <= max) {
        char *copy = strdup(node->text);

        memcpy(place, &copy, sizeof(copy));
        return copy ? STATUS_OK : fail_memory(check);
    }
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
                                const struct declaration_schema *schema, char *place)
{
    const bool is_true = !strcmp(node->text, "true");
    double real;

    switch (schema->type) {
    case DECLARATION_INT:
    case DECLARATION_UINT:
        return check_integer(node, schema, place) ? STATUS_OK : fail_type(check, node, schema);
    case DECLARATION_BOOL:
        if (!is_true && strcmp(node->text, "false"))
            return fail_type(check, node, schema);
        store(place, is_true, schema->size);
        return STATUS_OK;
    case DECLARATION_FLOAT:
        if (!parse_real(node->text, schema->flags, &real))
            return fail_type(check, node, schema);
        memcpy(place, &real, sizeof(real));
        return STATUS_OK;
    case DECLARATION_ENUM:
        return check_enumeration(check, node, schema, place);
    default:
        return check_string(check, node, schema, place);
    }
}

static enum status check_value(struct check *check, const struct declaration_node *node,
                               const struct declaration_schema *schema, char *place);

static enum status check_list(struct check *check, const struct declaration_node *node,
                              const struct declaration_schema *schema, char *place)
{
    size_t min = schema->min, max = schema->max, index = 0;
    size_t length = check->path.length;
    enum status status = STATUS_OK;
    struct text what;
    char *items;

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
    if (node->count == 0)
        return STATUS_OK;
    items = calloc(node->count, schema->entry->size);
    if (!items)
        return fail_memory(check);
    memcpy(place, &items, sizeof(items));
    store(place + schema->count, node->count, sizeof(uint32_t));
    for (const struct declaration_node *child = node->first; child && status == STATUS_OK;
         child = child->next) {
        text_append_format(&check->path, "[%zu]", index);
        status = check_value(check, child, schema->entry, items + index++ * schema->entry->size);
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
    struct text what = TEXT_INIT;

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
    struct text what = TEXT_INIT;

    text_append_format(&what, "key \"%s\" is written twice, first in line %d; take one out",
                       node->key, first->line);
    return fail(check, node->line, &what);
}

static enum status fail_missing(struct check *check, const struct declaration_node *node,
                                const struct declaration_field *field)
{
    struct text what = TEXT_INIT;

    text_append_format(&what, "key \"%s\" is missing", field->key);
    if (check->path.length)
        text_append_format(&what, " in \"%s\"", check->path.data);
    text_append_format(&what, "; add a line \"%s: ...\", which is ", field->key);
    declaration_append_expected(&what, &field->value);
    return fail(check, node->line, &what);
}

static enum status check_group(struct check *check, const struct declaration_node *node,
                               const struct declaration_schema *schema, char *place)
{
    const struct declaration_field *fields = schema->fields;
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
        if (i == count && schema->flags & DECLARATION_OPEN)
            continue;
        if (i == count)
            return fail_unknown(check, child, names, count);
        if (seen[i])
            return fail_twice(check, child, seen[i]);
        seen[i] = child;
        text_append(&check->path, length ? "." : "");
        text_append(&check->path, names[i]);
        status = check_value(check, child, &fields[i].value, place + fields[i].offset);
        check->path.length = length;
        if (check->path.capacity)
            check->path.data[length] = '\0';
    }
    for (size_t i = 0; i < count && status == STATUS_OK; ++i)
        if (!seen[i] && !(fields[i].value.flags & FIELD_OPTIONAL))
            status = fail_missing(check, node, &fields[i]);
    return status;
}

static enum status check_value(struct check *check, const struct declaration_node *node,
                               const struct declaration_schema *schema, char *place)
{
    const enum declaration_kind kind = schema->type == DECLARATION_GROUP  ? DECLARATION_MAPPING
                                       : schema->type == DECLARATION_LIST ? DECLARATION_SEQUENCE
                                                                          : DECLARATION_SCALAR;

    if (node->kind != kind || declaration_node_is_null(node))
        return fail_type(check, node, schema);
    if (kind == DECLARATION_MAPPING)
        return check_group(check, node, schema, place);
    if (kind == DECLARATION_SEQUENCE)
        return check_list(check, node, schema, place);
    return check_scalar(check, node, schema, place);
}

enum status declaration_check(const struct declaration *declaration, struct error *err)
{
    struct check check = {.declaration = declaration, .err = err};
    enum status status;

    text_init(&check.path);
    if (!declaration->root || (declaration_node_is_null(declaration->root))) {
        struct text what = TEXT_INIT;

        text_append(&what, "nothing is declared here; write \"key: value\" lines. Keys: ");
        for (const struct declaration_field *field = declaration->schema->fields; field->key;
             ++field)
            text_append_format(&what, "%s%s", field->key, field[1].key ? ", " : "");
        status = fail(&check, 1, &what);
    } else {
        status = check_value(&check, declaration->root, declaration->schema, declaration->data);
    }
    if (status == STATUS_OK && !text_ok(&check.path))
        status = fail_memory(&check);
    text_finish(&check.path);
    return status;
}

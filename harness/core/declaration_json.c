/* From a declaration's data, after its schema, to JSON. */
#include "harness/core/declaration_node.h"

#include <string.h>

static uint64_t read_uint(const char *data, uint32_t size)
{
    uint64_t value = 0;

    memcpy(DECLARATION_LOW(&value, size), data, size);
    return value;
}

static int64_t read_int(const char *data, uint32_t size)
{
    unsigned shift = 64 - 8 * size;

    return (int64_t)(read_uint(data, size) << shift) >> shift;
}

static const char *read_pointer(const char *data)
{
    const char *pointer;

    memcpy(&pointer, data, sizeof(char *));
    return pointer;
}

/* A share, "0.5x", is negative (DECLARATION_TIMES). */
static json_t *real_to_json(const char *data, unsigned flags)
{
    double real;

    memcpy(&real, data, sizeof(real));
    return flags & DECLARATION_TIMES && real < 0 ? json_sprintf("%.15gx", -real) : json_real(real);
}

static json_t *enum_to_json(const char *data, const struct declaration_schema *schema)
{
    const int64_t value = read_int(data, schema->size);

    for (uint32_t i = 0; i < schema->max; ++i)
        if (schema->names[i].val == value)
            return json_string(schema->names[i].str);
    return NULL;
}

static bool is_zero(const char *data, size_t size)
{
    for (size_t i = 0; i < size; ++i)
        if (data[i])
            return false;
    return true;
}

static json_t *value_to_json(const char *data, const struct declaration_schema *schema,
                             const struct declaration_node *node);

static json_t *list_to_json(const char *data, const struct declaration_schema *schema,
                            const struct declaration_node *node)
{
    const struct declaration_node *child = node ? node->first : NULL;
    const uint64_t count = read_uint(data + schema->count, sizeof(uint32_t));
    const char *items = read_pointer(data);
    json_t *array = json_array();

    for (uint64_t i = 0; array && i < count; ++i) {
        const char *item = items + i * schema->entry->size;

        if (json_array_append_new(array, value_to_json(item, schema->entry, child))) {
            json_decref(array);
            return NULL;
        }
        child = child ? child->next : NULL;
    }
    return array;
}

static json_t *group_to_json(const char *data, const struct declaration_schema *schema,
                             const struct declaration_node *node)
{
    json_t *object = json_object();

    for (const struct declaration_field *field = schema->fields; object && field->key; ++field) {
        const struct declaration_node *child =
            node ? declaration_node_member(node, field->key, strlen(field->key)) : NULL;
        const char *place = data + field->offset;

        if (!child && field->value.flags & FIELD_OPTIONAL && is_zero(place, field->value.size))
            continue;
        if (json_object_set_new(object, field->key, value_to_json(place, &field->value, child))) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

/* New reference; NULL when out of memory or for an enumeration's value without a name. */
static json_t *value_to_json(const char *data, const struct declaration_schema *schema,
                             const struct declaration_node *node)
{
    switch (schema->type) {
    case DECLARATION_INT:
        if (schema->flags & DECLARATION_DURATION)
            return json_sprintf("%lldns", (long long)read_int(data, schema->size));
        return json_integer(read_int(data, schema->size));
    case DECLARATION_UINT:
        /* Seeds may use all 64 bits, which JSON's signed integers do not have. */
        if (read_uint(data, schema->size) > INT64_MAX) {
            char digits[24];

            snprintf(digits, sizeof(digits), "%llu",
                     (unsigned long long)read_uint(data, schema->size));
            return json_string(digits);
        }
        return json_integer((json_int_t)read_uint(data, schema->size));
    case DECLARATION_BOOL:
        return json_boolean(read_uint(data, schema->size));
    case DECLARATION_FLOAT:
        return real_to_json(data, schema->flags);
    case DECLARATION_ENUM:
        return enum_to_json(data, schema);
    case DECLARATION_STRING:
        return json_string(read_pointer(data));
    case DECLARATION_GROUP:
        return group_to_json(data, schema, node);
    default:
        return list_to_json(data, schema, node);
    }
}

enum status declaration_to_json(const struct declaration *declaration, json_t **ret,
                                struct error *err)
{
    json_t *json = value_to_json(declaration->data, declaration->schema, declaration->root);

    if (!json)
        return error_no_memory(err);
    *ret = json;
    return STATUS_OK;
}

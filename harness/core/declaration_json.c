/* From a declaration's data, after its schema, to JSON. */
#include "harness/core/declaration_node.h"

#include <string.h>

static bool has_flag(const cyaml_schema_value_t *schema, unsigned flag)
{
    return ((unsigned)schema->flags & flag) != 0;
}

static uint64_t read_uint(const char *data, uint32_t size)
{
    uint64_t value = 0;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(&value, data, size);
#else
    memcpy((char *)&value + sizeof(value) - size, data, size);
#endif
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

static json_t *real_to_json(const char *data, uint32_t size)
{
    double real;
    float narrow;

    if (size == sizeof(narrow)) {
        memcpy(&narrow, data, sizeof(narrow));
        real = narrow;
    } else {
        memcpy(&real, data, sizeof(real));
    }
    return json_real(real);
}

static json_t *enum_to_json(const char *data, const cyaml_schema_value_t *schema)
{
    uint64_t value = read_uint(data, schema->data_size);

    for (uint32_t i = 0; i < schema->enumeration.count; ++i) {
        uint64_t known = (uint64_t)schema->enumeration.strings[i].val;

        if (schema->data_size < 8)
            known &= (1ull << (8 * schema->data_size)) - 1;
        if (known == value)
            return json_string(schema->enumeration.strings[i].str);
    }
    return NULL;
}

static bool is_zero(const char *data, size_t size)
{
    for (size_t i = 0; i < size; ++i)
        if (data[i])
            return false;
    return true;
}

static json_t *value_to_json(const char *data, const cyaml_schema_value_t *schema, uint64_t count,
                             const struct declaration_node *node);

static json_t *sequence_to_json(const char *data, const cyaml_schema_value_t *schema,
                                uint64_t count, const struct declaration_node *node)
{
    const cyaml_schema_value_t *entry = schema->sequence.entry;
    const struct declaration_node *child = node ? node->first : NULL;
    bool pointers = has_flag(entry, CYAML_FLAG_POINTER);
    size_t stride = pointers ? sizeof(void *) : entry->data_size;
    json_t *array = json_array();

    for (uint64_t i = 0; array && i < count; ++i) {
        const char *item = data + i * stride;
        json_t *value;

        if (pointers)
            item = read_pointer(item);
        /* A list in a list has a fixed count, the only kind that libcyaml takes. */
        value = item ? value_to_json(item, entry,
                                     entry->type == CYAML_SEQUENCE_FIXED ? entry->sequence.max : 0,
                                     child)
                     : json_null();
        if (json_array_append_new(array, value)) {
            json_decref(array);
            return NULL;
        }
        child = child ? child->next : NULL;
    }
    return array;
}

static json_t *mapping_to_json(const char *data, const cyaml_schema_value_t *schema,
                               const struct declaration_node *node)
{
    json_t *object = json_object();

    for (const cyaml_schema_field_t *field = schema->mapping.fields; object && field->key;
         ++field) {
        const cyaml_schema_value_t *value = &field->value;
        const struct declaration_node *child =
            node ? declaration_node_member(node, field->key, strlen(field->key)) : NULL;
        const char *place = data + field->data_offset;
        uint64_t count = value->type == CYAML_SEQUENCE_FIXED ? value->sequence.max : 0;

        if (value->type == CYAML_SEQUENCE)
            count = read_uint(data + field->count_offset, field->count_size);
        if (has_flag(value, CYAML_FLAG_POINTER)) {
            place = read_pointer(place);
            if (!place && !(child && value->type == CYAML_SEQUENCE))
                continue;
        } else if (!child && has_flag(value, CYAML_FLAG_OPTIONAL)) {
            if (value->type == CYAML_SEQUENCE ? count == 0 : is_zero(place, value->data_size))
                continue;
        }
        if (json_object_set_new(object, field->key, value_to_json(place, value, count, child))) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

/* New reference; NULL when out of memory or for an enumeration's value without a name. */
static json_t *value_to_json(const char *data, const cyaml_schema_value_t *schema, uint64_t count,
                             const struct declaration_node *node)
{
    switch (schema->type) {
    case CYAML_INT:
        return json_integer(read_int(data, schema->data_size));
    case CYAML_UINT:
        /* Seeds may use all 64 bits, which JSON's signed integers do not have. */
        if (read_uint(data, schema->data_size) > INT64_MAX) {
            char digits[24];

            snprintf(digits, sizeof(digits), "%llu",
                     (unsigned long long)read_uint(data, schema->data_size));
            return json_string(digits);
        }
        return json_integer((json_int_t)read_uint(data, schema->data_size));
    case CYAML_BOOL:
        return json_boolean(read_uint(data, schema->data_size));
    case CYAML_FLOAT:
        return real_to_json(data, schema->data_size);
    case CYAML_ENUM:
        return enum_to_json(data, schema);
    case CYAML_STRING:
        return json_string(data);
    case CYAML_MAPPING:
        return mapping_to_json(data, schema, node);
    case CYAML_SEQUENCE:
    case CYAML_SEQUENCE_FIXED:
        return sequence_to_json(data, schema, count, node);
    default:
        return NULL;
    }
}

enum status declaration_to_json(const struct declaration *declaration, json_t **ret,
                                struct error *err)
{
    json_t *json = value_to_json(declaration->data, declaration->schema, 0, declaration->root);

    if (!json)
        return error_set(err, STATUS_NO_MEMORY,
                         "%s: cannot be written as JSON (out of memory, or "
                         "a choice without a name)",
                         declaration->origin);
    *ret = json;
    return STATUS_OK;
}

#include "tests/support/json_shapes.h"

static const char *const shapes[] = {
    "null", "true", "0",     "-5",     "1e308",          "\"text\"",
    "[]",   "{}",   "[[1]]", "[null]", "{\"value\":{}}", "[{\"id\":\"x\"}]",
};

size_t json_shape_count(void)
{
    return sizeof(shapes) / sizeof(shapes[0]);
}

json_t *json_shape(size_t index)
{
    return json_loads(shapes[index], JSON_DECODE_ANY, NULL);
}

static size_t replace(json_t *root, json_t *at, void (*attempt)(void *, json_t *), void *context)
{
    size_t made = 0, index;
    const char *key;
    void *next;
    json_t *value;

    for (size_t s = 0; s < json_shape_count(); ++s) {
        json_object_foreach_safe(at, next, key, value)
        {
            json_t *kept = json_incref(value);

            json_object_set_new(at, key, json_shape(s));
            attempt(context, json_deep_copy(root));
            json_object_set_new(at, key, kept);
            ++made;
        }
        json_array_foreach(at, index, value)
        {
            json_t *kept = json_incref(value);

            json_array_set_new(at, index, json_shape(s));
            attempt(context, json_deep_copy(root));
            json_array_set_new(at, index, kept);
            ++made;
        }
    }
    json_object_foreach(at, key, value) made += replace(root, value, attempt, context);
    json_array_foreach(at, index, value) made += replace(root, value, attempt, context);
    return made;
}

size_t json_shapes_try(json_t *root, void (*attempt)(void *context, json_t *copy), void *context)
{
    return replace(root, root, attempt, context);
}

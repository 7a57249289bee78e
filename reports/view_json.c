#include "reports/view_json.h"

struct view_count view_json_count(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return (struct view_count){json_is_integer(value), json_integer_value(value)};
}

void view_json_readings(const json_t *object, const char *key, struct reading_list *ret)
{
    const json_t *json = json_object_get(object, key);

    reading_list_init(ret);
    if (!json || json_is_null(json))
        return;
    if (reading_list_from_json(json, ret, NULL) != STATUS_OK) {
        reading_list_init(ret);
        reading_add_missing(ret, key, READING_UNAVAILABLE, "database",
                            "the stored readings have a shape that this version does not know");
    }
}

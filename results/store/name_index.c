#include "results/store/name_index.h"

#include <string.h>

bool name_index_find(const struct name_index *index, const char *outer, const char *inner,
                     size_t *ret)
{
    const json_t *group = json_object_get(index->table, outer);
    const json_t *value = json_object_get(group, inner);

    if (!value)
        return false;
    *ret = (size_t)json_integer_value(value);
    return true;
}

bool name_index_add(struct name_index *index, const char *outer, const char *inner, size_t value)
{
    json_t *group;

    if (!index->table)
        index->table = json_object();
    group = json_object_get(index->table, outer);
    if (!group && json_object_set_new(index->table, outer, json_object()) == 0)
        group = json_object_get(index->table, outer);
    return group && json_object_set_new(group, inner, json_integer((json_int_t)value)) == 0;
}

void name_index_finish(struct name_index *index)
{
    json_decref(index->table);
    memset(index, 0, sizeof(*index));
}

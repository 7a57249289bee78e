#include "harness/runner/vendor_json.h"

#include <string.h>

#include "harness/core/dynlib.h"
#include "harness/core/text.h"

json_t *vendor_json_text(const char *string)
{
    struct text printable;
    json_t *json;

    if (!string)
        return json_null();
    text_init(&printable);
    text_append_printable(&printable, string, strlen(string));
    json = text_ok(&printable) ? json_string(printable.data) : json_null();
    text_finish(&printable);
    return json;
}

json_t *vendor_json_device(const struct device_info *info, const char *backend, uint32_t index)
{
    return json_pack(
        "{s:s, s:I, s:o, s:o, s:o, s:s, s:b, s:I, s:I, s:I, s:I, s:b, s:o}", "backend", backend,
        "index", (json_int_t)index, "name", vendor_json_text(info->name), "vendor",
        vendor_json_text(info->vendor), "uuid", vendor_json_text(info->uuid), "type",
        device_type_name(info->type), "simulated", info->simulated || dynlib_any_simulated(),
        "memory_bytes", (json_int_t)info->memory_bytes, "max_allocation_bytes",
        (json_int_t)info->max_allocation_bytes, "compute_units", (json_int_t)info->compute_units,
        "last_level_cache_bytes", (json_int_t)info->last_level_cache_bytes, "unified_memory",
        info->unified_memory, "readings", reading_list_to_json(&info->readings));
}

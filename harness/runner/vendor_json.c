#include "harness/runner/vendor_json.h"

#include "harness/core/dynlib.h"
#include "harness/core/member.h"

json_t *vendor_json_device(const struct device_info *info, const char *backend, uint32_t index)
{
    return json_pack(
        "{s:s, s:I, s:o, s:o, s:o, s:s, s:b, s:I, s:I, s:I, s:I, s:b, s:o}", "backend", backend,
        "index", (json_int_t)index, "name", printable_or_null(info->name), "vendor",
        printable_or_null(info->vendor), "uuid", printable_or_null(info->uuid), "type",
        device_type_name(info->type), "simulated", info->simulated || dynlib_any_simulated(),
        "memory_bytes", (json_int_t)info->memory_bytes, "max_allocation_bytes",
        (json_int_t)info->max_allocation_bytes, "compute_units", (json_int_t)info->compute_units,
        "last_level_cache_bytes", (json_int_t)info->last_level_cache_bytes, "unified_memory",
        info->unified_memory, "readings", reading_list_to_json(&info->readings));
}

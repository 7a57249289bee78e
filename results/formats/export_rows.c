/* What the writers of formats share: rows and records of results, and the file that they go to. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "results/formats/export.h"

enum status export_check(FILE *file, struct error *err)
{
    if (!ferror(file))
        return STATUS_OK;
    return error_set_errno(err, errno ? errno : EIO, "writing the export");
}

enum status export_put_json(json_t *json, size_t flags, FILE *file, struct error *err)
{
    AUTO_FREE char *dumped = json ? json_dumps(json, flags | JSON_ENCODE_ANY) : NULL;
    CLEANUP(text_finish) struct text text = TEXT_INIT;
    bool ok;

    json_decref(json);
    text_append_json(&text, dumped ? dumped : "", dumped ? strlen(dumped) : 0);
    text_append_char(&text, '\n');
    ok = dumped && text_ok(&text);
    if (ok)
        fwrite(text.data, 1, text.length, file);
    return ok ? export_check(file, err) : error_no_memory(err);
}

enum status export_rows(struct store *store, const struct export_request *request, json_t **ret,
                        struct error *err)
{
    json_t *rows = json_array();
    enum status status = rows ? STATUS_OK : error_no_memory(err);

    for (size_t i = 0; i < request->count && status == STATUS_OK; i++) {
        struct store_filter filter = {.cell = request->cells[i]};
        json_auto_t *one = NULL;

        status = store_list_results(store, &filter, &one, err);
        if (status == STATUS_OK && json_array_extend(rows, one) < 0)
            status = error_no_memory(err);
    }
    if (status == STATUS_OK)
        *ret = rows;
    else
        json_decref(rows);
    return status;
}

enum status export_record_line(struct store *store, int64_t cell, char **ret, json_t **ret_record,
                               struct error *err)
{
    json_t *record = NULL;
    enum status status = store_cell_json(store, cell, &record, err);

    if (status == STATUS_OK)
        status = canonical_dump(record, ret, err);
    if (status == STATUS_OK && ret_record)
        *ret_record = record;
    else
        json_decref(record);
    return status;
}

const char *export_reading(const json_t *readings, const char *name)
{
    return member_string(json_object_get(readings, name), "value");
}

char *export_result_urn(const json_t *record)
{
    const char *uid = member_string(json_object_get(record, "campaign"), "uid");
    json_int_t ordinal = member_integer(record, "ordinal");

    return text_format("urn:assay:result:%s:%lld", uid ? uid : "", (long long)ordinal);
}

static char *printable(const char *string, size_t length)
{
    struct text text = TEXT_INIT;

    text_append_printable(&text, string, length);
    return text_steal(&text);
}

json_t *export_printable(const json_t *json)
{
    json_t *copy, *value;
    char *shown = NULL;
    const char *key;
    bool ok = true;
    size_t i;

    if (json_is_string(json)) {
        shown = printable(json_string_value(json), json_string_length(json));
        copy = shown ? json_string(shown) : NULL;
        free(shown);
        return copy;
    }
    if (!json_is_object(json) && !json_is_array(json))
        return json_deep_copy(json);
    copy = json_is_object(json) ? json_object() : json_array();
    json_array_foreach((json_t *)json, i, value)
    {
        ok = ok && json_array_append_new(copy, export_printable(value)) == 0;
    }
    json_object_foreach((json_t *)json, key, value)
    {
        shown = printable(key, strlen(key));
        ok = ok && shown && json_object_set_new(copy, shown, export_printable(value)) == 0;
        free(shown);
    }
    if (!ok) {
        json_decref(copy);
        return NULL;
    }
    return copy;
}

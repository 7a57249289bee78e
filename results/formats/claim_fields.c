#include "results/formats/claim_fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/text.h"
#include "results/formats/import.h"

enum status claim_get_positive(const json_t *fields, const char *where, const char *name,
                               double *ret, struct error *err)
{
    const json_t *value = json_object_get(fields, name);
    double number = json_number_value(value);
    bool ok = json_is_number(value);

    if (json_is_string(value))
        ok = text_parse_double(json_string_value(value), &number);
    if (!ok || !isfinite(number) || number <= 0)
        return error_set(err, STATUS_INVALID, "%s: %s: %s", where, name,
                         value ? "must be a number above 0" : "is missing");
    *ret = number;
    return STATUS_OK;
}

enum status claim_get_text(const json_t *fields, const char *where, const char *name,
                           const char **ret, struct error *err)
{
    const json_t *value = json_object_get(fields, name);

    *ret = NULL;
    if (!value || json_is_null(value))
        return STATUS_OK;
    if (!json_is_string(value) || json_string_length(value) > IMPORT_TEXT_MAX ||
        strlen(json_string_value(value)) != json_string_length(value))
        return error_set(err, STATUS_INVALID, "%s: %s: must be a text of at most %d bytes", where,
                         name, IMPORT_TEXT_MAX);
    *ret = *json_string_value(value) ? json_string_value(value) : NULL;
    return STATUS_OK;
}

const char *claim_text_about(const json_t *object, const char *name)
{
    const char *text = NULL;

    return claim_get_text(object, "", name, &text, NULL) == STATUS_OK ? text : NULL;
}

void claim_declare(struct store_claim *claim, const char *program, const char *name,
                   const char *value, const char *field)
{
    CLEANUP(text_finish) struct text reason = TEXT_INIT;

    if (value) {
        struct reading *reading;

        reading_add_text(&claim->readings, name, value, field);
        reading = (struct reading *)(uintptr_t)reading_find(&claim->readings, name);
        if (reading)
            reading->status = READING_DECLARED;
        return;
    }
    text_append_format(&reason, "the file has no %s", field);
    reading_add_missing(&claim->readings, name, READING_UNAVAILABLE, program, reason.data);
}

void claim_lack(struct store_claim *claim, const char *program, const char *name,
                const char *reason)
{
    reading_add_missing(&claim->readings, name, READING_UNAVAILABLE, program, reason);
}

char *claim_copy(const char *text, bool *ok)
{
    char *copy = text ? strdup(text) : NULL;

    *ok = *ok && (!text || copy);
    return copy;
}

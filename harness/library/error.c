#include <assay/error.h>

#include <stdlib.h>

#include "harness/core/version.h"
#include "harness/library/inside.h"

#define SAME(code, name, meaning)                                                                  \
    _Static_assert((int)ASSAY_##code == (int)STATUS_##code, "assay/error.h lists status.h's "      \
                                                            "codes");
STATUS_MAP(SAME)
#undef SAME
_Static_assert((int)ASSAY_INTERNAL + 1 == (int)STATUS_COUNT, "assay/error.h lists all codes");

static _Thread_local struct error last;

struct error *library_error(void)
{
    return &last;
}

struct error *library_begin(void)
{
    last = (struct error)ERROR_INIT;
    return &last;
}

enum status library_text(json_t *json, char **ret, struct error *err)
{
    char *text = library_json_text(json);

    if (!text)
        return error_no_memory(err);
    *ret = text;
    return STATUS_OK;
}

const char *assay_status_name(enum assay_status status)
{
    return status_name((enum status)status);
}

const char *assay_error_message(void)
{
    return last.message;
}

const char *assay_error_place(void)
{
    return last.place;
}

const char *assay_version(void)
{
    return ASSAY_VERSION_TEXT;
}

void assay_free(char *text)
{
    free(text);
}

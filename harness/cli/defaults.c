#include "harness/cli/defaults.h"

#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "harness/core/declaration.h"
#include "harness/core/text.h"
#include "results/evidence/key.h"

#define WORDS_MAX 4096

static const struct declaration_field fields[] = {
    FIELD_STRING("db", FIELD_OPTIONAL, struct defaults, db, 1, WORDS_MAX),
    FIELD_STRING("key", FIELD_OPTIONAL, struct defaults, key, 1, WORDS_MAX),
    FIELD_STRING("roster", FIELD_OPTIONAL, struct defaults, roster, 1, WORDS_MAX),
    FIELD_STRING("device", FIELD_OPTIONAL, struct defaults, device, 1, WORDS_MAX),
    FIELD_STRING("protocol", FIELD_OPTIONAL, struct defaults, protocol, 1, WORDS_MAX),
    FIELD_BOOL("quiet", FIELD_OPTIONAL, struct defaults, quiet),
    FIELD_END};
static const struct declaration_schema schema = {ENTRY_GROUP(struct defaults, fields)};

static struct declaration file;

const struct defaults *defaults(void)
{
    static const struct defaults none;

    return file.data ? file.data : &none;
}

/* What is relative would be another file in each folder. */
static enum status check_path(const char *name, const char *value, struct error *err)
{
    return !value || value[0] == '/'
               ? STATUS_OK
               : declaration_error(&file, name, err, "%s: %s: write an absolute path", name, value);
}

static enum status set_variable(const char *name, const char *value, struct error *err)
{
    const char *set = getenv(name);

    if (!value || (set && set[0]) || setenv(name, value, 1) == 0)
        return STATUS_OK;
    return error_no_memory(err);
}

enum status defaults_load(struct error *err)
{
    AUTO_FREE char *folder = key_folder();
    AUTO_FREE char *path = folder ? text_format("%s/config.yaml", folder) : NULL;
    enum status status = path ? declaration_load(path, &schema, &file, err) : STATUS_NOT_FOUND;

    if (status == STATUS_NOT_FOUND) {
        *err = (struct error)ERROR_INIT;
        return STATUS_OK;
    }
    if (status != STATUS_OK)
        return status;
    TRY(check_path("db", defaults()->db, err));
    TRY(check_path("key", defaults()->key, err));
    TRY(check_path("roster", defaults()->roster, err));
    TRY(set_variable("ASSAY_DB", defaults()->db, err));
    return set_variable("ASSAY_KEY", defaults()->key, err);
}

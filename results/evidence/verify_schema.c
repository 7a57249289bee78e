#include <stdlib.h>
#include <string.h>

#include "harness/core/embed.h"
#include "results/store/schema_model.h"
#include "results/evidence/verify_internal.h"

#define FOREIGN_MAX                                                                                \
    100 /* objects that are reported; the rest of a hostile file's would drown it                  \
         */

struct comparison {
    struct verify *verify;
    int foreign;
};

static bool is_structure(const char *type)
{
    return strcmp(type, "table") == 0 || strcmp(type, "index") == 0;
}

static void report_difference(void *context, const struct schema_difference *difference)
{
    struct comparison *comparison = context;
    struct verify *verify = comparison->verify;
    const char *type = difference->type, *name = difference->name;

    if (difference->fault == SCHEMA_FOREIGN) {
        struct text shown;

        if (comparison->foreign++ >= FOREIGN_MAX)
            return;
        text_init(&shown);
        text_append_printable(&shown, name, strlen(name));
        VERIFY_REPORT_AT(verify, SCHEMA_FOREIGN, VERIFY_SCHEMA, shown.data, NULL);
        text_finish(&shown);
        return;
    }
    if (difference->fault == SCHEMA_CHANGED)
        VERIFY_REPORT_AT(verify, SCHEMA_CHANGED, VERIFY_SCHEMA, name, NULL, type, name);
    else
        VERIFY_REPORT_AT(verify, SCHEMA_MISSING, VERIFY_SCHEMA, name, NULL, type, name);
    if (is_structure(type))
        verify->readable = false;
}

/* Every object of ours must be there as we make it, and nothing else. */
static void compare_schema(struct verify *verify)
{
    struct comparison comparison = {verify, 0};
    sqlite3 *failed = NULL;
    int rc;

    verify->readable = true;
    rc = schema_model_compare(verify->db, verify->model, report_difference, &comparison, &failed);
    if (rc == SQLITE_OK)
        return;
    verify->readable = false;
    verify_report_damage(verify, VERIFY_SCHEMA, NULL, failed);
}

enum status verify_schema(struct verify *verify, struct error *err)
{
    int count;
    const struct embed_file *scripts = store_migrations(&count);
    const int version = (int)verify->summary->schema_version;

    if (verify->options->just_made) {
        verify->readable = true;
        return sqlite3_open(":memory:", &verify->model) == SQLITE_OK ? STATUS_OK
                                                                     : error_no_memory(err);
    }
    TRY(schema_model_create(scripts, version, &verify->model, err));
    compare_schema(verify);
    if (!verify->readable)
        VERIFY_REPORT(verify, SCHEMA_ENDS_CHECKS, NULL);
    return STATUS_OK;
}

/* One line of PRAGMA integrity_check is one finding. */
enum status verify_structure(struct verify *verify, struct error *err)
{
    sqlite3_stmt *check =
        verify->options->just_made
            ? NULL
            : verify_prepare(verify, verify->db, "PRAGMA integrity_check(20)", VERIFY_FILE, NULL);

    (void)err;
    while (check && verify_step(verify, check, VERIFY_FILE, NULL)) {
        if (strcmp(text_at(check, 0), "ok") != 0)
            VERIFY_REPORT(verify, FILE_STRUCTURE, NULL, text_at(check, 0));
    }
    sqlite3_finalize(check);
    return STATUS_OK;
}

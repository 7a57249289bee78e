#include "harness/cli/with_bundle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "harness/core/log.h"
#include "harness/core/text.h"
#include "harness/runner/cell_from_record.h"
#include "results/evidence/bundle.h"

static void say_finding(void *context, const struct verify_finding *finding)
{
    if (finding->level == VERIFY_WRONG)
        log_error("%s: %s", (const char *)context, finding->message);
    else if (finding->level == VERIFY_UNVERIFIED)
        log_warning("%s: unverified: %s %s: %s", (const char *)context, finding->table,
                    finding->key ? finding->key : "", finding->message);
}

static enum status check(const char *path, struct error *err)
{
    const struct verify_options options = {.context = (void *)(uintptr_t)path,
                                           .found = say_finding,
                                           .derive = cell_from_record,
                                           .tolerance = tolerance_from_record};
    struct verify_summary summary;

    TRY(bundle_verify(path, &options, &summary, err));
    if (summary.wrong > 0)
        return error_set(err, STATUS_CORRUPT,
                         "%s: this bundle is not shown, since it fails verification", path);
    log_info("%s is a bundle: %s (%lld records, %s), and shown without importing it", path,
             summary.unverified > 0 ? "NOT VERIFIED in part" : "verified", (long long)summary.rows,
             summary.signatures > 0 ? "signed; `assay verify --key` checks by whom" : "unsigned");
    return STATUS_OK;
}

static enum status take(const char *path, const char *database, struct store **ret,
                        struct error *err)
{
    struct bundle_import import;
    struct store *store = NULL;
    enum status status = store_open(database, STORE_CREATE, 0, &store, err);

    if (status == STATUS_OK)
        status = bundle_import(store, path, NULL, NULL, &import, NULL, err);
    if (status == STATUS_OK) {
        store_set_scratch(store);
        *ret = store;
    } else {
        store_close(store);
    }
    return status;
}

static void remove_all(char *folder)
{
    static const char *const names[] = {"/bundle.db", "/bundle.db-wal", "/bundle.db-shm", ""};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        AUTO_FREE char *path = text_format("%s%s", folder, names[i]);

        if (path)
            remove(path);
    }
}

int with_bundle(const struct command_line *line, const char *path, with_store_fn *run,
                void *context)
{
    const char *base = getenv("TMPDIR");
    AUTO_FREE char *folder = text_format("%s/assay-bundle-XXXXXX", base && *base ? base : "/tmp");
    AUTO_FREE char *database = NULL;
    struct command_line passed = *line;
    struct store *store = NULL;
    struct error err = ERROR_INIT;
    enum status status = folder ? check(path, &err) : error_no_memory(&err);
    int result;

    if (status != STATUS_OK || !mkdtemp(folder)) {
        if (status == STATUS_OK)
            error_set_errno(&err, errno, "%s", folder);
        return command_fail_store(&err);
    }
    database = text_format("%s/bundle.db", folder);
    status = database ? take(path, database, &store, &err) : error_no_memory(&err);
    passed.bundle = path;
    result = status == STATUS_OK ? run(&passed, store, context) : command_fail_store(&err);
    store_close(store);
    remove_all(folder);
    return result;
}

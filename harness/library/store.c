#include <assay/store.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "harness/core/log.h"
#include "harness/core/shell.h"
#include "harness/core/text.h"
#include "harness/library/inside.h"
#include "results/evidence/bundle.h"

_Static_assert((int)ASSAY_READ == (int)STORE_READ && (int)ASSAY_WRITE == (int)STORE_WRITE &&
                   (int)ASSAY_CREATE == (int)STORE_CREATE,
               "assay/store.h lists store.h's modes");

/* ---- a bundle, read as if it were a database ---- */

static void say_finding(void *context, const struct verify_finding *finding)
{
    if (finding->level == VERIFY_WRONG)
        log_error("%s: %s", (const char *)context, finding->message);
    else if (finding->level == VERIFY_UNVERIFIED)
        log_warning("%s: unverified: %s %s: %s", (const char *)context, finding->table,
                    finding->key ? finding->key : "", finding->message);
}

static enum status check_bundle(const char *path, struct error *err)
{
    struct verify_options options = {.context = (void *)(uintptr_t)path, .found = say_finding};
    struct verify_summary summary;

    TRY(library_verify(path, &options, &summary, err));
    if (summary.wrong > 0)
        return error_set(err, STATUS_CORRUPT,
                         "%s: this bundle is not shown, since it fails verification", path);
    log_info("%s is a bundle: %s (%lld records, %s), and shown without importing it", path,
             summary.unverified > 0 ? "NOT VERIFIED in part" : "verified", (long long)summary.rows,
             summary.signatures > 0 ? "signed; `assay verify --key` checks by whom" : "unsigned");
    return STATUS_OK;
}

static enum status take_bundle(const char *path, struct assay_store *ret, struct error *err)
{
    AUTO_FREE char *database = text_format("%s/bundle.db", ret->folder);
    struct bundle_import import;

    TRY(database ? store_open(database, STORE_CREATE, 0, &ret->store, err) : error_no_memory(err));
    TRY(bundle_import(ret->store, path, NULL, NULL, &import, NULL, err));
    store_set_scratch(ret->store);
    return STATUS_OK;
}

static enum status open_bundle(const char *path, struct assay_store *ret, struct error *err)
{
    const char *base = getenv("TMPDIR");
    AUTO_FREE char *folder = text_format("%s/assay-bundle-XXXXXX", base && *base ? base : "/tmp");

    TRY(folder ? check_bundle(path, err) : error_no_memory(err));
    if (!mkdtemp(folder))
        return error_set_errno(err, errno, "%s", folder);
    ret->folder = folder;
    folder = NULL;
    return take_bundle(path, ret, err);
}

static void remove_folder(const char *folder)
{
    static const char *const names[] = {"/bundle.db", "/bundle.db-wal", "/bundle.db-shm", ""};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        AUTO_FREE char *path = text_format("%s%s", folder, names[i]);

        if (path)
            remove(path);
    }
}

/* ---- a database ---- */

static enum status refuse_bundle(const char *path, struct error *err)
{
    AUTO_FREE char *word = shell_quoted(path);
    const char *shown = word ? word : "FILE";

    return error_set(err, STATUS_INVALID,
                     "%s: is a bundle, not a database: `assay verify %s` checks it, and `assay "
                     "import %s --db FILE` takes it into a database, where its results are shown",
                     path, shown, shown);
}

static enum status open_database(const char *path, enum store_mode mode, double wait_s,
                                 struct store **ret, struct error *err)
{
    TRY(store_open(path, mode, (int64_t)(wait_s * 1e9), ret, err));
    if (store_carried_from(*ret) > 0)
        log_info(
            "%s: was of schema version %d and had to be taken forward to be written to; nothing "
            "in it changed, but the assay that wrote it cannot read it any more (keep a copy from "
            "before where that matters)",
            path, store_carried_from(*ret));
    return STATUS_OK;
}

enum status library_store(const struct assay_store *handle, struct store **ret, struct error *err)
{
    if (!handle)
        return error_set(err, STATUS_INVALID,
                         "no store is open: check what assay_store_open returned");
    *ret = handle->store;
    return STATUS_OK;
}

enum assay_status assay_store_open(const char *path, enum assay_mode mode, double wait_s,
                                   struct assay_store **ret)
{
    struct error *err = library_begin();
    struct assay_store *store = calloc(1, sizeof(*store));
    enum status status;

    if (!store)
        return library_end(error_no_memory(err));
    if (!path)
        status = error_set(err, STATUS_INVALID, "the path of a database or bundle is NULL");
    else if (bundle_recognise(path))
        status = mode == ASSAY_READ ? open_bundle(path, store, err) : refuse_bundle(path, err);
    else
        status = open_database(path, (enum store_mode)mode, wait_s, &store->store, err);
    if (status == STATUS_OK)
        *ret = store;
    else
        assay_store_close(store);
    return library_end(status);
}

void assay_store_close(struct assay_store *store)
{
    if (!store)
        return;
    store_close(store->store);
    if (store->folder)
        remove_folder(store->folder);
    free(store->folder);
    free(store);
}

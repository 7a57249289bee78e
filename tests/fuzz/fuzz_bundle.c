/*
 * Bundles: hostile bytes are refused or found wrong, never a crash. The input is read unchanged,
 * and as the only row of a ledger of one leaf whose proof holds, so that what follows the proof
 * (opening values, importing the row) is reached.
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/core/canonical.h"
#include "results/bundle.h"
#include "results/merkle.h"

static int file = -1;
static char path[64];
static struct store *store;

static void ignore(void *context, const struct verify_finding *finding)
{
    (void)context;
    FUZZ_REQUIRE(finding->message && *finding->message);
}

static void set_file(const void *bytes, size_t length)
{
    if (file < 0) {
        file = memfd_create("bundle", 0);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    }
    FUZZ_REQUIRE(file >= 0 && ftruncate(file, 0) == 0);
    FUZZ_REQUIRE(pwrite(file, bytes, length, 0) == (ssize_t)length);
}

static void read_it(void)
{
    const struct bundle_visitor visitor = {.found = ignore};
    struct digest sha256;
    struct error err = ERROR_INIT;
    enum status status = bundle_read(path, &visitor, NULL, &sha256, &err);

    if (status != STATUS_OK)
        fuzz_require_good_message(&err, status);
}

static char folder[] = "/tmp/assay-fuzz-XXXXXX";

static void remove_store(void)
{
    static const char *const names[] = {"rows.db", "rows.db-wal", "rows.db-shm"};

    store_close(store);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char name[64];

        snprintf(name, sizeof(name), "%s/%s", folder, names[i]);
        unlink(name);
    }
    rmdir(folder);
}

static bool open_store(void)
{
    char name[64];

    if (!mkdtemp(folder))
        return false;
    snprintf(name, sizeof(name), "%s/rows.db", folder);
    atexit(remove_store);
    return store_open(name, STORE_CREATE, 0, &store, NULL) == STATUS_OK;
}

static void import_it(void)
{
    const struct bundle_visitor visitor = {.found = ignore};
    struct bundle_import import;
    struct error err = ERROR_INIT;
    enum status status;

    if (!store && !open_store())
        return;
    status = bundle_import(store, path, &visitor, NULL, &import, &err);
    if (status != STATUS_OK)
        fuzz_require_good_message(&err, status);
}

/* {"data", "values", "blobs"} as the only row of a bundle; "heads" go to the first line. */
static void wrap(const json_t *row)
{
    char *data = NULL, *rest = NULL, *heads = NULL, root[DIGEST_HEX_SIZE];
    struct digest leaf;
    struct text out;
    json_t *line = json_copy((json_t *)row);

    text_init(&out);
    if (canonical_dump(json_object_get(row, "data"), &data, NULL) == STATUS_OK && line) {
        leaf = merkle_leaf(data, strlen(data));
        if (json_object_get(line, "heads"))
            canonical_dump(json_object_get(line, "heads"), &heads, NULL);
        json_object_del(line, "heads");
        json_object_set_new(line, "leaf", json_integer(0));
        json_object_set_new(line, "path", json_array());
        if (canonical_dump(line, &rest, NULL) == STATUS_OK) {
            text_append_format(&out,
                               "{\"assay_bundle\":1,\"campaigns\":[\"c\"],\"created_utc_ns\":1,"
                               "\"heads\":%s,"
                               "\"note\":\"n\",\"origin\":\"o\",\"root\":\"%s\",\"schema\":1,"
                               "\"size\":1,\"tool\":\"t\",\"withheld\":[]}\n%s\n"
                               "{\"rows\":1,\"seal\":null,\"sha256\":\"\"}\n",
                               heads ? heads : "[]", digest_hex(&leaf, root), rest);
            if (text_ok(&out)) {
                set_file(out.data, out.length);
                read_it();
                import_it();
            }
        }
    }
    text_finish(&out);
    free(data);
    free(heads);
    free(rest);
    json_decref(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *row = NULL;

    set_file(data, size);
    read_it();
    if (canonical_parse((const char *)data, size, "row", &row, NULL) == STATUS_OK &&
        json_is_object(json_object_get(row, "data")))
        wrap(row);
    json_decref(row);
    return 0;
}

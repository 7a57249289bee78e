/*
 * Bundles: hostile bytes are refused or found wrong, never a crash. The input is read unchanged;
 * and lines of it that are JSON become the lines of a bundle whose first and last line are right,
 * so that what follows (records, proof, samples) is reached.
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/core/canonical.h"
#include "results/evidence/bundle.h"
#include "results/evidence/merkle_part.h"
#include "results/record/record.h"

#define LINES_MAX 16

static int file = -1;
static char path[64], folder[] = "/tmp/assay-fuzz-XXXXXX";
static struct store *store;

static void set_file(const void *bytes, size_t length)
{
    if (file < 0) {
        file = memfd_create("bundle", 0);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    }
    FUZZ_REQUIRE(file >= 0 && ftruncate(file, 0) == 0);
    FUZZ_REQUIRE(pwrite(file, bytes, length, 0) == (ssize_t)length);
}

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

static enum status ignore(void *context, const struct bundle_head *head,
                          const struct bundle_line *line, struct error *err)
{
    (void)context;
    (void)err;
    FUZZ_REQUIRE(head->origin && head->size >= 1 && json_is_object(line->json));
    return STATUS_OK;
}

static void read_it(void)
{
    struct bundle_head head;
    struct error err = ERROR_INIT;
    enum status status = bundle_read(path, &head, NULL, ignore, NULL, &err);

    bundle_head_finish(&head);
    if (status != STATUS_OK)
        fuzz_require_good_message(&err, status);
}

static void import_it(void)
{
    struct bundle_import import;
    struct error err = ERROR_INIT;
    enum status status;

    if (!store && !open_store())
        return;
    status = bundle_import(store, path, NULL, NULL, &import, NULL, &err);
    if (status != STATUS_OK)
        fuzz_require_good_message(&err, status);
}

/* ---- a bundle around the input's lines ---- */

struct wrapping {
    struct text lines;
    struct merkle_part part;
    json_t *campaigns;
    int64_t records, size;
};

/* Its digest, as far as it has one, so that the root can be told. */
static void add_leaf(struct wrapping *wrapping, const json_t *line)
{
    const json_t *record = json_object_get(line, "record");
    const char *type = json_string_value(json_object_get(record, "type")),
               *salt = json_string_value(json_object_get(line, "salt"));
    const int64_t leaf = json_integer_value(json_object_get(line, "leaf"));
    const struct record_type *known = type ? record_type_find(type) : NULL;
    struct record_salts salts = {.has_all = salt && digest_from_hex(salt, &salts.all)};
    struct digest digest;
    char *body = NULL;

    wrapping->records++;
    if (known && leaf >= 0 && leaf < 1000 && canonical_dump(record, &body, NULL) == STATUS_OK &&
        record_digest(known, body, strlen(body), &salts, &digest, NULL, NULL) == STATUS_OK) {
        merkle_part_add(&wrapping->part, 0, (uint64_t)leaf, &digest);
        if (leaf >= wrapping->size)
            wrapping->size = leaf + 1;
        if (!strcmp(type, "campaign"))
            json_array_append(wrapping->campaigns, json_object_get(record, "uid"));
    }
    free(body);
}

static void add_line(struct wrapping *wrapping, const char *bytes, size_t length)
{
    json_t *line = NULL;
    char *canonical = NULL;

    if (canonical_parse(bytes, length, "line", &line, NULL) == STATUS_OK && json_is_object(line) &&
        canonical_dump(line, &canonical, NULL) == STATUS_OK) {
        text_append(&wrapping->lines, canonical);
        text_append_char(&wrapping->lines, '\n');
        if (json_object_get(line, "record"))
            add_leaf(wrapping, line);
    }
    free(canonical);
    json_decref(line);
}

static void put_whole(struct wrapping *wrapping)
{
    static const struct digest nothing = {{0}};
    struct digest root = nothing, sha256;
    uint64_t missing;
    json_t *head, *nodes = json_array();
    char hex[DIGEST_HEX_SIZE], *first = NULL;
    struct text out;

    /* A hash in each place that is not shown. */
    while (wrapping->size > 0 &&
           merkle_part_fits(&wrapping->part, (uint64_t)wrapping->size, &missing) &&
           !merkle_part_root(&wrapping->part, (uint64_t)wrapping->size, &root, &missing)) {
        merkle_part_add(&wrapping->part, 0, missing, &nothing);
        json_array_append_new(
            nodes, json_pack("[i, I, s]", 0, (json_int_t)missing, digest_hex(&nothing, hex)));
    }
    head = json_pack("{s:i, s:O, s:i, s:s, s:s, s:{s:[], s:O}, s:s, s:I, s:s, s:[]}",
                     "assay_bundle", 1, "campaigns", wrapping->campaigns, "created_utc_ns", 1,
                     "note", "n", "origin", "assay-log/00112233445566778899aabbccddeeff", "proof",
                     "heads", "nodes", nodes, "root", digest_hex(&root, hex), "size",
                     (json_int_t)wrapping->size, "tool", "t", "withheld");
    text_init(&out);
    if (head && canonical_dump(head, &first, NULL) == STATUS_OK) {
        text_append_format(&out, "%s\n%s", first, wrapping->lines.data ? wrapping->lines.data : "");
        sha256 = digest_bytes(out.data, out.length);
        text_append_format(&out, "{\"records\":%lld,\"seal\":null,\"sha256\":\"%s\"}\n",
                           (long long)wrapping->records, digest_hex(&sha256, hex));
        if (text_ok(&out)) {
            set_file(out.data, out.length);
            read_it();
            import_it();
        }
    }
    text_finish(&out);
    free(first);
    json_decref(head);
    json_decref(nodes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wrapping wrapping = {.campaigns = json_array()};
    const char *at = (const char *)data, *end = at + size;

    set_file(data, size);
    read_it();
    text_init(&wrapping.lines);
    for (int i = 0; i < LINES_MAX && at < end; i++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));

        add_line(&wrapping, at, (size_t)((newline ? newline : end) - at));
        at = newline ? newline + 1 : end;
    }
    if (wrapping.lines.length > 0)
        put_whole(&wrapping);
    text_finish(&wrapping.lines);
    merkle_part_finish(&wrapping.part);
    json_decref(wrapping.campaigns);
    return 0;
}

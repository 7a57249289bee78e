/*
 * Untrusted databases: verify terminates, with findings or a message, whatever the bytes are. The
 * input's first two bytes are a number of changes; each takes the next three bytes as a place (of a
 * good database, made at the first call) and one as what to write there. An input that begins with
 * "SQLite" is taken as a whole file.
 */
#include "fuzz.h"

#include <sys/stat.h>
#include <unistd.h>

#include "harness/core/file.h"
#include "protocols/estimate.h"
#include "results/evidence/ledger.h"
#include "results/store/store_internal.h"
#include "results/evidence/verify.h"

static char folder[] = "/tmp/assay-fuzz-XXXXXX";
static char path[64];
static char *good;
static size_t good_length;

static void finish(void)
{
    unlink(path);
    rmdir(folder);
    free(good);
}

/* A small database with a campaign of one cell, one trial and some samples. */
static void fill(struct store *store)
{
    struct store_cell cell = {.ordinal = 1,
                              .workload_name = "w",
                              .protocol_name = "p",
                              .kind = "synthetic",
                              .work.precision = "fp32",
                              .work.scenario = "single_stream",
                              .work.implementation = "portable",
                              .work.batch = 1,
                              .backend = "null",
                              .device_spec = "null:0",
                              .trials = 1};
    struct store_campaign campaign = {.command = "assay run", .tool_version = "0"};
    struct store_trial_end end = {
        .status = "ok", .iterations_per_sample = 1, .samples = 100, .max_rss_bytes = -1};
    json_t *json = json_pack("{s:s}", "name", "w"), *estimate = json_pack("{s:s}", "verdict", "x");
    json_t *readings = json_pack("{s:{s:s}}", "host.x", "status", "measured");
    int64_t values[100], row, cell_row, trial;
    const uint32_t order = 0;
    struct key key;

    for (int64_t i = 0; i < 100; i++)
        values[i] = 1000 + i % 7;
    memset(campaign.uid, 'a', sizeof(campaign.uid) - 1);
    campaign.plan = json;
    FUZZ_REQUIRE(store_batch_begin(store, NULL) == STATUS_OK);
    FUZZ_REQUIRE(store_insert_json(store, json, &cell.workload, NULL) == STATUS_OK);
    FUZZ_REQUIRE(store_batch_end(store, true, NULL) == STATUS_OK);
    campaign.protocol = cell.protocol = cell.workload;
    FUZZ_REQUIRE(store_add_campaign(store, &campaign, &cell, 1, &order, 1, &row, &cell_row, NULL) ==
                 STATUS_OK);
    FUZZ_REQUIRE(store_begin_trial(store, row, 1, 1, &trial, NULL) == STATUS_OK);
    FUZZ_REQUIRE(store_add_environment(store, trial, "before", readings, NULL) == STATUS_OK);
    FUZZ_REQUIRE(store_add_samples(store, trial, "wall_ns", 0, values, 100, NULL) == STATUS_OK);
    FUZZ_REQUIRE(store_end_trial(store, trial, &end, NULL) == STATUS_OK);
    FUZZ_REQUIRE(store_add_estimate(store, cell_row, ESTIMATE_VERSION, estimate, NULL) ==
                 STATUS_OK);
    FUZZ_REQUIRE(key_generate("k", &key, NULL) == STATUS_OK);
    FUZZ_REQUIRE(ledger_add_checkpoint(store, "end", row, &key, NULL, NULL) == STATUS_OK);
    json_decref(json);
    json_decref(readings);
    json_decref(estimate);
}

static void make_good(void)
{
    struct store *store = NULL;

    FUZZ_REQUIRE(mkdtemp(folder) != NULL);
    snprintf(path, sizeof(path), "%s/x.db", folder);
    atexit(finish);
    FUZZ_REQUIRE(store_open(path, STORE_CREATE, 1000000000, &store, NULL) == STATUS_OK);
    fill(store);
    store_close(store);
    FUZZ_REQUIRE(file_read(path, 16 << 20, &good, &good_length, NULL) == STATUS_OK);
}

/* Pages are mostly empty: half of the places are taken near a page's ends, where its cells are. */
static size_t place(const uint8_t *at)
{
    size_t number = (size_t)at[0] << 16 | (size_t)at[1] << 8 | at[2];

    if (number & 0x800000)
        number = (number % (good_length / 4096)) * 4096 +
                 (number & 0x400000 ? (number >> 8) % 100 : 4095 - (number >> 8) % 1000);
    return number % good_length;
}

static void found(void *context, const struct verify_finding *finding)
{
    ++*(int64_t *)context;
    FUZZ_REQUIRE(finding->message && finding->message[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t reported = 0;
    const struct verify_options options = {.threads = 1, .context = &reported, .found = found};
    struct verify_summary summary;
    struct error err = ERROR_INIT;
    enum status status;
    bool whole = size >= 6 && memcmp(data, "SQLite", 6) == 0;
    char *bytes;

    if (!good)
        make_good();
    if (size < 5)
        return 0;
    bytes = malloc(good_length);
    FUZZ_REQUIRE(bytes != NULL);
    memcpy(bytes, good, good_length);
    for (size_t i = 0; !whole && i + 4 <= size && i < 4 * (1 + (size_t)data[0] % 64); i += 4)
        bytes[place(data + i)] = (char)data[i + 3];
    status = whole ? file_write_atomic(path, data, size, 0600, NULL)
                   : file_write_atomic(path, bytes, good_length, 0600, NULL);
    FUZZ_REQUIRE(status == STATUS_OK);
    free(bytes);
    status = verify_file(path, &options, &summary, &err);
    if (status != STATUS_OK)
        fuzz_require_good_message(&err, status);
    else
        FUZZ_REQUIRE(summary.wrong + summary.notes >= reported);
    return 0;
}

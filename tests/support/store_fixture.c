#include "tests/support/store_fixture.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "harness/core/canonical.h"
#include "harness/core/random.h"
#include "results/store/store_import.h"
#include "results/store/store_internal.h"

#define START_UTC_NS 1763654400000000000 /* 2025-11-20T16:00:00Z */

int fixture_make(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    const char *asked = getenv("TMPDIR");

    if (!fixture)
        return -1;
    /* In memory where available and nothing else is requested: syncs are cheap there. */
    snprintf(fixture->folder, sizeof(fixture->folder), "%s/assay-store-XXXXXX",
             asked                           ? asked
             : access("/dev/shm", W_OK) == 0 ? "/dev/shm"
                                             : "/tmp");
    if (!mkdtemp(fixture->folder)) {
        perror(fixture->folder);
        free(fixture);
        return -1;
    }
    snprintf(fixture->path, sizeof(fixture->path), "%s/results.db", fixture->folder);
    *state = fixture;
    return 0;
}

int fixture_open(void **state)
{
    struct fixture *fixture;
    struct error err = ERROR_INIT;

    if (fixture_make(state) != 0)
        return -1;
    fixture = *state;
    if (store_open(fixture->path, STORE_CREATE, 5000000000, &fixture->store, &err) == STATUS_OK)
        return 0;
    fprintf(stderr, "%s\n", err.message);
    return -1;
}

int fixture_remove(void **state)
{
    struct fixture *fixture = *state;
    DIR *folder = opendir(fixture->folder);
    struct dirent *entry;

    store_close(fixture->store);
    while (folder && (entry = readdir(folder)))
        unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    rmdir(fixture->folder);
    free(fixture);
    return 0;
}

const char *fixture_path(struct fixture *fixture, const char *name)
{
    static char path[1024];

    snprintf(path, sizeof(path), "%s/%s", fixture->folder, name);
    return path;
}

void fixture_uid(unsigned number, char ret[STORE_UID_SIZE])
{
    for (int i = 0; i < 4; i++)
        snprintf(ret + 16 * i, 17, "%016llx",
                 (unsigned long long)random_at(number, 7, (uint64_t)i));
}

static struct store_cell cell_of(int64_t ordinal, const char *workload, struct digest declared,
                                 struct digest protocol)
{
    return (struct store_cell){
        .ordinal = ordinal,
        .workload = declared,
        .protocol = protocol,
        .workload_name = workload,
        .protocol_name = "quick",
        .kind = "memory_bound",
        .work.precision = "fp32",
        .work.scenario = "single_stream",
        .work.implementation = "portable",
        .work.batch = 1,
        .seed = UINT64_MAX,
        .backend = "null",
        .device_spec = "null:0",
        .cost.bytes = 3 << 20,
        .cost.bytes_formula = "3*n*sizeof(T)",
        .cost.items = 1 << 18,
        .cost.item_name = "element",
        .cost.device_memory_bytes = 3 << 20,
        .cost.working_set_bytes = 3 << 20,
        .cost.headline = "bytes",
        .trials = FIXTURE_TRIALS,
    };
}

static enum status declare(struct store *store, const char *kind, const char *name,
                           struct digest *ret, struct error *err)
{
    json_t *json = json_pack("{s:s, s:i}", "name", name, "version", 1);
    struct store_declaration declaration = {kind, name, 1, "built-in", json};
    enum status status = json ? store_put_declaration(store, &declaration, ret, err)
                              : error_set(err, STATUS_NO_MEMORY, "out of memory");

    json_decref(json);
    return status;
}

enum status fixture_add_campaign(struct store *store, unsigned number, int64_t *ret_campaign,
                                 int64_t ret_cells[FIXTURE_CELLS], struct error *err)
{
    static const uint32_t order[FIXTURE_CELLS * FIXTURE_TRIALS] = {0, 1, 0, 1, 0, 1};
    struct store_campaign campaign = {
        .created_utc_ns = START_UTC_NS + (int64_t)number * 1000000000,
        .order_seed = 0xfedcba9876543210,
        .command = "assay run first-look",
        .tool_version = "0.1.0",
    };
    struct store_cell cells[FIXTURE_CELLS];
    struct digest triad, softmax;
    enum status status = declare(store, "workload", "triad", &triad, err);

    if (status == STATUS_OK)
        status = declare(store, "workload", "softmax", &softmax, err);
    if (status == STATUS_OK)
        status = declare(store, "protocol", "quick", &campaign.protocol, err);
    if (status != STATUS_OK)
        return status;
    fixture_uid(number, campaign.uid);
    cells[0] = cell_of(1, "triad", triad, campaign.protocol);
    cells[1] = cell_of(2, "softmax", softmax, campaign.protocol);
    campaign.plan =
        json_pack("{s:[s, s], s:i}", "cells", "triad", "softmax", "number", (int)number);
    if (!campaign.plan)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    status = store_add_campaign(store, &campaign, cells, FIXTURE_CELLS, order,
                                FIXTURE_CELLS * FIXTURE_TRIALS, ret_campaign, ret_cells, err);
    json_decref((json_t *)(uintptr_t)campaign.plan);
    if (status == STATUS_OK) {
        json_t *report =
            json_pack("{s:s, s:[{s:s, s:s, s:s}]}", "worst", "warning", "findings", "check",
                      "governor", "severity", "warning", "observed", "powersave");

        status = report ? store_add_doctor(store, *ret_campaign, report, err)
                        : error_set(err, STATUS_NO_MEMORY, "out of memory");
        json_decref(report);
    }
    if (status == STATUS_OK) {
        char output[] = "{\"lscpu\": []}\n";
        struct store_dump dump = {.tool = "lscpu",
                                  .command = "lscpu -J",
                                  .utc_ns = 1000000000,
                                  .status = "ok",
                                  .output = output};

        status = store_add_dump(store, *ret_campaign, &dump, err);
    }
    if (status == STATUS_OK) {
        json_t *choice =
            json_pack("{s:i, s:{s:i}}", "iterations_per_sample", 1, "workload", "lanes", 1);

        status = choice ? store_add_choice(store, ret_cells[0], choice, err)
                        : error_set(err, STATUS_NO_MEMORY, "out of memory");
        json_decref(choice);
    }
    return status;
}

enum status fixture_add_import(struct store *store, unsigned number, int64_t *ret_campaign,
                               struct error *err)
{
    struct store_import import = {.file = "bench.json",
                                  .digest = digest_bytes(&number, sizeof(number)),
                                  .size = 1000,
                                  .format = "llama-bench-json",
                                  .program = "llama-bench",
                                  .program_version = "8cf427ff",
                                  .command = "assay import bench.json",
                                  .tool_version = "0.1.0"};
    struct store_claim claim;
    enum status status = STATUS_NO_MEMORY;

    store_claim_init(&claim);
    claim.workload = strdup("llama-bench:tg128");
    claim.device = strdup("Example GPU");
    claim.backend = strdup("CUDA");
    claim.declaration = json_pack("{s:s, s:i}", "workload", "llama-bench:tg128", "version", 1);
    claim.fields = json_pack("{s:i, s:f}", "n_gen", 128, "avg_ts", 118.5);
    claim.batch = 2048;
    claim.items = 128;
    claim.item_name = "token";
    claim.rate = 118.5;
    claim.mean_ns = 1076767880;
    reading_add_missing(&claim.readings, "device.driver_version", READING_UNAVAILABLE,
                        "llama-bench", "it does not record the driver");
    if (claim.workload && claim.device && claim.backend && claim.declaration && claim.fields)
        status = store_add_import(store, &import, &claim, 1, ret_campaign, err);
    else
        error_set(err, status, "out of memory");
    store_claim_finish(&claim);
    return status;
}

static enum status add_subject(struct store *store, int64_t trial, struct error *err)
{
    struct store_component components[2] = {
        {.path = "/usr/lib/libfoo.so.1",
         .kind = "library",
         .version = "1.2",
         .build_id = "ab12",
         .size = 1000,
         .sha256 = {{0x5a}},
         .manager = "dpkg",
         .package = "libfoo1:amd64",
         .package_version = "1.2-3"},
        {.path = "/usr/lib/gone.so", .kind = "library", .missing_reason = "deleted"},
    };
    json_t *readings =
        json_pack("{s:{s:s, s:s, s:s}, s:{s:s, s:s, s:s}}", "host.cpu.model", "status", "measured",
                  "value", "A CPU", "source", "/proc/cpuinfo", "host.governor", "status",
                  "unavailable", "source", "/sys", "reason", "no such file");
    json_t *artifact = json_pack("{s:s, s:s}", "file", "triad.c", "options", "-cl-std=CL1.2");
    struct store_device device = {.backend = "null",
                                  .name = "Null \xff device",
                                  .type = "cpu",
                                  .simulated = true,
                                  .readings = readings};
    int64_t id = 0;
    enum status status = readings && artifact ? STATUS_OK : STATUS_NO_MEMORY;

    if (status == STATUS_OK)
        status = store_put_device(store, &device, &id, err);
    if (status == STATUS_OK)
        status = store_set_trial_device(store, trial, id, err);
    if (status == STATUS_OK)
        status = store_add_environment(store, trial, "before", readings, err);
    if (status == STATUS_OK)
        status = store_add_components(store, trial, "window_start", components, 2, err);
    if (status == STATUS_OK)
        status = store_add_components(store, trial, "window_end", components, 1, err);
    if (status == STATUS_OK)
        status = store_add_artifact(store, trial, artifact, err);
    json_decref(readings);
    json_decref(artifact);
    return status;
}

static enum status add_telemetry(struct store *store, int64_t trial, struct error *err)
{
    static const int64_t times[] = {1000, 2000, 3000, 4000}, power[] = {50000, 0, 51000};
    static const int64_t moments[] = {0, 1, 3};
    json_t *channels = json_pack("[{s:s, s:s, s:s}, {s:s, s:s, s:s, s:s}]", "name", "power_mw",
                                 "kind", "gauge", "source", "a call", "name", "energy_uj", "kind",
                                 "counter", "source", "a file", "reason", "permission is missing");
    json_t *readings = json_pack("{s:{s:s, s:i, s:s}}", "device.power_limit", "status", "measured",
                                 "value", 300, "source", "a call");
    struct store_telemetry telemetry = {.part = "device",
                                        .status = "ok",
                                        .channels = channels,
                                        .interval_ns = 1000,
                                        .ticks = 4,
                                        .cpu_ns = 12,
                                        .reading_ns = -1,
                                        .begin = readings,
                                        .dump = "all that the vendor tells"};
    enum status status =
        channels && readings ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, "out of memory");

    if (status == STATUS_OK)
        status = store_add_telemetry(store, trial, &telemetry, err);
    if (status == STATUS_OK)
        status = store_add_samples(store, trial, "telemetry:device.time_ns", 0, times, 4, err);
    if (status == STATUS_OK)
        status = store_add_samples(store, trial, "telemetry:device.power_mw", 0, power, 3, err);
    if (status == STATUS_OK)
        status = store_add_samples(store, trial, "telemetry:device.power_mw#", 0, moments, 3, err);
    json_decref(channels);
    json_decref(readings);
    return status;
}

static enum status add_samples(struct store *store, int64_t trial, size_t count, struct error *err)
{
    int64_t *values = malloc((count ? count : 1) * sizeof(*values));
    enum status status;

    if (!values)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++)
        values[i] = 1000000 + (int64_t)(random_at(42, (uint64_t)trial, i) % 20000);
    status = store_add_samples(store, trial, "wall_ns", 0, values, count / 2, err);
    if (status == STATUS_OK)
        status = store_add_samples(store, trial, "wall_ns", count / 2, values + count / 2,
                                   count - count / 2, err);
    free(values);
    return status;
}

enum status fixture_run_trial(struct store *store, int64_t campaign, int64_t sequence,
                              const char *status_name, size_t samples, int64_t *ret_trial,
                              struct error *err)
{
    struct store_check check = {.phase = "verify_before",
                                .output = "a",
                                .metric = "max_relative",
                                .reason = "rounding of one fma",
                                .error = 1e-7,
                                .tolerance = 1e-6,
                                .compared = 1 << 18,
                                .passed = true};
    struct store_trial_end end = {
        .ended_utc_ns = START_UTC_NS + 2000000000,
        .status = status_name,
        .message = strcmp(status_name, "ok") == 0 ? NULL : "it did not go well",
        .iterations_per_sample = 2,
        .window_first = 0,
        .samples = (int64_t)samples,
        .max_rss_bytes = -1,
    };
    int64_t trial = 0;
    enum status status = store_begin_trial(store, campaign, sequence, START_UTC_NS, &trial, err);

    if (status == STATUS_OK)
        status = add_subject(store, trial, err);
    if (status == STATUS_OK)
        status = store_add_phase(store, trial, &(struct store_phase){"setup", 0, 1000}, err);
    if (status == STATUS_OK)
        status = store_add_check(store, trial, &check, err);
    if (status == STATUS_OK)
        status = add_samples(store, trial, samples, err);
    if (status == STATUS_OK)
        status = add_telemetry(store, trial, err);
    if (status == STATUS_OK)
        status = store_end_trial(store, trial, &end, err);
    if (status == STATUS_OK && ret_trial)
        *ret_trial = trial;
    return status;
}

int64_t fixture_ask(struct store *store, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t value = -1;

    if (sqlite3_prepare_v2(store_connection(store), sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        value = sqlite3_column_int64(statement, 0);
    else
        fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(store_connection(store)));
    sqlite3_finalize(statement);
    return value;
}

/* One text that `sql` gives; to be freed by sqlite3_free. */
static char *text_of(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *row = NULL;
    char *text;

    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    text = sqlite3_mprintf("%s", sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    return text;
}

void fixture_tamper(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    char *drop, *make;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    drop = text_of(db, "SELECT group_concat('DROP TRIGGER ' || name || ';', '') FROM sqlite_schema"
                       " WHERE type = 'trigger'");
    make = text_of(db, "SELECT group_concat(sql || ';', '') FROM sqlite_schema"
                       " WHERE type = 'trigger'");
    assert_int_equal(sqlite3_exec(db, drop, NULL, NULL, NULL), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        print_error("%s: %s\n", sql, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_errcode(db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, make, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_free(drop);
    sqlite3_free(make);
    sqlite3_close(db);
}

const char *fixture_soundness(struct store *store)
{
    static char message[256];
    sqlite3_stmt *statement = NULL;

    snprintf(message, sizeof(message), "integrity_check did not run");
    if (sqlite3_prepare_v2(store_connection(store), "PRAGMA integrity_check", -1, &statement,
                           NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        snprintf(message, sizeof(message), "%s", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    if (strcmp(message, "ok") != 0)
        return message;
    if (fixture_ask(store, "SELECT count(*) FROM pragma_foreign_key_check") != 0)
        return "foreign_key_check found a row without its parent";
    return "ok";
}

enum status fixture_put_text(struct store *store, const char *text, size_t length,
                             struct digest *ret, struct error *err)
{
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    status = store_insert_content(store, text, length, ret, err);
    return store_change_end(store, status, err);
}

enum status fixture_put_json(struct store *store, const json_t *json, struct digest *ret,
                             struct error *err)
{
    char *canonical = NULL;
    enum status status = canonical_dump(json, &canonical, err);

    if (status == STATUS_OK)
        status = fixture_put_text(store, canonical, strlen(canonical), ret, err);
    free(canonical);
    return status;
}

enum status fixture_mark_bundled(struct store *store, int64_t campaign, struct error *err)
{
    char sql[1024];

    snprintf(sql, sizeof(sql),
             "INSERT INTO log (id, name) VALUES (2, 'assay-log/1');"
             "INSERT INTO content VALUES (zeroblob(32), '{}');"
             "INSERT INTO bundle VALUES (%lld, 1, 'offer.assay', zeroblob(32), 'assay-log/1', 9,"
             " zeroblob(32), 'note', 1, zeroblob(32));"
             "INSERT INTO record (log, leaf, type, digest, salt, body) VALUES (2, 0, 'campaign',"
             " zeroblob(32), '{}', '{\"command\":{\"withheld\":\"00\"},\"type\":\"campaign\"}')",
             (long long)campaign);
    if (sqlite3_exec(store_connection(store), sql, NULL, NULL, NULL) == SQLITE_OK)
        return STATUS_OK;
    return error_set(err, STATUS_IO, "%s", sqlite3_errmsg(store_connection(store)));
}

bool fixture_explains(const struct verify_finding *finding)
{
    return finding->check == VERIFY_CELL || finding->check == VERIFY_TRIAL;
}

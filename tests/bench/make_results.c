/*
 * A database of any size, to measure how the store and the commands grow with it.
 *
 * usage: make_results DATABASE RESULTS [TRIALS [SAMPLES]]
 *
 * Adds campaigns of ten results each, until there are RESULTS; TRIALS a result (default 5), SAMPLES
 * a trial (default 200). Everything goes through the store's public functions, as a run would write
 * it. Times come from seeded random numbers and were measured nowhere: the devices are called
 * simulated. POOL campaigns are drawn; later ones repeat their samples, and their estimates, which
 * depend on the samples alone. In the middle is one result with a workload, a precision and a
 * device of its own, for filters that match one.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "harness/core/clock.h"
#include "harness/core/random.h"
#include "harness/core/reading.h"
#include "harness/core/text.h"
#include "protocols/protocol.h"
#include "results/analysis/analysis.h"
#include "results/store/store.h"

#define CELLS 10 /* of a campaign */
#define POOL 20  /* campaigns whose samples are drawn */
#define BATCH 50 /* campaigns in one transaction */
#define DEVICES 8
#define FIRST_UTC_NS 1700000000000000000
#define HOUR_NS INT64_C(3600000000000)

#define TRY(call)                                                                                  \
    do {                                                                                           \
        enum status try_ = (call);                                                                 \
        if (try_ != STATUS_OK)                                                                     \
            return try_;                                                                           \
    } while (0)

struct maker {
    struct store *store;
    int64_t results, trials, samples;
    struct digest workloads[CELLS + 1], protocols[2];
    int64_t devices[DEVICES + 1];
    json_t *host, *load, *plan;
    int64_t *drawn;                  /* POOL x CELLS x trials x samples */
    json_t *estimates[POOL * CELLS]; /* NULL until the pool's campaign is stored */
};

static const char *const workload_names[CELLS + 1] = {
    "copy",    "triad",      "dot",
    "softmax", "layer_norm", "gemm",
    "conv",    "attention",  "gpt2_small_training_step",
    "prefill", "needle"};
static const char *const precision_names[] = {"fp32", "fp16", "bf16"};
static const char *const protocol_names[] = {"standard", "quick"};

static enum status put(struct store *store, const char *kind, const char *name, json_t *json,
                       struct digest *ret, struct error *err)
{
    struct store_declaration declaration = {kind, name, 1, "built-in", json};
    enum status status = json ? store_put_declaration(store, &declaration, ret, err)
                              : error_set(err, STATUS_NO_MEMORY, "out of memory");

    json_decref(json);
    return status;
}

static json_t *readings(bool host)
{
    struct reading_list list;
    json_t *json;

    reading_list_init(&list);
    if (host) {
        reading_add_text(&list, "host.cpu.model", "Made-up Processor", "/proc/cpuinfo");
        reading_add_text(&list, "host.kernel.release", "6.1.0-18-amd64", "uname");
        reading_add_integer(&list, "host.memory.total", 16777216000, "bytes", "/proc/meminfo");
        reading_add_missing(&list, "host.cpu.governor", READING_UNAVAILABLE, "/sys",
                            "the kernel shows no frequency control");
    } else {
        reading_add_real(&list, "load.average_1min", 0.25, NULL, "getloadavg");
    }
    json = reading_list_to_json(&list);
    reading_list_finish(&list);
    return json;
}

static enum status put_devices(struct maker *maker, struct error *err)
{
    for (int i = 0; i <= DEVICES; i++) {
        char name[64];
        struct store_device device = {.backend = "null",
                                      .index = i,
                                      .vendor = "Nobody",
                                      .name = name,
                                      .type = "gpu",
                                      .simulated = true};
        struct reading_list list;
        enum status status;

        snprintf(name, sizeof(name), i < DEVICES ? "Made-up Accelerator %d" : "Needle %d", i);
        reading_list_init(&list);
        reading_add_text(&list, "device.driver_version", "1.2.3", "nowhere");
        reading_add_integer(&list, "device.compute_units", 100 + i, NULL, "nowhere");
        device.readings = reading_list_to_json(&list);
        reading_list_finish(&list);
        status = store_put_device(maker->store, &device, &maker->devices[i], err);
        json_decref((json_t *)device.readings);
        TRY(status);
    }
    return STATUS_OK;
}

static enum status prepare(struct maker *maker, struct error *err)
{
    size_t count = (size_t)(POOL * CELLS * maker->trials * maker->samples);
    struct random random;

    for (int i = 0; i < 2; i++) {
        struct protocol protocol;
        enum status status;

        TRY(protocol_find(protocol_names[i], &protocol, err));
        status = put(maker->store, "protocol", protocol_names[i], json_incref(protocol.json),
                     &maker->protocols[i], err);
        protocol_finish(&protocol);
        TRY(status);
    }
    for (int i = 0; i <= CELLS; i++)
        TRY(put(maker->store, "workload", workload_names[i],
                json_pack("{s:s, s:i, s:s, s:s}", "workload", workload_names[i], "version", 1,
                          "kind", "synthetic", "description", "made up for measurements of scale"),
                &maker->workloads[i], err));
    TRY(put_devices(maker, err));
    maker->host = readings(true);
    maker->load = readings(false);
    maker->drawn = malloc(count * sizeof(*maker->drawn));
    if (!maker->host || !maker->load || !maker->drawn)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    random_init(&random, 1, 0);
    for (size_t i = 0; i < count; i++)
        maker->drawn[i] = (int64_t)(1e6 * exp(0.03 * random_next_normal(&random)));
    return STATUS_OK;
}

static enum status add_files(struct maker *maker, int64_t trial, const char *at, int64_t driver,
                             struct error *err)
{
    static const char *const paths[] = {"/usr/bin/assay", "/usr/lib/x86_64-linux-gnu/libc.so.6",
                                        "/usr/lib/x86_64-linux-gnu/libm.so.6",
                                        "/usr/lib/x86_64-linux-gnu/libOpenCL.so.1.0.0",
                                        "/usr/lib/x86_64-linux-gnu/libmade-up-driver.so.1"};
    struct store_component files[sizeof(paths) / sizeof(paths[0])];

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        files[i] = (struct store_component){.path = paths[i],
                                            .kind = "library",
                                            .size = 4096,
                                            .build_id = "5c4ef9f1b8d3bd31e2a0c9b6a7d8e9f001122334",
                                            .digest = digest_bytes(paths[i], strlen(paths[i])),
                                            .has_digest = true};
    files[4].digest = digest_bytes(&driver, sizeof(driver));
    return store_add_components(maker->store, trial, at, files, sizeof(paths) / sizeof(paths[0]),
                                err);
}

static enum status add_trial(struct maker *maker, int64_t campaign, int64_t sequence,
                             int64_t number, int64_t cell, int64_t round, int64_t started,
                             int64_t device, struct error *err)
{
    static const char *const phases[] = {"setup", "verify_before", "warmup", "window",
                                         "verify_after"};
    struct store *store = maker->store;
    struct store_check check = {.phase = "verify_before",
                                .output = "y",
                                .metric = "max_relative",
                                .reason = "made up",
                                .error = 1e-7,
                                .tolerance = 1e-6,
                                .compared = 1024,
                                .passed = true};
    struct store_trial_end end = {.ended_utc_ns = started + HOUR_NS / 1000,
                                  .status = "ok",
                                  .iterations_per_sample = 1,
                                  .window_first = maker->samples / 10,
                                  .samples = maker->samples,
                                  .max_rss_bytes = 50000000};
    const int64_t *samples =
        maker->drawn + (((number % POOL) * CELLS + cell) * maker->trials + round) * maker->samples;
    int64_t trial;

    TRY(store_begin_trial(store, campaign, sequence, started, &trial, err));
    TRY(store_set_trial_device(store, trial, device, err));
    TRY(store_add_environment(store, trial, "host", maker->host, err));
    TRY(store_add_environment(store, trial, "before", maker->load, err));
    TRY(add_files(maker, trial, "window_start", number / 100, err));
    for (int64_t i = 0; i < 5; i++)
        TRY(store_add_phase(store, trial, phases[i], i * 1000000000, (i + 1) * 1000000000, err));
    TRY(store_add_check(store, trial, &check, err));
    TRY(store_add_samples(store, trial, "wall_ns", 0, samples, (size_t)maker->samples, err));
    TRY(add_files(maker, trial, "window_end", number / 100, err));
    return store_end_trial(store, trial, &end, err);
}

/* The estimate is made once for each campaign of the pool. */
static enum status add_estimate(struct maker *maker, int64_t number, int64_t cell, int64_t row,
                                struct error *err)
{
    json_t **known = &maker->estimates[(number % POOL) * CELLS + cell];

    if (!*known)
        TRY(analysis_estimate_json(maker->store, row, INT64_MAX, known, err));
    return store_add_estimate(maker->store, row,
                              json_integer_value(json_object_get(*known, "version")), *known, err);
}

static enum status add_campaign(struct maker *maker, int64_t number, struct error *err)
{
    int64_t total = maker->results / CELLS, sequence = 0, created, campaign;
    int64_t rows[CELLS];
    struct store_campaign plan = {
        .order_seed = (uint64_t)number, .command = "assay run first-look", .tool_version = "0.1.0"};
    struct store_cell cells[CELLS];
    uint32_t order[CELLS * 64];
    struct digest uid = digest_bytes(&number, sizeof(number));
    bool needle = number == total / 2;
    int which = number % 5 == 4;

    created = FIRST_UTC_NS + number * HOUR_NS;
    plan.created_utc_ns = created;
    digest_hex(&uid, plan.uid);
    plan.protocol = maker->protocols[which];
    plan.plan = json_pack("{s:i, s:I}", "cells", CELLS, "number", (json_int_t)number);
    for (int i = 0; i < CELLS; i++) {
        bool odd = needle && i == 3;
        int device = odd ? DEVICES : (int)(number % DEVICES);
        static char specs[DEVICES + 1][16];

        snprintf(specs[device], sizeof(specs[device]), "null:%d", device);
        cells[i] =
            (struct store_cell){.ordinal = i + 1,
                                .workload = maker->workloads[odd ? CELLS : i],
                                .protocol = plan.protocol,
                                .workload_name = workload_names[odd ? CELLS : i],
                                .protocol_name = protocol_names[which],
                                .kind = "synthetic",
                                .precision = odd ? "int8" : precision_names[(number + i) % 3],
                                .scenario = "offline",
                                .implementation = "portable",
                                .batch = 1,
                                .seed = 7,
                                .backend = "null",
                                .device_index = device,
                                .device_spec = specs[device],
                                .bytes = 201326592,
                                .bytes_formula = "made up",
                                .items = 1024,
                                .item_name = "item",
                                .device_memory_bytes = 201326592,
                                .working_set_bytes = 201326592,
                                .headline = "bytes",
                                .trials = maker->trials};
    }
    for (int64_t i = 0; i < CELLS * maker->trials; i++)
        order[i] = (uint32_t)(i % CELLS);
    TRY(store_add_campaign(maker->store, &plan, cells, CELLS, order,
                           (size_t)(CELLS * maker->trials), &campaign, rows, err));
    json_decref((json_t *)plan.plan);
    TRY(store_add_campaign_event(maker->store, campaign, "started", NULL, err));
    for (int64_t round = 0; round < maker->trials; round++)
        for (int cell = 0; cell < CELLS; cell++) {
            int device = needle && cell == 3 ? DEVICES : (int)(number % DEVICES);

            sequence++;
            TRY(add_trial(maker, campaign, sequence, number, cell, round,
                          created + sequence * (HOUR_NS / 500), maker->devices[device], err));
        }
    for (int cell = 0; cell < CELLS; cell++)
        TRY(add_estimate(maker, number, cell, rows[cell], err));
    return store_add_campaign_event(maker->store, campaign, "finished", NULL, err);
}

static enum status make(struct maker *maker, struct error *err)
{
    enum status status = store_batch_begin(maker->store, err);

    if (status == STATUS_OK)
        status = prepare(maker, err);
    for (int64_t i = 0; i < maker->results / CELLS && status == STATUS_OK; i++) {
        status = add_campaign(maker, i, err);
        if (status == STATUS_OK && i % BATCH == BATCH - 1) {
            status = store_batch_end(maker->store, true, err);
            if (status == STATUS_OK)
                status = store_batch_begin(maker->store, err);
        }
    }
    return status == STATUS_OK ? store_batch_end(maker->store, true, err) : status;
}

int main(int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct maker maker = {.trials = 5, .samples = 200};
    enum status status;

    if (argc < 3 || argc > 5 || !text_parse_i64(argv[2], &maker.results) ||
        (argc > 3 && !text_parse_i64(argv[3], &maker.trials)) ||
        (argc > 4 && !text_parse_i64(argv[4], &maker.samples)) || maker.results < CELLS ||
        maker.results % CELLS || maker.trials < 1 || maker.trials > 64 || maker.samples < 10) {
        fprintf(stderr, "usage: make_results DATABASE RESULTS [TRIALS [SAMPLES]]\n"
                        "RESULTS is a multiple of ten, TRIALS at most 64\n");
        return 2;
    }
    status = store_open(argv[1], STORE_CREATE, HOUR_NS, &maker.store, &err);
    if (status == STATUS_OK)
        status = make(&maker, &err);
    if (status != STATUS_OK)
        fprintf(stderr, "make_results: %s\n", err.message);
    store_close(maker.store);
    for (int i = 0; i < POOL * CELLS; i++)
        json_decref(maker.estimates[i]);
    json_decref(maker.host);
    json_decref(maker.load);
    free(maker.drawn);
    return status == STATUS_OK ? 0 : 1;
}

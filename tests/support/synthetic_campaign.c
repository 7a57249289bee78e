#include "tests/support/synthetic_campaign.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "harness/core/text.h"
#include "protocols/protocol.h"
#include "protocols/estimate.h"
#include "results/analysis/analysis.h"
#include "tests/support/synthetic_context.h"

#define UTC_NS 1795190521123000000 /* 2026-11-20 */
#define MS 1000000
static const struct {
    const char *workload, *kind, *headline, *item, *description;
    int64_t batch;
    uint64_t flops, bytes, items, working_set;
    double level_ns;
    int64_t iterations;
} shapes[SYNTHETIC_SHAPES] = {
    [SYNTHETIC_WARMUP] = {"triad", "memory_bound", "bytes", "element", "a[i] = b[i] + s * c[i]", 1,
                          33554432, 201326592, 16777216, 201326592, 8.1e6, 1},
    [SYNTHETIC_FLAT] = {"copy-small", "memory_bound", "bytes", "element",
                        "c[i] = a[i], small arrays", 1, 0, 8388608, 1048576, 8388608, 212e3, 4},
    [SYNTHETIC_STAGES] = {"gpt2-tiny-train", "training_step", "items", "token",
                          "One training step of a small GPT-2", 8, 41523609600, 0, 1024, 61865984,
                          642e6, 1},
    [SYNTHETIC_DRIFT] = {"softmax", "memory_bound", "bytes", "element", "Row-wise softmax", 1, 0,
                         134217728, 16777216, 134217728, 31e6, 1},
    [SYNTHETIC_BROKEN] = {"gpt2-tiny-prefill", "batched_inference", "items", "token",
                          "Prefill of a small GPT-2", 4, 13841203200, 0, 512, 20621994, 205e6, 1},
};

struct synthetic_options synthetic_options_default(void)
{
    return (struct synthetic_options){
        .protocol = "standard",
        .cells = SYNTHETIC_SHAPES,
        .trials = 5,
        .samples = 600,
        .estimates = SYNTHETIC_ANALYSED,
        .seed = 7,
    };
}

static enum status put(struct store *store, const char *kind, const char *name, json_t *json,
                       struct digest *ret, struct error *err)
{
    struct store_declaration declaration = {kind, name, 1, "built-in", json};
    enum status status = store_put_declaration(store, &declaration, ret, err);

    json_decref(json);
    return status;
}

static enum status plan(struct store *store, const struct synthetic_options *options,
                        struct store_cell *cells, int64_t *ret_campaign, int64_t *ret_cells,
                        struct error *err)
{
    struct store_campaign campaign = {
        .created_utc_ns = UTC_NS,
        .order_seed = options->seed,
        .command = "assay run first-look --protocol standard",
        .tool_version = "0.1.0",
    };
    size_t planned = options->cells * options->trials;
    uint32_t *order = calloc(planned + 1, sizeof(*order));
    struct protocol protocol;
    enum status status;

    memcpy(campaign.uid,
           options->uid ? options->uid
                        : "9f2c41aa5d0be37f18c6a2b94e7d035c8811aa02ff3e4c5d6b7a89900123fedc",
           64);
    TRY(protocol_find(options->protocol, &protocol, err));
    json_object_set_new(protocol.json, "version", json_integer(1));
    status = put(store, "protocol", options->protocol, json_incref(protocol.json),
                 &campaign.protocol, err);
    protocol_finish(&protocol);
    TRY(status);
    memset(&campaign.tool_digest, 0xa5, sizeof(campaign.tool_digest));
    for (size_t i = 0; i < options->cells; ++i) {
        size_t s = i % SYNTHETIC_SHAPES;
        const char *name = options->workload ? options->workload : shapes[s].workload;

        cells[i] = (struct store_cell){
            .ordinal = (int64_t)i + 1,
            .protocol = campaign.protocol,
            .workload_name = name,
            .protocol_name = options->protocol,
            .kind = shapes[s].kind,
            .work.precision = "fp32",
            .work.scenario = "offline",
            .work.implementation = "portable",
            .work.batch = shapes[s].batch,
            .seed = 20261120,
            .backend = "opencl",
            .device_spec = "opencl:0",
            .cost.flops = shapes[s].flops,
            .cost.bytes = shapes[s].bytes,
            .cost.items = shapes[s].items,
            .cost.device_memory_bytes = shapes[s].working_set * 2,
            .cost.working_set_bytes = shapes[s].working_set,
            .cost.flops_formula = shapes[s].flops ? "2*n (BabelStream triad)" : NULL,
            .cost.bytes_formula = shapes[s].bytes ? "3*n*sizeof(float) (BabelStream triad)" : NULL,
            .cost.item_name = shapes[s].item,
            .cost.headline = shapes[s].headline,
            .trials = (int64_t)options->trials,
        };
        TRY(put(store, "workload", name,
                json_pack("{s:s, s:i, s:s, s:s, s:[s], s:[I]}", "workload",
                          text_is_utf8(name, strlen(name)) ? name : "not UTF-8", "version", 1,
                          "kind", shapes[s].kind, "description", shapes[s].description,
                          "precisions", "fp32", "batches", (json_int_t)shapes[s].batch),
                &cells[i].workload, err));
    }
    for (size_t i = 0; order && i < planned; ++i)
        order[i] = (uint32_t)(i % options->cells);
    campaign.plan =
        json_pack("{s:I, s:s}", "cells", (json_int_t)options->cells, "suite", "first-look");
    status = order ? store_add_campaign(store, &campaign, cells, options->cells, order, planned,
                                        ret_campaign, ret_cells, err)
                   : STATUS_NO_MEMORY;
    json_decref((json_t *)campaign.plan);
    free(order);
    return status;
}

/* Warmup that decays, correlated noise, a tail and a few spikes; all positive. */
static void draw(int64_t *ret, size_t count, enum synthetic_shape shape, double level,
                 struct random *random)
{
    double noise = 0, process = exp(0.004 * random_next_normal(random));

    for (size_t i = 0; i < count; ++i) {
        double at = (double)i / (double)count, load_timeline = 1;

        noise = 0.4 * noise + 0.004 * random_next_normal(random);
        if (shape == SYNTHETIC_WARMUP)
            load_timeline += 0.35 * exp(-at * 28) + (i == 0 ? 2.4 : 0);
        if (shape == SYNTHETIC_STAGES)
            load_timeline += 0.05 * exp(-at * 40);
        if (shape == SYNTHETIC_DRIFT)
            load_timeline += 0.11 * at;
        if (random_next_unit(random) < 0.004)
            load_timeline += 0.2 + 0.5 * random_next_unit(random);
        ret[i] = (int64_t)(level * process * load_timeline *
                           exp(noise - 0.004 * log(1 - 0.999 * random_next_unit(random))));
        ret[i] = ret[i] < 1 ? 1 : ret[i];
    }
}

static enum status add_stages(struct store *store, int64_t trial, const int64_t *wall, size_t count,
                              struct error *err)
{
    static const struct {
        const char *name;
        double share;
    } stages[] = {{"stage:optimizer", 0.064}, {"stage:forward", 0.291}, {"stage:backward", 0.597},
                  {"stage:upload", 0.006},    {"stage:data", 0.011},    {"device_ns", 0.957}};
    int64_t *values = calloc(count, sizeof(*values));

    if (!values)
        return STATUS_NO_MEMORY;
    for (size_t s = 0; s < sizeof(stages) / sizeof(stages[0]); ++s) {
        enum status status;

        for (size_t i = 0; i < count; ++i)
            values[i] = i == 3 ? -1 : (int64_t)((double)wall[i] * stages[s].share);
        status = store_add_samples(store, trial, stages[s].name, 0, values, count, err);
        if (status != STATUS_OK) {
            free(values);
            return status;
        }
    }
    free(values);
    return STATUS_OK;
}

static enum status add_checks(struct store *store, int64_t trial, const char *phase, bool passed,
                              struct error *err)
{
    struct store_check check = {
        .phase = phase,
        .output = "a",
        .metric = "max_relative",
        .reason = "two roundings of fp32",
        .error = passed ? 5.9e-8 : NAN,
        .tolerance = 2.4e-7,
        .compared = 16777216,
        .passed = passed,
    };

    TRY(store_add_check(store, trial, &check, err));
    check.output = "checksum";
    check.metric = "normalised_rms";
    check.error = passed ? 3.1e-8 : 0.82;
    check.tolerance = 1e-6;
    return store_add_check(store, trial, &check, err);
}

static enum status add_artifact(struct store *store, int64_t trial, struct error *err)
{
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:s, s:{s:{s:i, s:i, s:n}}}", "file",
        "workloads/kernels/memory.h", "source",
        "1f0c9d6f0b6a4f0d8a3f5c1b2e4d6a8090a1b2c3d4e5f60718293a4b5c6d7e8f", "prelude",
        "2f0c9d6f0b6a4f0d8a3f5c1b2e4d6a8090a1b2c3d4e5f60718293a4b5c6d7e8f", "binary",
        "3f0c9d6f0b6a4f0d8a3f5c1b2e4d6a8090a1b2c3d4e5f60718293a4b5c6d7e8f", "options",
        "-cl-std=CL1.2 -DLANES=1 -DN=16777216", "compiler", "PoCL 3.1+debian, LLVM 14.0.6", "lanes",
        1, "log", "", "resources", "triad", "registers", 24, "spill_bytes", 16, "shared_bytes");
    enum status status = store_add_artifact(store, trial, json, err);

    json_decref(json);
    return status;
}

/* How attempt number `attempt` at trial `number` (from 0) of a shape ends. */
static const char *outcome(enum synthetic_shape shape, size_t number, size_t attempt)
{
    static const char *const broken[] = {"check_failed", "timeout", "device_lost"};

    if (shape == SYNTHETIC_BROKEN)
        return broken[number % 3];
    if (shape == SYNTHETIC_WARMUP && number == 2 && attempt == 0)
        return "crashed";
    return "ok";
}

static enum status end_trial(struct store *store, const struct synthetic_options *options,
                             int64_t trial, enum synthetic_shape shape, const char *status,
                             size_t samples, int64_t first, int64_t started, struct error *err)
{
    bool ok = strcmp(status, "ok") == 0;
    json_t *facts = json_pack("{s:{s:i}, s:I}", "lanes", "triad", 1, "last_level_cache_bytes",
                              (json_int_t)33554432);
    struct store_trial_end end = {
        .ended_utc_ns = started + (int64_t)9000 * MS,
        .status = status,
        .message = ok                 ? NULL
                   : options->message ? options->message
                                      : "a[4711] is nan, expected 0.25 within 2.4e-07",
        .iterations_per_sample = shapes[shape].iterations,
        .window_first = first,
        .samples = (int64_t)samples,
        .facts = facts,
        .exit_code = strcmp(status, "crashed") == 0 ? -1 : !ok,
        .signal = strcmp(status, "crashed") == 0 ? 11 : 0,
        .max_rss_bytes = 412 << 20,
    };
    enum status result = store_end_trial(store, trial, &end, err);

    json_decref(facts);
    return result;
}

static enum status run_attempt(struct store *store, const struct synthetic_options *options,
                               int64_t campaign, int64_t device, size_t sequence, size_t cell,
                               size_t number, size_t attempt, struct random *random,
                               struct error *err)
{
    enum synthetic_shape shape = (enum synthetic_shape)(cell % SYNTHETIC_SHAPES);
    const char *status = outcome(shape, number, attempt);
    bool ok = strcmp(status, "ok") == 0;
    size_t samples = ok                               ? options->samples
                     : strcmp(status, "timeout") == 0 ? 0
                                                      : options->samples / 3;
    int64_t first = samples ? (int64_t)(options->samples / 8) : -1;
    int64_t started = UTC_NS + (int64_t)(sequence * 10 + attempt * 5) * 1000 * MS, trial;
    int64_t *wall = calloc(options->samples + 1, sizeof(*wall));

    if (!wall)
        return STATUS_NO_MEMORY;
    TRY(store_begin_trial(store, campaign, (int64_t)sequence, started, &trial, err));
    TRY(store_set_trial_device(store, trial, device, err));
    TRY(synthetic_add_host(store, trial, err));
    TRY(synthetic_add_load(store, trial, "before", random, err));
    TRY(add_artifact(store, trial, err));
    TRY(add_checks(store, trial, "verify_before", true, err));
    TRY(store_add_phase(store, trial, &(struct store_phase){"setup", 0, 310 * MS}, err));
    TRY(store_add_phase(store, trial, &(struct store_phase){"warmup", 310 * MS, 1090 * MS}, err));
    draw(wall, samples, shape, shapes[shape].level_ns * (double)shapes[shape].iterations, random);
    if (samples) {
        TRY(store_add_samples(store, trial, "wall_ns", 0, wall, samples, err));
        TRY(synthetic_add_components(store, options, trial, "window_start", false, err));
        if (shape == SYNTHETIC_STAGES)
            TRY(add_stages(store, trial, wall, samples, err));
    }
    if (ok) {
        TRY(store_add_phase(store, trial,
                            &(struct store_phase){"window", 1090 * MS, (int64_t)6120 * MS}, err));
        TRY(synthetic_add_components(store, options, trial, "window_end",
                                     shape == SYNTHETIC_DRIFT && number == 0, err));
        TRY(synthetic_add_load(store, trial, "after", random, err));
    }
    if (ok || strcmp(status, "check_failed") == 0)
        TRY(add_checks(store, trial, "verify_after", ok, err));
    TRY(end_trial(store, options, trial, shape, status, samples, first, started, err));
    free(wall);
    return STATUS_OK;
}

static struct estimate_interval around(double value, double half)
{
    return (struct estimate_interval){value, true, value * (1 - half), value * (1 + half), true};
}

/* The trials that ended ok, as an estimate has them. */
static void declare_trials(const json_t *record, enum synthetic_shape shape,
                           enum estimate_verdict verdict, struct estimate *e)
{
    size_t i;
    json_t *trial;

    json_array_foreach(json_object_get(record, "trials"), i, trial)
    {
        struct estimate_trial *entry = &e->trials[e->trial_count];

        if (strcmp(json_string_value(json_object_get(trial, "status")), "ok") != 0)
            continue;
        *entry = (struct estimate_trial){
            .sequence = json_integer_value(json_object_get(trial, "sequence")),
            .number = (int64_t)e->trial_count + 1,
            .verdict = verdict,
            .has_steady = verdict != ESTIMATE_DRIFT,
            .steady_from = 75,
            .mean_ns = around(shapes[shape].level_ns, 0.001),
            .median_ns = shapes[shape].level_ns,
            .ess = 300,
        };
        e->trial_count++;
    }
}

static void declare_metrics(enum synthetic_shape shape, struct estimate *e)
{
    const double ns = shapes[shape].level_ns, per_s = 1e9 / ns;
    const struct estimate_interval time = around(ns, 0.0042), p50 = around(ns * 0.998, 0.001),
                                   p90 = around(ns * 1.02, 0.002), none = {0},
                                   items = around(per_s * (double)shapes[shape].items, 0.0042),
                                   bytes = around(per_s * (double)shapes[shape].bytes, 0.0042);

    estimate_set_metric(e, METRIC_ITERATION_TIME, &time, NULL, false);
    estimate_set_metric(e, METRIC_ITEM_RATE, &items, "token", false);
    e->headline = METRIC_ITEM_RATE;
    if (shapes[shape].bytes) {
        estimate_set_metric(e, METRIC_BYTE_RATE, &bytes, NULL, false);
        e->headline = METRIC_BYTE_RATE;
    }
    estimate_set_metric(e, METRIC_P50, &p50, NULL, false);
    estimate_set_metric(e, METRIC_P90, &p90, NULL, false);
    estimate_set_metric(e, METRIC_P999, &none, NULL, false);
    e->metrics[METRIC_P999].needed = 2995;
}

/* Figures that are declared and not computed, in the form of analysis_estimate. */
static json_t *declared_estimate(struct store *store, enum synthetic_shape shape, int64_t cell)
{
    static const enum estimate_verdict verdicts[] = {
        ESTIMATE_WARMUP, ESTIMATE_STEADY, ESTIMATE_WARMUP, ESTIMATE_DRIFT, ESTIMATE_VERDICT_COUNT};
    struct estimate e = {.version = ESTIMATE_VERSION, .verdict = verdicts[shape]};
    json_t *record = NULL, *json;

    if (verdicts[shape] == ESTIMATE_VERDICT_COUNT ||
        store_cell_json(store, cell, &record, NULL) != STATUS_OK)
        return NULL;
    e.trials = calloc(json_array_size(json_object_get(record, "trials")) + 1, sizeof(*e.trials));
    declare_trials(record, shape, verdicts[shape], &e);
    e.sample_count = 3000;
    e.iterations_per_sample = 1;
    e.confidence = 0.95;
    e.ess = 1234.5;
    e.variance.iteration = 1.6e-5;
    e.variance.process = 4e-6;
    declare_metrics(shape, &e);
    if (shape == SYNTHETIC_DRIFT) {
        finding_add(&e.findings, FINDING_DRIFT, 1, NULL, (double[]){0.095});
        finding_add(&e.findings, FINDING_DRIFT, 2, NULL, (double[]){0.11});
    }
    json = estimate_to_json(&e);
    finding_list_finish(&e.findings);
    free(e.trials);
    json_decref(record);
    return json;
}

static enum status add_estimate(struct store *store, const struct synthetic_options *options,
                                enum synthetic_shape shape, int64_t cell, struct error *err)
{
    bool analysed = options->estimates == SYNTHETIC_ANALYSED;
    json_t *json = NULL;
    enum status status = STATUS_OK;

    if (options->estimates == SYNTHETIC_DECLARED)
        json = declared_estimate(store, shape, cell);
    else if (analysed)
        status = analysis_estimate_json(store, cell, INT64_MAX, &json, err);
    if (status == STATUS_NOT_FOUND) /* no trial ended well */
        status = STATUS_OK;
    else if (status == STATUS_OK && json)
        status = store_add_estimate(store, cell, ESTIMATE_VERSION, json, err);
    json_decref(json);
    return status;
}

enum status synthetic_campaign_add(struct store *store, const struct synthetic_options *options,
                                   int64_t *ret_cells, struct error *err)
{
    struct store_cell *cells = calloc(options->cells + 1, sizeof(*cells));
    struct random random;
    int64_t campaign, device;

    if (!cells)
        return STATUS_NO_MEMORY;
    random_init(&random, options->seed, 1);
    TRY(store_batch_begin(store, err));
    TRY(plan(store, options, cells, &campaign, ret_cells, err));
    TRY(synthetic_put_device(store, options, &device, err));
    TRY(store_add_campaign_event(store, campaign, "started", NULL, err));
    for (size_t i = 0; i < options->cells * options->trials; ++i) {
        size_t cell = i % options->cells, number = i / options->cells;

        for (size_t attempt = 0; attempt < 2; ++attempt) {
            TRY(run_attempt(store, options, campaign, device, i + 1, cell, number, attempt, &random,
                            err));
            if (strcmp(outcome((enum synthetic_shape)(cell % SYNTHETIC_SHAPES), number, attempt),
                       "crashed") != 0)
                break;
        }
    }
    for (size_t i = 0; i < options->cells; ++i)
        TRY(add_estimate(store, options, (enum synthetic_shape)(i % SYNTHETIC_SHAPES), ret_cells[i],
                         err));
    TRY(store_add_campaign_event(store, campaign, "finished", "23 of 25 planned trials ended well",
                                 err));
    free(cells);
    return store_batch_end(store, true, err);
}

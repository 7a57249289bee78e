#include "tests/faults/store_scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/evidence/ledger.h"
#include "results/store/store.h"
#include "results/evidence/verify.h"
#include "tests/support/store_fixture.h"

#define SAMPLES 1500
#define SECOND INT64_C(1000000000)

void (*scenario_opened)(void);
int scenario_progress_fd = -1;

static void report_progress(const struct scenario_progress *progress)
{
    if (scenario_progress_fd >= 0 &&
        write(scenario_progress_fd, progress, sizeof(*progress)) != (ssize_t)sizeof(*progress))
        _exit(1);
}

void scenario_progress_add(struct scenario_progress *sum, const struct scenario_progress *part)
{
    sum->campaigns += part->campaigns;
    sum->events += part->events;
    sum->trials += part->trials;
    sum->devices += part->devices;
    sum->environments += part->environments;
    sum->stacks += part->stacks;
    sum->phases += part->phases;
    sum->checks += part->checks;
    sum->samples += part->samples;
    sum->ends += part->ends;
    sum->estimates += part->estimates;
    sum->checkpoints += part->checkpoints;
}

static int64_t sample_at(int64_t trial, size_t i)
{
    return 1000000 + trial * 100 + (int64_t)(i * i % 1009);
}

#define STEP(call, counter)                                                                        \
    do {                                                                                           \
        if (status == STATUS_OK)                                                                   \
            status = (call);                                                                       \
        if (status == STATUS_OK) {                                                                 \
            (counter)++;                                                                           \
            report_progress(progress);                                                             \
        }                                                                                          \
    } while (0)

/* What a trial has is stored with its end. */
#define TAKE(call, counter)                                                                        \
    do {                                                                                           \
        if (status == STATUS_OK)                                                                   \
            status = (call);                                                                       \
        (counter) += status == STATUS_OK;                                                          \
    } while (0)

static enum status add_samples(struct store *store, int64_t trial,
                               struct scenario_progress *progress, struct error *err)
{
    int64_t values[SAMPLES];
    enum status status = STATUS_OK;

    for (size_t i = 0; i < SAMPLES; i++)
        values[i] = sample_at(trial, i);
    for (size_t i = 0; i < SAMPLES && status == STATUS_OK; i += SAMPLES / 3) {
        status = store_add_samples(store, trial, "wall_ns", i, values + i, SAMPLES / 3, err);
        progress->samples += status == STATUS_OK ? SAMPLES / 3 : 0;
    }
    return status;
}

static enum status add_subject(struct store *store, int64_t trial, const json_t *readings,
                               struct scenario_progress *progress, struct error *err)
{
    struct store_device device = {
        .backend = "null", .name = "Null", .simulated = true, .readings = readings};
    struct store_component components[2] = {
        {.path = "/usr/lib/a.so", .kind = "library", .size = 10, .sha256 = {{0x5a}}},
        {.path = "/usr/lib/b.so", .kind = "library", .missing_reason = "deleted"}};
    int64_t id = 0;
    enum status status = store_put_device(store, &device, &id, err);

    TAKE(store_set_trial_device(store, trial, id, err), progress->devices);
    TAKE(store_add_environment(store, trial, "before", readings, err), progress->environments);
    TAKE(store_add_components(store, trial, "window_start", components, 2, err), progress->stacks);
    return status;
}

static enum status run_trial(struct store *store, int64_t campaign, int64_t sequence,
                             const json_t *readings, struct scenario_progress *progress,
                             struct error *err)
{
    struct store_check check = {
        .phase = "verify_before", .output = "a", .metric = "max", .tolerance = 1, .passed = true};
    struct store_trial_end end = {.status = "ok",
                                  .iterations_per_sample = 1,
                                  .samples = SAMPLES,
                                  .max_rss_bytes = -1,
                                  .facts = readings};
    struct scenario_progress part = {0};
    int64_t trial = 0;
    enum status status = store_begin_trial(store, campaign, sequence, 1, &trial, err);

    if (status != STATUS_OK)
        return status;
    progress->trials++;
    report_progress(progress);
    status = add_subject(store, trial, readings, &part, err);
    TAKE(store_add_phase(store, trial, &(struct store_phase){"setup", 0, 10}, err), part.phases);
    TAKE(store_add_check(store, trial, &check, err), part.checks);
    if (status == STATUS_OK)
        status = add_samples(store, trial, &part, err);
    TAKE(store_end_trial(store, trial, &end, err), part.ends);
    if (status == STATUS_OK) {
        scenario_progress_add(progress, &part);
        report_progress(progress);
    }
    return status;
}

static enum status read_back(struct store *store, int64_t cell, int64_t campaign, struct error *err)
{
    struct store_filter filter = {.limit = 10};
    struct store_pending *pending = NULL;
    size_t count;
    json_t *json = NULL;
    enum status status = store_cell_json(store, cell, &json, err);

    json_decref(json);
    json = NULL;
    if (status == STATUS_OK)
        status = store_campaign_json(store, campaign, &json, err);
    json_decref(json);
    json = NULL;
    if (status == STATUS_OK)
        status = store_list_results(store, &filter, &json, err);
    json_decref(json);
    if (status == STATUS_OK)
        status = store_pending_trials(store, campaign, &pending, &count, err);
    free(pending);
    return status;
}

enum status scenario_run(const char *path, unsigned number, struct scenario_progress *progress,
                         struct error *err)
{
    struct store *store = NULL;
    int64_t campaign = 0, cells[FIXTURE_CELLS] = {0};
    json_t *readings = NULL, *estimate = NULL;
    enum status status = store_open(path, STORE_CREATE, SECOND, &store, err);

    if (status != STATUS_OK)
        return status;
    if (scenario_opened)
        scenario_opened();
    readings = json_pack("{s:{s:s, s:s}}", "host.cpu.model", "status", "measured", "value", "x");
    estimate = json_pack("{s:s}", "verdict", "flat");
    if (!readings || !estimate)
        status = error_set(err, STATUS_NO_MEMORY, "out of memory");
    STEP(fixture_add_campaign(store, number, &campaign, cells, err), progress->campaigns);
    STEP(store_add_campaign_event(store, campaign, "started", NULL, err), progress->events);
    STEP(ledger_add_checkpoint(store, "plan", campaign, NULL, NULL, err), progress->checkpoints);
    for (int64_t sequence = 1; sequence <= 2 && status == STATUS_OK; sequence++)
        status = run_trial(store, campaign, sequence, readings, progress, err);
    STEP(store_add_estimate(store, cells[0], 1, estimate, err), progress->estimates);
    STEP(ledger_add_checkpoint(store, "end", campaign, NULL, NULL, err), progress->checkpoints);
    if (status == STATUS_OK)
        status = read_back(store, cells[0], campaign, err);
    json_decref(readings);
    json_decref(estimate);
    store_close(store);
    return status;
}

/* Counts the samples of all trials, each one being what the scenario wrote. */
static long count_samples(struct store *store)
{
    int64_t trials = fixture_ask(store, "SELECT coalesce(max(id), 0) FROM trial");
    long total = 0;

    for (int64_t trial = 1; trial <= trials; trial++) {
        int64_t *values = NULL;
        size_t count = 0;
        struct error err = ERROR_INIT;
        enum status status = store_load_samples(store, trial, "wall_ns", &values, &count, &err);

        if (status != STATUS_OK && status != STATUS_NOT_FOUND)
            return -1;
        for (size_t i = 0; i < count; i++) {
            if (values[i] != sample_at(trial, i))
                total = -1000000000;
        }
        free(values);
        total += (long)count;
    }
    return total;
}

struct verdict {
    char *message;
    size_t size;
};

static void found(void *context, const struct verify_finding *finding)
{
    const struct verdict *verdict = context;

    if (finding->level == VERIFY_WRONG && !fixture_explains(finding))
        snprintf(verdict->message, verdict->size, "verify: %s: %s %s: %.300s",
                 verify_check_name(finding->check), finding->table ? finding->table : "",
                 finding->key ? finding->key : "", finding->message);
}

/* What was committed is complete: every row in the ledger, no leaf without a row. */
static void verify_it(const char *path, char *message, size_t size)
{
    struct verdict verdict = {message, size};
    /* The scenario's estimate is made up. */
    const struct verify_options options = {
        .threads = 1, .skip_estimates = true, .context = &verdict, .found = found};
    struct verify_summary summary;
    struct error err = ERROR_INIT;

    if (verify_file(path, &options, &summary, &err) != STATUS_OK)
        snprintf(message, size, "verify: %.400s", err.message);
}

const char *scenario_check(const char *path, const struct scenario_progress *progress)
{
    const struct {
        const char *table;
        long least;
    } counts[] = {
        {"campaign", progress->campaigns},
        {"campaign_event", progress->events},
        {"trial", progress->trials},
        {"trial_device", progress->devices},
        {"environment", progress->environments},
        {"trial_stack", progress->stacks},
        {"phase", progress->phases},
        {"verification", progress->checks},
        {"trial_end", progress->ends},
        {"estimate", progress->estimates},
        {"checkpoint", progress->checkpoints},
    };
    static char message[512];
    static unsigned checks;
    struct store *store = NULL;
    struct error err = ERROR_INIT;
    long samples;

    message[0] = '\0';
    if (store_open(path, STORE_CREATE, SECOND, &store, &err) != STATUS_OK) {
        snprintf(message, sizeof(message), "it does not open: %.400s", err.message);
        return message;
    }
    if (strcmp(fixture_soundness(store), "ok") != 0)
        snprintf(message, sizeof(message), "%s", fixture_soundness(store));
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        char sql[64];

        snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", counts[i].table);
        if (fixture_ask(store, sql) < counts[i].least)
            snprintf(message, sizeof(message), "%s has lost rows: %ld of %ld", counts[i].table,
                     (long)fixture_ask(store, sql), counts[i].least);
    }
    samples = count_samples(store);
    if (samples < progress->samples)
        snprintf(message, sizeof(message), "samples: %ld of %ld", samples, progress->samples);
    if (fixture_ask(store, "SELECT count(*) FROM campaign g WHERE (SELECT count(*) FROM"
                           " planned_trial p WHERE p.campaign = g.id) <> 6") != 0)
        snprintf(message, sizeof(message), "a campaign is there without its whole plan");
    store_close(store);
    /* It takes longer than all before it, and some callers check a thousand points. */
    if (checks++ % 4 == 0)
        verify_it(path, message, sizeof(message));
    return message[0] ? message : NULL;
}

#include "results/analysis/analysis.h"
#include "results/analysis/contention.h"
#include "results/store/foreign_worker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/random.h"
#include "protocols/estimate.h"
#include "protocols/protocol.h"
#include "tests/support/store_fixture.h"
#include "tests/support/unit.h"

#define SAMPLES 400
#define TRIALS 3
#define BYTES 3000000

/* A campaign of one cell under the protocol, which is returned. */
static int64_t cell_under(struct store *store, struct protocol *protocol)
{
    static const uint32_t order[TRIALS] = {0, 0, 0};
    struct error err = ERROR_INIT;
    json_t *plan = json_object();
    struct store_campaign campaign = {.plan = plan, .command = "", .tool_version = ""};
    struct store_cell cell = {.ordinal = 1,
                              .workload_name = "triad",
                              .protocol_name = "quick",
                              .kind = "memory_bound",
                              .work.precision = "fp32",
                              .work.scenario = "single_stream",
                              .work.implementation = "portable",
                              .work.batch = 1,
                              .backend = "null",
                              .device_spec = "null:0",
                              .cost.bytes = BYTES,
                              .cost.bytes_formula = "3*n",
                              .cost.headline = "bytes",
                              .trials = TRIALS};
    int64_t campaign_id, cell_id = 0;

    assert_ok(fixture_put_json(store, protocol->json, &campaign.protocol, &err), err);
    assert_true(digest_equal(&campaign.protocol, &protocol->digest));
    protocol_finish(protocol);
    cell.workload = cell.protocol = campaign.protocol;
    fixture_uid(1, campaign.uid);
    assert_ok(
        store_add_campaign(store, &campaign, &cell, 1, order, TRIALS, &campaign_id, &cell_id, &err),
        err);
    json_decref(plan);
    return cell_id;
}

/* Under protocol quick. */
static int64_t cell_of(struct store *store)
{
    struct error err = ERROR_INIT;
    struct protocol protocol;

    assert_ok(protocol_find("quick", &protocol, &err), err);
    return cell_under(store, &protocol);
}

/* Under one that is like it and compares by medians. */
static int64_t cell_by_medians(struct store *store)
{
    struct error err = ERROR_INIT;
    struct protocol quick, protocol;
    json_t *json;

    assert_ok(protocol_find("quick", &quick, &err), err);
    json = json_deep_copy(quick.json);
    assert_int_equal(
        json_object_set_new(json_object_get(json, "analysis"), "compare_by", json_string("median")),
        0);
    assert_ok(protocol_from_json(json, &protocol, &err), err);
    json_decref(json);
    protocol_finish(&quick);
    return cell_under(store, &protocol);
}

/* Samples of `iterations` iterations that take 10.25 ns each, give or take 2 %. */
static void make_samples(int64_t sequence, int64_t iterations, int64_t *ret)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        double noise = 0.04 * (random_unit(random_at(9, (uint64_t)sequence, i)) - 0.5);

        ret[i] = llround(10.25 * (double)iterations * (1 + noise));
    }
}

static void end_trial(struct store *store, int64_t trial, const char *how, int64_t iterations,
                      int64_t window_first)
{
    struct error err = ERROR_INIT;
    struct store_trial_end end = {.status = how,
                                  .iterations_per_sample = iterations,
                                  .window_first = window_first,
                                  .samples = SAMPLES};

    assert_ok(store_end_trial(store, trial, &end, &err), err);
}

static int64_t begin_trial(struct store *store, int64_t sequence, const int64_t *values)
{
    struct error err = ERROR_INIT;
    int64_t trial = 0;

    assert_ok(store_begin_trial(store, 1, sequence, 0, &trial, &err), err);
    assert_ok(store_add_samples(store, trial, "wall_ns", 0, values, SAMPLES, &err), err);
    return trial;
}

static int64_t run_samples(struct store *store, int64_t sequence, int64_t iterations,
                           const int64_t *values, const char *how)
{
    const int64_t trial = begin_trial(store, sequence, values);

    end_trial(store, trial, how, iterations, 20);
    return trial;
}

static int64_t run_trial(struct store *store, int64_t sequence, int64_t iterations, const char *how)
{
    int64_t values[SAMPLES];

    make_samples(sequence, iterations, values);
    return run_samples(store, sequence, iterations, values, how);
}

static double number(const json_t *json, const char *metric, const char *key)
{
    const json_t *value =
        json_object_get(json_object_get(json_object_get(json, "metrics"), metric), key);

    assert_true(json_is_number(value));
    return json_number_value(value);
}

TEST_WITH(it_is_the_engines_estimate, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    int64_t cell = cell_of(fixture->store), values[TRIALS][SAMPLES];
    struct estimate_series series[TRIALS];
    struct protocol protocol;
    struct estimate *estimate, *stored = NULL;
    const struct metric_value *engine, *time, *rate;

    for (int64_t i = 0; i < TRIALS; i++) {
        run_trial(fixture->store, i + 1, 1000, "ok");
        make_samples(i + 1, 1000, values[i]);
        series[i] = (struct estimate_series){values[i], SAMPLES, 20, 0};
    }
    assert_ok(protocol_find("quick", &protocol, &err), err);
    assert_ok(estimate_cell(series, TRIALS, &protocol.estimate, &estimate, &err), err);
    assert_ok(analysis_estimate(fixture->store, cell, INT64_MAX, &stored, &err), err);
    /* All that has no unit of time is the same; times are divided by the iterations. */
    assert_int_equal(stored->verdict, estimate->verdict);
    assert_true(stored->ess == estimate->ess);
    assert_true(stored->variance.process == estimate->variance.process);
    /* The last finding is that percentiles are of blocks, not of iterations. */
    assert_int_equal(stored->findings.count, estimate->findings.count + 1);
    assert_int_equal(stored->findings.items[estimate->findings.count].code, FINDING_BLOCKS);
    assert_true(stored->findings.items[estimate->findings.count].numbers[0] == 1000);
    engine = &estimate->metrics[METRIC_ITERATION_TIME];
    time = &stored->metrics[METRIC_ITERATION_TIME];
    assert_true(time->value == engine->value / 1000);
    assert_true(time->lo == engine->lo / 1000);
    assert_true(time->hi == engine->hi / 1000);
    assert_true(fabs(time->value - 10.25) < 0.05);
    /* The bounds of a rate are those of the time, exchanged. */
    rate = &stored->metrics[METRIC_BYTE_RATE];
    assert_true(rate->lo == BYTES * 1e9 / time->hi && rate->hi == BYTES * 1e9 / time->lo);
    assert_string_equal(rate->unit, "B/s");
    assert_int_equal(stored->headline, METRIC_BYTE_RATE);
    assert_false(stored->metrics[METRIC_OP_RATE].present);
    assert_false(stored->metrics[METRIC_ITEM_RATE].present);
    assert_int_equal(stored->trial_count, TRIALS);
    assert_int_equal(stored->trials[TRIALS - 1].number, TRIALS);
    estimate_destroy(stored);
    estimate_destroy(estimate);
    protocol_finish(&protocol);
}

TEST(same_rows_same_bytes)
{
    struct error err = ERROR_INIT;
    char *dumps[3] = {NULL};

    for (int i = 0; i < 3; i++) {
        struct fixture *fixture;
        json_t *json = NULL, *trial;
        int64_t cell;
        size_t k;

        assert_int_equal(fixture_open(state), 0);
        fixture = *state;
        cell = cell_of(fixture->store);
        /* Not in the order of the plan. */
        for (int64_t n = TRIALS; n >= 1; n--)
            run_trial(fixture->store, i == 2 ? TRIALS + 1 - n : n, 7, "ok");
        assert_ok(analysis_estimate_json(fixture->store, cell, INT64_MAX, &json, &err), err);
        json_array_foreach(json_object_get(json, "trials"), k, trial)
            json_object_del(trial, "sequence");
        assert_ok(canonical_dump(json, &dumps[i], &err), err);
        json_decref(json);
        fixture_remove(state);
    }
    assert_string_equal(dumps[0], dumps[1]);
    assert_string_equal(dumps[0], dumps[2]);
    for (int i = 0; i < 3; i++)
        free(dumps[i]);
}

TEST_WITH(blocks_of_different_length, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    int64_t cell = cell_of(fixture->store);
    json_t *json = NULL;

    run_trial(fixture->store, 1, 1000, "ok");
    run_trial(fixture->store, 2, 200, "ok");
    run_trial(fixture->store, 3, 5000, "ok");
    assert_ok(analysis_estimate_json(fixture->store, cell, INT64_MAX, &json, &err), err);
    assert_true(fabs(number(json, "iteration_time", "value") - 10.25) < 0.05);
    assert_int_equal(json_integer_value(json_object_get(json, "iterations_per_sample")), 5000);
    json_decref(json);
}

/* The median of two states is one or the other, so it is not compared; their mean is work / time.
 */
TEST_WITH(medians_of_two_states, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    int64_t cell = cell_by_medians(fixture->store), values[SAMPLES];
    json_t *json = NULL, *trials, *first, *second;

    run_trial(fixture->store, 1, 1000, "ok");
    make_samples(2, 1000, values);
    for (size_t i = 0; i < SAMPLES; i++)
        values[i] += i / 20 % 2 ? values[i] / 5 : 0;
    run_samples(fixture->store, 2, 1000, values, "ok");
    assert_ok(analysis_estimate_json(fixture->store, cell, INT64_MAX, &json, &err), err);
    assert_string_equal(json_string_value(json_object_get(json, "verdict")), "bimodal");
    trials = json_object_get(json, "trials");
    assert_int_equal(json_array_size(trials), 2);
    first = json_array_get(trials, 0);
    second = json_array_get(trials, 1);
    assert_true(fabs(json_number_value(json_object_get(first, "median_ns")) - 10.25) < 0.05);
    assert_true(json_is_null(json_object_get(second, "median_ns")));
    assert_true(fabs(json_number_value(json_object_get(second, "mean_ns")) - 10.25 * 1.1) < 0.1);
    json_decref(json);
}

TEST_WITH(last_good_attempts_count, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    int64_t cell = cell_of(fixture->store), trial;
    json_t *json = NULL, *trials;

    assert_status(analysis_estimate_json(fixture->store, cell, INT64_MAX, &json, &err),
                  STATUS_NOT_FOUND, err);
    run_trial(fixture->store, 1, 1, "check_failed");
    assert_status(analysis_estimate_json(fixture->store, cell, INT64_MAX, &json, &err),
                  STATUS_NOT_FOUND, err);
    run_trial(fixture->store, 2, 1000, "interrupted");
    run_trial(fixture->store, 2, 1000, "ok");
    /* An ok attempt that was followed by another one does not count. */
    run_trial(fixture->store, 3, 1000, "ok");
    assert_ok(store_begin_trial(fixture->store, 1, 3, 0, &trial, &err), err);
    assert_ok(analysis_estimate_json(fixture->store, cell, INT64_MAX, &json, &err), err);
    trials = json_object_get(json, "trials");
    assert_int_equal(json_array_size(trials), 1);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(trials, 0), "sequence")), 2);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(trials, 0), "number")), 2);
    json_decref(json);
    assert_status(analysis_estimate_json(fixture->store, cell + 1, INT64_MAX, &json, &err),
                  STATUS_NOT_FOUND, err);
}

/* A trial that a foreign worker measured: the path is withheld, its reading's name is there. */
static void run_foreign(struct store *store, int64_t sequence)
{
    json_t *readings =
        json_pack("{s:{s:s, s:n}}", FOREIGN_WORKER_READING, "status", "denied", "value");
    struct error err = ERROR_INIT;
    int64_t values[SAMPLES], trial;

    make_samples(sequence, 1000, values);
    trial = begin_trial(store, sequence, values);
    assert_ok(store_add_environment(store, trial, "host", readings, &err), err);
    end_trial(store, trial, "ok", 1000, 20);
    json_decref(readings);
}

/* The trials of the finding, 0 for the cell: "2 3 ". */
static void foreign_trials(struct store *store, int64_t cell, char ret[32])
{
    struct estimate *estimate = NULL;
    struct error err = ERROR_INIT;
    size_t used = 0;

    ret[0] = '\0';
    assert_ok(analysis_estimate(store, cell, INT64_MAX, &estimate, &err), err);
    for (size_t i = 0; i < estimate->findings.count; i++)
        if (estimate->findings.items[i].code == FINDING_FOREIGN_WORKER)
            used += (size_t)snprintf(ret + used, 32 - used, "%d ",
                                     (int)estimate->findings.items[i].trial);
    estimate_destroy(estimate);
}

TEST_WITH(a_foreign_worker, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    int64_t cell = cell_of(fixture->store);
    char found[32];

    run_foreign(fixture->store, 1);
    foreign_trials(fixture->store, cell, found);
    assert_string_equal(found, "0 ");
    run_trial(fixture->store, 2, 1000, "ok");
    run_foreign(fixture->store, 3);
    foreign_trials(fixture->store, cell, found);
    assert_string_equal(found, "1 3 ");
    /* Attempts that do not count are not told of. */
    run_trial(fixture->store, 1, 1000, "ok");
    run_trial(fixture->store, 3, 1000, "ok");
    foreign_trials(fixture->store, cell, found);
    assert_string_equal(found, "");
}

/* A time whose interval reaches down to 0 gives a rate without an upper bound, not no estimate. */
TEST_WITH(a_time_that_may_be_nothing, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    int64_t values[SAMPLES], cell = cell_of(fixture->store), trial = 0;
    json_t *json = NULL, *rate;

    make_samples(1, 1000, values);
    values[SAMPLES - 1] *= 100000;
    assert_ok(store_begin_trial(fixture->store, 1, 1, 0, &trial, &err), err);
    assert_ok(store_add_samples(fixture->store, trial, "wall_ns", 0, values, SAMPLES, &err), err);
    end_trial(fixture->store, trial, "ok", 1000, 20);
    assert_ok(analysis_estimate_json(fixture->store, cell, INT64_MAX, &json, &err), err);
    assert_true(number(json, "iteration_time", "lo") == 0);
    rate = json_object_get(json_object_get(json, "metrics"), "byte_rate");
    assert_true(number(json, "byte_rate", "value") > 0);
    assert_true(json_is_null(json_object_get(rate, "hi")));
    json_decref(json);
}

TEST_WITH(damage_is_refused, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    int64_t cell = cell_of(fixture->store), trial;
    json_t *json = NULL;

    run_trial(fixture->store, 1, 1000, "ok");
    trial = run_trial(fixture->store, 2, 1000, "ok");
    fixture_tamper(fixture->path, "UPDATE trial_end SET window_first = 400 WHERE trial = 2");
    assert_status(analysis_estimate_json(fixture->store, cell, INT64_MAX, &json, &err),
                  STATUS_CORRUPT, err);
    fixture_tamper(fixture->path, "UPDATE trial_end SET window_first = NULL WHERE trial = 2");
    assert_status(analysis_estimate_json(fixture->store, cell, INT64_MAX, &json, &err),
                  STATUS_CORRUPT, err);
    fixture_tamper(fixture->path, "UPDATE trial_end SET window_first = 0 WHERE trial = 2");
    assert_ok(analysis_estimate_json(fixture->store, cell, INT64_MAX, &json, &err), err);
    json_decref(json);
    fixture_tamper(fixture->path, "UPDATE series SET maximum = maximum + 1 WHERE trial = 2");
    assert_status(analysis_estimate_json(fixture->store, cell, INT64_MAX, &json, &err),
                  STATUS_CORRUPT, err);
    fixture_tamper(fixture->path, "DELETE FROM series WHERE trial = 2");
    assert_status(analysis_estimate_json(fixture->store, cell, INT64_MAX, &json, &err),
                  STATUS_CORRUPT, err);
    assert_int_equal(trial, 2);
    fixture_tamper(fixture->path, "UPDATE content SET body = '{}'");
    assert_status(analysis_estimate_json(fixture->store, cell, INT64_MAX, &json, &err),
                  STATUS_CORRUPT, err);
}

/* The loop's time over the iteration's, of each trial; not where a trial has none. */
TEST_WITH(reference_ratio, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    int64_t cell = cell_of(fixture->store), values[SAMPLES];
    struct estimate *estimate;

    for (int64_t i = 0; i < TRIALS; i++) {
        const struct metric_value *ratio;
        int64_t trial;

        for (size_t k = 0; k < SAMPLES; k++)
            values[k] = k < 20 ? 1 : k % 2 ? -1 : 41000 + 200 * (i - 1);
        assert_ok(store_begin_trial(fixture->store, 1, i + 1, 0, &trial, &err), err);
        assert_ok(
            store_add_samples(fixture->store, trial, "reference_ns", 0, values, SAMPLES, &err),
            err);
        make_samples(i + 1, 1000, values);
        assert_ok(store_add_samples(fixture->store, trial, "wall_ns", 0, values, SAMPLES, &err),
                  err);
        end_trial(fixture->store, trial, "ok", 1000, 20);
        assert_ok(analysis_estimate(fixture->store, cell, INT64_MAX, &estimate, &err), err);
        ratio = &estimate->metrics[METRIC_REFERENCE_RATIO];
        assert_true(ratio->has_value && fabs(ratio->value - 4000) < 40);
        assert_int_equal(ratio->has_interval, i > 0);
        assert_true(i == 0 || (ratio->lo < ratio->value && ratio->value < ratio->hi));
        estimate_destroy(estimate);
    }
    fixture_tamper(fixture->path, "DELETE FROM series WHERE trial = 2 AND name = 'reference_ns'");
    assert_ok(analysis_estimate(fixture->store, cell, INT64_MAX, &estimate, &err), err);
    assert_false(estimate->metrics[METRIC_REFERENCE_RATIO].present);
    estimate_destroy(estimate);
}

/* Two windows of a second: 1.6 and 0.4 cores went to others, 0.1 to the hypervisor. */
TEST_WITH(contention, fixture_open, fixture_remove)
{
    static const char *const names[] = {"time_ns", "cpu_busy_ms", "worker_cpu_ms", "cpu_steal_ms"};
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    struct contention contention;
    json_t *channels = json_array();

    cell_of(fixture->store);
    assert_ok(contention_of_campaign(fixture->store, 1, &contention, &err), err);
    assert_int_equal(contention.windows, 0);
    for (size_t i = 1; i < 4; i++)
        json_array_append_new(channels,
                              json_pack("{s:s, s:s}", "name", names[i], "kind", "counter"));
    for (int64_t i = 0; i < 3; i++) {
        /* The third has no telemetry. */
        const int64_t series[][3] = {{0, 1000000000, 2000000000},
                                     {5000, 7000, i == 0 ? 9000 : 7800},
                                     {100, 300, 700},
                                     {40, 40, 140}};
        const struct store_telemetry telemetry = {.part = "host",
                                                  .status = "ok",
                                                  .channels = channels,
                                                  .interval_ns = 1000000000,
                                                  .ticks = 3,
                                                  .cpu_ns = -1,
                                                  .reading_ns = -1};
        int64_t values[SAMPLES], trial;

        make_samples(i + 1, 1000, values);
        trial = begin_trial(fixture->store, i + 1, values);
        assert_ok(store_add_phase(fixture->store, trial,
                                  &(struct store_phase){"window", 1000000000, 2000000000}, &err),
                  err);
        if (i < 2)
            assert_ok(store_add_telemetry(fixture->store, trial, &telemetry, &err), err);
        for (size_t k = 0; i < 2 && k < 4; k++) {
            char name[64];

            snprintf(name, sizeof(name), "telemetry:host.%s", names[k]);
            assert_ok(store_add_samples(fixture->store, trial, name, 0, series[k], 3, &err), err);
        }
        end_trial(fixture->store, trial, "ok", 1000, 20);
    }
    json_decref(channels);
    assert_ok(contention_of_campaign(fixture->store, 1, &contention, &err), err);
    assert_int_equal(contention.windows, 2);
    assert_true(fabs(contention.seconds - 2) < 1e-9);
    assert_true(fabs(contention.others_cores - 1.0) < 1e-9);
    assert_true(fabs(contention.worker_cores - 0.4) < 1e-9);
    assert_true(fabs(contention.steal_cores - 0.1) < 1e-9);
    assert_int_equal(contention.cores, 0); /* unknown for this trial */
}

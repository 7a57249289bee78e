#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/cli/commands.h"
#include "harness/cli/interrupt.h"
#include "harness/cli/output.h"
#include "harness/cli/pair_request.h"
#include "harness/cli/signing.h"
#include "harness/cli/with_store.h"
#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/log.h"
#include "harness/runner/campaign.h"
#include "harness/runner/sampler.h"
#include "protocols/comparability.h"
#include "protocols/stats/order.h"
#include "results/analysis/calibration.h"

enum { KEY_COMPARISONS = 0x100 };

#define OVERHEAD_SAMPLES 20000
#define WORKLOADS_MAX 16

/*
 * Median cost of an empty sample: two clock readings and their bookkeeping. Their mean where the
 * clock is coarser than that; it holds every interruption, too.
 */
static double sample_overhead_ns(struct error *err)
{
    struct sampler sampler;
    double *costs = calloc(OVERHEAD_SAMPLES, sizeof(*costs)), cost = NAN;
    int64_t begin, end;
    enum status status =
        costs ? sampler_init(&sampler, OVERHEAD_SAMPLES, err) : error_no_memory(err);

    if (status == STATUS_OK) {
        begin = clock_monotonic_ns();
        while (!sampler_full(&sampler)) {
            sampler_begin(&sampler);
            sampler_end(&sampler);
        }
        end = clock_monotonic_ns();
        for (size_t i = 1; i < OVERHEAD_SAMPLES; i++) /* the first has no gap before it */
            costs[i - 1] = (double)(sampler.wall_ns[i] + sampler.gap_ns[i]);
        cost = order_select(costs, OVERHEAD_SAMPLES - 1, OVERHEAD_SAMPLES / 2);
        if (cost <= 1) /* 1 ns means none (sampler.h) */
            cost = (double)(end - begin) / OVERHEAD_SAMPLES;
        sampler_finish(&sampler);
    }
    free(costs);
    return cost;
}

/* The plan of a workload's comparison with itself. */
static enum status plan_once(const struct pair_request *request, const char *workload,
                             struct plan *ret, struct error *err)
{
    struct plan plan;

    TRY(plan_build_arms(request->plans, 2, &plan, err));
    if (plan.cell_count > 2) {
        const size_t cells = plan.cell_count / 2;

        plan_finish(&plan);
        return error_set(err, STATUS_INVALID,
                         "%s comes to %zu cells, and one is compared with itself: name one "
                         "precision and batch (--precision, --batch)",
                         workload, cells);
    }
    *ret = plan;
    return STATUS_OK;
}

static const char *const *workloads_of(const struct command_line *line, size_t *ret_count)
{
    static const char *const standard[] = {"triad"};

    *ret_count = line->argument_count ? line->argument_count : 1;
    return line->argument_count ? line->arguments : standard;
}

/* Whether each can be compared at all, before the first of them is measured. */
static enum status check_all(const struct command_line *line, struct error *err)
{
    size_t count;
    const char *const *workloads = workloads_of(line, &count);

    for (size_t i = 0; i < count; i++) {
        CLEANUP(pair_request_finish) struct pair_request request = {0};
        CLEANUP(plan_finish) struct plan plan = {0};

        TRY(pair_request_read(line, &workloads[i], 1, &request, err));
        TRY(plan_once(&request, workloads[i], &plan, err));
    }
    return STATUS_OK;
}

/* One comparison of a workload with itself. */
static enum status compare_once(const struct command_line *line, struct store *store,
                                const char *workload, int wake_fd, struct calibration *calibration,
                                bool *ret_interrupted, struct error *err)
{
    struct campaign_options options = {.wake_fd = wake_fd, .quiet = command_has(line, KEY_QUIET)};
    CLEANUP(stored_comparison_finish) struct stored_comparison comparison = {0};
    CLEANUP(pair_request_finish) struct pair_request request = {0};
    CLEANUP(campaign_finish) struct campaign campaign = {0};
    CLEANUP(plan_finish) struct plan plan = {0};
    struct campaign_summary summary = {0};

    TRY(pair_request_read(line, &workload, 1, &request, err));
    TRY(plan_once(&request, workload, &plan, err));
    TRY(campaign_create(store, &plan, line->text, &campaign, err));
    TRY(signing_run(&campaign, &options, &summary, err));
    *ret_interrupted = summary.interrupted;
    if (summary.interrupted)
        return STATUS_OK;
    TRY(stored_comparison_of_pairs(store, campaign.row, 0, &request.compare, &comparison, err));
    return calibration_add(calibration, workload, campaign.uid, &comparison, &request.compare, err);
}

static void measure_clock(struct calibration *ret)
{
    const struct clock_quality quality = clock_measure_quality(100000);

    ret->clock_resolution_ns = quality.resolution_ns;
    ret->clock_read_ns = quality.read_cost_ns;
    ret->sample_overhead_ns = sample_overhead_ns(NULL);
}

/* Why the first that gave no numbers gave none. */
static const char *first_reason(const struct calibration *calibration)
{
    size_t i = 0;

    while (!calibration->rows[i].reason)
        i++;
    return calibration->rows[i].reason;
}

static int show(const struct command_line *line, const struct calibration *calibration,
                json_t *json)
{
    struct text out = TEXT_INIT;

    if (command_has(line, KEY_JSON))
        return output_json(json);
    text_append_format(&out,
                       "Clock: resolution %lld ns, a reading %.0f ns; a sample costs %.0f ns\n"
                       "%zu comparisons of a workload with itself, arms interleaved:\n"
                       "  %zu with an interval that excludes no difference (5 %% are expected)\n"
                       "  %zu called faster or slower\n"
                       "The same trials as if one arm had run first and the other after it:\n"
                       "  %zu with an interval that excludes no difference\n",
                       (long long)calibration->clock_resolution_ns, calibration->clock_read_ns,
                       calibration->sample_overhead_ns, calibration->comparisons,
                       calibration->paired_different, calibration->paired_verdicts,
                       calibration->blocked_different);
    if (calibration->without_numbers > 0)
        text_append_format(&out, "%zu gave no numbers: %s\n", calibration->without_numbers,
                           first_reason(calibration));
    json_decref(json);
    return output_text(&out);
}

static enum status run_all(const struct command_line *line, struct store *store, int64_t count,
                           int wake_fd, struct calibration *calibration, bool *ret_interrupted,
                           struct error *err)
{
    size_t workload_count;
    const char *const *workloads = workloads_of(line, &workload_count);

    for (int64_t n = 0; n < count && !*ret_interrupted; n++)
        for (size_t w = 0; w < workload_count && !*ret_interrupted; w++) {
            if (!command_has(line, KEY_QUIET))
                log_info("comparison %lld of %lld: %s", (long long)n + 1, (long long)count,
                         workloads[w]);
            TRY(compare_once(line, store, workloads[w], wake_fd, calibration, ret_interrupted,
                             err));
        }
    return STATUS_OK;
}

static int calibrate(const struct command_line *line, struct store *store, void *context)
{
    const int64_t *count = context;
    struct calibration calibration = {0};
    struct error err = ERROR_INIT;
    bool interrupted = false;
    int wake_fd = -1, result;
    json_t *json;

    measure_clock(&calibration);
    if (interrupt_open(INTERRUPT_TRIALS, &wake_fd, &err) != STATUS_OK ||
        run_all(line, store, *count, wake_fd, &calibration, &interrupted, &err) != STATUS_OK) {
        result = command_fail(&err);
    } else {
        json = type_to_json(&calibration_type, &calibration);
        if (store_add_comparison(store, "calibration", 0, 0, COMPARISON_VERSION,
                                 interrupted ? "interrupted" : "done", json, &err) != STATUS_OK) {
            json_decref(json);
            result = command_fail(&err);
        } else {
            result = show(line, &calibration, json);
        }
        if (interrupted)
            result = command_interrupted("interrupted; what was finished is kept");
    }
    type_finish(&calibration_type, &calibration);
    return result;
}

static int run(const struct command_line *line)
{
    const char *word = command_value(line, KEY_COMPARISONS);
    struct error err = ERROR_INIT;
    int64_t count = 10;

    if (word && (!text_parse_i64(word, &count) || count < 1)) {
        log_error("--comparisons %s: write a whole number from 1", word);
        return ASSAY_EXIT_USAGE;
    }
    if (check_all(line, &err) != STATUS_OK)
        return command_fail(&err);
    return with_store(line, STORE_CREATE, calibrate, &count);
}

static const struct argp_option options[] = {
    {"comparisons", KEY_COMPARISONS, "N", 0, "comparisons of each workload (default: 10)"},
    PAIR_OPTIONS,
    {0}};

const struct command command_calibrate = {
    .name = "calibrate",
    .arguments = "[WORKLOAD]...",
    .summary = "Compare workloads with themselves: how often does this machine show a difference?",
    .text = "Each comparison is a paired campaign of a against a. Of 40, about 2 must differ by "
            "chance; many more mean that this machine is biased towards one arm. Beside it "
            "stands what the same trials would show if one arm had run after the other. Stored "
            "with the clock's resolution and the cost of a sample.",
    .options = options,
    .groups = GROUP_STORE | GROUP_JSON | GROUP_STACK | GROUP_QUIET,
    .arguments_max = WORKLOADS_MAX,
    .completes = "WORKLOAD|FILE",
    .run = run,
};

#include "harness/runner/campaign.h"

#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/file.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "harness/runner/campaign_choice.h"
#include "harness/runner/campaign_doctor.h"
#include "harness/runner/environment.h"
#include "harness/runner/expected.h"
#include "results/store/lease.h"
#include "harness/runner/maps.h"
#include "harness/runner/progress.h"
#include "harness/runner/quote_take.h"
#include "harness/runner/trial.h"
#include "protocols/same_stack.h"
#include "protocols/serving/declared.h"
#include "results/analysis/serving_rate.h"
#include "results/analysis/serving_trace.h"
#include "results/analysis/analysis.h"
#include "results/evidence/ledger.h"

/* Trials that are still to be run. */
struct pending {
    struct store_pending *trials;
    size_t count;
};

static void pending_finish(struct pending *pending)
{
    free(pending->trials);
}

static struct campaign_cell *find_cell(const struct campaign *campaign, int64_t row)
{
    for (size_t i = 0; i < campaign->cell_count; i++)
        if (campaign->cells[i].row == row)
            return &campaign->cells[i];
    return NULL;
}

/* What a vendor reports of a device is kept once, with the first trial that runs on it now. */
static bool is_first_of_device(const struct campaign *campaign, const struct store_pending *pending,
                               size_t at, const struct campaign_cell *cell)
{
    const json_t *device = json_object_get(cell->message, "device");

    for (size_t i = 0; i < at; i++) {
        const struct campaign_cell *other = find_cell(campaign, pending[i].cell);

        if (other && json_equal(json_object_get(other->message, "device"), device))
            return false;
    }
    return true;
}

/* How long the pending trials will take. */
static enum status expect(const struct campaign *campaign, const struct campaign_options *options,
                          const struct pending *pending, struct expected *expected,
                          struct error *err)
{
    TRY(expected_init(expected, campaign->cell_count, err));
    for (size_t i = 0; i < campaign->cell_count; i++) {
        const struct campaign_cell *cell = &campaign->cells[i];
        size_t trials = 0;

        for (size_t k = 0; k < pending->count; k++)
            trials += pending->trials[k].cell == cell->row;
        TRY(expected_set(expected, i, campaign->store, cell->message, trials,
                         campaign->resumed && cell->chosen, err));
    }
    if (pending->count == 0)
        return STATUS_OK;
    expected->last_round_utc_ns = rounds_due_utc_ns(&campaign->rounds, campaign->rounds.trials);
    expected->before_ns = campaign->doctor_jitter_ns > options->jitter_ns
                              ? campaign->doctor_jitter_ns
                              : options->jitter_ns;
    return STATUS_OK;
}

static void tell_expected(const struct expected *expected)
{
    struct text line;

    text_init(&line);
    expected_append(&line, expected);
    if (text_ok(&line))
        log_info("%s", line.data);
    text_finish(&line);
}

/* Hands what a verified trial of the cell wrote to its next ones, where the protocol says so. */
static enum status take_verified(const struct campaign *campaign, struct campaign_cell *cell,
                                 struct error *err)
{
    json_auto_t *verified = NULL;

    if (campaign->verification == PROTOCOL_VERIFY_EACH_TRIAL ||
        json_object_get(cell->message, "verified"))
        return STATUS_OK;
    TRY(store_cell_verified(campaign->store, cell->row, &verified, err));
    if (verified)
        json_object_set(cell->message, "verified", verified);
    return STATUS_OK;
}

/* What its later trials are compared with, once one is ok: all are to have one stack. */
static enum status find_first(const struct campaign *campaign, struct campaign_cell *cell,
                              struct error *err)
{
    json_auto_t *record = NULL;

    TRY(store_cell_json(campaign->store, cell->row, &record, err));
    cell->first = json_incref(same_stack_first(json_object_get(record, "trials")));
    return STATUS_OK;
}

/* Chooses sizes for the cell's trials, where that is still to be done, and times it. */
static enum status choose(struct campaign *campaign, struct campaign_cell *cell, int wake_fd,
                          struct expected *expected, int64_t *begun_ns, struct error *err)
{
    const bool chosen = cell->chosen;
    const int64_t start_ns = clock_monotonic_ns();
    const enum status status = campaign_choose(campaign, cell, wake_fd, err);
    const int64_t took_ns = clock_monotonic_ns() - start_ns;

    if (!chosen)
        expected_took(expected, (size_t)(cell - campaign->cells), EXPECTED_CHOICE, took_ns);
    *begun_ns += took_ns;
    return status;
}

/*
 * Of a server: which requests come in this trial, and when. Rounds count from 0, and each has every
 * cell once.
 */
static enum status plan_requests(const struct campaign *campaign, struct campaign_cell *cell,
                                 struct schedule *schedule, struct trial_request *request,
                                 struct error *err)
{
    const int64_t round = (request->sequence - 1) / (int64_t)campaign->cell_count;
    const json_t *workload = json_object_get(cell->message, "workload");
    struct protocol protocol;
    struct digest digest;
    struct trace trace;
    char hex[DIGEST_HEX_SIZE];
    double rate;
    enum status status;

    request->schedule = NULL;
    request->capacity = 0;
    status = serving_rate_find(campaign->store, cell->row, &rate, &request->capacity, err);
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK;
    TRY(status);
    TRY(protocol_from_json(json_object_get(cell->message, "protocol"), &protocol, err));
    status = serving_trace_load(campaign->store, workload, &trace, err);
    if (status == STATUS_OK) {
        status = serving_schedule_make(
            workload, &protocol, trace.count > 0 ? &trace : NULL, rate,
            (uint64_t)json_integer_value(json_object_get(cell->message, "seed")), round, schedule,
            err);
        trace_finish(&trace);
    }
    protocol_finish(&protocol);
    TRY(status);
    digest = schedule_digest(schedule);
    request->schedule = schedule;
    if (json_object_set_new(cell->message, "serving",
                            json_pack("{s:I, s:I, s:I, s:s}", "requests",
                                      (json_int_t)schedule->count, "window_ns",
                                      (json_int_t)schedule->window_ns, "round", (json_int_t)round,
                                      "schedule", digest_hex(&digest, hex))) < 0)
        return error_no_memory(err);
    return STATUS_OK;
}

/* A server that does not answer is asked once: the trials that are left would find the same. */
static bool is_unanswered(const struct campaign_cell *cell, const struct trial_outcome *outcome)
{
    return outcome->status == STATUS_UNAVAILABLE &&
           member_in(cell->message, "workload", "endpoint") != NULL;
}

static enum status run_pending(struct campaign *campaign, const struct campaign_options *options,
                               const struct pending *pending, struct trial_request *request,
                               struct expected *expected, struct campaign_summary *summary,
                               struct error *err)
{
    const struct store_pending *trials = pending->trials;
    enum status status = STATUS_OK;

    progress_expect(request->progress, expected_left_ns(expected));
    for (size_t i = 0; i < pending->count && status == STATUS_OK && !summary->interrupted; i++) {
        struct campaign_cell *cell = find_cell(campaign, trials[i].cell);
        struct trial_outcome outcome = {0};
        struct schedule schedule = {0};
        size_t index;
        const int64_t pause_ns = i > 0 ? campaign->cooldown_ns : 0;
        int64_t begun_ns; /* with its pause, and without the time until its round */
        char *note = NULL;

        if (rounds_wait(&campaign->rounds, trials[i].sequence, pause_ns, options->wake_fd,
                        request->progress)) {
            summary->interrupted = true;
            break;
        }
        begun_ns = clock_monotonic_ns() - pause_ns;
        if (!cell) {
            status = error_set(err, STATUS_CORRUPT, "planned trial %lld has no cell",
                               (long long)trials[i].sequence);
            break;
        }
        progress_set(request->progress, cell->label);
        status = choose(campaign, cell, options->wake_fd, expected, &begun_ns, err);
        summary->interrupted = file_wait_readable(options->wake_fd, 0);
        if (status == STATUS_OK && !summary->interrupted)
            status = take_verified(campaign, cell, err);
        if (status != STATUS_OK || summary->interrupted)
            break;
        request->sequence = trials[i].sequence;
        request->message = cell->message;
        request->environment = cell->environment;
        request->first = cell->first;
        request->environment_changes = cell->spec.changes;
        request->root = cell->spec.root;
        request->named = cell->spec.worker;
        request->worker = request->named && request->named->program ? request->named->source_text
                                                                    : campaign->worker;
        request->dump = is_first_of_device(campaign, trials, i, cell);
        status = plan_requests(campaign, cell, &schedule, request, err);
        if (status == STATUS_OK)
            status = trial_run(request, &outcome, err);
        schedule_finish(&schedule);
        if (status == STATUS_OK && outcome.status == STATUS_OK && !cell->first)
            status = find_first(campaign, cell, err);
        if (status != STATUS_OK)
            break;
        summary->done++;
        if (outcome.status == STATUS_OK)
            summary->ok++;
        else if (outcome.status == STATUS_INTERRUPTED)
            summary->interrupted = true;
        else if (outcome.status == STATUS_UNSUPPORTED)
            summary->unsupported++;
        else if (summary->failed++ == 0)
            summary->failure = outcome.status;
        if (outcome.status == STATUS_UNSUPPORTED && !cell->refused)
            note = text_format("%s: unsupported: %s", cell->label, outcome.error.message);
        else if (outcome.status != STATUS_OK && outcome.status != STATUS_UNSUPPORTED)
            note = text_format("%s: trial %lld: %s: %s", cell->label, (long long)trials[i].sequence,
                               status_name(outcome.status), outcome.error.message);
        cell->refused |= outcome.status == STATUS_UNSUPPORTED;
        summary->unanswered = is_unanswered(cell, &outcome) && i + 1 < pending->count;
        summary->interrupted |= summary->unanswered;
        index = (size_t)(cell - campaign->cells);
        expected_took(expected, index, expected_next(expected, index),
                      clock_monotonic_ns() - begun_ns);
        progress_expect(request->progress, expected_left_ns(expected));
        progress_advance(request->progress, note);
        free(note);
    }
    return status;
}

static enum status estimate_cells(struct campaign *campaign, struct error *err)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < campaign->cell_count && status == STATUS_OK; i++) {
        struct error analysis_error = ERROR_INIT;
        json_t *estimate = NULL;

        status = analysis_estimate_json(campaign->store, campaign->cells[i].row, INT64_MAX,
                                        &estimate, &analysis_error);
        if (status == STATUS_NOT_FOUND) {
            status = STATUS_OK; /* no trial of it is ok: there is nothing to estimate */
            continue;
        }
        if (status == STATUS_OK)
            status = store_add_estimate(campaign->store, campaign->cells[i].row, ESTIMATE_VERSION,
                                        estimate, &analysis_error);
        if (status != STATUS_OK && err)
            *err = analysis_error;
        json_decref(estimate);
    }
    return status;
}

/* The fixed readings as each cell's worker has them. */
static enum status read_environments(struct campaign *campaign, struct error *err)
{
    json_auto_t *environment = NULL;

    TRY(environment_read_fixed(&environment, err));

    for (size_t i = 0; i < campaign->cell_count; i++) {
        json_decref(campaign->cells[i].environment);
        campaign->cells[i].environment =
            arm_spec_environment(&campaign->cells[i].spec, environment);
        if (!campaign->cells[i].environment)
            return error_no_memory(err);
    }
    return STATUS_OK;
}

/* A vendor's library or a setting of it is a part of the measurement, as the program is. */
static enum status check_variables(struct campaign *campaign, struct campaign_cell *cell,
                                   struct error *err)
{
    json_auto_t *later = json_pack("{s:{s:O}}", "environment", "host", cell->environment);
    enum status status;

    if (!later)
        return error_no_memory(err);
    TRY(find_first(campaign, cell, err));
    status = cell->first ? same_stack_check(cell->first, later, err) : STATUS_OK;
    if (status != STATUS_OK)
        error_prefix(err, "%s", cell->label);
    return status;
}

enum status campaign_plan(struct campaign *campaign, const struct key *key,
                          struct ledger_checkpoint *ret, struct error *err)
{
    TRY(store_add_campaign_event(campaign->store, campaign->row, "planned", NULL, err));
    TRY(ledger_add_checkpoint(campaign->store, "plan", campaign->row, key, ret, err));
    campaign->planned = true;
    return STATUS_OK;
}

/* Waits for those who are to see the plan. */
static enum status hold(struct campaign *campaign, const struct campaign_options *options,
                        bool *ret_held, struct error *err)
{
    if (options->witnesses && campaign->resumed)
        return error_set(err, STATUS_INVALID,
                         "campaign %.8s was started before: its plan can no longer be witnessed "
                         "before its first trial, so go on without --witness-command",
                         campaign->uid);
    if (options->witnesses && !campaign->planned)
        TRY(campaign_plan(campaign, options->key, NULL, err));
    if (options->witnesses)
        TRY(witness_hold(campaign->store, campaign->row, options->witnesses, options->wake_fd,
                         ret_held, err));
    if (campaign->planned && !*ret_held)
        TRY(witness_clock(campaign->store, campaign->row, options->wake_fd, ret_held, err));
    return STATUS_OK;
}

/* Records that trials begin or go on, and the head before the first of them. */
static enum status begin(struct campaign *campaign, const struct campaign_options *options,
                         struct error *err)
{
    char holder[LEASE_SIZE];

    lease_describe(holder);
    TRY(store_add_campaign_event(campaign->store, campaign->row,
                                 campaign->resumed ? "resumed" : "started", holder, err));
    if (!campaign->planned)
        TRY(ledger_add_checkpoint(campaign->store, campaign->resumed ? "resume" : "plan",
                                  campaign->row, options->key, NULL, err));
    return options->quote_key ? quote_take(campaign->store, campaign->row, options->quote_key, err)
                              : STATUS_OK;
}

/* The head of the end, quoted where that is asked for, and then once more, with the quote below. */
static enum status end(struct campaign *campaign, const struct campaign_options *options,
                       struct ledger_checkpoint *ret, struct error *err)
{
    struct error reason = ERROR_INIT;

    TRY(ledger_add_checkpoint(campaign->store, "end", campaign->row, options->key, ret, err));
    if (!options->quote_key)
        return STATUS_OK;
    if (quote_take(campaign->store, campaign->row, options->quote_key, &reason) != STATUS_OK) {
        if (reason.code != STATUS_UNAVAILABLE)
            return error_set(err, reason.code, "%s", reason.message);
        log_warning("the end is not quoted: %s", reason.message);
    }
    return ledger_add_checkpoint(campaign->store, "end", campaign->row, options->key, ret, err);
}

enum status campaign_run(struct campaign *campaign, const struct campaign_options *options,
                         struct campaign_summary *ret, struct error *err)
{
    struct campaign_summary summary = {0};
    struct progress progress;
    struct maps_cache cache;
    struct trial_request request = {.store = campaign->store,
                                    .campaign = campaign->row,
                                    .silence_ns = campaign->silence_ns,
                                    .telemetry_ns = campaign->telemetry_ns,
                                    .worker = campaign->worker,
                                    .cache = &cache,
                                    .progress = &progress,
                                    .wake_fd = options->wake_fd};
    CLEANUP(pending_finish) struct pending pending = {0};
    CLEANUP(expected_finish) struct expected expected = {0};
    struct ledger_checkpoint head;
    enum status status;

    TRY(store_pending_trials(campaign->store, campaign->row, &pending.trials, &pending.count, err));
    campaign->rounds.cells = campaign->cell_count;
    campaign->rounds.trials = pending.count > 0 ? pending.trials[pending.count - 1].sequence : 0;
    TRY(expect(campaign, options, &pending, &expected, err));
    summary.planned = pending.count;
    json_decref(campaign->expected);
    campaign->expected = expected_json(&expected);
    TRY(hold(campaign, options, &summary.held, err));
    if (summary.held) {
        summary.interrupted = true;
        *ret = summary;
        return STATUS_OK;
    }
    TRY(read_environments(campaign, err));
    for (size_t i = 0; i < campaign->cell_count && campaign->resumed && pending.count > 0; i++)
        TRY(check_variables(campaign, &campaign->cells[i], err));
    maps_cache_init(&cache);
    if (!options->quiet && summary.planned > 0)
        tell_expected(&expected);
    progress_init(&progress, summary.planned, options->quiet);
    status = begin(campaign, options, err);
    if (status == STATUS_OK)
        status = campaign_examine(campaign, options, err);
    if (status == STATUS_OK)
        status = run_pending(campaign, options, &pending, &request, &expected, &summary, err);
    progress_finish(&progress);
    maps_cache_finish(&cache);
    /*
     * Of an interrupted campaign, too: preliminary ones, which say so and are replaced by those of
     * all trials once it has continued.
     */
    TRY(status);
    TRY(estimate_cells(campaign, err));
    TRY(store_add_campaign_event(campaign->store, campaign->row,
                                 summary.interrupted ? "interrupted" : "finished", NULL, err));
    TRY(end(campaign, options, &head, err));
    if (options->witnesses && !summary.interrupted)
        TRY(witness_end(campaign->store, campaign->row, &head, options->witnesses, options->wake_fd,
                        err));
    *ret = summary;
    return STATUS_OK;
}

#include "harness/runner/worker_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "protocols/stats/order.h"

/* Samples are sent between samples, at most this often: sending evicts cache lines. */
#define SEND_INTERVAL_NS ((int64_t)1000000000)
#define READ_BACKS_MAX ((size_t)65536)
#define READ_BACKS_LEAST 8
/* The 10th percentile is sent: a busy machine delays some first read-backs, an early return all. */
#define READ_BACK_OF 10
#define REFERENCE_PART 5 /* a fifth of the measured time is spent in the reference loop */

enum status worker_send_phase(struct worker *worker, const char *name, int64_t begin_ns,
                              struct error *err)
{
    const struct message message = {
        MESSAGE_PHASE,
        .phase = {.name = name, .begin_ns = begin_ns, .end_ns = clock_monotonic_ns()}};

    return worker_link_send(&worker->link, &message, err);
}

/* A buffer some times the last-level cache is written before each sample of a cold protocol. */
static enum status prepare_flush(struct worker *worker, struct error *err)
{
    uint64_t llc = worker->device->info.last_level_cache_bytes;

    if (worker->protocol.cache != PROTOCOL_CACHE_COLD)
        return STATUS_OK;
    if (llc == 0)
        return error_set(err, STATUS_UNSUPPORTED,
                         "the protocol requires a cold cache, and the size of this device's "
                         "last-level cache is not known: use a protocol with `cache: hot`");
    worker->flush_size = llc * (uint64_t)worker->protocol.cold_flush_factor;
    worker->flush_bytes = malloc(worker->flush_size);
    if (!worker->flush_bytes)
        return error_no_memory(err);
    memset(worker->flush_bytes, 0x5a, worker->flush_size);
    return device_buffer_alloc(worker->device, worker->flush_size, BUFFER_READ_WRITE,
                               &worker->flush_buffer, err);
}

static enum status prepare_reference(struct worker *worker, struct error *err)
{
    struct workload_cost cost;

    if (worker->protocol.reference_ns == 0 || worker->server || worker->workload.kind->is_program)
        return STATUS_OK;
    TRY(worker->workload.kind->cost(&worker->work, &cost, err));
    TRY(reference_loop_create(worker->device, &cost, &worker->reference, err));
    if (!worker->reference)
        return STATUS_OK;
    worker->reference_ns = malloc((size_t)worker->protocol.max_samples * sizeof(int64_t));
    if (!worker->reference_ns)
        return error_no_memory(err);
    for (int64_t i = 0; i < worker->protocol.max_samples; i++)
        worker->reference_ns[i] = -1;
    return STATUS_OK;
}

static enum status prepare_read_backs(struct worker *worker, struct error *err)
{
    random_init(&worker->drawn, random_secret(), 0);
    if (!worker->workload.kind->result || worker->server)
        return STATUS_OK;
    worker->read_backs = malloc(READ_BACKS_MAX * sizeof(*worker->read_backs));
    if (!worker->read_backs)
        return error_no_memory(err);
    memset(worker->read_backs, 0, READ_BACKS_MAX * sizeof(*worker->read_backs));
    return STATUS_OK;
}

enum status worker_prepare_series(struct worker *worker, struct error *err)
{
    size_t capacity = (size_t)worker->protocol.max_samples;

    TRY(sampler_init(&worker->sampler, capacity, err));
    if (device_has_events(worker->device) && !worker->server) {
        TRY(device_event_create(worker->device, &worker->start_event, err));
        TRY(device_event_create(worker->device, &worker->end_event, err));
        TRY(device_event_create(worker->device, &worker->first_event, err));
        TRY(device_event_create(worker->device, &worker->last_event, err));
        worker->device_ns = calloc(capacity, sizeof(int64_t));
        if (!worker->device_ns)
            return error_no_memory(err);
    }
    TRY(prepare_reference(worker, err));
    TRY(prepare_read_backs(worker, err));
    return prepare_flush(worker, err);
}

/*
 * A block of iterations, enqueued. A single stream waits for each before the next is asked for: its
 * time is latency; otherwise the caller's one wait at the end makes it throughput.
 */
static enum status run_iterations(struct worker *worker, int64_t iterations, struct error *err)
{
    bool each = worker->work.scenario == SCENARIO_SINGLE_STREAM;

    for (int64_t i = 0; i < iterations; i++) {
        TRY(worker->workload.kind->iterate(worker->instance, err));
        if (each)
            TRY(device_synchronize(worker->device, err));
    }
    return STATUS_OK;
}

/* The work of one sample, between its two clock readings. */
static enum status run_block(struct worker *worker, int64_t iterations, struct error *err)
{
    TRY(run_iterations(worker, iterations, err));
    return device_synchronize(worker->device, err);
}

/* The best of a few blocks; one that is long enough by far, such as a step of seconds, is not
 * repeated. */
static enum status time_block(struct worker *worker, int64_t block, int64_t *ret_ns,
                              struct error *err)
{
    *ret_ns = INT64_MAX;
    for (int i = 0; i < 3; i++) {
        const int64_t start = clock_monotonic_ns();
        int64_t elapsed;

        TRY(run_block(worker, block, err));
        elapsed = clock_monotonic_ns() - start;
        if (elapsed < *ret_ns)
            *ret_ns = elapsed < 1 ? 1 : elapsed;
        if (elapsed > 10 * worker->protocol.min_sample_ns)
            break;
    }
    return STATUS_OK;
}

/*
 * A GPU has nothing to do from a sample's end until the first launch of the next arrives there:
 * some 10 us, a twentieth of a sample of 200 us. What a block takes beyond its iterations follows
 * from two sizes of block, and the block grows until that is at most WAIT_PART of a sample, or a
 * sample WAIT_LONGEST times the protocol's least.
 */
#define WAIT_PART 0.005
#define WAIT_LONGEST 50
static enum status lengthen(struct worker *worker, int64_t *block, struct error *err)
{
    const double longest = (double)WAIT_LONGEST * (double)worker->protocol.min_sample_ns;
    int64_t once, twice;
    double each, wait, wanted;

    TRY(time_block(worker, *block, &once, err));
    if ((double)once * 2 > longest)
        return STATUS_OK;
    TRY(time_block(worker, *block * 2, &twice, err));
    each = (double)(twice - once) / (double)*block;
    wait = 2.0 * (double)once - (double)twice;
    if (each <= 0 || wait <= 0)
        return STATUS_OK;
    wanted = wait / WAIT_PART < longest ? wait / WAIT_PART : longest;
    if (wanted > each * (double)*block)
        *block = (int64_t)(wanted / each) + 1;
    return STATUS_OK;
}

/*
 * Finds how many iterations make a sample of at least min_sample_ns, unless that was chosen before.
 * The block is doubled until it is long enough, then fixed: all samples of the trial have the same
 * number of iterations.
 */
enum status worker_calibrate(struct worker *worker, struct error *err)
{
    const int64_t wanted = worker->protocol.min_sample_ns;
    int64_t begin_ns = clock_monotonic_ns();
    int64_t block = 1;

    if (worker->work.scenario == SCENARIO_SERVER || worker->workload.kind->count)
        worker->block = 1; /* a sample is a step, or what counts itself */
    if (worker->choices || worker->block == 1)
        return worker_send_phase(worker, "calibrate", begin_ns, err); /* the block is given */
    for (;;) {
        int64_t best;

        TRY(time_block(worker, block, &best, err));
        if (best >= wanted || block > (INT64_C(1) << 30))
            break;
        /* Aim a quarter above, so that the fastest sample still is long enough. */
        block = best * 2 > wanted ? block * 2 : block * (wanted + wanted / 4) / best + 1;
    }
    if (worker->device->info.type == DEVICE_GPU && worker->work.scenario != SCENARIO_SINGLE_STREAM)
        TRY(lengthen(worker, &block, err));
    worker->block = block;
    return worker_send_phase(worker, "calibrate", begin_ns, err);
}

static enum status read_stages(struct worker *worker, size_t index, struct error *err)
{
    struct workload_stages stages = {0};

    if (!worker->workload.kind->stages)
        return STATUS_OK;
    TRY(worker->workload.kind->stages(worker->instance, &stages, err));
    for (size_t i = 0; i < stages.count && i < WORKLOAD_STAGES_MAX; i++) {
        if (!worker->stage_ns[i]) {
            worker->stage_ns[i] = calloc((size_t)worker->protocol.max_samples, sizeof(int64_t));
            if (!worker->stage_ns[i])
                return error_no_memory(err);
            snprintf(worker->stage_series[i], MESSAGE_NAME_MAX, "stage:%s", stages.names[i]);
            worker->stage_count = i + 1;
        }
        worker->stage_ns[i][index] = stages.ns[i] < 0 ? -1 : stages.ns[i];
    }
    return STATUS_OK;
}

/*
 * Passes of the reference loop before a sample that has none, once the interval is over: as many as
 * take a fixed part of the time since the last ones, so that long samples get more of them. Kept is
 * the mean time of one.
 */
static enum status run_reference(struct worker *worker, size_t index, struct error *err)
{
    const int64_t begin_ns = clock_monotonic_ns();
    const int64_t since_ns = begin_ns - worker->reference_end_ns;
    int64_t now_ns = begin_ns, passes = 0;

    if (!worker->reference || worker->reference_ns[index] >= 0 ||
        (index > 0 && since_ns < worker->protocol.reference_ns))
        return STATUS_OK;
    do {
        TRY(reference_loop_run(worker->reference, err));
        now_ns = clock_monotonic_ns();
        passes++;
    } while (index > 0 && now_ns - begin_ns < since_ns / REFERENCE_PART);
    worker->reference_ns[index] = (now_ns - begin_ns) / passes;
    worker->reference_end_ns = now_ns;
    worker->aside_ns += now_ns - begin_ns;
    return STATUS_OK;
}

/*
 * After one of how many samples: so many that it takes about a thousandth of the time, but for the
 * first of them, so that short windows have some.
 */
static uint64_t read_back_one_in(const struct worker *worker)
{
    const struct sampler *sampler = &worker->sampler;
    const size_t last = sampler->count - 1;
    const int64_t since_ns = sampler->wall_ns[last] + sampler->gap_ns[last];

    if (since_ns >= 20000000)
        return 1;
    if (worker->read_back_count < 2 * READ_BACKS_LEAST)
        return 2;
    return since_ns >= 2000000 ? 8 : 64;
}

/* Reads a byte of the result, for which the device's work has to be over. */
static enum status read_byte(struct worker *worker, int64_t *ret_ns, struct error *err)
{
    const int64_t begin_ns = clock_monotonic_ns();
    unsigned char byte;

    TRY(device_download(worker->workload.kind->result(worker->instance), 0, &byte, sizeof(byte),
                        err));
    *ret_ns = clock_monotonic_ns() - begin_ns;
    return STATUS_OK;
}

/*
 * Whether the next sample of the window has a byte read back before it ends: a stack whose wait
 * returns early then waits in the sample. As long as it adds at most a WITHIN_PART-th to the rate,
 * by the time of the latest second read, which waits for no work (on PoCL a first one takes about
 * twice as long); and not where it made the sample longer by more than a WITHIN_MOST-th, which
 * percentiles would show.
 */
#define WITHIN_PART 1000
#define WITHIN_MOST 100
static bool draw_within(struct worker *worker)
{
    const struct sampler *sampler = &worker->sampler;
    const int64_t spent_ns = worker->within_ns * WITHIN_PART;

    if (worker->window_first < 0 || worker->read_ns == 0 || spent_ns > worker->within_of_ns ||
        worker->read_ns * WITHIN_MOST > sampler->wall_ns[sampler->count - 1])
        return false;
    return 2 * spent_ns <= worker->within_of_ns || random_next_below(&worker->drawn, 2) == 0;
}

/* As the sample's last part; `ret_ns`: what it took. */
static enum status read_within(struct worker *worker, int64_t *ret_ns, struct error *err)
{
    worker->within_count++;
    worker->within_ns += worker->read_ns;
    return read_byte(worker, ret_ns, err);
}

/*
 * Reads a byte of the result back after drawn samples, which the stack cannot know: where the wait
 * at the sample's end was none, this waits, and a second one right behind it does not. What both
 * have to wait for, as for a processor on a busy machine, is no sign of anything. The first may be
 * part of the sample, where it took `within_ns` (else -1); the others are in no sample, so that
 * they move neither rate nor percentile.
 */
static enum status read_back(struct worker *worker, int64_t within_ns, struct error *err)
{
    int64_t first_ns = within_ns, second_ns, late_ns;

    if (!worker->read_backs || worker->read_back_count == READ_BACKS_MAX ||
        random_next_below(&worker->drawn, read_back_one_in(worker)) != 0)
        return STATUS_OK;
    if (within_ns < 0)
        TRY(read_byte(worker, &first_ns, err));
    TRY(read_byte(worker, &second_ns, err));
    late_ns = first_ns > second_ns ? first_ns - second_ns : 0;
    worker->read_ns = second_ns;
    worker->read_backs[worker->read_back_count++] = late_ns;
    /* By how much the first was late may be work of the sample: that stays a gap. */
    worker->read_back_spent_ns = second_ns + (within_ns < 0 ? first_ns - late_ns : 0);
    return STATUS_OK;
}

/* What the latest sample counts itself, read beside it. */
static enum status take_count(struct worker *worker, size_t index, struct error *err)
{
    const struct workload_kind *kind = worker->workload.kind;
    const int64_t begin_ns = clock_monotonic_ns();
    double value;

    if (!kind->count)
        return STATUS_OK;
    TRY(kind->count(worker->instance, &value, err));
    if (!isnan(value) && !worker->counted)
        worker->counted = calloc((size_t)worker->protocol.max_samples, sizeof(int64_t));
    if (!isnan(value) && !worker->counted)
        return error_no_memory(err);
    if (!isnan(value))
        worker->counted[index] = counted_to_sample(value);
    worker->read_back_spent_ns += clock_monotonic_ns() - begin_ns;
    return STATUS_OK;
}

static enum status take_sample(struct worker *worker, struct error *err)
{
    size_t index = worker->sampler.count;
    int64_t within_ns = -1;
    bool within;

    TRY(run_reference(worker, index, err));
    if (worker->flush_buffer) {
        TRY(device_upload(worker->flush_buffer, 0, worker->flush_bytes, worker->flush_size, err));
    }
    worker->aside_ns += worker->read_back_spent_ns; /* of the sample before: it is between two */
    worker->read_back_spent_ns = 0;
    within = draw_within(worker);
    TRY(worker_change_inputs(worker, err));
    sampler_begin(&worker->sampler);
    if (worker->device_ns)
        TRY(device_event_record(worker->device, worker->start_event, err));
    TRY(run_iterations(worker, worker->block, err));
    if (worker->device_ns)
        TRY(device_event_record(worker->device, worker->end_event, err));
    TRY(device_synchronize(worker->device, err));
    if (within)
        TRY(read_within(worker, &within_ns, err));
    worker->within_of_ns += sampler_end(&worker->sampler);
    TRY(read_back(worker, within_ns, err));
    TRY(worker_check_changed(worker, err));
    if (worker->device_ns) {
        int64_t elapsed_ns = -1;

        TRY(device_event_elapsed_ns(worker->device, worker->start_event, worker->end_event,
                                    &elapsed_ns, err));
        worker->device_ns[index] = elapsed_ns;
    }
    TRY(take_count(worker, index, err));
    return read_stages(worker, index, err);
}

enum status worker_send_samples(struct worker *worker, struct error *err)
{
    size_t count = worker->sampler.count;
    const size_t sent = worker->sent;
    struct worker_link *link = &worker->link;

    TRY(worker_link_send_samples(link, "wall_ns", worker->sampler.wall_ns, sent, count, err));
    TRY(worker_link_send_samples(link, "gap_ns", worker->sampler.gap_ns, sent, count, err));
    if (worker->device_ns)
        TRY(worker_link_send_samples(link, "device_ns", worker->device_ns, sent, count, err));
    if (worker->reference_ns)
        TRY(worker_link_send_samples(link, "reference_ns", worker->reference_ns, sent, count, err));
    if (worker->counted)
        TRY(worker_link_send_samples(link, COUNTED_SERIES, worker->counted, sent, count, err));
    for (size_t i = 0; i < worker->step_count; i++)
        TRY(worker_link_send_samples(link, worker->steps[i].name, worker->steps[i].values, sent,
                                     count, err));
    for (size_t i = 0; i < worker->stage_count; i++)
        TRY(worker_link_send_samples(link, worker->stage_series[i], worker->stage_ns[i], sent,
                                     count, err));
    worker->sent = count;
    worker->last_send_ns = clock_monotonic_ns();
    return STATUS_OK;
}

enum status worker_spot_checks(struct worker *worker,
                               enum status (*check)(struct worker *, const struct message *,
                                                    struct error *),
                               struct error *err)
{
    for (;;) {
        CLEANUP(message_finish) struct message message = {0};
        const enum status status = worker_link_hear(&worker->link, false, &message, err);

        if (status == STATUS_TIMEOUT)
            return STATUS_OK;
        TRY(status);
        if (message.type != MESSAGE_SPOT_CHECK)
            return error_set(err, STATUS_PROTOCOL, "the harness said go inside the window");
        TRY(check(worker, &message, err));
    }
}

/* Notes the device's time at an end of the window; the queue is empty, so it does so at once. */
static enum status mark_device(struct worker *worker, struct event *event, struct error *err)
{
    if (!event)
        return STATUS_OK;
    TRY(device_event_record(worker->device, event, err));
    return device_synchronize(worker->device, err);
}

/* A clock that has stopped or wrapped around is none. */
static int64_t between(int64_t from, int64_t to)
{
    return from < 0 || to < from ? -1 : to - from;
}

enum status worker_send_window(struct worker *worker, const struct clock_point *begin,
                               const struct clock_point *end, struct error *err)
{
    struct message message = {MESSAGE_PHASE,
                              .phase = {.name = "window",
                                        .begin_ns = begin->monotonic_ns,
                                        .end_ns = end->monotonic_ns,
                                        .clocks = {.raw_ns = between(begin->raw_ns, end->raw_ns),
                                                   .ticks = between(begin->ticks, end->ticks),
                                                   .device_ns = -1}}};
    struct conduct_report *report = &message.phase.report;

    type_unknown(&conduct_report_type, report);
    report->reference_ns = worker->aside_ns;
    report->read_within = worker->read_backs ? worker->within_count : -1;
    report->changed_samples = worker->changed_count;
    if (worker->unchanged_count >= READ_BACKS_LEAST) {
        const size_t kept =
            worker->unchanged_count < UNCHANGED_KEPT ? worker->unchanged_count : UNCHANGED_KEPT;

        order_sort(worker->unchanged_ns, kept);
        report->unchanged_median_ns = worker->unchanged_ns[kept / 2];
    }
    if (worker->read_back_count >= READ_BACKS_LEAST) {
        order_sort(worker->read_backs, worker->read_back_count);
        report->read_back_ns = worker->read_backs[worker->read_back_count / READ_BACK_OF];
    }
    if (worker->last_event &&
        device_event_elapsed_ns(worker->device, worker->first_event, worker->last_event,
                                &message.phase.clocks.device_ns, NULL) != STATUS_OK)
        message.phase.clocks.device_ns = -1;
    return worker_link_send(&worker->link, &message, err);
}

/*
 * Moves both ends of a window to the start of its first sample and the end of its last one. The
 * time in between, in which the worker may have waited for a processor, is taken from the other
 * clocks as CLOCK_MONOTONIC measured it.
 */
static void trim(struct clock_point *begin, struct clock_point *end, int64_t first_ns,
                 int64_t last_ns)
{
    const int64_t before_ns = first_ns - begin->monotonic_ns,
                  after_ns = end->monotonic_ns - last_ns;
    const double rate =
        (double)(end->ticks - begin->ticks) / (double)(end->monotonic_ns - begin->monotonic_ns);

    begin->monotonic_ns = first_ns;
    end->monotonic_ns = last_ns;
    if (begin->raw_ns > 0)
        begin->raw_ns += before_ns;
    if (end->raw_ns > 0)
        end->raw_ns -= after_ns;
    if (begin->ticks > 0)
        begin->ticks += llround(rate * (double)before_ns);
    if (end->ticks > 0)
        end->ticks -= llround(rate * (double)after_ns);
}

/*
 * Takes samples until the limits of the phase are met: both `min_count` samples and `min_ns`, or
 * `max_ns`, or a full sampler.
 */
static enum status sample_phase(struct worker *worker, size_t min_count, int64_t min_ns,
                                int64_t max_ns, struct error *err)
{
    const size_t first = worker->sampler.count;
    const bool is_window = worker->window_first >= 0;
    const int64_t spot_ns = worker->spot_ns;
    struct clock_point begin, end;
    int64_t first_ns = 0;

    /* What precedes the first sample is in no gap, so it must not be in the phase. */
    if (is_window)
        TRY(run_reference(worker, first, err));
    worker->aside_ns = worker->read_back_spent_ns = 0;
    worker->read_back_count = 0;
    worker->within_count = worker->within_ns = worker->within_of_ns = 0;
    /* Waiting for the device may mean waiting for a processor, which is no part of the window. */
    if (is_window)
        TRY(mark_device(worker, worker->first_event, err));
    begin = clock_point_read();
    worker->last_send_ns = worker->window_ns = begin.monotonic_ns;
    while (!sampler_full(&worker->sampler)) {
        /* From the first sample's start to the last one's end: what the samples show of it. */
        int64_t elapsed = first_ns ? worker->sampler.previous_end_ns - first_ns : 0;

        elapsed -= worker->spot_ns - spot_ns;
        if ((worker->sampler.count - first >= min_count && elapsed >= min_ns) || elapsed >= max_ns)
            break;
        /* Between samples alone: after the last one, worker_sync makes the spot checks that are
         * asked for, and what was not sent is. */
        if (first_ns && clock_monotonic_ns() - worker->last_send_ns > SEND_INTERVAL_NS)
            TRY(worker_send_samples(worker, err));
        if (is_window && first_ns)
            TRY(worker_spot_checks(worker, worker_spot_check, err));
        TRY(take_sample(worker, err));
        if (!first_ns) {
            first_ns = worker->sampler.started_ns;
            worker->aside_ns = 0; /* a pass of the loop before it */
        }
    }
    if (!is_window)
        return worker_send_phase(worker, "warmup", begin.monotonic_ns, err);
    end = clock_point_read();
    TRY(mark_device(worker, worker->last_event, err));
    if (first_ns)
        trim(&begin, &end, first_ns, worker->sampler.previous_end_ns);
    return worker_send_window(worker, &begin, &end, err);
}

enum status worker_measure(struct worker *worker, struct error *err)
{
    const struct protocol *protocol = &worker->protocol;
    size_t warmup =
        protocol->warmup_iterations > 0
            ? (size_t)((protocol->warmup_iterations + worker->block - 1) / worker->block)
            : 0;

    TRY(sample_phase(worker, warmup, protocol->warmup_ns, INT64_MAX, err));
    TRY(worker_send_samples(worker, err));
    if (sampler_full(&worker->sampler))
        return error_set(err, STATUS_INVALID,
                         "the warmup alone took all %" PRId64 " samples: raise the protocol's "
                         "max_samples or min_sample",
                         protocol->max_samples);
    TRY(worker_sync(worker, "window_start", err));
    worker->window_first = (int64_t)worker->sampler.count;
    TRY(sample_phase(worker, (size_t)protocol->window_min_samples, protocol->window_ns,
                     protocol->window_max_ns, err));
    TRY(worker_settle_inputs(worker, err));
    TRY(worker_send_samples(worker, err));
    TRY(worker_sync(worker, "window_end", err));
    return worker_send_spots(worker, err);
}

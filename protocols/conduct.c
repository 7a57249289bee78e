#include "protocols/conduct.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/array.h"
#include "protocols/serving/request_log.h"
#include "protocols/stats/order.h"

/* What two processes may differ by in reading the same clock around a message. */
#define CLOCK_SLACK_NS INT64_C(1000000)
/* Of a phase, what may lie before its first and after its last sample, besides a fiftieth of it. */
#define EDGE_NS INT64_C(500000000)
#define EDGE_PART 50
/* How far two clocks may be apart: time servers move one by 0.05 % at most (adjtimex(2)). */
#define CLOCK_RATE_PART 1000
/* More of a window than this between samples is no window of samples. */
#define GAP_PART 2
/* A worker that shares its processors may wait so long between samples, in a short window, too. */
#define GAP_SLACK_NS INT64_C(1000000000)

/* The same of what is in no sample, where the harness noted the time of checks: one wait. */
#define GAP_LEAST_NS 50000000.0

/* A launch by itself, its wait and a byte read back, of which a sample has one in many. */
#define CHECKED_ALONE_NS INT64_C(100000)

/* ---- what the harness saw, as a record ---- */

#define ROW_OF(kind, member, with_flags, says)                                                     \
    MEMBER(RECORD, kind, member, .flags = (with_flags), .help = (says)),
#define ROW(...) ROW_OF(INTEGER, __VA_ARGS__)
#define DURATION(...) ROW_OF(COUNT, __VA_ARGS__)
#define RECORD struct conduct_clocks
static const struct member clocks_members[] = {CONDUCT_CLOCKS_MAP(DURATION)};
#undef RECORD
const struct type conduct_clocks_type = TYPE(struct conduct_clocks, "clocks", clocks_members);

#define RECORD struct conduct_report
static const struct member report_members[] = {CONDUCT_REPORT_MAP(DURATION)};
#undef RECORD
const struct type conduct_report_type = TYPE(struct conduct_report, "a report", report_members);

static const char *const checks_names[] = {NULL, "assay"};

#define RECORD struct conduct_seen
static const struct member seen_members[] = {
    CONDUCT_SEEN_MAP(ROW)
        MEMBER_ALL_OF(conduct_report_type, .offset = offsetof(struct conduct_seen, report)),
    MEMBER(RECORD, RECORD, clocks, .of = &conduct_clocks_type,
           .help = "what else the harness read of the time from `go_ns` to `told_ns`"),
    MEMBER(RECORD, RECORD, worker_clocks, .of = &conduct_clocks_type,
           .help = "what its worker read over its phase `window`"),
    MEMBER(RECORD, CHARS, worker, .size = DIGEST_HEX_SIZE, .flags = MEMBER_WHOLE,
           .help = "the SHA-256 of the program that measured"),
    MEMBER(RECORD, NAME, checks, .flags = MEMBER_OPTIONAL, .names = MEMBER_NAMES(checks_names),
           .help = "`assay` where another program than assay's own measured and handed its outputs "
                   "over, which the plan names"),
};
#undef RECORD
const struct type conduct_seen_type = TYPE(struct conduct_seen, "conduct", seen_members);

static const struct member facts_members[] = {
    {.name = "conduct",
     .kind = MEMBER_RECORD,
     .flags = MEMBER_OPTIONAL,
     .of = &conduct_seen_type,
     .help = "what the harness itself saw of the trial"},
};
const struct type conduct_facts_type = TYPE_OF_MEMBERS(facts_members, .is_open = true);

struct conduct_seen conduct_seen_of(const json_t *facts)
{
    struct conduct_seen seen;

    type_read(&conduct_seen_type, json_object_get(facts, "conduct"), &seen);
    return seen;
}

struct conduct conduct_new(void)
{
    struct conduct conduct = {.warmup.begin_ns = -1, .window.begin_ns = -1};

    type_unknown(&conduct_seen_type, &conduct.seen);
    return conduct;
}

/* ---- the median of samples ---- */

bool conduct_samples_add(struct conduct_samples *samples, const int64_t *ns, size_t count)
{
    if (!ARRAY_ROOM(samples->ns, samples->count, count))
        return false;
    for (size_t i = 0; i < count; i++)
        samples->ns[samples->count++] = (double)ns[i];
    return true;
}

double conduct_samples_median(struct conduct_samples *samples)
{
    return samples->count > 0 ? order_select(samples->ns, samples->count, samples->count / 2) : 0;
}

void conduct_samples_finish(struct conduct_samples *samples)
{
    free(samples->ns);
    memset(samples, 0, sizeof(*samples));
}

/* ---- judging ---- */

struct conduct_part *conduct_part_of(struct conduct *conduct, const char *name)
{
    return !strcmp(name, "warmup")   ? &conduct->warmup
           : !strcmp(name, "window") ? &conduct->window
                                     : NULL;
}

bool conduct_note_check(struct conduct *conduct, const char *phase)
{
    bool *checked = !strcmp(phase, "verify_before")  ? &conduct->checked_before
                    : !strcmp(phase, "spot_check")   ? &conduct->checked_within
                    : !strcmp(phase, "verify_after") ? &conduct->checked_after
                                                     : NULL;

    if (checked)
        *checked = true;
    return checked != NULL;
}

/* `to` - `from`, or the nearest there is: what a file says of times may be any number. */
static int64_t between(int64_t from, int64_t to)
{
    int64_t ret;

    return !__builtin_sub_overflow(to, from, &ret) ? ret : to > from ? INT64_MAX : INT64_MIN;
}

static int64_t span(const struct conduct_part *part)
{
    return part->wall_ns + part->gap_ns;
}

static enum status check_verification(const struct conduct *conduct, struct error *err)
{
    if (conduct->checked_before && conduct->checked_after)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "verification: the worker sent no check in %s",
                     conduct->checked_before ? "verify_after" : "verify_before");
}

static enum status check_spot_checks(const struct protocol *protocol, const struct conduct *conduct,
                                     struct error *err)
{
    if (conduct->is_withheld && protocol->spot_checks_least > 0 && !conduct->checked_within &&
        !conduct->is_endpoint)
        return error_set(err, STATUS_INVALID,
                         "spot_checks.least: there is no check within the window, and the protocol "
                         "demands %" PRId64,
                         protocol->spot_checks_least);
    if (conduct->is_withheld)
        return STATUS_OK;
    if (conduct->seen.spot_checks < protocol->spot_checks_least && !conduct->is_endpoint)
        return error_set(err, STATUS_INVALID,
                         "spot_checks.least: %" PRId64
                         " iterations were checked in the window, and "
                         "the protocol demands %" PRId64,
                         conduct->seen.spot_checks, protocol->spot_checks_least);
    if ((conduct->seen.spot_checks > 0 || conduct->seen.report.changed_samples > 0) &&
        !conduct->checked_within)
        return error_set(err, STATUS_INVALID,
                         "spot_checks: the worker answered %" PRId64 " and sent no check of them",
                         conduct->seen.spot_checks);
    if (conduct->scheduled == 0 && conduct->seen.report.changed_samples > conduct->window.samples)
        return error_set(err, STATUS_INVALID,
                         "spot_checks: %" PRId64 " samples are said to have had changed inputs, "
                         "and the window has %" PRId64,
                         conduct->seen.report.changed_samples, conduct->window.samples);
    return STATUS_OK;
}

double conduct_checked_ratio(int64_t checked_ns, double iteration_ns)
{
    return checked_ns > CHECKED_ALONE_NS && iteration_ns > 0
               ? (double)(checked_ns - CHECKED_ALONE_NS) / iteration_ns
               : 0;
}

/* From so many checks on the shortest is one that nothing delayed. */
#define CHECKED_MANY 8

double conduct_checked_noted(const char *kind, int64_t checks)
{
    static const struct {
        const char
            *kind; /* NULL: any other, of many launches, each of which may be delayed alone */
        double many, few;
    } noted[] = {{"convolution", 5, 20},
                 {"gemm", 5, 20},
                 {"memory_bound", 5, 20},
                 {"training_step", 5, 20},
                 {NULL, 20, CONDUCT_CHECKED_MOST}};
    size_t i = 0;

    while (noted[i].kind && strcmp(noted[i].kind, kind) != 0)
        i++;
    return checks >= CHECKED_MANY ? noted[i].many : noted[i].few;
}

/*
 * An iteration of the window's median sample, or of that of the samples whose inputs were as in the
 * one before, where it is less: a stack that leaves out unchanged work does so there.
 */
static double conduct_iteration_ns(const struct conduct *conduct)
{
    const double all_ns = conduct->window.median_ns,
                 unchanged_ns = (double)conduct->seen.report.unchanged_median_ns;

    return (unchanged_ns >= 0 ? fmin(all_ns, unchanged_ns) : all_ns) /
           (double)conduct->iterations_per_sample;
}

/* A server's steps are of other sizes than what is checked. */
static enum status check_checked_time(const struct conduct *conduct, struct error *err)
{
    const double iteration_ns = conduct_iteration_ns(conduct);
    const double ratio = conduct_checked_ratio(conduct->seen.checked_least_ns, iteration_ns);

    if (conduct->scheduled != 0 || conduct->seen.spot_checks < CONDUCT_CHECKED_LEAST ||
        ratio <= CONDUCT_CHECKED_MOST)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID,
                     "spot_checks.time: the iterations that were checked took %.3g s and more, and "
                     "half of those of the samples %.3g s or less, by a factor of %.0f: the "
                     "samples leave out work",
                     (double)conduct->seen.checked_least_ns / 1e9, iteration_ns / 1e9, ratio);
}

static enum status check_warmup(const struct protocol *protocol, const struct conduct *conduct,
                                struct error *err)
{
    const struct conduct_part *warmup = &conduct->warmup;
    /* Divided, since the product may overflow. */
    const int64_t least = (protocol->warmup_iterations + conduct->iterations_per_sample - 1) /
                          conduct->iterations_per_sample;

    if (warmup->samples < least)
        return error_set(err, STATUS_INVALID,
                         "warmup.iterations: %" PRId64 " samples of %" PRId64 " iterations before "
                         "the window, and the protocol demands %" PRId64 " iterations",
                         warmup->samples, conduct->iterations_per_sample,
                         protocol->warmup_iterations);
    if (span(warmup) < protocol->warmup_ns)
        return error_set(err, STATUS_INVALID,
                         "warmup.time: %.3g s of samples before the window, and the protocol "
                         "demands %.3g s",
                         (double)span(warmup) / 1e9, (double)protocol->warmup_ns / 1e9);
    return STATUS_OK;
}

/* A server idles between requests, so its steps need not fill the window. */
static enum status check_requests(const struct protocol *protocol, const struct conduct *conduct,
                                  struct error *err)
{
    const int64_t wanted = conduct->traced > 0 ? conduct->traced : protocol->serving_requests;

    if (conduct->scheduled != wanted)
        return error_set(err, STATUS_INVALID,
                         "serving.requests: %" PRId64 " requests were scheduled, and the %s "
                         "demands %" PRId64,
                         conduct->scheduled, conduct->traced > 0 ? "trace" : "protocol", wanted);
    if (conduct->request_columns != REQUEST_COLUMNS)
        return error_set(err, STATUS_INVALID,
                         "serving.requests: the log has %" PRId64 " of %d columns with a value for "
                         "each of %" PRId64 " requests",
                         conduct->request_columns, REQUEST_COLUMNS, conduct->scheduled);
    return STATUS_OK;
}

bool conduct_spent(const struct conduct *conduct, struct conduct_spent *ret)
{
    const struct conduct_part *window = &conduct->window;
    const double length = (double)(window->end_ns - window->begin_ns);

    if (conduct->is_withheld || conduct->scheduled != 0 || window->begin_ns < 0 || length <= 0 ||
        conduct->seen.window_checks_ns < 0)
        return false;
    *ret = (struct conduct_spent){.window = length,
                                  .samples = (double)window->wall_ns,
                                  .checks = (double)conduct->seen.window_checks_ns,
                                  .reference = fmax((double)conduct->seen.report.reference_ns, 0)};
    ret->gaps = fmax(length - ret->samples - ret->checks - ret->reference, 0);
    return true;
}

double conduct_gap_share(const struct conduct_spent *spent)
{
    return fmax(spent->gaps - GAP_LEAST_NS, 0) / spent->window;
}

static double gaps_most(const struct protocol *protocol)
{
    return protocol->window_gaps > 0 ? protocol->window_gaps : CONDUCT_GAPS_MOST;
}

static enum status check_gaps(const struct protocol *protocol, const struct conduct *conduct,
                              struct error *err)
{
    const struct conduct_part *window = &conduct->window;
    struct conduct_spent spent;

    if (conduct->is_withheld || protocol->cache != PROTOCOL_CACHE_HOT)
        return STATUS_OK;
    if (conduct_spent(conduct, &spent)) {
        if (spent.samples + spent.checks + spent.reference > spent.window + (double)CLOCK_SLACK_NS)
            return error_set(
                err, STATUS_INVALID,
                "clock.checks: samples, spot checks and reference loop take %.6g s, and "
                "the window took %.6g s",
                (spent.samples + spent.checks + spent.reference) / 1e9, spent.window / 1e9);
        if (conduct_gap_share(&spent) > gaps_most(protocol))
            return error_set(err, STATUS_INVALID,
                             "clock.gaps: %.3g s of the window's %.3g s are in no sample and no "
                             "check, and the protocol allows %.3g %%: work may run there",
                             spent.gaps / 1e9, spent.window / 1e9, 100 * gaps_most(protocol));
        return STATUS_OK;
    }
    if (between(conduct->seen.spot_checks_ns, window->gap_ns) >
        span(window) / GAP_PART + GAP_SLACK_NS)
        return error_set(err, STATUS_INVALID,
                         "clock.gaps: %.3g s of the window's %.3g s lie between samples",
                         (double)window->gap_ns / 1e9, (double)span(window) / 1e9);
    return STATUS_OK;
}

/* What is read back after a sample is there, unless the wait at its end was none. */
static enum status check_read_back(const struct conduct *conduct, struct error *err)
{
    const double late_ns = (double)(conduct->seen.report.read_back_ns - CHECKED_ALONE_NS);
    const double sample_ns = conduct->window.median_ns;

    if (conduct->scheduled == 0 && conduct->seen.report.read_within > conduct->window.samples)
        return error_set(err, STATUS_INVALID,
                         "clock.result: the worker read a byte of the result back in %" PRId64
                         " samples, and the window has %" PRId64,
                         conduct->seen.report.read_within, conduct->window.samples);
    if (conduct->scheduled != 0 || sample_ns <= 0 || late_ns <= CONDUCT_LATE_MOST * sample_ns)
        return STATUS_OK;
    return error_set(
        err, STATUS_INVALID,
        "clock.result: after nine of ten samples, which take %.3g s, reading a byte of the result "
        "took %.3g s or more longer than reading it again: the wait for the device returns early",
        sample_ns / 1e9, (double)conduct->seen.report.read_back_ns / 1e9);
}

static enum status check_window(const struct protocol *protocol, const struct conduct *conduct,
                                struct error *err)
{
    const struct conduct_part *window = &conduct->window;
    const bool full = conduct->warmup.samples + window->samples >= protocol->max_samples;

    if (window->samples < protocol->window_min_samples && !full &&
        span(window) < protocol->window_max_ns)
        return error_set(err, STATUS_INVALID,
                         "window.min_samples: %" PRId64 " samples in the window, and the protocol "
                         "demands %" PRId64,
                         window->samples, protocol->window_min_samples);
    if (span(window) < protocol->window_ns && !full)
        return error_set(err, STATUS_INVALID,
                         "window.time: %.3g s of samples and gaps in the window, and the protocol "
                         "demands %.3g s",
                         (double)span(window) / 1e9, (double)protocol->window_ns / 1e9);
    return check_gaps(protocol, conduct, err);
}

/* The worker's clock against the harness's: both read CLOCK_MONOTONIC of one machine. */
static enum status check_harness_clock(const struct conduct *conduct, struct error *err)
{
    const struct conduct_part *window = &conduct->window;
    const int64_t elapsed = between(conduct->seen.go_ns, conduct->seen.told_ns);

    if (conduct->seen.kernel_ns >= 0) {
        const double apart = fabs((double)elapsed - (double)conduct->seen.kernel_ns);

        if (apart > (double)(elapsed / CLOCK_RATE_PART + CLOCK_SLACK_NS))
            return error_set(
                err, STATUS_INVALID,
                "clock.kernel: the window took %.6g s by this program's clock and %.6g "
                "s by the kernel's: a library changes the time (LD_PRELOAD?)",
                (double)elapsed / 1e9, (double)conduct->seen.kernel_ns / 1e9);
    }
    if (between(window->begin_ns, conduct->seen.go_ns) > CLOCK_SLACK_NS ||
        between(conduct->seen.told_ns, window->end_ns) > CLOCK_SLACK_NS)
        return error_set(
            err, STATUS_INVALID,
            "clock.window: the worker's window is from %.6g to %.6g s of the trial, and "
            "assay let it run from %.6g to %.6g s: the worker's clock is another",
            (double)window->begin_ns / 1e9, (double)window->end_ns / 1e9,
            (double)conduct->seen.go_ns / 1e9, (double)conduct->seen.told_ns / 1e9);
    return STATUS_OK;
}

/* The worker's phase against the samples in it. */
static enum status check_phase(const struct conduct *conduct, struct error *err)
{
    const struct conduct_part *window = &conduct->window;
    const int64_t phase = window->end_ns - window->begin_ns;
    const int64_t edge_ns = conduct->seen.window_checks_ns < 0 ? EDGE_NS : (int64_t)GAP_LEAST_NS;

    if (window->begin_ns < 0)
        return error_set(err, STATUS_INVALID, "clock.window: the worker sent no phase \"window\"");
    if (span(window) > phase + CLOCK_SLACK_NS)
        return error_set(err, STATUS_INVALID,
                         "clock.window: samples and gaps take %.6g s, and the window took %.6g s",
                         (double)span(window) / 1e9, (double)phase / 1e9);
    /* A server may wait long for its first request, and for the last one to be sent. */
    if (conduct->scheduled == 0 && span(window) < phase - phase / EDGE_PART - edge_ns)
        return error_set(err, STATUS_INVALID,
                         "clock.window: samples and gaps fill %.6g s of a window of %.6g s",
                         (double)span(window) / 1e9, (double)phase / 1e9);
    return STATUS_OK;
}

/* Of what clock_monotonic_ns says; `surplus_only`: the other clock may say less. */
static double share_of(int64_t monotonic_ns, double other_ns, bool surplus_only)
{
    const double apart = other_ns - (double)monotonic_ns;
    const double beyond = (surplus_only ? apart : fabs(apart)) - (double)CLOCK_SLACK_NS;

    return other_ns >= 0 && monotonic_ns > 0 && beyond > 0 ? beyond / (double)monotonic_ns : 0;
}

static double ticks_ns(const struct conduct *conduct, int64_t ticks)
{
    return ticks < 0 || conduct->seen.ticks_per_s <= 0
               ? -1
               : (double)ticks * 1e9 / (double)conduct->seen.ticks_per_s;
}

/* The date's advance on CLOCK_MONOTONIC, within the window or from the trial's start to it. */
static double date_share(const struct conduct *conduct, bool within)
{
    const struct conduct_seen *seen = &conduct->seen;
    const int64_t from = within ? seen->go_utc_ns : conduct->started_utc_ns;
    const int64_t to = within ? seen->told_utc_ns : seen->go_utc_ns;
    const int64_t elapsed = within ? between(seen->go_ns, seen->told_ns) : seen->go_ns;
    const double apart = (double)between(from, to) - (double)elapsed;
    const double beyond = fabs(apart) - (double)CLOCK_SLACK_NS;

    return from > 0 && to > 0 && elapsed > 0 && beyond > 0
               ? copysign(beyond / (double)elapsed, apart)
               : 0;
}

double conduct_clock_share(const struct conduct *conduct, enum conduct_clock clock)
{
    const struct conduct_clocks *harness = &conduct->seen.clocks,
                                *worker = &conduct->seen.worker_clocks;
    const int64_t elapsed = between(conduct->seen.go_ns, conduct->seen.told_ns);
    const int64_t phase =
        conduct->window.begin_ns < 0 ? 0 : conduct->window.end_ns - conduct->window.begin_ns;

    switch (clock) {
    case CONDUCT_CLOCK_RAW:
        return fmax(share_of(elapsed, (double)harness->raw_ns, false),
                    share_of(phase, (double)worker->raw_ns, false));
    case CONDUCT_CLOCK_TSC:
        return fmax(share_of(elapsed, ticks_ns(conduct, harness->ticks), false),
                    share_of(phase, ticks_ns(conduct, worker->ticks), false));
    case CONDUCT_CLOCK_DEVICE:
        return fmax(share_of(elapsed, (double)worker->device_ns, true),
                    share_of(conduct->window.wall_ns, (double)conduct->window.device_ns, true));
    case CONDUCT_CLOCK_DATE:
        return fabs(date_share(conduct, true));
    case CONDUCT_CLOCK_COUNT:
        break;
    }
    return 0;
}

static const char *conduct_clock_name(enum conduct_clock clock)
{
    static const char *const names[] = {"raw", "tsc", "device", "date"};

    return names[clock];
}

const char *conduct_clock_words(enum conduct_clock clock)
{
    static const char *const words[] = {"CLOCK_MONOTONIC_RAW", "the processor's counter",
                                        "the device's clock", "the date"};

    return words[clock];
}

/* CLOCK_MONOTONIC against clocks that nobody adjusts, or that another clock drives. */
static enum status check_other_clocks(const struct conduct *conduct, struct error *err)
{
    for (enum conduct_clock i = 0; i < CONDUCT_CLOCK_COUNT; i++) {
        const double share = conduct_clock_share(conduct, i);

        if (i != CONDUCT_CLOCK_DATE && share > CONDUCT_CLOCK_MOST)
            return error_set(err, STATUS_INVALID,
                             "clock.%s: over the window CLOCK_MONOTONIC and %s differ by %.3g %%: "
                             "the machine slept, a time server moved its time, or a program "
                             "changes what clocks say",
                             conduct_clock_name(i), conduct_clock_words(i), 100 * share);
    }
    return STATUS_OK;
}

/* Set once, the date is another in one stretch alone; clocks that are all slowed alike are in each.
 */
static enum status check_date(const struct conduct *conduct, struct error *err)
{
    const double before = date_share(conduct, false), within = date_share(conduct, true);

    if (fmin(fabs(before), fabs(within)) <= CONDUCT_CLOCK_MOST || (before > 0) != (within > 0))
        return STATUS_OK;
    return error_set(
        err, STATUS_INVALID,
        "clock.date: the date and CLOCK_MONOTONIC differ by %+.3g %% before the window "
        "and by %+.3g %% in it: a program or the machine changes what clocks say",
        100 * before, 100 * within);
}

static enum status check_worker(const struct conduct *conduct, struct error *err)
{
    const char *planned = conduct->planned_worker ? conduct->planned_worker : "";

    if (conduct->is_withheld || !planned[0] || !strcmp(planned, conduct->seen.worker))
        return STATUS_OK;
    return error_set(err, STATUS_INVALID,
                     "worker.identity: the plan names the program %.12s... (SHA-256), and %.12s... "
                     "measured",
                     planned,
                     conduct->seen.worker[0] ? conduct->seen.worker : "none that is known");
}

/* What the harness reads of the worker's surroundings is of a process that runs in them. */
static enum status check_surroundings(const struct conduct *conduct, struct error *err)
{
    if (conduct->seen.stopped > 0)
        return error_set(
            err, STATUS_INVALID,
            "worker.stopped: the worker was stopped in the window and let go on (SIGSTOP, "
            "a debugger): find out by whom, and measure again");
    if (conduct->seen.moved > 0)
        return error_set(err, STATUS_INVALID,
                         "worker.cgroup: the worker was in another control group than assay, whose "
                         "limits are those that are recorded: start assay itself in that group");
    return STATUS_OK;
}

enum status conduct_judge(const struct protocol *protocol, const struct conduct *conduct,
                          struct error *err)
{
    TRY(check_worker(conduct, err));
    TRY(check_surroundings(conduct, err));
    TRY(check_verification(conduct, err));
    TRY(check_warmup(protocol, conduct, err));
    TRY(conduct->scheduled != 0 ? check_requests(protocol, conduct, err)
                                : check_window(protocol, conduct, err));
    TRY(check_spot_checks(protocol, conduct, err));
    TRY(check_read_back(conduct, err));
    TRY(check_checked_time(conduct, err));
    if (!conduct->is_withheld && conduct->window.begin_ns >= 0)
        TRY(check_harness_clock(conduct, err));
    TRY(check_phase(conduct, err));
    TRY(check_other_clocks(conduct, err));
    return check_date(conduct, err);
}

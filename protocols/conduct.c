#include "protocols/conduct.h"

#include <inttypes.h>
#include <string.h>

/* What two processes may differ by in reading the same clock around a message. */
#define CLOCK_SLACK_NS INT64_C(1000000)
/* Of a phase, what may lie before its first and after its last sample, besides a fiftieth of it. */
#define EDGE_NS INT64_C(500000000)
#define EDGE_PART 50
/* How far two clocks may be apart: time servers move one by 0.05 % at most (adjtimex(2)). */
#define CLOCK_RATE_PART 1000
/* More of a window than this between samples is no window of samples. */
#define GAP_PART 2

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
    if (conduct->spot_checks < protocol->spot_checks_least)
        return error_set(err, STATUS_INVALID,
                         "spot_checks.least: %" PRId64
                         " iterations were checked in the window, and "
                         "the protocol demands %" PRId64,
                         conduct->spot_checks, protocol->spot_checks_least);
    if (conduct->spot_checks > 0 && !conduct->checked_within)
        return error_set(err, STATUS_INVALID,
                         "spot_checks: the worker answered %" PRId64 " and sent no check of them",
                         conduct->spot_checks);
    return STATUS_OK;
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
    if (protocol->cache == PROTOCOL_CACHE_HOT && span(window) > EDGE_NS &&
        window->gap_ns - conduct->spot_checks_ns > span(window) / GAP_PART)
        return error_set(err, STATUS_INVALID,
                         "clock.gaps: %.3g s of the window's %.3g s lie between samples",
                         (double)window->gap_ns / 1e9, (double)span(window) / 1e9);
    return STATUS_OK;
}

/* The worker's clock against the harness's: both read CLOCK_MONOTONIC of one machine. */
static enum status check_clocks(const struct conduct *conduct, struct error *err)
{
    const struct conduct_part *window = &conduct->window;
    const int64_t elapsed = conduct->told_ns - conduct->go_ns;
    const int64_t phase = window->end_ns - window->begin_ns;

    if (conduct->kernel_ns >= 0) {
        const int64_t apart = elapsed - conduct->kernel_ns;

        if ((apart < 0 ? -apart : apart) > elapsed / CLOCK_RATE_PART + CLOCK_SLACK_NS)
            return error_set(
                err, STATUS_INVALID,
                "clock.kernel: the window took %.6g s by this program's clock and %.6g "
                "s by the kernel's: a library changes the time (LD_PRELOAD?)",
                (double)elapsed / 1e9, (double)conduct->kernel_ns / 1e9);
    }
    if (window->begin_ns < 0)
        return error_set(err, STATUS_INVALID, "clock.window: the worker sent no phase \"window\"");
    if (window->begin_ns < conduct->go_ns - CLOCK_SLACK_NS ||
        window->end_ns > conduct->told_ns + CLOCK_SLACK_NS)
        return error_set(
            err, STATUS_INVALID,
            "clock.window: the worker's window is from %.6g to %.6g s of the trial, and "
            "assay let it run from %.6g to %.6g s: the worker's clock is another",
            (double)window->begin_ns / 1e9, (double)window->end_ns / 1e9,
            (double)conduct->go_ns / 1e9, (double)conduct->told_ns / 1e9);
    if (span(window) > phase + CLOCK_SLACK_NS)
        return error_set(err, STATUS_INVALID,
                         "clock.window: samples and gaps take %.6g s, and the window took %.6g s",
                         (double)span(window) / 1e9, (double)phase / 1e9);
    if (span(window) < phase - phase / EDGE_PART - EDGE_NS)
        return error_set(err, STATUS_INVALID,
                         "clock.window: samples and gaps fill %.6g s of a window of %.6g s",
                         (double)span(window) / 1e9, (double)phase / 1e9);
    return STATUS_OK;
}

enum status conduct_judge(const struct protocol *protocol, const struct conduct *conduct,
                          struct error *err)
{
    enum status status = check_verification(conduct, err);

    if (status == STATUS_OK)
        status = check_warmup(protocol, conduct, err);
    if (status == STATUS_OK)
        status = check_window(protocol, conduct, err);
    if (status == STATUS_OK)
        status = check_spot_checks(protocol, conduct, err);
    return status == STATUS_OK ? check_clocks(conduct, err) : status;
}

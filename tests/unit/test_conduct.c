/* Each clause that a trial can break, one at a time; and what is just within each. */
#include <stddef.h>
#include <string.h>

#include "protocols/conduct.h"
#include "tests/support/unit.h"

#define S INT64_C(1000000000)
#define HEX_64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct protocol protocol = {
    .warmup_iterations = 10,
    .warmup_ns = 3 * S,
    .window_ns = 10 * S,
    .window_min_samples = 100,
    .window_max_ns = 600 * S,
    .max_samples = 1000000,
    .spot_checks = 16,
    .spot_checks_least = 3,
    .spot_checks_ns = S,
};

/* As an honest worker measures it: 1000 samples of 10 ms, with 50 us between them. */
static const struct conduct honest = {
    .started_utc_ns = 1000 * S,
    .warmup = {.samples = 300,
               .wall_ns = 3 * S,
               .gap_ns = 15000000,
               .begin_ns = 2 * S,
               .end_ns = 5 * S + 16000000},
    .window = {.samples = 1000,
               .wall_ns = 10 * S,
               .median_ns = 10000000,
               .gap_ns = 50000000,
               .begin_ns = 6 * S,
               .end_ns = 16 * S + 52000000},
    .iterations_per_sample = 2,
    .checked_before = true,
    .checked_after = true,
    .checked_within = true,
    .seen = {.spot_checks = 16,
             .spot_checks_ns = 10000000,
             .window_checks_ns = 9000000,
             .report = {.reference_ns = 0,
                        .read_back_ns = 20000,
                        .read_within = -1,
                        .changed_samples = -1,
                        .unchanged_median_ns = -1},
             .go_ns = 6 * S - 1000,
             .told_ns = 16 * S + 53000000,
             .go_utc_ns = 1006 * S,
             .told_utc_ns = 1016 * S + 53500000,
             .kernel_ns = 10 * S + 53001000,
             .clocks = {-1, -1, -1},
             .worker_clocks = {-1, -1, -1},
             .ticks_per_s = -1,
             .checked_least_ns = 4000000,
             .checked_median_ns = 6000000},
};

static const struct conduct *base = &honest;

/* The same, on a machine that has more clocks. */
static struct conduct with_clocks(void)
{
    struct conduct conduct = honest;

    conduct.window.device_ns = 9 * S;
    conduct.seen.clocks = (struct conduct_clocks){10 * S + 53002000, 3 * (10 * S + 53000000), -1};
    conduct.seen.worker_clocks =
        (struct conduct_clocks){10 * S + 52001000, 3 * (10 * S + 52000000), 10 * S + 51000000};
    conduct.seen.ticks_per_s = 3 * S;
    return conduct;
}

static void judge(const struct protocol *rules, const struct conduct *conduct, const char *clause)
{
    struct error err = ERROR_INIT;
    const enum status status = conduct_judge(rules, conduct, &err);

    if (!clause) {
        if (status != STATUS_OK)
            fail_msg("%s", err.message);
        return;
    }
    assert_int_equal(status, STATUS_INVALID);
    if (strncmp(err.message, clause, strlen(clause)) != 0 || err.message[strlen(clause)] != ':')
        fail_msg("expected %s: %s", clause, err.message);
}

#define BREAKS(clause, ...)                                                                        \
    do {                                                                                           \
        struct conduct c = *base;                                                                  \
        struct protocol p = protocol;                                                              \
        (void)p;                                                                                   \
        __VA_ARGS__;                                                                               \
        judge(&p, &c, clause);                                                                     \
    } while (0)

TEST(clauses)
{
    BREAKS(NULL, (void)c);
    BREAKS("verification", c.checked_before = false);
    BREAKS("verification", c.checked_after = false);
    BREAKS("warmup.iterations", c.warmup.samples = 4);
    BREAKS(NULL, c.warmup.samples = 5);
    BREAKS("warmup.time", c.warmup.wall_ns = 2 * S);
    BREAKS("window.min_samples", c.window.samples = 99);
    BREAKS(NULL, c.window.samples = 100);
    BREAKS("window.time", c.window.wall_ns = 9 * S);
    BREAKS("spot_checks.least", c.seen.spot_checks = 2);
    BREAKS(NULL, c.seen.spot_checks = 3);
    BREAKS("spot_checks", c.checked_within = false);
    BREAKS(NULL, c.seen.report.changed_samples = 1000);
    BREAKS("spot_checks", c.seen.report.changed_samples = 1001);
    BREAKS("spot_checks", c.seen.report.changed_samples = 1; c.seen.spot_checks = 0;
           p.spot_checks_least = 0; c.checked_within = false);
    BREAKS(NULL, p.spot_checks = p.spot_checks_least = 0; c.seen.spot_checks = 0;
           c.checked_within = false);
}

TEST(the_worker_in_its_surroundings)
{
    BREAKS("worker.stopped", c.seen.stopped = 1);
    BREAKS("worker.cgroup", c.seen.moved = 1);
    BREAKS(NULL, c.seen.stopped = c.seen.moved = -1);
    BREAKS(NULL, c.seen.steered = 1);
}

/* Samples are 2 iterations of 5 ms; a launch by itself may take 0.1 ms. */
TEST(checked_iterations)
{
    BREAKS(NULL, c.seen.checked_least_ns = 250 * 1000000);
    BREAKS("spot_checks.time", c.seen.checked_least_ns = 251 * 1000000);
    BREAKS(NULL, c.seen.checked_least_ns = 251 * 1000000; c.iterations_per_sample = 1);
    BREAKS(NULL, c.seen.checked_least_ns = -1);
    /* Work that is left out where nothing has changed: those samples are shorter than most. */
    BREAKS(NULL, c.seen.report.unchanged_median_ns = 160000);
    BREAKS("spot_checks.time", c.seen.report.unchanged_median_ns = 150000);
    BREAKS(NULL, c.seen.report.unchanged_median_ns = -1);
    /* A busy machine may delay two of them. */
    BREAKS(NULL, c.seen.checked_least_ns = S; c.seen.spot_checks = 2; p.spot_checks_least = 1);
    assert_true(conduct_checked_ratio(-1, 5e6) <= 0 && conduct_checked_ratio(5000000, 0) <= 0);
    assert_true(conduct_checked_ratio(100000, 100) <= 0);
    assert_true(conduct_checked_noted("gemm", 8) < conduct_checked_noted("gemm", 7));
    assert_true(conduct_checked_noted("gemm", 8) < conduct_checked_noted("batched_inference", 8));
    assert_true(conduct_checked_noted("onnx", 3) <= CONDUCT_CHECKED_MOST);
    assert_float_equal(conduct_checked_ratio(25 * 1000000 + 100000, 5e6), 5.0, 1e-9);
}

/* What the harness saw is withheld: all that does not need it is judged still. */
TEST(withheld)
{
    struct conduct held = honest;

    held.seen = conduct_new().seen;
    held.is_withheld = true;
    held.planned_worker = HEX_64;
    base = &held;
    BREAKS(NULL, (void)c);
    BREAKS("verification", c.checked_after = false);
    BREAKS("warmup.iterations", c.warmup.samples = 4);
    BREAKS("warmup.time", c.warmup.wall_ns = 2 * S);
    BREAKS("window.min_samples", c.window.samples = 8);
    BREAKS("window.time", c.window.wall_ns = 9 * S);
    BREAKS("spot_checks.least", c.checked_within = false);
    BREAKS("clock.window", c.window.begin_ns = -1);
    BREAKS("clock.window", c.window.end_ns = 15 * S);
    BREAKS("clock.window", c.window.end_ns = 26 * S);
    BREAKS("clock.device", c.window.device_ns = 11 * S);
    BREAKS(NULL, p.spot_checks = p.spot_checks_least = 0; c.checked_within = false);
    base = &honest;
}

/* A window that is at its limit or has all its samples may have fewer, or be shorter. */
TEST(limits)
{
    BREAKS(NULL, c.window.samples = 20; p.window_max_ns = 10 * S);
    BREAKS(NULL, p.max_samples = 1300; c.window.wall_ns = 2 * S; c.window.end_ns = 8 * S + 52000000;
           c.seen.told_ns = 8 * S + 53000000; c.seen.kernel_ns = 2 * S + 53001000);
    BREAKS("window.time", c.window.samples = 20; c.window.wall_ns = 9 * S; p.window_max_ns = 9 * S);
}

/* A server idles between requests; what it must show is the log of all that were scheduled. */
#define SERVED(clause, ...)                                                                        \
    BREAKS(clause, p.serving_requests = c.scheduled = 500; c.request_columns = 9;                  \
           c.window.samples = 1; c.window.wall_ns = S; c.window.gap_ns = 9 * S + 50000000;         \
           __VA_ARGS__)

TEST(server)
{
    SERVED(NULL, (void)c);
    BREAKS("window.min_samples", c.window.samples = 1);
    SERVED("serving.requests", c.scheduled = 499);
    SERVED("serving.requests", c.request_columns = 8);
    SERVED("serving.requests", p.serving_requests = 0);
    SERVED("serving.requests", c.scheduled = -1);
    SERVED("serving.requests", c.traced = 499);
    SERVED("warmup.iterations", c.warmup.samples = 4);
    SERVED("spot_checks.least", c.seen.spot_checks = 2);
    SERVED("verification", c.checked_after = false);
    SERVED(NULL, c.seen.checked_least_ns = 9 * S);
    SERVED(NULL, c.window.wall_ns = S / 10; c.window.gap_ns = 0);
    SERVED("clock.window", c.window.wall_ns += S);
    /* An endpoint has no spot checks; its log must be there like any server's. */
    SERVED(NULL, c.is_endpoint = true; c.seen.spot_checks = 0; c.checked_within = false);
    SERVED("spot_checks", c.is_endpoint = true; c.checked_within = false);
    SERVED("serving.requests", c.is_endpoint = true; c.seen.spot_checks = 0; c.request_columns = 8);
    SERVED("verification", c.is_endpoint = true; c.seen.spot_checks = 0; c.checked_before = false);
}

/* Times of a file that are no times: none wraps around into a window that fits. */
TEST(no_times)
{
    struct conduct wild = *base;

    wild.seen.go_ns = INT64_MIN;
    wild.seen.told_ns = INT64_MAX;
    wild.seen.clocks.raw_ns = 10 * S;
    assert_true(conduct_clock_share(&wild, CONDUCT_CLOCK_RAW) > 0.5);
    BREAKS("clock.kernel", c.seen.go_ns = INT64_MIN; c.seen.told_ns = INT64_MAX);
    BREAKS("clock.gaps", c.window.wall_ns = 4 * S; c.window.gap_ns = 6052000000;
           c.seen.spot_checks_ns = INT64_MIN);
}

/* Of samples of 10 ms; reading may take 0.1 ms. */
TEST(read_back)
{
    BREAKS(NULL, c.seen.report.read_back_ns = 2100000);
    BREAKS("clock.result", c.seen.report.read_back_ns = 2100001);
    BREAKS(NULL, c.seen.report.read_back_ns = -1);
    /* It is no more of them than there are. */
    BREAKS(NULL, c.seen.report.read_within = 1000);
    BREAKS("clock.result", c.seen.report.read_within = 1001);
    SERVED(NULL, c.seen.report.read_back_ns = S);
}

/* What a version before noted nothing of: gaps are bounded by a half, and edges by half a second.
 */
TEST(clocks)
{
    struct conduct earlier = honest;

    earlier.seen.window_checks_ns = -1;
    base = &earlier;
    /* It began before the harness let it, or ended after it was told. */
    BREAKS("clock.window", c.window.begin_ns = 5 * S);
    BREAKS("clock.window", c.window.end_ns = 17 * S);
    BREAKS("clock.window", c.window.begin_ns = -1);
    /* A quarter of the time, of a worker whose phases are right, or are a quarter as well. */
    BREAKS("clock.window", p.window_ns = S; c.window.wall_ns /= 4);
    BREAKS("clock.window", c.window.wall_ns += S);
    BREAKS("clock.gaps", p.window_ns = S; c.window.wall_ns /= 4; c.window.gap_ns += 75 * S / 10);
    BREAKS(NULL, p.window_ns = S; c.window.wall_ns /= 4; c.window.gap_ns += 75 * S / 10;
           p.cache = PROTOCOL_CACHE_COLD);
    BREAKS(NULL, p.window_ns = S; c.window.wall_ns /= 4; c.window.gap_ns += 75 * S / 10;
           c.seen.spot_checks_ns = 6 * S);
    BREAKS("clock.kernel", c.seen.kernel_ns *= 4);
    BREAKS("clock.kernel", c.seen.kernel_ns -= 20000000);
    BREAKS(NULL, c.seen.kernel_ns -= 5000000);
    BREAKS(NULL, c.seen.kernel_ns = -1);
    base = &honest;
}

/* Of 10.052 s, 10 are samples and 9 ms checks. */
TEST(spent)
{
    struct conduct_spent spent;
    struct conduct served = honest;

    assert_true(conduct_spent(&honest, &spent));
    assert_float_equal(spent.gaps, 43e6, 1);
    assert_float_equal(spent.samples + spent.checks + spent.reference + spent.gaps, spent.window,
                       1);
    assert_true(conduct_gap_share(&spent) <= 0);
    served.scheduled = 500;
    assert_false(conduct_spent(&served, &spent));
    /* A fifth and 50 ms; time of checks and of the reference loop is none, and all have to fit. */
    BREAKS(NULL, c.window.wall_ns -= 2 * S; c.window.gap_ns += 2 * S; p.window_ns = S);
    BREAKS(NULL, p.window_gaps = 0.11; c.window.wall_ns -= S; c.window.gap_ns += S);
    BREAKS("clock.gaps", p.window_gaps = 0.09; c.window.wall_ns -= S; c.window.gap_ns += S);
    BREAKS(NULL, p.window_gaps = 0.25; c.window.wall_ns -= 21 * S / 10;
           c.window.gap_ns += 21 * S / 10);
    BREAKS("clock.gaps", c.window.wall_ns -= 21 * S / 10; c.window.gap_ns += 21 * S / 10;
           p.window_ns = S);
    BREAKS(NULL, c.window.wall_ns -= 6 * S; c.window.gap_ns += 6 * S; p.window_ns = S;
           c.seen.window_checks_ns = 2 * S; c.seen.report.reference_ns = 3 * S);
    BREAKS(NULL, c.window.wall_ns -= 6 * S; c.window.gap_ns += 6 * S; p.window_ns = S;
           p.cache = PROTOCOL_CACHE_COLD);
    BREAKS("clock.checks", c.seen.window_checks_ns = 3600 * S);
    BREAKS("clock.checks", c.seen.report.reference_ns = 3600 * S);
    /* Samples that were left out are in no gap. */
    BREAKS(NULL, c.window.wall_ns -= 2 * S / 10; p.window_ns = S);
    BREAKS("clock.window", c.window.wall_ns -= 3 * S / 10; p.window_ns = S);
}

static double share(struct conduct conduct, enum conduct_clock clock)
{
    return conduct_clock_share(&conduct, clock);
}

TEST(other_clocks)
{
    const int64_t elapsed = honest.seen.told_ns - honest.seen.go_ns;
    const struct conduct clocked = with_clocks();
    struct conduct slow = clocked;

    base = &clocked;
    for (enum conduct_clock i = 0; i < CONDUCT_CLOCK_COUNT; i++)
        assert_true(share(clocked, i) <= 0);
    /* Each of the two of a clock; what is missing is not judged. */
    BREAKS("clock.raw", c.seen.clocks.raw_ns += elapsed / 50);
    BREAKS("clock.raw", c.seen.worker_clocks.raw_ns -= elapsed / 50);
    BREAKS(NULL, c.seen.clocks.raw_ns = c.seen.worker_clocks.raw_ns = -1);
    BREAKS("clock.tsc", c.seen.clocks.ticks *= 4);
    BREAKS("clock.tsc", c.seen.worker_clocks.ticks += 3 * elapsed / 50);
    BREAKS("clock.tsc", c.seen.ticks_per_s *= 2);
    BREAKS(NULL, c.seen.worker_clocks.ticks *= 2; c.seen.clocks.ticks *= 2;
           c.seen.ticks_per_s = -1);
    BREAKS(NULL, c.seen.worker_clocks.ticks = -1; c.seen.clocks.ticks = -1);
    /* The device's covers its work alone. */
    BREAKS("clock.device", c.seen.worker_clocks.device_ns += elapsed / 50);
    BREAKS("clock.device", c.window.device_ns = c.window.wall_ns + c.window.wall_ns / 50);
    BREAKS(NULL, c.seen.worker_clocks.device_ns /= 4; c.window.device_ns /= 4);
    BREAKS(NULL, c.seen.worker_clocks.device_ns = -1; c.window.device_ns = 0);
    /* Half a percent is noted, and what a time server may do is not. */
    slow.seen.clocks.raw_ns += elapsed / 200;
    BREAKS(NULL, c = slow);
    assert_true(share(slow, CONDUCT_CLOCK_RAW) > CONDUCT_CLOCK_NOTED);
    slow.seen.clocks.raw_ns = clocked.seen.clocks.raw_ns + elapsed / 2000;
    assert_true(share(slow, CONDUCT_CLOCK_RAW) <= CONDUCT_CLOCK_NOTED);
    base = &honest;
}

/* Set once, before the window or in it, or there and back; or another in both. */
TEST(date)
{
    assert_true(share(honest, CONDUCT_CLOCK_DATE) <= 0);
    BREAKS(NULL, c.started_utc_ns -= 3600 * S);
    BREAKS(NULL, c.seen.told_utc_ns += 3600 * S);
    BREAKS(NULL, c.seen.told_utc_ns -= 3600 * S);
    BREAKS(NULL, c.seen.go_utc_ns += 3600 * S);
    BREAKS("clock.date", c.started_utc_ns -= 6 * S; c.seen.told_utc_ns += 10 * S);
    BREAKS("clock.date", c.started_utc_ns += 3 * S; c.seen.told_utc_ns -= 5 * S);
    BREAKS(NULL, c.started_utc_ns -= S / 20; c.seen.told_utc_ns += S / 20);
    BREAKS(NULL, c.started_utc_ns = 0; c.seen.told_utc_ns += 10 * S);
    BREAKS(NULL, c.started_utc_ns -= 6 * S; c.seen.told_utc_ns = -1);
}

TEST(json)
{
    struct conduct conduct = with_clocks(), read = conduct_new();
    json_t *json, *again;

    memcpy(conduct.seen.worker, "5a", 3);
    json = type_to_json(&conduct_seen_type, &conduct.seen);
    assert_null(type_read(&conduct_seen_type, json, &read.seen));
    again = type_to_json(&conduct_seen_type, &read.seen);
    assert_true(json_equal(json, again));
    assert_int_equal(read.seen.worker_clocks.device_ns, conduct.seen.worker_clocks.device_ns);
    assert_int_equal(read.seen.clocks.device_ns, -1);
    json_object_set_new(json, "worker", json_pack("s+", "5a", HEX_64));
    assert_string_equal(type_read(&conduct_seen_type, json, &read.seen), "worker");
    assert_string_equal(read.seen.worker, ""); /* not its beginning, which may be another's */
    assert_string_equal(type_read(&conduct_seen_type, NULL, &read.seen), "");
    assert_int_equal(read.seen.clocks.raw_ns, -1);
    json_decref(json);
    json_decref(again);
}

TEST(worker)
{
    BREAKS("worker.identity", c.planned_worker = "5a");
    BREAKS("worker.identity", c.planned_worker = "5a"; memcpy(c.seen.worker, "5b", 3));
    BREAKS(NULL, c.planned_worker = "5a"; memcpy(c.seen.worker, "5a", 3));
    BREAKS(NULL, memcpy(c.seen.worker, "5a", 3));
}

#include "protocols/serving/arrivals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/array.h"
#include "harness/core/cleanup.h"
#include "harness/core/random.h"
#include "protocols/stats/special.h"

/* Streams of random numbers under the seed; what a change of one draws leaves the others. */
enum { STREAM_GAPS, STREAM_STATES, STREAM_PROMPT, STREAM_OUTPUT, STREAM_JOINT };

/* ---- the integral of a rate that changes between two levels ---- */

/* One stay at a level: from `begin_s`, where the integral of the relative rate is `begin`. */
struct modulation {
    struct random random;
    double levels[2], means_s[2];
    double begin_s, begin, length_s;
    int level;
};

static double next_stay(struct modulation *m)
{
    return m->means_s[m->level] * random_next_exponential(&m->random);
}

static void modulation_init(struct modulation *m, const struct arrivals *a, uint64_t seed)
{
    double high = a->on_s / (a->on_s + a->off_s), low = 1 - high;

    *m = (struct modulation){.means_s = {a->on_s, a->off_s}};
    m->levels[0] = isinf(a->rate_ratio) ? 1 / high : a->rate_ratio / (high * a->rate_ratio + low);
    m->levels[1] = isinf(a->rate_ratio) ? 0 : 1 / (high * a->rate_ratio + low);
    random_init(&m->random, seed, STREAM_STATES);
    m->level = random_next_unit(&m->random) < high ? 0 : 1;
    m->length_s = next_stay(m);
}

static void modulation_advance(struct modulation *m)
{
    m->begin += m->length_s * m->levels[m->level];
    m->begin_s += m->length_s;
    m->level = !m->level;
    m->length_s = next_stay(m);
}

/* When the integral reaches `target`; calls must not go back. */
static double modulation_inverse(struct modulation *m, double target)
{
    while (m->begin + m->length_s * m->levels[m->level] < target)
        modulation_advance(m);
    /* At a level of 0 the target has been reached before. */
    return m->levels[m->level] > 0 ? m->begin_s + (target - m->begin) / m->levels[m->level]
                                   : m->begin_s;
}

static double modulation_at(struct modulation *m, double seconds)
{
    while (m->begin_s + m->length_s < seconds)
        modulation_advance(m);
    return m->begin + (seconds - m->begin_s) * m->levels[m->level];
}

/* ---- times ---- */

/* What draws the times of a schedule, one after the other. */
struct process {
    const struct arrivals *arrivals;
    double rate, unit, shape; /* unit: the sum of the gaps at rate 1 */
    struct random random;
    struct modulation modulation;
    size_t next;
};

static void process_init(struct process *p, const struct arrivals *a, double rate, uint64_t seed)
{
    *p = (struct process){.arrivals = a, .rate = rate};
    random_init(&p->random, seed, STREAM_GAPS);
    if (a->process == ARRIVAL_GAMMA)
        p->shape = 1 / (a->cv * a->cv);
    if (a->process == ARRIVAL_ON_OFF)
        modulation_init(&p->modulation, a, seed);
}

/* The time of the next request in ns; from 2^62 on it stays there. */
static int64_t process_next(struct process *p)
{
    const struct arrivals *a = p->arrivals;
    double seconds = p->unit / p->rate;

    if (a->process == ARRIVAL_TRACE) {
        size_t i = p->next++, last = a->trace->count - 1;
        double at = (double)a->trace->requests[i < last ? i : last].at_ns;

        /* After the last one: the mean gap. */
        if (i > last)
            at += (at - (double)a->trace->requests[0].at_ns) / (double)last;
        return (int64_t)fmin(at / a->scale, 0x1p62);
    }
    if (a->process == ARRIVAL_ON_OFF)
        seconds = modulation_inverse(&p->modulation, seconds);
    if (a->process == ARRIVAL_DETERMINISTIC)
        p->unit += 1;
    else if (a->process == ARRIVAL_GAMMA)
        p->unit += random_next_gamma(&p->random, p->shape);
    else
        p->unit += random_next_exponential(&p->random);
    return (int64_t)fmin(seconds * 1e9, 0x1p62);
}

/* ---- tokens ---- */

static uint32_t draw_length(const struct length *l, struct random *random)
{
    double value = l->mean, variance;

    switch (l->law) {
    case LENGTH_FIXED:
        return (uint32_t)l->mean;
    case LENGTH_UNIFORM:
        return l->min + (uint32_t)random_next_below(random, (uint64_t)l->max - l->min + 1);
    case LENGTH_EMPIRICAL:
        return l->values[random_next_below(random, l->value_count)];
    case LENGTH_LOGNORMAL: /* log mean and log variance from mean and cv */
        variance = random_log(1 + l->cv * l->cv);
        value = random_log(l->mean) - variance / 2 + sqrt(variance) * random_next_normal(random);
        value = random_exp(fmax(fmin(value, 700), -700));
        break;
    case LENGTH_GEOMETRIC: /* on 1, 2, ...: P(X > k) = (1 - 1/mean)^k */
        value = l->mean > 1
                    ? 1 + floor(random_next_exponential(random) / -random_log(1 - 1 / l->mean))
                    : 1;
        break;
    case LENGTH_NONE:
    case LENGTH_LAW_COUNT:
        return 0;
    }
    return (uint32_t)fmin(fmax(floor(value), l->min), l->max);
}

/* Request i's tokens are drawn under a stream of its own: the same whatever the others took. */
static void fill_lengths(const struct arrivals *a, const struct lengths *lengths, uint64_t seed,
                         size_t i, struct scheduled_request *request)
{
    const struct trace *joint = lengths->joint;
    struct random random;

    if (joint) {
        size_t row = i;

        random_init(&random, random_at(seed, STREAM_JOINT, i), STREAM_JOINT);
        if (a->process != ARRIVAL_TRACE || a->trace != joint)
            row = random_next_below(&random, joint->count);
        request->prompt_tokens = joint->requests[row].prompt_tokens;
        request->output_tokens = joint->requests[row].output_tokens;
        return;
    }
    random_init(&random, random_at(seed, STREAM_PROMPT, i), STREAM_PROMPT);
    request->prompt_tokens = draw_length(&lengths->prompt, &random);
    random_init(&random, random_at(seed, STREAM_OUTPUT, i), STREAM_OUTPUT);
    request->output_tokens = draw_length(&lengths->output, &random);
}

/* ---- what may be declared ---- */

static bool within(double value, double lo, double hi)
{
    return value >= lo && value <= hi;
}

static enum status check_arrivals(const struct arrivals *a, double rate, struct error *err)
{
    if (a->process == ARRIVAL_TRACE && (!a->trace || a->trace->count < 2))
        return error_set(err, STATUS_INVALID, "arrivals: a trace without requests");
    if (a->process == ARRIVAL_TRACE && !within(a->scale, 1e-3, 1e3))
        return error_set(err, STATUS_INVALID, "arrivals: scale must be from 0.001 to 1000");
    if (a->process == ARRIVAL_TRACE && rate != 0)
        return error_set(err, STATUS_INVALID,
                         "arrivals: a trace has a rate of its own; give no rate, but a scale");
    if (a->process != ARRIVAL_TRACE && !(rate > 0 && rate <= SCHEDULE_RATE_MAX))
        return error_set(err, STATUS_INVALID,
                         "rate: %g requests/s; it must be more than 0 and at most %g", rate,
                         SCHEDULE_RATE_MAX);
    if (a->process == ARRIVAL_GAMMA && !within(a->cv, 0.1, 10))
        return error_set(err, STATUS_INVALID, "arrivals: cv must be from 0.1 to 10");
    if (a->process == ARRIVAL_ON_OFF &&
        !(within(a->on_s, 0.01, 86400) && within(a->off_s, 0.01, 86400)))
        return error_set(err, STATUS_INVALID,
                         "arrivals: mean stays on and off must be from 10 ms to 24 h");
    if (a->process == ARRIVAL_ON_OFF && !(a->rate_ratio >= 1))
        return error_set(err, STATUS_INVALID, "arrivals: the ratio of rates must be at least 1");
    return STATUS_OK;
}

static enum status check_length(const struct length *l, const char *name, struct error *err)
{
    if (l->law == LENGTH_NONE)
        return STATUS_OK;
    if (l->law == LENGTH_EMPIRICAL && (!l->values || l->value_count == 0))
        return error_set(err, STATUS_INVALID, "lengths: %s: an empty list", name);
    for (size_t i = 0; l->law == LENGTH_EMPIRICAL && i < l->value_count; i++)
        if (l->values[i] < 1 || l->values[i] > TRACE_TOKENS_MAX)
            return error_set(err, STATUS_INVALID, "lengths: %s: values must be from 1 to %d", name,
                             TRACE_TOKENS_MAX);
    if (l->law == LENGTH_EMPIRICAL)
        return STATUS_OK;
    if (l->law != LENGTH_UNIFORM && !within(l->mean, 1, TRACE_TOKENS_MAX))
        return error_set(err, STATUS_INVALID, "lengths: %s: mean must be from 1 to %d", name,
                         TRACE_TOKENS_MAX);
    if (l->law != LENGTH_FIXED && (l->min < 1 || l->max < l->min || l->max > TRACE_TOKENS_MAX))
        return error_set(err, STATUS_INVALID, "lengths: %s: 1 <= min <= max <= %d must hold", name,
                         TRACE_TOKENS_MAX);
    if (l->law == LENGTH_LOGNORMAL && !(l->cv > 0 && l->cv <= 10))
        return error_set(err, STATUS_INVALID, "lengths: %s: cv must be above 0, at most 10", name);
    return STATUS_OK;
}

static enum status check_extent(const struct arrivals *a, const struct schedule_extent *extent,
                                struct error *err)
{
    bool both = extent->count > 0 && extent->window_ns > 0;
    bool none = extent->count == 0 && extent->window_ns == 0 && a->process != ARRIVAL_TRACE;

    if (both || none || extent->window_ns < 0)
        return error_set(err, STATUS_INVALID, "give either the number of requests or the window");
    if (extent->count > SCHEDULE_COUNT_MAX)
        return error_set(err, STATUS_INVALID, "%zu requests; at most %d", extent->count,
                         SCHEDULE_COUNT_MAX);
    if (extent->window_ns > SCHEDULE_WINDOW_MAX_NS)
        return error_set(err, STATUS_INVALID, "a window of more than 7 days");
    if (a->process == ARRIVAL_TRACE && extent->count > a->trace->count)
        return error_set(err, STATUS_INVALID, "%zu requests, but the trace has %zu", extent->count,
                         a->trace->count);
    if (a->process == ARRIVAL_TRACE &&
        (double)extent->window_ns >
            (double)a->trace->requests[a->trace->count - 1].at_ns / a->scale)
        return error_set(err, STATUS_INVALID, "the trace ends before the window");
    return STATUS_OK;
}

/* ---- the schedule ---- */

void requests_begin(const struct schedule *schedule, struct request *requests)
{
    for (size_t i = 0; i < schedule->count; i++)
        requests[i] = (struct request){
            .scheduled_ns = schedule->requests[i].at_ns,
            .sent_ns = REQUEST_NEVER,
            .admitted_ns = REQUEST_NEVER,
            .first_ns = REQUEST_NEVER,
            .done_ns = REQUEST_NEVER,
            .worst_gap_ns = REQUEST_NEVER,
            .prompt_tokens = schedule->requests[i].prompt_tokens,
            .status = REQUEST_UNFINISHED,
        };
}

static enum status add_request(struct schedule *s, int64_t at_ns, struct error *err)
{
    TRY(ARRAY_GROW(s->requests, s->count, 1, err));
    s->requests[s->count++] = (struct scheduled_request){.at_ns = at_ns};
    return STATUS_OK;
}

static enum status fill_times(const struct arrivals *a, double rate, struct schedule_extent extent,
                              uint64_t seed, struct schedule *s, struct error *err)
{
    size_t count = extent.count;
    int64_t end_ns = extent.window_ns ? extent.window_ns : INT64_MAX, at_ns;
    enum status status = STATUS_OK;
    struct process process;

    if (!count)
        count = extent.window_ns ? SIZE_MAX : a->trace->count;
    process_init(&process, a, rate, seed);
    at_ns = process_next(&process);
    while (status == STATUS_OK && s->count < count && at_ns < end_ns) {
        if (s->count == SCHEDULE_COUNT_MAX)
            return error_set(err, STATUS_INVALID, "more than %d requests; a shorter window",
                             SCHEDULE_COUNT_MAX);
        if (at_ns > SCHEDULE_WINDOW_MAX_NS)
            return error_set(err, STATUS_INVALID,
                             "these requests take more than 7 days; ask for fewer of them");
        status = add_request(s, at_ns, err);
        at_ns = process_next(&process);
    }
    s->window_ns = extent.window_ns ? extent.window_ns : at_ns;
    if (status == STATUS_OK && s->window_ns > SCHEDULE_WINDOW_MAX_NS)
        return error_set(err, STATUS_INVALID, "a window of more than 7 days");
    return status;
}

enum status schedule_make(const struct arrivals *arrivals, const struct lengths *lengths,
                          double rate, struct schedule_extent extent, uint64_t seed,
                          struct schedule *ret, struct error *err)
{
    CLEANUP(schedule_finish) struct schedule schedule = {0};

    TRY(check_arrivals(arrivals, rate, err));
    TRY(check_extent(arrivals, &extent, err));
    if (lengths->joint && lengths->joint->count == 0)
        return error_set(err, STATUS_INVALID, "lengths: a trace without requests");
    if (!lengths->joint) {
        TRY(check_length(&lengths->prompt, "prompt", err));
        TRY(check_length(&lengths->output, "output", err));
    }
    TRY(fill_times(arrivals, rate, extent, seed, &schedule, err));
    for (size_t i = 0; i < schedule.count; i++)
        fill_lengths(arrivals, lengths, seed, i, &schedule.requests[i]);
    *ret = schedule;
    schedule = (struct schedule){0};
    return STATUS_OK;
}

static void put_little_endian(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

struct digest schedule_digest(const struct schedule *schedule)
{
    static const char head[] = "assay-schedule/1\n";
    struct digest_state state;
    uint8_t bytes[16];

    digest_init(&state);
    digest_update(&state, head, strlen(head));
    put_little_endian(bytes, schedule->count, 8);
    put_little_endian(bytes + 8, (uint64_t)schedule->window_ns, 8);
    digest_update(&state, bytes, 16);
    for (size_t i = 0; i < schedule->count; i++) {
        put_little_endian(bytes, (uint64_t)schedule->requests[i].at_ns, 8);
        put_little_endian(bytes + 8, schedule->requests[i].prompt_tokens, 4);
        put_little_endian(bytes + 12, schedule->requests[i].output_tokens, 4);
        digest_update(&state, bytes, 16);
    }
    return digest_final(&state);
}

void schedule_finish(struct schedule *schedule)
{
    if (!schedule)
        return;
    free(schedule->requests);
    *schedule = (struct schedule){0};
}

double arrivals_mean_rate(const struct arrivals *arrivals, double rate)
{
    const struct trace *trace = arrivals->trace;

    if (arrivals->process != ARRIVAL_TRACE)
        return rate;
    return trace && trace->count > 1
               ? arrivals->scale * 1e9 * (double)(trace->count - 1) /
                     (double)(trace->requests[trace->count - 1].at_ns - trace->requests[0].at_ns)
               : NAN;
}

/* Gaps from this many ns on change their distribution by nothing within one ns. */
#define GAP_LONG_NS 1000
#define RESCALE_STREAM 0x72736361 /* "rsca" */

/* The integral of Q(a, t) over t from 0 to z: by parts z Q(a, z) + a P(a + 1, z). */
static double integral_of_longer(double a, double z)
{
    return z * exp(special_gamma_upper_log(a, z)) - a * expm1(special_gamma_upper_log(a + 1, z));
}

/* The chance that a gap is seen as `ns` or more: times are rounded down, at any place within a ns.
 */
static double chance_of_as_long(double shape, double scale, double ns)
{
    if (ns <= 0)
        return 1;
    return (integral_of_longer(shape, scale * ns) - integral_of_longer(shape, scale * (ns - 1))) /
           scale;
}

/*
 * -log of the probability of a longer gap than one of `ns`, `scale` of shape a ns. Of a process
 * with bursts a large share of the gaps has a few ns, which are whole numbers: its place among
 * those that are seen as it is, is drawn (`place`, in [0, 1)), which makes the probability uniform
 * (Brockwell, "Universal Residuals", Statistics and Probability Letters 77 (2007)).
 */
static double rescale_gamma(double shape, double scale, double ns, double place)
{
    double from, to;

    if (ns >= GAP_LONG_NS)
        return -special_gamma_upper_log(shape, scale * ns);
    from = chance_of_as_long(shape, scale, ns);
    to = chance_of_as_long(shape, scale, ns + 1);
    return -log(from - place * (from - to));
}

bool arrivals_rescale(const struct arrivals *arrivals, double rate, uint64_t seed,
                      const int64_t *at_ns, size_t count, double *ret_gaps)
{
    bool renewal = arrivals->process == ARRIVAL_POISSON || arrivals->process == ARRIVAL_GAMMA;
    double shape = arrivals->process == ARRIVAL_GAMMA ? 1 / (arrivals->cv * arrivals->cv) : 1;
    struct modulation modulation;
    double last = 0, next;

    if (!renewal && arrivals->process != ARRIVAL_ON_OFF)
        return false;
    if (!renewal) {
        modulation_init(&modulation, arrivals, seed);
        last = rate * modulation_at(&modulation, (double)at_ns[0] * 1e-9);
    }
    for (size_t i = 0; i + 1 < count; i++) {
        if (renewal) {
            const double ns = (double)(at_ns[i + 1] - at_ns[i]), scale = rate * 1e-9;

            ret_gaps[i] = shape == 1
                              ? scale * ns
                              : rescale_gamma(shape, shape * scale, ns,
                                              random_unit(random_at(seed, RESCALE_STREAM, i)));
        } else {
            next = rate * modulation_at(&modulation, (double)at_ns[i + 1] * 1e-9);
            ret_gaps[i] = next - last;
            last = next;
        }
    }
    return true;
}

#include "protocols/serving/serving_metrics.h"

#include <math.h>
#include <stdlib.h>

#include "protocols/stats/order.h"

static bool has_failed(const struct request *r)
{
    return r->status != REQUEST_OK && r->status != REQUEST_UNFINISHED;
}

static struct serving_value known(int64_t ns)
{
    return (struct serving_value){ns, VALUE_KNOWN};
}

/* From its schedule to `at_ns`; where that did not happen, at least until the end of the drain. */
static struct serving_value since_scheduled(const struct request *r, int64_t at_ns,
                                            int64_t until_ns)
{
    if (at_ns != REQUEST_NEVER)
        return known(at_ns - r->scheduled_ns);
    if (r->status == REQUEST_UNFINISHED && until_ns > r->scheduled_ns)
        return (struct serving_value){until_ns - r->scheduled_ns, VALUE_AT_LEAST};
    return (struct serving_value){0, r->status == REQUEST_OK ? VALUE_UNKNOWN : VALUE_NONE};
}

/* Whether all output of a request came at once, as far as anybody could see. */
static bool came_at_once(const struct request *r)
{
    if (r->first_ns == REQUEST_NEVER || r->done_ns == REQUEST_NEVER)
        return false;
    return r->done_ns <= r->first_ns ||
           (r->outputs > 0 && r->done_ns - r->first_ns < SERVING_SPAN_LEAST_NS);
}

/* Of an answer that is whole, with two tokens or more. */
static struct serving_value tpot_of_whole(const struct request *r)
{
    const int64_t tokens = (int64_t)r->output_tokens;
    const int64_t first = r->outputs > 0 ? (int64_t)r->first_outputs : 1;
    const int64_t later = r->outputs > 0 ? (int64_t)r->outputs - first : tokens - 1;
    int64_t span;

    if (r->first_ns == REQUEST_NEVER || r->done_ns == REQUEST_NEVER || came_at_once(r) ||
        later <= 0 || tokens <= first)
        return (struct serving_value){0, VALUE_UNKNOWN};
    span = r->done_ns - r->first_ns;
    if (5 * (tokens - first) <= 6 * later)
        return known(span / later);
    return (struct serving_value){span / (tokens - first), VALUE_BETWEEN, span / later};
}

/* Whether it is one token for certain, and no piece that nobody counted the tokens of. */
static bool is_one_token(const struct request *r)
{
    return r->output_tokens < 2 && (r->outputs == 0 || r->is_told);
}

static struct serving_value tpot(const struct request *r)
{
    if (r->status == REQUEST_UNFINISHED)
        return (struct serving_value){0, VALUE_UNKNOWN};
    if (r->status != REQUEST_OK || is_one_token(r))
        return (struct serving_value){0, VALUE_NONE};
    return tpot_of_whole(r);
}

/* Of an unfinished request another gap, longer than all before, may follow. */
static struct serving_value gap(const struct request *r)
{
    if (has_failed(r))
        return (struct serving_value){0, VALUE_NONE};
    if (r->status == REQUEST_UNFINISHED)
        return r->worst_gap_ns == REQUEST_NEVER
                   ? (struct serving_value){0, VALUE_UNKNOWN}
                   : (struct serving_value){r->worst_gap_ns, VALUE_AT_LEAST};
    if (is_one_token(r))
        return (struct serving_value){0, VALUE_NONE};
    if (r->worst_gap_ns == REQUEST_NEVER || came_at_once(r))
        return (struct serving_value){0, VALUE_UNKNOWN};
    return known(r->worst_gap_ns);
}

struct serving_value serving_value_of(const struct request *request, enum serving_metric metric,
                                      int64_t until_ns)
{
    bool over = request->status != REQUEST_UNFINISHED;

    switch (metric) {
    case SERVING_LAG:
        return since_scheduled(request, request->sent_ns, until_ns);
    case SERVING_WAIT: /* where others were admitted unseen, this one's state is unknown as well */
        if (request->admitted_ns == REQUEST_NEVER && request->first_ns != REQUEST_NEVER)
            return (struct serving_value){0, VALUE_UNKNOWN};
        return since_scheduled(request, request->admitted_ns, until_ns);
    case SERVING_TTFT:
        return since_scheduled(request, request->first_ns, until_ns);
    case SERVING_E2E:
        if (has_failed(request))
            return (struct serving_value){0, VALUE_NONE};
        return since_scheduled(request, over ? request->done_ns : REQUEST_NEVER, until_ns);
    case SERVING_TPOT:
        return tpot(request);
    case SERVING_GAP:
        return gap(request);
    case SERVING_METRIC_COUNT:
        break;
    }
    return (struct serving_value){0, VALUE_UNKNOWN};
}

double serving_score(const struct request *request, const struct serving_limits *limits,
                     int64_t until_ns, double *ret_most)
{
    double score = 0, most;

    *ret_most = INFINITY;
    if (has_failed(request))
        return INFINITY;
    most = request->status == REQUEST_UNFINISHED ? INFINITY : 0;
    for (int m = 0; m < SERVING_METRIC_COUNT; m++) {
        struct serving_value value;

        if (limits->ns[m] <= 0)
            continue;
        value = serving_value_of(request, (enum serving_metric)m, until_ns);
        if (value.state == VALUE_UNKNOWN)
            most = INFINITY;
        else if (value.state == VALUE_BETWEEN)
            most = fmax(most, (double)value.most_ns / (double)limits->ns[m]);
        score = fmax(score, (double)value.ns / (double)limits->ns[m]);
    }
    *ret_most = fmax(score, most);
    return score;
}

/* ---- sums ---- */

static bool in_order(const struct request *r, int64_t until_ns)
{
    const int64_t times[] = {r->scheduled_ns, r->sent_ns, r->admitted_ns,
                             r->first_ns,     r->done_ns, until_ns};
    int64_t last = times[0];

    for (int i = 1; i < 6; i++) {
        if (times[i] == REQUEST_NEVER)
            continue;
        if (times[i] < last)
            return false;
        last = times[i];
    }
    return r->status != REQUEST_OK || r->done_ns != REQUEST_NEVER;
}

static void count_status(const struct request *r, struct serving_totals *total)
{
    total->ok += r->status == REQUEST_OK;
    total->unfinished += r->status == REQUEST_UNFINISHED;
    total->failed += r->status == REQUEST_FAILED;
    total->refused += r->status == REQUEST_REFUSED;
    total->timed_out += r->status == REQUEST_TIMED_OUT;
}

/* Answers that are whole: how they differ from what was asked for, and what of them is unknown. */
static void count_answer(const struct request *r, uint32_t asked, struct serving_totals *total)
{
    struct serving_value value;

    if (r->status != REQUEST_OK || asked == 0)
        return;
    if (r->output_tokens < asked) {
        total->shorter++;
        total->shorter_tokens += r->output_tokens;
        total->shorter_asked += asked;
    } else if (r->output_tokens > asked) {
        total->longer++;
        total->longer_tokens += r->output_tokens;
        total->longer_asked += asked;
    }
    value = tpot(r);
    total->at_once += value.state == VALUE_UNKNOWN;
    total->in_pieces += value.state == VALUE_BETWEEN;
    if (value.state == VALUE_BETWEEN) {
        total->in_pieces_least_ns += (double)value.ns;
        total->in_pieces_most_ns += (double)value.most_ns;
    }
}

static void count_tokens(const struct serving_trial *trial, int64_t from_ns,
                         struct serving_totals *total)
{
    const int64_t end_ns = trial->schedule->window_ns;

    for (size_t i = 0; i < trial->step_count; i++)
        if (trial->steps[i].end_ns >= from_ns && trial->steps[i].end_ns < end_ns) {
            total->prompt_tokens += trial->steps[i].prefill_tokens;
            total->output_tokens += trial->steps[i].decode_tokens;
        }
    for (size_t i = 0; trial->step_count == 0 && i < trial->schedule->count; i++) {
        const struct request *r = &trial->requests[i];

        if (r->done_ns >= from_ns && r->done_ns < end_ns) {
            total->prompt_tokens += r->status == REQUEST_OK ? r->prompt_tokens : 0;
            total->output_tokens += r->output_tokens;
        }
    }
}

void serving_totals_add(const struct serving_trial *trial, const struct serving_limits *limits,
                        int64_t from_ns, struct serving_totals *total)
{
    for (size_t i = 0; i < trial->schedule->count; i++) {
        const struct request *r = &trial->requests[i];
        double score, most;

        if (r->scheduled_ns < from_ns)
            continue;
        score = serving_score(r, limits, trial->until_ns, &most);
        total->requests++;
        count_status(r, total);
        count_answer(r, trial->schedule->requests[i].output_tokens, total);
        total->met += most <= 1;
        total->good_tokens += most <= 1 ? (uint64_t)r->output_tokens : 0;
        total->undecided += score <= 1 && most > 1;
        total->disordered += !in_order(r, trial->until_ns);
    }
    count_tokens(trial, from_ns, total);
    total->span_ns += trial->schedule->window_ns - from_ns;
}

/* ---- the audit ---- */

enum status serving_audit(const struct serving_trial *trial, bool *ret_equal, double *ret_mean,
                          struct error *err)
{
    __extension__ typedef __int128 i128;
    const size_t count = trial->schedule->count;
    int64_t *begins = malloc(2 * count * sizeof(*begins) + 1), *ends, last = 0;
    i128 integral = 0, sum = 0;
    size_t b = 0, e = 0;

    if (!begins)
        return error_no_memory(err);
    ends = begins + count;
    for (size_t i = 0; i < count; i++) {
        const struct request *r = &trial->requests[i];
        int64_t end = r->done_ns;

        if (end == REQUEST_NEVER) /* refused at the door, or still there */
            end = r->status == REQUEST_UNFINISHED ? INT64_MAX : r->scheduled_ns;
        begins[i] = r->scheduled_ns < trial->until_ns ? r->scheduled_ns : trial->until_ns;
        ends[i] = end < trial->until_ns ? end : trial->until_ns;
        if (ends[i] > begins[i]) /* one that was over before it began has no time in the system */
            sum += ends[i] - begins[i];
    }
    order_sort(begins, count);
    order_sort(ends, count);
    while (e < count) {
        bool begin = b < count && begins[b] <= ends[e];
        int64_t now = begin ? begins[b] : ends[e];

        integral += (i128)((int64_t)b - (int64_t)e) * (now - last);
        last = now;
        b += begin;
        e += !begin;
    }
    free(begins);
    *ret_equal = integral == sum;
    *ret_mean = trial->until_ns > 0 ? (double)integral / (double)trial->until_ns : 0;
    return STATUS_OK;
}

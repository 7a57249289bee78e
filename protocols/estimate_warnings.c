#include "protocols/estimate_parts.h"

#include <math.h>
#include <stdlib.h>

#include "harness/core/text.h"
#include "protocols/stats/order.h"

/* Impulses above this share of a trial are worth a word. */
#define IMPULSES_WORTH_SAYING 0.01
#define TRIALS_FOR_EVIDENCE 5

struct list {
    struct estimate *estimate;
    bool failed;
};

/* Takes the heap string; NULL marks the list as failed. */
static void add(struct list *list, char *warning)
{
    struct estimate *e = list->estimate;
    char **grown;

    if (!warning) {
        list->failed = true;
        return;
    }
    grown = realloc(e->warnings, (e->warning_count + 1) * sizeof(*grown));
    if (!grown) {
        free(warning);
        list->failed = true;
        return;
    }
    e->warnings = grown;
    e->warnings[e->warning_count++] = warning;
}

static void warn_verdict(struct list *list, size_t trial, const struct estimate_series *series,
                         const struct estimate_part *part, const struct estimate_trial *result)
{
    const struct steady_state *state = &part->state;
    double percent = 100 * state->change;

    switch (result->verdict) {
    case ESTIMATE_FLAT:
        break;
    case ESTIMATE_WARMUP:
    case ESTIMATE_SLOWDOWN:
        if (result->steady_from > series->first)
            add(list, text_format("trial %zu: settled at sample %zu only, after a start %.3g %% "
                                  "%s; the %zu samples before it are kept but not in the estimate "
                                  "(a longer declared warmup would cover them)",
                                  trial, result->steady_from, fabs(percent),
                                  percent > 0 ? "slower" : "faster", result->steady_from));
        if (state->remainder > 0)
            add(list, text_format("trial %zu: what is left of its start is up to %.2g %% of the "
                                  "mean, and the interval is wider by that: warm up longer",
                                  trial, 100 * state->remainder));
        break;
    case ESTIMATE_DRIFT:
        add(list, text_format("trial %zu: drifts by %+.3g %% over its window and never settles, so "
                              "it gives no number; look at temperature and clocks, then warm up "
                              "longer or measure longer",
                              trial, percent));
        break;
    case ESTIMATE_TWO_STATE:
        add(list,
            text_format("trial %zu: jumps between two levels, %.4g ns and %.4g ns (%.0f %% of "
                        "the time, %zu changes); the mean is of their mix and no headline "
                        "number; look for a clock, a neighbour or a placement that switches",
                        trial, exp(state->states.low), exp(state->states.high),
                        100 * state->states.high_share, state->states.transitions));
        break;
    case ESTIMATE_NO_STEADY_STATE:
        add(list, text_format("trial %zu: the level changed by %.3g %% in its last quarter, so no "
                              "steady state was reached and it gives no number; measure longer",
                              trial, fabs(percent)));
        break;
    case ESTIMATE_INSUFFICIENT:
        if (part->steady_count < STEADY_STATE_LEAST)
            add(list, text_format("trial %zu: %zu samples after the declared warmup; at least %d "
                                  "are needed to say anything of its course: measure longer",
                                  trial, part->steady_count, STEADY_STATE_LEAST));
        else
            add(list, text_format("trial %zu: its %zu samples hang together so much that they are "
                                  "worth %.3g independent ones, too few for an interval: measure "
                                  "longer, or run more trials",
                                  trial, part->steady_count, result->ess));
        break;
    }
}

static void warn_samples(struct list *list, size_t trial, const struct estimate_series *series,
                         const struct estimate_part *part, const struct estimate_options *options)
{
    const struct steady_state *state = &part->state;
    double level;

    if (series->count == 0)
        return;
    level = (double)series->sample_ns[series->count - 1];
    if (series->count >= STEADY_STATE_LEAST && state->resolution_ns == 0)
        add(list, text_format("trial %zu: all %zu samples are %.0f ns; either the timer is too "
                              "coarse for them or they were not measured one by one: time blocks "
                              "of more iterations",
                              trial, series->count, level));
    else if ((double)state->resolution_ns > options->steady_tolerance * level)
        add(list, text_format("trial %zu: the timer moves in steps of %lld ns, %.2g %% of a "
                              "sample: time blocks of more iterations",
                              trial, (long long)state->resolution_ns,
                              100 * (double)state->resolution_ns / level));
    if ((double)state->impulses > IMPULSES_WORTH_SAYING * (double)series->count)
        add(list, text_format("trial %zu: %zu of %zu samples stand far from their neighbours; they "
                              "are kept in the mean and the percentiles: look for interruptions",
                              trial, state->impulses, series->count));
}

static void warn_cell(struct list *list, const struct estimate_options *options)
{
    struct estimate *e = list->estimate;
    size_t i;

    if (!e->mean_ns.has_value)
        add(list, text_format("no mean is given, since at least one trial has no steady state"));
    else if (!e->mean_ns.has_interval)
        add(list, text_format("no interval is given: the samples do not carry one; measure longer "
                              "or run more trials"));
    if (e->trial_count == 1)
        add(list, text_format("one trial: the interval does not contain the differences between "
                              "processes, often the larger part; run at least %d trials",
                              TRIALS_FOR_EVIDENCE));
    else if (e->trial_count < TRIALS_FOR_EVIDENCE)
        add(list, text_format("%zu trials: the interval between processes rests on few; run at "
                              "least %d trials",
                              e->trial_count, TRIALS_FOR_EVIDENCE));
    if (e->needed_trials > 0)
        add(list, text_format("imprecise: about %llu trials would bring the interval within "
                              "+-%.3g %%",
                              (unsigned long long)e->needed_trials, 100 * options->margin));
    for (i = 0; e->mean_ns.has_value && i < e->percentile_count; i++) {
        const struct estimate_percentile *p = &e->percentiles[i];

        if (!p->interval.has_value)
            add(list,
                text_format("p%.10g is refused: it takes %llu independent samples; at this "
                            "autocorrelation measure about %llu in all (there are %zu)",
                            100 * p->q, (unsigned long long)order_needed(p->q),
                            (unsigned long long)p->needed_n, e->sample_count));
        else if (!p->interval.has_interval)
            add(list, text_format("p%.10g has no interval: no sample lies far enough beyond it; "
                                  "measure longer",
                                  100 * p->q));
    }
}

enum status estimate_add_warnings(const struct estimate_series *series,
                                  const struct estimate_part *parts,
                                  const struct estimate_options *options, struct estimate *e,
                                  struct error *err)
{
    struct list list = {.estimate = e};
    size_t i;

    for (i = 0; i < e->trial_count; i++) {
        warn_verdict(&list, i, &series[i], &parts[i], &e->trials[i]);
        warn_samples(&list, i, &series[i], &parts[i], options);
    }
    warn_cell(&list, options);
    if (list.failed)
        return error_set(err, STATUS_NO_MEMORY, "no memory for warnings");
    return STATUS_OK;
}

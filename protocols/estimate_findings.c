#include "protocols/estimate_parts.h"

#include <math.h>

#include "protocols/stats/order.h"

/* Outliers above this share of a trial are reported as a finding. */
#define OUTLIERS_WORTH_SAYING 0.01
#define TRIALS_FOR_EVIDENCE 5

/* Where steady state begins, if that is after the declared warmup. */
static void add_late_warmup(struct finding_list *list, const struct estimate_series *series,
                            const struct steady_state *state, const struct estimate_trial *trial)
{
    if (trial->steady_from > series->first)
        finding_add(list, FINDING_LATE_WARMUP, trial->number, NULL,
                    (double[]){(double)trial->steady_from, state->change});
}

static void add_levels(struct finding_list *list, const struct steady_state *state, int64_t number)
{
    const struct two_state *s = &state->states;
    const double low = exp(s->low), high = exp(s->high), changes = (double)s->transitions;

    if (s->levels > 2)
        finding_add(list, FINDING_SEVERAL_LEVELS, number, NULL,
                    (double[]){(double)s->levels, low, high, changes});
    else
        finding_add(list, FINDING_BIMODAL, number, NULL,
                    (double[]){low, high, s->high_share, changes});
}

static void add_of_verdict(struct finding_list *list, const struct estimate_series *series,
                           const struct estimate_part *part, const struct estimate_trial *trial)
{
    const struct steady_state *state = &part->state;
    const int64_t number = trial->number;

    switch (trial->verdict) {
    case ESTIMATE_WARMUP:
    case ESTIMATE_SLOWDOWN:
        add_late_warmup(list, series, state, trial);
        if (state->remainder > 0)
            finding_add(list, FINDING_WARMUP_REMAINDER, number, NULL, (double[]){state->remainder});
        break;
    case ESTIMATE_DRIFT:
        finding_add(list, FINDING_DRIFT, number, NULL, (double[]){state->change});
        break;
    case ESTIMATE_BIMODAL:
        if (!state->states.found)
            add_late_warmup(list, series, state, trial);
        add_levels(list, state, number);
        break;
    case ESTIMATE_NON_STATIONARY:
        finding_add(list, FINDING_CHANGE_POINT, number, NULL, (double[]){state->change});
        break;
    case ESTIMATE_INSUFFICIENT:
        if (part->used_count < STEADY_STATE_LEAST)
            finding_add(list, FINDING_FEW_SAMPLES, number, NULL,
                        (double[]){(double)part->used_count, STEADY_STATE_LEAST});
        else
            finding_add(list, FINDING_AUTOCORRELATED, number, NULL,
                        (double[]){trial->ess, (double)part->used_count});
        break;
    case ESTIMATE_UNDETERMINED:
        if (state->states.levels > 0)
            finding_add(list, FINDING_FEW_VALUES, number, NULL,
                        (double[]){(double)state->states.levels, exp(state->states.low),
                                   exp(state->states.high), (double)state->resolution_ns});
        if (state->root_distance > 0)
            finding_add(
                list, FINDING_UNIT_ROOT, number, NULL,
                (double[]){state->root_distance, STEADY_STATE_UNIT_ROOT, (double)part->used_count});
        break;
    default:
        break;
    }
    if (state->memory_order > 0)
        finding_add(list, FINDING_LONG_MEMORY, number, NULL, (double[]){state->memory_order});
}

static void add_of_samples(struct finding_list *list, const struct estimate_series *series,
                           const struct estimate_part *part, int64_t number,
                           const struct estimate_options *options)
{
    const struct steady_state *state = &part->state;
    double level, count = (double)series->count;

    if (series->count == 0)
        return;
    level = (double)series->sample_ns[series->count - 1];
    if (series->count >= STEADY_STATE_LEAST && state->resolution_ns == 0)
        finding_add(list, FINDING_CONSTANT_SAMPLES, number, NULL, (double[]){count, level});
    else if (series->count >= STEADY_STATE_LEAST &&
             (double)state->resolution_ns > options->steady_tolerance * level)
        finding_add(list, FINDING_COARSE_TIMER, number, NULL,
                    (double[]){(double)state->resolution_ns, (double)state->resolution_ns / level});
    if ((double)state->impulses > OUTLIERS_WORTH_SAYING * count)
        finding_add(list, FINDING_OUTLIERS, number, NULL,
                    (double[]){(double)state->impulses, count});
}

static void add_of_cell(struct finding_list *list, const struct estimate *e,
                        const struct estimate_part *parts, const struct estimate_options *options)
{
    const struct metric_value *mean = &e->metrics[METRIC_ITERATION_TIME];
    size_t fewest = SIZE_MAX, with = 0, only = 0, i;
    bool between;

    for (i = 0; i < e->trial_count; i++) {
        if (parts[i].used_count > 0 && parts[i].used_count < fewest)
            fewest = parts[i].used_count;
        with += parts[i].used_count > 0;
        only = parts[i].used_count > 0 ? i : only;
    }
    between = with > 1;
    if (mean->has_value && !mean->has_interval)
        finding_add(list, FINDING_NO_INTERVAL, 0, NULL, NULL);
    if (e->trial_count == 1)
        finding_add(list, FINDING_ONE_TRIAL, 0, NULL, (double[]){TRIALS_FOR_EVIDENCE});
    else if (e->trial_count < TRIALS_FOR_EVIDENCE)
        finding_add(list, FINDING_FEW_TRIALS, 0, NULL,
                    (double[]){(double)e->trial_count, TRIALS_FOR_EVIDENCE});
    /* All of them on one level of two: (1 - share)^trials = 5 %. */
    if (between)
        finding_add(list, FINDING_UNSEEN_LEVELS, 0, NULL,
                    (double[]){(double)with, 1 - pow(0.05, 1 / (double)with)});
    if (e->needed_trials > 0 && mean->has_interval)
        finding_add(list, FINDING_IMPRECISE, 0, NULL,
                    (double[]){metric_half_width(mean), (double)e->needed_trials, options->margin});
    for (i = 0; i < options->percentile_count; i++) {
        enum metric_id id = metric_of_quantile(options->percentiles[i]);
        const struct metric_value *p = &e->metrics[id];

        if (!p->has_value && between)
            finding_add(list, FINDING_PERCENTILE_TRIALS, 0, metrics[id].label,
                        (double[]){(double)p->needed, (double)fewest});
        else if (!p->has_value)
            finding_add(list, FINDING_PERCENTILE_NEEDS, 0, metrics[id].label,
                        (double[]){(double)order_needed(metrics[id].q), (double)p->needed,
                                   (double)parts[only].used_count});
        else if (!p->has_interval && (between || estimate_has_one_distribution(e, &parts[only])))
            finding_add(list,
                        between || parts[only].state.resolution_ns == 0 ? FINDING_PERCENTILE_ALIKE
                                                                        : FINDING_PERCENTILE_OPEN,
                        0, metrics[id].label, NULL);
    }
}

enum status estimate_add_findings(const struct estimate_series *series,
                                  const struct estimate_part *parts,
                                  const struct estimate_options *options, struct estimate *e,
                                  struct error *err)
{
    size_t i;

    for (i = 0; i < e->trial_count; i++) {
        add_of_verdict(&e->findings, &series[i], &parts[i], &e->trials[i]);
        add_of_samples(&e->findings, &series[i], &parts[i], e->trials[i].number, options);
    }
    add_of_cell(&e->findings, e, parts, options);
    if (e->findings.failed)
        return error_no_memory(err);
    return STATUS_OK;
}

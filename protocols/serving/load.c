#include "protocols/serving/analysis_parts.h"

#include <math.h>
#include <stdlib.h>

#include "protocols/stats/distribution.h"
#include "protocols/stats/order.h"
#include "protocols/stats/special.h"

#define GAPS_LEAST 100
#define GAPS_MAX 200000 /* of all trials together: what is beyond is not tested */
#define LAGS 20
#define BIN 50 /* arrivals expected in a bin of counts */
/* Of all four tests of a cell together, by Bonferroni. */
#define FALSE_ALARMS 0.005
#define LATE_SHARE 0.001

/* Upper tail of chi squared; Wilson and Hilferty's cube root (PNAS 17 (1931)) for many degrees. */
static double chi_squared_upper(double x, double df)
{
    double variance = 2 / (9 * df);

    if (df <= 1000)
        return exp(special_gamma_upper_log(df / 2, x / 2));
    return normal_upper((cbrt(x / df) - (1 - variance)) / sqrt(variance));
}

static double two_sided(double p)
{
    return fmin(1, 2 * fmin(p, 1 - p));
}

/* Kolmogorov's limiting distribution with Stephens' correction (JRSS B 32 (1970)). Sorts. */
static double p_of_gaps(double *gaps, size_t count)
{
    double n = (double)count, largest = 0, x, p = 0, sign = 1;

    order_sort_real(gaps, count);
    for (size_t i = 0; i < count; i++) {
        double cdf = -expm1(-gaps[i]);

        largest = fmax(largest, fmax(cdf - (double)i / n, (double)(i + 1) / n - cdf));
    }
    x = largest * (sqrt(n) + 0.12 + 0.11 / sqrt(n));
    if (x < 0.3)
        return 1;
    for (int k = 1; k <= 100; k++, sign = -sign)
        p += 2 * sign * exp(-2 * k * k * x * x);
    return fmin(fmax(p, 0), 1);
}

/* Ljung and Box (Biometrika 65 (1978)) of the gaps' normal scores, centred: another distribution of
 * the gaps is not another order. Overwrites the gaps. */
static double ljung_box(double *gaps, size_t count)
{
    double n = (double)count, mean = 0, variance = 0, sum = 0;

    for (size_t i = 0; i < count; i++) {
        gaps[i] = normal_quantile(fmin(fmax(-expm1(-gaps[i]), 1e-12), 1 - 1e-12));
        mean += gaps[i] / n;
    }
    for (size_t i = 0; i < count; i++) {
        gaps[i] -= mean;
        variance += gaps[i] * gaps[i];
    }
    for (size_t lag = 1; lag <= LAGS; lag++) {
        double product = 0;

        for (size_t i = lag; i < count; i++)
            product += gaps[i] * gaps[i - lag];
        product /= variance;
        sum += product * product / (n - (double)lag);
    }
    return n * (n + 2) * sum;
}

/* Sum of squared deviations of the counts in equal bins, by their mean; *ret_df is 0 for too few.
 */
static double count_dispersion(const double *gaps, size_t count, double *ret_df)
{
    size_t bins = count / BIN, bin = 0, in_bin = 0;
    double total = 0, at = 0, sum = 0, mean;

    *ret_df = 0;
    if (bins < 2)
        return 0;
    for (size_t i = 0; i < count; i++)
        total += gaps[i];
    mean = (double)count / (double)bins;
    for (size_t i = 0; i < count; i++) {
        at += gaps[i];
        while (at > total * (double)(bin + 1) / (double)bins && bin + 1 < bins) {
            sum += ((double)in_bin - mean) * ((double)in_bin - mean);
            in_bin = 0;
            bin++;
        }
        in_bin++;
    }
    sum += ((double)in_bin - mean) * ((double)in_bin - mean);
    *ret_df = (double)bins - 1;
    return sum / mean;
}

/* Sent times of a trial, ascending, and their gaps in operational time; returns how many gaps. */
static size_t rescaled_gaps(const struct serving_trial *trial,
                            const struct serving_options *options, int64_t *sent, double *gaps)
{
    size_t count = 0;

    for (size_t i = 0; i < trial->schedule->count; i++)
        if (trial->requests[i].sent_ns != REQUEST_NEVER)
            sent[count++] = trial->requests[i].sent_ns;
    order_sort(sent, count);
    if (count < GAPS_LEAST + 1 ||
        !arrivals_rescale(options->arrivals, options->rate, trial->seed, sent, count, gaps))
        return 0;
    return count - 1;
}

/* The four tests; of the gaps of the first trials, up to GAPS_MAX. */
static void test_process(const struct serving_trial *trials, size_t count,
                         const struct serving_options *options, int64_t *sent, double *gaps,
                         struct load_result *ret)
{
    double sum = 0, lags = 0, box = 0, dispersion = 0, degrees = 0, df;
    size_t all = 0;
    double *scratch = gaps + GAPS_MAX;

    for (size_t r = 0; r < count; r++) {
        size_t n = rescaled_gaps(&trials[r], options, sent, scratch);

        n = n < GAPS_MAX - all ? n : GAPS_MAX - all;
        if (n < GAPS_LEAST)
            continue;
        for (size_t i = 0; i < n; i++) {
            sum += scratch[i];
            gaps[all + i] = scratch[i];
        }
        all += n;
        dispersion += count_dispersion(scratch, n, &df);
        degrees += df;
        box += ljung_box(scratch, n);
        lags += LAGS;
    }
    if (all == 0)
        return;
    ret->p_rate = two_sided(normal_cdf((sum - (double)all) / sqrt((double)all)));
    ret->p_independence = chi_squared_upper(box, lags);
    if (degrees > 0)
        ret->p_dispersion = two_sided(chi_squared_upper(dispersion, degrees));
    ret->p_gaps = p_of_gaps(gaps, all);
}

static void count_requests(const struct serving_trial *trial, const struct serving_options *options,
                           int64_t limit_ns, uint64_t *late, double *lags, size_t *sent,
                           struct load_result *ret)
{
    for (size_t i = 0; i < trial->schedule->count; i++) {
        const struct scheduled_request *planned = &trial->schedule->requests[i];
        const struct request *r = &trial->requests[i];

        /* A refused request that was never sent met a full ring: that is the subject's doing. */
        ret->requests++;
        ret->mismatched +=
            r->scheduled_ns != planned->at_ns || (r->prompt_tokens != planned->prompt_tokens &&
                                                  r->prompt_tokens > 0 && !options->prompts_told);
        if (r->sent_ns == REQUEST_NEVER) {
            ret->not_sent++;
            *late += r->status != REQUEST_REFUSED;
            continue;
        }
        ret->early += r->sent_ns < r->scheduled_ns;
        *late += r->sent_ns - r->scheduled_ns > limit_ns;
        lags[(*sent)++] = (double)(r->sent_ns - r->scheduled_ns);
    }
}

static void judge(struct load_result *ret)
{
    const double least = fmin(fmin(ret->p_rate, ret->p_gaps),
                              fmin(ret->p_independence, ret->p_dispersion)); /* passes NaN over */

    if (ret->mismatched > 0 || ret->early > 0)
        ret->verdict = LOAD_NOT_AS_DECLARED;
    else if (ret->late_share > LATE_SHARE)
        ret->verdict = LOAD_LATE;
    else
        ret->verdict = 4 * least < FALSE_ALARMS ? LOAD_NOT_AS_DECLARED : LOAD_DELIVERED;
}

enum status serving_check_load(const struct serving_trial *trials, size_t count,
                               const struct serving_options *options, struct load_result *ret,
                               struct error *err)
{
    const int64_t limit_ns = options->lag_limit_ns > 0 ? options->lag_limit_ns : 1000000;
    size_t all = 0, longest = 0, sent = 0;
    uint64_t late = 0;
    double *lags, *gaps;
    int64_t *times;

    for (size_t r = 0; r < count; r++) {
        all += trials[r].schedule->count;
        longest = trials[r].schedule->count > longest ? trials[r].schedule->count : longest;
    }
    lags = malloc(all * sizeof(*lags));
    times = malloc(longest * sizeof(*times));
    gaps = malloc((GAPS_MAX + longest) * sizeof(*gaps));
    *ret = (struct load_result){.lag_p999_ns = NAN,
                                .p_rate = NAN,
                                .p_gaps = NAN,
                                .p_independence = NAN,
                                .p_dispersion = NAN};
    if (lags && times && gaps) {
        for (size_t r = 0; r < count; r++)
            count_requests(&trials[r], options, limit_ns, &late, lags, &sent, ret);
        ret->late_share = (double)late / (double)all;
        if (sent > 0)
            ret->lag_p999_ns = order_select(lags, sent, order_quantile_index(sent, 0.999));
        test_process(trials, count, options, times, gaps, ret);
        judge(ret);
    }
    all = lags && times && gaps;
    free(lags);
    free(times);
    free(gaps);
    return all ? STATUS_OK : error_no_memory(err);
}

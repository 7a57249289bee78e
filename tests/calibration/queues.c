#include "tests/calibration/queues.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/core/random.h"

#define SERVERS 4
#define BATCH 16
#define BATCH_A 8e-3   /* a, in seconds */
#define BATCH_C 0.5e-3 /* c; capacity 16 / (8 + 16 * 0.5) ms */
#define LOGNORMAL_CV 1.5

const char *queue_name(enum queue_kind kind)
{
    static const char *const names[] = {"M/M/1", "M/D/1", "M/G/1 lognormal cv 1.5", "M/M/4",
                                        "batches of up to 16"};

    return names[kind];
}

static double mean_service(enum queue_kind kind)
{
    return kind == QUEUE_MMC ? SERVERS / QUEUE_CAPACITY : 1 / QUEUE_CAPACITY;
}

struct serving_subject queue_subject(enum queue_kind kind)
{
    return (struct serving_subject){
        QUEUE_CAPACITY, kind == QUEUE_BULK ? BATCH_A + BATCH * BATCH_C : mean_service(kind),
        kind == QUEUE_MG1 ? LOGNORMAL_CV : 1};
}

/* ---- simulation ---- */

static double draw_service(enum queue_kind kind, struct random *random)
{
    double variance = log1p(LOGNORMAL_CV * LOGNORMAL_CV);

    if (kind == QUEUE_MD1)
        return mean_service(kind);
    if (kind == QUEUE_MG1)
        return mean_service(kind) * exp(sqrt(variance) * random_next_normal(random) - variance / 2);
    return mean_service(kind) * random_next_exponential(random);
}

static double slowed(const struct queue_fault *fault, size_t i, size_t count)
{
    return (1 + fault->longer) * (i >= count / 2 ? 1 + fault->slower : 1);
}

static void serve_singly(enum queue_kind kind, const struct schedule *s,
                         const struct queue_fault *fault, struct random *random, int64_t *done)
{
    double free_at[SERVERS] = {0};
    const int servers = kind == QUEUE_MMC ? SERVERS : 1;

    for (size_t i = 0; i < s->count; i++) {
        double at = (double)s->requests[i].at_ns * 1e-9;
        int first = 0;

        for (int k = 1; k < servers; k++)
            if (free_at[k] < free_at[first])
                first = k;
        free_at[first] =
            fmax(free_at[first], at) + draw_service(kind, random) * slowed(fault, i, s->count);
        done[i] = (int64_t)(free_at[first] * 1e9);
    }
}

static void serve_batches(const struct schedule *s, const struct queue_fault *fault, int64_t *done)
{
    double free_at = 0;
    size_t i = 0;

    while (i < s->count) {
        double begin = fmax(free_at, (double)s->requests[i].at_ns * 1e-9);
        size_t end = i;

        while (end < s->count && end - i < BATCH && (double)s->requests[end].at_ns * 1e-9 <= begin)
            end++;
        if (end == i) /* rounding of the very arrival that the server waited for */
            end++;
        free_at = begin + (BATCH_A + BATCH_C * (double)(end - i)) * slowed(fault, i, s->count);
        while (i < end)
            done[i++] = (int64_t)(free_at * 1e9);
    }
}

void queue_serve(enum queue_kind kind, const struct schedule *schedule,
                 const struct queue_fault *fault, uint64_t seed, int64_t until_ns,
                 struct request *requests)
{
    const size_t late_from = (size_t)((1 - fault->lag_share) * (double)schedule->count);
    const double stall_ns = fault->stall * (double)schedule->window_ns;
    int64_t *done = calloc(schedule->count, sizeof(*done));
    struct random random;

    if (!done)
        exit(2);
    random_init(&random, seed, 77);
    if (kind == QUEUE_BULK)
        serve_batches(schedule, fault, done);
    else
        serve_singly(kind, schedule, fault, &random, done);
    for (size_t i = 0; i < schedule->count; i++) {
        const struct scheduled_request *planned = &schedule->requests[i];
        bool over = done[i] <= until_ns && (stall_ns == 0 || (double)done[i] <= stall_ns);

        requests[i] = (struct request){
            .scheduled_ns = planned->at_ns,
            .sent_ns = planned->at_ns + (i >= late_from ? (int64_t)(fault->lag_s * 1e9) : 0),
            .admitted_ns = REQUEST_NEVER,
            .first_ns = REQUEST_NEVER,
            .done_ns = over ? done[i] : REQUEST_NEVER,
            .worst_gap_ns = REQUEST_NEVER,
            .status = over ? REQUEST_OK : REQUEST_UNFINISHED};
    }
    free(done);
}

/* ---- theory ---- */

/* Service and its equilibrium residual: P(S > x), and the integral of it from x on / mean. */
static double service_upper(enum queue_kind kind, double x)
{
    double variance = log1p(LOGNORMAL_CV * LOGNORMAL_CV);

    if (kind == QUEUE_MD1)
        return x < 1 ? 1 : 0;
    return x <= 0 ? 1 : 0.5 * erfc((log(x) + variance / 2) / sqrt(2 * variance));
}

/* E(S - x)+ of mean 1: of the lognormal as Black and Scholes. */
static double residual_upper(enum queue_kind kind, double x)
{
    double variance = log1p(LOGNORMAL_CV * LOGNORMAL_CV), d;

    if (kind == QUEUE_MD1)
        return fmax(1 - x, 0);
    if (x <= 0)
        return 1;
    d = (-log(x) + variance / 2) / sqrt(variance);
    return 0.5 * erfc(-d / M_SQRT2) - x * 0.5 * erfc(-(d - sqrt(variance)) / M_SQRT2);
}

/*
 * M/G/1 by Pollaczek-Khinchine: the wait is a geometric number of residual services. Their
 * distribution on a grid (each rounded to the nearest point), compounded by Panjer's recursion, and
 * the service added.
 */
static double mg1_tail(enum queue_kind kind, double load, double x)
{
    const size_t steps = 4000;
    const double h = x / (double)steps;
    double *residual = calloc(steps + 1, sizeof(*residual)),
           *wait = calloc(steps + 1, sizeof(*wait));
    double above = 1;

    if (!residual || !wait)
        exit(2);
    for (size_t k = 0; k <= steps; k++)
        residual[k] = (k ? residual_upper(kind, ((double)k - 0.5) * h) : 1) -
                      residual_upper(kind, ((double)k + 0.5) * h);
    for (size_t k = 0; k <= steps; k++) {
        double sum = k ? 0 : (1 - load);

        for (size_t j = 1; j <= k; j++)
            sum += load * residual[j] * wait[k - j];
        wait[k] = sum / (1 - load * residual[0]);
    }
    /* P(W + S > x) = 1 - sum of P(W = w) P(S <= x - w); half of an atom at the very end. */
    for (size_t k = 0; k <= steps; k++) {
        double rest = x - (double)k * h;
        double upper = kind == QUEUE_MD1 && fabs(rest - 1) < h / 2 ? 0.5 - (rest - 1) / h
                                                                   : service_upper(kind, rest);

        above -= wait[k] * (1 - upper);
    }
    free(residual);
    free(wait);
    return above;
}

/* M/M/c: the wait by Erlang C, and an exponential service; in units of 1 / capacity. */
static double mmc_tail(double load, double x)
{
    double mu = 1.0 / SERVERS, theta = 1 - load, offered = load * SERVERS, term = 1, sum = 1, last;
    double waits;

    for (int k = 1; k < SERVERS; k++) {
        term *= offered / k;
        sum += term;
    }
    last = term * offered / SERVERS / (1 - load);
    waits = last / (sum + last);
    if (fabs(theta - mu) < 1e-9)
        theta += 1e-7;
    return (1 - waits) * exp(-mu * x) +
           waits * (theta * exp(-mu * x) - mu * exp(-theta * x)) / (theta - mu);
}

/* ---- batches ---- */

#define WAITING 1500 /* states */

static void poisson(double mean, double *p, size_t count)
{
    p[0] = exp(-mean);
    for (size_t k = 1; k < count; k++)
        p[k] = p[k - 1] * mean / (double)k;
}

static size_t batch_of(size_t waiting)
{
    return waiting == 0 ? 1 : waiting < BATCH ? waiting : BATCH;
}

/* Numbers left behind at the end of a batch, by iteration of the embedded chain. */
static void stationary(double rate, double *pi)
{
    static double arrivals[BATCH + 1][128];
    double *next = calloc(WAITING, sizeof(*next)), change = 1;

    if (!next)
        exit(2);
    for (size_t b = 1; b <= BATCH; b++)
        poisson(rate * (BATCH_A + BATCH_C * (double)b), arrivals[b], 128);
    for (size_t n = 0; n < WAITING; n++)
        pi[n] = n == 0;
    for (int round = 0; round < 100000 && change > 1e-13; round++) {
        change = 0;
        for (size_t n = 0; n < WAITING; n++)
            next[n] = 0;
        for (size_t n = 0; n < WAITING; n++) {
            size_t b = batch_of(n), rest = n > b ? n - b : 0;

            if (pi[n] > 1e-18)
                for (size_t k = 0; k < 128 && rest + k < WAITING; k++)
                    next[rest + k] += pi[n] * arrivals[b][k];
        }
        for (size_t n = 0; n < WAITING; n++) {
            change += fabs(next[n] - pi[n]);
            pi[n] = next[n];
        }
    }
    free(next);
}

/* P(a request takes longer than x) that is the p-th in the queue when the batch under way, which
   takes `rest` more, is over. Its own batch takes in who came until it begins. */
static double behind(double rate, size_t p, double rest, double x)
{
    size_t before = (p - 1) / BATCH, own = p - before * BATCH;
    double wait = rest + (double)before * (BATCH_A + BATCH_C * BATCH), above = 0, left = 1;
    double more[BATCH];

    poisson(rate * wait, more, BATCH);
    for (size_t b = own; b < BATCH; b++) {
        above += wait + BATCH_A + BATCH_C * (double)b > x ? more[b - own] : 0;
        left -= more[b - own];
    }
    return above + (wait + BATCH_A + BATCH_C * BATCH > x ? left : 0);
}

static double bulk_tail(double load, double x)
{
    enum { POINTS = 512, COUNTS = 96 };
    const double rate = load * QUEUE_CAPACITY;
    double *pi = calloc(WAITING, sizeof(*pi)), above = 0, all = 0, counts[COUNTS];

    if (!pi)
        exit(2);
    stationary(rate, pi);
    for (size_t n = 0; n < WAITING; n++) {
        size_t b = batch_of(n), rest = n > b ? n - b : 0;
        double length = BATCH_A + BATCH_C * (double)b;

        if (pi[n] < 1e-9)
            continue;
        all += pi[n] * rate * length; /* who comes during the batch */
        for (int u = 0; u < POINTS; u++) {
            double since = length * (u + 0.5) / POINTS;

            poisson(rate * since, counts, COUNTS);
            for (size_t k = 0; k < COUNTS; k++)
                if (counts[k] > 1e-9)
                    above += pi[n] * rate * length / POINTS * counts[k] *
                             behind(rate, rest + k + 1, length - since, x);
        }
        if (n == 0) { /* and the one that found it idle */
            all += pi[n];
            above += BATCH_A + BATCH_C > x ? pi[n] : 0;
        }
    }
    free(pi);
    return above / all;
}

double queue_tail(enum queue_kind kind, double load, double seconds)
{
    double x = seconds * QUEUE_CAPACITY;

    switch (kind) {
    case QUEUE_MM1:
        return exp(-(1 - load) * x);
    case QUEUE_MD1:
    case QUEUE_MG1:
        return mg1_tail(kind, load, x);
    case QUEUE_MMC:
        return mmc_tail(load, x);
    case QUEUE_BULK:
        return bulk_tail(load, seconds);
    case QUEUE_KIND_COUNT:
        break;
    }
    return NAN;
}

double queue_level(enum queue_kind kind, double load, double tail)
{
    double lo, hi = 2000 / QUEUE_CAPACITY;

    while (queue_tail(kind, load, hi / 2) < tail)
        hi /= 2;
    lo = hi / 2;
    for (int i = 0; i < 18; i++) {
        double middle = (lo + hi) / 2;

        if (queue_tail(kind, load, middle) > tail)
            lo = middle;
        else
            hi = middle;
    }
    return (lo + hi) / 2;
}

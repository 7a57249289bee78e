#include "results/analysis/serving_change.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "protocols/serving/declared.h"
#include "results/analysis/judged.h"

#define RATES_MAX 64

/* What makes results of one campaign rates of one server. */
static bool same_server(const json_t *a, const json_t *b)
{
    static const char *const names[] = {"workload_digest", "precision", "batch", "implementation"};
    const json_t *x = json_object_get(a, "identity"), *y = json_object_get(b, "identity");

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!json_equal(json_object_get(x, names[i]), json_object_get(y, names[i])))
            return false;
    return !strcmp(member_text(a, "device_spec"), member_text(b, "device_spec")) &&
           !strcmp(member_text(a, "arm"), member_text(b, "arm"));
}

struct rates {
    struct serving_result results[RATES_MAX];
    size_t count;
    int64_t first; /* row of the first cell; 0: none yet */
};

static int ascending(const void *a, const void *b)
{
    const double x = ((const struct serving_result *)a)->rate,
                 y = ((const struct serving_result *)b)->rate;

    return (x > y) - (x < y);
}

static enum status add_rate(struct store *store, int64_t cell, const json_t *first,
                            struct rates *rates, struct error *err)
{
    json_auto_t *record = NULL;
    const json_t *serving;

    TRY(store_cell_json(store, cell, &record, err));
    if (!same_server(first, record) || rates->count == RATES_MAX)
        return STATUS_OK;
    TRY(judged_record(store, cell, record, err));
    serving = member_in(record, "estimate", "serving");
    if (!json_is_object(serving))
        return STATUS_OK;
    rates->first = rates->first ? rates->first : cell;
    return serving_result_of(serving, member_text(json_object_get(record, "identity"), "scenario"),
                             &rates->results[rates->count++], err);
}

enum status serving_capacity_of(struct store *store, const json_t *record,
                                struct capacity_result *ret, int64_t *ret_first, struct error *err)
{
    const json_t *campaign = json_object_get(record, "campaign");
    AUTO_FREE struct rates *rates = calloc(1, sizeof(*rates));
    struct serving_declared declared;
    json_auto_t *all = NULL;
    const json_t *cells;

    TRY(rates ? store_campaign_json(store, member_integer(campaign, "id"), &all, err)
              : error_no_memory(err));
    cells = json_object_get(all, "cells");
    for (size_t i = 0; i < json_array_size(cells); i++)
        TRY(add_rate(store, member_integer(json_array_get(cells, i), "cell"), record, rates, err));
    if (rates->count == 0)
        return error_set(err, STATUS_INVALID,
                         "%s is of no server under load: capacity comes from rates within limits, "
                         "never from a peak (assay run with scenario: server)",
                         member_text(record, "id"));
    TRY(serving_declared_read(json_object_get(record, "workload"), &declared, err));
    qsort(rates->results, rates->count, sizeof(*rates->results), ascending);
    TRY(serving_capacity(rates->results, rates->count, &declared.limits, ret, err));
    if (ret_first)
        *ret_first = rates->first;
    return STATUS_OK;
}

/* `dispersion` becomes at least its own, and infinite where its backlog grows. */
static enum status attainment_of(const json_t *record, struct served_figure *ret,
                                 double *dispersion, struct error *err)
{
    struct serving_result result;
    const json_t *serving = member_in(record, "estimate", "serving");

    if (!json_is_object(serving))
        return error_set(err, STATUS_INVALID, "%s is of no server under load, or not measured yet",
                         member_text(record, "id"));
    TRY(type_from_json(&serving_result_type, serving, &result, err));
    *ret = (struct served_figure){result.slo.attainment, result.slo.lo, result.slo.hi};
    *dispersion = fmax(*dispersion, result.slo.dispersion);
    if (result.slo.reason == SLO_REASON_GROWING) {
        *ret = (struct served_figure){0, 0, 0};
        *dispersion = INFINITY;
    } else if (result.slo.verdict == SLO_INCONCLUSIVE && result.slo.reason != SLO_REASON_SHARE) {
        return error_set(err, STATUS_INVALID,
                         "%s has no interval of its attainment: its load was not delivered, or its "
                         "windows are shorter than planned for (assay show)",
                         member_text(record, "id"));
    }
    return STATUS_OK;
}

static enum status figure_of(struct store *store, int64_t cell, enum compare_figure figure,
                             struct served_figure *ret, double *dispersion, int64_t *ret_first,
                             struct error *err)
{
    struct capacity_result capacity;
    json_auto_t *record = NULL;

    TRY(judged_cell_json(store, cell, &record, err));
    if (figure == COMPARE_ATTAINMENT)
        TRY(attainment_of(record, ret, dispersion, err));
    else
        TRY(serving_capacity_of(store, record, &capacity, ret_first, err));
    if (figure == COMPARE_CAPACITY) {
        *ret = (struct served_figure){capacity.value, capacity.lo, capacity.hi};
        if (capacity.state == CAPACITY_INCONCLUSIVE)
            return error_set(err, STATUS_INVALID,
                             "the rates of %s show no capacity: measure other rates, or longer",
                             member_text(record, "id"));
    }
    return STATUS_OK;
}

enum status serving_change_of(struct store *store, const int64_t cells[2],
                              const struct served_pair *pairs, size_t count,
                              const struct compare_options *options, struct served_change *ret,
                              int64_t ret_servers[2], struct error *err)
{
    const enum compare_figure figure = options->figure;
    struct served_figure a, b;
    double dispersion = 1;

    TRY(figure_of(store, cells[0], figure, &a, &dispersion, &ret_servers[0], err));
    TRY(figure_of(store, cells[1], figure, &b, &dispersion, &ret_servers[1], err));
    if (figure == COMPARE_ATTAINMENT && count > 1 && isfinite(dispersion))
        *ret = served_change_paired(&a, &b, pairs, count, dispersion, options);
    else
        *ret = served_change_make(figure, &a, &b, options);
    if (isnan(ret->change.lo) && isnan(ret->change.hi))
        return error_set(err, STATUS_INVALID,
                         "both are within the limits at every rate, or both at none: declare %s "
                         "rates, which tell them apart",
                         isnan(a.hi) ? "higher" : "lower");
    return STATUS_OK;
}

#include "protocols/history.h"

#include <stdlib.h>

#include "protocols/stats/order.h"

/* What is seen in the values need not be seen as clearly in their ranks. */
#define CAUTION_BY_RANK 0.7

enum status history_describe(const double *values, size_t count, struct trend *ret,
                             struct error *err)
{
    const double caution = count < HISTORY_FEW ? HISTORY_CAUTION_FEW : HISTORY_CAUTION;
    struct trend by_rank = {0};
    double *scores = calloc(count + 1, sizeof(*scores));
    enum status status = scores
                             ? trend_describe(values, count, 0, caution, TREND_STEPS, ret, err)
                             : error_set(err, STATUS_NO_MEMORY, "no memory for %zu results", count);

    if (status == STATUS_OK && ret->kind != TREND_CONSTANT) {
        order_normal_scores(values, count, scores);
        status =
            trend_describe(scores, count, 0, caution * CAUTION_BY_RANK, TREND_STEPS, &by_rank, err);
        if (status != STATUS_OK || by_rank.kind == TREND_CONSTANT)
            trend_finish(ret);
        if (status == STATUS_OK && by_rank.kind == TREND_CONSTANT)
            *ret = by_rank;
        else
            trend_finish(&by_rank);
    }
    free(scores);
    return status;
}

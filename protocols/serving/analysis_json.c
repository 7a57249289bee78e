/* What trials under load say, as records: their tables write, read and describe them (core/type.h).
 */
#include "protocols/serving/analysis.h"

#include "protocols/serving/change.h"

#define NAME_OF(constant, id) id,
static const char *const load_verdicts[] = {LOAD_VERDICT_MAP(NAME_OF)};
static const char *const queue_verdicts[] = {QUEUE_VERDICT_MAP(NAME_OF)};
static const char *const slo_verdicts[] = {SLO_VERDICT_MAP(NAME_OF)};
static const char *const slo_reasons[] = {SLO_REASON_MAP(NAME_OF)};
static const char *const percentile_states[] = {PERCENTILE_STATE_MAP(NAME_OF)};
static const char *const capacity_states[] = {CAPACITY_STATE_MAP(NAME_OF)};
#undef NAME_OF

/* clang-format off */
#define M(...) MEMBER(struct serving_plan, __VA_ARGS__)
static const struct member plan_members[] = {
    M(BOOLEAN, known),
    M(REAL, load),
    M(REAL, relaxation_s),
    M(REAL, warmup_s),
    M(COUNT, requests),
    M(REAL, trial_s),
    M(REAL, total_s),
};
#undef M
static const struct type plan_type = TYPE(struct serving_plan, "the plan of a load", plan_members);

#define M(...) MEMBER(struct serving_totals, __VA_ARGS__)
static const struct member totals_members[] = {
    M(COUNT, requests),
    M(COUNT, ok),
    M(COUNT, unfinished),
    M(COUNT, failed),
    M(COUNT, refused),
    M(COUNT, timed_out),
    M(COUNT, met),
    M(COUNT, undecided),
    M(COUNT, prompt_tokens),
    M(COUNT, output_tokens),
    M(COUNT, good_tokens),
    M(COUNT, disordered),
    M(INTEGER, span_ns),
};
#undef M
static const struct type totals_type = TYPE(struct serving_totals, "totals of requests", totals_members);

#define M(...) MEMBER(struct load_result, __VA_ARGS__)
static const struct member load_members[] = {
    M(NAME, verdict, .names = MEMBER_NAMES(load_verdicts)),
    M(COUNT, requests),
    M(COUNT, not_sent),
    M(COUNT, early),
    M(COUNT, mismatched),
    M(REAL, lag_p999_ns),
    M(REAL, late_share),
    M(REAL, p_rate),
    M(REAL, p_gaps),
    M(REAL, p_independence),
    M(REAL, p_dispersion),
};
#undef M
static const struct type load_type = TYPE(struct load_result, "a load", load_members);

#define M(...) MEMBER(struct queue_result, __VA_ARGS__)
static const struct member queue_members[] = {
    M(NAME, verdict, .names = MEMBER_NAMES(queue_verdicts)),
    M(REAL, growth),
    M(REAL, growth_lo),
    M(REAL, growth_hi),
    M(REAL, backlog),
    M(REAL, backlog_end),
    M(COUNT, audit_failed),
};
#undef M
static const struct type queue_type = TYPE(struct queue_result, "a queue", queue_members);

#define M(...) MEMBER(struct slo_result, __VA_ARGS__)
static const struct member slo_members[] = {
    M(NAME, verdict, .names = MEMBER_NAMES(slo_verdicts)),
    M(NAME, reason, .names = MEMBER_NAMES(slo_reasons)),
    M(REAL, attainment),
    M(REAL, least),
    M(REAL, most),
    M(REAL, lo),
    M(REAL, hi),
    M(REAL, goodput),
    M(REAL, dispersion),
    M(REAL, failures),
    M(COUNT, needed_requests),
    M(INTEGER, mlperf_allowed),
    M(BOOLEAN, mlperf_passes),
};
#undef M
static const struct type slo_type = TYPE(struct slo_result, "limits", slo_members);

#define M(...) MEMBER(struct percentile_result, __VA_ARGS__)
static const struct member percentile_members[] = {
    M(NAME, state, .names = MEMBER_NAMES(percentile_states)),
    M(REAL, value),
    M(REAL, lo),
    M(REAL, hi),
    M(COUNT, needed_requests),
};
#undef M
static const struct type percentile_type = TYPE(struct percentile_result, "a percentile", percentile_members);

struct percentile_row {
    struct percentile_result of[SERVING_PERCENTILES];
};
#define M(name, index) MEMBER_AS(struct percentile_row, RECORD, name, of[index], .of = &percentile_type)
static const struct member row_members[] = {M("p50", 0), M("p90", 1), M("p99", 2), M("p99.9", 3)};
#undef M
static const struct type row_type = TYPE(struct percentile_row, "percentiles", row_members);

struct percentile_rows {
    struct percentile_row of[SERVING_METRIC_COUNT];
};
#define M(code, name) MEMBER_AS(struct percentile_rows, RECORD, name, of[SERVING_##code], .of = &row_type),
static const struct member rows_members[] = {SERVING_METRIC_MAP(M)};
#undef M
static const struct type rows_type = TYPE(struct percentile_rows, "percentiles", rows_members);

#define M(...) MEMBER(struct serving_result, __VA_ARGS__)
static const struct member members[] = {
    M(COUNT, version),
    M(REAL, rate),
    M(REAL, confidence),
    M(COUNT, trials),
    M(REAL, windows),
    M(REAL, prompt_tokens_per_s),
    M(REAL, output_tokens_per_s),
    M(RECORD, plan, .of = &plan_type),
    M(RECORD, totals, .of = &totals_type),
    M(RECORD, load, .of = &load_type),
    M(RECORD, queue, .of = &queue_type),
    M(RECORD, slo, .of = &slo_type),
    M(RECORD, percentiles, .of = &rows_type),
};
#undef M
const struct type serving_result_type = TYPE(struct serving_result, "an analysis under load", members);

#define M(...) MEMBER(struct capacity_result, __VA_ARGS__)
static const struct member capacity_members[] = {
    M(NAME, state, .names = MEMBER_NAMES(capacity_states)),
    M(REAL, value),
    M(REAL, lo),
    M(REAL, hi),
    M(REAL, met),
    M(REAL, missed),
};
#undef M
const struct type capacity_result_type = TYPE(struct capacity_result, "a capacity", capacity_members);
/* clang-format on */

#include "results/analysis/calibration.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/array.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "results/analysis/judgement.h"

/*
 * The same trials in the order they ran, as if the first half had been one arm and the second half
 * the other: what comparing two runs made one after the other would have said.
 */
static bool blocked_differs(const struct pairs *pairs, const struct compare_options *options)
{
    size_t count = pairs->count;
    AUTO_FREE double *line = calloc(2 * count + 1, sizeof(*line));
    struct comparison comparison;
    bool differs = false;

    for (size_t k = 0; line && k < count; k++) {
        line[2 * k] = pairs->a[k];
        line[2 * k + 1] = pairs->b[k];
    }
    if (line &&
        unpaired_analyze(line, count, line + count, count, options, &comparison, NULL) == STATUS_OK)
        differs = comparison.differs;
    return differs;
}

/* Pairs of servers are compared by their latencies here, which their own figures do not need. */
static bool has_times(const struct stored_comparison *comparison)
{
    return comparison->figure == COMPARE_TIME ? comparison->has_numbers : comparison->has_latency;
}

static bool has_reason(const void *record)
{
    return ((const struct calibration_row *)record)->reason != NULL;
}

#define M(...) MEMBER(struct calibration_row, __VA_ARGS__)
#define OF_NUMBERS .flags = MEMBER_OPTIONAL, .absent = has_reason
static const struct member row_members[] = {
    M(TEXT, workload),
    M(TEXT, campaign),
    M(FINITE, margin),
    M(TEXT, reason, .flags = MEMBER_OPTIONAL, .help = "why there are no numbers"),
    M(REAL, ratio, OF_NUMBERS),
    M(REAL, sd_log, OF_NUMBERS),
    M(BOOLEAN, differs, OF_NUMBERS),
    M(TEXT, verdict, .flags = MEMBER_OPTIONAL | MEMBER_BORROWED, .absent = has_reason),
    M(BOOLEAN, blocked_differs, OF_NUMBERS),
};
#undef OF_NUMBERS
#undef M
static const struct type row_type = TYPE(struct calibration_row, "a row", row_members);

#define M(...) MEMBER(struct calibration, __VA_ARGS__)
static const struct member members[] = {
    M(INTEGER, clock_resolution_ns),
    M(FINITE, clock_read_ns),
    M(FINITE, sample_overhead_ns),
    M(INTEGER, comparisons),
    M(INTEGER, without_numbers),
    M(INTEGER, paired_different, .help = "whose interval excludes no difference"),
    M(INTEGER, paired_verdicts, .help = "called faster or slower"),
    M(INTEGER, blocked_different, .help = "as if one arm had run after the other"),
    M(LIST, rows, .of = &row_type, .count = offsetof(struct calibration, comparisons)),
};
#undef M
const struct type calibration_type = TYPE(struct calibration, "a calibration", members);

enum status calibration_add(struct calibration *calibration, const char *workload, const char *uid,
                            const struct stored_comparison *comparison,
                            const struct compare_options *options, struct error *err)
{
    const struct comparison *numbers = &comparison->numbers;
    const char *why = comparison->why.message;
    struct calibration_row *row;

    TRY(ARRAY_GROW(calibration->rows, calibration->comparisons, 1, err));
    row = &calibration->rows[calibration->comparisons++];
    *row = (struct calibration_row){
        .workload = strdup(workload), .campaign = strdup(uid), .margin = options->margin};
    if (!has_times(comparison)) {
        calibration->without_numbers++;
        row->reason = strdup(why[0] ? why : "no pair has latencies of both arms");
        return row->reason ? STATUS_OK : error_no_memory(err);
    }
    row->ratio = numbers->ratio.value;
    row->sd_log = numbers->sd;
    row->differs = numbers->differs;
    row->verdict = compare_verdict_name(numbers->verdict);
    row->blocked_differs = blocked_differs(&comparison->pairs, options);
    calibration->paired_different += row->differs;
    calibration->paired_verdicts +=
        numbers->verdict == COMPARE_FASTER || numbers->verdict == COMPARE_SLOWER;
    calibration->blocked_different += row->blocked_differs;
    return row->workload && row->campaign ? STATUS_OK : error_no_memory(err);
}

/* ---- of its record ---- */

static enum status add_row(struct store *store, const json_t *row, struct calibration *calibration,
                           struct error *err)
{
    const char *uid = member_string(row, "campaign"), *workload = member_string(row, "workload");
    CLEANUP(stored_comparison_finish) struct stored_comparison comparison = {0};
    struct compare_options options = compare_options_default();
    int64_t campaign;

    if (!uid || !workload)
        return error_set(err, STATUS_CORRUPT, "a row names no campaign or no workload");
    options.margin = member_number_or(row, "margin", options.margin);
    TRY(store_find_campaign(store, uid, &campaign, err));
    TRY(stored_comparison_of_pairs(store, campaign, 0, &options, &comparison, err));
    return calibration_add(calibration, workload, uid, &comparison, &options, err);
}

static void finish(struct calibration *calibration)
{
    type_finish(&calibration_type, calibration);
}

static enum status make(struct store *store, const json_t *asked, json_t **ret, struct error *err)
{
    const json_t *rows = json_object_get(asked, "rows");
    CLEANUP(finish) struct calibration stored = {0}, calibration = {0};

    if (type_read(&calibration_type, asked, &stored) == type_no_memory)
        return error_no_memory(err);
    calibration.clock_resolution_ns = stored.clock_resolution_ns;
    calibration.clock_read_ns = stored.clock_read_ns;
    calibration.sample_overhead_ns = stored.sample_overhead_ns;
    for (size_t i = 0; i < json_array_size(rows); i++)
        TRY(add_row(store, json_array_get(rows, i), &calibration, err));
    *ret = type_to_json(&calibration_type, &calibration);
    return *ret ? STATUS_OK : error_no_memory(err);
}

static const char *no_verdict(const json_t *body)
{
    (void)body;
    return NULL;
}

static bool allows(const json_t *body, const char *verdict)
{
    (void)body;
    return !strcmp(verdict, "done") || !strcmp(verdict, "interrupted");
}

const struct judgement judgement_calibration = {.name = "calibration",
                                                .type = &calibration_type,
                                                .verdict = no_verdict,
                                                .allows = allows,
                                                .make = make};

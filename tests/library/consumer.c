/*
 * What another program does with libassay, in what C17 and C++17 have in common. Writes lines:
 *
 *   consumer results DATABASE                  ID WORKLOAD STATE, then METRIC VALUE LO HI UNIT
 * GRADE consumer samples DATABASE RESULT SERIES    UNIT, then the values consumer analyze
 * SAMPLE_US...              of one trial: VERDICT, the metrics, the findings consumer verify
 * DATABASE                   as JSON; findings to standard error consumer compare DATABASE A B as
 * JSON; `record` for A B: keeps it as a gate, too consumer show DATABASE RESULT              as
 * JSON consumer devices ASSAY                     SPEC NAME consumer run ASSAY DATABASE WORKLOAD
 * PROTOCOL STOP_AFTER   the campaign; lines to standard error
 *
 * Exit status 1, with the library's message on standard error, where a call fails.
 */
#include <assay/assay.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *or_none(const char *text)
{
    return text ? text : "-";
}

static void print_estimate(const struct assay_estimate *estimate)
{
    const struct assay_finding *finding;
    const struct assay_metric *metric;

    for (size_t i = 0; (metric = assay_estimate_metric(estimate, i)) != NULL; i++)
        printf("\t%s\t%.17g\t%.17g\t%.17g\t%s\t%s\n", metric->id, metric->value, metric->lo,
               metric->hi, metric->unit, metric->grade);
    for (size_t i = 0; (finding = assay_estimate_finding(estimate, i)) != NULL; i++)
        fprintf(stderr, "%s %s: %s; %s\n", finding->severity, finding->code, finding->message,
                finding->remedy);
}

static enum assay_status list_results(struct assay_store *store)
{
    struct assay_filter filter = ASSAY_FILTER_INIT;
    struct assay_results *results = NULL;
    const struct assay_result *result;
    enum assay_status status;

    filter.archived = true;
    status = assay_results_list(store, &filter, &results);
    for (size_t i = 0; status == ASSAY_OK && (result = assay_results_at(results, i)) != NULL; i++) {
        printf("%s\t%s\t%s\t%s\n", result->id, result->workload, result->state,
               or_none(result->device->name));
        if (result->estimate)
            print_estimate(result->estimate);
    }
    assay_results_free(results);
    return status;
}

static enum assay_status print_samples(struct assay_store *store, const char *id,
                                       const char *series)
{
    struct assay_results *results = NULL;
    struct assay_samples *samples = NULL;
    const struct assay_result *result;
    enum assay_status status = assay_results_list(store, NULL, &results);

    for (size_t i = 0; status == ASSAY_OK && (result = assay_results_at(results, i)) != NULL; i++) {
        if (strcmp(result->id, id) != 0)
            continue;
        status = assay_samples_load(store, assay_results_trial(results, i, 0), series, &samples);
        for (size_t k = 0; status == ASSAY_OK && k < samples->count; k++)
            printf("%.17g %s\n", samples->values[k], samples->unit);
        assay_samples_free(samples);
    }
    assay_results_free(results);
    return status;
}

static enum assay_status analyze(char **words, size_t count)
{
    struct assay_analyze_options options = ASSAY_ANALYZE_OPTIONS_INIT;
    double *values = (double *)calloc(count + 1, sizeof(*values));
    struct assay_series series = {values, count, 0};
    struct assay_estimate *estimate = NULL;
    enum assay_status status;

    for (size_t i = 0; values && i < count; i++)
        values[i] = atof(words[i]);
    options.unit_ns = 1000;
    status = assay_analyze(&series, 1, &options, &estimate);
    if (status == ASSAY_OK) {
        printf("%s\t%.17g\n", estimate->verdict,
               assay_estimate_find(estimate, estimate->headline)->value);
        print_estimate(estimate);
    }
    assay_estimate_free(estimate);
    free(values);
    return status;
}

static bool go_on(void *context, const char *doing, uint64_t done, uint64_t total)
{
    *(uint64_t *)context += doing != NULL && (total == 0 || done <= total);
    return true;
}

/* Prints text that the library gave. */
static enum assay_status print_text(enum assay_status status, char *text)
{
    if (status == ASSAY_OK)
        puts(text);
    assay_free(text);
    return status;
}

static enum assay_status verify(const char *path)
{
    struct assay_verify_options options = ASSAY_VERIFY_OPTIONS_INIT;
    struct assay_verification *made = NULL;
    const struct assay_verify_finding *finding;
    uint64_t calls = 0;
    char *text = NULL;
    enum assay_status status;

    options.context = &calls;
    options.progress = go_on;
    status = assay_verify(path, &options, &made);
    if (status == ASSAY_OK) {
        if (assay_verification_summary(made)->wrong == 0 &&
            !assay_verification_summary(made)->verified)
            fprintf(stderr, "not verified in part\n");
        for (size_t i = 0; (finding = assay_verification_finding(made, i)) != NULL; i++)
            fprintf(stderr, "%s: %s\n", finding->level, finding->message);
        status = assay_verification_json(made, &text);
        status = print_text(status, text);
    }
    assay_verification_free(made);
    return status;
}

static enum assay_status compare(struct assay_store *store, const char *a, const char *b,
                                 bool record)
{
    struct assay_compare_options options = ASSAY_COMPARE_OPTIONS_INIT;
    struct assay_comparison *comparison = NULL;
    const struct assay_difference *one;
    char *text = NULL;
    enum assay_status status;

    options.margin = 0.02;
    status = assay_compare(store, a, b, &options, &comparison);
    if (status == ASSAY_OK)
        for (size_t i = 0; (one = assay_comparison_at(comparison, i)) != NULL; i++)
            fprintf(stderr, "%s %s %s %.17g %s\n", one->comparability, or_none(one->verdict),
                    one->decision, one->ratio, assay_comparison_decision(comparison));
    if (status == ASSAY_OK && record)
        status = assay_comparison_record(comparison, true);
    if (status == ASSAY_OK)
        status = assay_comparison_json(comparison, false, &text);
    status = print_text(status, text);
    assay_comparison_free(comparison);
    return status;
}

static enum assay_status show(struct assay_store *store, const char *id)
{
    char *text = NULL;
    enum assay_status status = assay_result_json(store, id, &text);

    return print_text(status, text);
}

/* A call with a database. */
static enum assay_status with_store(char **words, int count)
{
    const bool record = !strcmp(words[0], "record");
    struct assay_store *store = NULL;
    enum assay_status status =
        assay_store_open(words[1], record ? ASSAY_WRITE : ASSAY_READ, 0, &store);

    if (status != ASSAY_OK)
        return status;
    if (!strcmp(words[0], "results"))
        status = list_results(store);
    else if (count == 4 && !strcmp(words[0], "samples"))
        status = print_samples(store, words[2], words[3]);
    else if (count == 3)
        status = show(store, words[2]);
    else if (count == 4)
        status = compare(store, words[2], words[3], record);
    assay_store_close(store);
    return status;
}

/* Lines of trials that are still wanted. */
static bool show_line(void *context, const char *line)
{
    int *left = (int *)context;

    if (line)
        fprintf(stderr, "%s\n", line);
    if (line && line[0] == '[' && *left > 0)
        --*left;
    return *left != 0;
}

/* ASSAY STOP_AFTER COMMAND...: the data; with STOP_AFTER above 0 it is stopped after so many
 * trials. */
static enum assay_status call(char **words)
{
    struct assay_call_options options = ASSAY_CALL_OPTIONS_INIT;
    int left = atoi(words[1]);
    char *text = NULL;
    enum assay_status status;

    options.program = words[0];
    options.context = &left;
    options.progress = show_line;
    status = assay_call((const char *const *)(words + 2), &options, &text);
    if (text)
        puts(text);
    assay_free(text);
    return status;
}

int main(int argc, char **argv)
{
    enum assay_status status = ASSAY_INVALID;

    if (argc >= 3 && !strcmp(argv[1], "analyze"))
        status = analyze(argv + 2, (size_t)argc - 2);
    else if (argc == 3 && !strcmp(argv[1], "verify"))
        status = verify(argv[2]);
    else if (argc >= 5 && !strcmp(argv[1], "call"))
        status = call(argv + 2);
    else if (argc >= 3)
        status = with_store(argv + 1, argc - 1);
    if (status != ASSAY_OK)
        fprintf(stderr, "%s: %s\n", assay_status_name(status), assay_error_message());
    return status == ASSAY_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

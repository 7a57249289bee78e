/*
 * What another program does with libassay, in what C17 and C++17 have in common. Writes JSON:
 *
 *   consumer results DATABASE                  the cells, with the metrics of their estimates
 *   consumer analyze SAMPLE_NS...              one trial's estimate
 *   consumer verify DATABASE                   what was found
 *   consumer compare DATABASE RESULT RESULT
 *   consumer devices
 *
 * Exit status 1, with the library's message on standard error, where a call fails.
 */
#include <assay/assay.h>

#include <stdlib.h>
#include <string.h>

static enum status list_results(const char *path, json_t *out, struct error *err)
{
    struct store *store = NULL;
    struct view view;
    int64_t *cells = NULL;
    size_t count = 0;
    enum status status = store_open(path, STORE_READ, 0, &store, err);

    if (status == STATUS_OK)
        status = view_find_cells(store, 0, &cells, &count, err);
    if (status == STATUS_OK)
        status = view_load(store, cells, count, VIEW_SUMMARY, &view, err);
    for (size_t i = 0; status == STATUS_OK && i < view.cell_count; i++) {
        const struct view_cell *cell = &view.cells[i];

        if (cell->estimate)
            json_object_set_new(out, cell->result,
                                json_pack("{s:s, s:o}", "workload", cell->workload, "metrics",
                                          metrics_to_json(cell->estimate->metrics)));
    }
    if (status == STATUS_OK)
        view_finish(&view);
    free(cells);
    store_close(store);
    return status;
}

static enum status analyze(char **words, size_t count, json_t *out, struct error *err)
{
    const struct estimate_options options = estimate_options_default();
    int64_t *samples = (int64_t *)calloc(count + 1, sizeof(*samples));
    struct estimate *estimate = NULL;
    struct estimate_series series;
    enum status status;

    memset(&series, 0, sizeof(series));
    for (size_t i = 0; samples && i < count; i++)
        samples[i] = atoll(words[i]);
    series.sample_ns = samples;
    series.count = samples ? count : 0;
    status = estimate_cell(&series, 1, &options, &estimate, err);
    if (status == STATUS_OK)
        json_object_set_new(out, "estimate", estimate_to_json(estimate));
    estimate_destroy(estimate);
    free(samples);
    return status;
}

static void found(void *context, const struct verify_finding *finding)
{
    if (finding->level == VERIFY_WRONG)
        json_array_append_new((json_t *)context, json_string(finding->message));
}

static enum status verify(const char *path, json_t *out, struct error *err)
{
    struct verify_options options;
    struct verify_summary summary;
    char root[DIGEST_HEX_SIZE];
    json_t *wrong = json_array();
    enum status status;

    memset(&options, 0, sizeof(options));
    options.context = wrong;
    options.found = found;
    options.derive = cell_from_record;
    options.tolerance = tolerance_from_record;
    verify_watch_memory();
    status = verify_file(path, &options, &summary, err);
    if (status == STATUS_OK)
        json_object_update_new(
            out,
            json_pack("{s:I, s:s, s:I, s:I, s:I, s:I, s:I}", "leaves", (json_int_t)summary.leaves,
                      "root", digest_hex(&summary.root, root), "records", (json_int_t)summary.rows,
                      "estimates", (json_int_t)summary.estimates, "comparisons",
                      (json_int_t)summary.comparisons, "wrong", (json_int_t)summary.wrong, "notes",
                      (json_int_t)summary.notes));
    json_object_set_new(out, "messages", wrong);
    return status;
}

static enum status compare(const char *path, const char *a, const char *b, json_t *out,
                           struct error *err)
{
    const struct compare_options options = compare_options_default();
    struct stored_comparison comparison;
    struct store *store = NULL;
    enum status status = store_open(path, STORE_READ, 0, &store, err);

    if (status == STATUS_OK)
        status = stored_comparison_make(store, a, b, &options, &comparison, err);
    if (status == STATUS_OK) {
        json_object_update_new(out, stored_comparison_json(&comparison));
        stored_comparison_finish(&comparison);
    }
    store_close(store);
    return status;
}

/* What only the program itself can do. */
static enum status devices(json_t *out, struct error *err)
{
    json_t *probe = NULL;
    enum status status = probe_run(NULL, 0, &probe, err);

    if (status == STATUS_OK)
        json_object_set_new(out, "probe", probe);
    return status;
}

int main(int argc, char **argv)
{
    struct error err = ERROR_INIT;
    enum status status = STATUS_INVALID;
    json_t *out = json_object();

    if (argc == 3 && !strcmp(argv[1], "results"))
        status = list_results(argv[2], out, &err);
    else if (argc >= 3 && !strcmp(argv[1], "analyze"))
        status = analyze(argv + 2, (size_t)argc - 2, out, &err);
    else if (argc == 3 && !strcmp(argv[1], "verify"))
        status = verify(argv[2], out, &err);
    else if (argc == 5 && !strcmp(argv[1], "compare"))
        status = compare(argv[2], argv[3], argv[4], out, &err);
    else if (argc == 2 && !strcmp(argv[1], "devices"))
        status = devices(out, &err);
    if (status == STATUS_OK)
        json_dumpf(out, stdout, JSON_REAL_PRECISION(17));
    else
        fprintf(stderr, "%s: %s\n", status_name(status), err.message);
    json_decref(out);
    return status == STATUS_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

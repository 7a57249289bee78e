#include <assay/result.h>

#include <math.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "harness/library/inside.h"
#include "reports/view.h"

struct row {
    struct assay_result result;
    struct assay_device device;
    struct assay_estimate *estimate;
    struct assay_trial *trials; /* heap */
    size_t trial_count;
};

struct assay_results {
    struct view view;
    struct row *rows;
};

static int64_t known_or(struct view_count count, int64_t otherwise)
{
    return count.known ? count.value : otherwise;
}

static void show_trial(const struct view_trial *trial, struct assay_trial *ret)
{
    *ret = (struct assay_trial){.row = trial->id,
                                .number = trial->number,
                                .status = trial->status ? trial->status : "no_end",
                                .message = trial->message,
                                .started_utc_ns = known_or(trial->started_utc_ns, 0),
                                .samples = known_or(trial->samples, -1),
                                .window_first = known_or(trial->window_first, -1),
                                .iterations_per_sample = known_or(trial->iterations_per_sample, 1)};
}

/* False: no memory. */
static bool show_row(const struct view *view, const struct view_cell *cell, struct row *ret)
{
    ret->trials = calloc(cell->trial_count + 1, sizeof(*ret->trials));
    if (cell->estimate)
        ret->estimate = library_estimate(cell->estimate, cell->imported.present);
    if (!ret->trials || (cell->estimate && !ret->estimate))
        return false;
    for (size_t i = 0; i < cell->trial_count; i++)
        show_trial(&cell->trials[i], &ret->trials[ret->trial_count++]);
    ret->device = (struct assay_device){.spec = cell->device_spec,
                                        .backend = cell->backend,
                                        .name = cell->device.name,
                                        .vendor = cell->device.vendor,
                                        .uuid = cell->device.uuid,
                                        .type = cell->device.type,
                                        .simulated = cell->device.simulated};
    ret->result = (struct assay_result){
        .id = cell->result,
        .workload = cell->workload,
        .kind = cell->kind,
        .precision = cell->precision,
        .scenario = cell->scenario,
        .implementation = cell->implementation,
        .batch = known_or(cell->batch, -1),
        .protocol = cell->protocol,
        .arm = cell->arm,
        .program = cell->imported.present ? cell->imported.program : cell->origin.worker,
        .state = view_verdict_label(cell),
        .created_utc_ns = known_or(view->campaigns[cell->campaign].created_utc_ns, 0),
        .trials_planned = (uint64_t)known_or(cell->trials_planned, 0),
        .trials_ended = cell->ended_count,
        .trials_ok = cell->ok_count,
        .device = &ret->device,
        .estimate = ret->estimate};
    return true;
}

static enum status list(const struct assay_store *handle, const struct assay_filter *asked,
                        struct assay_results *ret, struct error *err)
{
    struct store_filter filter = {.workload = asked->workload,
                                  .precision = asked->precision,
                                  .protocol = asked->protocol,
                                  .verdict = asked->verdict,
                                  .device = asked->device,
                                  .since_utc_ns = asked->since_utc_ns,
                                  .hide_archived = !asked->archived && !asked->campaign,
                                  .limit = asked->limit,
                                  .offset = asked->offset};
    AUTO_FREE int64_t *cells = NULL;
    struct store *store;
    size_t count = 0;

    TRY(library_store(handle, &store, err));
    if (asked->campaign)
        TRY(store_find_campaign(store, asked->campaign, &filter.campaign, err));
    TRY(store_find_cells(store, &filter, &cells, &count, err));
    TRY(view_load(store, cells, count, VIEW_SUMMARY, &ret->view, err));
    ret->rows = calloc(count + 1, sizeof(*ret->rows));
    for (size_t i = 0; ret->rows && i < ret->view.cell_count; i++)
        if (!show_row(&ret->view, &ret->view.cells[i], &ret->rows[i]))
            return error_no_memory(err);
    return ret->rows ? STATUS_OK : error_no_memory(err);
}

enum assay_status assay_results_list(struct assay_store *store, const struct assay_filter *filter,
                                     struct assay_results **ret)
{
    struct error *err = library_begin();
    struct assay_filter asked = ASSAY_FILTER_INIT;
    struct assay_results *results = calloc(1, sizeof(*results));
    enum status status;

    LIBRARY_TAKE(asked, filter);
    status = results ? list(store, &asked, results, err) : error_no_memory(err);
    if (status == STATUS_OK)
        *ret = results;
    else
        assay_results_free(results);
    return library_end(status);
}

void assay_results_free(struct assay_results *results)
{
    if (!results)
        return;
    for (size_t i = 0; results->rows && i < results->view.cell_count; i++) {
        assay_estimate_free(results->rows[i].estimate);
        free(results->rows[i].trials);
    }
    free(results->rows);
    view_finish(&results->view);
    free(results);
}

const struct assay_result *assay_results_at(const struct assay_results *results, size_t i)
{
    return i < results->view.cell_count ? &results->rows[i].result : NULL;
}

const struct assay_trial *assay_results_trial(const struct assay_results *results, size_t i,
                                              size_t n)
{
    return i < results->view.cell_count && n < results->rows[i].trial_count
               ? &results->rows[i].trials[n]
               : NULL;
}

static enum status cell_text(const struct assay_store *handle, const char *id, char **ret,
                             struct error *err)
{
    struct store *store;
    json_t *json = NULL;
    int64_t cell;

    TRY(library_store(handle, &store, err));
    TRY(store_find_cell(store, id, &cell, err));
    TRY(store_cell_json(store, cell, &json, err));
    return library_text(json, ret, err);
}

enum assay_status assay_result_json(struct assay_store *store, const char *id, char **ret)
{
    return library_end(cell_text(store, id, ret, library_begin()));
}

/* ---- samples ---- */

struct loaded {
    struct assay_samples samples; /* the first: the handle */
    double *values, *at_ns;
    char unit[32];
};

#define TELEMETRY "telemetry:"
#define MISSING INT64_MIN

/* The doubles of `count` numbers; NULL: no memory. */
static double *doubles(const int64_t *numbers, size_t count)
{
    double *values = calloc(count + 1, sizeof(*values));

    for (size_t i = 0; values && i < count; i++)
        values[i] = numbers[i] == MISSING ? NAN : (double)numbers[i];
    return values;
}

/* "telemetry:PART.CHANNEL" with its moments, or a series of samples. */
static enum status load_numbers(struct store *store, int64_t trial, const char *series,
                                int64_t **ret_times, int64_t **ret, size_t *ret_count,
                                struct error *err)
{
    const char *channel;
    AUTO_FREE char *part = NULL;

    if (strncmp(series, TELEMETRY, strlen(TELEMETRY)) != 0)
        return store_load_samples(store, trial, series, ret, ret_count, err);
    part = strdup(series + strlen(TELEMETRY));
    if (!part)
        return error_no_memory(err);
    channel = strchr(part, '.') ? strchr(part, '.') + 1 : "";
    part[strcspn(part, ".")] = '\0';
    return store_load_telemetry(store, trial, part, channel, MISSING, ret_times, ret, ret_count,
                                err);
}

static enum status load(const struct assay_store *handle, const struct assay_trial *trial,
                        const char *series, struct loaded *ret, struct error *err)
{
    AUTO_FREE int64_t *times = NULL, *numbers = NULL;
    const char *end = strrchr(series, '_');
    struct store *store;
    size_t count = 0;

    TRY(library_store(handle, &store, err));
    if (!trial)
        return error_set(err, STATUS_INVALID, "no trial: assay_results_trial gives the trials");
    TRY(load_numbers(store, trial->row, series, &times, &numbers, &count, err));
    ret->values = doubles(numbers, count);
    ret->at_ns = times ? doubles(times, count) : NULL;
    if (!ret->values || (times && !ret->at_ns))
        return error_no_memory(err);
    snprintf(ret->unit, sizeof(ret->unit), "%s", end ? end + 1 : "ns");
    ret->samples = (struct assay_samples){ret->values, ret->at_ns, count, ret->unit};
    return STATUS_OK;
}

enum assay_status assay_samples_load(struct assay_store *store, const struct assay_trial *trial,
                                     const char *series, struct assay_samples **ret)
{
    struct error *err = library_begin();
    struct loaded *loaded = calloc(1, sizeof(*loaded));
    enum status status = loaded ? load(store, trial, series, loaded, err) : error_no_memory(err);

    if (status == STATUS_OK)
        *ret = &loaded->samples;
    else
        assay_samples_free((struct assay_samples *)loaded);
    return library_end(status);
}

void assay_samples_free(struct assay_samples *samples)
{
    struct loaded *loaded = (struct loaded *)samples;

    if (!loaded)
        return;
    free(loaded->values);
    free(loaded->at_ns);
    free(loaded);
}

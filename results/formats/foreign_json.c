/*
 * Results of programs that write JSON. hyperfine, Google Benchmark, pytest-benchmark and fio write
 * one object with a list in it: one walk for all (read_list), a program adds what one entry says.
 * The Phoronix Test Suite writes an object a test, SuperBench an object a line.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "results/formats/csv_unit.h"
#include "results/formats/foreign_json.h"
#include "results/formats/foreign_text.h"
#include "results/formats/hyperfine.h"
#include "results/formats/import.h"

static const struct foreign_lack of_all[] = {
    {"device.driver_version", "the program does not record the driver"},
    {"device.uuid", "the program does not say which unit it ran on"},
    {"identity.precision", "the program knows no precision"},
    {"identity.seed", "the program knows no seed of the data"},
    {"import.steady_state", "without its samples in order nobody can say whether it had settled"},
    {"import.verification", "the program does not check what was computed"},
    {"import.stack", "the program does not record the libraries it had loaded"},
    {"import.telemetry", "the program does not record power, clocks or temperature"},
    {"import.provenance", "the file is not signed, and no plan was recorded before it"},
    {0}};

static void add_lacks(const struct foreign_program *program, struct store_claim *claim)
{
    for (const struct foreign_lack *lack = of_all; lack->name; lack++)
        claim_lack(claim, program->name, lack->name, lack->reason);
    for (const struct foreign_lack *lack = program->lacks; lack->name; lack++)
        claim_lack(claim, program->name, lack->name, lack->reason);
}

enum status foreign_begin(const struct foreign_program *program, struct import_claims *claims,
                          const struct foreign_entry *entry, const char *name, json_t *parameters,
                          struct store_claim **ret, struct error *err)
{
    struct store_claim *claim = NULL;
    enum status status = import_claims_add(claims, entry->path, &claim, err);

    if (status != STATUS_OK) {
        json_decref(parameters);
        return status;
    }
    claim->workload = text_format("%s:%s", program->name, name);
    claim->fields = json_incref(entry->fields);
    claim->declaration = json_pack(
        "{s:s, s:i, s:s, s:s, s:s, s:o}", "workload", claim->workload ? claim->workload : "",
        "version", 1, "kind", "imported", "program", program->name, "description",
        program->description, "parameters", parameters ? parameters : json_null());
    if (!claim->workload || !claim->declaration)
        return error_no_memory(err);
    *ret = claim;
    return STATUS_OK;
}

enum status foreign_finish(const struct foreign_program *program, struct store_claim *claim,
                           const char *host, const char *host_field, const char *cpu,
                           const char *cpu_field, const char *measured, const char *measured_field,
                           struct error *err)
{
    bool ok = true;

    claim->measured = claim_copy(measured, &ok);
    claim->device = claim_copy(cpu, &ok);
    claim_declare(claim, program->name, "host.name", host, host_field);
    claim_declare(claim, program->name, "host.cpu.model", cpu, cpu_field);
    claim_declare(claim, program->name, "import.measured", measured, measured_field);
    add_lacks(program, claim);
    return ok && !claim->readings.failed ? STATUS_OK : error_no_memory(err);
}

/* A text that must be there. */
static enum status need_text(const json_t *fields, const char *where, const char *name,
                             const char **ret, struct error *err)
{
    enum status status = claim_get_text(fields, where, name, ret, err);

    return status == STATUS_OK && !*ret
               ? error_set(err, STATUS_INVALID, "%s: %s: is missing", where, name)
               : status;
}

/* ---- hyperfine ---- */

static const struct foreign_lack of_hyperfine[] = {
    {"import.warmup", "hyperfine does not keep its warmup runs, nor say how many there were"},
    {"import.scope", "a run is a whole process, from its start to its end"},
    {0}};

static enum status add_hyperfine(const struct foreign_program *program,
                                 struct import_claims *claims, const struct foreign_entry *entry,
                                 struct error *err)
{
    json_t *parameters = json_object_get(entry->fields, "parameters");
    json_t *parameter = json_object_get(entry->fields, "parameter");
    struct store_claim *claim;
    const char *command;
    double mean;

    TRY(need_text(entry->fields, entry->where, "command", &command, err));
    TRY(hyperfine_check_runs(entry->fields, entry->where, err));
    TRY(claim_get_positive(entry->fields, entry->where, "mean", &mean, err));
    TRY(foreign_begin(program, claims, entry, entry->name,
                      json_pack("{s:s, s:O?, s:O*}", "command", command, "parameters", parameters,
                                "parameter", parameter),
                      &claim, err));
    claim->mean_ns = mean * 1e9;
    if (!json_object_get(entry->fields, "exit_codes"))
        claim_lack(claim, program->name, "import.exit_codes",
                   "hyperfine before 1.12 does not say how its runs ended");
    return foreign_finish(program, claim, NULL, "name of the host", NULL, "name of the processor",
                          NULL, "time of the measurement", err);
}

/* ---- Google Benchmark ---- */

static const struct foreign_lack of_google[] = {
    {"import.warmup", "Google Benchmark does not keep the runs by which it chose the iterations"},
    {"import.raw_samples", "the mean over all iterations is there, no single iteration"},
    {"import.rates",
     "counters such as bytes_per_second may be by CPU time, which the file does not "
     "tell: they are kept among the fields, and the rate is left out"},
    {0}};

static enum status unit_of(const json_t *fields, const char *where, double *ret_ns,
                           struct error *err)
{
    const char *name;

    TRY(need_text(fields, where, "time_unit", &name, err));
    if (csv_unit_find(name, where, ret_ns, NULL) == STATUS_OK)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "%s: time_unit: must be ns, us, ms or s", where);
}

/*
 * A benchmark that gave up: error_occurred, and since Google Benchmark 1.8 skipped, with a message.
 */
static enum status check_google(const json_t *fields, const char *where, struct error *err)
{
    static const char *const flags[][2] = {{"error_occurred", "error_message"},
                                           {"skipped", "skip_message"}};

    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        const char *why = member_string(fields, flags[i][1]);
        const json_t *flag = json_object_get(fields, flags[i][0]);

        /* What is neither true nor false was written by another program, and says no less. */
        if (flag && !json_is_false(flag) && !json_is_null(flag) &&
            !(json_is_number(flag) && json_number_value(flag) == 0))
            return error_set(err, STATUS_INVALID, "%s: %s%s%.200s", where, flags[i][0],
                             why ? ": " : "", why ? why : "");
    }
    return STATUS_OK;
}

enum status foreign_google_time(const json_t *fields, const char *where, double *ret_ns,
                                struct error *err)
{
    double time, unit_ns = 1;

    TRY(check_google(fields, where, err));
    TRY(claim_get_positive(fields, where, "real_time", &time, err));
    TRY(unit_of(fields, where, &unit_ns, err));
    *ret_ns = time * unit_ns;
    return STATUS_OK;
}

#define STATISTIC_SEARCH_MAX 10000 /* entries, for each of which all are searched */

/* Before run_type (Google Benchmark 1.5), a statistic is told by its name: "copy_mean" of "copy".
 */
static bool is_old_statistic(const json_t *root, const json_t *fields)
{
    static const char *const endings[] = {"_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS"};
    const char *name = member_string(fields, "name");
    const char *ending = name ? strrchr(name, '_') : NULL;
    const json_t *list = json_object_get(root, "benchmarks");
    bool is_one = false;
    size_t i;

    for (i = 0; ending && i < sizeof(endings) / sizeof(endings[0]); i++)
        is_one = is_one || !strcmp(ending, endings[i]);
    EACH(other, list) {
        const char *own = member_string(other, "name");

        if (!is_one || other_at == STATISTIC_SEARCH_MAX)
            break;
        if (own && strlen(own) == (size_t)(ending - name) &&
            !strncmp(own, name, (size_t)(ending - name)))
            return true;
    }
    return false;
}

bool foreign_google_is_measured(const json_t *root, const json_t *fields)
{
    const char *type = json_string_value(json_object_get(fields, "run_type"));

    return type ? !strcmp(type, "iteration") : !is_old_statistic(root, fields);
}

static enum status add_google(const struct foreign_program *program, struct import_claims *claims,
                              const struct foreign_entry *entry, struct error *err)
{
    const json_t *context = json_object_get(entry->root, "context");
    const char *type, *name;
    struct store_claim *claim;
    double time_ns;
    AUTO_FREE char *words = NULL;

    TRY(claim_get_text(entry->fields, entry->where, "run_type", &type, err));
    if (!foreign_google_is_measured(entry->root, entry->fields))
        return STATUS_OK; /* a statistic of other entries */
    TRY(need_text(entry->fields, entry->where, "name", &name, err));
    TRY(foreign_google_time(entry->fields, entry->where, &time_ns, err));
    words = member_number_or(entry->fields, "repetitions", 1) > 1
                ? text_format("%s repetition %.0f", name,
                              member_real(entry->fields, "repetition_index") + 1)
                : strdup(name);
    TRY(words ? foreign_begin(program, claims, entry, words,
                              json_pack("{s:s, s:O?}", "name", name, "threads",
                                        json_object_get(entry->fields, "threads")),
                              &claim, err)
              : error_no_memory(err));
    claim->mean_ns = time_ns;
    return foreign_finish(program, claim, claim_text_about(context, "host_name"),
                          "context.host_name", NULL, "name of the processor",
                          claim_text_about(context, "date"), "context.date", err);
}

/* ---- pytest-benchmark ---- */

static const struct foreign_lack of_pytest[] = {
    {"import.warmup", "pytest-benchmark does not keep its warmup, nor the rounds it calibrated by"},
    {"import.order", "rounds are in order only where --benchmark-save-data was given (stats.data)"},
    {0}};

static enum status add_pytest(const struct foreign_program *program, struct import_claims *claims,
                              const struct foreign_entry *entry, struct error *err)
{
    const json_t *machine = json_object_get(entry->root, "machine_info");
    const char *name;
    struct store_claim *claim;
    double mean;

    TRY(need_text(entry->fields, entry->where, "fullname", &name, err));
    TRY(claim_get_positive(json_object_get(entry->fields, "stats"), entry->where, "mean", &mean,
                           err));
    TRY(foreign_begin(program, claims, entry, name,
                      json_pack("{s:s, s:O?, s:O?}", "fullname", name, "params",
                                json_object_get(entry->fields, "params"), "options",
                                json_object_get(entry->fields, "options")),
                      &claim, err));
    claim->mean_ns = mean * 1e9;
    return foreign_finish(program, claim, claim_text_about(machine, "node"), "machine_info.node",
                          claim_text_about(json_object_get(machine, "cpu"), "brand_raw"),
                          "machine_info.cpu.brand_raw", claim_text_about(entry->root, "datetime"),
                          "datetime", err);
}

/* ---- fio ---- */

static const struct foreign_lack of_fio[] = {
    {"import.warmup", "fio leaves the ramp_time out of its figures, and does not keep it"},
    {"import.raw_samples", "single latencies are in logs of their own (write_lat_log), not here"},
    {"import.storage", "the file names no drive, and no state of its cache"},
    {0}};

/* The job's error is a number of errno. */
static enum status check_fio(const struct foreign_entry *entry, struct error *err)
{
    const json_t *error = json_object_get(entry->fields, "error");
    const double number = json_is_number(error) ? json_number_value(error) : NAN;

    if (!error || number == 0)
        return STATUS_OK;
    if (number != floor(number)) /* also of what is no number */
        return error_set(err, STATUS_INVALID, "%s: error: must be a whole number", entry->where);
    return error_set(err, STATUS_INVALID, "%s: the job failed with error %.0f", entry->where,
                     number);
}

/* A direction in which the job did not read or write is there with zeros. */
static bool has_figures(const json_t *figures)
{
    const json_t *count = json_object_get(figures, "total_ios");

    return json_is_number(count) ? json_number_value(count) > 0
                                 : json_object_get(figures, "bw_bytes") != NULL;
}

static enum status add_fio(const struct foreign_program *program, struct import_claims *claims,
                           const struct foreign_entry *entry, struct error *err)
{
    static const char *const directions[] = {"read", "write", "trim"};
    const char *name, *host = claim_text_about(entry->fields, "hostname"); /* of fio --client */

    TRY(need_text(entry->fields, entry->where, "jobname", &name, err));
    if (!strcmp(name, "All clients"))
        return STATUS_OK; /* the sum of the others, in fio --client */
    TRY(check_fio(entry, err));
    for (size_t i = 0; i < sizeof(directions) / sizeof(directions[0]); i++) {
        const json_t *figures = json_object_get(entry->fields, directions[i]);
        struct store_claim *claim;
        AUTO_FREE char *words = NULL;
        double rate;

        if (!has_figures(figures))
            continue;
        if (!json_object_get(figures, "bw_bytes"))
            return error_set(
                err, STATUS_INVALID,
                "%s: bw_bytes: is missing, as before fio 3.0, whose bw may be in kB or "
                "KiB: run it with fio 3",
                entry->where);
        TRY(claim_get_positive(figures, entry->where, "bw_bytes", &rate, err));
        words = text_format("%s %s", name, directions[i]);
        if (!words)
            return error_no_memory(err);
        TRY(foreign_begin(program, claims, entry, words,
                          json_pack("{s:s, s:s, s:O?}", "jobname", name, "direction", directions[i],
                                    "options", json_object_get(entry->fields, "job options")),
                          &claim, err));
        claim->rate = rate;
        claim->item_name = "byte";
        claim->items = 1;
        TRY(foreign_finish(program, claim, host, host ? "hostname" : "name of the host", NULL,
                           "name of the processor", claim_text_about(entry->root, "time"), "time",
                           err));
    }
    return STATUS_OK;
}

/* ---- all of them ---- */

static enum status add_entries(const struct foreign_program *program, const json_t *root,
                               const char *name, const char *path, struct import_claims *claims,
                               struct error *err)
{
    const json_t *list = json_object_get(root, name);
    json_auto_t *names = program->names ? program->names(list) : NULL;
    enum status status = STATUS_OK;

    if (program->names && !names)
        return error_no_memory(err);
    EACH(fields, list) {
        const size_t before = claims->count;
        struct error why = ERROR_INIT;
        char where[FOREIGN_WHERE_SIZE];

        snprintf(where, sizeof(where), "%.200s: %s %zu", path, name, fields_at + 1);
        status = json_is_object(fields)
                     ? program->add(program, claims,
                                    &(const struct foreign_entry){
                                        root, fields, path, where,
                                        json_string_value(json_array_get(names, fields_at))},
                                    &why)
                     : error_set(&why, STATUS_INVALID, "%s: must be an object", where);
        status = import_claims_entry(claims, before, status, &why, err);
        if (status != STATUS_OK)
            break;
    }
    return status;
}

/* The program's list, by either name; `*ret_root` is the caller's. */
static enum status find_list(const struct foreign_program *program, const char *path,
                             const char *bytes, size_t length, json_t **ret_root,
                             const char **ret_list, bool *ret_cut, struct error *err)
{
    const char *list = program->list;
    json_auto_t *root = NULL;
    enum status status = foreign_text_find(bytes, length, path, list, &root, ret_cut, err);

    if (program->also && !json_object_get(root, list)) {
        if (status != STATUS_OK)
            status = foreign_text_find(bytes, length, path, program->also, &root, ret_cut, NULL) ==
                             STATUS_OK
                         ? STATUS_OK
                         : status;
        if (json_object_get(root, program->also))
            list = program->also;
    }
    if (status == STATUS_OK && !json_is_array(json_object_get(root, list)))
        status = error_set(err, STATUS_INVALID, "%s: must be an object with the list \"%s\"", path,
                           list);
    *ret_list = list;
    *ret_root = status == STATUS_OK ? json_incref(root) : NULL;
    return status;
}

static enum status read_list(const struct foreign_program *program, const char *path,
                             const char *bytes, size_t length, struct import_claims *ret,
                             struct error *err)
{
    struct import_claims claims = {0};
    json_auto_t *root = NULL;
    const char *list;
    bool cut = false;
    char none[160];
    enum status status;

    TRY(find_list(program, path, bytes, length, &root, &list, &cut, err));
    status = add_entries(program, root, list, path, &claims, err);
    if (status == STATUS_OK && cut)
        status = import_claims_leave_out(&claims, err, "%s: ends early, after %s %zu", path, list,
                                         member_size(root, list));
    snprintf(none, sizeof(none), "none of its %s has a result%s", list,
             program->none && member_size(root, list) > 0 ? program->none : "");
    return import_claims_settle(&claims, status, path, none, ret, err);
}

#define READER(function, ...)                                                                      \
    enum status function(const char *path, const char *bytes, size_t length,                       \
                         struct import_claims *ret, struct error *err)                             \
    {                                                                                              \
        static const struct foreign_program self = {__VA_ARGS__};                                  \
                                                                                                   \
        return read_list(&self, path, bytes, length, ret, err);                                    \
    }

READER(hyperfine_read, "hyperfine", "results", "a command from its start to its end", of_hyperfine,
       add_hyperfine, hyperfine_names)
READER(google_benchmark_read, "google-benchmark", "benchmarks", "a loop of Google Benchmark",
       of_google, add_google,
       .none = ": it has statistics of repetitions alone; run it without "
               "--benchmark_report_aggregates_only")
READER(pytest_benchmark_read, "pytest-benchmark", "benchmarks", "a Python function", of_pytest,
       add_pytest)
READER(fio_read, "fio", "jobs", "input and output by fio", of_fio, add_fio, .also = "client_stats")

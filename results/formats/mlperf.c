/*
 * mlperf_log_summary.txt: lines "key : value" in three sections (results, additional stats, test
 * parameters), under headings between rules of '='. A heading "MLPerf Results Summary" begins
 * another result. The summary names the system under test and the scenario, not the model. Checked
 * against what loadgen 6.0 writes (loadgen/results.cc, loadgen/logging.cc of mlcommons/inference).
 */
#include "results/formats/claims.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"
#include "results/formats/import.h"

#define SOURCE "mlperf_log_summary.txt"
#define HEADING "MLPerf Results Summary"
#define WARNINGS "warnings"
#define ERRORS "errors"

struct summary {
    const char *path;
    size_t line, begun; /* of the file; where this result begins */
    struct import_claims claims;
    json_t *fields, *section; /* section is borrowed from fields */
};

/* "Result is", "Min latency (ns)": a key that was there gets " (2)" and so on. */
static enum status add_field(struct summary *summary, const char *key, size_t key_length,
                             const char *value, size_t value_length, struct error *err)
{
    char *name, *text;
    enum status status = STATUS_OK;

    if (key_length > IMPORT_TEXT_MAX || value_length > IMPORT_TEXT_MAX ||
        !text_is_utf8(key, key_length) || (value_length && !text_is_utf8(value, value_length)))
        return error_set_at(err, STATUS_INVALID, summary->path, summary->line,
                            "must be UTF-8 text of at most %d bytes", IMPORT_TEXT_MAX);
    name = text_format("%.*s", (int)key_length, key);
    text = text_format("%.*s", (int)value_length, value);
    for (int i = 2; name && json_object_get(summary->section, name); i++) {
        free(name);
        if (i > 100)
            name = NULL;
        else
            name = text_format("%.*s (%d)", (int)key_length, key, i);
    }
    if (!name || !text || json_object_set_new(summary->section, name, json_string(text)) < 0)
        status = error_set_at(err, STATUS_INVALID, summary->path, summary->line,
                              "the same key again and again");
    free(name);
    free(text);
    return status;
}

static const char *find(const json_t *fields, const char *section, const char *key)
{
    return json_string_value(json_object_get(json_object_get(fields, section), key));
}

static const char *find_any(const json_t *fields, const char *key)
{
    const char *value = find(fields, "results", key);

    return value ? value : find(fields, "stats", key);
}

static void lack(struct store_claim *claim, const char *name, const char *reason)
{
    reading_add_missing(&claim->readings, name, READING_UNAVAILABLE, SOURCE, reason);
}

static void declare(struct store_claim *claim, const char *name, const char *value,
                    const char *field)
{
    struct reading *reading;

    if (!value)
        return;
    reading_add_text(&claim->readings, name, value, field);
    reading = (struct reading *)(uintptr_t)reading_find(&claim->readings, name);
    if (reading)
        reading->status = READING_DECLARED;
}

static void add_readings(struct store_claim *claim, const json_t *fields)
{
    declare(claim, "import.sut", find(fields, "results", "SUT name"), "SUT name");
    if (find(fields, "results", "Result is"))
        declare(claim, "import.validity", find(fields, "results", "Result is"), "Result is");
    else
        lack(claim, "import.validity", "the summary has no line \"Result is\": it ends early");
    declare(claim, "import.mode", find(fields, "results", "Mode"), "Mode");
    declare(claim, "import.warnings", find(fields, "log", WARNINGS), "its last lines");
    declare(claim, "import.errors", find(fields, "log", ERRORS), "its last lines");
    lack(claim, "device.name", "the summary names no device");
    lack(claim, "device.backend", "the summary does not say what it ran on");
    lack(claim, "device.driver_version", "the summary does not record the driver");
    lack(claim, "device.uuid", "the summary does not say which unit it ran on");
    lack(claim, "host.cpu.model", "the summary does not record the host");
    lack(claim, "identity.precision", "the summary does not record the precision");
    lack(claim, "import.model", "the summary names the system under test, not the model");
    lack(claim, "import.measured", "the summary has no date");
    lack(claim, "import.raw_samples",
         "the summary keeps percentiles; the latencies are in mlperf_log_trace.json");
    lack(claim, "import.warmup", "the load generator keeps no warmup");
    lack(claim, "import.steady_state", "without raw samples nobody can say whether it had settled");
    lack(claim, "import.verification", "accuracy is checked in another run");
    lack(claim, "import.stack", "the summary does not record the libraries that were loaded");
    lack(claim, "import.telemetry", "the summary does not record power, clocks or temperature");
    lack(claim, "import.provenance", "the file is not signed, and no plan was recorded before it");
    if (find(fields, "parameters", "qsl_rng_seed"))
        declare(claim, "identity.seed", find(fields, "parameters", "qsl_rng_seed"), "qsl_rng_seed");
    else
        lack(claim, "identity.seed", "the summary has no qsl_rng_seed");
}

static enum status get_number(const struct summary *summary, const char *key, double *ret,
                              bool *ret_told, struct error *err)
{
    const char *text = find_any(summary->fields, key);

    *ret_told = text != NULL;
    if (!text)
        return STATUS_OK;
    if (!text_parse_double(text, ret) || *ret <= 0)
        return error_set(err, STATUS_INVALID,
                         "%s: result at line %zu: %s: must be a number above 0", summary->path,
                         summary->begun, key);
    return STATUS_OK;
}

static const char *scenario_of(const char *text)
{
    static const char *const names[][2] = {{"SingleStream", "single_stream"},
                                           {"Single Stream", "single_stream"},
                                           {"MultiStream", "multi_stream"},
                                           {"Multi Stream", "multi_stream"},
                                           {"Server", "server"},
                                           {"Offline", "offline"}};

    for (size_t i = 0; text && i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(names[i][0], text))
            return names[i][1];
    return NULL;
}

static bool is_stream(const struct store_claim *claim)
{
    return !strcmp(claim->scenario, "single_stream") || !strcmp(claim->scenario, "multi_stream");
}

static enum status fill_rate(struct summary *summary, struct store_claim *claim, struct error *err)
{
    /*
     * Where tokens were counted, MLPerf ranks by them; the samples stay among the fields. Load
     * generators before 4.0 give the scheduled rate of a server alone.
     */
    static const struct {
        const char *key, *item;
    } rates[] = {{"Completed tokens per second", "token"},
                 {"Tokens per second", "token"},
                 {"Completed samples per second", "sample"},
                 {"Samples per second", "sample"},
                 {"Scheduled samples per second", "sample"}};
    bool found = false;

    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]) && !found; i++) {
        TRY(get_number(summary, rates[i].key, &claim->rate, &found, err));
        if (found) {
            claim->item_name = rates[i].item;
            declare(claim, "import.rate", rates[i].key, "the name of its line");
        }
    }
    /* Elsewhere it is the time in a queue, too, and no time of an iteration. */
    found = false;
    if (is_stream(claim))
        TRY(get_number(summary, "Mean latency (ns)", &claim->mean_ns, &found, err));
    if (!claim->item_name && !found)
        return error_set(err, STATUS_INVALID,
                         "%s: result at line %zu: has neither samples per second nor, of a "
                         "stream, a mean latency",
                         summary->path, summary->begun);
    return STATUS_OK;
}

/*
 * A query of a stream is what its device gets at once. Offline, all samples are one query, and a
 * server groups queries as it likes: there the size of a query is not a batch size.
 */
static enum status fill_batch(const struct summary *summary, struct store_claim *claim,
                              struct error *err)
{
    const char *size = find(summary->fields, "parameters", "samples_per_query");
    int64_t batch;

    if (!size)
        return STATUS_OK;
    if (!text_parse_i64(size, &batch) || batch < 0)
        return error_set(err, STATUS_INVALID,
                         "%s: result at line %zu: samples_per_query: must be a whole number",
                         summary->path, summary->begun);
    if (is_stream(claim))
        claim->batch = batch;
    else
        lack(claim, "import.batch", "the summary tells the samples of a query, not of a batch");
    return STATUS_OK;
}

/* Wherever the number goes, its name does: that the run broke its rules is a part of it. */
static char *name_of(const json_t *fields, const char *sut)
{
    const char *validity = find(fields, "results", "Result is");
    const bool is_valid = validity && !strcmp(validity, "VALID");

    return text_format("mlperf:%s%s%s%s", sut ? sut : STORE_UNKNOWN, is_valid ? "" : " (",
                       is_valid   ? ""
                       : validity ? validity
                                  : "validity unknown",
                       is_valid ? "" : ")");
}

/* The result read so far becomes a claim. */
static enum status add_result(struct summary *summary, struct error *err)
{
    const json_t *fields = summary->fields;
    const char *mode = find(fields, "results", "Mode");
    const char *sut = find(fields, "results", "SUT name");
    struct store_claim *claim;

    if (!fields)
        return STATUS_OK;
    if (mode && strstr(mode, "Accuracy"))
        return error_set(err, STATUS_INVALID,
                         "%s: result at line %zu: an accuracy run has no performance to import",
                         summary->path, summary->begun);
    if (!scenario_of(find(fields, "results", "Scenario")))
        return error_set(err, STATUS_INVALID,
                         "%s: result at line %zu: Scenario: must be SingleStream, MultiStream, "
                         "Server or Offline",
                         summary->path, summary->begun);
    TRY(import_claims_add(&summary->claims, summary->path, &claim, err));
    claim->scenario = scenario_of(find(fields, "results", "Scenario"));
    TRY(fill_rate(summary, claim, err));
    TRY(fill_batch(summary, claim, err));
    claim->workload = name_of(fields, sut);
    claim->fields = summary->fields;
    summary->fields = NULL;
    if (claim->workload)
        claim->declaration =
            json_pack("{s:s, s:i, s:s, s:s, s:s, s:O?}", "workload", claim->workload, "version", 1,
                      "kind", "imported", "program", "mlperf-loadgen", "description",
                      "an MLPerf Inference run; the summary does not name the model", "parameters",
                      json_object_get(claim->fields, "parameters"));
    add_readings(claim, claim->fields);
    if (!claim->workload || !claim->declaration || claim->readings.failed)
        return error_no_memory(err);
    return STATUS_OK;
}

/* One without a number is left out. */
static enum status finish_result(struct summary *summary, struct error *err)
{
    const size_t before = summary->claims.count;
    struct error why = ERROR_INIT;

    return import_claims_entry(&summary->claims, before, add_result(summary, &why), &why, err);
}

static enum status begin_section(struct summary *summary, const char *name, struct error *err)
{
    summary->section = json_object();
    if (!summary->section || json_object_set_new(summary->fields, name, summary->section) < 0)
        return error_no_memory(err);
    return STATUS_OK;
}

/* Of "2 warnings encountered. See detailed log." and "No errors encountered during test.". */
static const char *log_key(const char *line, size_t length)
{
    if (!memmem(line, length, " encountered", 12))
        return NULL;
    if (memmem(line, length, " warning", 8))
        return WARNINGS;
    return memmem(line, length, " ERROR", 6) || memmem(line, length, " errors", 7) ? ERRORS : NULL;
}

static enum status read_log_line(struct summary *summary, const char *line, size_t length,
                                 struct error *err)
{
    const char *key = log_key(line, length);
    enum status status = STATUS_OK;

    if (!key)
        return STATUS_OK;
    if (!json_object_get(summary->fields, "log"))
        status = begin_section(summary, "log", err);
    summary->section = json_object_get(summary->fields, "log");
    return status ? status : add_field(summary, key, strlen(key), line, length, err);
}

static enum status read_line(struct summary *summary, const char *line, size_t length,
                             struct error *err)
{
    const char *colon;

    while (length && strchr(" \t\r", line[length - 1]) && line[length - 1])
        length--;
    while (length && (*line == ' ' || *line == '\t')) {
        line++;
        length--;
    }
    if (length == strlen(HEADING) && !memcmp(line, HEADING, length)) {
        TRY(finish_result(summary, err));
        json_decref(summary->fields);
        summary->fields = json_object();
        summary->begun = summary->line;
        return begin_section(summary, "results", err);
    }
    if (!summary->fields || length == 0 || *line == '=' || *line == '*')
        return STATUS_OK;
    if (length == 16 && !memcmp(line, "Additional Stats", 16))
        return begin_section(summary, "stats", err);
    if (length == 20 && !memcmp(line, "Test Parameters Used", 20))
        return begin_section(summary, "parameters", err);
    colon = memchr(line, ':', length);
    if (!colon || colon == line)
        return read_log_line(summary, line, length, err); /* or prose: recommendations ... */
    {
        size_t key = (size_t)(colon - line), value = length - key - 1;
        const char *text = colon + 1;

        while (key && (line[key - 1] == ' ' || line[key - 1] == '\t'))
            key--;
        while (value && (*text == ' ' || *text == '\t')) {
            text++;
            value--;
        }
        return key ? add_field(summary, line, key, text, value, err) : STATUS_OK;
    }
}

enum status mlperf_read_summary(const char *path, const char *bytes, size_t length,
                                struct import_claims *ret, struct error *err)
{
    struct summary summary = {.path = path};
    enum status status = STATUS_OK;

    for (size_t at = 0; at < length && status == STATUS_OK;) {
        const char *end = memchr(bytes + at, '\n', length - at);
        size_t size = end ? (size_t)(end - bytes) - at : length - at;

        summary.line++;
        status = read_line(&summary, bytes + at, size, err);
        at += size + 1;
    }
    if (status == STATUS_OK)
        status = finish_result(&summary, err);
    json_decref(summary.fields);
    return import_claims_settle(&summary.claims, status, path,
                                "has no heading \"" HEADING "\"; the summary of an accuracy run "
                                "has none, and no performance to import",
                                ret, err);
}

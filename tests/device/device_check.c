/*
 * device_check - one device, the whole of assay on it, one table. README.md says how to copy it to
 * a machine and how to read the table. Exit status: 0 all marks reached, 1 not, 2 it could not be
 * tried, 77 no such device.
 */
#include <argp.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "harness/core/text.h"
#include "tests/device/programs.h"
#include "tests/device/table.h"
#include "tests/device/torch_rate.h"

#define TOLD_MAX ((size_t)8000) /* of a failed program's output */

struct options {
    const char *device, *protocol, *db, *python;
    double memory_rate, gemm_rate; /* given by the user; 0: not */
    const char *memory_words;      /* where the memory's rate is from */
    const char *only;              /* a part; NULL: all */
    bool small, no_conformance;
};

static struct options options = {.device = "cuda:0",
                                 .protocol = "standard",
                                 .db = "device-check.db",
                                 .python = "python3",
                                 .memory_words = "data sheet, as given"};

static const char *string_of(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));

    return value != NULL ? value : "";
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

static double reading_of(const json_t *device, const char *name)
{
    return number_of(json_object_get(json_object_get(device, "readings"), name), "value");
}

/* The end of a failed program's output, without the passed tests of a suite. */
static void tell_end(const char *output)
{
    static const char *const dull[] = {"[ RUN", "[       OK", "[====", "[  SKIPPED"};
    struct text kept;

    text_init(&kept);
    while (output != NULL && *output != '\0') {
        const size_t length = strcspn(output, "\n");
        bool drop = false;

        for (size_t i = 0; i < sizeof(dull) / sizeof(dull[0]); i++)
            drop = drop || strncmp(output, dull[i], strlen(dull[i])) == 0;
        if (!drop)
            text_append_format(&kept, "%.*s\n", (int)length, output);
        output += length + (output[length] == '\n');
    }
    if (text_ok(&kept) && kept.length > 0)
        fputs(kept.data + (kept.length > TOLD_MAX ? kept.length - TOLD_MAX : 0), stderr);
    text_finish(&kept);
}

/* Two transfers per clock on a bus of this width, as in data sheets, which round it. */
static void find_memory_rate(const json_t *device)
{
    const double reported = reading_of(device, "device.memory_clock_max");
    const double clock = isnan(reported) ? reading_of(device, "device.clock_memory_max") : reported;
    const double rate = 2.0 * clock * reading_of(device, "device.memory_bus_width") / 8.0;

    if (options.memory_rate > 0.0 || !(rate > 0.0))
        return;
    options.memory_rate = rate;
    options.memory_words = "2 x memory clock x bus width";
}

/* What the measurements depend on, and what is missing, before anything runs. */
static void print_libraries(const json_t *backend)
{
    size_t i;
    json_t *library;

    json_array_foreach(json_object_get(backend, "libraries"), i, library)
    {
        const char *path = string_of(library, "path");

        printf("  %-12s %s%s%s%s\n", string_of(library, "name"),
               path[0] != '\0' ? path : "MISSING, tried ",
               path[0] != '\0' ? "" : string_of(library, "tried"),
               string_of(library, "version")[0] != '\0' ? ", version " : "",
               string_of(library, "version"));
    }
}

/* 0, 77 or 2. */
static int find_device(void)
{
    static const char *const arguments[] = {"devices", "--json", NULL};
    json_t *backends, *backend, *device, *mine = NULL;
    size_t i, j;
    int code = 0;
    char reason[512] = "";

    backends = program_run_json("assay", arguments, 5, &code);
    if (!json_is_array(backends)) {
        json_decref(backends);
        fprintf(stderr, "device_check: assay devices gives no list\n");
        return 2;
    }
    json_array_foreach(backends, i, backend)
    {
        const char *name = string_of(backend, "backend");

        if (strlen(name) == strcspn(options.device, ":") &&
            strncmp(name, options.device, strlen(name)) == 0)
            mine = backend;
        if (mine == backend)
            snprintf(reason, sizeof(reason), "%s", string_of(backend, "reason"));
        json_array_foreach(json_object_get(backend, "devices"), j, device)
        {
            if (strcmp(string_of(device, "spec"), options.device) != 0)
                continue;
            printf("%s: %s%s, driver %s\n", options.device, string_of(device, "name"),
                   json_is_true(json_object_get(device, "simulated")) ? " (SIMULATED)" : "",
                   string_of(json_object_get(json_object_get(device, "readings"),
                                             "device.driver_version"),
                             "value"));
            print_libraries(backend);
            find_memory_rate(device);
            json_decref(backends);
            return 0;
        }
    }
    printf("SKIP: no device %s%s%s\n", options.device, reason[0] != '\0' ? ": " : "", reason);
    print_libraries(mine);
    printf("README.md says which libraries are needed and how to name one that lies elsewhere.\n");
    json_decref(backends);
    return 77;
}

static void check_conformance(void)
{
    char backend[32], note[96];
    const char *const arguments[] = {"--backend", backend, NULL};
    char *output = NULL;
    struct row *row;
    int code = 0;

    snprintf(backend, sizeof(backend), "%.*s", (int)strcspn(options.device, ":"), options.device);
    if (!program_run("test_conformance", arguments, 60, &output, &code)) {
        table_fail_row("conformance", "could not be run");
    } else if (code != 0) {
        tell_end(output);
        snprintf(note, sizeof(note), "exit status %d; its messages are above", code);
        table_fail_row("conformance", note);
    } else {
        row = table_add_row("conformance", 1.0, "");
        row->passed = true;
    }
    free(output);
}

/* Runs a suite or declaration; the rows of `assay results last`, NULL when there are none. */
static json_t *measure(const char *what, const char *precisions, const char *implementation)
{
    const char *run_words[] = {"run",          what,
                               "--device",     options.device,
                               "--protocol",   options.protocol,
                               "--db",         options.db,
                               "--quiet",      "--implementation",
                               implementation, precisions != NULL ? "--precision" : NULL,
                               precisions,     NULL};
    const char *const result_words[] = {"results", "last", "--db",   options.db,
                                        "--limit", "0",    "--json", NULL};
    char *output = NULL;
    int code = 0;
    bool ran = program_run("assay", run_words, 600, &output, &code);

    if (ran && code != 0)
        tell_end(output);
    free(output);
    /* A campaign in which some cells failed still has results of the others. */
    return ran ? program_run_json("assay", result_words, 5, &code) : NULL;
}

static json_t *show(const json_t *result)
{
    const char *const words[] = {"show", string_of(result, "id"), "--db", options.db, "--json",
                                 NULL};
    int code = 0;

    return program_run_json("assay", words, 5, &code);
}

/* Why the first of a result's trials that failed did so; "" when none did. */
static void find_failure(const json_t *result, char *ret, size_t size)
{
    json_t *shown = show(result), *trial;
    size_t i;

    ret[0] = '\0';
    json_array_foreach(json_object_get(shown, "trials"), i,
                       trial) if (ret[0] == '\0' && strcmp(string_of(trial, "status"), "ok") != 0)
        snprintf(ret, size, "%s: %s", string_of(trial, "status"), string_of(trial, "message"));
    json_decref(shown);
}

/* True where no trial ran, since the device or its library does not do it. */
static bool note_verdict(struct row *row, const json_t *result)
{
    const json_int_t ok = json_integer_value(json_object_get(result, "trials_ok"));
    const json_int_t planned = json_integer_value(json_object_get(result, "trials_planned"));
    const char *verdict = string_of(result, "verdict");
    char failure[360] = "";

    if (ok < planned)
        find_failure(result, failure, sizeof(failure));
    snprintf(row->note, sizeof(row->note),
             "%s%s%" JSON_INTEGER_FORMAT "/%" JSON_INTEGER_FORMAT " trials, %s%s%s", verdict,
             verdict[0] != '\0' ? ", " : "", ok, planned, string_of(result, "id"),
             failure[0] != '\0' ? "; " : "", failure);
    return ok == 0 && strncmp(failure, "unsupported:", strlen("unsupported:")) == 0;
}

/* Floating-point operations a second of a result, which `results` may show as another rate. */
static double flops_of(const json_t *result)
{
    json_t *shown = show(result);
    const double rate =
        number_of(json_object_get(json_object_get(shown, "estimate"), "flops_per_s"), "value");

    json_decref(shown);
    return rate;
}

/* Only the large triad has a mark: a launch over the suite's arrays is short. */
static void add_memory_row(const json_t *result)
{
    char what[64];
    struct row *row;

    snprintf(what, sizeof(what), "%s %s", string_of(result, "workload"),
             string_of(result, "precision"));
    row = table_add_row(what, number_of(result, "rate"), "B/s");
    note_verdict(row, result);
    if (options.memory_rate > 0.0) {
        row->reference = options.memory_rate;
        snprintf(row->reference_what, sizeof(row->reference_what), "%s", options.memory_words);
    }
    if (strstr(what, "triad_large") == NULL)
        return;
    if (options.memory_rate > 0.0)
        row->mark = 0.90;
    else
        row->untried = true;
}

static void check_memory(void)
{
    static const char *const all[] = {"memory-bound", "copy_large.yaml", "triad_large.yaml"};
    static const char *const small[] = {"memory_small.yaml"};
    const char *const *names = options.small ? small : all;
    const size_t count = options.small ? 1 : sizeof(all) / sizeof(all[0]);

    for (size_t n = 0; n < count; n++) {
        char file[PATH_MAX + 32];
        json_t *results, *result;
        size_t i;

        snprintf(file, sizeof(file), "%s/%s", programs_declared(), names[n]);
        results = measure(strstr(names[n], ".yaml") ? file : names[n], NULL, "portable");
        if (json_array_size(results) == 0)
            table_fail_row(names[n], "no result");
        json_array_foreach(results, i, result)
        {
            add_memory_row(result);
        }
        json_decref(results);
    }
}

/* The better of PyTorch's rates before and after our own measurement of the same GEMM. */
static double best_torch_rate(double before, char *words, size_t size)
{
    char script[PATH_MAX + 32];
    double rate;

    snprintf(script, sizeof(script), "%s/torch_gemm.py", programs_declared());
    rate = torch_rate(options.python, script, options.device, words, size);
    return isnan(before) || rate > before ? rate : before;
}

/* The rate of the bf16 GEMM, the ceiling of what follows; NAN where there is none. */
static double check_gemm(void)
{
    char small[PATH_MAX + 32], torch[160] = "PyTorch, as given";
    json_t *results, *result;
    double ceiling = NAN, reference = options.gemm_rate > 0.0 ? options.gemm_rate : NAN;
    const bool asks = options.gemm_rate == 0.0;
    size_t i;

    if (asks)
        reference = best_torch_rate(NAN, torch, sizeof(torch));

    snprintf(small, sizeof(small), "%s/gemm_small.yaml", programs_declared());
    results = measure(options.small ? small : "gemm_4096", NULL, "vendor");
    if (json_array_size(results) == 0)
        table_fail_row("gemm", "no result");
    if (asks && !isnan(reference))
        reference = best_torch_rate(reference, torch, sizeof(torch));
    json_array_foreach(results, i, result)
    {
        const char *precision = string_of(result, "precision");
        char what[64];
        struct row *row;
        const double rate = flops_of(result);

        snprintf(what, sizeof(what), "%s %s", string_of(result, "workload"), precision);
        row = table_add_row(what, rate, "FLOP/s");
        row->absent = note_verdict(row, result) && strcmp(precision, "fp32") != 0 &&
                      strcmp(precision, "bf16") != 0; /* which every device is to have */
        if (strcmp(precision, "bf16") != 0)
            continue;
        ceiling = rate;
        row->reference = reference;
        if (!isnan(reference) && !options.small)
            row->mark = 0.97;
        row->untried = isnan(reference) && !options.small;
        snprintf(row->reference_what, sizeof(row->reference_what), "%s", torch);
    }
    json_decref(results);
    return ceiling;
}

/* Added to the note: whether attention was one operation of the library, or why not. */
static void note_attention(struct row *row, const json_t *result)
{
    const char *const words[] = {"show", string_of(result, "id"), "--db", options.db, NULL};
    const size_t used = strlen(row->note);
    char *output = NULL, *line;
    int code = 0;

    if (program_run("assay", words, 5, &output, &code)) {
        line = strstr(output, "\n  attention");
        line = line != NULL ? line + strlen("\n  attention") : NULL;
        line = line != NULL ? line + strspn(line, " ") : NULL;
        if (line != NULL)
            snprintf(row->note + used, sizeof(row->note) - used, ", attention: %.*s",
                     (int)strcspn(line, "\n"), line);
    }
    free(output);
}

static void check_training(double ceiling)
{
    char file[PATH_MAX + 32];
    json_t *results, *result;
    size_t i;

    snprintf(file, sizeof(file), "%s/%s", programs_declared(),
             options.small ? "training_small.yaml" : "training.yaml");
    results = measure(file, NULL, "vendor");
    if (json_array_size(results) == 0)
        table_fail_row("training step", "no result");
    json_array_foreach(results, i, result)
    {
        const bool bf16 = strcmp(string_of(result, "precision"), "bf16") == 0;
        char what[64];
        struct row *row;

        snprintf(what, sizeof(what), "training step %s", string_of(result, "precision"));
        row = table_add_row(what, flops_of(result), "FLOP/s");
        note_verdict(row, result);
        note_attention(row, result);
        if (bf16) {
            row->reference = ceiling;
            snprintf(row->reference_what, sizeof(row->reference_what), "%s",
                     isnan(ceiling) ? "no bf16 GEMM to compare with" : "bf16 GEMM above");
            if (!options.small && !isnan(ceiling))
                row->mark = 0.40;
            row->untried = !options.small && isnan(ceiling);
        }
    }
    json_decref(results);
}

enum { KEY_MEMORY = 256, KEY_GEMM, KEY_PYTHON, KEY_SMALL, KEY_NO_CONFORMANCE, KEY_ONLY, KEY_DB };

static const struct argp_option argp_options[] = {
    {"device", 'd', "SPEC", 0, "which (default: cuda:0)", 0},
    {"protocol", 'p', "NAME", 0, "quick, standard (default) or soak", 0},
    {"memory-rate", KEY_MEMORY, "B/S", 0,
     "the memory's rate by its data sheet (default: bus width x clock x 2, where the driver tells "
     "both)",
     0},
    {"torch-bf16", KEY_GEMM, "FLOP/S", 0,
     "what PyTorch reached on this machine in bf16, 4096 x 4096 x 4096 (default: it is measured "
     "here, where python3 has it)",
     0},
    {"python", KEY_PYTHON, "FILE", 0, "the interpreter that has PyTorch (default: python3)", 0},
    {"small", KEY_SMALL, NULL, 0, "little of everything, without marks: for a stand-in", 0},
    {"no-conformance", KEY_NO_CONFORMANCE, 0, 0, "leave the conformance suite out", 0},
    {"only", KEY_ONLY, "PART", 0,
     "conformance, memory, gemm or training alone, where time is short", 0},
    {"db", KEY_DB, "FILE", 0, "where samples go (default: device-check.db)", 0},
    {0}};

static error_t take_option(int key, char *argument, struct argp_state *state)
{
    switch (key) {
    case 'd':
        options.device = argument;
        return 0;
    case 'p':
        options.protocol = argument;
        return 0;
    case KEY_MEMORY:
        if (!text_parse_double(argument, &options.memory_rate))
            argp_error(state, "--memory-rate %s: write a number", argument);
        return 0;
    case KEY_GEMM:
        if (!text_parse_double(argument, &options.gemm_rate))
            argp_error(state, "--torch-bf16 %s: write a number", argument);
        return 0;
    case KEY_PYTHON:
        options.python = argument;
        return 0;
    case KEY_SMALL:
        options.small = true;
        return 0;
    case KEY_NO_CONFORMANCE:
        options.no_conformance = true;
        return 0;
    case KEY_ONLY:
        if (strcmp(argument, "conformance") != 0 && strcmp(argument, "memory") != 0 &&
            strcmp(argument, "gemm") != 0 && strcmp(argument, "training") != 0)
            argp_error(state, "--only %s: write conformance, memory, gemm or training", argument);
        options.only = argument;
        return 0;
    case KEY_DB:
        options.db = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool wants(const char *part)
{
    return options.only == NULL || strcmp(options.only, part) == 0;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        argp_options, take_option,
        NULL,         "Conformance, memory, gemm and a training step on one device, in one table.",
        NULL,         NULL,
        NULL};
    double ceiling = NAN;
    int found;

    if (argp_parse(&argp, argc, argv, 0, NULL, NULL) != 0)
        return 2;
    if (!programs_find())
        return 2;
    found = find_device();
    if (found != 0)
        return found;
    if (!options.no_conformance && wants("conformance"))
        check_conformance();
    table_print_new();
    if (wants("memory"))
        check_memory();
    table_print_new();
    if (wants("gemm"))
        ceiling = check_gemm();
    table_print_new();
    if (wants("training"))
        check_training(ceiling);
    table_print_new();
    return table_print(options.small, options.db) ? 0 : 1;
}

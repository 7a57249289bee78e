/*
 * device_check - one device, the whole of assay on it, one table. README.md tells how to carry it
 * to a machine and how to read the table. Exit status: 0 all marks reached, 1 not, 2 it could not
 * be tried, 77 no such device.
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
#include "tests/device/torch_rate.h"

#define ROWS_MAX 64

struct options {
    const char *device, *protocol, *db, *python;
    double memory_rate, product_rate; /* given by the user; 0: not */
    bool small, no_conformance;
};

struct row {
    char what[64], reference_what[160], note[160];
    double value, reference, mark; /* NAN: none */
    const char *unit;
    bool passed;  /* a test, not a number */
    bool untried; /* it has a mark, and nothing to compare with */
};

static struct options options = {
    .device = "cuda:0", .protocol = "standard", .db = "device-check.db", .python = "python3"};
static struct row rows[ROWS_MAX];
static size_t row_count;

static struct row *add_row(const char *what, double value, const char *unit)
{
    struct row *row = &rows[row_count < ROWS_MAX ? row_count++ : ROWS_MAX - 1];

    *row = (struct row){.value = value, .unit = unit, .reference = NAN, .mark = NAN};
    snprintf(row->what, sizeof(row->what), "%s", what);
    return row;
}

static void fail_row(const char *what, const char *reason)
{
    struct row *row = add_row(what, NAN, "");

    snprintf(row->note, sizeof(row->note), "%s", reason);
    row->mark = 1.0; /* a mark that is not reached */
}

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

/* Two transfers a clock on a bus of so many bits: what data sheets multiply. */
static void find_memory_rate(const json_t *device)
{
    const double rate = 2.0 * reading_of(device, "device.memory_clock_max") *
                        reading_of(device, "device.memory_bus_width") / 8.0;

    if (options.memory_rate == 0.0 && rate > 0.0)
        options.memory_rate = rate;
}

/* What the measurements will rest on, and what is missing, before anything runs. */
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
        fail_row("conformance", "could not be run");
    } else if (code != 0) {
        snprintf(note, sizeof(note), "exit status %d; its messages stand above", code);
        fail_row("conformance", note);
    } else {
        row = add_row("conformance", 1.0, "");
        row->passed = true;
    }
    free(output);
}

/* Runs a suite or declaration; the rows of `assay results last`, NULL when there are none. */
static json_t *measure(const char *what, const char *precisions, const char *arm)
{
    const char *run_words[] = {
        "run",          what,         "--device",
        options.device, "--protocol", options.protocol,
        "--db",         options.db,   "--quiet",
        "--arm",        arm,          precisions != NULL ? "--precision" : NULL,
        precisions,     NULL};
    const char *const result_words[] = {"results", "last", "--db",   options.db,
                                        "--limit", "0",    "--json", NULL};
    char *output = NULL;
    int code = 0;
    bool ran = program_run("assay", run_words, 600, &output, &code);

    free(output);
    /* A campaign in which some cells failed still has results of the others. */
    return ran ? program_run_json("assay", result_words, 5, &code) : NULL;
}

static void note_verdict(struct row *row, const json_t *result)
{
    snprintf(row->note, sizeof(row->note),
             "%s, %" JSON_INTEGER_FORMAT "/%" JSON_INTEGER_FORMAT " trials, %s",
             string_of(result, "verdict"), json_integer_value(json_object_get(result, "trials_ok")),
             json_integer_value(json_object_get(result, "trials_planned")),
             string_of(result, "id"));
}

/* Floating-point operations a second of a result, which `results` may show as another rate. */
static double flops_of(const json_t *result)
{
    const char *const words[] = {"show", string_of(result, "id"), "--db", options.db, "--json",
                                 NULL};
    int code = 0;
    json_t *shown = program_run_json("assay", words, 5, &code);
    const double rate =
        number_of(json_object_get(json_object_get(shown, "estimate"), "flops_per_s"), "value");

    json_decref(shown);
    return rate;
}

static void check_memory(void)
{
    char small[PATH_MAX + 32];
    json_t *results, *result;
    size_t i;

    snprintf(small, sizeof(small), "%s/memory_small.yaml", programs_declared());
    results = measure(options.small ? small : "memory-bound", NULL, "portable");
    if (json_array_size(results) == 0)
        fail_row("memory-bound", "no result");
    json_array_foreach(results, i, result)
    {
        char what[64];
        struct row *row;
        const double rate = number_of(result, "rate");

        snprintf(what, sizeof(what), "%s %s", string_of(result, "workload"),
                 string_of(result, "precision"));
        row = add_row(what, rate, "B/s");
        note_verdict(row, result);
        if (options.memory_rate > 0.0) {
            row->reference = options.memory_rate;
            snprintf(row->reference_what, sizeof(row->reference_what), "data sheet");
        }
        if (strstr(what, "triad") != NULL && !options.small)
            row->mark = 0.90;
    }
    json_decref(results);
}

/* The better of PyTorch's rates before and behind our own measurement of the same product. */
static double best_torch_rate(double before, char *words, size_t size)
{
    char script[PATH_MAX + 32];
    double rate;

    snprintf(script, sizeof(script), "%s/torch_product.py", programs_declared());
    rate = torch_rate(options.python, script, options.device, words, size);
    return isnan(before) || rate > before ? rate : before;
}

/* The rate of the bf16 product, the ceiling of what follows; NAN where there is none. */
static double check_products(void)
{
    char small[PATH_MAX + 32], torch[160] = "PyTorch, as given";
    json_t *results, *result;
    double ceiling = NAN, reference = options.product_rate > 0.0 ? options.product_rate : NAN;
    const bool asks = options.product_rate == 0.0;
    size_t i;

    if (asks)
        reference = best_torch_rate(NAN, torch, sizeof(torch));

    snprintf(small, sizeof(small), "%s/product_small.yaml", programs_declared());
    results = measure(options.small ? small : "matmul_4096", NULL, "vendor");
    if (json_array_size(results) == 0)
        fail_row("products", "no result");
    if (asks && !isnan(reference))
        reference = best_torch_rate(reference, torch, sizeof(torch));
    json_array_foreach(results, i, result)
    {
        const char *precision = string_of(result, "precision");
        char what[64];
        struct row *row;
        const double rate = flops_of(result);

        snprintf(what, sizeof(what), "%s %s", string_of(result, "workload"), precision);
        row = add_row(what, rate, "FLOP/s");
        note_verdict(row, result);
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

static void check_training(double ceiling)
{
    char file[PATH_MAX + 32];
    json_t *results, *result;
    size_t i;

    snprintf(file, sizeof(file), "%s/%s", programs_declared(),
             options.small ? "training_small.yaml" : "training.yaml");
    results = measure(file, NULL, "vendor");
    if (json_array_size(results) == 0)
        fail_row("training step", "no result");
    json_array_foreach(results, i, result)
    {
        const bool bf16 = strcmp(string_of(result, "precision"), "bf16") == 0;
        char what[64];
        struct row *row;

        snprintf(what, sizeof(what), "training step %s", string_of(result, "precision"));
        row = add_row(what, flops_of(result), "FLOP/s");
        note_verdict(row, result);
        if (bf16) {
            row->reference = ceiling;
            snprintf(row->reference_what, sizeof(row->reference_what), "bf16 product above");
            if (!options.small)
                row->mark = 0.40;
        }
    }
    json_decref(results);
}

static bool print_table(void)
{
    bool reached = true;
    size_t untried = 0;

    printf("\n%-40s %14s %14s %6s %6s  %s\n", "what", "measured", "reference", "ratio", "mark", "");
    for (size_t i = 0; i < row_count; i++) {
        const struct row *row = &rows[i];
        const double ratio = row->value / row->reference;
        const bool marked = !isnan(row->mark);
        const bool good = marked && ratio >= row->mark;
        char value[TEXT_HUMAN_SIZE] = "no result", reference[TEXT_HUMAN_SIZE] = "";
        char ratio_text[16] = "", mark[16] = "";

        if (row->passed)
            snprintf(value, sizeof(value), "passed");
        else if (!isnan(row->value))
            text_human_si(row->value, value);
        if (!isnan(row->reference))
            text_human_si(row->reference, reference);
        if (!isnan(ratio))
            snprintf(ratio_text, sizeof(ratio_text), "%.3f", ratio);
        if (marked && !isnan(row->reference))
            snprintf(mark, sizeof(mark), "%.2f", row->mark);
        printf("%-40s %10s%-6s %14s %6s %6s  %s%s%s%s\n", row->what, value,
               isnan(row->value) ? "" : row->unit, reference, ratio_text, mark,
               marked         ? (good ? "ok; " : "BELOW; ")
               : row->untried ? "untried: "
                              : "",
               row->reference_what, row->reference_what[0] != '\0' ? "; " : "", row->note);
        /* What gave no number is no success, but where a stand-in's times mean nothing. */
        untried += row->untried ? 1 : 0;
        reached = reached && (!marked || good) && (!isnan(row->value) || options.small);
    }
    if (options.small)
        printf("\na small run, which tells of no mark");
    else
        printf("\n%s", reached ? "all marks reached" : "NOT all marks reached");
    if (untried > 0)
        printf(" (%zu could not be tried: \"untried\" above)", untried);
    printf("; every sample is in %s: assay report --db %s --html report.html\n", options.db,
           options.db);
    return reached;
}

enum { KEY_MEMORY = 256, KEY_PRODUCT, KEY_PYTHON, KEY_SMALL, KEY_NO_CONFORMANCE, KEY_DB };

static const struct argp_option argp_options[] = {
    {"device", 'd', "SPEC", 0, "which (default: cuda:0)", 0},
    {"protocol", 'p', "NAME", 0, "quick, standard (default) or soak", 0},
    {"memory-rate", KEY_MEMORY, "B/S", 0,
     "the memory's rate by its data sheet (default: bus width x clock x 2, where the driver tells "
     "both)",
     0},
    {"torch-bf16", KEY_PRODUCT, "FLOP/S", 0,
     "what PyTorch reached on this machine in bf16, 4096 x 4096 x 4096 (default: it is measured "
     "here, where python3 has it)",
     0},
    {"python", KEY_PYTHON, "FILE", 0, "the interpreter that has PyTorch (default: python3)", 0},
    {"small", KEY_SMALL, NULL, 0, "little of everything, without marks: for a stand-in", 0},
    {"no-conformance", KEY_NO_CONFORMANCE, 0, 0, "leave the conformance suite out", 0},
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
    case KEY_PRODUCT:
        if (!text_parse_double(argument, &options.product_rate))
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
    case KEY_DB:
        options.db = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        argp_options,
        take_option,
        NULL,
        "Conformance, memory, products and a training step on one device, in one table.",
        NULL,
        NULL,
        NULL};
    double ceiling;
    int found;

    if (argp_parse(&argp, argc, argv, 0, NULL, NULL) != 0)
        return 2;
    if (!programs_find())
        return 2;
    found = find_device();
    if (found != 0)
        return found;
    if (!options.no_conformance)
        check_conformance();
    check_memory();
    ceiling = check_products();
    check_training(ceiling);
    return print_table() ? 0 : 1;
}

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/runner/probe.h"
#include "harness/runner/probe_precisions.h"
#include "reports/doc.h"

enum { KEY_NAMES = 0x100 };

#define NARROW_INDENT 8 /* of what does not fit next to its name */

/* `value` next to `lead`, or below it where it does not fit there. */
static void append_beside(struct text *out, const char *lead, const char *value, size_t columns)
{
    const size_t from = text_columns(lead);

    if (columns == SIZE_MAX || from + doc_longest_word(value) <= columns)
        output_hanging(out, lead, value, from, columns);
    else
        output_hanging(out, lead, value, NARROW_INDENT, columns);
}

static void append_reading(struct text *out, const char *name, const json_t *reading,
                           size_t columns)
{
    const json_t *value = json_object_get(reading, "value");
    const char *unit = member_text(reading, "unit");
    char lead[64];
    CLEANUP(text_finish) struct text words = TEXT_INIT;

    if (json_is_string(value))
        text_append(&words, json_string_value(value));
    else if (json_is_integer(value))
        text_append_format(&words, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        text_append_format(&words, "%g", json_real_value(value));
    else
        text_append_format(&words, "%s: %s",
                           strcmp(member_text(reading, "status"), "not_applicable") == 0
                               ? "not applicable"
                               : member_text(reading, "status"),
                           member_text(reading, "reason"));
    text_append_format(&words, "%s%s", unit[0] ? " " : "", unit);
    snprintf(lead, sizeof(lead), "      %-33s ", name);
    append_beside(out, lead, text_ok(&words) ? words.data : "", columns);
}

/* `lead`, then "oneDNN 2.7.0: why" */
static void append_answer(struct text *out, const char *lead, const json_t *vendor, size_t columns)
{
    CLEANUP(text_finish) struct text words = TEXT_INIT;

    if (member_text(vendor, "library")[0])
        text_append_format(&words, "%s %s: ", member_text(vendor, "library"),
                           member_text(vendor, "version"));
    text_append(&words, member_text(vendor, "method"));
    append_beside(out, lead, text_ok(&words) ? words.data : "", columns);
}

/* True where the vendor says the same for each precision: there is no library, or no device. */
static bool same_answer(const json_t *precisions, const char *key)
{
    const json_t *first = json_object_get(json_array_get(precisions, 0), key);

    EACH(entry, precisions) {
        const json_t *answer = json_object_get(entry, key);

        if (strcmp(member_text(answer, "method"), member_text(first, "method")) != 0 ||
            strcmp(member_text(answer, "support"), member_text(first, "support")) != 0)
            return false;
    }
    return json_array_size(precisions) > 1;
}

/* "      convolutions: why there are none", once for all precisions. */
static void append_same(struct text *out, const char *what, const json_t *precisions,
                        const char *key, size_t columns)
{
    char lead[96];

    snprintf(lead, sizeof(lead), "      %s: ", what);
    output_hanging(out, lead,
                   member_text(json_object_get(json_array_get(precisions, 0), key), "method"),
                   NARROW_INDENT, columns);
}

/* "bf16      native   oneDNN 2.7.0: why" and, next to it, what our own text does. */
static void append_gemm(struct text *out, const json_t *precisions, size_t columns)
{
    char lead[96];

    text_append(out, "      GEMMs\n"
                     "      precision  vendor    portable  how the library answered\n");
    EACH(entry, precisions) {
        const json_t *vendor = json_object_get(entry, "vendor");
        const json_t *portable = json_object_get(entry, "portable");

        snprintf(lead, sizeof(lead), "      %-10s %-9s %-9s ", member_text(entry, "precision"),
                 member_text(vendor, "support"), member_text(portable, "support"));
        append_answer(out, lead, vendor, columns);
        if (strcmp(member_text(portable, "support"), "unknown") == 0 &&
            strcmp(member_text(portable, "method"), member_text(vendor, "method")) != 0)
            append_beside(out, "      (portable) ", member_text(portable, "method"), columns);
    }
}

/* What the library says of an operation in each precision; once where that is alike. */
static void append_operation(struct text *out, const char *what, const json_t *precisions,
                             const char *key, size_t columns)
{
    char lead[96];

    if (same_answer(precisions, key)) {
        append_same(out, what, precisions, key, columns);
        return;
    }
    text_append_format(out, "      %s\n      precision  vendor    how the library answered\n",
                       what);
    EACH(entry, precisions) {
        const json_t *vendor = json_object_get(entry, key);

        snprintf(lead, sizeof(lead), "      %-10s %-9s ", member_text(entry, "precision"),
                 member_text(vendor, "support"));
        append_answer(out, lead, vendor, columns);
    }
}

static void append_precisions(struct text *out, const json_t *precisions, size_t columns)
{
    const bool opened = !same_answer(precisions, "vendor") || !same_answer(precisions, "portable");

    if (json_array_size(precisions) == 0)
        return;
    if (opened)
        append_gemm(out, precisions, columns);
    else
        append_same(out, "GEMMs", precisions, "vendor", columns);
    append_operation(out, "convolutions", precisions, "convolution", columns);
    append_operation(out, "attention", precisions, "attention", columns);
    append_operation(out, "attention, backward", precisions, "attention_backward", columns);
}

static void append_library(struct text *out, const json_t *library, size_t columns)
{
    const json_t *package = json_object_get(library, "package");
    CLEANUP(text_finish) struct text words = TEXT_INIT;
    char lead[96];

    if (!member_text(library, "path")[0]) {
        snprintf(lead, sizeof(lead), "  library %s: tried ", member_text(library, "name"));
        output_hanging(out, lead, member_text(library, "tried"), NARROW_INDENT, columns);
        return;
    }
    snprintf(lead, sizeof(lead), "  library %s: ", member_text(library, "name"));
    append_beside(out, lead, member_text(library, "path"), columns);
    if (member_text(library, "version")[0])
        text_append_format(&words, "version %s, ", member_text(library, "version"));
    else
        text_append_format(&words, "version unknown%s%s, ",
                           member_text(library, "version_reason")[0] ? ": " : "",
                           member_text(library, "version_reason"));
    if (package)
        text_append_format(&words, "package %s %s, ", member_text(package, "name"),
                           member_text(package, "version"));
    if (member_text(library, "sha256")[0])
        text_append_format(&words, "sha256 %.12s", member_text(library, "sha256"));
    else
        text_append_format(&words, "no digest: %s", member_text(library, "digest_reason"));
    output_hanging(out, "      ", text_ok(&words) ? words.data : "", NARROW_INDENT, columns);
}

static void append_device(struct text *out, const json_t *device, bool verbose, size_t columns)
{
    char memory[TEXT_HUMAN_SIZE];
    const char *uuid = member_text(device, "uuid");
    json_int_t bytes = member_integer(device, "memory_bytes");
    json_int_t units = member_integer(device, "compute_units");
    const json_t *driver = member_in(device, "readings", "device.driver_version");
    const char *key;
    json_t *reading;

    text_append_format(out, "  %-10s %s\n", member_text(device, "spec"),
                       member_text(device, "name"));
    text_append_format(out, "  %-10s %s%s", "", member_text(device, "type"),
                       member_is_true(device, "simulated") &&
                               strcmp(member_text(device, "type"), "simulated") != 0
                           ? ", simulated"
                           : "");
    if (units > 0)
        text_append_format(out, ", %lld compute units", (long long)units);
    if (bytes > 0)
        text_append_format(out, ", %s", text_human_bytes((double)bytes, memory));
    if (member_text(driver, "value")[0])
        text_append_format(out, ", driver %s", member_text(driver, "value"));
    text_append_char(out, '\n');
    if (uuid[0])
        text_append_format(out, "  %-10s uuid %s\n", "", uuid);
    if (!verbose)
        return;
    json_object_foreach(json_object_get(device, "readings"), key, reading)
        append_reading(out, key, reading, columns);
    append_precisions(out, json_object_get(device, "precisions"), columns);
}

static void append_backend(struct text *out, const json_t *backend, bool verbose, size_t columns)
{
    char lead[96];

    text_append_format(out, "%s - %s\n", member_text(backend, "backend"),
                       member_text(backend, "description"));
    if (!member_is_true(backend, "available"))
        output_hanging(out, "  not available: ", member_text(backend, "reason"), 4, columns);
    EACH(entry, json_object_get(backend, "libraries"))
        if (verbose)
            append_library(out, entry, columns);
    if (verbose && member_text(backend, "libraries_reason")[0])
        output_hanging(out, "  libraries: asking for them failed: ",
                       member_text(backend, "libraries_reason"), 4, columns);
    EACH(entry, json_object_get(backend, "devices"))
        append_device(out, entry, verbose, columns);
    EACH(entry, json_object_get(backend, "unusable")) {
        snprintf(lead, sizeof(lead), "  %-10s not usable: ", member_text(entry, "spec"));
        output_hanging(out, lead, member_text(entry, "reason"), 13, columns);
    }
}

/* INVALID where the argument is no backend's name. */
static enum status check_backend(const struct command_line *line, struct error *err)
{
    const char *backend;
    struct text known = TEXT_INIT;
    enum status status;
    bool hidden;

    if (line->argument_count == 0)
        return STATUS_OK;
    for (size_t i = 0; (backend = probe_backend(i, &hidden)); i++) {
        if (!strcmp(backend, line->arguments[0])) {
            text_finish(&known);
            return STATUS_OK;
        }
        text_append_format(&known, "%s%s", i ? ", " : "", backend);
    }
    status = error_set(err, STATUS_INVALID, "no backend \"%s\"; there is: %s", line->arguments[0],
                       text_ok(&known) ? known.data : "(out of memory)");
    text_finish(&known);
    return status;
}

/* "cpu:0", one a line; none of the backends that only test assay. */
static void append_names(struct text *out, const json_t *probe)
{
    EACH(backend, probe) {
        if (member_is_true(backend, "hidden"))
            continue;
        for (size_t i = 0; i < member_size(backend, "devices"); i++)
            text_append_format(out, "%s:%zu\n", member_text(backend, "backend"), i);
    }
}

static int run(const struct command_line *line)
{
    struct error err = ERROR_INIT;
    struct text out = TEXT_INIT;
    json_t *probe;
    const bool verbose = command_has(line, KEY_VERBOSE);

    if (check_backend(line, &err) != STATUS_OK ||
        probe_run(line->arguments, line->argument_count, &probe, &err) != STATUS_OK)
        return command_fail(&err);
    if (verbose || command_has(line, KEY_JSON))
        probe_libraries(probe);
    if (verbose)
        probe_precisions(probe);
    if (command_has(line, KEY_JSON))
        return output_json(probe);
    if (command_has(line, KEY_NAMES)) {
        append_names(&out, probe);
        json_decref(probe);
        return output_text(&out);
    }
    EACH(backend, probe) {
        if (member_is_true(backend, "hidden") && !command_has(line, KEY_ALL) &&
            line->argument_count == 0)
            continue;
        if (out.length)
            text_append_char(&out, '\n');
        append_backend(&out, backend, verbose, output_terminal_columns());
    }
    json_decref(probe);
    return output_text(&out);
}

static const struct argp_option options[] = {
    {"verbose", KEY_VERBOSE, NULL, 0,
     "libraries tried, every reading of a device, and its precisions"},
    {"names", KEY_NAMES, NULL, 0, "names only, one a line"},
    {"all", KEY_ALL, NULL, 0, "also backends that only test assay itself"},
    {0}};

const struct command command_devices = {
    .name = "devices",
    .arguments = "[BACKEND]",
    .completes = "BACKEND",
    .summary = "Show every backend and its devices, or why it is not available",
    .text = "The first word of a device (opencl:0) is what --device takes.",
    .options = options,
    .groups = GROUP_JSON | GROUP_STACK,
    .arguments_max = 1,
    .run = run,
};

#include <string.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/runner/probe.h"
#include "harness/runner/probe_precisions.h"

enum { KEY_VERBOSE = 'v', KEY_ALL = 'a' };

static const char *member(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static void append_reading(struct text *out, const char *name, const json_t *reading)
{
    const json_t *value = json_object_get(reading, "value");
    const char *unit = member(reading, "unit");

    text_append_format(out, "      %-34s ", name);
    if (json_is_string(value))
        text_append(out, json_string_value(value));
    else if (json_is_integer(value))
        text_append_format(out, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        text_append_format(out, "%g", json_real_value(value));
    else
        text_append_format(out, "%s: %s", member(reading, "status"), member(reading, "reason"));
    text_append_format(out, "%s%s\n", unit[0] ? " " : "", unit);
}

/* "oneDNN 2.7.0: why" */
static void append_answer(struct text *out, const json_t *vendor)
{
    if (member(vendor, "library")[0])
        text_append_format(out, "%s %s: ", member(vendor, "library"), member(vendor, "version"));
    text_append_format(out, "%s\n", member(vendor, "method"));
}

/* True where a device has no library for convolutions and says the same for each precision. */
static bool same_answer(const json_t *precisions)
{
    const char *first =
        member(json_object_get(json_array_get(precisions, 0), "convolution"), "method");
    size_t i;
    json_t *entry;

    json_array_foreach(precisions, i, entry)
        if (strcmp(member(json_object_get(entry, "convolution"), "method"), first) != 0)
            return false;
    return json_array_size(precisions) > 1;
}

/* "bf16      native   oneDNN 2.7.0: why" and, below, what our own text does. */
static void append_precisions(struct text *out, const json_t *precisions)
{
    size_t i;
    json_t *entry;

    if (json_array_size(precisions) > 0)
        text_append(out, "      matrix products\n"
                         "      precision  vendor    portable  how the library answered\n");
    json_array_foreach(precisions, i, entry)
    {
        const json_t *vendor = json_object_get(entry, "vendor");
        const json_t *portable = json_object_get(entry, "portable");

        text_append_format(out, "      %-10s %-9s %-9s ", member(entry, "precision"),
                           member(vendor, "support"), member(portable, "support"));
        append_answer(out, vendor);
    }
    if (same_answer(precisions)) {
        text_append_format(
            out, "      convolutions: %s\n",
            member(json_object_get(json_array_get(precisions, 0), "convolution"), "method"));
        return;
    }
    if (json_array_size(precisions) > 0)
        text_append(out, "      convolutions\n"
                         "      precision  vendor    how the library answered\n");
    json_array_foreach(precisions, i, entry)
    {
        const json_t *vendor = json_object_get(entry, "convolution");

        text_append_format(out, "      %-10s %-9s ", member(entry, "precision"),
                           member(vendor, "support"));
        append_answer(out, vendor);
    }
}

static void append_library(struct text *out, const json_t *library)
{
    text_append_format(out, "  library %s: ", member(library, "name"));
    if (!member(library, "path")[0]) {
        text_append_format(out, "tried %s\n", member(library, "tried"));
        return;
    }
    text_append_format(out, "%s\n      version %s, ", member(library, "path"),
                       member(library, "version")[0] ? member(library, "version") : "not told");
    if (member(library, "sha256")[0])
        text_append_format(out, "sha256 %.12s\n", member(library, "sha256"));
    else
        text_append_format(out, "no digest: %s\n", member(library, "digest_reason"));
}

static void append_device(struct text *out, const json_t *device, bool verbose)
{
    char memory[TEXT_HUMAN_SIZE];
    const char *uuid = member(device, "uuid");
    json_int_t bytes = json_integer_value(json_object_get(device, "memory_bytes"));
    json_int_t units = json_integer_value(json_object_get(device, "compute_units"));
    const json_t *driver =
        json_object_get(json_object_get(device, "readings"), "device.driver_version");
    const char *key;
    json_t *reading;

    text_append_format(out, "  %-10s %s\n", member(device, "spec"), member(device, "name"));
    text_append_format(out, "  %-10s %s%s", "", member(device, "type"),
                       json_is_true(json_object_get(device, "simulated")) ? ", simulated" : "");
    if (units > 0)
        text_append_format(out, ", %lld compute units", (long long)units);
    if (bytes > 0)
        text_append_format(out, ", %s", text_human_bytes((double)bytes, memory));
    if (member(driver, "value")[0])
        text_append_format(out, ", driver %s", member(driver, "value"));
    text_append_char(out, '\n');
    if (uuid[0])
        text_append_format(out, "  %-10s uuid %s\n", "", uuid);
    if (!verbose)
        return;
    json_object_foreach(json_object_get(device, "readings"), key, reading)
        append_reading(out, key, reading);
    append_precisions(out, json_object_get(device, "precisions"));
}

static void append_backend(struct text *out, const json_t *backend, bool verbose)
{
    size_t i;
    json_t *entry;

    text_append_format(out, "%s - %s\n", member(backend, "backend"),
                       member(backend, "description"));
    if (!json_is_true(json_object_get(backend, "available")))
        text_append_format(out, "  not available: %s\n", member(backend, "reason"));
    json_array_foreach(json_object_get(backend, "libraries"), i, entry)
    {
        if (verbose)
            append_library(out, entry);
    }
    json_array_foreach(json_object_get(backend, "devices"), i, entry)
        append_device(out, entry, verbose);
}

static int run(const struct command_line *line)
{
    struct error err = ERROR_INIT;
    struct text out;
    json_t *probe, *backend;
    size_t i;

    if (probe_run(line->argument_count ? line->arguments[0] : NULL, &probe, &err) != STATUS_OK)
        return command_fail(&err);
    if (command_has(line, KEY_VERBOSE) && probe_precisions(probe, &err) != STATUS_OK) {
        json_decref(probe);
        return command_fail(&err);
    }
    if (command_has(line, KEY_JSON))
        return output_json(probe);
    text_init(&out);
    json_array_foreach(probe, i, backend)
    {
        if (json_is_true(json_object_get(backend, "hidden")) && !command_has(line, KEY_ALL) &&
            line->argument_count == 0)
            continue;
        if (out.length)
            text_append_char(&out, '\n');
        append_backend(&out, backend, command_has(line, KEY_VERBOSE));
    }
    json_decref(probe);
    return output_text(&out);
}

static const struct argp_option options[] = {
    {"verbose", KEY_VERBOSE, NULL, 0, "libraries tried, every reading of a device, and its precisions", 0},
    {"all", KEY_ALL, NULL, 0, "also backends that only test assay itself", 0},
    {0}};

const struct command command_devices = {
    .name = "devices",
    .arguments = "[BACKEND]",
    .summary = "Show every backend and its devices, or why it is not available",
    .text = "The first word of a device (opencl:0) is what --device takes.",
    .options = options,
    .groups = GROUP_JSON | GROUP_STACK,
    .arguments_max = 1,
    .run = run,
};

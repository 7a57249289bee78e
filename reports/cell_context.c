/* Context of the number: what it was measured on, and how. */
#include "reports/cell_document.h"

#include <math.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "reports/view_json.h"

struct shown {
    const char *name, *label;
    bool optional; /* only some backends have it */
};

static void say_readings(struct doc *doc, const struct reading_list *readings,
                         const struct shown *shown, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        const struct reading *reading = readings ? reading_find(readings, shown[i].name) : NULL;

        if (!reading && shown[i].optional)
            continue;
        doc_add(doc, "%s\t", shown[i].label);
        phrase_reading(&doc->block, reading);
        doc_end(doc, NULL);
    }
}

/* A numeric reading over the trials, before and after. */
struct extent {
    const struct reading *least, *most; /* NULL: no trial has it */
    const struct reading *missing;      /* why one does not */
    double lo, hi;
};

static struct extent extent_of(const struct view_cell *cell, const char *name)
{
    struct extent extent = {.lo = INFINITY, .hi = -INFINITY};

    for (size_t i = 0; i < cell->trial_count * 2; ++i) {
        const struct view_trial *trial = &cell->trials[i / 2];
        const struct reading *reading = reading_find(i % 2 ? &trial->after : &trial->before, name);
        double value;

        if (!reading)
            continue;
        if (reading->status != READING_MEASURED || reading->type == READING_TEXT) {
            extent.missing = reading;
            continue;
        }
        value = reading->type == READING_INTEGER ? (double)reading->integer : reading->real;
        if (value < extent.lo) {
            extent.lo = value;
            extent.least = reading;
        }
        if (value > extent.hi) {
            extent.hi = value;
            extent.most = reading;
        }
    }
    return extent;
}

static void say_extent(struct doc *doc, const struct view_cell *cell, const char *name,
                       const char *label)
{
    struct extent extent = extent_of(cell, name);

    doc_add(doc, "%s\t", label);
    if (!extent.least) {
        phrase_reading(&doc->block, extent.missing);
    } else {
        phrase_reading_value(&doc->block, extent.least);
        if (extent.hi > extent.lo) {
            doc_add(doc, " to ");
            phrase_reading_value(&doc->block, extent.most);
        }
    }
    doc_end(doc, NULL);
}

/* Counters since boot: their growth while the trials ran. */
static void say_growth(struct doc *doc, const struct view_cell *cell, const char *name,
                       const char *label)
{
    struct extent extent = extent_of(cell, name);

    doc_add(doc, "%s\t", label);
    if (extent.least)
        doc_add(doc, "%.0f %s from the first trial to the last", extent.hi - extent.lo,
                extent.least->unit ? extent.least->unit : "");
    else
        phrase_reading(&doc->block, extent.missing);
    doc_end(doc, NULL);
}

/* Every reading that changes, as its range over the trials. */
static void say_moving(struct doc *doc, const struct view_cell *cell)
{
    const struct reading_list *readings = NULL;

    for (size_t i = 0; i < cell->trial_count && !readings; ++i)
        if (cell->trials[i].before.count)
            readings = &cell->trials[i].before;
    if (!readings)
        return;
    doc_add(doc, "All that moves, over the trials");
    doc_open(doc, DOC_FOLD, "extra");
    doc_open(doc, DOC_FACTS, NULL);
    for (size_t i = 0; i < readings->count; ++i)
        say_extent(doc, cell, readings->items[i].name, readings->items[i].name);
    doc_close(doc);
    doc_close(doc);
}

static void say_link(struct doc *doc, const struct html_appendix *appendix,
                     enum html_appendix_kind kind, const struct view_cell *cell, const char *label)
{
    if (!appendix)
        return;
    doc_add(doc, "%s\t", label);
    if (!html_appendix_links(&doc->block, appendix, kind, cell))
        doc_add(doc, "{none not recorded}");
    doc_end(doc, NULL);
}

static void say_duration(struct doc *doc, const json_t *protocol, const char *clause,
                         const char *label)
{
    const json_t *value = json_object_get(json_object_get(protocol, clause), "time_ns");
    const double ns = json_number_value(value);
    const struct number_unit unit = number_unit_duration(ns);
    char number[NUMBER_SIZE];

    if (value)
        doc_say(doc, NULL, "%s\t%s", label,
                json_is_number(value) ? number_format_unit(ns, &unit, number)
                                      : json_string_value(value));
}

static bool gemm_words(const struct view_cell *cell, struct text *out)
{
    struct view_gemm gemm;

    if (!view_gemm(cell, &gemm))
        return false;
    view_gemm_words(&gemm, out);
    return true;
}

/* A fact, where there is a text for it. */
static void say_phrase(struct doc *doc, const struct view_cell *cell, const char *label,
                       bool (*words_of)(const struct view_cell *, struct text *))
{
    CLEANUP(text_finish) struct text words = TEXT_INIT;

    if (words_of(cell, &words))
        doc_say(doc, NULL, "%s\t%s", label, words.data);
    doc->out->failed |= words.failed;
}

/* "standard v3 1f2e3d4c5b6a" */
static void say_declared(struct doc *doc, const char *label, const char *name,
                         const struct view_count *version, const char *digest)
{
    doc_add(doc, "%s\t%s", label, name);
    if (version->known)
        doc_add(doc, " v%lld", (long long)version->value);
    doc_say(doc, NULL, " {digest %s}", digest);
}

void cell_configuration(struct doc *doc, const struct view_cell *cell,
                        const struct view_campaign *campaign, const struct html_appendix *appendix)
{
    const json_t *json = cell->protocol_json;

    doc_heading(doc, 4, NULL, "Configuration");
    doc_open(doc, DOC_FACTS, NULL);
    say_declared(doc, "Protocol", cell->protocol, &cell->protocol_version, cell->protocol_digest);
    say_duration(doc, json, "warmup", "Warmup at least");
    say_duration(doc, json, "window", "Window");
    say_declared(doc, "Workload", cell->workload, &cell->workload_version, cell->workload_digest);
    doc_add(doc, "Precision, batch\t%s, ", cell->precision);
    if (cell->batch.known)
        doc_add(doc, "%lld", (long long)cell->batch.value);
    else
        doc_add(doc, "{none not recorded}");
    doc_end(doc, NULL);
    doc_say(doc, NULL, "Scenario\t%s", cell->scenario);
    doc_say(doc, NULL, "Implementation\t%s", cell->implementation);
    say_phrase(doc, cell, "GEMMs", gemm_words);
    for (size_t i = 0; i < view_phrase_count; ++i)
        say_phrase(doc, cell, view_phrases[i].title, view_phrases[i].words);
    doc_say(doc, NULL, "Seed of the data\t%s", cell->seed);
    if (!appendix)
        doc_say(doc, NULL, "Command\t%s", campaign->command);
    say_link(doc, appendix, HTML_APPENDIX_PROTOCOL, cell, "Every clause");
    say_link(doc, appendix, HTML_APPENDIX_WORKLOAD, cell, "Declaration");
    doc_close(doc);
}

static size_t changed_files(const struct view_cell *cell)
{
    size_t changed = 0;

    for (size_t i = 0; i < cell->trial_count; ++i)
        changed += cell->trials[i].changed_count;
    return changed;
}

void cell_system(struct doc *doc, const struct view_cell *cell,
                 const struct html_appendix *appendix)
{
    static const struct shown device[] = {
        {"device.driver_version", "Driver", false},
        {"device.compiler", "Compiler", true},
        {"device.version", "Device version", true},
        {"device.platform.version", "Platform", true},
        {"device.compute_units", "Compute units", true},
        {"device.threads", "Threads", true},
        {"device.clock_max", "Declared clock", true},
    };
    const size_t changed = changed_files(cell);

    doc_heading(doc, 4, NULL, "System");
    doc_open(doc, DOC_FACTS, NULL);
    doc_add(doc, "Device\t%s", cell->device.name);
    if (cell->device.simulated)
        doc_add(doc, " {care simulated}");
    if (cell->imported.present)
        doc_add(doc, " {care imported}");
    doc_end(doc, NULL);
    doc_say(doc, NULL, "Opened as\t%s", cell->device_spec);
    if (!cell->imported.present) {
        say_readings(doc, &cell->device.readings, device, sizeof(device) / sizeof(device[0]));
        say_link(doc, appendix, HTML_APPENDIX_DEVICE, cell, "All readings");
        say_link(doc, appendix, HTML_APPENDIX_STACK, cell, "Mapped libraries");
        say_link(doc, appendix, HTML_APPENDIX_FILES, cell, "Other mapped files");
        if (changed)
            doc_say(doc, NULL, "Libraries\t{bad %zu differ between start and end of a window}",
                    changed);
        say_link(doc, appendix, HTML_APPENDIX_KERNELS, cell, "Kernels as compiled");
    }
    doc_close(doc);
}

static void say_tool(struct doc *doc, const char *label, const struct view_campaign *campaign)
{
    doc_add(doc, "%s\t", label);
    phrase_tool(&doc->block, campaign);
    doc_end(doc, NULL);
}

void cell_environment(struct doc *doc, const struct view_cell *cell,
                      const struct view_campaign *campaign, const struct html_appendix *appendix)
{
    static const struct shown host[] = {
        {"host.cpu.model", "Processor", false},
        {"host.cpu.usable", "Usable CPUs", false},
        {"host.memory.total", "Memory", false},
        {"host.kernel.release", "Kernel", false},
        {"host.os", "System", false},
        {"host.cpu.governor", "Governor", false},
        {"host.virtualised", "Virtualised", false},
        {"cgroup.cpu_max", "CPU quota, period, µs", false},
    };

    doc_heading(doc, 4, NULL, cell->imported.present ? "Origin" : "Environment");
    doc_open(doc, DOC_FACTS, NULL);
    if (cell->imported.present) {
        doc_say(doc, NULL, "Measured by\t%s %s", cell->imported.program,
                cell->imported.program_version);
        doc_say(doc, NULL, "Measured at\t%s", cell->imported.measured);
        doc_say(doc, NULL, "File\t%s {digest %s}", cell->imported.file, cell->imported.sha256);
        say_tool(doc, "Imported by", campaign);
        doc_close(doc);
        return;
    }
    say_readings(doc, cell_shown_trial(cell) ? &cell_shown_trial(cell)->host : NULL, host,
                 sizeof(host) / sizeof(host[0]));
    say_extent(doc, cell, "load.average_1min", "Load, 1 min");
    say_extent(doc, cell, "load.memory_available", "Memory available");
    say_extent(doc, cell, "load.temperature", "Temperature");
    say_growth(doc, cell, "load.steal", "Time stolen from it");
    say_link(doc, appendix, HTML_APPENDIX_HOST, cell, "Everything recorded");
    say_tool(doc, "Measured by", campaign);
    doc_close(doc);
    say_moving(doc, cell);
}

static void append_change(struct text *out, const struct view_component *component)
{
    switch (component->change) {
    case VIEW_CHANGED:
        doc_phrase(out, "{bad changed, now} {digest %s}", component->sha256_end);
        break;
    case VIEW_APPEARED:
        doc_phrase(out, "{care only at the end}");
        break;
    case VIEW_GONE:
        doc_phrase(out, "{care only at the start}");
        break;
    case VIEW_ONCE:
        doc_phrase(out, "{soft end not reached}");
        break;
    default:
        doc_phrase(out, "{soft unchanged}");
    }
}

/* Files that a package manager puts somewhere, which are the same for one result and the next. */
static bool is_installed(const char *path)
{
    static const char *const folders[] = {"/usr/", "/lib/", "/lib64/", "/opt/", "/bin/", "/sbin/"};

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); ++i)
        if (strncmp(path, folders[i], strlen(folders[i])) == 0)
            return true;
    return false;
}

static void say_component(struct doc *doc, const struct view_component *component)
{
    char size[NUMBER_SIZE];

    doc_add(doc, "%s\t%s\t", component->path, component->kind);
    if (component->version && *component->version)
        doc_add(doc, "%s", component->version);
    else if (component->package && component->package_version)
        doc_add(doc, "%s %s", component->package, component->package_version);
    else
        doc_add(doc, "{none unknown}");
    doc_add(doc, "\t%s\t",
            component->size.known ? number_format_bytes((double)component->size.value, size)
                                  : NULL);
    if (component->sha256)
        doc_add(doc, "{digest %s}\t", component->sha256);
    else
        doc_add(doc, "{none unavailable: %s}\t",
                component->missing_reason ? component->missing_reason : "no reason given");
    if (component->build_id)
        doc_add(doc, "{digest %s}\t", component->build_id);
    else
        doc_add(doc, "{none has none}\t");
    append_change(&doc->block, component);
    doc_end(doc, NULL);
}

void cell_files(struct doc *doc, const struct view_trial *trial, bool installed)
{
    static const struct doc_column columns[] = {
        {"File", DOC_NAME | DOC_BREAK}, {"Kind", 0, 9},     {"Version", DOC_BREAK, 20},
        {"Size", DOC_NUMBER, 9},        {"SHA-256", 0, 12}, {"Build-id", 0, 12},
        {"In the window", 0, 12}};
    size_t count = 0;

    for (size_t i = 0; i < trial->component_count; ++i)
        count += is_installed(trial->components[i].path) == installed;
    if (count == 0)
        return;
    doc_add(doc,
            "%zu %s that the worker had mapped, seen at the start and at the end of the window",
            count, installed ? "installed files" : "files outside the system's folders");
    doc_table(doc, "tight fixed", columns, sizeof(columns) / sizeof(*columns));
    for (size_t i = 0; i < trial->component_count; ++i)
        if (is_installed(trial->components[i].path) == installed)
            say_component(doc, &trial->components[i]);
    doc_close(doc);
}

static void say_artifact(struct doc *doc, const json_t *artifact)
{
    const json_t *lanes = json_object_get(artifact, "lanes");

    doc_add(doc, "%s\t", member_string(artifact, "file"));
    if (json_is_integer(lanes))
        doc_add(doc, "%lld", (long long)json_integer_value(lanes));
    else
        doc_add(doc, "{none not recorded}");
    doc_say(doc, NULL, "\t{digest %s}\t{digest %s}\t%s\t{code %s}",
            member_string(artifact, "source"), member_string(artifact, "binary"),
            member_string(artifact, "compiler"), member_text(artifact, "options"));
}

static void append_resource(struct text *out, const json_t *resources, const char *key,
                            const char *what)
{
    const json_t *value = json_object_get(resources, key);

    if (json_is_integer(value))
        doc_phrase(out, "%lld %s", (long long)json_integer_value(value), what);
    else
        doc_phrase(out, "%s unknown", what);
}

/* What the compiler reports of it: registers and the like of each kernel, and its messages. */
static void say_compiled(struct doc *doc, const json_t *artifact)
{
    const char *log = member_text(artifact, "log"), *name;
    const json_t *resources = json_object_get(artifact, "resources");
    json_t *kernel;

    if (json_object_size(resources) == 0 && !*log)
        return;
    doc_add(doc, "%s as compiled", member_string(artifact, "file"));
    doc_open(doc, DOC_FOLD, NULL);
    doc_open(doc, DOC_LIST, NULL);
    json_object_foreach((json_t *)resources, name, kernel)
    {
        doc_add(doc, "%s: ", name);
        append_resource(&doc->block, kernel, "registers", "registers");
        doc_add(doc, ", ");
        append_resource(&doc->block, kernel, "spill_bytes", "bytes spilled");
        doc_add(doc, ", ");
        append_resource(&doc->block, kernel, "shared_bytes", "bytes shared");
        doc_end(doc, NULL);
    }
    if (*log)
        doc_say(doc, NULL, "the compiler's messages: %.4000s", log);
    doc_close(doc);
    doc_close(doc);
}

void cell_kernels(struct doc *doc, const struct view_trial *trial)
{
    static const struct doc_column columns[] = {
        {"Text", DOC_NAME | DOC_BREAK, 20}, {"Lanes", DOC_NUMBER, 6},    {"Source SHA-256", 0, 12},
        {"Binary SHA-256", 0, 12},          {"Compiler", DOC_BREAK, 20}, {"Options", DOC_BREAK}};

    if (json_array_size(trial->artifacts) == 0)
        return;
    doc_add(doc, "Kernel texts as compiled for the device");
    doc_table(doc, "tight fixed", columns, sizeof(columns) / sizeof(*columns));
    EACH(entry, trial->artifacts)
        say_artifact(doc, json_object_get(entry, "artifact"));
    doc_close(doc);
    EACH(entry, trial->artifacts)
        say_compiled(doc, json_object_get(entry, "artifact"));
}

/* "12 to 40, 9 polls"; a counter's growth; or why there are no values. */
static void say_channel(struct doc *doc, const struct view_trial *trial, const char *part,
                        const json_t *channel)
{
    const char *name = member_text(channel, "name"), *reason = member_string(channel, "reason");
    const json_t *row = view_telemetry_series(trial, part, name);
    const struct view_count low = view_json_count(row, "minimum"),
                            high = view_json_count(row, "maximum");
    char a[NUMBER_SIZE], b[NUMBER_SIZE];

    doc_add(doc, "%s.%s\t", part, name);
    if (!row)
        doc_add(doc, "{none unavailable: %s}", reason ? reason : "it had no value in this trial");
    else if (!low.known || !high.known)
        doc_add(doc, "{none not recorded}");
    else if (low.value == high.value)
        doc_add(doc, "%s", number_format_count(low.value, a));
    else if (!strcmp(member_text(channel, "kind"), "counter") &&
             !json_object_get(channel, "wraps_at"))
        doc_add(doc, "grew by %s", number_format_count(high.value - low.value, a));
    else
        doc_add(doc, "%s to %s", number_format_count(low.value, a),
                number_format_count(high.value, b));
    if (row)
        doc_add(doc, ", %lld polls", member_integer(row, "samples"));
    doc_end(doc, NULL);
}

/* The samplers' own cost, and each channel. */
void cell_telemetry(struct doc *doc, const struct view_trial *trial)
{
    static const struct doc_column columns[] = {{"Source", DOC_NAME | DOC_BREAK},
                                                {"What came of it", DOC_BREAK}};

    doc_table(doc, "tight", columns, sizeof(columns) / sizeof(*columns));
    EACH(part, trial->telemetry) {
        const char *name = member_text(part, "part"), *message = member_string(part, "message");
        const struct view_count cpu = view_json_count(part, "cpu_ns");

        doc_add(doc, "%s\t%lld polls, %lld missed", name, member_integer(part, "ticks"),
                member_integer(part, "late_ticks"));
        if (cpu.known)
            doc_add(doc, ", %.1f ms of processor time to sample it", (double)cpu.value / 1e6);
        doc_end(doc, NULL);
        if (message)
            doc_say(doc, NULL, "not whole\t%s", message);
        EACH(channel, json_object_get(part, "channels"))
            say_channel(doc, trial, name, channel);
    }
    doc_close(doc);
}

const struct view_trial *cell_shown_trial(const struct view_cell *cell)
{
    const struct view_trial *shown = NULL;

    for (size_t i = 0; i < cell->trial_count; ++i)
        if (cell->trials[i].host.count &&
            (!shown || (!shown->estimate && cell->trials[i].estimate)))
            shown = &cell->trials[i];
    return shown;
}

void cell_readings(struct doc *doc, const struct view_cell *cell)
{
    const struct view_trial *shown = cell_shown_trial(cell);

    html_reading_table(doc,
                       cell->imported.present ? "What the file contains, and what it lacks"
                                              : "What device and driver report",
                       &cell->device.readings);
    if (!shown)
        return;
    html_reading_table(doc, "Host", &shown->host);
    html_reading_table(doc, "Before the window", &shown->before);
    html_reading_table(doc, "After the window", &shown->after);
}

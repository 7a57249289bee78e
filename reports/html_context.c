/* Context of the number: what it was measured on, and how. */
#include "reports/html_internal.h"

#include <math.h>

#include "harness/core/cleanup.h"

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

static void say_protocol(struct doc *doc, const struct view_cell *cell,
                         const struct html_appendix *appendix)
{
    const json_t *json = cell->protocol_json;

    doc_heading(doc, 4, NULL, "Configuration");
    doc_open(doc, DOC_FACTS, NULL);
    say_declared(doc, "Protocol", cell->protocol, &cell->protocol_version, cell->protocol_digest);
    say_duration(doc, json, "warmup", "Warmup at least");
    say_duration(doc, json, "window", "Window");
    say_declared(doc, "Workload", cell->workload, &cell->workload_version, cell->workload_digest);
    doc_add(doc, "Precision, batch, scenario\t%s, ", cell->precision);
    if (cell->batch.known)
        doc_add(doc, "%lld", (long long)cell->batch.value);
    else
        doc_add(doc, "{none not recorded}");
    doc_say(doc, NULL, ", %s", cell->scenario);
    doc_say(doc, NULL, "Implementation\t%s", cell->implementation);
    say_phrase(doc, cell, "GEMMs", gemm_words);
    for (size_t i = 0; i < view_phrase_count; ++i)
        say_phrase(doc, cell, view_phrases[i].title, view_phrases[i].words);
    doc_say(doc, NULL, "Seed of the data\t%s", cell->seed);
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

static void say_device(struct doc *doc, const struct view_cell *cell,
                       const struct html_appendix *appendix)
{
    static const struct shown device[] = {
        {"device.driver_version", "Driver", false},
        {"device.compiler", "Compiler", true},
        {"device.version", "Device version", true},
        {"device.platform.version", "Platform", true},
        {"device.compute_units", "Compute units", true},
        {"device.threads", "Threads", true},
        {"device.clock_max", "Clock, declared by the driver", true},
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

/* The host as the first trial that recorded it found it. */
static const struct reading_list *surroundings_of(const struct view_cell *cell)
{
    for (size_t i = 0; i < cell->trial_count; ++i)
        if (cell->trials[i].host.count)
            return &cell->trials[i].host;
    return NULL;
}

static void say_tool(struct doc *doc, const char *label, const struct view_campaign *campaign)
{
    doc_add(doc, "%s\t", label);
    phrase_tool(&doc->block, campaign);
    doc_end(doc, NULL);
}

static void say_surroundings(struct doc *doc, const struct view_cell *cell,
                             const struct view_campaign *campaign,
                             const struct html_appendix *appendix)
{
    static const struct shown host[] = {
        {"host.cpu.model", "Processor", false},
        {"host.cpu.usable", "Usable CPUs", false},
        {"host.memory.total", "Memory", false},
        {"host.kernel.release", "Kernel", false},
        {"host.os", "System", false},
        {"host.cpu.governor", "Governor", false},
        {"host.virtualised", "Virtualised", false},
        {"cgroup.cpu_max", "CPU limit (quota, period in µs)", false},
    };

    doc_heading(doc, 4, NULL, cell->imported.present ? "Origin" : "Environment");
    doc_open(doc, DOC_FACTS, NULL);
    if (cell->imported.present) {
        doc_say(doc, NULL, "Measured by\t%s %s", cell->imported.program,
                cell->imported.program_version);
        doc_say(doc, NULL, "File\t%s {digest %s}", cell->imported.file, cell->imported.sha256);
        say_tool(doc, "Imported by", campaign);
        doc_close(doc);
        return;
    }
    say_readings(doc, surroundings_of(cell), host, sizeof(host) / sizeof(host[0]));
    say_extent(doc, cell, "load.average_1min", "Load, 1 min, over the trials");
    say_extent(doc, cell, "load.memory_available", "Memory available");
    say_extent(doc, cell, "load.temperature", "Temperature");
    say_growth(doc, cell, "load.steal", "Time stolen by the hypervisor");
    say_link(doc, appendix, HTML_APPENDIX_HOST, cell, "Everything recorded");
    say_tool(doc, "Measured by", campaign);
    doc_close(doc);
    say_moving(doc, cell);
}

void html_context(struct doc *doc, const struct view_cell *cell,
                  const struct view_campaign *campaign, const struct html_appendix *appendix)
{
    text_append(doc->out, "<aside class=\"context\" aria-label=\"Context of this result\">"
                          "<div class=\"sheets\"><section>");
    say_device(doc, cell, appendix);
    text_append(doc->out, "</section>\n<section>");
    say_protocol(doc, cell, appendix);
    text_append(doc->out, "</section>\n<section>");
    say_surroundings(doc, cell, campaign, appendix);
    text_append(doc->out, "</section></div></aside>\n");
}

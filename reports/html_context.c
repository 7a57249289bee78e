/* Context of the number: what it was measured on, and how. */
#include "reports/html_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/escape.h"

struct shown {
    const char *name, *label;
    bool optional; /* only some backends have it */
};

static void append_readings(struct text *out, const struct reading_list *readings,
                            const struct shown *shown, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        const struct reading *reading = readings ? reading_find(readings, shown[i].name) : NULL;

        if (!reading && shown[i].optional)
            continue;
        html_fact_begin(out, shown[i].label);
        html_reading(out, reading);
        html_fact_end(out);
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

static void append_extent(struct text *out, const struct view_cell *cell, const char *name,
                          const char *label)
{
    struct extent extent = extent_of(cell, name);

    html_fact_begin(out, label);
    if (!extent.least) {
        html_reading(out, extent.missing);
    } else {
        html_reading_value(out, extent.least);
        if (extent.hi > extent.lo) {
            text_append(out, " to ");
            html_reading_value(out, extent.most);
        }
    }
    html_fact_end(out);
}

/* Counters since boot: their growth while the trials ran. */
static void append_growth(struct text *out, const struct view_cell *cell, const char *name,
                          const char *label)
{
    struct extent extent = extent_of(cell, name);

    html_fact_begin(out, label);
    if (extent.least) {
        text_append_format(out, "%.0f ", extent.hi - extent.lo);
        escape_html(out, extent.least->unit);
        text_append(out, " from the first trial to the last");
    } else {
        html_reading(out, extent.missing);
    }
    html_fact_end(out);
}

/* Every reading that changes, as its range over the trials. */
static void append_moving(struct text *out, const struct view_cell *cell)
{
    const struct reading_list *readings = NULL;

    for (size_t i = 0; i < cell->trial_count && !readings; ++i)
        if (cell->trials[i].before.count)
            readings = &cell->trials[i].before;
    if (!readings)
        return;
    text_append(
        out, "<details class=\"extra\"><summary>All that moves, over the trials</summary><dl>\n");
    for (size_t i = 0; i < readings->count; ++i)
        append_extent(out, cell, readings->items[i].name, readings->items[i].name);
    text_append(out, "</dl></details>\n");
}

static void append_link(struct text *out, const struct html_appendix *appendix,
                        enum html_appendix_kind kind, const struct view_cell *cell,
                        const char *label)
{
    html_fact_begin(out, label);
    if (!html_appendix_links(out, appendix, kind, cell))
        html_known(out, NULL);
    html_fact_end(out);
}

static void append_duration_clause(struct text *out, const json_t *protocol, const char *clause,
                                   const char *label)
{
    const json_t *value = json_object_get(json_object_get(protocol, clause), "time_ns");
    char number[NUMBER_SIZE];

    if (!value)
        return;
    html_fact_begin(out, label);
    if (json_is_number(value)) {
        struct number_unit unit = number_unit_duration(json_number_value(value));

        text_append(out, number_format_unit(json_number_value(value), &unit, number));
    } else {
        html_known(out, json_string_value(value));
    }
    html_fact_end(out);
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
static void append_phrase(struct text *out, const struct view_cell *cell, const char *label,
                          bool (*words_of)(const struct view_cell *, struct text *))
{
    struct text words;

    text_init(&words);
    if (words_of(cell, &words)) {
        html_fact_begin(out, label);
        html_known(out, words.data);
        html_fact_end(out);
    }
    out->failed |= words.failed;
    text_finish(&words);
}

static void append_protocol(struct text *out, const struct view_cell *cell,
                            const struct html_appendix *appendix)
{
    const json_t *json = cell->protocol_json;

    text_append(out, "<section><h4>Configuration</h4><dl>\n");
    html_fact_begin(out, "Protocol");
    html_known(out, cell->protocol);
    if (cell->protocol_version.known)
        text_append_format(out, " v%lld", (long long)cell->protocol_version.value);
    text_append_char(out, ' ');
    html_digest(out, cell->protocol_digest);
    html_fact_end(out);
    append_duration_clause(out, json, "warmup", "Warmup at least");
    append_duration_clause(out, json, "window", "Window");
    html_fact_begin(out, "Workload");
    html_known(out, cell->workload);
    if (cell->workload_version.known)
        text_append_format(out, " v%lld", (long long)cell->workload_version.value);
    text_append_char(out, ' ');
    html_digest(out, cell->workload_digest);
    html_fact_end(out);
    html_fact_begin(out, "Precision, batch, scenario");
    html_known(out, cell->precision);
    text_append(out, ", ");
    if (cell->batch.known)
        text_append_format(out, "%lld", (long long)cell->batch.value);
    else
        html_known(out, NULL);
    text_append(out, ", ");
    html_known(out, cell->scenario);
    html_fact_end(out);
    html_fact_begin(out, "Implementation");
    html_known(out, cell->implementation);
    html_fact_end(out);
    append_phrase(out, cell, "GEMMs", gemm_words);
    for (size_t i = 0; i < view_phrase_count; ++i)
        append_phrase(out, cell, view_phrases[i].title, view_phrases[i].words);
    html_fact_begin(out, "Seed of the data");
    html_known(out, cell->seed);
    html_fact_end(out);
    append_link(out, appendix, HTML_APPENDIX_PROTOCOL, cell, "Every clause");
    append_link(out, appendix, HTML_APPENDIX_WORKLOAD, cell, "Declaration");
    text_append(out, "</dl></section>\n");
}

static size_t changed_files(const struct view_cell *cell)
{
    size_t changed = 0;

    for (size_t i = 0; i < cell->trial_count; ++i)
        changed += cell->trials[i].changed_count;
    return changed;
}

static void append_device(struct text *out, const struct view_cell *cell,
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

    text_append(out, "<section><h4>System</h4><dl>\n");
    html_fact_begin(out, "Device");
    if (cell->device.name)
        escape_html_short(out, cell->device.name, 160);
    else
        html_known(out, NULL);
    if (cell->device.simulated)
        text_append(out, " <b class=\"care\">simulated</b>");
    if (cell->imported.present)
        text_append(out, " <b class=\"care\">imported</b>");
    html_fact_end(out);
    html_fact_begin(out, "Opened as");
    html_known(out, cell->device_spec);
    html_fact_end(out);
    if (cell->imported.present) {
        text_append(out, "</dl></section>\n");
        return;
    }
    append_readings(out, &cell->device.readings, device, sizeof(device) / sizeof(device[0]));
    append_link(out, appendix, HTML_APPENDIX_DEVICE, cell, "All readings");
    append_link(out, appendix, HTML_APPENDIX_STACK, cell, "Mapped libraries");
    append_link(out, appendix, HTML_APPENDIX_FILES, cell, "Other mapped files");
    if (changed)
        text_append_format(out,
                           "<div><dt>Libraries</dt><dd class=\"bad\">%zu differ between start and "
                           "end of a window</dd></div>\n",
                           changed);
    append_link(out, appendix, HTML_APPENDIX_KERNELS, cell, "Kernels as compiled");
    text_append(out, "</dl></section>\n");
}

/* The host as the first trial that recorded it found it. */
static const struct reading_list *surroundings_of(const struct view_cell *cell)
{
    for (size_t i = 0; i < cell->trial_count; ++i)
        if (cell->trials[i].host.count)
            return &cell->trials[i].host;
    return NULL;
}

static void append_import(struct text *out, const struct view_imported *imported)
{
    html_fact_begin(out, "Measured by");
    html_known(out, imported->program);
    text_append_char(out, ' ');
    html_known(out, imported->program_version);
    html_fact_end(out);
    html_fact_begin(out, "File");
    html_known(out, imported->file);
    text_append_char(out, ' ');
    html_digest(out, imported->sha256);
    html_fact_end(out);
}

static void append_surroundings(struct text *out, const struct view_cell *cell,
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

    if (cell->imported.present) {
        text_append(out, "<section><h4>Origin</h4><dl>\n");
        append_import(out, &cell->imported);
        html_tool(out, "Imported by", campaign);
        text_append(out, "</dl></section>");
        return;
    }
    text_append(out, "<section><h4>Environment</h4><dl>\n");
    append_readings(out, surroundings_of(cell), host, sizeof(host) / sizeof(host[0]));
    append_extent(out, cell, "load.average_1min", "Load, 1 min, over the trials");
    append_extent(out, cell, "load.memory_available", "Memory available");
    append_extent(out, cell, "load.temperature", "Temperature");
    append_growth(out, cell, "load.steal", "Time stolen by the hypervisor");
    append_link(out, appendix, HTML_APPENDIX_HOST, cell, "Everything recorded");
    html_tool(out, "Measured by", campaign);
    text_append(out, "</dl>");
    append_moving(out, cell);
    text_append(out, "</section>");
}

void html_context(struct text *out, const struct view_cell *cell,
                  const struct view_campaign *campaign, const struct html_appendix *appendix)
{
    text_append(out, "<aside class=\"context\" aria-label=\"Context of this result\">"
                     "<div class=\"sheets\">");
    append_device(out, cell, appendix);
    append_protocol(out, cell, appendix);
    append_surroundings(out, cell, campaign, appendix);
    text_append(out, "</div></aside>\n");
}

/* The table of results. */
#include "reports/terminal.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "reports/remarks.h"
#include "reports/serving_table.h"
#include "reports/size_words.h"
#include "reports/terminal_internal.h"

enum column {
    ID,
    WORKLOAD,
    PRECISION,
    BATCH,
    RESULT,
    SPREAD,
    RATIO,
    TIME,
    STEADY,
    NOTES,
    TRIALS,
    COLUMN_COUNT
};

static const struct {
    const char *heading;
    bool right;
    size_t gap; /* before it */
} columns_of[COLUMN_COUNT] = {
    [ID] = {"id", false, 1},
    [WORKLOAD] = {"workload", false, 2},
    [PRECISION] = {"prec", false, 2},
    [BATCH] = {"batch", true, 1},
    [RESULT] = {"result", true, 2},
    [SPREAD] = {"", false, 1},
    [RATIO] = {"/ref", true, 1},
    [TIME] = {"per iteration", true, 2},
    [STEADY] = {"grade, verdict", false, 2},
    [NOTES] = {"", false, 0}, /* printed at the end of STEADY */
    [TRIALS] = {"ok", true, 1},
};

#define WIDE 104
#define WORKLOAD_MIN 8

struct row {
    char *fields[COLUMN_COUNT]; /* heap */
};

static void set_field(struct row *row, enum column column, char *heap, struct text *out)
{
    if (!heap)
        out->failed = true;
    row->fields[column] = heap;
}

/* The value, in parentheses where it is only an indication. */
static char *result_of(const struct view_cell *cell, char **ret_spread)
{
    struct view_figure figure;

    if (!view_headline_figure(cell, &figure)) {
        *ret_spread = strdup("");
        return strdup(view_no_value_label(cell));
    }
    *ret_spread = strdup(figure.spread[0]         ? figure.spread
                         : cell->imported.present ? ""
                                                  : "no interval");
    return text_format(figure.marked ? "(%s%s)" : "%s%s", figure.value, figure.of);
}

static char *metric_field(const struct view_cell *cell, enum metric_id id)
{
    struct view_figure figure;

    return strdup(view_figure_of(id, view_metric(cell, id), &figure) ? figure.value : "-");
}

static char *verdict_field(const struct view_cell *cell)
{
    enum metric_id id;
    const struct metric_value *value = view_headline(cell, &id);
    const char *grade = value ? metric_grade_name(value->grade) : "";

    return text_format("%s%s%s", grade, *grade ? " " : "", view_verdict_label(cell));
}

/* "[1,3-5]" */
static void append_refs(struct text *out, const size_t *refs, size_t count)
{
    for (size_t i = 0, end; i < count; i = end + 1) {
        for (end = i; end + 1 < count && refs[end + 1] == refs[end] + 1;)
            ++end;
        text_append_format(out, "%s%zu", i ? "," : "[", refs[i]);
        if (end > i)
            text_append_format(out, "%s%zu", end > i + 1 ? "-" : ",", refs[end]);
    }
    text_append(out, count ? "]" : "");
}

static void fill_row(struct row *row, const struct view_cell *cell, bool short_id,
                     const size_t *refs, size_t ref_count, struct text *out)
{
    struct text notes = TEXT_INIT;
    char *spread;

    set_field(row, RESULT, result_of(cell, &spread), out);
    set_field(row, SPREAD, spread, out);
    set_field(row, ID,
              short_id ? text_format("%lld", (long long)cell->ordinal.value) : strdup(cell->result),
              out);
    set_field(row, WORKLOAD,
              text_format("%s%s", cell->workload ? cell->workload : "?", cell->variant), out);
    set_field(row, PRECISION, strdup(cell->precision ? cell->precision : "?"), out);
    set_field(row, BATCH,
              cell->batch.known ? text_format("%lld", (long long)cell->batch.value) : strdup("?"),
              out);
    set_field(row, RATIO, metric_field(cell, METRIC_REFERENCE_RATIO), out);
    set_field(row, TIME, metric_field(cell, METRIC_ITERATION_TIME), out);
    set_field(row, STEADY, verdict_field(cell), out);
    append_refs(&notes, refs, ref_count);
    set_field(row, NOTES, text_steal(&notes), out);
    set_field(
        row, TRIALS,
        cell->imported.present
            ? strdup("-")
            : text_format("%zu/%lld", cell->ok_count,
                          cell->trials_planned.known ? (long long)cell->trials_planned.value : 0),
        out);
}

/* Widths from the content; what does not fit is taken from the elastic columns, in their order. */
static void fit_widths(const struct row *heading, const struct row *rows, size_t count,
                       size_t columns, bool wide, bool has_ratio, size_t widths[COLUMN_COUNT])
{
    static const enum column elastic[] = {WORKLOAD, STEADY, ID, WORKLOAD, RESULT};
    size_t least[] = {WORKLOAD_MIN, 12, 0, 1, 10};
    size_t total = 0;

    /* Numbers of remarks can go below the row, the verdict cannot. */
    for (size_t i = 0; i < count; ++i) {
        size_t width = rows[i].fields[STEADY] ? text_columns(rows[i].fields[STEADY]) : 0;

        least[1] = width > least[1] ? width : least[1];
    }

    for (int c = 0; c < COLUMN_COUNT; ++c) {
        widths[c] = text_columns(heading->fields[c]);
        for (size_t i = 0; i < count; ++i) {
            size_t width = rows[i].fields[c] ? text_columns(rows[i].fields[c]) : 0;

            if (c == STEADY && rows[i].fields[NOTES] && *rows[i].fields[NOTES])
                width += 1 + text_columns(rows[i].fields[NOTES]);
            widths[c] = width > widths[c] ? width : widths[c];
        }
        if (c == NOTES || (!wide && c == TIME) || (c == RATIO && !has_ratio))
            widths[c] = 0;
        if (widths[c])
            total += widths[c] + columns_of[c].gap;
    }
    for (size_t e = 0; e < sizeof(elastic) / sizeof(elastic[0]) && total > columns; ++e) {
        size_t *width = &widths[elastic[e]], excess = total - columns;
        size_t spare = *width > least[e] ? *width - least[e] : 0;
        size_t cut = excess < spare ? excess : spare;

        /* A figure needs its unit: ids and names move to their own lines first. */
        if (elastic[e] == ID) {
            cut = *width;
            total -= columns_of[ID].gap;
        }
        *width -= cut;
        total -= cut;
    }
}

static enum terminal_tone tone_of(const struct view_cell *cell, enum column column)
{
    bool all = cell->trials_planned.known && (int64_t)cell->ok_count >= cell->trials_planned.value;

    switch (column) {
    case RESULT:
        return view_is_steady(cell) ? TONE_BOLD : TONE_CARE;
    case STEADY:
        return !cell->estimate ? TONE_SOFT : view_is_steady(cell) ? TONE_GOOD : TONE_CARE;
    case TRIALS:
        return all ? TONE_PLAIN : view_is_unsupported(cell) ? TONE_SOFT : TONE_BAD;
    case ID:
    case SPREAD:
    case RATIO:
    case TIME:
    case NOTES:
        return TONE_SOFT;
    default:
        return TONE_PLAIN;
    }
}

static void trim_line(const struct terminal *terminal)
{
    while (terminal->out->length && terminal->out->data[terminal->out->length - 1] == ' ')
        terminal->out->data[--terminal->out->length] = '\0';
    text_append_char(terminal->out, '\n');
}

/*
 * A name too long for its column is printed in full on its own line above the row; so is every name
 * where ids have no column.
 */
static bool append_long_name(const struct terminal *terminal, const struct row *row,
                             const size_t widths[COLUMN_COUNT])
{
    const char *id = row->fields[ID] ? row->fields[ID] : "";
    size_t width = widths[ID] ? widths[ID] : text_columns(id);
    size_t taken = columns_of[ID].gap + width + columns_of[WORKLOAD].gap;

    if (!row->fields[WORKLOAD] ||
        (widths[ID] && text_columns(row->fields[WORKLOAD]) <= widths[WORKLOAD]))
        return false;
    terminal_pad(terminal, columns_of[ID].gap);
    terminal_field(terminal, TONE_SOFT, id, width, columns_of[ID].right);
    terminal_pad(terminal, columns_of[WORKLOAD].gap);
    terminal_field(terminal, TONE_PLAIN, row->fields[WORKLOAD],
                   terminal->columns > taken ? terminal->columns - taken : widths[WORKLOAD], false);
    trim_line(terminal);
    return true;
}

/* The text, followed by the numbers of the remarks; false where these do not fit. */
static bool append_steady(const struct terminal *terminal, const struct row *row, size_t width,
                          const struct view_cell *cell)
{
    const char *words = row->fields[STEADY] ? row->fields[STEADY] : "";
    const char *notes = row->fields[NOTES] ? row->fields[NOTES] : "";
    const size_t left = text_columns(words);

    if (!*notes || left + 1 + text_columns(notes) > width) {
        terminal_field(terminal, tone_of(cell, STEADY), words, width, false);
        return !*notes;
    }
    terminal_field(terminal, tone_of(cell, STEADY), words, left, false);
    terminal_pad(terminal, 1);
    terminal_field(terminal, TONE_SOFT, notes, width - left - 1, false);
    return true;
}

/* Below the text where there is room to the right of that, else below the workload. */
static void append_notes_below(const struct terminal *terminal, const struct row *row,
                               const size_t widths[COLUMN_COUNT])
{
    const char *notes = row->fields[NOTES];
    size_t from = 0;

    for (int c = 0; c < STEADY; ++c)
        from += widths[c] ? widths[c] + columns_of[c].gap : 0;
    from += columns_of[STEADY].gap;
    if (from + text_columns(notes) > terminal->columns)
        from = columns_of[ID].gap + widths[ID] + columns_of[WORKLOAD].gap;
    terminal_pad(terminal, from);
    terminal_field(terminal, TONE_SOFT, notes,
                   terminal->columns > from ? terminal->columns - from : 1, false);
    trim_line(terminal);
}

static void append_row(const struct terminal *terminal, const struct row *row,
                       const size_t widths[COLUMN_COUNT], const struct view_cell *cell)
{
    bool named = append_long_name(terminal, row, widths), noted = true;

    for (int c = 0; c < COLUMN_COUNT; ++c) {
        const char *field = named && (c == ID || c == WORKLOAD) ? "" : row->fields[c];

        if (!widths[c])
            continue;
        terminal_pad(terminal, columns_of[c].gap);
        if (c == STEADY && cell)
            noted = append_steady(terminal, row, widths[c], cell);
        else
            terminal_field(terminal, cell ? tone_of(cell, (enum column)c) : TONE_SOFT,
                           field ? field : "", widths[c], columns_of[c].right);
    }
    trim_line(terminal);
    if (!noted)
        append_notes_below(terminal, row, widths);
}

static void append_campaign(const struct terminal *terminal, const struct view *view, size_t index)
{
    const struct view_campaign *campaign = &view->campaigns[index];
    const struct view_cell *cell = NULL;
    char iso[CLOCK_ISO_SIZE] = "";
    CLEANUP(text_finish) struct text line = TEXT_INIT;

    for (size_t i = 0; i < view->cell_count && !cell; ++i)
        if (view->cells[i].campaign == index)
            cell = &view->cells[i];
    text_append_format(&line, "campaign %.8s", campaign->uid ? campaign->uid : "?");
    if (campaign->created_utc_ns.known) {
        clock_format_iso(campaign->created_utc_ns.value, iso);
        text_append_format(&line, " · %.10s %.5s UTC", iso, strlen(iso) > 11 ? iso + 11 : "");
    }
    if (cell) {
        text_append_format(&line, " · protocol %s", cell->protocol ? cell->protocol : "?");
        if (cell->protocol_version.known)
            text_append_format(&line, " v%lld", (long long)cell->protocol_version.value);
    }
    text_append_format(&line, " · assay %s", campaign->tool_version ? campaign->tool_version : "?");
    terminal_wrap(terminal, TONE_PLAIN, "", line.data);
    if (campaign->archived)
        terminal_wrap(terminal, TONE_CARE, "  archived: ", campaign->archived);
}

static void append_contention(const struct terminal *terminal, const struct view *view)
{
    CLEANUP(text_finish) struct text line = TEXT_INIT;

    if (view_contention(view, &line))
        terminal_wrap(terminal, TONE_CARE, "", line.data);
}

/* What sizes come to, before the table that has each. */
static void append_sizes(const struct terminal *terminal, const struct view *view)
{
    CLEANUP(text_finish) struct text lines = TEXT_INIT;
    CLEANUP(doc_finish) struct doc doc = doc_new(&lines, &doc_lines);

    size_words(&doc, view);
    if (lines.length > 0)
        doc_wrap(terminal->out, lines.data, terminal->columns);
    terminal->out->failed |= lines.failed;
}

static void append_group(const struct terminal *terminal, const struct view_cell *cell, bool first)
{
    const char *spec = cell->device_spec ? cell->device_spec : "?";
    size_t width = text_columns(spec);

    width = width > terminal->columns / 2 ? terminal->columns / 2 : width;
    text_append(terminal->out, first ? "" : "\n");
    terminal_field(terminal, TONE_BOLD, spec, width, false);
    terminal_pad(terminal, 2);
    terminal_field(
        terminal, TONE_BOLD, cell->device.name ? cell->device.name : "device not recorded",
        terminal->columns - width - 2 - (cell->device.simulated || cell->imported.present ? 12 : 0),
        false);
    while (terminal->out->data[terminal->out->length - 1] == ' ')
        terminal->out->data[--terminal->out->length] = '\0';
    if (cell->device.simulated)
        terminal_tone(terminal, TONE_CARE, " (simulated)");
    if (cell->imported.present)
        terminal_tone(terminal, TONE_CARE, " (imported)");
    text_append_char(terminal->out, '\n');
}

static void append_notes(const struct terminal *terminal, const struct view *view,
                         const struct remarks *remarks)
{
    CLEANUP(text_finish) struct text closing = TEXT_INIT;

    for (size_t i = 0; i < remarks->count; ++i) {
        char lead[32];

        snprintf(lead, sizeof(lead), "%s[%zu] ", i < 9 ? " " : "", i + 1);
        terminal_wrap(terminal, TONE_SOFT, lead, remarks->items[i].text);
    }
    if (view_closing_words(view, &closing)) {
        text_append(terminal->out, remarks->count ? "\n" : "");
        terminal_wrap(terminal, TONE_CARE, "", closing.data);
    }
}

void report_terminal_table(struct text *out, const struct view *view, size_t columns, bool colour)
{
    CLEANUP(doc_finish) struct doc doc = doc_new(out, &doc_lines);
    struct terminal terminal = terminal_make(out, columns, colour);
    struct row *rows = calloc(view->cell_count + 1, sizeof(*rows)), heading;
    bool *done = calloc(view->cell_count + 1, sizeof(*done)), wide = terminal.columns >= WIDE;
    bool short_id = !wide && view->campaign_count == 1;
    size_t widths[COLUMN_COUNT];
    struct remarks remarks;
    const struct view_cell *last = NULL;

    remarks_init(&remarks);
    if (!rows || !done) {
        out->failed = true;
        goto cleanup;
    }
    for (size_t i = 0; i < view->cell_count; ++i)
        remarks_add_cell(&remarks, i, &view->cells[i]);
    remarks_render(&remarks);
    for (size_t i = 0; i < view->cell_count; ++i) {
        size_t refs[64], count = remarks_of(&remarks, i, refs, 64);

        fill_row(&rows[i], &view->cells[i], short_id, refs, count, out);
    }
    for (int c = 0; c < COLUMN_COUNT; ++c)
        heading.fields[c] = (char *)columns_of[c].heading;
    if (short_id)
        heading.fields[ID] = (char *)"#";
    fit_widths(&heading, rows, view->cell_count, terminal.columns, wide,
               view_any_metric(view, METRIC_REFERENCE_RATIO), widths);
    for (size_t i = 0; i < view->campaign_count; ++i)
        append_campaign(&terminal, view, i);
    append_contention(&terminal, view);
    append_sizes(&terminal, view);
    text_append_char(out, '\n');
    append_row(&terminal, &heading, widths, NULL);
    terminal_rule(&terminal);
    for (size_t i = 0; i < view->cell_count; ++i) {
        if (done[i])
            continue;
        if (!last || !view_same_device(last, &view->cells[i]))
            append_group(&terminal, &view->cells[i], i == 0);
        last = &view->cells[i];
        for (size_t k = i; k < view->cell_count; ++k) {
            if (done[k] || last->campaign != view->cells[k].campaign ||
                !view_same_device(last, &view->cells[k])) {
                if (view->sorted)
                    break;
                continue;
            }
            done[k] = true;
            append_row(&terminal, &rows[k], widths, &view->cells[k]);
        }
    }
    terminal_rule(&terminal);
    serving_table(&doc, view, true);
    append_notes(&terminal, view, &remarks);
    out->failed = out->failed || remarks.failed;
cleanup:
    for (size_t i = 0; rows && i < view->cell_count; ++i)
        for (int c = 0; c < COLUMN_COUNT; ++c)
            free(rows[i].fields[c]);
    free(rows);
    free(done);
    remarks_finish(&remarks);
}

/*
 * The first page of a dossier, for whoever reads no further: what was asked and decided, each
 * figure with its interval in its own unit, objections to it, and who signed. The sections below
 * have all of it in full.
 */
#include <string.h>

#include "harness/core/cleanup.h"
#include "reports/dossier_internal.h"

static void append_value(struct text *out, const struct view_cell *cell,
                         const struct view_figure *figure)
{
    doc_phrase(out, figure->marked ? "{bold (%s%s)}\t" : "{bold %s%s}\t", figure->value,
               figure->of);
    doc_phrase(out, "%s",
               figure->ends[0]          ? figure->ends
               : cell->imported.present ? "as its file says, without an interval"
                                        : "none");
}

static void say_row(struct doc *doc, const struct view_cell *cell)
{
    const long long planned = cell->trials_planned.known ? cell->trials_planned.value : 0;
    struct view_figure figure;
    AUTO_FREE char *anchor = phrase_result_id(cell);

    doc_add(doc, "{link #%s ", anchor ? anchor : "");
    phrase_title(&doc->block, cell);
    doc_add(doc, "}\n{soft %s%s, {code %s}}\t",
            cell->device.name ? cell->device.name : "device not recorded",
            cell->device.simulated ? ", simulated" : "", cell->result);
    if (view_headline_figure(cell, &figure))
        append_value(&doc->block, cell, &figure);
    else
        doc_add(doc, "{care %s}\t%s", view_no_value_label(cell), view_no_value_reason(cell));
    if (view_is_unsupported(cell))
        doc_add(doc, "\t\u2013");
    else
        doc_add(doc, "\t%s%s%s", figure.grade, *figure.grade ? ", " : "", view_verdict_label(cell));
    if (cell->imported.present)
        doc_add(doc, "\t\u2013");
    else if (!view_is_unsupported(cell) && (long long)cell->ok_count < planned)
        doc_add(doc, "\t{bad %zu of %lld}", cell->ok_count, planned);
    else
        doc_add(doc, "\t%zu of %lld", cell->ok_count, planned);
    doc_end(doc, NULL);
}

static void say_figures(struct doc *doc, const struct view *view)
{
    char interval[VIEW_INTERVAL_SIZE];
    const struct doc_column columns[] = {{"What was measured, on what", DOC_NAME | DOC_BREAK},
                                         {"Result", DOC_NUMBER},
                                         {interval, 0},
                                         {"Grade, verdict", 0},
                                         {"Trials", DOC_NUMBER}};

    view_interval_head(view, interval);
    doc_table(doc, "results short", columns, sizeof(columns) / sizeof(*columns));
    for (size_t i = 0; i < view->cell_count; i++)
        say_row(doc, &view->cells[i]);
    doc_close(doc);
}

static void say_attempts(struct doc *doc, const struct view *view)
{
    size_t attempts = 0, ok = 0, imported = 0, unsupported = 0;
    long long planned = 0;

    for (size_t i = 0; i < view->cell_count; i++) {
        attempts += view->cells[i].trial_count;
        imported += view->cells[i].imported.present;
        ok += view->cells[i].ok_count;
        unsupported += view_is_unsupported(&view->cells[i]) ? view->cells[i].trial_count : 0;
        planned += view->cells[i].trials_planned.known ? view->cells[i].trials_planned.value : 0;
    }
    if (imported == view->cell_count) {
        doc_say(doc, NULL, "Attempts\tnone of assay's own: another program measured");
        return;
    }
    doc_add(doc, "Attempts\t%lld planned beforehand, %zu started, ", planned, attempts);
    doc_add(doc,
            (long long)(ok + unsupported) < planned ? "{bad %zu completed}"
                                                    : "{good %zu completed}",
            ok);
    if (unsupported > 0)
        doc_add(doc, ", %zu asked for what their device does not support", unsupported);
    doc_say(doc, NULL, "; {link #attempts all of them}");
}

/* columns: 0 severity, 1 names of checks; after what the block begins with */
static void append_severity(struct doc *doc, const struct dossier_row *row)
{
    doc_add(doc, "%s%s (%s)", doc_ends_with(doc, ' ') ? "" : "; ", dossier_column(row, 1),
            dossier_column(row, 0));
}

static enum status say_machine(struct doc *doc, struct store *store, const struct view *view,
                               struct error *err)
{
    CLEANUP(text_finish) struct text found = TEXT_INIT;
    CLEANUP(doc_finish) struct doc names = doc_new(&found, &doc_lines);
    size_t rows = 0, looked = 0;

    doc_add(&names, " ");
    for (size_t i = 0; i < view->campaign_count; i++) {
        looked += json_array_size(json_object_get(view->campaigns[i].root, "doctor"));
        TRY(dossier_each_row(
            &names, store, view,
            "SELECT severity, group_concat(name, ', ') FROM (SELECT DISTINCT severity,"
            " \"check\" AS name FROM findings WHERE campaign = ?1 AND severity <> 'info')"
            " GROUP BY severity ORDER BY severity DESC",
            view->campaigns[i].id, append_severity, &rows, err));
    }
    doc_add(doc, "The machine\t");
    if (rows > 0) {
        bool unfit = strstr(names.block.data, "(critical)") != NULL;

        doc_add(doc, unfit ? "{bad not fit to measure on:" : "{care with warnings:");
        text_append(&doc->block, names.block.data);
        doc_say(doc, NULL, "}; {link #deviations the effects}");
    } else if (looked) {
        doc_say(doc, NULL, "found fit to measure on");
    } else {
        doc_say(doc, NULL, "{care its fitness was not checked}");
    }
    return STATUS_OK;
}

/* columns: 0 name, 1 role, 2 kinds of heads */
static void append_signer(struct doc *doc, const struct dossier_row *row)
{
    doc_add(doc, "%s%s (%s: %s)", doc_ends_with(doc, '\t') ? "" : "; ", dossier_column(row, 0),
            dossier_column(row, 1), dossier_column(row, 2));
}

/* The names under a bundle's head: lines that begin with a dash in its signed note. Column: note.
 */
static void append_note_signers(struct doc *doc, const struct dossier_row *row)
{
    static const char mark[] = "\n\u2014 ";
    const char *note = dossier_column(row, 0);

    while (note && (note = strstr(note, mark)) != NULL) {
        AUTO_FREE char *name = NULL;
        size_t length;

        note += sizeof(mark) - 1;
        length = strcspn(note, " \n");
        name = strndup(note, length);
        doc_add(doc, "%s%s (the bundle it came in)", doc_ends_with(doc, '\t') ? "" : "; ", name);
        note += length;
    }
}

static enum status say_signers(struct doc *doc, struct store *store, const struct view *view,
                               struct error *err)
{
    size_t signers = 0, unsigned_count = 0;

    doc_add(doc, "Signed\t");
    for (size_t i = 0; i < view->campaign_count; i++) {
        const size_t before = doc->block.length;

        TRY(dossier_each_row(doc, store, view,
                             "SELECT s.name, s.role, replace(group_concat(DISTINCT c.kind),"
                             " ',', ', ') FROM signature s"
                             " JOIN checkpoint c ON c.id = s.checkpoint WHERE c.campaign = ?1"
                             " GROUP BY s.public_key, s.role ORDER BY min(s.id)",
                             view->campaigns[i].id, append_signer, &signers, err));
        TRY(dossier_each_row(doc, store, view, "SELECT note FROM bundle WHERE campaign = ?1",
                             view->campaigns[i].id, append_note_signers, &signers, err));
        unsigned_count += doc->block.length == before;
    }
    if (unsigned_count < view->campaign_count)
        doc_add(doc, " (names as the file has them)");
    if (unsigned_count == view->campaign_count)
        doc_add(doc, "{care unsigned}");
    else if (unsigned_count > 0)
        doc_add(doc, "; {care %zu of %zu campaigns unsigned}", unsigned_count,
                view->campaign_count);
    doc_say(doc, NULL, "; {link #signatures keys}, {link #check how to check}");
    return STATUS_OK;
}

/* What invalidates a figure comes before it. */
static void say_stops(struct doc *doc, const struct view *view)
{
    enum { SIMULATED, WORKERS, ROOTS, LOOKS, IMPORTED, STOPS };
    static const char *const words[STOPS][2] = {
        [SIMULATED] = {"%zu of %zu results are of a simulated device",
                       " and say nothing of any hardware."},
        [WORKERS] = {"%zu of %zu results were measured by another worker than assay's own",
                     ": device, times and checks are that program's word alone."},
        [ROOTS] = {"Of %zu of %zu results the host's readings were taken from a folder",
                   ", not from the machine that measured."},
        [LOOKS] = {"%zu of %zu results are no evidence", ", by their own protocol."},
        [IMPORTED] = {"%zu of %zu results were measured by another program",
                      " and are shown as its file has them."},
    };
    size_t counts[STOPS] = {0}, first = 0;

    for (size_t i = 0; i < view->cell_count; i++) {
        const struct view_cell *cell = &view->cells[i];

        counts[SIMULATED] += cell->device.simulated;
        counts[IMPORTED] += cell->imported.present;
        counts[WORKERS] += cell->origin.worker != NULL;
        counts[ROOTS] += cell->origin.host_root != NULL;
        counts[LOOKS] += !cell->evidence && !cell->imported.present;
        first += view_is_first_look(cell);
    }
    for (size_t i = 0; i < STOPS; i++) {
        AUTO_FREE char *what = text_format(words[i][0], counts[i], view->cell_count);

        if (counts[i] == 0)
            continue;
        doc_note(doc, "note stop", "{bold %s}%s", what,
                 i == LOOKS && first == counts[i] ? ", by their own protocol: a first look."
                                                  : words[i][1]);
    }
}

enum status dossier_summary(struct doc *doc, struct store *store, const struct view *view,
                            struct error *err)
{
    doc_heading(doc, 2, "short", "In short");
    say_stops(doc, view);
    TRY(dossier_decided(doc, store, view, err));
    say_figures(doc, view);
    doc_open(doc, DOC_FACTS, "facts");
    say_attempts(doc, view);
    TRY(say_machine(doc, store, view, err));
    TRY(say_signers(doc, store, view, err));
    doc_close(doc);
    return STATUS_OK;
}

/* html_internal - shared by the html_*.c sources; everything appends to a text. */
#ifndef ASSAY_REPORTS_HTML_INTERNAL_H
#define ASSAY_REPORTS_HTML_INTERNAL_H

#include "reports/chart.h"
#include "reports/doc.h"
#include "reports/view.h"

/* ---- html.c ---- */

/*
 * Everything up to and with the page's outermost <div>; the title is followed by the beginning of
 * the id. `class_name`, of the body, is "report" (on paper what is read) or "dossier" (all of it).
 */
void html_page_begin(struct text *out, const char *class_name, const char *title, const char *id);

/* ---- html_parts.c ---- */

/* id of a result's article: "r-9f2c41aa-3". */
void html_result_id(struct text *out, const struct view_cell *cell);
/*
 * Phrases (doc.h): the title of a result ("9f2c41aa/3"), linked to where it stands; its id where
 * the view does not have it, and behind the title where another result of the view has the same.
 */
void phrase_result(struct text *out, const struct view *view, const char *result);
/* "triad fp32, batch 1, arm b (driver=...)" */
void phrase_title(struct text *out, const struct view_cell *cell);
/* "2026-11-20 15:52:01 UTC", or "not recorded". */
void phrase_time(struct text *out, const struct view_count *utc_ns);
/* "assay", its version and digest. */
void phrase_tool(struct text *out, const struct view_campaign *campaign);
/* A value, or its status and reason; never blank. NULL: "not recorded". */
void phrase_reading(struct text *out, const struct reading *reading);
/* The id of a result's article: "r-9f2c41aa-3"; heap, NULL: out of memory. */
char *phrase_result_id(const struct view_cell *cell);
/* The value of a reading alone, its unit made readable; empty when it has none. */
void phrase_reading_value(struct text *out, const struct reading *reading);
/* A table of readings, with their sources. */
void html_reading_table(struct doc *doc, const char *caption, const struct reading_list *readings);
/* Same status and value (text, number, reason); source and method do not count. */
bool html_reading_equal(const struct reading *a, const struct reading *b);
/* Declared JSON, indented, in a collapsed <details>. */
void html_json_details(struct text *out, const char *class_name, const char *summary,
                       const json_t *json);

/* ---- html_appendix.c: what many results share, stated once ---- */

struct html_section;
struct html_appendix {
    struct html_section *sections;
    size_t count;
    bool failed;
};
enum html_appendix_kind {
    HTML_APPENDIX_DEVICE,
    HTML_APPENDIX_HOST,
    HTML_APPENDIX_STACK, /* installed files that were mapped */
    HTML_APPENDIX_FILES, /* other mapped files: compiled kernels, the program itself */
    HTML_APPENDIX_KERNELS,
    HTML_APPENDIX_WORKLOAD,
    HTML_APPENDIX_PROTOCOL,
    HTML_APPENDIX_KINDS
};

void html_appendix_finish(struct html_appendix *appendix);
/*
 * Adds `body` (taken, finished) once per content, used by the cell. Returns the section's number
 * within its kind, from 1; 0 when out of memory.
 */
size_t html_appendix_add(struct html_appendix *appendix, enum html_appendix_kind kind,
                         struct text *body, const struct view_cell *cell);
/* html_sections.c: everything of a fully loaded cell that goes to the appendix. Links are found by
 * html_appendix_links. */
void html_appendix_collect(struct html_appendix *appendix, const struct view_cell *cell);
/* Phrases: links to those sections, "Stack 1, Stack 2". False (and nothing) when there is none. */
bool html_appendix_links(struct text *out, const struct html_appendix *appendix,
                         enum html_appendix_kind kind, const struct view_cell *cell);
void html_appendix_write(struct text *out, const struct html_appendix *appendix);
/* ---- html_charts.c ---- */

/* What is loaded of one attempt. */
struct html_loaded {
    int64_t *wall;
    struct chart_series series;
    size_t from; /* first sample that the figures of steady state are about */
    bool used;   /* in those figures */
    char unreadable[160];
};

/* id of a figure of a cell: "r-9f2c41aa-3-t1". */
#define HTML_HEADING_SIZE 224
/* "Trial 3 · 9f2c41aa/1": identifies a figure that is copied out of its page. */
void html_figure_heading(const struct view_cell *cell, const char *what,
                         char ret[HTML_HEADING_SIZE]);
void html_figure_id(struct text *out, const struct view_cell *cell, const char *what, size_t n);

/* Loads the cell's samples and draws them; `marks` is the number of points a chart may hold. */
enum status html_charts(struct doc *doc, struct store *store, const struct view_cell *cell,
                        size_t marks, struct error *err);

/* ---- html_doctor.c: what was found wrong with the machine before the trials ---- */

void html_doctor(struct doc *doc, const struct view *view);

/* Output of lscpu, nvidia-smi and the like at that time: name, status, size and digest. */
void html_dumps(struct doc *doc, const struct view *view);

/* ---- html_telemetry.c: telemetry of the trials; nothing where there is none ---- */

void html_telemetry(struct doc *doc, struct store *store, const struct view_cell *cell);

/* ---- html_stages.c: `loaded` has one entry per attempt of the cell ---- */

void html_stages(struct text *out, struct store *store, const struct view_cell *cell,
                 const struct html_loaded *loaded);
void html_clocks(struct text *out, struct store *store, const struct view_cell *cell,
                 const struct html_loaded *loaded);

/* ---- html_cell.c ---- */

/* Begins what a result is folded into, </details>, with a line that names it and its value. */
void html_cell_summary(struct text *out, const struct view_cell *cell, bool is_open);

enum status html_cell(struct doc *doc, struct store *store, const struct view_cell *cell,
                      const struct view_campaign *campaign, const struct html_appendix *appendix,
                      size_t marks, struct error *err);

#endif

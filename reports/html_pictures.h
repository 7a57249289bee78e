/*
 * html_pictures - pictures of several results together, drawn by plot.h. Each says in its caption
 * what it shows and which results it is made of.
 */
#ifndef ASSAY_REPORTS_HTML_PICTURES_H
#define ASSAY_REPORTS_HTML_PICTURES_H

#include "reports/html_internal.h"
#include "reports/plot.h"
#include "results/analysis/campaign_comparison.h"

/* ---- html_forest.c ---- */

/* "triad fp32 batch 1, vendor", plain text; the device too where `with_device`. Heap; NULL: out of
 * memory. */
char *html_cell_words(const struct view_cell *cell, bool with_device);
/* All results with their intervals, those of one unit over one axis. */
void html_forest(struct text *out, const struct view *view);

/* ---- html_pairs.c: campaigns of two arms ---- */

/* The comparisons of all campaigns of a page that have arms. */
struct html_pairs {
    struct campaign_comparison *campaigns; /* heap */
    size_t campaign_count;
    size_t count;      /* comparisons in all of them */
    struct text notes; /* campaigns whose pairs could not be compared, and why; plain text */
};

/*
 * Compares the arms anew from their samples, as `assay compare CAMPAIGN` does. What cannot be
 * compared is noted and is no error. Finish with html_pairs_finish.
 */
enum status html_pairs_load(struct store *store, const struct view *view, struct html_pairs *ret,
                            struct error *err);
void html_pairs_finish(struct html_pairs *pairs);
/* The answer and how sure it is. */
void html_pairs_words(struct doc *doc, const struct view *view, const struct html_pairs *pairs);
/* The differences pair by pair of one comparison, or all ratios of several. */
void html_pairs_picture(struct doc *doc, const struct view *view, const struct html_pairs *pairs);
/* What the two arms differ in, a row a subject; nothing where there are no pairs. */
void html_pairs_stack(struct doc *doc, const struct html_pairs *pairs);

/* ---- html_history.c ---- */

/*
 * Of each result of the page, the results of the same work over time (results/analysis/history.h),
 * with changes; nothing where there are fewer than three.
 */
enum status html_history(struct doc *doc, struct store *store, struct view *view,
                         struct error *err);

/* ---- html_first.c ---- */

/* What was asked, the answer in numbers, how sure it is, and one picture of it. `decision`: one
 * between results of the page (html_decision.h), or NULL; `costs`: those of dossier_newest;
 * `contents`: HTML, which stands before the picture. */
void html_first(struct doc *doc, const struct view *view, const struct html_pairs *pairs,
                const json_t *decision, const json_t *costs, const struct text *contents);

/* ---- html_pictures.c: nothing where the results have no such picture ---- */

/*
 * `errors` has an entry for each cell of the view: its largest measured error (html_worst_error).
 */
struct html_error {
    double value;    /* NAN: no check */
    char metric[48]; /* "normalised_rms" */
};
struct html_error html_worst_error(const struct view_cell *cell);
void html_pictures(struct text *out, const struct view *view, const struct html_error *errors);

#define HTML_ROW_SIZE (2 * NUMBER_SIZE + 8)
/* A row of a picture: a metric of the cell with its interval, and in `value` the words of it. */
struct plot_row html_row_of(const struct view_cell *cell, enum metric_id id, const char *label,
                            char value[HTML_ROW_SIZE]);

/* ---- html_devices.c ---- */

/* Each piece of work that several devices did, a small picture each; nothing where the first
 * picture of the page says as much. */
void html_devices(struct text *out, const struct view *view);

#endif

/*
 * view - what a report needs of the store, as plain structs.
 *
 * Strings are borrowed from the JSON that the view keeps; NULL means "unknown". Text is untrusted
 * and not yet escaped. The JSON's shape is store_cell_type (results/store/stored.c); a member that
 * is missing or of another type reads as unknown and never as 0, so a file written by a newer or a
 * hostile program shows gaps, not wrong numbers.
 */
#ifndef ASSAY_REPORTS_VIEW_H
#define ASSAY_REPORTS_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/number.h"
#include "harness/core/reading.h"
#include "harness/core/status.h"
#include "harness/core/text.h"
#include "protocols/estimate.h"
#include "results/analysis/contention.h"
#include "results/store/store.h"

struct load_timeline; /* load_timeline.h */

struct view_check {
    STORED_FIELDS(STORED_CHECK)
    double error; /* NAN: see error_text */
    const char *error_text;
};

struct view_phase {
    STORED_FIELDS(STORED_PHASE)
};

enum view_change {
    VIEW_SAME,     /* the same file at both ends of the window */
    VIEW_CHANGED,  /* another content at the end */
    VIEW_APPEARED, /* mapped only at the end */
    VIEW_GONE,     /* mapped only at the start */
    VIEW_ONCE      /* the window's end was never reached: seen at the start, no more is known */
};

struct view_component {
    STORED_FIELDS(STORED_COMPONENT)
    enum view_change change;
    const char *sha256_end; /* when changed */
    const char *at;         /* "window_start" or "window_end" */
};

/* One attempt at a planned trial. */
struct view_trial {
    int64_t id;                 /* row */
    STORED_FIELDS(STORED_TRIAL) /* status: NULL where it has no end */
    int64_t number;             /* 1.. of the cell's planned trials, in the campaign's order */
    bool ok;
    const struct estimate_trial *estimate; /* what the analysis says of it; NULL: not counted */
    struct view_phase *phases;
    size_t phase_count;
    struct view_check *checks;
    size_t check_count;
    struct view_component *components;
    size_t component_count, changed_count;
    struct reading_list host, before, after; /* what is fixed; what moves, at both ends */
    const json_t *telemetry;                 /* array: telemetry sampled concurrently, or NULL */
    const json_t *series_rows; /* array of {name, samples, minimum, maximum}, or NULL */
    const json_t *artifacts;   /* array of {"artifact", "digest"}, or NULL */
};

struct view_device {
    STORED_FIELDS(STORED_DEVICE)
    bool present;
    struct reading_list readings;
};

/* Measured by another program; the device's readings are then what it reported. */
struct view_imported {
    STORED_FIELDS(STORED_ORIGIN)
    bool present;
    const char *measured;
};

/* What did not come from assay or this machine; NULL where all did. Heap. */
struct view_origin {
    char *worker;    /* the program that measured in place of assay's own worker, unchecked */
    char *host_root; /* the folder that the host's readings were taken from */
    char *libraries; /* "cuda, nvrtc": mapped files that were chosen (--lib) */
};

/* Whether more trials of a campaign may come. */
enum view_run {
    VIEW_RUN_OVER,    /* as planned, or imported */
    VIEW_RUN_RUNNING, /* a process runs it now */
    VIEW_RUN_STOPPED, /* interrupted or killed: `assay run --resume` goes on with it */
    VIEW_RUN_PLANNED  /* not begun: `assay run --plan` begins it */
};

struct view_cell {
    int64_t id; /* row */
    STORED_FIELDS(STORED_CELL)
    STORED_FIELDS(STORED_IDENTITY)
    STORED_FIELDS(STORED_COST)
    char result[80];   /* "9f2c41aa/3" */
    size_t campaign;   /* index in the view */
    enum view_run run; /* of its campaign, as it is while the view is loaded */
    /* Campaigns of its log with the cells of its own, which is one: here, and by a bundle's head.
     */
    int64_t same_plan_here, same_plan_told;
    const char *database; /* store_path_word: the store's; NULL: no command can name it */
    char variant[160];    /* ", vendor", ", openvino 2026.4.1", ", arm a (ASSAY_NULL=...)":
                             distinguishes it; "": none */
    struct view_count workload_version, protocol_version;
    const char *workload_description, *protocol_description;
    bool evidence; /* false: the protocol says "a first look" */
    const json_t *workload_json, *protocol_json;
    struct view_device device;
    struct view_trial *trials;
    size_t trial_count;
    size_t ok_count;           /* planned trials that ended well */
    size_t ended_count;        /* planned trials that ended, however */
    struct estimate *estimate; /* heap; NULL: none. An imported cell's has metrics alone */
    struct load_timeline *load_timeline; /* heap; of the first trial of a server that was ok; NULL:
                              none, or not VIEW_FULL */
    struct view_imported imported;
    struct view_origin origin;
    const json_t *amendments; /* array, oldest first (view_amendment_words); NULL or empty: none */
    json_t *root;             /* owns the strings */
};

struct view_event {
    const char *event, *detail;
    struct view_count utc_ns;
};

struct view_campaign {
    STORED_FIELDS(STORED_CAMPAIGN)
    int64_t id; /* row */
    const char *order_seed;
    const char *question, *nonce; /* as the plan has them */
    struct contention contention; /* by other processes, over all windows */
    struct view_event *events;
    size_t event_count;
    const char *archived; /* why, "" where that is withheld; NULL: it is not archived */
    const char *state;    /* newest event of its run: "finished"; NULL: none */
    enum view_run run;
    json_t *root;
};

struct view {
    struct view_campaign *campaigns;
    size_t campaign_count;
    struct view_cell *cells;
    size_t cell_count;
    bool sorted; /* a table keeps the order of the cells; else it groups them by device */
};

/* How much of each trial is kept. */
enum view_depth {
    VIEW_SUMMARY, /* no components, environments, artifacts, checks: what a table needs */
    VIEW_FULL
};

/*
 * Loads cells by row id, in the order given, with their campaigns. NOT_FOUND for an id that is not
 * there; CORRUPT when a record is not an object; the store's own errors.
 */
enum status view_load(struct store *store, const int64_t *cells, size_t count,
                      enum view_depth depth, struct view *ret, struct error *err);
void view_finish(struct view *view);

/*
 * The same in summary; `each` is given every cell in full, in the order given, with the campaigns
 * so far. What it fails with is returned.
 */
typedef enum status view_cell_fn(void *context, const struct view *view,
                                 const struct view_cell *cell, struct error *err);
enum status view_load_each(struct store *store, const int64_t *cells, size_t count,
                           view_cell_fn *each, void *context, struct view *ret, struct error *err);

/*
 * A cell from JSON alone (takes the reference, also on failure); for tests and for other sources.
 * `campaign`, `run` and `database` are left 0. Finish with view_cell_finish.
 */
enum status view_cell_from_json(json_t *root, enum view_depth depth, struct view_cell *ret,
                                struct error *err);
void view_cell_finish(struct view_cell *cell);

/* "amended 2026-11-20 16:02 UTC by somebody: reason", untrusted; free() it. NULL: no memory. */
char *view_amendment_words(const json_t *amendment);

/* A metric in readable form; each string may be empty. */
struct view_figure {
    char value[NUMBER_SIZE];  /* "28.0 GB/s"; "" without a value */
    char number[NUMBER_SIZE]; /* "28.0" */
    char unit[NUMBER_SIZE];   /* "GB/s" */
    char spread[NUMBER_SIZE]; /* "±3.1 %" */
    char ends[NUMBER_SIZE];   /* "27.1 to 28.9 GB/s" */
    const char *grade;        /* "B" */
    const char *of;           /* " in limits" of a share, which else says nothing; "" */
    bool marked;              /* grade D: an indication, which tables put in parentheses */
};
/* False, with empty strings, where there is no value. */
bool view_figure_of(enum metric_id id, const struct metric_value *value, struct view_figure *ret);
/* The same of the headline metric. */
bool view_headline_figure(const struct view_cell *cell, struct view_figure *ret);

/* The cell of the result "CAMPAIGN/ORDINAL"; NULL: the view has none, or it or `result` is NULL. */
const struct view_cell *view_find(const struct view *view, const char *result);
/* The cell's metric, NULL where it has none; the headline metric, NULL without a value. */
const struct metric_value *view_metric(const struct view_cell *cell, enum metric_id id);
const struct metric_value *view_headline(const struct view_cell *cell, enum metric_id *ret_id);

/* Whether two cells differ in batch or rate alone: one campaign, workload, device, precision, arm.
 */
bool view_same_work(const struct view_cell *a, const struct view_cell *b);

/* True when a cell of the view has a value of it. */
bool view_any_metric(const struct view *view, enum metric_id id);

/* "95 % interval" where all estimates are of one confidence, else "Interval". */
#define VIEW_INTERVAL_SIZE 32
void view_interval_head(const struct view *view, char ret[VIEW_INTERVAL_SIZE]);

/* True when both were measured on a device of one name and spec: they are one group of a table. */
bool view_same_device(const struct view_cell *a, const struct view_cell *b);

/* The unit in which a value reads best: ns, B/s and J are scaled; METRIC_COUNT: as it is stored. */
struct number_unit view_metric_unit(enum metric_id id, const struct metric_value *value);
/* The same of a series of a history (results/analysis/history.h) for values like this one. */
struct number_unit view_series_unit(const json_t *series, double value);

/* "1.20 ms (1.18 to 1.22 ms)", "1.20 ms (no interval)", "not reported: needs 299 samples". */
void view_metric_words(enum metric_id id, const struct metric_value *value, struct text *ret);

/* True when the cell's verdict makes its value a headline. */
bool view_is_steady(const struct view_cell *cell);

/* True when another program measured all of the campaign's results: assay only took them in. */
bool view_is_import(const struct view *view, size_t campaign);

/* What an imported result is, in a sentence; heap. */
char *view_imported_words(const struct view_cell *cell);

/*
 * "Contention: other processes used 1.6 of 2 cores while it measured", of the campaign that was
 * disturbed most; `ret` is emptied first. False: next to nothing, or unknown.
 */
bool view_contention(const struct view *view, struct text *ret);

/* Why a cell has no value, in a phrase; NULL when it has one. */
const char *view_no_value_reason(const struct view_cell *cell);

/* The verdict's label: "steady", "drift", "imported", "not analysed", "running", "incomplete" ...
 */
const char *view_verdict_label(const struct view_cell *cell);

/* How a trial ended, "running", or "no end recorded": its process was killed. */
const char *view_trial_label(const struct view_cell *cell, const struct view_trial *trial);

/* What stands in place of a value: "no result", "no result yet" while it runs, "unsupported". */
const char *view_no_value_label(const struct view_cell *cell);

/*
 * Of a protocol that gives no evidence, whether it is a first look: a long one (soak) is none.
 */
bool view_is_first_look(const struct view_cell *cell);

/* "a first look: ..." or "no evidence, by its protocol: ..."; NULL: it may be evidence. */
const char *view_no_evidence_words(const struct view_cell *cell);

/*
 * What a table of first looks can be used for and what to do next, in one or two sentences. False:
 * none of the view's results is a first look.
 */
bool view_closing_words(const struct view *view, struct text *ret);

/*
 * The entry of `series_rows` for a channel of a trial's telemetry ("device", "power_mw"); NULL: it
 * has no values.
 */
const json_t *view_telemetry_series(const struct view_trial *trial, const char *part,
                                    const char *channel);

enum view_cache {
    VIEW_CACHE_UNKNOWN,
    VIEW_CACHE_EXCEEDED, /* the working set does not fit in the last-level cache */
    VIEW_CACHE_MAY_HOLD, /* it fits in one that a hypervisor reports, which other machines share */
    VIEW_CACHE_HOLDS,
};

/*
 * Whether what an iteration touches fits in the last-level cache: recorded by the worker, or
 * derived from both. Appends "One iteration touches 3 MiB, the last-level cache holds 32 MiB: it
 * fits in the cache, ..."; nothing where it is UNKNOWN.
 */
enum view_cache view_cache_words(const struct view_cell *cell, struct text *out);

/* ---- view_loss.c ---- */

/* How a cell was executed, in a phrase each, where the facts have it. */
struct view_phrase {
    const char *name, *title; /* "loss scale", "Loss scale" */
    bool (*words)(const struct view_cell *cell, struct text *ret);
};
extern const struct view_phrase view_phrases[];
extern const size_t view_phrase_count;

/* ---- view_client.c ---- */

/*
 * What the client of an endpoint counted in a trial and what the server told of itself, or how the
 * generator of assay's own server ran: calls `each` (NULL: nobody) with every member of the facts
 * that is not 0, false or empty, in words. Returns how many there are.
 */
typedef void view_client_fn(void *context, const char *label, const char *words);
size_t view_client_each(const struct view_trial *trial, view_client_fn *each, void *context);

/* ---- view_gemm.c: GEMMs, and attention ---- */

/* Of the GEMMs, as the facts report; what they lack is NULL. */
struct view_gemm {
    const char *support; /* "native", "emulated", "absent", "unknown" */
    const char *method;  /* how that was learned */
    const char *library, *version, *algorithm;
    struct view_count workspace_bytes; /* the largest */
};
/* False: the cell has no GEMMs, or no trial reached them. */
bool view_gemm(const struct view_cell *cell, struct view_gemm *ret);
/* "native (method); oneDNN 2.7.0, algorithm ..." */
void view_gemm_words(const struct view_gemm *gemm, struct text *ret);
/*
 * "one operation of cuDNN 9.19.0, engine 2; TENSOR_CORE" or "products and a softmax ... (reason)".
 * False: the facts have no attention.
 */
bool view_attention_words(const struct view_cell *cell, struct text *ret);
bool view_is_emulated(const struct view_cell *cell);
/* Appends `lead` and "openvino 2026.4.1", with its mode where it has one; nothing where assay's own
 * kernels measured. */
void view_append_worker(const struct view_cell *cell, const char *lead, struct text *out);
/* Appends what the cell's arm was given, after a blank: " ASSAY_NULL=launch_ns=300000"; of a matrix
 * its name. */
void view_append_settings(const struct view_cell *cell, struct text *out);
bool view_is_vendor(const struct view_cell *cell);
/* Fills `variant`, once the rest is read. */
void view_set_variant(struct view_cell *cell);

/* Every trial ended because the device, its library or the implementation lacks what was requested.
 */
bool view_is_unsupported(const struct view_cell *cell);

#endif

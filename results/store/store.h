/*
 * store - the SQLite file that keeps plans, trials, raw samples and estimates.
 *
 * Append-only. What happens becomes a record (record/record.h), appended in one transaction with
 * the rows that follow from it (record/projection.sql); no row is changed later. A trial is two
 * records: one before its worker starts, and one at its end. What is added to it in between is kept
 * in memory until then, so a trial whose harness crashed has its beginning alone.
 *
 * Each write is one short transaction, durable when the call returns (WAL, synchronous=FULL),
 * except where a batch is open. A busy database is waited for, up to the time given at opening.
 *
 * Arguments are borrowed. JSON that is returned is a new reference, any other pointer heap;
 * `ret_...` is set where OK is returned. Campaigns, cells, trials and devices are row ids. A text
 * that is NULL is not known, except where said otherwise; one that is not UTF-8 is stored escaped.
 *
 * Errors of any function: BUSY (waited how long), NO_SPACE, DENIED (read-only file or folder),
 * CORRUPT, NO_MEMORY, IO, and INVALID for a number beyond 64 bits; others are named below.
 * One store belongs to one thread.
 */
#ifndef ASSAY_RESULTS_STORE_STORE_H
#define ASSAY_RESULTS_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"
#include "results/store/stored.h"
#include "harness/core/type.h"

struct store;

#define STORE_UID_SIZE 65 /* 64 hex digits and NUL */

enum store_mode { STORE_READ, STORE_WRITE, STORE_CREATE /* WRITE, and make it when absent */ };

/*
 * Opens, checks application id and schema version, and compares the schema with the expected one. A
 * file of an older schema is migrated when it is opened for writing; opened for reading it is read
 * through a temporary copy of the same size. NOT_FOUND: no such file; INVALID: no regular file, or
 * a bundle; CORRUPT: no database of assay, another schema, or a newer version (which is named).
 */
enum status store_open(const char *path, enum store_mode mode, int64_t busy_timeout_ns,
                       struct store **ret, struct error *err);
/* Takes NULL. Trials that have begun and not ended stay without an end. */
void store_close(struct store *store);
/* As it was given to store_open; the store's. */
const char *store_path(const struct store *store);
/*
 * The same as one word of a shell, for a command that is printed to be copied; NULL after
 * store_set_scratch, by which the caller says that the file ends with the store.
 */
const char *store_path_word(const struct store *store);
void store_set_scratch(struct store *store);
/*
 * Whether its stored estimates are checked by themselves, as in verify, so that what judges by them
 * (analysis/judged.h) need not make them again.
 */
bool store_trusts_estimates(const struct store *store);
/*
 * The schema version that opening for writing migrated the file from; an assay of that version can
 * no longer read it. 0: it had the current version, is new, or is open for reading.
 */
int store_carried_from(const struct store *store);
/* The connection, for reports that run their own SELECTs; the store's. Never write through it. */
struct sqlite3;
struct sqlite3_stmt;
struct sqlite3 *store_connection(struct store *store);
/*
 * A SELECT of such a report, prepared once for the store; `sql` must be a string literal, since its
 * address is the key. Borrowed: store_release ends it. SQLite's code.
 */
int store_prepare(struct store *store, const char *sql, struct sqlite3_stmt **ret);
void store_release(struct sqlite3_stmt *statement); /* takes NULL */

/*
 * Several writes in one transaction; end commits, or rolls back with commit=false. A write that
 * fails undoes itself alone. IO at the end: a failure rolled the whole batch back, and nothing of
 * it is stored. INTERNAL: one is open already, or none is.
 */
enum status store_batch_begin(struct store *store, struct error *err);
enum status store_batch_end(struct store *store, bool commit, struct error *err);

/* ---- what was planned ---- */

/*
 * A blob that is JSON (declaration, plan, compiled kernel), by the SHA-256 of its canonical form.
 * NOT_FOUND; UNAVAILABLE: a bundle withheld it; CORRUPT: it has another digest.
 */
enum status store_get_json(struct store *store, const struct digest *digest, json_t **ret,
                           struct error *err);

struct store_declaration {
    const char *kind; /* "workload", "protocol", "suite" */
    const char *name;
    int64_t version;
    const char *origin; /* the file it was read from, or "built-in" */
    const json_t *json; /* defaults filled in */
};
/* Idempotent by content. `ret`: SHA-256 of `json` in canonical form. */
enum status store_put_declaration(struct store *store, const struct store_declaration *declaration,
                                  struct digest *ret, struct error *err);

struct store_campaign {
    char uid[STORE_UID_SIZE]; /* random identifier, drawn by the runner */
    int64_t created_utc_ns;
    const json_t *plan;     /* cells and the order of trials; its digest is the plan's hash */
    struct digest protocol; /* of its declaration, stored before */
    uint64_t order_seed;
    const char *command; /* the command line, for people */
    const char *tool_version;
    struct digest tool_digest; /* of the assay binary */
};

/* What is planned for a cell. Identity fields first. */
struct store_case {
    STORED_GIVEN(STORED_CASE)
};
extern const struct type store_case_type;

struct store_cell {
    int64_t ordinal;                  /* 1.. within the campaign */
    struct digest workload, protocol; /* of their declarations, stored before */
    struct digest trace;              /* where has_trace: of the recorded arrivals, likewise */
    bool has_trace;
    const char *workload_name;
    const char *protocol_name;
    const char *kind; /* of workload */
    struct store_case work;
    uint64_t seed;
    bool is_imported;    /* measured by another program: seed and device_index are not known */
    const char *backend; /* "opencl" */
    int64_t device_index;
    const char *device_spec; /* "opencl:0" */
    struct workload_cost cost;
    int64_t trials; /* planned */
};

/*
 * Appends campaign, cells and order as one record: afterwards the whole plan is on disk. `order`
 * has one entry per planned trial, in the order they shall run: index of the cell in `cells`
 * (0..cell_count-1). `ret_cells` receives cell_count row ids. INVALID: the uid is not 64 lower-case
 * hex digits, ordinals are not 1, 2, 3 ..., or an entry of `order` is beyond the cells.
 */
enum status store_add_campaign(struct store *store, const struct store_campaign *campaign,
                               const struct store_cell *cells, size_t cell_count,
                               const uint32_t *order, size_t order_count, int64_t *ret_campaign,
                               int64_t *ret_cells, struct error *err);

/*
 * The member "verified" of the facts of the cell's first trial that ended ok and has one, as a new
 * object; NULL in `ret` where none has.
 */
enum status store_cell_verified(struct store *store, int64_t cell, json_t **ret, struct error *err);

/*
 * What was chosen for a cell's trials (sizes of groups and samples), before the first of them; once
 * a cell. NOT_FOUND: no such cell.
 */
enum status store_add_choice(struct store *store, int64_t cell, const json_t *choice,
                             struct error *err);

/*
 * "started", "resumed", "interrupted", "finished", "failed", "archived" ..., as of now; `detail`:
 * for people, may be NULL. NOT_FOUND: no such campaign.
 */
enum status store_add_campaign_event(struct store *store, int64_t campaign, const char *event,
                                     const char *detail, struct error *err);

/*
 * Archives the campaign, or takes it out of the archive: an event, with `reason` as its detail.
 * Nothing is removed: lists leave it out. INVALID where it is (or is not) archived already.
 */
enum status store_archive_campaign(struct store *store, int64_t campaign, bool archive,
                                   const char *reason, struct error *err);
/* How many campaigns are archived. */
enum status store_count_archived(struct store *store, int64_t *ret, struct error *err);

/*
 * What `assay doctor` found before the campaign's trials: the object that it prints as JSON, with
 * "worst", "findings" and more. NOT_FOUND: no such campaign.
 */
enum status store_add_doctor(struct store *store, int64_t campaign, const json_t *report,
                             struct error *err);

/* A tool's output about the machine, or why there is none. */
struct store_dump {
    const char *tool, *command; /* "lscpu", "lscpu -J" */
    int64_t utc_ns;
    const char *status;  /* a status_name */
    const char *message; /* NULL: nothing to say */
    int64_t exit_code;   /* -1: it did not run to its end */
    char *output;        /* UTF-8; NULL: none. The caller's */
};
/* NOT_FOUND: no such campaign. */
enum status store_add_dump(struct store *store, int64_t campaign, const struct store_dump *dump,
                           struct error *err);

/* ---- what was done ---- */

struct store_device {
    const char *backend;
    int64_t index;
    const char *name, *vendor, *uuid, *type; /* uuid may be NULL */
    bool simulated;
    const json_t *readings; /* reading_list_to_json */
};
/* Idempotent by content. `ret`: the device's row. */
enum status store_put_device(struct store *store, const struct store_device *device, int64_t *ret,
                             struct error *err);

/*
 * Appends the beginning of an attempt at the planned trial number `sequence` (1.. in the campaign's
 * order). A later attempt at the same one gets the next `attempt` number. NOT_FOUND: no such trial
 * was planned.
 *
 * The functions below add to a trial until store_end_trial. Devices, readings, components and blobs
 * are stored at once, since other trials may share them; the rest is in memory. INVALID: this store
 * did not begin the trial, or it has ended. A date before the end of the campaign's last trial (the
 * clock was set back) is stored as that end, and an end before its beginning as the beginning.
 */
enum status store_begin_trial(struct store *store, int64_t campaign, int64_t sequence,
                              int64_t started_utc_ns, int64_t *ret_trial, struct error *err);

/* The device it runs on. NOT_FOUND: no such device. */
enum status store_set_trial_device(struct store *store, int64_t trial, int64_t device,
                                   struct error *err);

/* Structs of what a trial leaves have their members from the lists of stored.h. */

/*
 * One phase, in the order they end: "setup", "compile", "verify_before", "warmup", "window",
 * "verify_after" ...; nanoseconds since the trial's start.
 */
struct store_phase {
    STORED_GIVEN(STORED_PHASE)
};
enum status store_add_phase(struct store *store, int64_t trial, const struct store_phase *phase,
                            struct error *err);

/*
 * Raw samples of one series of a trial, in order: "wall_ns", "gap_ns", "device_ns",
 * "stage:forward", "telemetry:device.power_mw" ... `first` is the number of samples added so far;
 * INVALID where it is not.
 */
enum status store_add_samples(struct store *store, int64_t trial, const char *series,
                              uint64_t first, const int64_t *values, size_t count,
                              struct error *err);

struct store_check {
    STORED_GIVEN(STORED_CHECK) /* phase: "verify_before", "spot_check", "verify_after" */
    double error;              /* a NaN or infinite one is stored as text with a NULL number */
};
/* An output compared with its reference. */
enum status store_add_check(struct store *store, int64_t trial, const struct store_check *check,
                            struct error *err);

/*
 * A file that the worker had mapped. Its kind: "library", "executable", "icd", "driver",
 * "compiler", "firmware", "server". `at` is "window_start" or "window_end".
 */
struct store_component {
    STORED_GIVEN(STORED_COMPONENT)
};
/* As one record; several calls with the same `at` add up. */
enum status store_add_components(struct store *store, int64_t trial, const char *at,
                                 const struct store_component *components, size_t count,
                                 struct error *err);

/*
 * Readings of the surroundings (reading_list_to_json); equal ones are stored once. `at` is "host"
 * for what does not change from trial to trial, "before" and "after" for what does (load, clocks).
 * A second call with the same `at` replaces the first.
 */
enum status store_add_environment(struct store *store, int64_t trial, const char *at,
                                  const json_t *readings, struct error *err);

/* A compiled kernel module as JSON: file, digests, options, compiler, log ... */
enum status store_add_artifact(struct store *store, int64_t trial, const json_t *artifact,
                               struct error *err);

/*
 * Telemetry of a trial. Moments and values are series, added with store_add_samples before or
 * after; schema.sql has their names.
 */
struct store_telemetry {
    STORED_GIVEN(STORED_TELEMETRY) /* part: "host" or "device" */
    const char *status;            /* a status_name */
    const json_t *channels;        /* array; see schema.sql */
    const json_t *begin, *end;     /* readings; NULL: none reported */
    const char *dump;              /* NULL: none */
};
/* Once a part. */
enum status store_add_telemetry(struct store *store, int64_t trial,
                                const struct store_telemetry *telemetry, struct error *err);

/* An ended trial's "telemetry" as in store_cell_json: an array. */
enum status store_telemetry_json(struct store *store, int64_t trial, json_t **ret,
                                 struct error *err);

/*
 * Values of a channel of an ended trial, `missing` at the moments at which it could not be read,
 * and the moments, in nanoseconds since the trial's start; `ret_count` of both. NOT_FOUND: no
 * values.
 */
enum status store_load_telemetry(struct store *store, int64_t trial, const char *part,
                                 const char *channel, int64_t missing, int64_t **ret_times,
                                 int64_t **ret_values, size_t *ret_count, struct error *err);

struct store_trial_end {
    STORED_GIVEN(STORED_TRIAL_END)
};
/*
 * Appends the end of a trial with all that was added to it, and its samples, in one transaction.
 * After a failure nothing of it is stored, and it can be ended again.
 */
enum status store_end_trial(struct store *store, int64_t trial, const struct store_trial_end *end,
                            struct error *err);

/* ---- what it says ---- */

/*
 * Appends an estimate; earlier ones of the cell stay. `version` is that of the analysis, `json`
 * estimate_to_json's object. INVALID: it has no verdict; NOT_FOUND: no such cell.
 */
enum status store_add_estimate(struct store *store, int64_t cell, int64_t version,
                               const json_t *json, struct error *err);

/*
 * Appends what a comparison or calibration came to. `kind`: of a judgement, which
 * says of how many cells it is: `a` and `b`, 0 where there is none; `json` in the form that
 * FORMAT.md has for the kind. NOT_FOUND: no such cell.
 */
enum status store_add_comparison(struct store *store, const char *kind, int64_t a, int64_t b,
                                 int64_t version, const char *verdict, const json_t *json,
                                 struct error *err);

/*
 * The same of two cells, or of one where `b` is 0, unless the newest comparison of this kind of
 * them is equal. INVALID while one of their campaigns is not finished: what it still adds would
 * change the result.
 */
enum status store_record_comparison(struct store *store, const char *kind, int64_t a, int64_t b,
                                    int64_t version, const char *verdict, const json_t *json,
                                    struct error *err);

/* ---- reading back ---- */

/*
 * Planned trials that --resume runs, in their order. A planned trial is pending when it was never
 * started, or when its last attempt has no end, was interrupted with its harness
 * (store_close_orphans), or ended "interrupted". One that failed by itself ("crashed",
 * "timeout", "check_failed" ...) or "ok" is final: repeating it until it succeeds would be choosing
 * results. `ret` is NULL when there are none.
 */
struct store_pending {
    int64_t sequence, cell, cell_ordinal;
};
enum status store_pending_trials(struct store *store, int64_t campaign, struct store_pending **ret,
                                 size_t *ret_count, struct error *err);

/*
 * How long the newest trials lasted, in nanoseconds, that ended well, were measured here (not taken
 * in from a bundle), and whose cell matches `message`, the body of the worker's "trial" message:
 * declarations, precision, batch, scenario, implementation and device. Newest first, at most
 * `capacity`.
 */
enum status store_trial_durations(struct store *store, const json_t *message, int64_t *ret,
                                  size_t capacity, size_t *ret_count, struct error *err);

/*
 * Appends the end "crashed" of every trial of the campaign that has none, marked as the harness's
 * own end and not the worker's. For --resume alone: no one else may be running the campaign.
 */
enum status store_close_orphans(struct store *store, int64_t campaign, struct error *err);

/* Where declarations of this digest came from: an array of files, or "built-in"; may be empty. */
enum status store_declaration_origins(struct store *store, const struct digest *digest,
                                      json_t **ret, struct error *err);

/*
 * Campaign by row id, or by a prefix (>= 4 digits) of its uid; "last" is the newest that is not
 * archived, or the newest where all are. NOT_FOUND; INVALID: several fit, which are named.
 */
enum status store_find_campaign(struct store *store, const char *id, int64_t *ret,
                                struct error *err);

/*
 * Cell by a result's id, "<first 8 of uid>/<cell ordinal>", e.g. "9f2c41aa/3". The campaign may be
 * given in any form as above, and the ordinal left out where there is one cell. NOT_FOUND; INVALID:
 * it is no id, or several fit.
 */
enum status store_find_cell(struct store *store, const char *id, int64_t *ret, struct error *err);

/*
 * Rows of `assay results`, newest campaign first: an array of objects as store_result_type has
 * them, and their member `findings` (as in the newest estimate). `imported` names the program that
 * measured where it was not assay: then the verdict is "imported", and the metrics are what its
 * file says (store_import.h). Filters that are NULL or 0 match everything.
 */
struct store_filter {
    int64_t cell;         /* row id; the other filters do not count then */
    int64_t campaign;     /* row id */
    const char *workload; /* exact name */
    const char *precision, *protocol, *verdict;
    const char *device;    /* exact "opencl:0", or a part of the device's name in any case */
    int64_t since_utc_ns;  /* campaigns made then or later */
    bool hide_archived;    /* see store_archive_campaign */
    const char *sort;      /* one of store_sort_keys; NULL: newest campaign first */
    bool descending;       /* with `sort`; what is not known comes last either way */
    int64_t limit, offset; /* limit 0: all */
};
/* What rows can be sorted by, NULL-terminated; "result" sorts within each unit. */
extern const char *const store_sort_keys[];
enum status store_list_results(struct store *store, const struct store_filter *filter, json_t **ret,
                               struct error *err);
/* The cells (row ids) of these rows, in their order. */
enum status store_find_cells(struct store *store, const struct store_filter *filter, int64_t **ret,
                             size_t *ret_count, struct error *err);
extern const struct type store_result_type;

/* The bodies of the baselines that are on record, newest first, as {"body": ...}; new array. */
enum status store_list_baselines(struct store *store, json_t **ret, struct error *err);

/*
 * The newest output of `tool` ("lscpu") before the trials of a cell's campaign. NOT_FOUND: nothing;
 * the message says why, and which tools did report something.
 */
enum status store_load_dump(struct store *store, int64_t cell, const char *tool, char **ret,
                            struct error *err);

/*
 * All samples of a series of an ended trial. NOT_FOUND: it has no such series; CORRUPT: a chunk is
 * missing, or is not what its row says.
 */
enum status store_load_samples(struct store *store, int64_t trial, const char *series,
                               int64_t **ret, size_t *ret_count, struct error *err);

/*
 * A campaign, a cell: all that is stored of it as an object, for `--json`, for reports and for
 * `reproduce`; of a cell as store_cell_type has it. NOT_FOUND: no such row.
 */
enum status store_campaign_json(struct store *store, int64_t campaign, json_t **ret,
                                struct error *err);
enum status store_cell_json(struct store *store, int64_t cell, json_t **ret, struct error *err);
/* Of what it gave, the metrics of the estimate, or of the claim of another program; NULL: none. */
const json_t *store_cell_metrics(const json_t *record);
/* What it gives, and one of its amendments. */
extern const struct type store_cell_type, store_amendment_type;

#endif

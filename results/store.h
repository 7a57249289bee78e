/*
 * store - the SQLite file that keeps plans, trials, raw samples and estimates.
 *
 * Append-only: evidence rows are inserted, never changed (triggers in schema.sql refuse it). A
 * thing that extends over time is several rows: `trial` when it starts, its chunks, phases and
 * checks as they come, `trial_end` when it is over. A trial without an end was interrupted by a
 * crash of the harness; opening for a resume gives it the end "crashed".
 *
 * Every write below is one short transaction, durable when the call returns (WAL,
 * synchronous=FULL), except where a store_batch is open. A busy database is waited for, up to the
 * time given at opening. Errors: BUSY (who holds it cannot be known; waited how long), NO_SPACE,
 * DENIED (read-only file or folder), CORRUPT (not a database, wrong application, newer schema:
 * which version is needed), IO. A file of an older schema is migrated when it is opened for
 * writing; opened for reading it is not changed and is read through a temporary copy of the same
 * size. One store belongs to one thread.
 */
#ifndef ASSAY_RESULTS_STORE_H
#define ASSAY_RESULTS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"

struct store;

#define STORE_UID_SIZE 65 /* 64 hex digits and NUL */

enum store_mode { STORE_READ, STORE_WRITE, STORE_CREATE /* WRITE, and make it when absent */ };

/* Opens, checks the application id and schema version, migrates forward when writable. */
enum status store_open(const char *path, enum store_mode mode, int64_t busy_timeout_ns,
                       struct store **ret, struct error *err);
void store_close(struct store *store); /* takes NULL */
const char *store_path(const struct store *store);
/*
 * The schema version that opening for writing migrated the file from; an assay of that version can
 * no longer read it. 0: it had the current version, is new, or is open for reading.
 */
int store_carried_from(const struct store *store);
/* The connection, for reports that ask their own SELECTs. Never write through it. */
struct sqlite3 *store_connection(struct store *store);

/* Several writes in one transaction; end commits, or rolls back with commit=false. */
enum status store_batch_begin(struct store *store, struct error *err);
enum status store_batch_end(struct store *store, bool commit, struct error *err);

/* ---- what was planned ---- */

/* Content-addressed JSON: declarations, plans, environments. */
enum status store_get_json(struct store *store, const struct digest *digest, json_t **ret,
                           struct error *err); /* UNAVAILABLE: a bundle withheld it */

struct store_declaration {
    const char *kind; /* "workload", "protocol", "suite" */
    const char *name;
    int64_t version;
    const char *origin;
    const json_t *json;
};
enum status store_put_declaration(struct store *store, const struct store_declaration *declaration,
                                  struct digest *ret, struct error *err);

struct store_campaign {
    char uid[STORE_UID_SIZE]; /* random identifier, drawn by the runner */
    int64_t created_utc_ns;
    const json_t *plan; /* cells and the order of trials; its digest is the plan's hash */
    struct digest protocol;
    uint64_t order_seed;
    const char *command; /* the command line, for people */
    const char *tool_version;
    struct digest tool_digest; /* of the assay binary */
};

/* What is planned for a cell. Identity fields first. */
struct store_cell {
    int64_t ordinal; /* 1.. within the campaign */
    struct digest workload, protocol;
    const char *workload_name;
    const char *protocol_name;
    const char *kind; /* of workload */
    const char *precision, *scenario, *implementation;
    int64_t batch; /* -1: not known */
    uint64_t seed;
    /* Measured by another program: seed, device_index and memory are not known. */
    bool is_imported;
    const char *backend; /* "opencl" */
    int64_t device_index;
    const char *device_spec; /* "opencl:0" */
    /* cost per iteration; NULL formula: not counted */
    uint64_t flops, bytes, items, device_memory_bytes, working_set_bytes;
    const char *flops_formula, *bytes_formula, *item_name, *headline;
    int64_t trials; /* planned */
};

/*
 * Writes campaign, cells and order in one transaction: afterwards the whole plan is on disk.
 * `order` has one entry per planned trial, in the order they shall run: index of the cell in
 * `cells` (0..cell_count-1). `ret_cells` receives cell_count row ids.
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

/* What was chosen for a cell's trials, canonical JSON; once a cell. */
enum status store_add_choice(struct store *store, int64_t cell, const json_t *choice,
                             struct error *err);

/* "started", "resumed", "interrupted", "finished", "failed", "archived" ...; detail: for people. */
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
 * "worst", "findings" and more.
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
/* Idempotent by content. */
enum status store_put_device(struct store *store, const struct store_device *device, int64_t *ret,
                             struct error *err);

/*
 * Starts an attempt at the planned trial number `sequence` (1.. in the campaign's order). A later
 * attempt at the same one gets the next `attempt` number.
 */
enum status store_begin_trial(struct store *store, int64_t campaign, int64_t sequence,
                              int64_t started_utc_ns, int64_t *ret_trial, struct error *err);

enum status store_set_trial_device(struct store *store, int64_t trial, int64_t device,
                                   struct error *err);

/* One phase: "setup", "compile", "verify_before", "warmup", "window", "verify_after" ... ;
   nanoseconds since the trial's start. */
enum status store_add_phase(struct store *store, int64_t trial, const char *name, int64_t begin_ns,
                            int64_t end_ns, struct error *err);

/*
 * Raw samples of one series of a trial, in order: "wall_ns", "gap_ns", "device_ns",
 * "stage:forward", "telemetry:power_mw" ... Chunks follow each other: `first` is the count stored
 * so far.
 */
enum status store_add_samples(struct store *store, int64_t trial, const char *series,
                              uint64_t first, const int64_t *values, size_t count,
                              struct error *err);

struct store_check {
    const char *phase; /* "verify_before", "verify_after" */
    const char *output, *metric, *reason;
    double error, tolerance; /* a NaN or infinite error is stored as text with a NULL number */
    uint64_t compared;
    bool passed;
};
enum status store_add_check(struct store *store, int64_t trial, const struct store_check *check,
                            struct error *err);

/* A file that the worker had mapped. `at` is "window_start" or "window_end". */
struct store_component {
    const char *path;
    const char *kind;     /* "library", "executable", "icd", "driver", "compiler", "firmware" */
    const char *version;  /* NULL: not reported */
    const char *build_id; /* hex; NULL: it has none */
    uint64_t size;
    struct digest digest;
    bool has_digest;
    const char *missing_reason;                      /* why there is no digest */
    const char *manager, *package, *package_version; /* "dpkg", "libc6:amd64", ...; NULL: none */
};
/* In one transaction and one row. */
enum status store_add_components(struct store *store, int64_t trial, const char *at,
                                 const struct store_component *components, size_t count,
                                 struct error *err);

/*
 * Readings of the surroundings; content-addressed. `at` is "host" for what does not change from
 * trial to trial (so that it is stored once), "before" and "after" for what does (load, clocks).
 */
enum status store_add_environment(struct store *store, int64_t trial, const char *at,
                                  const json_t *readings, struct error *err);

/* A compiled kernel module as JSON (file, digests, options, compiler, log ...); idempotent. */
enum status store_add_artifact(struct store *store, int64_t trial, const json_t *artifact,
                               struct error *err);

/*
 * Telemetry of a trial. Names of series: store_telemetry_series. The time series and the
 * channels' values are stored with store_add_samples, before or after.
 */
struct store_telemetry {
    const char *part;       /* "host" or "device" */
    const char *status;     /* a status_name */
    const char *message;    /* NULL: nothing to say */
    const json_t *channels; /* array; see schema.sql */
    int64_t interval_ns, ticks, late_ticks;
    int64_t cpu_ns, reading_ns; /* -1: not known */
    const json_t *begin, *end;  /* readings; NULL: none reported */
    const char *dump;           /* NULL: none */
};
enum status store_add_telemetry(struct store *store, int64_t trial,
                                const struct store_telemetry *telemetry, struct error *err);

/* A trial's "telemetry" as in store_cell_json; new array. */
enum status store_telemetry_json(struct store *store, int64_t trial, json_t **ret,
                                 struct error *err);

/*
 * A channel's values with the gaps filled in: `missing` where it could not be read. `times` and
 * `values` are heap, both of `*ret_count`. NOT_FOUND: no values.
 */
enum status store_load_telemetry(struct store *store, int64_t trial, const char *part,
                                 const char *channel, int64_t missing, int64_t **ret_times,
                                 int64_t **ret_values, size_t *ret_count, struct error *err);

struct store_trial_end {
    int64_t ended_utc_ns;
    const char *status;  /* a status_name: "ok", "crashed", "timeout", "check_failed" ... */
    const char *message; /* NULL when ok */
    int64_t iterations_per_sample;
    int64_t window_first;  /* index of the first sample of the window; -1: never got there */
    int64_t samples;       /* of wall_ns */
    const json_t *facts;   /* what the worker reported of choices and losses; may be NULL */
    int64_t exit_code;     /* -1: ended by a signal */
    int64_t signal;        /* 0: none */
    int64_t max_rss_bytes; /* -1: not known */
};
enum status store_end_trial(struct store *store, int64_t trial, const struct store_trial_end *end,
                            struct error *err);

/* ---- what it says ---- */

/* New row; an earlier estimate of the same cell stays. `json` is estimate_to_json's object. */
enum status store_add_estimate(struct store *store, int64_t cell, int64_t version,
                               const json_t *json, struct error *err);

/*
 * New row of what a comparison or calibration came to. `kind`: "compare", "ab", "gate", "reproduce"
 * or "calibration"; `a` and `b` are cells, 0 for a calibration.
 */
enum status store_add_comparison(struct store *store, const char *kind, int64_t a, int64_t b,
                                 int64_t version, const char *verdict, const json_t *json,
                                 struct error *err);

/*
 * The same of two cells that were there before, unless the newest row of this kind for them is
 * equal. INVALID while one of their campaigns is not finished: its further rows would change the
 * result.
 */
enum status store_record_comparison(struct store *store, const char *kind, int64_t a, int64_t b,
                                    int64_t version, const char *verdict, const json_t *json,
                                    struct error *err);

/* ---- reading back ---- */

/*
 * Planned trials that --resume runs, in their order. A planned trial is pending when it was never
 * started, or when its last attempt has no end, was interrupted with its harness
 * (store_close_orphans), or ended "interrupted". One that failed by itself ("crashed",
 * "timeout", "check_failed"
 * ...) or "ok" is final: repeating it until it succeeds would be choosing results. `ret` is
 * heap (free() it), NULL when there are none.
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
 * Gives every trial of the campaign that has no end the end "crashed", marked as the harness's own
 * end and not the worker's. For --resume alone: no one else may be running the campaign.
 */
enum status store_close_orphans(struct store *store, int64_t campaign, struct error *err);

/* Where declarations of this digest came from: files, or "built-in"; new array of texts. */
enum status store_declaration_origins(struct store *store, const struct digest *digest,
                                      json_t **ret, struct error *err);

/*
 * Campaign by row id, or by a prefix (>= 4 digits) of its uid; "last" is the newest that is not
 * archived, or the newest where all are.
 */
enum status store_find_campaign(struct store *store, const char *id, int64_t *ret,
                                struct error *err);

/*
 * A result's id is "<first 8 of uid>/<cell ordinal>", e.g. "9f2c41aa/3". Finds the cell's row.
 * Longer uid prefixes work too; an ambiguous one is refused with the candidates.
 */
enum status store_find_cell(struct store *store, const char *id, int64_t *ret, struct error *err);

/*
 * Rows of `assay results`, newest campaign first: an array of objects with the keys id, cell,
 * campaign, workload, kind, precision, batch, scenario, implementation, arm ("a"
 * or "b" of an A/B), support, library,
 * library_version (of the GEMMs, where there are any), protocol, backend, device_spec, device,
 * simulated, trials_ok, trials_ended, trials_planned, verdict, mean_ns, mean_ns_lo, mean_ns_hi,
 * headline, rate_unit, rate, rate_lo, rate_hi, energy_source, energy_per_iteration_j,
 * energy_per_item_j, mean_power_w, created_utc_ns, created, workload_digest, protocol_digest (hex
 * SHA-256 of the declarations' canonical JSON), driver_version, host (its name), tool_version,
 * imported. null where not known.
 * `imported` names the program that measured where it was not assay: then the verdict is
 * "imported", and rate and mean_ns are what its file says (store_import.h).
 * Filters that are NULL or 0 match everything.
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

/*
 * The newest output of `tool` ("lscpu") before the trials of a cell's campaign, heap.
 * NOT_FOUND: nothing; the message says why, and which tools did report something.
 */
enum status store_load_dump(struct store *store, int64_t cell, const char *tool, char **ret,
                            struct error *err);

/* All samples of a series of a trial, heap; NOT_FOUND when the trial has no such series. */
enum status store_load_samples(struct store *store, int64_t trial, const char *series,
                               int64_t **ret, size_t *ret_count, struct error *err);

/*
 * Whole records as new JSON objects, for `--json`, for reports and for `reproduce`:
 * campaign: uid, created, command, tool, plan, events, cells [{id, ...}]
 * cell: identity, cost, workload/protocol declarations, device with readings, trials [{attempt,
 *       status, message, phases, checks, environment, components, artifacts, facts, ...}],
 *       newest estimate.
 * Documented key by key in results/README.md.
 */
enum status store_campaign_json(struct store *store, int64_t campaign, json_t **ret,
                                struct error *err);
enum status store_cell_json(struct store *store, int64_t cell, json_t **ret, struct error *err);

#endif

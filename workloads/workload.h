/*
 * workload - what is run: declared in YAML, planned without a device, run and checked on one.
 *
 * A kind (memory_bound, training_step, batched_inference, synthetic) is a const table of hooks.
 * A declaration names a kind and its parameters; with a precision and a batch it becomes a case,
 * the part of a cell that the workload knows. An instance is a case prepared on an open device.
 */
#ifndef ASSAY_WORKLOADS_WORKLOAD_H
#define ASSAY_WORKLOADS_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "backends/backend.h"
#include "harness/core/digest.h"
#include "harness/core/precision.h"
#include "harness/core/status.h"
#include "harness/core/text.h"

#define WORKLOAD_NAME_MAX 64
#define WORKLOAD_STAGES_MAX 16

enum scenario { SCENARIO_SINGLE_STREAM, SCENARIO_OFFLINE, SCENARIO_SERVER };
const char *scenario_name(enum scenario scenario);
bool scenario_from_name(const char *name, enum scenario *ret);

enum implementation { IMPLEMENTATION_PORTABLE, IMPLEMENTATION_VENDOR };
const char *implementation_name(enum implementation implementation);
bool implementation_from_name(const char *name, enum implementation *ret);

struct workload_kind;

/* A loaded declaration. */
struct workload {
    char name[WORKLOAD_NAME_MAX];
    int64_t version;
    char *description; /* heap */
    char *origin;      /* heap: file it came from, or "built-in" */
    const struct workload_kind *kind;
    void *parameters;           /* the kind's own, validated; heap */
    enum precision *precisions; /* those declared, heap */
    size_t precision_count;
    int64_t *batches; /* those declared, heap; {1} where batch has no meaning */
    size_t batch_count;
    enum scenario scenario;
    json_t *json;         /* declaration with defaults filled in */
    struct digest digest; /* of its canonical form: the workload's identity */
};

/* What one run of a workload is of. */
struct workload_case {
    const struct workload *workload;
    enum precision precision;
    int64_t batch;
    enum scenario scenario;
    enum implementation implementation;
    uint64_t seed; /* of all generated data */
    /*
     * Group sizes, numbers of groups and tiles to use, as the kind's `choices` returned them for
     * the same case on the same device before; NULL: `init` measures and chooses. Borrowed.
     */
    const json_t *choices;
    /* A precision that the device does not have natively may be emulated, and is labelled so. */
    bool emulate;
};

/* Known without a device. Strings are static or owned by the workload. */
struct workload_cost {
    uint64_t flops; /* per iteration; 0: not counted (memory-bound) */
    const char
        *flops_formula; /* "6*N*T + 12*L*H*T^2 (Chowdhery et al. 2022, appendix B)"; NULL: none */
    uint64_t bytes;     /* moved to and from memory per iteration, as published; 0: not counted */
    const char *bytes_formula;    /* "3*n*sizeof(T) (BabelStream triad)" */
    uint64_t items;               /* units of work per iteration, in `item_name` */
    const char *item_name;        /* "token", "element" */
    uint64_t device_memory_bytes; /* held while it is measured */
    uint64_t working_set_bytes;   /* touched per iteration; against the last-level cache */
    const char *headline;         /* which rate is shown first: "bytes", "flops", "items" */
};

/* One check of an output against the fp64 reference. */
struct workload_check {
    const char *output; /* "a", "logits", "grad.wte" */
    double error;       /* measured, in `metric` */
    double tolerance;
    const char *metric; /* "max_relative", "normalised_rms" ... defined in workloads/README.md */
    const char *reason; /* why this tolerance, in a phrase */
    uint64_t compared;  /* elements compared */
    bool passed;
};

/* Reports each check as it is made; `context` is the caller's. */
typedef void workload_check_fn(void *context, const struct workload_check *check);

/* What `recheck` found. */
struct workload_recheck {
    char *text;        /* what later trials compare with, heap; NULL: nothing to compare with */
    uint64_t compared; /* elements that the text covers */
    bool same;         /* it agrees with what was expected */
};

/* Stage times of the latest iteration block, filled by the kind; a stage it skipped is < 0. */
struct workload_stages {
    const char *const *names; /* "data", "upload", "forward", "backward", "optimizer" */
    size_t count;
    int64_t ns[WORKLOAD_STAGES_MAX]; /* device time, or host time where `host[i]` */
    bool host[WORKLOAD_STAGES_MAX];
};

struct workload_instance;

struct workload_kind {
    const char *name; /* "memory_bound" */
    const char *summary;
    /*
     * Reads and checks the kind's section of a declaration (the whole YAML document is given as
     * text). Defined with the loader, see declaration.h in this room.
     */
    enum status (*load)(struct workload *workload, const char *origin, const char *yaml,
                        size_t length, struct error *err);
    /* Releases what the parameters hold; their own memory is one block. Optional. */
    void (*unload)(struct workload *workload);
    /* Cost of a case, from the declaration alone. */
    enum status (*cost)(const struct workload_case *work, struct workload_cost *ret,
                        struct error *err);
    /* Lines for `assay describe`: shapes and the like, appended to `ret`. */
    void (*describe)(const struct workload *workload, struct text *ret);
    size_t instance_size; /* of the kind's struct, whose first member is a workload_instance */
    /*
     * Into an instance of zeros except for its base: allocates, compiles, uploads. UNSUPPORTED when
     * the device cannot do the precision or implementation; DEVICE_MEMORY when it does not fit.
     * Takes the case's choices, or chooses by measurement. INVALID: choices that are not of this
     * kind. `finish` follows, on failure, too.
     */
    enum status (*init)(struct workload_instance *instance, struct error *err);
    /*
     * Enqueues one iteration; may wait for the device only where the work itself must (a real
     * training loop's own waits). The caller synchronises around samples.
     */
    enum status (*iterate)(struct workload_instance *instance, struct error *err);
    /* After a synchronize: stage times of the latest iteration. NULL: the kind has no stages. */
    enum status (*stages)(struct workload_instance *instance, struct workload_stages *ret,
                          struct error *err);
    /*
     * Checks the outputs in the very buffers that iterate writes against the fp64 reference.
     * CHECK_FAILED (message: which output, index, got, expected) when one is out of tolerance;
     * every check is reported first. Called before the warmup (the kind runs an iteration itself
     * if it needs one) and after the window.
     */
    enum status (*verify)(struct workload_instance *instance, workload_check_fn *report,
                          void *context, struct error *err);
    /*
     * One iteration at a moment that nobody could know beforehand, checked in a few elements: fills
     * drawn parts of what an iteration writes with NaN, changes drawn inputs where the work allows
     * it, runs one iteration, waits, compares the drawn parts with the fp64 reference and reports
     * each check (the same outputs and metrics each time). Then inputs are as before, and outputs
     * as an iteration writes them, by one more where that is needed. `secret` draws all of it.
     * Besides these iterations the cost is bounded, whatever the size. Called between samples,
     * after `verify` has passed; CHECK_FAILED as there.
     */
    enum status (*spot_check)(struct workload_instance *instance, uint64_t secret,
                              workload_check_fn *report, void *context, struct error *err);
    /*
     * The largest tolerance that `verify` and `spot_check` give an output in a metric, from the
     * case alone, whatever was chosen on a device; negative: it follows from measured data, or
     * there is no such check.
     */
    double (*tolerance)(const struct workload_case *work, const char *output, const char *metric);
    /*
     * Whether the outputs are bit for bit those of another trial of the same case, which `verify`
     * passed: a check without the reference. Called where `verify` would be; `expected` is the
     * other trial's text of the same phase (or the one before its warmup, where it had none after
     * the window), NULL: only return the text. Where the result is the same, the instance is left
     * as `verify` leaves it; else `verify` may follow. `ret` is the caller's to free, also on
     * failure. Optional; NULL: the result of iterations differs from trial to trial, or verifying
     * is cheap.
     */
    enum status (*recheck)(struct workload_instance *instance, const char *expected,
                           struct workload_recheck *ret, struct error *err);
    /* Kernels compiled: one artifact each, at most `capacity`; returns how many. Optional. */
    size_t (*artifacts)(struct workload_instance *instance, struct module_artifact *ret,
                        size_t capacity);
    /*
     * What `init` chose by measurement, in the form that workload_case.choices takes, as a new
     * JSON object; the same again when it was given. Optional; NULL: there is nothing to choose.
     */
    json_t *(*choices)(struct workload_instance *instance);
    /* What was chosen or learned while running, as a new JSON object: {"lanes": {"triad": 1},
       "loss": {...}, "last_level_cache_bytes": ...}. Where it measured to choose, "candidates":
       [{"family", what distinguishes it from the others, and "ns" or "refused": the reason}].
       Optional. */
    json_t *(*facts)(struct workload_instance *instance);
    /* Releases what `init` made, as far as it got, not the instance itself. */
    void (*finish)(struct workload_instance *instance);
};

/* Kinds embed this as their first member. */
struct workload_instance {
    const struct workload_kind *kind;
    struct workload_case work;
    struct device *device;
};

/*
 * An instance of a case of its workload's kind, prepared. NO_MEMORY, or what the kind says, with
 * nothing to release.
 */
enum status workload_instance_create(const struct workload_case *work, struct device *device,
                                     struct workload_instance **ret, struct error *err);
void workload_instance_destroy(struct workload_instance *instance); /* takes NULL */

/*
 * In addition to what was chosen among the algorithms of a library, the choices name the library
 * ("cublasLt 13.0.0"): they do not apply to another one. All that they name, as a new array of such
 * strings in the order of the choices; empty: they hold anywhere. NULL: no memory.
 */
#define WORKLOAD_CHOICES_STACK "stack"
json_t *workload_choices_stacks(const json_t *choices);
/* A whole number from 1 to `max` out of a case's choices; false when there is none. */
bool workload_choice(const json_t *choices, const char *name, uint32_t max, uint32_t *ret);

/*
 * Adds a candidate that was measured, {"family", what distinguishes it from the others}, to the
 * facts' "candidates", with its time or, where it is not NULL, why it was left out. Takes
 * `candidate`.
 */
void workload_note_candidate(json_t *candidates, json_t *candidate, int64_t ns,
                             const struct error *refusal);
/*
 * Which refusal is reported when no candidate is left: the first, but one that is more than "not
 * supported" has priority. `kept` begins as ERROR_INIT.
 */
void workload_keep_refusal(struct error *kept, const struct error *refusal);
/*
 * What failed while candidates were measured and was left out of a choice, from the facts of the
 * instance that chose: an array of such strings as "vendor, algorithm 3, gemm fp32 8x8x8: the
 * reason"; new. NULL: nothing failed, or no memory.
 */
json_t *workload_refusals(const json_t *facts);

/* ---- catalog.c ---- */

/* The kinds compiled in. */
const struct workload_kind *workload_kind_find(const char *name);

/* Parses a declaration. Errors as `ORIGIN:LINE: what, and what to write instead`. */
enum status workload_parse(const char *origin, const char *yaml, size_t length,
                           struct workload *ret, struct error *err);
/* From the JSON kept in a store (YAML is a superset of JSON; same checks). */
enum status workload_from_json(const json_t *json, struct workload *ret, struct error *err);
void workload_finish(struct workload *workload);

/* Names of the built-in workloads and suites, sorted. */
struct catalog_entry {
    const char *name;
    const char *yaml;
    size_t length;
};
const struct catalog_entry *catalog_workloads(size_t *ret_count);
const struct catalog_entry *catalog_suites(size_t *ret_count);

/* Built-in name, or path to a YAML file (has '/' or ends in .yaml). NOT_FOUND suggests a name. */
enum status workload_find(const char *name_or_path, struct workload *ret, struct error *err);

/* A suite: named workloads, each with an optional narrower choice of precisions and batches. */
struct suite_entry {
    char *workload;             /* name or path (relative to the suite's file) */
    enum precision *precisions; /* heap; count 0: all that the workload declares */
    size_t precision_count;
    int64_t *batches; /* heap; count 0: all that the workload declares */
    size_t batch_count;
};
struct suite {
    char name[WORKLOAD_NAME_MAX];
    int64_t version;
    char *description;
    char *origin;
    struct suite_entry *entries;
    size_t entry_count;
    json_t *json;
    struct digest digest;
};
/* As workload_find. */
enum status suite_find(const char *name_or_path, struct suite *ret, struct error *err);
void suite_finish(struct suite *suite);

/* True when the YAML file declares a suite (has the key `suite`) rather than a workload. */
enum status declaration_is_suite(const char *path, bool *ret, struct error *err);
/* True when it has the key `workload` or `kind`. */
enum status declaration_is_workload(const char *path, bool *ret, struct error *err);

#endif

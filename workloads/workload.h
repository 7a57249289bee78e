/*
 * workload - what is run: declared in YAML (declared.h), run and checked on a device.
 *
 * A kind (memory_bound, training_step, batched_inference, endpoint) is a const table of hooks. An
 * instance is a case prepared on an open device.
 */
#ifndef ASSAY_WORKLOADS_WORKLOAD_H
#define ASSAY_WORKLOADS_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "backends/backend.h"
#include "harness/core/status.h"
#include "harness/core/tensors.h"
#include "harness/core/text.h"
#include "harness/core/waits.h"
#include "workloads/declared.h"
#include "workloads/trace.h"

#define WORKLOAD_STAGES_MAX 16

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

struct check_sink; /* where a kind's hooks put their checks: check/compare.h */
struct recheck;    /* what they add outputs to: check/frame.h */

/* What workload_recheck found. */
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

/* What a step did, of a kind with `admit`. */
struct workload_served {
    const uint32_t *put_out; /* requests that have one more output: valid until the next step */
    uint32_t put_out_count;
    uint32_t prefill_tokens; /* of prompts, that it took in */
    uint32_t kv_used;        /* blocks of the cache that requests hold */
};

/* One step of a server. */
struct workload_step {
    uint64_t seed;    /* of the trial: another in each round, one for both arms of a pair */
    uint64_t number;  /* of all steps of the process, from 0 */
    uint32_t batch;   /* requests in it, 1 to work.batch */
    int64_t begin_ns; /* CLOCK_MONOTONIC */
    int64_t at_ns;    /* the same since the window's start; -1: before the window */
    struct workload_served *served; /* to be filled by a kind with `admit`; else NULL */
};

struct workload_instance;

/* What another program handed over, to be compared. */
struct workload_handed {
    const struct workload_case *work;
    const uint64_t *secret; /* drew the inputs; NULL: they are the case's own */
    const struct tensors *outputs;
    int64_t iteration; /* that wrote them, from 1 */
    bool whole;        /* by the bounds of `verify`, else of `spot_check` */
};

/*
 * The work of another program, which takes its inputs from files and whose outputs assay compares.
 * `secret` draws the inputs; NULL: they are the case's own. Neither needs a device.
 */
struct workload_handover {
    /* Writes weights and inputs, or the inputs alone that a secret draws. UNSUPPORTED: the case is
     * not handed over. */
    enum status (*write)(const struct workload_case *work, const uint64_t *secret, const char *path,
                         struct error *err);
    /* Compares it with the fp64 reference. CHECK_FAILED: an output is missing, or of another type
     * or shape. See workload_judge. */
    enum status (*judge)(const struct workload_handed *handed, struct check_sink *sink,
                         struct error *err);
};

struct declaration;
struct declaration_schema;

/* What a kind's declarations say; see declaration.h in this room. */
struct workload_form {
    const struct declaration_schema *schema;
    /*
     * Checks the kind's own part of declaration->data (a struct of the kind's) by
     * declaration_error, writes defaults into it, and sets workload->parameters to a heap object,
     * which workload_finish frees. Common members of `workload` are filled already. On failure it
     * leaves parameters NULL.
     */
    enum status (*check)(const struct declaration *declaration, struct workload *workload,
                         struct error *err);
};

/* How a kind's outputs are checked. */
struct workload_checks {
    /*
     * What workload_verify does of a kind: puts a check of every output, in the very buffers that
     * iterate writes, against the fp64 reference, into the sink.
     */
    enum status (*verify)(struct workload_instance *instance, struct check_sink *sink,
                          struct error *err);
    /* What workload_spot_check does of a kind. The same outputs and metrics each time. */
    enum status (*spot_check)(struct workload_instance *instance, uint64_t secret,
                              struct check_sink *sink, struct error *err);
    /*
     * What workload_change and workload_check_changed do of a kind. Optional, both or none; NULL:
     * its inputs are always the same, or an iteration moves them on.
     */
    enum status (*change)(struct workload_instance *instance, uint64_t secret, bool *ret_changed,
                          struct error *err);
    enum status (*check_changed)(struct workload_instance *instance, uint64_t secret,
                                 struct check_sink *sink, struct error *err);
    /*
     * The largest tolerance that `verify` and `spot_check` give an output in a metric, from the
     * case alone, whatever was chosen on a device; -1: it follows from measured data;
     * WORKLOAD_NO_CHECK: they make no such check.
     */
    double (*tolerance)(const struct workload_case *work, const char *output, const char *metric);
    /*
     * Runs what workload_recheck compares, and adds it; adds nothing where there is nothing that
     * another trial has, too. Optional; NULL: the result of iterations differs from trial to trial,
     * or verifying is cheap.
     */
    enum status (*recheck)(struct workload_instance *instance, struct recheck *recheck,
                           struct error *err);
    /*
     * After outputs were found right, by `verify` or by `recheck`: makes the instance ready for
     * the iterations that follow. Optional.
     */
    enum status (*resume)(struct workload_instance *instance, struct error *err);
};

struct workload_kind {
    const char *name; /* "memory_bound" */
    const char *summary;
    const struct workload_form *form;
    /* Releases what the parameters hold; their own memory is one block. Optional. */
    void (*unload)(struct workload *workload);
    int64_t largest_batch;  /* that may be declared; 0: 2^20 */
    const char *batch_unit; /* what it counts; NULL: "sequences or items" */
    /* Cost of a case, from the declaration alone. */
    enum status (*cost)(const struct workload_case *work, struct workload_cost *ret,
                        struct error *err);
    /* Lines for `assay describe`: shapes and the like, appended to `ret`. */
    void (*describe)(const struct workload *workload, struct text *ret);
    /*
     * Whether what a trial reads besides the declaration is where it looks for it; asked before a
     * campaign. NOT_FOUND, INVALID. Optional.
     */
    enum status (*ready)(const struct workload *workload, struct error *err);
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
    /*
     * After an iteration, outside of its sample: the number above 0 that the work counts of itself,
     * NAN where it has none. Optional; a sample is then one iteration.
     */
    enum status (*count)(struct workload_instance *instance, double *ret, struct error *err);
    /*
     * An array that each iteration writes, of which a byte is read back twice after drawn samples:
     * the first waits for work that is not over, the second does not. NULL: there is none.
     */
    struct buffer *(*result)(struct workload_instance *instance);
    /*
     * One step of a server (`scenario: server`) of so many requests; returns when its outputs are
     * there. Of fixed shapes it is an iteration, however many requests there are. Before the window
     * it is one of a full batch, whether requests were taken in or not. NULL: the kind is not
     * served.
     */
    enum status (*serve)(struct workload_instance *instance, const struct workload_step *step,
                         struct error *err);
    /*
     * Kinds whose requests have prompts and hold memory: takes request number `request` in, or says
     * that there is no room yet; it leaves by itself with its last output. NULL: any request may be
     * in any step.
     */
    enum status (*admit)(struct workload_instance *instance, uint32_t request,
                         uint32_t prompt_tokens, uint32_t output_tokens, bool *ret_room,
                         struct error *err);
    /*
     * Requests go to a server elsewhere: there is neither instance nor device, and of the hooks
     * only those that need none.
     */
    bool is_endpoint;
    bool is_program;      /* an iteration is a process of its own, which computes in what it does */
    bool runs_frameworks; /* a framework in the case runs the work */
    bool needs_framework; /* and nothing else does */
    bool serves_tokens;   /* a step makes a token of each request, and requests may join between */
    /* After a synchronize: stage times of the latest iteration. NULL: the kind has no stages. */
    enum status (*stages)(struct workload_instance *instance, struct workload_stages *ret,
                          struct error *err);
    const struct workload_checks *checks; /* of an endpoint `tolerance` alone */
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
    const struct workload_handover *handover; /* NULL: no other program does this work */
    /* Adds the files that a trial reads: hashed by the harness, as a backend's. Optional. */
    void (*files)(const struct workload_case *work, struct backend_file_list *ret);
    /* Releases what `init` made, as far as it got, not the instance itself. */
    void (*finish)(struct workload_instance *instance);
};

/* Whether the work chooses precision and implementation itself, and does not tell them. */
static inline bool workload_is_its_own(const struct workload_kind *kind)
{
    return kind->is_endpoint || kind->is_program;
}

/* Kinds embed this as their first member. */
struct workload_instance {
    const struct workload_kind *kind;
    struct workload_case work;
    struct device *device;
    uint64_t unchecked; /* iterations since the outputs were poisoned; kinds count where they are */
    /* Since the iteration that is checked began, and what the latest one took until a word of its
     * result was read back, waits_span_end_ns; -1: not known. */
    struct waits_span checked;
    int64_t checked_ns;
    /* `iterate` marks its operations here; a kind that does not is one operation. NULL: none. */
    struct trace *trace;
    /* To be called while an iteration takes long; NULL: nobody waits. */
    void (*alive)(void *context);
    void *alive_context;
};

/*
 * DEVICE_MEMORY, with both sizes, where a model of `needed` bytes, of which one array has
 * `largest`, does not fit into what the device reports: before the device, or the host's kernel,
 * has to say so.
 */
enum status workload_check_memory(const struct device *device, uint64_t needed, uint64_t largest,
                                  struct error *err);

/*
 * An instance of a case of its workload's kind, prepared. UNSUPPORTED: the device lacks its
 * precision; NO_MEMORY, or what the kind says. With nothing to release.
 */
enum status workload_instance_create(const struct workload_case *work, struct device *device,
                                     struct workload_instance **ret, struct error *err);
void workload_instance_destroy(struct workload_instance *instance); /* takes NULL */

/* ---- check/frame.c: the checks of all kinds. A failed check is returned before anything else.
 * ---- */

/*
 * Checks the outputs in the very buffers that iterate writes against the fp64 reference.
 * CHECK_FAILED (message: which output, index, got, expected) when one is out of tolerance; every
 * check is reported first; `report` may be NULL. Called before the warmup (an iteration runs where
 * none has) and after the window.
 */
enum status workload_verify(struct workload_instance *instance, workload_check_fn *report,
                            void *context, struct error *err);
/*
 * One iteration at a moment that nobody could know beforehand, checked in a few elements: fills
 * drawn parts of what an iteration writes with NaN, changes drawn inputs where the work allows it,
 * runs one iteration, waits, compares the drawn parts with the fp64 reference and reports each
 * check (the same outputs and metrics each time). Then inputs are as before, and outputs as an
 * iteration writes them, by one more where that is needed. `secret` draws all of it. Besides these
 * iterations the cost is bounded, whatever the size. Called between samples, after workload_verify
 * has passed; CHECK_FAILED as there. instance->checked_ns is then what that iteration took.
 */
enum status workload_spot_check(struct workload_instance *instance, uint64_t secret,
                                workload_check_fn *report, void *context, struct error *err);
/*
 * Gives the iterations that follow other inputs in a few places, which `secret` draws: what was
 * computed before is no longer right. False where the kind does not: then nothing was changed.
 */
enum status workload_change(struct workload_instance *instance, uint64_t secret, bool *ret_changed,
                            struct error *err);
/*
 * After such iterations alone, with the same secret: compares what follows from the changed inputs
 * with the fp64 reference, reports what workload_spot_check does, and makes the inputs what they
 * were; outputs are as before once an iteration has run. CHECK_FAILED as there.
 */
enum status workload_check_changed(struct workload_instance *instance, uint64_t secret,
                                   workload_check_fn *report, void *context, struct error *err);
/*
 * Whether the outputs are bit for bit those of another trial of the same case, which
 * workload_verify passed: a check without the reference. Called where that would be; `expected` is
 * the other trial's text of the same phase (or the one before its warmup, where it had none after
 * the window), NULL: only return the text. Where the result is the same, the instance is left as
 * workload_verify leaves it; else that may follow. `ret` is the caller's to free, also on failure;
 * it stays without text where the kind has nothing to compare.
 */
enum status workload_recheck(struct workload_instance *instance, const char *expected,
                             struct workload_recheck *ret, struct error *err);
/* What another program handed over against the fp64 reference, as workload_verify. */
enum status workload_judge(const struct workload_handed *handed, workload_check_fn *report,
                           void *context, struct error *err);

/* How the instance's framework is to run a model; the model and its arrays are to be added. */
struct framework_model workload_framework_model(const struct workload_instance *instance);
/* {"name", "version", "precision", "threads"} of the case's framework, as it reports; new. */
json_t *workload_framework_json(const struct workload_case *work);

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

#endif

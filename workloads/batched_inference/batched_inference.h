/*
 * batched_inference - prefill: one forward pass of GPT-2 over a batch of whole sequences, giving
 * the logits of every position. An iteration takes the next batch of a small pool made beforehand,
 * uploads it and runs the model, so its time is the latency of a batch. For this folder and for
 * generation, whose instance and parameters begin with those here: calibration, weights and the
 * comparison of logits are the same.
 */
#ifndef ASSAY_WORKLOADS_BATCHED_INFERENCE_BATCHED_INFERENCE_H
#define ASSAY_WORKLOADS_BATCHED_INFERENCE_BATCHED_INFERENCE_H

#include "workloads/check/frame.h"
#include "workloads/models/declaration.h"
#include "workloads/models/gpt2_instance.h"
#include "workloads/models/gpt2_int8.h"
#include "workloads/models/gpt2_precision.h"

#define INFERENCE_POOL 16      /* batches */
#define INFERENCE_POSITIONS 16 /* of a checked sequence: the last, and others drawn by the seed */

enum { INFERENCE_UPLOAD, INFERENCE_FORWARD, INFERENCE_STAGES };

struct inference_parameters {
    struct gpt2_task task;
    uint64_t verify_sequences;
    /* int8: what all but the GEMMs with weights is stored in, and the calibration. */
    enum dtype int8_storage;
    uint64_t calibration_sequences;
    double percentile;
};

/* What declarations of both kinds have besides the model, as written. */
struct inference_sections {
    struct inference_verify_section {
        int64_t sequences;
    } verify;
    struct inference_int8_section {
        enum dtype storage;
        int64_t calibration_sequences;
        double percentile;
    } int8;
};
extern const struct declaration_field inference_verify_fields[], inference_int8_fields[];
/* The fields of `sections`, in a declaration of type `type`. */
#define INFERENCE_FIELDS(type)                                                                     \
    FIELD_GROUP("verify", FIELD_OPTIONAL, type, sections.verify, inference_verify_fields),         \
        FIELD_GROUP("int8", FIELD_OPTIONAL, type, sections.int8, inference_int8_fields)
/* Checks model and sections, and fills defaults in; `ret` is a kind's, of zeros. */
enum status inference_check(const struct declaration *declaration,
                            const struct workload_declaration *common,
                            struct gpt2_declaration *gpt2, struct inference_sections *sections,
                            struct inference_parameters *ret, struct error *err);

struct inference_instance {
    struct gpt2_instance gpt2;
    const struct inference_parameters *parameters;
    int32_t *pool; /* INFERENCE_POOL batches of OP_TOKENS_LENGTH(rows) */
    uint64_t unique[INFERENCE_POOL];
    uint64_t iterations;
    uint64_t current; /* batch that is on the device */
    struct token_source *source;
    float *weights; /* before any rounding, for the reference; NULL until it is needed */
    /* Logits of another program in place of the device's; then there is neither device nor ops. */
    const struct tensor *handed;
    /* Of the latest check: positions, and those where the device's first choice is the reference's
     */
    uint64_t top1_positions, top1_agreed;
    /* int8 only: what calibration found of each site's input, and the noise of its weights. */
    struct gpt2_int8_input *inputs;
    float *input_scales;
    double *weight_noise;
};

struct gpt2_device_plan inference_plan(const struct workload_case *work);
/* Operations, calibration and model of a plan; a bare one where a framework runs the case. */
enum status inference_make(struct inference_instance *instance, struct gpt2_device_plan *plan,
                           struct error *err);
/* Releases all of it but `gpt2`. */
void inference_finish(struct inference_instance *instance);
/* The facts of both kinds, to which each adds its own; new object. */
json_t *inference_facts(struct workload_instance *base);
/* One pass over a batch in the form of op_tokens: an iteration without its choice of the batch. */
enum status inference_run(struct inference_instance *instance, const int32_t *indices,
                          uint64_t unique, struct error *err);
/* Batch `index` of the pool, in the form of op_tokens. */
int32_t *inference_batch(const struct inference_instance *instance, uint64_t index);

/* framework.c: a framework runs the model */
/* The model with tokens and logits alone, and the framework prepared on them. */
enum status inference_take_framework(struct inference_instance *instance, struct error *err);
/* A matrix of a model. */
struct framework_array inference_array(const char *name, enum dtype type, struct buffer *buffer,
                                       uint64_t rows, uint64_t columns);
/* Writes a model and prepares the case's framework on it; `wanted` lacks the model alone. */
struct gpt2_onnx;
enum status inference_prepare(struct inference_instance *instance, const struct gpt2_onnx *model,
                              struct framework_model *wanted, struct error *err);

/* int8.c */
/* Calibrates and fills inputs, input_scales and weight_noise. */
enum status inference_calibrate(struct inference_instance *instance, struct error *err);
/*
 * What quantisation adds to the tolerance of the logits: the root of the summed squares of the
 * rounding noise of every input and weight, as if each reached the logits undiminished (the
 * residual stream reduces it).
 */
double inference_int8_tolerance(const struct inference_instance *instance);
/* Quantised: weights and scales on the device against their definition, from the weights before
 * rounding. */
enum status inference_check_weights(struct inference_instance *instance, struct check_sink *sink,
                                    struct error *err);
/* The head's GEMM and scales at row `row`, from the i8 input that is on the device. */
enum status inference_check_head(struct inference_instance *instance, uint64_t row,
                                 const float *logits, struct workload_check *check,
                                 struct error *err);
json_t *inference_int8_json(const struct inference_instance *instance);

/* checks.c: rows of logits against the reference */
struct inference_findings {
    struct comparison last, sampled;
    uint64_t positions, agreed; /* where the largest logit is the reference's */
    struct block_finding blocks;
    double regret;              /* what the reference's lead is over the device's choice, at most */
    struct workload_check head; /* int8: its GEMM at the last position that was compared so */
};
/* The logits, of so many rows. */
struct check_output inference_logits(const struct inference_instance *instance, uint64_t rows);
/*
 * The weights before any rounding, into instance->weights, unless they are there: the device's own
 * in fp32; else those that it rounded.
 */
enum status inference_take_weights(struct inference_instance *instance, struct error *err);
/*
 * Adds logits of a batch (sequences, length) of tokens to what is found: `whole`, at drawn
 * positions of as many sequences as are declared, spread over the batch from `first` on; else of
 * the first positions of one, as many as gpt2_spot_prefix says. Of a quantised model the head's
 * GEMM, too.
 */
enum status inference_compare(struct inference_instance *instance, const int32_t *tokens,
                              uint64_t first, bool whole, struct inference_findings *findings,
                              struct error *err);
/*
 * Adds a row of logits, of `sequence` at `position`; `expected` is the reference's. `last`: it
 * counts for "logits.last".
 */
void inference_compare_row(const float *got, const double *expected, uint64_t vocabulary,
                           uint64_t sequence, uint64_t position, bool last,
                           struct inference_findings *findings);
/*
 * "logits.last" and "logits.sampled" (the last position, and the others; what there is of them),
 * "logits.blocks", "logits.top1" and, quantised, "logits.gemm".
 */
void inference_report(struct inference_instance *instance,
                      const struct inference_findings *findings, struct check_sink *sink);
double inference_tolerance(const struct workload_case *work, const char *output,
                           const char *metric);

/* handover.c */
/* inference_report of logits that were handed over, all of which must be finite. */
void inference_report_handed(struct inference_instance *instance,
                             const struct inference_findings *findings, struct check_sink *sink);
extern const struct workload_handover inference_handover;

/* checks.c */
extern const struct workload_checks inference_checks;

#endif

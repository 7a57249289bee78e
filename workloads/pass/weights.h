/* weights - the matrices of a decoded stack in few bits (data/format.h); weights.c. */
#ifndef ASSAY_WORKLOADS_PASS_WEIGHTS_H
#define ASSAY_WORKLOADS_PASS_WEIGHTS_H

#include "workloads/pass/pass.h"

/* Of the section `weights`. */
struct pass_weights_section {
    int64_t group;
    int format; /* a row of `formats`, from 1 */
};
extern const struct declaration_field pass_weights_fields[];
/* Checks the section, after the stack and `decode`; its widths are those of the stack. */
enum status pass_weights_check(const struct declaration *declaration,
                               const struct pass_weights_section *written,
                               struct pass_parameters *ret, struct error *err);

/* Bytes that the matrices take less than in elements of `width` bytes; 0 without a format. */
uint64_t pass_weights_saved(const struct pass_weights *weights, const struct graph *graph,
                            uint64_t width);
/* A line; nothing without a format. */
void pass_weights_describe(const struct pass_weights *weights, const struct graph *graph,
                           struct text *ret);
/* {"format", "parameters", "bits", "rounding", "output_error"}; the last two once they are
 * measured. New. */
json_t *pass_weights_facts(const struct pass_instance *instance);

/*
 * In this order: the texts, and what each matrix is; buffers, before session_allocate; all
 * parameters, by position. Without a format the first two do nothing.
 */
enum status pass_weights_compile(struct pass_instance *instance, struct error *err);
enum status pass_weights_place(struct pass_instance *instance, struct error *err);
enum status pass_weights_make(struct pass_instance *instance, struct error *err);
void pass_weights_finish(struct pass_instance *instance);

/*
 * Nodes [first, end) of a reference of a sequence with those tokens; the parameters of each node
 * are made for it where there is a format, as it leaves them or (`decoded` false) exact.
 */
enum status pass_weights_run(const struct pass_instance *instance,
                             const struct stack_reference *reference, const int32_t *tokens,
                             bool decoded, size_t first, size_t end, struct error *err);
/* Whether a reference of all is made: not where more than 2^30 elements are made again for it. */
bool pass_weights_is_referred(const struct pass_instance *instance);
/*
 * Once: how far the weights are from exact ones, as the RMS of the difference over theirs, from the
 * first outputs of each matrix, into instance->weights_rounding.
 */
enum status pass_weights_measure_rounding(struct pass_instance *instance, struct error *err);
/*
 * Once: how far `out`, the reference's output of a sequence, is from that with exact weights, as
 * the RMS of the difference over that of the exact one, into instance->weights_error.
 */
enum status pass_weights_measure(struct pass_instance *instance, uint64_t sequence,
                                 const double *out, struct error *err);

#endif

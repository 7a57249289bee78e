/*
 * reference - an ONNX graph run in fp64 on the host, operator by operator after onnx.ai's
 * "Operators", for those that networks of images and of text are commonly made of.
 */
#ifndef ASSAY_WORKLOADS_ONNX_REFERENCE_H
#define ASSAY_WORKLOADS_ONNX_REFERENCE_H

#include <stdbool.h>

#include "workloads/onnx/model.h"

struct onnx_reference;

/* An array of the graph. */
struct onnx_array {
    const char *name;
    size_t rank;
    uint64_t shape[ONNX_RANK_MAX];
    uint64_t elements;
    bool whole;   /* of a type of whole numbers */
    double *data; /* heap, or a tensor's */
};

/* UNSUPPORTED names the first node that the reference does not have. */
enum status onnx_reference_check(const struct onnx_model *model, struct error *err);
/* Decodes the model's tensors; the model stays as long. UNSUPPORTED as above. */
enum status onnx_reference_create(const struct onnx_model *model, struct onnx_reference **ret,
                                  struct error *err);
/*
 * Runs it on `inputs` (those of the model, in any order) and fills `data` of each output, which is
 * the reference's until it runs again. INVALID: shapes do not fit each other, or an output has
 * another shape than it says here.
 */
enum status onnx_reference_run(struct onnx_reference *reference, const struct onnx_array *inputs,
                               size_t input_count, struct onnx_array *outputs, size_t output_count,
                               struct error *err);
void onnx_reference_destroy(struct onnx_reference *reference); /* takes NULL */

/* ---- operators.c ---- */

#define ONNX_INPUTS_MAX 16

/* A node being run: inputs that were left out are NULL; `out` has the name alone. */
struct onnx_step {
    const struct onnx_node *node;
    const struct onnx_array *in[ONNX_INPUTS_MAX];
    size_t count;
    struct onnx_array *out;
    struct error *err;
};

/* INVALID with the node's name and operator before the message. */
enum status onnx_step_fail(const struct onnx_step *step, const char *what);
/* Gives `out` its shape and zeros. NO_MEMORY; INVALID: far too large. */
enum status onnx_step_shape(struct onnx_step *step, size_t rank, const uint64_t *shape);
int64_t onnx_step_whole(const struct onnx_step *step, const char *attribute, int64_t otherwise);
double onnx_step_number(const struct onnx_step *step, const char *attribute, double otherwise);
/* Attribute `axis` from the front; false: beyond the first input's rank. */
bool onnx_step_axis(const struct onnx_step *step, int64_t otherwise, size_t *ret);

struct onnx_operator {
    const char *name;
    size_t least, most; /* inputs */
    enum status (*run)(struct onnx_step *step);
    double (*map)(double x); /* instead of `run`: element by element */
};
/* Those of operators.c and of windows.c; the tables end with a NULL name. */
extern const struct onnx_operator onnx_operators[], onnx_window_operators[];

#endif

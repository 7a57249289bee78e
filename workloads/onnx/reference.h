/*
 * reference - an ONNX graph run in fp64 on the host, operator by operator after onnx.ai's
 * "Operators", for those that networks of images and of text are commonly made of.
 */
#ifndef ASSAY_WORKLOADS_ONNX_REFERENCE_H
#define ASSAY_WORKLOADS_ONNX_REFERENCE_H

#include <stdbool.h>

#include "workloads/onnx/model.h"

struct onnx_reference;

/*
 * An array of the graph. `data` may be NULL where only shapes are asked for: then what it holds is
 * not known, or too much to be looked at; of an input of whole numbers `least` and `most` may say
 * between which they lie.
 */
struct onnx_array {
    const char *name;
    size_t rank;
    uint64_t shape[ONNX_RANK_MAX];
    uint64_t elements;
    bool whole;   /* of a type of whole numbers, or of truth values */
    double *data; /* heap, or a tensor's */
    bool has_range;
    int64_t least, most;
};

/*
 * Whether the reference can run the model on inputs of these shapes and gives outputs of those:
 * operators, attributes, types of tensors, shapes from node to node, and what is known of values,
 * all without computing. `inputs` and `outputs` as for onnx_reference_run, without data.
 * UNSUPPORTED or INVALID names the first node that it cannot compute. NO_MEMORY.
 */
enum status onnx_reference_check(const struct onnx_model *model, const struct onnx_array *inputs,
                                 size_t input_count, struct onnx_array *outputs,
                                 size_t output_count, struct error *err);
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

/* ---- for operators ---- */

/* Returned where shapes alone are asked for: do not go on. */
#define ONNX_SHAPE_ALONE STATUS_INTERRUPTED
/* Then so many elements are computed all the same, since shapes are made of small arrays. */
#define ONNX_KNOWN_MAX ((uint64_t)1 << 16)

#define ONNX_INPUTS_MAX 64
#define ONNX_OUTPUTS_MAX 32

/*
 * A node being run: inputs that were left out are NULL. An operator gives its outputs their shapes
 * and goes on only where that returned OK: where shapes alone are asked for it does not, since then
 * inputs may have no data.
 */
struct onnx_step {
    const struct onnx_node *node;
    int64_t version; /* of the operators */
    const struct onnx_array *in[ONNX_INPUTS_MAX];
    size_t count;
    struct onnx_array *out; /* `out_count` of them, with names and `whole` as the first input's */
    size_t out_count;
    bool shapes_alone, known;       /* known: every input has its data, or none is needed */
    const struct onnx_operator *op; /* the node's row */
    struct error *err;
};

/* As messages call it. */
const char *onnx_node_name(const struct onnx_node *node);
/* INVALID with the node's name and operator before the message. */
enum status onnx_step_fail(const struct onnx_step *step, const char *what);
/* Gives `out` its shape and zeros. NO_MEMORY; INVALID: far too large; another: do not go on. */
enum status onnx_step_shape(struct onnx_step *step, size_t rank, const uint64_t *shape);
/* Of several outputs: each in turn, then onnx_step_ready says whether to go on. */
enum status onnx_step_shape_of(struct onnx_step *step, size_t output, size_t rank,
                               const uint64_t *shape);
enum status onnx_step_ready(const struct onnx_step *step);
int64_t onnx_step_whole(const struct onnx_step *step, const char *attribute, int64_t otherwise);
double onnx_step_number(const struct onnx_step *step, const char *attribute, double otherwise);
/* Of a word; `otherwise` where it is not there. */
const char *onnx_step_word(const struct onnx_step *step, const char *attribute,
                           const char *otherwise);
/* The number of an attribute's word among `words`, which end with NULL; there: it is none of them.
 */
size_t onnx_step_choice(const struct onnx_step *step, const char *attribute, const char *otherwise,
                        const char *const *words);
/* The input, or NULL: there are fewer, or it is left out. */
const struct onnx_array *onnx_step_input(const struct onnx_step *step, size_t number);
/*
 * The numbers of an input on which the output's shape depends, `capacity` at most. INVALID: more,
 * or they are not known before the model runs. Beyond 2^53 they are cut to it.
 */
enum status onnx_step_numbers(const struct onnx_step *step, size_t input, double *ret,
                              size_t capacity, size_t *ret_count);
/*
 * Whole numbers that are an attribute in old versions of an operator and an input in new ones;
 * `ret_count` is ONNX_ABSENT where neither is there.
 */
#define ONNX_ABSENT SIZE_MAX
enum status onnx_step_list(const struct onnx_step *step, const char *attribute, size_t input,
                           int64_t *ret, size_t capacity, size_t *ret_count);
/* `axis` from the front; false: beyond so many dimensions. */
bool onnx_axis(int64_t axis, size_t rank, size_t *ret);
/* Attribute `axis` from the front. INVALID: beyond the first input's rank. */
enum status onnx_step_axis(const struct onnx_step *step, int64_t otherwise, size_t *ret);

/* Shape of two arrays together; false: they do not fit. */
bool onnx_broadcast(const struct onnx_array *a, const struct onnx_array *b, size_t *ret_rank,
                    uint64_t *ret);
/* Where element `index` of `shape` lies in an array of the first `own` dimensions of `array`. */
uint64_t onnx_place(const struct onnx_array *array, size_t own, const uint64_t *shape, size_t rank,
                    uint64_t index);
/* How many rows stand before an axis, how long it is, and how many elements lie behind each. */
void onnx_span(const struct onnx_array *array, size_t axis, uint64_t *outer, uint64_t *side,
               uint64_t *inner);

/* All inputs broadcast to one shape, which is the output's; and an element of that of input `k`. */
enum status onnx_step_together(struct onnx_step *step);
double onnx_step_at(const struct onnx_step *step, size_t k, uint64_t index);
/* `pair` of the elements of all inputs, broadcast, from the first input to the last. */
enum status onnx_step_fold(struct onnx_step *step, double (*pair)(double x, double y));
/* Of every element of the first input; and the same with two numbers more. */
enum status onnx_step_map(struct onnx_step *step, double (*map)(double x));
enum status onnx_step_map_with(struct onnx_step *step, double (*map)(double x, double a, double b),
                               double a, double b);

/* A row of a table; without `run`, what `map` or `pair` say. */
struct onnx_operator {
    const char *name;
    size_t least, most; /* inputs */
    enum status (*run)(struct onnx_step *step);
    double (*map)(double x);            /* element by element */
    double (*pair)(double x, double y); /* of all inputs, or what `run` folds elements by */
    const char *attributes;             /* that it reads, or that change nothing; NULL: none */
    size_t outputs;                     /* that it computes at most; 0: one */
    bool of_shapes;                     /* it needs no data of its inputs */
    bool truth;                         /* it gives truth values, whatever its inputs are */
};
/* Those of a file each; the tables end with a NULL name. */
extern const struct onnx_operator onnx_operators[], onnx_move_operators[], onnx_window_operators[],
    onnx_resize_operators[];

#endif

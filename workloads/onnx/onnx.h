/*
 * onnx - a model that somebody brings as an ONNX file, run by a framework: declared inputs in,
 * declared outputs out, compared with the fp64 reference of this folder or with outputs that the
 * declaration names. For this folder.
 */
#ifndef ASSAY_WORKLOADS_ONNX_ONNX_H
#define ASSAY_WORKLOADS_ONNX_ONNX_H

#include "harness/core/digest.h"
#include "harness/core/tensors.h"
#include "workloads/check/frame.h"
#include "workloads/onnx/model.h"
#include "workloads/onnx/reference.h"
#include "workloads/workload.h"

#define ONNX_ARRAYS_MAX 32 /* inputs, and outputs */
#define ONNX_SIDE_FILES_MAX 64
#define ONNX_LOCATION_MAX 256
#define ONNX_ELEMENTS_MAX ((uint64_t)1 << 28)

enum onnx_values { ONNX_NORMAL, ONNX_UNIFORM, ONNX_RANGE };

/* An input or an output, as declared. */
struct onnx_declared {
    char name[TENSOR_NAME_MAX];
    enum dtype type;
    size_t rank;
    uint64_t shape[TENSOR_RANK_MAX];
    uint64_t elements;
    /* Of an input: what it is generated from, or the file that has it. */
    enum onnx_values values;
    int64_t min, max;
    bool has_file;
    struct digest file;
    double tolerance; /* of an output; 0: the precision's */
};

/* A file beside the model, in which weights of it lie. */
struct onnx_data_file {
    char location[ONNX_LOCATION_MAX]; /* as the model names it: a path from its folder */
    struct digest digest;
};

struct onnx_parameters {
    struct digest model, reference;
    struct onnx_data_file data[ONNX_SIDE_FILES_MAX];
    size_t data_count;
    bool has_reference, has_seed;
    uint64_t seed;
    int64_t items; /* per iteration */
    struct onnx_declared inputs[ONNX_ARRAYS_MAX], outputs[ONNX_ARRAYS_MAX];
    size_t input_count, output_count;
};

struct onnx_instance {
    struct workload_instance base;
    const struct onnx_parameters *parameters;
    struct text file; /* the model's bytes, with those that lie beside it */
    struct onnx_model model;
    struct onnx_reference *reference; /* NULL: the declaration names outputs */
    struct buffer *inputs[ONNX_ARRAYS_MAX], *outputs[ONNX_ARRAYS_MAX];
    double *expected[ONNX_ARRAYS_MAX]; /* of the declared inputs; NULL until needed */
    bool taken;                        /* all of them are there */
};

/* declare.c */
extern const struct workload_form onnx_form;
/* Its name, shape and range, without data. */
struct onnx_array onnx_declared_array(const struct onnx_declared *declared);
void onnx_append_shape(struct text *out, size_t rank, const uint64_t *shape); /* [1, ?, 3] */
void onnx_describe(const struct workload *workload, struct text *ret);
struct workload_cost;
enum status onnx_cost(const struct workload_case *work, struct workload_cost *ret,
                      struct error *err);
/* By which an output is judged where it declares none. */
double onnx_tolerance(const struct workload_case *work, const char *output, const char *metric);

/* declare_files.c */
struct declaration;
/* The paths of a declaration, as they are written. */
struct onnx_paths {
    const char *model, *reference, *inputs[ONNX_ARRAYS_MAX];
};
/*
 * Whether the files are what the declaration says, and all that a trial needs of them is there: of
 * the model its arrays, the files beside it, and what the reference cannot compute. Notes them.
 */
enum status onnx_check_files(const struct declaration *declaration, const struct onnx_paths *paths,
                             const struct onnx_parameters *parameters, struct error *err);

/* files.c: files as harness/core/noted_file.h finds them. */
/* All files of a workload: what trials will ask for. */
enum status onnx_files_ready(const struct workload *workload, struct error *err);
/* Reads it. NOT_FOUND, INVALID: what is there is another file by now. */
enum status onnx_file_read(const struct digest *digest, const char *what, struct text *ret,
                           struct error *err);
/* Opens a file of tensors. As onnx_file_read; CORRUPT. */
enum status onnx_file_tensors(const struct digest *digest, const char *what, struct tensors *ret,
                              struct error *err);

/* data.c */
/* The values of input number `number` as they lie in memory; heap. `secret`: other ones. */
enum status onnx_input(const struct onnx_instance *instance, size_t number, const uint64_t *secret,
                       void **ret, struct error *err);

/* checks.c */
extern const struct workload_checks onnx_checks;
enum status onnx_iterate(struct workload_instance *base, struct error *err);
/* Uploads the inputs; `secret` as for onnx_input. */
enum status onnx_fill(struct onnx_instance *instance, const uint64_t *secret, struct error *err);
/* NaN into every output. */
enum status onnx_poison(const struct onnx_instance *instance, struct error *err);

#endif

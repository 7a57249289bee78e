/*
 * memory_bound - kernels that move memory and compute little; what the files of this folder share.
 *
 * Each kernel is one row of a const table (kernels.c): its arrays, its bytes as published, its
 * arguments and its fp64 reference. Array elements are made from the seed by position, so that the
 * reference needs no copy of the inputs.
 */
#ifndef ASSAY_WORKLOADS_MEMORY_BOUND_MEMORY_BOUND_H
#define ASSAY_WORKLOADS_MEMORY_BOUND_MEMORY_BOUND_H

#include <stdbool.h>
#include <stdint.h>

#include "workloads/check/frame.h"
#include "workloads/workload.h"

#define MEMORY_ARRAYS_MAX 5
#define MEMORY_ARGS_MAX 12
#define MEMORY_OUTPUTS_MAX 4    /* the last is none */
#define MEMORY_SERIAL_MOST 8192 /* elements that take less time than other threads to wake */
#define MEMORY_ELEMENTS_MAX ((int64_t)1 << 40) /* of one array */

#define MEMORY_SCALAR 0.4 /* BabelStream's */
#define MEMORY_EPSILON 1e-5
#define MEMORY_U 0x1p-24   /* unit roundoff of fp32 */
#define MEMORY_U64 0x1p-53 /* and of fp64 */

/* Which keys of the declaration give the shape. */
enum memory_shape { MEMORY_SHAPE_ELEMENTS, MEMORY_SHAPE_ROWS, MEMORY_SHAPE_GATHER };

/* The declaration's section; what the shape does not use is 0. */
struct memory_parameters {
    int64_t kernel; /* index in the table */
    int64_t elements;
    int64_t rows, columns;
    int64_t vocabulary, dimension, lookups;
    uint32_t lanes; /* 0: measured */
};

/* Array sizes of a case, whatever the shape. */
struct memory_sizes {
    uint64_t elements; /* of the output */
    uint64_t rows, columns;
    uint64_t vocabulary;
};

enum memory_role {
    MEMORY_INPUT,
    MEMORY_OUTPUT, /* written whole in each iteration, never read */
    MEMORY_STATE,  /* read and written */
    MEMORY_SCRATCH
};
enum memory_type { MEMORY_STORAGE, MEMORY_F32, MEMORY_U32 };
enum memory_extent {
    MEMORY_EXTENT_ELEMENTS,
    MEMORY_EXTENT_COLUMNS,
    MEMORY_EXTENT_ROWS,
    MEMORY_EXTENT_TABLE, /* vocabulary * columns */
    MEMORY_EXTENT_GROUPS,
    MEMORY_EXTENT_ONE
};

/* What a kernel takes besides arrays; STEP: the six numbers of struct memory_adamw. */
enum memory_arg {
    MEMORY_ARG_END,
    MEMORY_ARG_ELEMENTS,
    MEMORY_ARG_ROWS,
    MEMORY_ARG_COLUMNS,
    MEMORY_ARG_SCALAR,
    MEMORY_ARG_EPSILON,
    MEMORY_ARG_STEP
};

/* Inputs and states are uniform in (low, high), never 0; low == high gives that constant. */
struct memory_array {
    const char *name;
    enum memory_role role;
    enum memory_type type;
    enum memory_extent extent;
    double low, high;
};

/* What the reference knows of one output element: a measured error is |got - value| / magnitude. */
struct memory_expected {
    double value, magnitude;
};

struct memory_instance;
struct memory_data;

/* Expected [begin, begin + count) of an output; whole rows where the kernel is `by_row`. */
typedef void memory_reference_fn(const struct memory_data *data, uint64_t begin, uint64_t count,
                                 struct memory_expected *ret);
/* An output's tolerance, in roundings of fp32 (or fp64). */
typedef double memory_roundings_fn(const struct memory_instance *instance);

/* An array that an iteration writes, and what it comes to. */
struct memory_output {
    size_t array;
    memory_reference_fn *reference; /* NULL: there is no more */
    memory_roundings_fn *roundings;
    double storage_roundings; /* how often a shorter storage type rounds besides */
    const char *reason;
};

struct memory_kernel {
    const char *name;  /* "triad", in declarations */
    const char *entry; /* the function in the text */
    /* A second launch, with one group, which takes the last two arrays, and makes the last one,
     * which the first launch does not take. NULL: none. */
    const char *finish;
    const char *files[4]; /* kernel texts, NULL-terminated */
    enum memory_shape shape;
    bool fp32_only;
    bool fp64; /* the text computes in f64 where that is stored */
    const char *bytes_formula;
    uint64_t (*bytes)(const struct memory_sizes *sizes, uint64_t element_bytes);
    const char *item_name;
    size_t array_count;
    struct memory_array arrays[MEMORY_ARRAYS_MAX];
    enum memory_arg args[MEMORY_ARGS_MAX]; /* behind the arrays, in the table's order */
    uint64_t (*units)(
        const struct memory_sizes *sizes); /* what groups share: rows, blocks, tiles */
    bool by_row;
    bool has_state; /* each iteration moves its outputs on: AdamW's */
    struct memory_output outputs[MEMORY_OUTPUTS_MAX]; /* of one, unless it has a state */
};

const struct memory_kernel *memory_kernel_at(size_t index);
/* Arguments of the next launch, and of its second one: at most MEMORY_ARGS_MAX; how many. */
size_t memory_args(const struct memory_instance *instance, struct kernel_arg *ret);
size_t memory_finish_args(const struct memory_instance *instance, struct kernel_arg *ret);
bool memory_kernel_has(const struct memory_kernel *kernel, enum precision precision);

/* The generated data of a case. */
struct memory_data {
    const struct memory_kernel *kernel;
    struct memory_sizes sizes;
    enum dtype storage;
    uint64_t seed;
    uint32_t changed_arrays; /* a bit each: these are made from `changed_seed` */
    uint64_t changed_seed;
    uint64_t step; /* iterations since the state was uploaded */
};

struct memory_instance {
    struct workload_instance base;
    struct memory_data data;
    struct buffer *arrays[MEMORY_ARRAYS_MAX];
    char *text; /* kernel texts joined */
    struct module *module;
    uint32_t lanes, groups;
    bool has_sum;               /* of a kernel with one result: `sum` is what it comes to */
    struct memory_expected sum; /* of all inputs as they were made */
    json_t *candidates; /* what was tried, with its best time; empty: nothing was measured */
};

/* ---- declare.c ---- */
extern const struct workload_form memory_form;
enum status memory_cost(const struct workload_case *work, struct workload_cost *ret,
                        struct error *err);
void memory_describe(const struct workload *workload, struct text *ret);
struct memory_sizes memory_sizes_of(const struct memory_parameters *parameters);
/* Elements of an array; `groups` is what the launch will have. */
uint64_t memory_array_elements(const struct memory_array *array, const struct memory_sizes *sizes,
                               uint64_t groups);
uint64_t memory_element_bytes(const struct memory_array *array, enum dtype storage);
/* Groups a launch never exceeds, so that buffers of partial results can be allocated. */
#define MEMORY_GROUPS_MAX 65536
/* Lanes of a group that a declaration may ask for. */
#define MEMORY_LANES_MAX 4096

/* ---- data.c ---- */
/* Element `index` of an input, as the storage type keeps it. */
double memory_value(const struct memory_data *data, size_t array, uint64_t index);
/* Element `index` of an input of indices, below `bound`. */
uint32_t memory_index(const struct memory_data *data, size_t array, uint64_t index, uint64_t bound);
/* Storage to double; `type` as the array's. */
void memory_decode(enum memory_type type, enum dtype storage, const void *bytes, uint64_t count,
                   double *ret);
/* Uploads elements [begin, begin + count) of an array as `data` makes them. */
enum status memory_upload(struct memory_instance *instance, const struct memory_data *data,
                          size_t array, uint64_t begin, uint64_t count, struct error *err);
enum status memory_upload_array(struct memory_instance *instance, size_t array, struct error *err);
/* storage_poison of elements of an array. */
enum status memory_poison(struct memory_instance *instance, size_t array, uint64_t begin,
                          uint64_t count, struct error *err);
/* workload_kind.resume: fills what an iteration writes whole with NaN (-1 in integers), so that
 * what is not written is detected. */
enum status memory_resume(struct workload_instance *base, struct error *err);
/* The type of an array's elements; i32 for indices. */
enum dtype memory_type_of(const struct memory_data *data, size_t array);

/* ---- checks.c, adamw.c ---- */
extern const struct workload_checks memory_checks;
/* Worst element of a comparison, over any number of tiles. */
struct memory_worst {
    double error, got, expected;
    uint64_t index;
    uint64_t compared;
};
void memory_compare(struct memory_worst *worst, uint64_t begin, uint64_t count, const double *got,
                    const struct memory_expected *expected);
/* Reports it; fails with place and values when the error is over the tolerance. */
void memory_conclude(const struct memory_instance *instance, const char *name,
                     const struct memory_worst *worst, double tolerance, const char *reason,
                     struct check_sink *sink);
/* One more AdamW step by itself, at places that the secret draws, or spread evenly: NULL. */
enum status memory_check_step(struct memory_instance *instance, const uint64_t *secret,
                              struct check_sink *sink, struct error *err);
/* Its tolerance of an output; negative: there is no such check. */
double memory_step_tolerance(const char *output);

/* ---- memory_bound.c ---- */
enum status memory_launch(struct memory_instance *instance, struct error *err);
/* Arguments of the AdamW step that the next launch makes, counted from 1. */
struct memory_adamw {
    float beta1, beta2, decay, step, root, epsilon;
};
struct memory_adamw memory_adamw_at(uint64_t step);

/* ---- tune.c: chooses lanes and groups, loads the module ---- */
enum status memory_tune(struct memory_instance *instance, struct error *err);

#endif

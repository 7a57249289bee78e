/* internal - what the files of this folder share: the modules, and how they are launched. */
#ifndef ASSAY_WORKLOADS_OPS_INTERNAL_H
#define ASSAY_WORKLOADS_OPS_INTERNAL_H

#include "workloads/kernel_args.h"
#include "workloads/ops/ops.h"

/*
 * All kernels but the GEMM go over rows or chunks. OPS_STACK is there after ops_stack,
 * OPS_STACK_BACKWARD after ops_stack_backward, OPS_CACHE after ops_cache, OPS_PACKED after
 * ops_packed, OPS_EXPERTS after ops_experts, OPS_EXPERTS_BACKWARD after ops_experts_backward.
 */
enum ops_module {
    OPS_ROWS,
    OPS_STACK,
    OPS_STACK_BACKWARD,
    OPS_CACHE,
    OPS_PACKED,
    OPS_EXPERTS,
    OPS_EXPERTS_BACKWARD,
    OPS_MODULES
};

struct ops_attention;

struct ops {
    struct device *device;
    struct gemms *gemms;
    struct ops_attention *attention;
    enum dtype storage; /* of all that kernels other than the GEMM read and write */
    uint64_t width;     /* of the model's rows; arrays begin at multiples of it */
    struct module *modules[OPS_MODULES];
    uint32_t lanes[OPS_MODULES];
    struct op_cache_shape cache; /* what OPS_CACHE is compiled for */
    uint64_t packed_rows;        /* what OPS_PACKED is compiled for */
    struct buffer *wide;         /* rows of its products in f32; NULL: they are */
    uint32_t groups_max;         /* of kernels that stride over rows or chunks */
    json_t *candidates;          /* what was tried, with its time */
    struct buffer *partial;      /* sums over slices of rows (op_norm.c); NULL: none yet */
    uint64_t partial_bytes;
    struct buffer *experts; /* the rows of each (op_experts.c); NULL: there are none */
};

/*
 * Compiles one module for so many lanes, and for the storage and width of `ops`; not OPS_CACHE and
 * OPS_PACKED, which have a shape.
 */
enum status ops_compile(const struct ops *ops, enum ops_module module, uint32_t lanes,
                        struct module **ret, struct error *err);

/* ops_choose.c: measures the candidates, or takes `choices`, and fills modules and lanes. */
enum status ops_choose(struct ops *ops, const json_t *choices, struct error *err);

/* op_attention.c: what is prepared of the vendor's attention. destroy takes NULL. */
enum status ops_attention_create(struct device *device, const struct workload_case *work,
                                 json_t *candidates, struct ops_attention **ret, struct error *err);
void ops_attention_destroy(struct ops_attention *attention);
void ops_attention_seal(struct ops_attention *attention);
/* {"implementation", "fused", "algorithm" ...} for ops_facts; NULL where no caller asked for
 * attention. New. */
json_t *ops_attention_facts(const struct ops *ops);
/* The artifact of our own text, where attention is done by it: 1 or 0. */
size_t ops_attention_artifact(const struct ops *ops, struct module_artifact *ret);
/* Its part of ops_choices; NULL: no library lists algorithms for it. New. */
json_t *ops_attention_choices(const struct ops *ops);

/*
 * op_norm.c: into how many slices the rows are cut whose `sums` columns are added up, with memory
 * for their sums in `partial`; and the sums of several slices, each of `sums * width`, added up to
 * `first` and, of the second, `second` of `out`.
 */
enum status ops_cut_rows(struct ops *ops, uint64_t rows, uint64_t sums, uint64_t *ret,
                         struct error *err);
enum status ops_add_slices(struct ops *ops, struct buffer *out, uint64_t first, uint64_t second,
                           uint64_t slices, uint64_t sums, uint64_t width, struct error *err);

/* Launches `kernel` of a module on min(wanted, groups_max) groups. */
enum status ops_launch(struct ops *ops, enum ops_module module, const char *kernel, uint64_t wanted,
                       const struct kernel_arg *args, size_t count, struct error *err);
#define OPS_LAUNCH(ops, module, kernel, wanted, args, err)                                         \
    ops_launch(ops, module, kernel, wanted, args, sizeof(args) / sizeof((args)[0]), err)

#endif

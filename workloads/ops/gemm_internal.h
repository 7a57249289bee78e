/* gemm_internal - what the files of the GEMM share. */
#ifndef ASSAY_WORKLOADS_OPS_GEMM_INTERNAL_H
#define ASSAY_WORKLOADS_OPS_GEMM_INTERNAL_H

#include "workloads/ops/gemm.h"
#include "workloads/ops/operations.h"

/* Tile of one group of the portable GEMM, as kernels/gemm.h wants it. */
struct ops_tile {
    uint32_t lanes;
    uint32_t reg_m, reg_n; /* rows; columns, or vectors of 64 bytes when lanes is 1 */
    uint32_t tile_m, tile_n, block_k;
};

/* The storage types that a compiled text is for. */
struct gemm_types {
    enum dtype a, b, c, bias;
};

struct gemm_variant {
    struct gemm_types types;
    struct module *module;
};

struct gemms {
    struct device *device;
    enum precision precision;
    enum implementation implementation;
    bool emulate, sealed;
    struct ops_tile tile; /* portable */
    struct gemm_variant *variants;
    size_t variant_count;
    struct operations *operations; /* vendor */
    size_t latest;                 /* of operations: the same shapes come in the same order */
    json_t *candidates;            /* what was tried, with its time */
};

/* ---- gemm_portable.c ---- */
enum status gemm_portable_run(struct gemms *gemms, const struct op_gemm *gemm, struct error *err);
/* UNSUPPORTED: not these types, or emulated and that is not allowed. */
enum status gemm_portable_check(const struct gemms *gemms, enum precision precision,
                                const struct gemm_types *types, struct error *err);
/* Compiles the text for these types and the current tile. */
enum status gemm_compile(struct device *device, const struct ops_tile *tile,
                         const struct gemm_types *types, struct module **ret, struct error *err);

/* The same for `files` joined, of which one has the kernel and `file` is the name in messages. */
enum status gemm_compile_texts(struct device *device, const struct ops_tile *tile,
                               const struct gemm_types *types, const char *const *files,
                               size_t file_count, const char *file, struct module **ret,
                               struct error *err);

/* ---- gemm_vendor.c ---- */
enum status gemm_vendor_run(struct gemms *gemms, const struct op_gemm *gemm, struct error *err);

/* ---- gemm_choose.c ---- */
/* Takes the choices, or measures the candidates, and fills tile and the first variant. */
enum status gemm_choose(struct gemms *gemms, const json_t *choices, struct error *err);

/* ---- gemm.c ---- */
/* An entry of facts' `gemms`, to which the shape is added; their `gemm`. New objects. */
json_t *gemm_info_json(const struct operation_info *info);
json_t *gemm_summary_json(enum implementation implementation, const json_t *list);
/* What a call computes in: A's type, and the case for f32. */
enum precision gemm_precision(const struct gemms *gemms, const struct op_gemm *gemm);
/* The bias's type with the 0 filled in. */
enum dtype gemm_bias_type(const struct op_gemm *gemm);

#endif

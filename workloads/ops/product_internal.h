/* product_internal - what the files of the product share. */
#ifndef ASSAY_WORKLOADS_OPS_PRODUCT_INTERNAL_H
#define ASSAY_WORKLOADS_OPS_PRODUCT_INTERNAL_H

#include "workloads/ops/product.h"

/* Tile of one group of the portable product, as kernels/gemm.h wants it. */
struct ops_tile {
    uint32_t lanes;
    uint32_t reg_m, reg_n; /* rows; columns, or vectors of 64 bytes when lanes is 1 */
    uint32_t tile_m, tile_n, block_k;
};

/* The storage types that a compiled text is for. */
struct product_types {
    enum dtype a, b, c, bias;
};

struct product_variant {
    struct product_types types;
    struct module *module;
};

struct product_entry {
    struct product_shape shape;
    struct product *product;
    uint32_t tried; /* algorithms measured for it, here or where the choices come from */
};

struct products {
    struct device *device;
    enum precision precision;
    enum arm arm;
    bool emulate, sealed;
    json_t *given;        /* the choices' part for products, where there is one */
    bool is_given;        /* there are choices: nothing is measured here */
    struct ops_tile tile; /* portable */
    struct product_variant *variants;
    size_t variant_count;
    struct product_entry *entries; /* vendor */
    size_t entry_count;
    size_t latest;      /* of entries: the same shapes come in the same order */
    json_t *candidates; /* what was tried, with its time */
};

/* ---- product_portable.c ---- */
enum status product_portable_run(struct products *products, const struct op_gemm *gemm,
                                 struct error *err);
/* UNSUPPORTED: not these types, or emulated and that is not allowed. */
enum status product_portable_check(const struct products *products, enum precision precision,
                                   const struct product_types *types, struct error *err);
/* Compiles the text for these types and the current tile. */
enum status product_compile(struct device *device, const struct ops_tile *tile,
                            const struct product_types *types, struct module **ret,
                            struct error *err);

/* The same for `files` joined, of which one has the kernel and `file` is the name in messages. */
enum status product_compile_texts(struct device *device, const struct ops_tile *tile,
                                  const struct product_types *types, const char *const *files,
                                  size_t file_count, const char *file, struct module **ret,
                                  struct error *err);

/* ---- product_vendor.c ---- */
enum status product_vendor_run(struct products *products, const struct op_gemm *gemm,
                               struct error *err);

/* ---- product_settle.c ---- */
/*
 * Gives the new entry its algorithm: that of the choices, or by measurement on the operands, whose
 * C has no meaning afterwards unless the product adds to it. UNSUPPORTED: the library does not
 * offer the one chosen.
 */
enum status product_settle(struct products *products, struct product_entry *entry,
                           const struct product_operands *operands, struct error *err);
/* {"stack", "algorithms": {SHAPE: {"algorithm", "tried"}}}; NULL: the library lists none. New. */
json_t *product_settled(const struct products *products);

/* ---- product_choose.c ---- */
/* Takes the choices, or measures the candidates, and fills tile and the first variant. */
enum status product_choose(struct products *products, const json_t *choices, struct error *err);

/* ---- product.c ---- */
/* An entry of facts' `products`, to which the shape is added; their `product`. New objects. */
json_t *product_info_json(const struct product_info *info);
json_t *product_summary_json(enum arm arm, const json_t *list);
/* What a call computes in: A's type, and the case for f32. */
enum precision product_precision(const struct products *products, const struct op_gemm *gemm);
/* The bias's type with the 0 filled in. */
enum dtype product_bias_type(const struct op_gemm *gemm);

#endif

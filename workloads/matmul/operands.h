/*
 * operands - what declarations of matrix products and of convolutions share: how operands are
 * drawn, in which type results are stored, and the cost of so many multiplications and additions.
 */
#ifndef ASSAY_WORKLOADS_MATMUL_OPERANDS_H
#define ASSAY_WORKLOADS_MATMUL_OPERANDS_H

#include "workloads/declaration.h"
#include "workloads/matmul/matmul.h"

#define MATMUL_CHOICES 2
extern const cyaml_strval_t matmul_distributions[MATMUL_CHOICES], matmul_results[MATMUL_CHOICES];

/* The fields `distribution` and `result`, int64_t in `type`, of a section. */
#define MATMUL_OPERAND_FIELDS(type)                                                                \
    CYAML_FIELD_ENUM("distribution", CYAML_FLAG_STRICT | CYAML_FLAG_OPTIONAL, type, distribution,  \
                     matmul_distributions, MATMUL_CHOICES),                                        \
        CYAML_FIELD_ENUM("result", CYAML_FLAG_STRICT | CYAML_FLAG_OPTIONAL, type, result,          \
                         matmul_results, MATMUL_CHOICES)

/* "normal, mean 0, variance 1"; static. */
const char *matmul_distribution_words(enum matmul_distribution distribution);

/* Sums over all items of a declaration. */
struct matmul_work {
    unsigned __int128 flops, memory_bytes;
    size_t items;
    const char *item_name, *flops_formula; /* static */
};

/* Fills `ret`, with the FLOPs as headline. INVALID: more than an int64_t holds. */
enum status matmul_work_cost(const struct workload_case *work, const struct matmul_work *sums,
                             struct workload_cost *ret, struct error *err);

#endif

/*
 * operands - what declarations of GEMMs and of convolutions share: how operands are
 * drawn, in which type results are stored, and the cost of so many multiplications and additions.
 */
#ifndef ASSAY_WORKLOADS_GEMM_OPERANDS_H
#define ASSAY_WORKLOADS_GEMM_OPERANDS_H

#include "workloads/declaration.h"
#include "workloads/gemm/gemm.h"

#define GEMM_CHOICES 2
extern const struct declaration_name gemm_distributions[GEMM_CHOICES], gemm_results[GEMM_CHOICES];

/* The fields `distribution` and `result`, int64_t in `type`, of a section. */
#define GEMM_INPUT_FIELDS(type)                                                                    \
    FIELD_ENUM("distribution", FIELD_OPTIONAL, type, distribution, gemm_distributions,             \
               GEMM_CHOICES),                                                                      \
        FIELD_ENUM("result", FIELD_OPTIONAL, type, result, gemm_results, GEMM_CHOICES)

/* "normal, mean 0, variance 1"; static. */
const char *gemm_distribution_words(enum gemm_distribution distribution);

/* Sums over all items of a declaration. */
struct gemm_work {
    unsigned __int128 flops, memory_bytes;
    size_t items;
    const char *item_name, *flops_formula; /* static */
};

/* Fills `ret`, with the FLOPs as headline. INVALID: more than an int64_t holds. */
enum status gemm_work_cost(const struct workload_case *work, const struct gemm_work *sums,
                           struct workload_cost *ret, struct error *err);

#endif

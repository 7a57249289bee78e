#include "workloads/gemm/operands.h"

const struct declaration_name gemm_distributions[GEMM_CHOICES] = {{"normal", GEMM_NORMAL},
                                                                  {"uniform", GEMM_UNIFORM}};
const struct declaration_name gemm_results[GEMM_CHOICES] = {{"storage", GEMM_RESULT_STORAGE},
                                                            {"sum", GEMM_RESULT_SUM}};

const char *gemm_distribution_words(enum gemm_distribution distribution)
{
    return distribution == GEMM_NORMAL ? "normal, mean 0, variance 1" : "uniform in (-1, 1)";
}

enum status gemm_work_cost(const struct workload_case *work, const struct gemm_work *sums,
                           struct workload_cost *ret, struct error *err)
{
    if (sums->flops > INT64_MAX || sums->memory_bytes > INT64_MAX)
        return error_set(err, STATUS_INVALID, "%s: an iteration is more than 2^63 operations",
                         work->workload->name);
    *ret = (struct workload_cost){
        .flops = (uint64_t)sums->flops,
        .flops_formula = sums->flops_formula,
        .items = sums->items,
        .item_name = sums->item_name,
        .device_memory_bytes = (uint64_t)sums->memory_bytes,
        .working_set_bytes = (uint64_t)sums->memory_bytes,
        .headline = "flops",
    };
    return STATUS_OK;
}

#include "workloads/matmul/operands.h"

const cyaml_strval_t matmul_distributions[MATMUL_CHOICES] = {{"normal", MATMUL_NORMAL},
                                                             {"uniform", MATMUL_UNIFORM}};
const cyaml_strval_t matmul_results[MATMUL_CHOICES] = {{"storage", MATMUL_RESULT_STORAGE},
                                                       {"sum", MATMUL_RESULT_SUM}};

const char *matmul_distribution_words(enum matmul_distribution distribution)
{
    return distribution == MATMUL_NORMAL ? "normal, mean 0, variance 1" : "uniform in (-1, 1)";
}

enum status matmul_work_cost(const struct workload_case *work, const struct matmul_work *sums,
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

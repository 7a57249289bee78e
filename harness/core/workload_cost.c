#include "harness/core/workload_cost.h"

bool workload_cost_no_memory(const void *cost)
{
    return ((const struct workload_cost *)cost)->is_claimed;
}

#define ROW(member, of_kind, with_flags, sql, ...)                                                 \
    MEMBER(struct workload_cost, of_kind, member, .flags = (with_flags), __VA_ARGS__),
static const struct member members[] = {WORKLOAD_COST_MAP(ROW, ROW, ROW)};
const struct type workload_cost_type =
    TYPE(struct workload_cost, "the cost of an iteration", members);

/*
 * workload_cost - what one iteration of a workload's case costs, each quantity described once: a
 * row is the member that a kind of workload fills in, that of the plan's record, what it is read
 * back as (results/store/stored.h), and that of `describe` and `show`.
 */
#ifndef ASSAY_CORE_WORKLOAD_COST_H
#define ASSAY_CORE_WORKLOAD_COST_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "harness/core/type.h"

/*
 * Rows as of results/store/stored.h: (member, kind, flags, sql, ...). Its place is COST_COLUMN of
 * the table `cell`, or COST_IN_RECORD: a member of the record alone, which older ones do not have.
 */
/* clang-format off */
#define WORKLOAD_COST_MAP(FIRST, NEXT, SHOW)                                                       \
    FIRST(flops, COUNT, MEMBER_NULLABLE, COST_COLUMN(flops),                                       \
          .help = "arithmetic operations of an iteration; null: not counted (memory-bound)")       \
    NEXT(flops_formula, TEXT, MEMBER_NULLABLE, COST_COLUMN(flops_formula),                         \
         .help = "6*N*T + 12*L*H*T^2 (Chowdhery et al. 2022, appendix B)")                         \
    NEXT(bytes, COUNT, MEMBER_NULLABLE, COST_COLUMN(bytes),                                        \
         .help = "moved to and from memory in an iteration, as published; null: not counted")      \
    NEXT(bytes_formula, TEXT, MEMBER_NULLABLE, COST_COLUMN(bytes_formula),                         \
         .help = "3*n*sizeof(T) (BabelStream triad)")                                              \
    NEXT(items, COUNT, MEMBER_NULLABLE, COST_COLUMN(items),                                        \
         .help = "units of work of an iteration, as item_name")                                    \
    NEXT(item_name, TEXT, MEMBER_NULLABLE, COST_COLUMN(item_name), .help = "token, element")       \
    NEXT(device_memory_bytes, COUNT, MEMBER_NULLABLE, COST_COLUMN(device_memory_bytes),            \
         .absent = workload_cost_no_memory, .help = "held while it is measured")                   \
    NEXT(working_set_bytes, COUNT, MEMBER_NULLABLE, COST_COLUMN(working_set_bytes),                \
         .absent = workload_cost_no_memory,                                                        \
         .help = "touched in an iteration; against the last-level cache")                          \
    SHOW(headline, TEXT, MEMBER_NULLABLE, COST_COLUMN(headline),                                   \
         .help = "which rate is shown first: bytes, flops or items; counted: what the work counts "       \
                 "itself; null: the time")
/* clang-format on */

#define COST_MEMBER(member, kind, ...) COST_MEMBER_##kind member;
#define COST_MEMBER_COUNT uint64_t
#define COST_MEMBER_TEXT const char * /* static, or owned by the workload; NULL: there is none */

/*
 * The series of what samples count themselves, where `headline` is "counted": of a number above 0
 * the upper 44 bits of its IEEE 754 double, so that sums of a million stay below 2^63; it is right
 * to 1 in 2^32.
 */
#define COUNTED_SERIES "counted"
#define COUNTED_BITS_CUT 20
static inline int64_t counted_to_sample(double value)
{
    int64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return (bits + (INT64_C(1) << (COUNTED_BITS_CUT - 1))) >> COUNTED_BITS_CUT;
}
static inline double counted_from_sample(int64_t sample)
{
    const uint64_t bits = (uint64_t)sample << COUNTED_BITS_CUT;
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Known without a device. */
struct workload_cost {
    WORKLOAD_COST_MAP(COST_MEMBER, COST_MEMBER, COST_MEMBER)
    bool is_claimed; /* by another program: not how much memory it takes */
};
extern const struct type workload_cost_type;

bool workload_cost_no_memory(const void *cost); /* whether it is claimed */

#endif

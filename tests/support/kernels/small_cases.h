/*
 * small_cases - every workload of the catalog, shrunk until an interpreter can run it: the same
 * kinds, kernels, precisions and implementations, at sizes that are odd where the kind allows it.
 */
#ifndef ASSAY_TESTS_SUPPORT_SMALL_CASES_H
#define ASSAY_TESTS_SUPPORT_SMALL_CASES_H

#include <stddef.h>

#include "workloads/workload.h"

/* One workload in one precision and implementation, at the smallest declared batch. */
struct small_case {
    struct workload *workload;
    enum precision precision;
    enum implementation implementation;
    int64_t batch;
};

struct small_cases {
    struct workload *workloads;
    size_t workload_count;
    struct small_case *items;
    size_t count;
};

/* Release with small_cases_finish, which takes a zeroed one too. */
enum status small_cases_init(struct small_cases *ret, struct error *err);
void small_cases_finish(struct small_cases *cases);

/* The case in the form that a kind's hooks take. */
struct workload_case small_case_work(const struct small_case *item);

#endif

/*
 * kernel_variants - every text that the workloads pass to a compiler, with its group size and
 * defines, without a device. Taken from the workloads' own `create` on a device that only records,
 * so that a new kernel or variant is in the list automatically.
 */
#ifndef ASSAY_TESTS_SUPPORT_KERNEL_VARIANTS_H
#define ASSAY_TESTS_SUPPORT_KERNEL_VARIANTS_H

#include <stddef.h>

#include <jansson.h>

#include "backends/backend.h"
#include "tests/support/kernels/small_cases.h"

struct kernel_variant {
    struct module_source source; /* strings owned by the list */
    struct digest digest;        /* of text, lanes and defines: each is listed once */
};

struct kernel_variants {
    struct kernel_variant *items;
    size_t count;
    size_t refused; /* cases that the workload refused (UNSUPPORTED) on this device */
};

/*
 * Variants of all small cases for each of these group sizes. NOT_FOUND when a text of
 * workloads/kernels/ is in none of them: then nothing would compile it.
 */
enum status kernel_variants_collect(const uint32_t *lanes, size_t lanes_count,
                                    struct kernel_variants *ret, struct error *err);
void kernel_variants_finish(struct kernel_variants *variants);

/*
 * What the workload chooses where only this group size is offered, as workload_case.choices takes
 * it: new JSON, or NULL when the kind has nothing to choose. UNSUPPORTED as the kind's init.
 */
enum status kernel_variants_choices(const struct small_case *item, uint32_t lanes, json_t **ret,
                                    struct error *err);

/* Kernels that cases launch: pairs of a text with its defines and group size, and a kernel's name.
 */
struct kernel_launches {
    struct digest *items;
    size_t count;
};

/*
 * Adds what this case launches until the end of its first iteration; `count` grows where one of
 * them is new. UNSUPPORTED as the kind's init.
 */
enum status kernel_launches_add(struct kernel_launches *launched, const struct small_case *item,
                                uint32_t lanes, struct error *err);
void kernel_launches_finish(struct kernel_launches *launched);

#endif

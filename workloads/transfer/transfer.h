/* transfer - what the files of this folder share: a copy, its two ends, and what lies there. */
#ifndef ASSAY_WORKLOADS_TRANSFER_H
#define ASSAY_WORKLOADS_TRANSFER_H

#include "workloads/workload.h"

#define TRANSFER_BYTES_MAX ((int64_t)1 << 30)
#define TRANSFER_LEGS_MAX 2

enum transfer_direction {
    TRANSFER_TO_DEVICE,
    TRANSFER_TO_HOST,
    TRANSFER_BOTH,
    TRANSFER_WITHIN,
};
enum transfer_memory { TRANSFER_PAGEABLE, TRANSFER_PINNED };

struct transfer_parameters {
    enum transfer_direction direction;
    enum transfer_memory memory; /* of the host's ends */
};

/* Where a copy begins or ends: a buffer, or memory of the host's. */
struct transfer_end {
    struct buffer *buffer; /* NULL: it is `host` */
    unsigned char *host;
};

struct transfer_leg {
    const char *output; /* "to_device", "to_host", "within_device" */
    struct transfer_end source, target;
};

struct transfer_instance {
    struct workload_instance base;
    enum transfer_direction direction;
    uint64_t bytes; /* of each leg */
    struct transfer_leg legs[TRANSFER_LEGS_MAX];
    size_t leg_count;
    struct buffer *buffers[TRANSFER_LEGS_MAX];
    struct host_memory *pinned[TRANSFER_LEGS_MAX];
    unsigned char *pageable[TRANSFER_LEGS_MAX];
    unsigned char *expected, *got; /* TRANSFER_TILE bytes each, for checks */
};

/* Compared and generated at once. */
#define TRANSFER_TILE ((uint64_t)4 << 20)

/* checks.c */
extern const struct workload_checks transfer_checks;
/* Gives every source the case's own bytes. */
enum status transfer_fill_sources(struct transfer_instance *instance, struct error *err);

#endif

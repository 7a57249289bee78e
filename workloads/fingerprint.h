/*
 * fingerprint - a fast 64-bit checksum of what a device wrote, to check whether two trials wrote
 * the same bits. It guards against faults, not against forgery: it runs at the speed of memory,
 * where SHA-256 would take longer than comparing with the reference.
 */
#ifndef ASSAY_WORKLOADS_FINGERPRINT_H
#define ASSAY_WORKLOADS_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

#include "backends/backend.h"
#include "harness/core/status.h"

#define FINGERPRINT_LANES 8

struct fingerprint {
    uint64_t lanes[FINGERPRINT_LANES];
    uint64_t bytes; /* added so far */
};

void fingerprint_init(struct fingerprint *fingerprint);

/* `bytes` of a buffer from `offset` on, downloaded. Errors are the device's. */
enum status fingerprint_add_buffer(struct fingerprint *fingerprint, struct buffer *buffer,
                                   uint64_t offset, uint64_t bytes, struct error *err);

/* New text of 16 hex digits, heap; NULL: no memory. */
char *fingerprint_text(const struct fingerprint *fingerprint);

#endif

/*
 * kfd - what the kernel's compute driver reports about an AMD device, in its topology in sysfs.
 *
 * The HIP runtime reports the second-level cache of one compute die and nothing of a cache beyond
 * it (4 MiB on MI300X, which has 256 MiB of Infinity Cache), and says "no" to ECC on every device.
 * Facts from kfd_topology.c and kfd_sysfs.h of Linux 6.12.
 */
#ifndef ASSAY_BACKENDS_HIP_KFD_H
#define ASSAY_BACKENDS_HIP_KFD_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/core/status.h"

struct hip_kfd {
    char path[96];        /* of the device's node, ".../nodes/2" */
    uint64_t cache_bytes; /* all caches of the last level, from the second on; 0: not reported */
    uint32_t cache_level; /* which that is */
    bool memory_ecc;      /* the driver watches the memory's ECC */
};

/* PCI domain, and bus, device and function as 16 bits, of "0000:c1:00.0". False: it is no address.
 */
bool hip_pci_parse(const char *pci, uint32_t *ret_domain, uint32_t *ret_location);

/*
 * The node at a PCI address; of several partitions there the first, whose caches are like the
 * others'. NOT_FOUND where the kernel shows none.
 */
enum status hip_kfd_find(const char *pci, struct hip_kfd *ret, struct error *err);

#endif

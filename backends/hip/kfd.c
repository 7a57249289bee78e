#include "backends/hip/kfd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/machine_root.h"

#define NODES "/sys/class/kfd/kfd/topology/nodes"
#define FILE_MAX 65536
#define CAPABILITY_MEMORY_ECC 0x00100000u /* HSA_CAP_MEM_EDCSUPPORTED */
#define PARTITION_BITS 0xf0000000u        /* of location_id */

bool hip_pci_parse(const char *pci, uint32_t *ret_domain, uint32_t *ret_location)
{
    unsigned domain, bus, device, function;

    if (sscanf(pci, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4 || bus > 0xff ||
        device > 0x1f || function > 7)
        return false;
    *ret_domain = domain;
    *ret_location = bus << 8 | device << 3 | function;
    return true;
}

/* A line "NAME VALUE" of a properties file; 0 where there is none. */
static uint64_t property(const char *text, const char *name)
{
    const size_t length = strlen(name);

    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) == 0 && line[length] == ' ')
            return strtoull(line + length, NULL, 10);
    }
    return 0;
}

/* Heap; NULL where it cannot be read. */
static char *properties_of(const char *folder)
{
    char path[160], *text = NULL;

    if (snprintf(path, sizeof(path), "%s/properties", folder) >= (int)sizeof(path) ||
        machine_read(path, FILE_MAX, &text, NULL) != STATUS_OK)
        return NULL;
    return text;
}

/* The first level, which also holds instructions and constants, is no memory's cache. */
static void add_cache(const char *folder, struct hip_kfd *kfd)
{
    char *text = properties_of(folder);
    const uint64_t level = text != NULL ? property(text, "level") : 0;
    const uint64_t kib = text != NULL ? property(text, "size") : 0;

    free(text);
    if (level < 2 || level > 9 || level < kfd->cache_level || kib > UINT32_MAX)
        return;
    if (level > kfd->cache_level)
        kfd->cache_bytes = 0;
    kfd->cache_level = (uint32_t)level;
    kfd->cache_bytes += kib << 10;
}

static enum status add_caches(struct hip_kfd *kfd, struct error *err)
{
    char folder[112], cache[144];
    char **names;

    snprintf(folder, sizeof(folder), "%s/caches", kfd->path);
    names = machine_list(folder, "");
    if (names == NULL)
        return error_no_memory(err);
    for (size_t i = 0; names[i] != NULL; i++)
        if (snprintf(cache, sizeof(cache), "%s/%s", folder, names[i]) < (int)sizeof(cache))
            add_cache(cache, kfd);
    machine_list_free(names);
    return STATUS_OK;
}

/* Whether the node is a device at this address; processors are nodes, too, without SIMD units. */
static bool is_device_at(const char *folder, uint32_t domain, uint32_t location, bool *ret_ecc)
{
    char *text = properties_of(folder);
    const bool found = text != NULL && property(text, "simd_count") > 0 &&
                       property(text, "domain") == domain &&
                       (property(text, "location_id") & ~(uint64_t)PARTITION_BITS) == location;

    if (found)
        *ret_ecc = (property(text, "capability") & CAPABILITY_MEMORY_ECC) != 0;
    free(text);
    return found;
}

enum status hip_kfd_find(const char *pci, struct hip_kfd *ret, struct error *err)
{
    struct hip_kfd kfd = {.path = ""};
    uint32_t domain, location;
    bool found = false;
    char **names;

    if (!hip_pci_parse(pci, &domain, &location))
        return error_set(err, STATUS_NOT_FOUND, "\"%s\" is no PCI address", pci);
    names = machine_list(NODES, "");
    if (names == NULL)
        return error_no_memory(err);
    for (size_t i = 0; names[i] != NULL && !found; i++)
        found =
            snprintf(kfd.path, sizeof(kfd.path), NODES "/%s", names[i]) < (int)sizeof(kfd.path) &&
            is_device_at(kfd.path, domain, location, &kfd.memory_ecc);
    machine_list_free(names);
    if (!found)
        return error_set(err, STATUS_NOT_FOUND, NODES " has no device at %s", pci);
    TRY(add_caches(&kfd, err));
    *ret = kfd;
    return STATUS_OK;
}

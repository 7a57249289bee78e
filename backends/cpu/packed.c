/*
 * packed - copies of constant matrices in the layout that oneDNN wants them in. The GEMMs of a
 * model come in several shapes over the same weights, which mostly want one layout: a copy is
 * shared by all that use it, and freed with the last. Copies lie one after the other in blocks of
 * huge pages, since most matrices are too small for pages of their own, and reading a model's
 * weights through small ones takes a quarter longer.
 */
#include "backends/cpu/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>

#define BLOCK (16 * CPU_HUGE_PAGE) /* what no copy has touched yet takes no memory */
#define ALIGN 4096

struct cpu_block {
    struct cpu_block *next;
    unsigned char *bytes;
    uint64_t size, used;
    size_t copies;
};

struct cpu_packed {
    struct cpu_packed *next;
    size_t users;
    const struct buffer *buffer;
    uint64_t offset;
    struct dnnl_primitive_desc *reorder; /* knows both layouts */
    struct cpu_block *block;
    unsigned char *bytes;
    uint64_t size;
};

static bool has_room(const struct cpu_block *block, uint64_t size)
{
    return block != NULL && block->size - block->used >= size;
}

/* A place for the copy in the latest block, or in a new one. */
static enum status place(struct cpu_device *device, struct cpu_packed *packed, struct error *err)
{
    const uint64_t size = (packed->size + ALIGN - 1) / ALIGN * ALIGN;
    struct cpu_block *block = device->blocks;

    if (!has_room(block, size)) {
        block = calloc(1, sizeof(*block));
        if (block == NULL)
            return error_no_memory(err);
        block->size =
            size > BLOCK ? (size + CPU_HUGE_PAGE - 1) / CPU_HUGE_PAGE * CPU_HUGE_PAGE : BLOCK;
        block->bytes = aligned_alloc(CPU_HUGE_PAGE, block->size);
        if (block->bytes == NULL) {
            free(block);
            return error_set(err, STATUS_DEVICE_MEMORY,
                             "no memory for packed weights of %" PRIu64 " bytes", packed->size);
        }
        madvise(block->bytes, block->size, MADV_HUGEPAGE); /* where not had, small pages do */
        block->next = device->blocks;
        device->blocks = block;
    }
    packed->block = block;
    packed->bytes = block->bytes + block->used;
    block->used += size;
    block->copies++;
    return STATUS_OK;
}

static void leave(struct cpu_device *device, struct cpu_block *block)
{
    struct cpu_block **at = &device->blocks;

    if (block == NULL || --block->copies > 0)
        return;
    while (*at != block)
        at = &(*at)->next;
    *at = block->next;
    free(block->bytes);
    free(block);
}

static bool is_of(const struct onednn *dnnl, const struct cpu_packed *packed,
                  const struct operand *matrix, const struct assay_dnnl_memory_desc *given,
                  const struct assay_dnnl_memory_desc *wanted)
{
    const struct dnnl_api *api = &dnnl->api;

    return packed->buffer == matrix->buffer && packed->offset == matrix->offset &&
           api->dnnl_memory_desc_equal(given, api->dnnl_primitive_desc_query_md(
                                                  packed->reorder, ASSAY_DNNL_query_src_md, 0)) &&
           api->dnnl_memory_desc_equal(wanted, api->dnnl_primitive_desc_query_md(
                                                   packed->reorder, ASSAY_DNNL_query_dst_md, 0));
}

static void destroy(struct cpu_device *device, struct cpu_packed *packed)
{
    if (packed->reorder != NULL)
        device->state->dnnl.api.dnnl_primitive_desc_destroy(packed->reorder);
    leave(device, packed->block);
    free(packed);
}

/* Copies; returns when that is done. */
static enum status copy(struct cpu_device *device, struct cpu_packed *packed,
                        const struct operand *matrix, enum dtype type,
                        const struct assay_dnnl_memory_desc *given,
                        const struct assay_dnnl_memory_desc *wanted, struct error *err)
{
    const struct onednn *dnnl = &device->state->dnnl;
    struct assay_dnnl_exec_arg args[] = {{ASSAY_DNNL_ARG_SRC, NULL}, {ASSAY_DNNL_ARG_DST, NULL}};
    struct dnnl_primitive *primitive = NULL;
    enum status status = cpu_dnnl_primitive(dnnl, packed->reorder, &primitive, err);

    if (status == STATUS_OK)
        status = cpu_dnnl_memory(dnnl, given, NULL, &args[0].memory, err);
    if (status == STATUS_OK)
        status = cpu_dnnl_point(dnnl, args[0].memory, matrix, type, err);
    if (status == STATUS_OK)
        status = cpu_dnnl_memory(dnnl, wanted, packed->bytes, &args[1].memory, err);
    if (status == STATUS_OK)
        status = cpu_dnnl_execute(device, primitive, 2, args, err);
    for (size_t i = 0; i < 2; i++)
        if (args[i].memory != NULL)
            dnnl->api.dnnl_memory_destroy(args[i].memory);
    if (primitive != NULL)
        dnnl->api.dnnl_primitive_destroy(primitive);
    return status;
}

enum status cpu_packed_use(struct cpu_device *device, const struct operand *matrix, enum dtype type,
                           const struct assay_dnnl_memory_desc *given,
                           const struct assay_dnnl_memory_desc *wanted, struct cpu_packed **ret,
                           struct error *err)
{
    const struct onednn *dnnl = &device->state->dnnl;
    struct cpu_packed *packed;
    enum status status = STATUS_OK;
    unsigned code;

    for (packed = device->packed; packed != NULL; packed = packed->next)
        if (is_of(dnnl, packed, matrix, given, wanted)) {
            packed->users++;
            *ret = packed;
            return STATUS_OK;
        }
    packed = calloc(1, sizeof(*packed));
    if (packed == NULL)
        return error_no_memory(err);
    *packed = (struct cpu_packed){
        .users = 1, .buffer = matrix->buffer, .offset = matrix->offset, .next = device->packed};
    code = dnnl->api.dnnl_reorder_primitive_desc_create(&packed->reorder, given, dnnl->engine,
                                                        wanted, dnnl->engine, NULL);
    if (code != ASSAY_DNNL_success || packed->reorder == NULL)
        status = onednn_fail(dnnl, "dnnl_reorder_primitive_desc_create", code, err);
    packed->size = dnnl->api.dnnl_memory_desc_get_size(wanted);
    if (status == STATUS_OK)
        status = place(device, packed, err);
    if (status == STATUS_OK)
        status = copy(device, packed, matrix, type, given, wanted, err);
    if (status != STATUS_OK) {
        destroy(device, packed);
        return status;
    }
    device->packed = packed;
    *ret = packed;
    return STATUS_OK;
}

void cpu_packed_release(struct cpu_device *device, struct cpu_packed *packed)
{
    struct cpu_packed **at = &device->packed;

    if (--packed->users > 0)
        return;
    while (*at != packed)
        at = &(*at)->next;
    *at = packed->next;
    destroy(device, packed);
}

void *cpu_packed_bytes(const struct cpu_packed *packed, uint64_t *ret_size)
{
    *ret_size = packed->size;
    return packed->bytes;
}

#include "workloads/ops/attention.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "workloads/kernel_text.h"
#include "workloads/ops/internal.h"

/* kernels/attention.h */
#define CAUSAL 1u
#define HAS_LENGTHS 2u
#define PAGED 4u
#define HEAD_MULTIPLE 16
#define HEAD_MOST 256

#define PANEL 32    /* queries of a tile: REG_V vectors of 64 bytes */
#define TILE_FROM 8 /* queries: fewer go one by one */

struct attention_text {
    struct device *device;
    struct module *module;
    uint64_t head_size;
};

enum status attention_text_create(struct device *device, enum dtype storage, uint64_t head_size,
                                  uint32_t lanes, struct attention_text **ret, struct error *err)
{
    static const char *const files[] = {"fold.h", "memory_exp.h", "vector.h", "attention.h"};
    const char *type = storage == DTYPE_F32    ? "F32"
                       : storage == DTYPE_BF16 ? "BF16"
                       : storage == DTYPE_F16  ? "F16"
                                               : NULL;
    char head[24];
    const struct module_define defines[] = {
        {"TYPE_A", type}, {"TYPE_B", type}, {"TYPE_C", type}, {"REG_V", "2"}, {"HEAD", head}};
    const struct module_source source = {.file = "workloads/kernels/attention.h",
                                         .lanes = lanes,
                                         .defines = defines,
                                         .define_count = sizeof(defines) / sizeof(defines[0])};
    AUTO_FREE struct attention_text *self = NULL;

    if (!type || head_size == 0 || head_size % HEAD_MULTIPLE != 0 || head_size > HEAD_MOST)
        return error_set(err, STATUS_UNSUPPORTED,
                         "our text has attention in f32, bf16 and f16 with heads of a multiple of "
                         "%d up to %d, not in %s with heads of %llu",
                         HEAD_MULTIPLE, HEAD_MOST, dtype_name(storage),
                         (unsigned long long)head_size);
    snprintf(head, sizeof(head), "%llu", (unsigned long long)head_size);
    self = calloc(1, sizeof(*self));
    if (!self)
        return error_no_memory(err);
    self->device = device;
    self->head_size = head_size;
    TRY(kernel_text_load(device, files, sizeof(files) / sizeof(files[0]), source, &self->module,
                         err));
    *ret = self;
    self = NULL;
    return STATUS_OK;
}

void attention_text_destroy(struct attention_text *self)
{
    if (!self)
        return;
    device_module_unload(self->device, self->module);
    free(self);
}

const struct module *attention_text_module(const struct attention_text *self)
{
    return self->module;
}

enum status attention_text_run(struct attention_text *self, const struct attention_shape *shape,
                               const struct attention_operands *at, struct error *err)
{
    const uint64_t keys = shape->keys ? shape->keys : shape->length;
    const double scale =
        shape->scale != 0.0f ? (double)shape->scale : 1.0 / sqrt((double)shape->head_size);
    const bool tile = self->module->lanes == 1 && shape->length >= TILE_FROM;
    const struct attention_strides *const strides[] = {&shape->q, &shape->k, &shape->v, &shape->o};
    /* Some stacks require a valid buffer even for one that is not read. */
    struct kernel_arg args[30] = {
        arg_buffer(at->q.buffer),
        arg_buffer(at->k.buffer),
        arg_buffer(at->v.buffer),
        arg_buffer(at->o.buffer),
        arg_buffer(shape->lengths ? at->lengths.buffer : at->q.buffer),
        arg_buffer(shape->page ? at->blocks.buffer : at->q.buffer),
        arg_u64(at->q.offset),
        arg_u64(at->k.offset),
        arg_u64(at->v.offset),
        arg_u64(at->o.offset),
        arg_u64(at->lengths.offset),
        arg_u64(at->blocks.offset),
    };
    struct kernel_launch launch = {
        .module = self->module,
        .kernel = tile ? "attention_tile" : "attention_row",
        .groups = {(uint32_t)(tile ? (shape->length + PANEL - 1) / PANEL : shape->length),
                   (uint32_t)shape->heads, (uint32_t)shape->batch},
        .args = args,
    };
    size_t count = 12;

    if (shape->training || shape->head_size != self->head_size)
        return error_set(err, STATUS_INVALID, "attention: not what the text was compiled for");
    for (int i = 0; i < 4; i++) {
        args[count++] = arg_u64(strides[i]->batch);
        args[count++] = arg_u64(strides[i]->head);
        args[count++] = arg_u64(strides[i]->row);
    }
    args[count++] = arg_u64(shape->length);
    args[count++] = arg_u64(keys);
    args[count++] = arg_u64(shape->page);
    args[count++] = arg_u64(shape->pages);
    args[count++] = arg_u32((shape->causal ? CAUSAL : 0) | (shape->lengths ? HAS_LENGTHS : 0) |
                            (shape->page ? PAGED : 0));
    args[count++] = arg_f32(scale);
    launch.arg_count = count;
    return device_kernel_launch(self->device, &launch, err);
}

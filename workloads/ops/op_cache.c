#include <math.h>
#include <stdio.h>

#include "harness/core/random.h"
#include "workloads/kernel_text.h"
#include "workloads/ops/internal.h"

/* kernels/cache.h */
#define PART_EXTRA 2
#define CHUNK 16 /* elements, the dialect's CHUNK_BEGIN and CHUNK_END */

#define MULTIPLE 16
#define MOST 256          /* of a head's elements, and of a block's positions */
#define SHARED_MOST 8     /* heads of queries in one group: their sums are in registers */
#define LANES_MOST 128    /* a position each */
#define GROUPS_PER_UNIT 8 /* enough to even out */

/* Heads of queries that a group does together. */
static uint64_t shared_of(uint64_t heads, uint64_t kv_heads)
{
    uint64_t ret = SHARED_MOST;

    while (heads / kv_heads % ret != 0)
        ret--;
    return ret;
}

static const char *type_name(enum dtype storage)
{
    return storage == DTYPE_F32 ? "F32" : storage == DTYPE_BF16 ? "BF16" : "F16";
}

static enum status compile(struct ops *ops, const struct op_cache_shape *shape, struct error *err)
{
    static const char *const files[] = {"fold.h", "memory_exp.h", "vector.h", "cache.h"};
    const char *type = type_name(ops->storage);
    char head[24], page[24], shared[24];
    const struct module_define defines[] = {{"TYPE_A", type},  {"TYPE_B", type}, {"TYPE_C", type},
                                            {"REG_V", "1"},    {"HEAD", head},   {"PAGE", page},
                                            {"SHARED", shared}};
    const struct module_source source = {.file = "workloads/kernels/cache.h",
                                         .lanes = ops->lanes[OPS_CACHE],
                                         .defines = defines,
                                         .define_count = sizeof(defines) / sizeof(defines[0])};

    snprintf(head, sizeof(head), "%llu", (unsigned long long)shape->size);
    snprintf(page, sizeof(page), "%llu", (unsigned long long)shape->page);
    snprintf(shared, sizeof(shared), "%llu",
             (unsigned long long)shared_of(shape->heads, shape->kv_heads));
    return kernel_text_load(ops->device, files, sizeof(files) / sizeof(files[0]), source,
                            &ops->modules[OPS_CACHE], err);
}

enum status ops_cache(struct ops *ops, const struct op_cache_shape *shape, struct error *err)
{
    const uint32_t lanes = ops->lanes[OPS_ROWS];

    if (shape->size == 0 || shape->page == 0 || shape->size % MULTIPLE != 0 ||
        shape->page % MULTIPLE != 0 || shape->size > MOST || shape->page > MOST)
        return error_set(err, STATUS_UNSUPPORTED,
                         "our text reads a cache in blocks of a multiple of %d up to %d positions, "
                         "of heads of as many elements, not blocks of %llu and heads of %llu",
                         MULTIPLE, MOST, (unsigned long long)shape->page,
                         (unsigned long long)shape->size);
    ops->lanes[OPS_CACHE] = lanes < LANES_MOST ? lanes : LANES_MOST;
    ops->cache = *shape;
    return compile(ops, shape, err);
}

float op_cache_number(uint64_t seed, uint64_t stream, uint64_t index)
{
    return ((float)(int32_t)(random_at(seed, stream, index) >> 57) - 64.0f) * 0.03125f;
}

enum status op_cache_fill(struct ops *ops, struct operand cache, uint64_t first, uint64_t count,
                          uint64_t seed, uint64_t stream, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(cache.buffer), arg_u64(cache.offset + first),       arg_u64(count),
        arg_u64(first),           arg_u64(random_keyed(seed, stream)),
    };

    return OPS_LAUNCH(ops, OPS_CACHE, "cache_fill", (count + CHUNK - 1) / CHUNK, args, err);
}

/* Groups among which the positions of a sequence and its heads of one group are divided. */
static uint64_t parts_of(const struct ops *ops, const struct op_cached *op)
{
    const uint64_t units = ops->device->info.compute_units ? ops->device->info.compute_units : 1;
    const uint64_t others = op->sequences * (op->heads / shared_of(op->heads, op->kv_heads));
    const uint64_t wanted = (units * GROUPS_PER_UNIT + others - 1) / others;
    const uint64_t step = ops->cache.page < LANES_MOST ? LANES_MOST : ops->cache.page;
    const uint64_t most = (op->position + step) / step; /* of position + 1, rounded up */

    return wanted < most ? wanted : most;
}

enum status op_cached_parts(struct ops *ops, const struct op_cached *op, struct buffer **ret,
                            struct error *err)
{
    return device_buffer_alloc(ops->device,
                               op->sequences * op->heads * parts_of(ops, op) *
                                   (ops->cache.size + PART_EXTRA) * sizeof(float),
                               BUFFER_READ_WRITE, ret, err);
}

static enum status keep(struct ops *ops, const struct op_cached *op, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(op->x.buffer), arg_buffer(op->blocks),    arg_buffer(op->cache.buffer),
        arg_u64(op->x.offset),    arg_u64(op->cache.offset), arg_u64(op->sequences),
        arg_u64(op->heads),       arg_u64(op->kv_heads),     arg_u64(op->pages),
        arg_u64(op->position),
    };

    return OPS_LAUNCH(ops, OPS_CACHE, "cache_keep", op->sequences * op->kv_heads, args, err);
}

static enum status attend(struct ops *ops, const struct op_cached *op, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(op->x.buffer),
        arg_buffer(op->cache.buffer),
        arg_buffer(op->blocks),
        arg_buffer(op->parts),
        arg_u64(op->x.offset),
        arg_u64(op->cache.offset),
        arg_u64(op->heads),
        arg_u64(op->kv_heads),
        arg_u64(op->pages),
        arg_u64(op->position + 1),
        arg_f32(1.0 / sqrt((double)ops->cache.size)),
    };
    const struct kernel_launch launch = {
        .module = ops->modules[OPS_CACHE],
        .kernel = "cache_attend",
        .groups = {(uint32_t)parts_of(ops, op),
                   (uint32_t)(op->heads / shared_of(op->heads, op->kv_heads)),
                   (uint32_t)op->sequences},
        .args = args,
        .arg_count = sizeof(args) / sizeof(args[0]),
    };

    return device_kernel_launch(ops->device, &launch, err);
}

static enum status merge(struct ops *ops, const struct op_cached *op, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(op->parts),      arg_buffer(op->values.buffer),
        arg_u64(op->values.offset), arg_u64(op->sequences * op->heads),
        arg_u64(parts_of(ops, op)),
    };

    return OPS_LAUNCH(ops, OPS_CACHE, "cache_merge", op->sequences * op->heads, args, err);
}

enum status op_cached_attention(struct ops *ops, const struct op_cached *op, struct error *err)
{
    if (op->heads != ops->cache.heads || op->kv_heads != ops->cache.kv_heads)
        return error_set(err, STATUS_INVALID,
                         "attention over a cache: not what the text was compiled for");
    TRY(keep(ops, op, err));
    TRY(attend(ops, op, err));
    return merge(ops, op, err);
}

#include "tests/bench/bare_onednn.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/clock.h"
#include "harness/core/random.h"

unsigned bare_operand_type(enum precision precision)
{
    return precision == PRECISION_FP32   ? ASSAY_DNNL_f32
           : precision == PRECISION_BF16 ? ASSAY_DNNL_bf16
                                         : ASSAY_DNNL_s8;
}

unsigned bare_sum_type(enum precision precision)
{
    return precision == PRECISION_INT8 ? ASSAY_DNNL_s32 : ASSAY_DNNL_f32;
}

enum status bare_argument(struct bare *bare, int index, int name,
                          const struct assay_dnnl_memory_desc *layout, void *bytes,
                          struct error *err)
{
    bare->args[index].arg = name;
    return cpu_dnnl_memory(bare->dnnl, layout, bytes, &bare->args[index].memory, err);
}

enum status bare_primitive(struct bare *bare, const struct dnnl_primitive_desc *desc,
                           struct error *err)
{
    return cpu_dnnl_primitive(bare->dnnl, desc, &bare->primitive, err);
}

void bare_finish(struct bare *bare)
{
    for (int i = 0; i < BARE_ARGS; i++)
        if (bare->args[i].memory != NULL)
            bare->dnnl->api.dnnl_memory_destroy(bare->args[i].memory);
    if (bare->primitive != NULL)
        bare->dnnl->api.dnnl_primitive_destroy(bare->primitive);
    free(bare->own);
}

double bare_block(const struct bare *bare, int count)
{
    const int64_t begin_ns = clock_monotonic_ns();

    for (int i = 0; i < count; i++)
        bare->dnnl->api.dnnl_primitive_execute(bare->primitive, bare->dnnl->stream, BARE_ARGS,
                                               bare->args);
    return (double)(clock_monotonic_ns() - begin_ns) / count;
}

int bare_block_count(double flops)
{
    return flops < BARE_BLOCK_FLOPS ? (int)(BARE_BLOCK_FLOPS / flops) : 1;
}

enum status bare_fill(struct device *device, enum dtype type, uint64_t count, struct buffer **ret,
                      struct error *err)
{
    const uint64_t bytes = count * dtype_bits(type) / 8;
    unsigned char *content = malloc(bytes);
    enum status status = content != NULL ? STATUS_OK : STATUS_NO_MEMORY;

    for (uint64_t i = 0; i < count && content != NULL; i++) {
        const uint64_t bits = random_at(3, bytes, i);
        const float value = (float)(bits >> 40) * 0x1p-24f - 0.5f;
        uint32_t word;

        memcpy(&word, &value, 4);
        if (type == DTYPE_F32)
            memcpy(content + i * 4, &word, 4);
        else if (type == DTYPE_BF16)
            memcpy(content + i * 2, (char *)&word + 2, 2);
        else
            memset(content + i * (dtype_bits(type) / 8), (int)(bits & 0xff), dtype_bits(type) / 8);
    }
    if (status != STATUS_OK)
        return error_set(err, status, "out of memory");
    status = device_buffer_alloc(device, bytes, BUFFER_READ_WRITE, ret, err);
    if (status == STATUS_OK)
        status = device_upload(*ret, 0, content, bytes, err);
    free(content);
    return status;
}

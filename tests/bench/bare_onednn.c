#include "tests/bench/bare_onednn.h"

#include <stdio.h>
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

/* Nanoseconds of one of `count` consecutive runs. */
static double bare_block(const struct bare *bare, int count)
{
    const int64_t begin_ns = clock_monotonic_ns();

    for (int i = 0; i < count; i++)
        bare->dnnl->api.dnnl_primitive_execute(bare->primitive, bare->dnnl->stream, BARE_ARGS,
                                               bare->args);
    return (double)(clock_monotonic_ns() - begin_ns) / count;
}

static enum status our_block(const struct bare_rival *rival, int count, double *ret_ns,
                             struct error *err)
{
    const int64_t begin_ns = clock_monotonic_ns();
    enum status status = STATUS_OK;

    for (int i = 0; i < count && status == STATUS_OK; i++)
        status = rival->run(rival->operation, err);
    *ret_ns = (double)(clock_monotonic_ns() - begin_ns) / count;
    return status;
}

enum status bare_take_turns(const struct bare *bare, const struct bare_rival *rival, long pairs,
                            struct error *err)
{
    const int count = rival->flops < BARE_BLOCK_FLOPS ? (int)(BARE_BLOCK_FLOPS / rival->flops) : 1;
    double ours = 0, direct;
    enum status status = our_block(rival, 1, &ours, err);

    bare_block(bare, 1);
    for (long p = 0; p < pairs && status == STATUS_OK; p++) {
        if (p % 2 == 0)
            status = our_block(rival, count, &ours, err);
        direct = bare_block(bare, count);
        if (p % 2 != 0)
            status = our_block(rival, count, &ours, err);
        if (status != STATUS_OK)
            return status;
        printf("%s %s %s %.0f %.0f\n", rival->name, precision_name(rival->precision),
               rival->algorithm, ours, direct);
        fflush(stdout);
    }
    return status;
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

int bare_main(const char *program,
              enum status (*run)(struct device *device, const void *arguments, struct error *err),
              const void *arguments)
{
    struct error err = ERROR_INIT;
    struct backend *backend = NULL;
    struct device *device = NULL;
    uint32_t index = 0;
    enum status status = backend_resolve("cpu:0", &backend, &index, &err);

    if (status == STATUS_OK)
        status = backend_device_open(backend, index, NULL, &device, &err);
    if (status == STATUS_OK)
        status = run(device, arguments, &err);
    device_close(device);
    if (status != STATUS_OK)
        fprintf(stderr, "%s: %s\n", program, err.message);
    return status == STATUS_OK ? 0 : 1;
}

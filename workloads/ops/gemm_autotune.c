/*
 * A GEMM's algorithm, by autotune.c: the GEMM's name in the choices, and where its launches write
 * while they are timed.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/ops/gemm_internal.h"
#include "workloads/ops/autotune.h"

#define SCRATCH_OFFSETS 64 /* elements; every alignment that a library asks for divides it */

/* A GEMM that is being autotuned. */
struct autotuning {
    struct gemms *gemms;
    struct gemm_entry *entry;
    struct gemm_operands operands;
    struct buffer *scratch;
};

static void append_matrix(struct text *text, char name, const struct gemm_matrix *matrix,
                          bool batch)
{
    text_append_format(text, " %c=%s%s/%" PRIu64, name, dtype_name(matrix->type),
                       matrix->transpose ? "'" : "", matrix->stride);
    if (batch)
        text_append_format(text, "+%" PRIu64 "+%" PRIu64, matrix->outer_stride,
                           matrix->inner_stride);
}

/* All of a shape as text: "bf16 64x64x64 a=bf16/64 b=bf16'/64 c=f32/64"; heap, NULL: no memory.
 */
static char *shape_key(const struct gemm_shape *shape)
{
    const bool batch = shape->outer * shape->inner > 1;
    struct text text;
    uint32_t alpha;

    memcpy(&alpha, &shape->alpha, sizeof(alpha));
    text_init(&text);
    text_append_format(&text, "%s %" PRIu64 "x%" PRIu64 "x%" PRIu64,
                       precision_name(shape->precision), shape->m, shape->n, shape->k);
    if (batch)
        text_append_format(&text, " x%" PRIu64 "x%" PRIu64, shape->outer, shape->inner);
    append_matrix(&text, 'a', &shape->a, batch);
    append_matrix(&text, 'b', &shape->b, batch);
    append_matrix(&text, 'c', &shape->c, batch);
    if (shape->bias)
        text_append_format(&text, " bias=%s", dtype_name(shape->bias_type));
    if (shape->add)
        text_append(&text, " add");
    if (shape->alpha != 1.0f)
        text_append_format(&text, " alpha=0x%08" PRIx32, alpha);
    return text_steal(&text);
}

static enum status describe(void *operation, struct gemm_info *ret, struct error *err)
{
    return device_gemm_describe(((struct autotuning *)operation)->entry->gemm, ret, err);
}

static enum status select_algorithm(void *operation, uint32_t index, struct error *err)
{
    return device_gemm_select(((struct autotuning *)operation)->entry->gemm, index, err);
}

static enum status run(void *operation, struct error *err)
{
    struct autotuning *autotuning = operation;

    return device_gemm_run(autotuning->entry->gemm, &autotuning->operands, err);
}

/*
 * Where a GEMM adds to its own result, the repeated launches go to an array of zeros instead,
 * as long, and as far from an even address.
 */
static enum status provide_scratch(void *operation, struct error *err)
{
    struct autotuning *autotuning = operation;
    const struct gemm_shape *shape = &autotuning->entry->shape;
    struct gemm_operand *c = &autotuning->operands.c, *d = &autotuning->operands.d;
    const uint64_t offset = c->offset % SCRATCH_OFFSETS;
    const uint64_t elements = offset + (shape->outer - 1) * shape->c.outer_stride +
                              (shape->inner - 1) * shape->c.inner_stride +
                              (shape->m - 1) * shape->c.stride + shape->n;
    const uint64_t bytes = elements * dtype_bits(shape->c.type) / 8;
    unsigned char *zeros;
    enum status status;

    if (!shape->add || d->buffer != c->buffer)
        return STATUS_OK;
    zeros = calloc(1, bytes);
    if (!zeros)
        return error_set(err, STATUS_NO_MEMORY, "GEMM: out of memory");
    status = device_buffer_alloc(autotuning->gemms->device, bytes, BUFFER_READ_WRITE,
                                 &autotuning->scratch, err);
    if (status == STATUS_OK)
        status = device_upload(autotuning->scratch, 0, zeros, bytes, err);
    free(zeros);
    if (status == STATUS_OK)
        *c = *d = (struct gemm_operand){autotuning->scratch, offset};
    return status;
}

enum status gemm_autotune(struct gemms *gemms, struct gemm_entry *entry,
                          const struct gemm_operands *operands, struct error *err)
{
    struct autotuning autotuning = {.gemms = gemms, .entry = entry, .operands = *operands};
    char *key = shape_key(&entry->shape);
    struct autotune autotune = {.device = gemms->device,
                                .subject = "GEMM",
                                .key = key,
                                .given = gemms->given,
                                .is_given = gemms->is_given,
                                .candidates = gemms->candidates,
                                .operation = &autotuning,
                                .describe = describe,
                                .select = select_algorithm,
                                .run = run,
                                .prepare = provide_scratch};
    enum status status;

    if (!key)
        return error_set(err, STATUS_NO_MEMORY, "GEMM: out of memory");
    status = autotune_algorithm(&autotune, err);
    entry->tried = autotune.tried;
    device_buffer_free(autotuning.scratch);
    free(key);
    return status;
}

json_t *gemm_autotuned(const struct gemms *gemms)
{
    json_t *algorithms = json_object();
    struct gemm_info info = {0};

    for (size_t i = 0; i < gemms->entry_count; i++) {
        const struct gemm_entry *entry = &gemms->entries[i];
        char *key = shape_key(&entry->shape);

        if (device_gemm_describe(entry->gemm, &info, NULL) == STATUS_OK)
            autotune_record(algorithms, key, &info, entry->tried);
        free(key);
    }
    return autotune_choices(algorithms, &info);
}

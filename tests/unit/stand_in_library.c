#include "stand_in_library.h"

#include <stdlib.h>
#include <string.h>

#include "gemm_fixture.h"
#include "workloads/data/element.h"

struct stand_in stand_in;

static void library_destroy(struct operation *gemm)
{
    stand_in.created--;
    free(gemm);
}

static double rounded(enum dtype type, double value)
{
    uint64_t cell;

    element_encode(type, value, &cell, 0);
    return element_decode(type, &cell, 0);
}

/* Rows of `count` operands out of `matrix`, as the library takes them. */
static double *taken(const struct gemm_matrix *matrix, struct buffer *buffer, uint64_t rows,
                     uint64_t count, bool across)
{
    unsigned char *bytes = malloc(buffer->bytes);
    double *ret = malloc(rows * count * sizeof(*ret));

    device_download(buffer, 0, bytes, buffer->bytes, NULL);
    for (uint64_t i = 0; i < rows * count; i++) {
        const uint64_t row = i / count, p = i % count;

        ret[i] = element_decode(matrix->type, bytes,
                                across ? p * matrix->stride + row : row * matrix->stride + p);
        if (stand_in.cheat == NARROW)
            ret[i] = rounded(stand_in.to, ret[i]);
    }
    free(bytes);
    return ret;
}

static double summed(const double *a, const double *b, uint64_t k)
{
    double sum = 0.0;

    for (uint64_t p = 0; p < k; p++) {
        if (stand_in.cheat != SKIPS || p < k / 2 || p >= k / 2 + 32)
            sum += a[p] * b[p];
        if (stand_in.cheat == NARROW_SUMS && p % 16 == 15)
            sum = rounded(DTYPE_F16, sum);
    }
    return stand_in.cheat == ZEROS ? 0.0 : sum;
}

static enum status library_run(struct operation *gemm, const union operands *operands,
                               struct error *err)
{
    const struct gemm_operands *at = &operands->gemm;
    const struct gemm_shape *s = &gemm->desc.gemm;
    double *a = taken(&s->a, at->a.buffer, s->m, s->k, false);
    double *b = taken(&s->b, at->b.buffer, s->n, s->k, !s->b.transpose);
    unsigned char *c = malloc(at->c.buffer->bytes);

    stand_in.run++;
    for (uint64_t i = 0; i < s->m; i++) {
        for (uint64_t j = 0; j < s->n; j++) {
            const bool middle = i == s->m - 1 && j / 2 == s->n / 4;
            const uint64_t from = stand_in.cheat == SWAPS && middle ? j ^ 1 : j;
            const double sum = summed(a + i * s->k, b + from * s->k, s->k);

            element_encode(s->c.type,
                           stand_in.cheat == NEGATES && i == s->m - 1 && j == s->n / 2 ? -sum : sum,
                           c, i * s->c.stride + j);
        }
    }
    device_upload(at->c.buffer, 0, c, at->c.buffer->bytes, err);
    free(a);
    free(b);
    free(c);
    return STATUS_OK;
}

static enum status library_describe(const struct operation *gemm, struct operation_info *ret,
                                    struct error *err)
{
    (void)gemm;
    (void)err;
    *ret = (struct operation_info){.library = "stand-in",
                                   .version = "1.2",
                                   .algorithm = "host",
                                   .workspace_bytes = 64,
                                   .support = stand_in.support,
                                   .method = "asked itself"};
    return STATUS_OK;
}

static enum status library_create(struct device *device, const struct operation_desc *desc,
                                  struct operation **ret, struct error *err)
{
    static const struct operation_ops ops = {.size = sizeof(struct operation),
                                             .destroy = library_destroy,
                                             .run = library_run,
                                             .describe = library_describe};

    if (stand_in.only_fnuz && desc->gemm.a.type == DTYPE_E4M3)
        return error_set(err, STATUS_UNSUPPORTED, "stand-in: no e4m3");
    stand_in.created++;
    return operation_make(&ops, device, desc, ret, err);
}

void stand_in_add(struct device *device)
{
    static const struct operation_implementation operations[] = {
        {OPERATION_GEMM, NULL, library_create},
        {0},
    };

    memset(&stand_in, 0, sizeof(stand_in));
    stand_in.support = SUPPORT_NATIVE;
    gemm_library_add(device)->operations = operations;
}

void stand_in_remove(struct device *device)
{
    gemm_library_remove(device);
    assert_int_equal(stand_in.created, 0);
}

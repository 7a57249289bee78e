/*
 * What the path through run_gemm adds to oneDNN's: the same GEMM on the same arrays,
 * through us and by bare calls of a matmul primitive with default attributes, in turns.
 *
 * usage: bench_gemm PAIRS LARGEST
 * For the square sizes 512 to LARGEST and the GEMMs of GPT-2 124M with 1024 tokens (those of at
 * most LARGEST^3 multiplications), in fp32, bf16 and int8, weights transposed as a linear layer's:
 * one line a pair: name, precision, algorithm, nanoseconds through us, and by bare calls.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/bare_onednn.h"
#include "tests/support/operations.h"

static const struct {
    const char *name;
    uint64_t m, n, k;
} sizes[] = {{"512", 512, 512, 512},         {"1024", 1024, 1024, 1024},
             {"2048", 2048, 2048, 2048},     {"4096", 4096, 4096, 4096},
             {"gpt2_qkv", 1024, 2304, 768},  {"gpt2_projection", 1024, 768, 768},
             {"gpt2_fc", 1024, 3072, 768},   {"gpt2_fc_projection", 1024, 768, 3072},
             {"gpt2_head", 1024, 50257, 768}};

static const enum precision precisions[] = {PRECISION_FP32, PRECISION_BF16, PRECISION_INT8};

static enum status bare_init(struct bare *bare, struct device *device,
                             const struct gemm_shape *shape, const struct gemm_operands *operands,
                             struct error *err)
{
    const struct onednn *dnnl = &cpu_device(device)->state->dnnl;
    const struct operand *const sources[] = {&operands->a, &operands->b, &operands->c};
    static const int names[] = {ASSAY_DNNL_ARG_SRC, ASSAY_DNNL_ARG_WEIGHTS, ASSAY_DNNL_ARG_DST};
    const unsigned in = bare_operand_type(shape->precision);
    const unsigned out = bare_sum_type(shape->precision);
    const int64_t m = (int64_t)shape->m, n = (int64_t)shape->n, k = (int64_t)shape->k;
    const int64_t dims[3][2] = {{m, k}, {k, n}, {m, n}};
    const int64_t strides[3][2] = {{k, 1}, {1, k}, {n, 1}};
    struct assay_dnnl_memory_desc *layouts[3] = {NULL};
    struct dnnl_primitive_desc *desc = NULL;
    enum status status = STATUS_OK;

    bare->dnnl = dnnl;
    for (int i = 0; i < 3 && status == STATUS_OK; i++) {
        status =
            onednn_layout_create(dnnl, 2, dims[i], i < 2 ? in : out, strides[i], &layouts[i], err);
        if (status == STATUS_OK)
            status = bare_argument(bare, i, names[i], layouts[i], bare_bytes(sources[i]), err);
    }
    if (status == STATUS_OK)
        status = onednn_matmul_create(dnnl, layouts[0], layouts[1], NULL, layouts[2], NULL, false,
                                      &desc, err);
    if (status == STATUS_OK) {
        status = bare_primitive(bare, desc, err);
        dnnl->api.dnnl_primitive_desc_destroy(desc);
    }
    for (int i = 0; i < 3; i++)
        onednn_layout_destroy(dnnl, layouts[i]);
    return status;
}

struct ours {
    struct operation *gemm;
    struct gemm_operands operands;
};

static enum status run(void *operation, struct error *err)
{
    const struct ours *ours = operation;

    return run_gemm(ours->gemm, &ours->operands, err);
}

static enum status compare(struct device *device, size_t size, enum precision precision, long pairs,
                           struct error *err)
{
    const enum dtype type = precision_dtype(precision);
    const enum dtype sum = precision == PRECISION_INT8 ? DTYPE_I32 : DTYPE_F32;
    const uint64_t m = sizes[size].m, n = sizes[size].n, k = sizes[size].k;
    const struct gemm_shape shape = {
        .precision = precision,
        .m = m,
        .n = n,
        .k = k,
        .a = {.type = type, .stride = k},
        .b = {.type = type, .stride = k, .transpose = true},
        .c = {.type = sum, .stride = n},
    };
    struct ours ours = {0};
    struct operation_info info;
    struct bare bare = {0};
    enum status status = create_gemm(device, &shape, &ours.gemm, err);

    if (status == STATUS_OK)
        status = bare_fill(device, type, m * k, &ours.operands.a.buffer, err);
    if (status == STATUS_OK)
        status = bare_fill(device, type, k * n, &ours.operands.b.buffer, err);
    if (status == STATUS_OK)
        status = bare_fill(device, sum, m * n, &ours.operands.c.buffer, err);
    if (status == STATUS_OK)
        status = bare_init(&bare, device, &shape, &ours.operands, err);
    if (status == STATUS_OK)
        status = operation_describe(ours.gemm, &info, err);
    if (status == STATUS_OK) {
        const struct bare_rival rival = {.name = sizes[size].name,
                                         .algorithm = info.algorithm,
                                         .precision = precision,
                                         .flops = 2.0 * (double)m * (double)n * (double)k,
                                         .run = run,
                                         .operation = &ours};

        status = bare_take_turns(&bare, &rival, pairs, err);
    }
    if (bare.dnnl != NULL)
        bare_finish(&bare);
    operation_destroy(ours.gemm);
    device_buffer_free(ours.operands.a.buffer);
    device_buffer_free(ours.operands.b.buffer);
    device_buffer_free(ours.operands.c.buffer);
    return status;
}

struct arguments {
    long pairs;
    double largest;
};

static enum status compare_all(struct device *device, const void *context, struct error *err)
{
    const struct arguments *arguments = context;
    const double most = arguments->largest * arguments->largest * arguments->largest;
    enum status status = STATUS_OK;

    for (size_t p = 0; p < sizeof(precisions) / sizeof(precisions[0]); p++)
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && status == STATUS_OK; i++)
            if ((double)sizes[i].m * (double)sizes[i].n * (double)sizes[i].k <= most)
                status = compare(device, i, precisions[p], arguments->pairs, err);
    return status;
}

int main(int argc, char **argv)
{
    const struct arguments arguments = {.pairs = argc == 3 ? atol(argv[1]) : 0,
                                        .largest = argc == 3 ? atof(argv[2]) : 0};

    if (arguments.pairs <= 0 || arguments.largest < 512) {
        fprintf(stderr, "usage: bench_gemm PAIRS LARGEST\n");
        return 2;
    }
    return bare_main("bench_gemm", compare_all, &arguments);
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/data/element.h"
#include "workloads/gemm/operands.h"

struct section {
    struct gemm_size *shapes;
    uint32_t shapes_count;
    int64_t distribution, weights, result;
};

struct gemm_declaration {
    struct workload_declaration common;
    struct section gemm;
};

static const struct declaration_name weights[] = {{"transposed", GEMM_TRANSPOSED},
                                                  {"plain", GEMM_PLAIN}};

static const struct declaration_field shape_fields[] = {
    FIELD_INT("m", FIELD_REQUIRED, struct gemm_size, m),
    FIELD_INT("n", FIELD_REQUIRED, struct gemm_size, n),
    FIELD_INT("k", FIELD_REQUIRED, struct gemm_size, k),
    FIELD_END,
};

static const struct declaration_schema shape_entry = {ENTRY_GROUP(struct gemm_size, shape_fields)};

static const struct declaration_field section_fields[] = {
    FIELD_LIST("shapes", FIELD_REQUIRED, struct section, shapes, &shape_entry, 1, GEMM_SHAPES_MAX),
    FIELD_ENUM("weights", FIELD_OPTIONAL, struct section, weights, weights, 2),
    GEMM_INPUT_FIELDS(struct section),
    FIELD_END,
};

static const struct declaration_field fields[] = {
    WORKLOAD_DECLARATION_FIELDS(struct gemm_declaration),
    FIELD_GROUP("gemm", FIELD_REQUIRED, struct gemm_declaration, gemm, section_fields),
    FIELD_END,
};

static const struct declaration_schema schema = {ENTRY_GROUP(struct gemm_declaration, fields)};

static enum status check_shape(const struct declaration *declaration, uint32_t index,
                               const struct gemm_size *shape, struct error *err)
{
    const struct {
        const char *key;
        int64_t value;
    } sides[] = {{"m", shape->m}, {"n", shape->n}, {"k", shape->k}};

    for (size_t i = 0; i < 3; i++) {
        char path[48];

        snprintf(path, sizeof(path), "gemm.shapes[%u].%s", index, sides[i].key);
        TRY(workload_declaration_check_count(declaration, path, sides[i].value, GEMM_SIDE_MAX,
                                             "elements", err));
        if (sides[i].value > GEMM_ELEMENTS_MAX / sides[(i + 1) % 3].value)
            return declaration_error(declaration, path, err,
                                     "`%s` times `%s` is more than %lld elements; write a smaller "
                                     "shape",
                                     sides[i].key, sides[(i + 1) % 3].key,
                                     (long long)GEMM_ELEMENTS_MAX);
    }
    return STATUS_OK;
}

static enum status check_common(const struct declaration *declaration,
                                const struct workload_declaration *common,
                                const struct section *section, struct error *err)
{
    for (uint32_t i = 0; i < common->precisions_count; i++) {
        char path[32];

        snprintf(path, sizeof(path), "precisions[%u]", i);
        if (!element_is_known(precision_dtype(common->precisions[i])))
            return declaration_error(declaration, path, err,
                                     "gemm does not run in %s, whose operands need scales that "
                                     "it does not declare; leave it out",
                                     precision_name(common->precisions[i]));
    }
    for (uint32_t i = 0; i < common->batches_count; i++) {
        char path[32];

        snprintf(path, sizeof(path), "batches[%u]", i);
        for (uint32_t s = 0; s < section->shapes_count; s++)
            if (common->batches[i] > GEMM_SIDE_MAX / section->shapes[s].m)
                return declaration_error(declaration, path, err,
                                         "a batch multiplies the rows of A: %lld times m = %lld is "
                                         "more than %lld rows; write a smaller one",
                                         (long long)common->batches[i],
                                         (long long)section->shapes[s].m, (long long)GEMM_SIDE_MAX);
    }
    return STATUS_OK;
}

static enum status check_declaration(const struct declaration *declaration,
                                     struct workload *workload, struct error *err)
{
    const struct gemm_declaration *data = declaration->data;
    const struct section *section = &data->gemm;
    const size_t shapes_size = section->shapes_count * sizeof(*section->shapes);
    struct gemm_parameters *parameters;

    for (uint32_t i = 0; i < section->shapes_count; i++)
        TRY(check_shape(declaration, i, &section->shapes[i], err));
    TRY(check_common(declaration, &data->common, section, err));
    parameters = calloc(1, sizeof(*parameters) + shapes_size);
    if (!parameters)
        return error_no_memory(err);
    memcpy(parameters->shapes, section->shapes, shapes_size);
    parameters->shape_count = section->shapes_count;
    parameters->distribution = (enum gemm_distribution)section->distribution;
    parameters->weights = (enum gemm_weights)section->weights;
    parameters->result = (enum gemm_result)section->result;
    workload->parameters = parameters;
    return STATUS_OK;
}

const struct workload_form gemm_form = {&schema, check_declaration};

enum dtype gemm_result_type(const struct gemm_parameters *parameters, enum precision precision)
{
    if (parameters->result == GEMM_RESULT_SUM)
        return gemm_sum_type(precision);
    switch (precision) {
    case PRECISION_BF16:
    case PRECISION_FP8_E4M3:
    case PRECISION_FP8_E5M2:
        return DTYPE_BF16;
    case PRECISION_FP16:
        return DTYPE_F16;
    default:
        return gemm_sum_type(precision);
    }
}

enum status gemm_cost(const struct workload_case *work, struct workload_cost *ret,
                      struct error *err)
{
    const struct gemm_parameters *parameters = work->workload->parameters;
    const uint64_t in = dtype_bits(precision_dtype(work->precision)) / 8;
    const uint64_t out = dtype_bits(gemm_result_type(parameters, work->precision)) / 8;
    struct gemm_work sums = {.items = parameters->shape_count,
                             .item_name = "gemm",
                             .flops_formula =
                                 "2*m*n*k a GEMM, one multiplication and one addition a term"};

    for (size_t i = 0; i < parameters->shape_count; i++) {
        const struct gemm_size *shape = &parameters->shapes[i];
        const unsigned __int128 m = (unsigned __int128)shape->m * (uint64_t)work->batch;
        const unsigned __int128 n = (uint64_t)shape->n, k = (uint64_t)shape->k;

        sums.flops += 2 * m * n * k;
        sums.memory_bytes += (m * k + n * k) * in + m * n * out;
    }
    return gemm_work_cost(work, &sums, ret, err);
}

void gemm_describe(const struct workload *workload, struct text *ret)
{
    const struct gemm_parameters *parameters = workload->parameters;

    for (size_t i = 0; i < parameters->shape_count; i++)
        text_append_format(ret, "GEMM: (%lld, %lld) = (%lld, %lld) times (%lld, %lld)\n",
                           (long long)parameters->shapes[i].m, (long long)parameters->shapes[i].n,
                           (long long)parameters->shapes[i].m, (long long)parameters->shapes[i].k,
                           (long long)parameters->shapes[i].k, (long long)parameters->shapes[i].n);
    text_append_format(
        ret, "operands: %s, weights %s\n", gemm_distribution_words(parameters->distribution),
        parameters->weights == GEMM_PLAIN ? "as (k, n)" : "as (n, k), as a linear layer's are");
    text_append_format(ret, "result: %s\n",
                       parameters->result == GEMM_RESULT_SUM
                           ? "in the type that sums are kept in"
                           : "in the operands' type; bf16 for fp8, i32 for int8");
}

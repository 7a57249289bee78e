/* Products by another program: operands in a file, C against the fp64 reference. */
#include <stdio.h>
#include <stdlib.h>

#include "harness/core/random.h"
#include "workloads/gemm/check.h"
#include "workloads/gemm/element.h"
#include "workloads/gemm/gemm.h"

uint64_t gemm_seed_of(const struct workload_case *work, const uint64_t *secret)
{
    return secret ? work->seed ^ random_at(*secret, 0, 0) : work->seed;
}

static struct tensor operand(const struct gemm_instance *instance, char which, size_t layer,
                             uint64_t rows, uint64_t columns)
{
    char name[TENSOR_NAME_MAX];

    if (instance->layer_count == 1)
        snprintf(name, sizeof(name), "%c", which);
    else
        snprintf(name, sizeof(name), "%c[%zu]", which, layer);
    return tensor_new(name, instance->operand_type, 2, (const uint64_t[]){rows, columns});
}

void gemm_fill(const struct tensor *tensor, const struct gemm_data *data, enum gemm_input input)
{
    const uint64_t count = tensor_elements(tensor);
    const double scale = gemm_scale(data);

#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < count; i++)
        element_encode(tensor->type, gemm_exact(data, input, i) / scale, tensor->data, i);
}

static enum status write_layers(const struct gemm_instance *instance, bool inputs_only,
                                uint64_t seed, const char *path, struct error *err)
{
    const size_t count = instance->layer_count, all = inputs_only ? count : 2 * count;
    struct tensor *items = calloc(all, sizeof(*items));
    struct tensors file = {0};
    enum status status;

    if (!items)
        return error_set(err, STATUS_NO_MEMORY, "gemm: out of memory");
    for (size_t i = 0; i < count; i++) {
        const struct gemm_layer *layer = &instance->layers[i];
        const bool plain = instance->parameters->weights == GEMM_PLAIN;

        items[i] = operand(instance, 'a', i, layer->m, layer->k);
        if (!inputs_only)
            items[count + i] =
                operand(instance, 'b', i, plain ? layer->k : layer->n, plain ? layer->n : layer->k);
    }
    status = tensors_create(path, items, all, &file, err);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        struct gemm_data data = gemm_data_of(instance, i);

        if (!inputs_only)
            gemm_fill(&file.items[count + i], &data, GEMM_B);
        data.seed = seed;
        gemm_fill(&file.items[i], &data, GEMM_A);
    }
    tensors_close(&file);
    free(items);
    return status;
}

static enum status write_file(const struct workload_case *work, bool inputs_only,
                              const uint64_t *secret, const char *path, struct error *err)
{
    struct gemm_instance instance = {.base.work = *work};
    enum status status = gemm_lay_out(&instance, err);

    if (status == STATUS_OK)
        status = write_layers(&instance, inputs_only, gemm_seed_of(work, secret), path, err);
    free(instance.layers);
    return status;
}

static enum status judge(const struct workload_case *work, const uint64_t *secret,
                         const struct tensors *outputs, int64_t iteration, bool whole,
                         workload_check_fn *report, void *context, struct error *err)
{
    struct gemm_instance instance = {.base.work = *work};
    enum status status = gemm_lay_out(&instance, err);

    (void)iteration;
    (void)whole; /* the reference costs the same whatever the size */
    for (size_t i = 0; i < instance.layer_count && status == STATUS_OK; i++) {
        struct gemm_check check = gemm_check_of(&instance.base, i);
        const struct tensor *c = NULL;

        status = tensors_find(outputs, check.output, check.result_type, check.result_type, 2,
                              (const uint64_t[]){check.m, check.n}, &c, err);
        if (status != STATUS_OK)
            break;
        check.c_host = c->data;
        check.a.seed = gemm_seed_of(work, secret);
        status = gemm_check_one(&check, report, context, err);
    }
    free(instance.layers);
    return status;
}

const struct workload_handover gemm_handover = {write_file, judge};

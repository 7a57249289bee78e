/* Convolutions by another program: input and weights in a file, the output against fp64. */
#include <stdio.h>
#include <stdlib.h>

#include "workloads/convolution/convolution.h"

static struct tensor tensor_of(const struct convolution_instance *instance, const char *what,
                               size_t index, enum dtype type, const uint64_t shape[4])
{
    char name[TENSOR_NAME_MAX];

    if (instance->layer_count == 1)
        snprintf(name, sizeof(name), "%s", what);
    else
        snprintf(name, sizeof(name), "%s[%zu]", what, index);
    return tensor_new(name, type, 4, shape);
}

static enum status write_layers(const struct convolution_instance *instance, bool inputs_only,
                                uint64_t seed, const char *path, struct error *err)
{
    const size_t count = instance->layer_count, all = inputs_only ? count : 2 * count;
    struct tensor *items = calloc(all, sizeof(*items));
    struct tensors file = {0};
    enum status status;

    if (!items)
        return error_set(err, STATUS_NO_MEMORY, "convolution: out of memory");
    for (size_t i = 0; i < count; i++) {
        const struct convolution_shape *shape = &instance->layers[i].shape;

        items[i] = tensor_of(
            instance, "input", i, shape->type,
            (const uint64_t[]){shape->batch, shape->height, shape->width, shape->channels});
        if (!inputs_only)
            items[count + i] =
                tensor_of(instance, "weights", i, shape->type,
                          (const uint64_t[]){shape->filters, shape->kernel_height,
                                             shape->kernel_width, shape->channels / shape->groups});
    }
    status = tensors_create(path, items, all, &file, err);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        struct gemm_data data = convolution_data_of(instance, i);

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
    struct convolution_instance instance = {.base.work = *work};
    enum status status = convolution_lay_out(&instance, err);

    if (status == STATUS_OK)
        status = write_layers(&instance, inputs_only, gemm_seed_of(work, secret), path, err);
    free(instance.layers);
    return status;
}

static enum status judge(const struct workload_case *work, const uint64_t *secret,
                         const struct tensors *outputs, int64_t iteration, bool whole,
                         workload_check_fn *report, void *context, struct error *err)
{
    struct convolution_instance instance = {.base.work = *work};
    enum status status = convolution_lay_out(&instance, err);

    (void)iteration;
    (void)whole; /* the reference costs the same whatever the size */
    for (size_t i = 0; i < instance.layer_count && status == STATUS_OK; i++) {
        const struct convolution_layer *layer = &instance.layers[i];
        const uint64_t shape[] = {layer->shape.batch, layer->out_height, layer->out_width,
                                  layer->shape.filters};
        struct gemm_check check = convolution_check_of(&instance.base, i);
        const struct tensor *output = NULL;

        status = tensors_find(outputs, check.output, check.result_type, check.result_type, 4, shape,
                              &output, err);
        if (status != STATUS_OK)
            break;
        check.c_host = output->data;
        check.a.seed = gemm_seed_of(work, secret);
        status = gemm_check_one(&check, report, context, err);
    }
    free(instance.layers);
    return status;
}

const struct workload_handover convolution_handover = {write_file, judge};

/* The questions of gemm/check.c, asked of a convolution as the product that it is. */
#include "workloads/convolution/convolution.h"
#include "workloads/gemm/check.h"

/* One pixel's patch, group by group, as each group's weights lie. */
static void patch(const struct gemm_check *check, uint64_t row, double *ret)
{
    const struct convolution_layer *layer = check->context;
    const struct convolution_shape *shape = &layer->shape;
    const uint64_t out_x = row % layer->out_width,
                   out_y = row / layer->out_width % layer->out_height;
    const uint64_t image = row / layer->out_width / layer->out_height;
    const uint64_t channels = shape->channels / shape->groups;

    for (uint64_t g = 0; g < shape->groups; g++)
        for (uint64_t r = 0; r < shape->kernel_height; r++)
            for (uint64_t s = 0; s < shape->kernel_width; s++) {
                /* Beyond the upper edge these wrap round, to more than any height. */
                const uint64_t y = out_y * shape->stride_y + r * shape->dilation_y - shape->pad_y;
                const uint64_t x = out_x * shape->stride_x + s * shape->dilation_x - shape->pad_x;
                const bool inside = y < shape->height && x < shape->width;
                const uint64_t at =
                    ((image * shape->height + y) * shape->width + x) * shape->channels +
                    g * channels;

                for (uint64_t c = 0; c < channels; c++)
                    *ret++ = inside ? gemm_exact(&check->data, GEMM_A, at + c) : 0.0;
            }
}

static void filter(const struct gemm_check *check, uint64_t column, double *ret)
{
    for (uint64_t p = 0; p < check->k; p++)
        ret[p] = gemm_exact(&check->data, GEMM_B, column * check->k + p);
}

static struct gemm_check check_of(const struct workload_instance *base, size_t index)
{
    const struct convolution_instance *instance = (const struct convolution_instance *)base;
    const struct convolution_layer *layer = &instance->layers[index];
    const struct convolution_shape *shape = &layer->shape;

    return (struct gemm_check){
        .subject = "convolution",
        .precision = shape->precision,
        .implementation = instance->base.work.implementation,
        .data = convolution_data_of(instance, index),
        .m = shape->batch * layer->out_height * layer->out_width,
        .n = shape->filters,
        .k = shape->kernel_height * shape->kernel_width * (shape->channels / shape->groups),
        .groups = shape->groups,
        .c = layer->output,
        .result_type = instance->result_type,
        .output = layer->name,
        .output_exact = layer->name_exact,
        .row = patch,
        .column = filter,
        .context = layer,
    };
}

enum status convolution_verify(struct workload_instance *base, workload_check_fn *report,
                               void *context, struct error *err)
{
    struct convolution_instance *instance = (struct convolution_instance *)base;
    const struct gemm_outputs outputs = {.base = base,
                                         .count = instance->layer_count,
                                         .unchecked = &instance->unchecked,
                                         .iterate = convolution_iterate,
                                         .check_of = check_of};

    return gemm_outputs_verify(&outputs, report, context, err);
}

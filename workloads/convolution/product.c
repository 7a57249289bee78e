/* A convolution as the product that it is, for the questions of gemm/compare.c and for ONNX. */
#include <stdio.h>

#include "workloads/convolution/convolution.h"
#include "workloads/onnx/write.h"

/* Where the patch of an output's pixel begins in the input. */
struct place {
    uint64_t image, y, x; /* beyond the upper edge these wrap round, to more than any height */
};

static struct place place_of(const struct convolution_shape *shape, uint64_t row)
{
    const uint64_t height = convolution_out_height(shape), width = convolution_out_width(shape);
    const uint64_t y = row / width % height, x = row % width;

    return (struct place){.image = row / width / height,
                          .y = y * shape->stride_y - shape->pad_y,
                          .x = x * shape->stride_x - shape->pad_x};
}

static struct convolution_shape shape_of(const struct product_check *check)
{
    return convolution_shape_at(check->products, check->a.shape);
}

/* One pixel's patch, group by group, as each group's weights lie. */
void convolution_row(const struct product_check *check, uint64_t row, double *ret)
{
    const struct convolution_shape shape = shape_of(check);
    const struct place place = place_of(&shape, row);
    const uint64_t channels = shape.channels / shape.groups;

    for (uint64_t g = 0; g < shape.groups; g++)
        for (uint64_t r = 0; r < shape.kernel_height; r++)
            for (uint64_t s = 0; s < shape.kernel_width; s++) {
                const uint64_t y = place.y + r * shape.dilation_y;
                const uint64_t x = place.x + s * shape.dilation_x;
                const bool inside = y < shape.height && x < shape.width;
                const uint64_t at =
                    ((place.image * shape.height + y) * shape.width + x) * shape.channels +
                    g * channels;

                for (uint64_t c = 0; c < channels; c++)
                    *ret++ = inside ? gemm_exact(&check->a, GEMM_A, at + c) : 0.0;
            }
}

/* All of each row between the patch's edges, with what a dilation leaves out. */
enum status convolution_upload_row(const struct product_check *check, uint64_t row,
                                   struct error *err)
{
    const struct convolution_shape shape = shape_of(check);
    const struct place place = place_of(&shape, row);
    const int64_t reach = (int64_t)((shape.kernel_width - 1) * shape.dilation_x + 1);
    const int64_t width = (int64_t)shape.width, left = (int64_t)place.x, right = left + reach;
    const int64_t begin = left > 0 ? left : 0, end = right < width ? right : width;

    for (uint64_t r = 0; r < shape.kernel_height; r++) {
        const uint64_t y = place.y + r * shape.dilation_y;

        if (y < shape.height && begin < end)
            TRY(gemm_upload(&check->a, GEMM_A,
                            ((place.image * shape.height + y) * shape.width + (uint64_t)begin) *
                                shape.channels,
                            (uint64_t)(end - begin) * shape.channels,
                            check->product->arrays[GEMM_A].buffer, err));
    }
    return STATUS_OK;
}

void convolution_column(const struct product_check *check, uint64_t column, double *ret)
{
    const uint64_t k = check->product->k;

    for (uint64_t p = 0; p < k; p++)
        ret[p] = gemm_exact(&check->b, GEMM_B, column * k + p);
}

/* ONNX has channels before rows: arrays are turned on the way in and out, weights once. */
void convolution_put_nodes(const struct products *products, size_t index, struct text *graph)
{
    const struct convolution_shape shape = convolution_shape_at(products, index);
    const struct gemm_array *arrays = products->items[index].arrays;
    const int64_t y = (int64_t)shape.pad_y, x = (int64_t)shape.pad_x;
    const struct onnx_setting first[] = {
        {"perm", ONNX_LIST, .ints = (const int64_t[]){0, 3, 1, 2}, .count = 4}, {0}};
    const struct onnx_setting last[] = {
        {"perm", ONNX_LIST, .ints = (const int64_t[]){0, 2, 3, 1}, .count = 4}, {0}};
    const struct onnx_setting window[] = {
        {"strides", ONNX_LIST,
         .ints = (const int64_t[]){(int64_t)shape.stride_y, (int64_t)shape.stride_x}, .count = 2},
        {"dilations", ONNX_LIST,
         .ints = (const int64_t[]){(int64_t)shape.dilation_y, (int64_t)shape.dilation_x},
         .count = 2},
        {"pads", ONNX_LIST, .ints = (const int64_t[]){y, x, y, x}, .count = 4},
        {"group", ONNX_WHOLE, .i = (int64_t)shape.groups},
        {0}};
    const char *const output = arrays[GEMM_C].tensor.name;
    char names[3][TENSOR_NAME_MAX + 16], operands[sizeof(names)];

    snprintf(names[0], sizeof(names[0]), "%s.images", output);
    snprintf(names[1], sizeof(names[1]), "%s.filters", output);
    snprintf(names[2], sizeof(names[2]), "%s.planes", output);
    snprintf(operands, sizeof(operands), "%s %s", names[0], names[1]);
    onnx_put_node(graph, "Transpose", arrays[GEMM_A].tensor.name, names[0], first);
    onnx_put_node(graph, "Transpose", arrays[GEMM_B].tensor.name, names[1], first);
    onnx_put_node(graph, "Conv", operands, names[2], window);
    onnx_put_node(graph, "Transpose", names[2], output, last);
}

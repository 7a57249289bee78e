/*
 * Convolutions from our own text: kernels/convolution.h puts patches in place of A in front of
 * kernels/gemm.h. Its tile is the one that a small GEMM was fastest with.
 */
#include <stdlib.h>

#include "workloads/convolution/convolution.h"
#include "workloads/kernel_args.h"
#include "workloads/ops/gemm_internal.h"

struct convolution_portable {
    struct device *device;
    struct gemms *gemms; /* for its choice of a tile */
    struct module *module;
};

enum status convolution_portable_create(struct device *device, const struct workload_case *work,
                                        enum dtype type, enum dtype result_type,
                                        struct convolution_portable **ret, struct error *err)
{
    static const char *const files[] = {"convolution.h", "vector.h", "gemm.h"};
    const struct gemm_types types = {type, type, result_type,
                                     type == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32};
    struct convolution_portable *portable = calloc(1, sizeof(*portable));

    if (!portable)
        return error_no_memory(err);
    *ret = portable; /* the caller destroys it, also on failure */
    portable->device = device;
    TRY(gemms_create(device, work, &portable->gemms, err));
    TRY(gemm_portable_check(portable->gemms, work->precision, &types, err));
    return gemm_compile_texts(device, &portable->gemms->tile, &types, files, 3,
                              "workloads/kernels/convolution.h", &portable->module, err);
}

void convolution_portable_destroy(struct convolution_portable *portable)
{
    if (!portable)
        return;
    if (portable->module)
        device_module_unload(portable->device, portable->module);
    gemms_destroy(portable->gemms);
    free(portable);
}

static uint32_t tiles(uint64_t count, uint32_t tile)
{
    return (uint32_t)((count + tile - 1) / tile);
}

enum status convolution_portable_run(struct convolution_portable *portable,
                                     const struct convolution_shape *shape,
                                     const struct gemm_array arrays[GEMM_ARRAYS], struct error *err)
{
    const struct ops_tile *tile = &portable->gemms->tile;
    const uint64_t channels = shape->channels / shape->groups;
    const uint64_t out_height = convolution_out_height(shape),
                   out_width = convolution_out_width(shape);
    const uint64_t m = shape->batch * out_height * out_width;
    const uint64_t n = shape->filters / shape->groups;
    /* What lies side by side in the input: a row of the filter, or only one of its taps. */
    const bool gaps = shape->groups > 1 || shape->dilation_x > 1;
    const struct kernel_arg args[] = {
        arg_buffer(arrays[GEMM_A].buffer),
        arg_buffer(arrays[GEMM_B].buffer),
        arg_buffer(arrays[GEMM_C].buffer),
        arg_u64(m),
        arg_u64(n),
        arg_u64(shape->kernel_height * shape->kernel_width * channels),
        arg_u32(channels),
        arg_u32(shape->channels),
        arg_u32(shape->height),
        arg_u32(shape->width),
        arg_u32(out_height),
        arg_u32(out_width),
        arg_u32(gaps ? channels : channels * shape->kernel_width),
        arg_u32(gaps ? shape->kernel_width : 1),
        arg_u32(shape->stride_y),
        arg_u32(shape->stride_x),
        arg_u32(shape->pad_y),
        arg_u32(shape->pad_x),
        arg_u32(shape->dilation_y),
        arg_u32(shape->dilation_x),
    };
    const struct kernel_launch launch = {
        .module = portable->module,
        .kernel = "gemm",
        .groups = {tiles(n, tile->tile_n), tiles(m, tile->tile_m), (uint32_t)shape->groups},
        .args = args,
        .arg_count = sizeof(args) / sizeof(args[0]),
    };

    return device_kernel_launch(portable->device, &launch, err);
}

size_t convolution_portable_artifacts(struct convolution_portable *portable,
                                      struct module_artifact *ret, size_t capacity)
{
    if (capacity == 0 ||
        device_module_describe(portable->device, portable->module, ret, NULL) != STATUS_OK)
        return 0;
    return 1;
}

json_t *convolution_portable_choices(const struct convolution_portable *portable)
{
    return gemms_choices(portable->gemms);
}

void convolution_portable_facts(const struct convolution_portable *portable, json_t *facts)
{
    static const char *const kept[] = {"candidates", "gemm_tile"};
    json_t *all = gemms_facts(portable->gemms);

    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        json_object_set(facts, kept[i], json_object_get(all, kept[i]));
    json_decref(all);
}

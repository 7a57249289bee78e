#include "backends/opencl/words.h"

#include "backends/opencl/api.h"

void opencl_append_fp_config(struct text *text, uint64_t bits)
{
    static const struct {
        uint64_t bit;
        const char *name;
    } names[] = {
        {OCL_FP_DENORM, "denormals"},
        {OCL_FP_INF_NAN, "inf_nan"},
        {OCL_FP_ROUND_TO_NEAREST, "round_nearest"},
        {OCL_FP_ROUND_TO_ZERO, "round_zero"},
        {OCL_FP_ROUND_TO_INF, "round_inf"},
        {OCL_FP_FMA, "fma"},
        {OCL_FP_SOFT_FLOAT, "software"},
        {OCL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT, "exact_divide_sqrt"},
    };
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (bits & names[i].bit)
            text_append_format(text, "%s%s", text->length > 0 ? " " : "", names[i].name);
    if (text->length == 0)
        text_append(text, "none");
}

void opencl_append_dot_inputs(struct text *text, uint64_t bits)
{
    if (bits & OCL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT_PACKED_KHR)
        text_append(text, "4x8bit_packed");
    if (bits & OCL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT_KHR)
        text_append_format(text, "%s4x8bit", text->length > 0 ? " " : "");
    if (text->length == 0)
        text_append(text, "none");
}

void opencl_append_dot_acceleration(struct text *text, const uint32_t accelerated[OPENCL_DOT_KINDS])
{
    static const char *const names[OPENCL_DOT_KINDS] = {
        "signed", "unsigned", "mixed", "signed_saturate", "unsigned_saturate", "mixed_saturate"};

    for (size_t i = 0; i < OPENCL_DOT_KINDS; i++)
        if (accelerated[i] != 0)
            text_append_format(text, "%s%s", text->length > 0 ? " " : "", names[i]);
    if (text->length == 0)
        text_append(text, "none");
}

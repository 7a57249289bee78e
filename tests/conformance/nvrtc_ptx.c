#include "tests/conformance/nvrtc_ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What must not be in the PTX of a text that is compiled as the backend does. */
static const struct {
    const char *instruction, *why;
} forbidden[] = {
    {"\tmul.f32 ", "a product that may be contracted"},
    {"\tadd.f32 ", "a sum that may be contracted"},
    {"\tsub.f32 ", "a difference that may be contracted"},
    {"\tmul.ftz.f32 ", "a product that may be contracted and flushes denormals"},
    {"\tadd.ftz.f32 ", "a sum that may be contracted and flushes denormals"},
    {"\tmul.rn.ftz.f32 ", "a product that flushes denormals"},
    {"\tadd.rn.ftz.f32 ", "a sum that flushes denormals"},
    {"\tfma.rn.ftz.f32 ", "an fma that flushes denormals"},
    {"\tdiv.approx", "an approximate division"},
    {"\tdiv.full", "an approximate division"},
    {"\tsqrt.approx", "an approximate root"},
    {"\tmul.f64 ", "a product that may be contracted"},
    {"\tadd.f64 ", "a sum that may be contracted"},
};
#define FORBIDDEN (sizeof(forbidden) / sizeof(forbidden[0]))

static char *compile(const struct nvrtc *nvrtc, const struct module_source *source, bool flush,
                     const char *(*edit)(char *program), struct error *err)
{
    struct gpu_binary binary = {0};
    char *program = gpu_program(source), *ptx = NULL;
    const char *extra = edit != NULL && program != NULL ? edit(program) : NULL;

    if (program != NULL && nvrtc_compile(nvrtc, source->file, program, -nvrtc->archs[0], flush,
                                         extra, &binary, err) == STATUS_OK) {
        ptx = (char *)binary.bytes;
        binary.bytes = NULL;
    }
    gpu_binary_finish(&binary);
    free(program);
    return ptx;
}

static const char *first_fault(const char *ptx, const char **ret_why)
{
    for (size_t i = 0; i < FORBIDDEN; i++)
        if (strstr(ptx, forbidden[i].instruction) != NULL) {
            *ret_why = forbidden[i].why;
            return forbidden[i].instruction + 1;
        }
    return NULL;
}

size_t nvrtc_ptx_check(const struct nvrtc *nvrtc, const struct module_source *source)
{
    struct error err = ERROR_INIT;
    char *ptx = compile(nvrtc, source, false, NULL, &err);
    const char *why = NULL, *fault;

    if (ptx == NULL) {
        printf("FAIL PTX of %s: %s\n", source->file, err.message);
        return 1;
    }
    fault = first_fault(ptx, &why);
    if (fault != NULL)
        printf("FAIL PTX of %s: %s: %s\n", source->file, fault, why);
    free(ptx);
    return fault != NULL;
}

#define HEAD                                                                                       \
    "KERNEL(probe, GLOBAL f32 *RESTRICT a, const GLOBAL f32 *RESTRICT b, const GLOBAL f32 "        \
    "*RESTRICT c)\n{\n    a[LANE] = "

static const char *fast_division(char *program)
{
    (void)program;
    return "--prec-div=false";
}

static const char *contraction(char *program)
{
    (void)program;
    return "--fmad=true";
}

/* `wanted` must be in the PTX (or, prefixed with '!', must not); `faulty`: a fault is found. */
static size_t expect(const struct nvrtc *nvrtc, const char *expression, bool flush,
                     const char *(*edit)(char *), const char *wanted, bool faulty)
{
    char text[512];
    const struct module_source source = {.file = "probe.h", .text = text, .lanes = 64};
    struct error err = ERROR_INIT;
    const char *why = NULL;
    char *ptx;
    bool good;

    snprintf(text, sizeof(text), "%s%s;\n}\n", HEAD, expression);
    ptx = compile(nvrtc, &source, flush, edit, &err);
    if (ptx == NULL && edit != NULL && strstr(err.message, "NVRTC_ERROR_INVALID_OPTION")) {
        printf(
            "PTX of \"%s\" with other options: not looked at, since this NVRTC refuses an option "
            "given twice\n",
            expression);
        return 0;
    }
    if (ptx == NULL) {
        printf("FAIL PTX of \"%s\": %s\n", expression, err.message);
        return 1;
    }
    good = (wanted[0] == '!' ? strstr(ptx, wanted + 1) == NULL : strstr(ptx, wanted) != NULL) &&
           (first_fault(ptx, &why) != NULL) == faulty;
    if (!good)
        printf("FAIL PTX of \"%s\"%s: expected %s and %s fault in:\n%s\n", expression,
               edit != NULL ? " with other options" : "", wanted, faulty ? "a" : "no", ptx);
    free(ptx);
    return !good;
}

size_t nvrtc_ptx_check_itself(const struct nvrtc *nvrtc)
{
    static const char sum[] = "b[LANE] * c[LANE] + a[LANE]";
    static const char fused[] = "F_FMA(b[LANE], c[LANE], a[LANE])";
    static const char ratio[] = "b[LANE] / c[LANE]";

    return expect(nvrtc, sum, false, NULL, "!fma.", false) +
           expect(nvrtc, sum, false, NULL, "\tmul.rn.f32 ", false) +
           expect(nvrtc, fused, false, NULL, "\tfma.rn.f32 ", false) +
           expect(nvrtc, ratio, false, NULL, "\tdiv.rn.f32 ", false) +
           expect(nvrtc, "F_SQRT(b[LANE])", false, NULL, "\tsqrt.rn.f32 ", false) +
           expect(nvrtc, sum, false, contraction, "fma.rn.f32", false) +
           expect(nvrtc, ratio, false, fast_division, "div.full", true) +
           expect(nvrtc, sum, true, NULL, "mul.rn.ftz.f32", true);
}

/*
 * Our declarations of oneDNN against the real header: constants, structures and function types, of
 * version 2 or 3, whichever is installed. Without a header (Debian package libdnnl-dev) this is
 * skipped.
 */
#include <stdio.h>

#if __has_include(<oneapi/dnnl/dnnl.h>)

#include <oneapi/dnnl/dnnl.h>

#include "backends/cpu/dnnl_api.h"

static int failures, checks;

static void check(int good, const char *what, const char *name)
{
    checks++;
    if (!good) {
        failures++;
        printf("FAIL %s of %s differs from the header\n", what, name);
    }
}

#define SAME_FUNCTION(symbol, result, parameters)                                                  \
    __builtin_types_compatible_p(__typeof__(&symbol), result(*) parameters)

int main(void)
{
#define VALUE(name, value)                                                                         \
    check((long long)dnnl_##name == (long long)ASSAY_DNNL_##name, "the value", "dnnl_" #name);
    ASSAY_DNNL_CONSTANT_MAP(VALUE)
#if DNNL_VERSION_MAJOR >= 3
    ASSAY_DNNL3_CONSTANT_MAP(VALUE)
#if DNNL_VERSION_MAJOR > 3 || DNNL_VERSION_MINOR >= 7
    ASSAY_DNNL37_CONSTANT_MAP(VALUE)
#endif
    check((int)dnnl_eltwise_linear == (int)ASSAY_DNNL_eltwise_linear_3, "the value",
          "dnnl_eltwise_linear");
    check(DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE == ASSAY_DNNL_POST_OP_3, "the value",
          "DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE");
#else
    check((int)dnnl_eltwise_linear == (int)ASSAY_DNNL_eltwise_linear_2, "the value",
          "dnnl_eltwise_linear");
    check(DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE == ASSAY_DNNL_POST_OP_2, "the value",
          "DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE");
    check(sizeof(dnnl_memory_desc_t) <= sizeof(struct assay_dnnl_memory_desc), "the size",
          "dnnl_memory_desc_t");
    check(sizeof(dnnl_matmul_desc_t) <= sizeof(struct assay_dnnl_matmul_desc), "the size",
          "dnnl_matmul_desc_t");
    check(sizeof(dnnl_convolution_desc_t) <= sizeof(struct assay_dnnl_convolution_desc), "the size",
          "dnnl_convolution_desc_t");
#endif
#undef VALUE
#define VALUE(name, value) check(DNNL_ARG_##name == ASSAY_DNNL_ARG_##name, "the value", #name);
    ASSAY_DNNL_ARG_MAP(VALUE)
#undef VALUE
    check(DNNL_MAX_NDIMS == ASSAY_DNNL_NDIMS, "the value", "DNNL_MAX_NDIMS");
    check((int)dnnl_data_type_undef == 0, "the value", "dnnl_data_type_undef");
    check(sizeof(enum assay_dnnl_constant) == sizeof(dnnl_data_type_t), "the size", "an enum");

    check(sizeof(struct assay_dnnl_version) == sizeof(dnnl_version_t), "the size",
          "dnnl_version_t");
#define FIELD(ours, theirs, field)                                                                 \
    check(offsetof(struct ours, field) == offsetof(theirs, field), "the offset",                   \
          #theirs "." #field);
    FIELD(assay_dnnl_version, dnnl_version_t, major)
    FIELD(assay_dnnl_version, dnnl_version_t, minor)
    FIELD(assay_dnnl_version, dnnl_version_t, patch)
    FIELD(assay_dnnl_version, dnnl_version_t, hash)
    FIELD(assay_dnnl_version, dnnl_version_t, cpu_runtime)
    check(sizeof(struct assay_dnnl_exec_arg) == sizeof(dnnl_exec_arg_t), "the size",
          "dnnl_exec_arg_t");
    FIELD(assay_dnnl_exec_arg, dnnl_exec_arg_t, arg)
    FIELD(assay_dnnl_exec_arg, dnnl_exec_arg_t, memory)
#undef FIELD

    /* Enumerations of the header are unsigned int to the C compiler. */
#if DNNL_VERSION_MAJOR >= 3
#define MD struct dnnl_memory_desc
#else
#define MD dnnl_memory_desc_t
#endif
#define FUNCTION(result, name, parameters)                                                         \
    check(SAME_FUNCTION(name, result, parameters), "the type", #name);
    ASSAY_DNNL_COMMON_MAP(FUNCTION, MD, dnnl_version_t, dnnl_exec_arg_t)
    ASSAY_DNNL_OPTIONAL_MAP(FUNCTION)
    ASSAY_DNNL_CONVOLUTION_MAP(FUNCTION, MD)
#undef FUNCTION
#define FUNCTION(result, name, symbol, parameters)                                                 \
    check(SAME_FUNCTION(symbol, result, parameters), "the type", #symbol);
#if DNNL_VERSION_MAJOR >= 3
    ASSAY_DNNL3_MAP(FUNCTION, MD)
    ASSAY_DNNL3_NEXT_MAP(FUNCTION)
    ASSAY_DNNL3_CONVOLUTION_MAP(FUNCTION, MD)
#else
    ASSAY_DNNL2_MAP(FUNCTION, MD, dnnl_matmul_desc_t)
    ASSAY_DNNL2_NEXT_MAP(FUNCTION)
    ASSAY_DNNL2_CONVOLUTION_MAP(FUNCTION, MD, dnnl_convolution_desc_t)
#endif
#undef FUNCTION
    printf("oneDNN %d.%d: %d declarations checked, %d differ\n", DNNL_VERSION_MAJOR,
           DNNL_VERSION_MINOR, checks, failures);
    return failures == 0 && checks > 60 ? 0 : 1;
}

#else

int main(void)
{
    puts("skipped: no oneDNN header here (package libdnnl-dev)");
    return 77;
}

#endif

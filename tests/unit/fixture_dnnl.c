/*
 * A library that claims to be oneDNN. FAKE_DNNL chooses its fault: "null" (no version), "nine" (an
 * unknown version), "three" (version 3 without its functions), else version 2 without an engine.
 */
#include <stdlib.h>
#include <string.h>

struct version {
    int major, minor, patch;
    const char *hash;
    unsigned cpu_runtime, gpu_runtime;
};

const struct version *dnnl_version(void);

const struct version *dnnl_version(void)
{
    static struct version version = {2, 0, 1, "\033[31mred", 2, 0};
    const char *mode = getenv("FAKE_DNNL");

    version.major = 2;
    if (mode != NULL && strcmp(mode, "null") == 0)
        return NULL;
    if (mode != NULL && strcmp(mode, "nine") == 0)
        version.major = 9;
    if (mode != NULL && strcmp(mode, "three") == 0)
        version.major = 3;
    return &version;
}

#define FAILS(name)                                                                                \
    unsigned name(void);                                                                           \
    unsigned name(void)                                                                            \
    {                                                                                              \
        return 5; /* dnnl_runtime_error */                                                         \
    }
FAILS(dnnl_engine_create)
FAILS(dnnl_stream_create)
FAILS(dnnl_stream_wait)
FAILS(dnnl_memory_create)
FAILS(dnnl_memory_set_data_handle)
FAILS(dnnl_memory_destroy)
FAILS(dnnl_memory_desc_get_size)
FAILS(dnnl_primitive_attr_create)
FAILS(dnnl_primitive_attr_destroy)
FAILS(dnnl_primitive_attr_set_scratchpad_mode)
FAILS(dnnl_primitive_attr_set_post_ops)
FAILS(dnnl_post_ops_create)
FAILS(dnnl_post_ops_destroy)
FAILS(dnnl_post_ops_append_binary)
FAILS(dnnl_post_ops_append_sum)
FAILS(dnnl_post_ops_append_eltwise)
FAILS(dnnl_primitive_desc_destroy)
FAILS(dnnl_primitive_desc_query)
FAILS(dnnl_primitive_desc_query_md)
FAILS(dnnl_primitive_create)
FAILS(dnnl_primitive_destroy)
FAILS(dnnl_primitive_execute)
FAILS(dnnl_memory_desc_init_by_strides)
FAILS(dnnl_matmul_desc_init)
FAILS(dnnl_primitive_desc_create)

/* Nothing measured with it is a real processor's. */
extern const char assay_simulated[];
const char assay_simulated[] = "a stand-in for tests";

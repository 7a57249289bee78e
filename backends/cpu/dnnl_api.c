#include "backends/cpu/dnnl_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/operation.h"
#include "harness/core/text.h"

#define DYNLIB_API struct dnnl_api
static const struct dynlib_symbol symbols[] = {
    ASSAY_DNNL_COMMON_MAP(DYNLIB_REQUIRED, struct assay_dnnl_memory_desc, struct assay_dnnl_version,
                          struct assay_dnnl_exec_arg) ASSAY_DNNL_OPTIONAL_MAP(DYNLIB_OPTIONAL)
        ASSAY_DNNL_CONVOLUTION_MAP(DYNLIB_OPTIONAL, struct assay_dnnl_memory_desc)
/* Which of these are needed depends on the version, which only the opened library reports. */
#define VERSIONED(result, name, symbol, parameters)                                                \
    {#symbol, offsetof(struct dnnl_api, name), false},
            ASSAY_DNNL2_MAP(VERSIONED, struct assay_dnnl_memory_desc, struct assay_dnnl_matmul_desc)
                ASSAY_DNNL3_MAP(VERSIONED, struct assay_dnnl_memory_desc)
                    ASSAY_DNNL2_NEXT_MAP(VERSIONED) ASSAY_DNNL3_NEXT_MAP(VERSIONED)
                        ASSAY_DNNL2_CONVOLUTION_MAP(VERSIONED, struct assay_dnnl_memory_desc,
                                                    struct assay_dnnl_convolution_desc)
                            ASSAY_DNNL3_CONVOLUTION_MAP(VERSIONED, struct assay_dnnl_memory_desc)
#undef VERSIONED
};

static enum status need(const struct onednn *dnnl, const char *symbol, bool there,
                        struct error *err)
{
    if (there)
        return STATUS_OK;
    return error_set(err, STATUS_UNAVAILABLE, "%s calls itself oneDNN %s and has no symbol %s",
                     dnnl->lib.path, dnnl->version, symbol);
}

static enum status check_version(struct onednn *dnnl, struct error *err)
{
    const struct assay_dnnl_version *version = dnnl->api.dnnl_version();
    enum status status = STATUS_OK;
    struct text hash;

    if (version == NULL)
        return error_set(err, STATUS_UNAVAILABLE, "%s: dnnl_version gives nothing", dnnl->lib.path);
    dnnl->major = version->major;
    dnnl->minor = version->minor;
    text_init(&hash);
    if (version->hash != NULL && version->hash[0] != '\0' && strcmp(version->hash, "N/A") != 0)
        text_append_printable(&hash, version->hash, strnlen(version->hash, 40));
    snprintf(dnnl->version, sizeof(dnnl->version), "%d.%d.%d%s%s", version->major, version->minor,
             version->patch, hash.length > 0 ? " " : "", hash.data);
    text_finish(&hash);
    if (dnnl->major != 2 && dnnl->major != 3)
        return error_set(err, STATUS_UNAVAILABLE,
                         "%s is oneDNN %s; versions 2 and 3 are known here", dnnl->lib.path,
                         dnnl->version);
#define NEED(result, name, symbol, parameters)                                                     \
    if (status == STATUS_OK)                                                                       \
        status = need(dnnl, #symbol, dnnl->api.name != NULL, err);
    if (dnnl->major == 2) {
        ASSAY_DNNL2_MAP(NEED, struct assay_dnnl_memory_desc, struct assay_dnnl_matmul_desc)
    } else {
        ASSAY_DNNL3_MAP(NEED, struct assay_dnnl_memory_desc)
    }
#undef NEED
    return status;
}

enum status onednn_open(struct onednn *ret, struct error *err)
{
    static const char *const sonames[] = {"libdnnl.so.3", "libdnnl.so.3.6", "libdnnl.so.2", NULL};
    static const struct dynlib_spec spec = DYNLIB_SPEC("dnnl", sonames, symbols);
    unsigned code;

    memset(ret, 0, sizeof(*ret));
    TRY(dynlib_open(&spec, &ret->lib, &ret->api, err));
    TRY(check_version(ret, err));
    code = ret->api.dnnl_engine_create(&ret->engine, ASSAY_DNNL_cpu, 0);
    if (code != ASSAY_DNNL_success || ret->engine == NULL) {
        onednn_fail(ret, "dnnl_engine_create", code, err);
        return STATUS_UNAVAILABLE;
    }
    code = ret->api.dnnl_stream_create(&ret->stream, ret->engine, ASSAY_DNNL_stream_default_flags);
    if (code != ASSAY_DNNL_success || ret->stream == NULL) {
        onednn_fail(ret, "dnnl_stream_create", code, err);
        return STATUS_UNAVAILABLE;
    }
    return STATUS_OK;
}

static const char *code_name(unsigned code)
{
    switch (code) {
    case ASSAY_DNNL_success:
        return "success, with nothing to show for it";
    case ASSAY_DNNL_out_of_memory:
        return "out_of_memory";
    case ASSAY_DNNL_invalid_arguments:
        return "invalid_arguments";
    case ASSAY_DNNL_unimplemented:
        return "unimplemented";
    case ASSAY_DNNL_runtime_error:
        return "runtime_error";
    case ASSAY_DNNL_not_required:
        return "not_required";
    default:
        return "unknown code";
    }
}

enum status onednn_fail(const struct onednn *dnnl, const char *function, unsigned code,
                        struct error *err)
{
    /* Arguments were checked before: what the library calls invalid is unsupported. */
    const enum status status =
        code == ASSAY_DNNL_unimplemented || code == ASSAY_DNNL_invalid_arguments
            ? STATUS_UNSUPPORTED
        : code == ASSAY_DNNL_out_of_memory ? STATUS_DEVICE_MEMORY
                                           : STATUS_DEVICE;

    return error_set(err, status, "oneDNN %s: %s: %s (%u)", dnnl->version, function,
                     code_name(code), code);
}

enum status onednn_layout_create(const struct onednn *dnnl, int count, const int64_t *dims,
                                 unsigned type, const int64_t *strides,
                                 struct assay_dnnl_memory_desc **ret, struct error *err)
{
    const struct dnnl_api *api = &dnnl->api;
    const char *function = strides != NULL ? "dnnl_memory_desc_create_with_strides"
                                           : "dnnl_memory_desc_create_with_tag";
    struct assay_dnnl_memory_desc *layout = NULL;
    unsigned code;

    if (dnnl->major == 2) {
        function =
            strides != NULL ? "dnnl_memory_desc_init_by_strides" : "dnnl_memory_desc_init_by_tag";
        layout = aligned_alloc(_Alignof(struct assay_dnnl_memory_desc), sizeof(*layout));
        if (layout == NULL)
            return error_no_memory(err);
        memset(layout, 0, sizeof(*layout));
        code = strides != NULL
                   ? api->memory_desc_init_2(layout, count, dims, type, strides)
                   : api->memory_desc_tag_2(layout, count, dims, type, ASSAY_DNNL_format_tag_any);
        if (code != ASSAY_DNNL_success)
            free(layout);
    } else {
        code = strides != NULL
                   ? api->memory_desc_create_3(&layout, count, dims, type, strides)
                   : api->memory_desc_tag_3(&layout, count, dims, type, ASSAY_DNNL_format_tag_any);
        if (layout == NULL && code == ASSAY_DNNL_success)
            code = ASSAY_DNNL_runtime_error;
    }
    if (code != ASSAY_DNNL_success)
        return onednn_fail(dnnl, function, code, err);
    *ret = layout;
    return STATUS_OK;
}

void onednn_layout_destroy(const struct onednn *dnnl, struct assay_dnnl_memory_desc *layout)
{
    if (layout == NULL)
        return;
    if (dnnl->major == 2)
        free(layout);
    else
        dnnl->api.memory_desc_destroy_3(layout);
}

unsigned onednn_append_scale(const struct onednn *dnnl, struct dnnl_post_ops *ops, float scale)
{
    if (dnnl->major == 2)
        return dnnl->api.append_eltwise_2(ops, 1.0f, ASSAY_DNNL_eltwise_linear_2, scale, 0.0f);
    return dnnl->api.append_eltwise_3(ops, ASSAY_DNNL_eltwise_linear_3, scale, 0.0f);
}

unsigned onednn_append_sum(const struct onednn *dnnl, struct dnnl_post_ops *ops)
{
    if (dnnl->major == 2)
        return dnnl->api.append_sum_2(ops, 1.0f);
    return dnnl->api.append_sum_3(ops, 1.0f, 0, 0); /* dnnl_data_type_undef: the destination's */
}

int onednn_post_op_arg(const struct onednn *dnnl, int index)
{
    const int base = dnnl->major == 2 ? ASSAY_DNNL_POST_OP_2 : ASSAY_DNNL_POST_OP_3;

    return base * (index + 1) | ASSAY_DNNL_ARG_SRC_1;
}

void onednn_algorithm(const struct onednn *dnnl, const struct dnnl_primitive_desc *desc, char *ret,
                      size_t size)
{
    const char *name = NULL;

    ret[0] = '\0';
    if (dnnl->api.dnnl_primitive_desc_query(desc, ASSAY_DNNL_query_impl_info_str, 0, &name) ==
            ASSAY_DNNL_success &&
        name != NULL)
        snprintf(ret, size, "%s", name);
}

static bool has_tiles(const struct onednn *dnnl, const struct dnnl_primitive_desc *desc)
{
    char name[OPERATION_WORD_MAX];

    onednn_algorithm(dnnl, desc, name, sizeof(name));
    return strstr(name, "amx") != NULL;
}

/* Kernels for this very product, of another kind than tiles. */
static bool suits(const struct onednn *dnnl, const struct dnnl_primitive_desc *desc)
{
    char name[OPERATION_WORD_MAX];

    onednn_algorithm(dnnl, desc, name, sizeof(name));
    return strncmp(name, "brg", 3) == 0 && strstr(name, "amx") == NULL;
}

/* The first that suits, else the last there is; NULL: none. `operation` is version 2's. */
static struct dnnl_primitive_desc *
next_without_tiles(const struct onednn *dnnl, const struct assay_dnnl_matmul_desc *operation,
                   const struct dnnl_primitive_attr *attributes)
{
    const struct dnnl_api *api = &dnnl->api;
    struct dnnl_primitive_desc_iterator *iterator = NULL;
    struct dnnl_primitive_desc *found = NULL;

    if (api->iterator_create_2 == NULL || api->iterator_next_2 == NULL ||
        api->iterator_fetch_2 == NULL || api->iterator_destroy_2 == NULL ||
        api->iterator_create_2(&iterator, operation, attributes, dnnl->engine, NULL) !=
            ASSAY_DNNL_success)
        return NULL;
    do {
        if (found != NULL)
            api->dnnl_primitive_desc_destroy(found);
        found = api->iterator_fetch_2(iterator);
    } while (found != NULL && !suits(dnnl, found) &&
             api->iterator_next_2(iterator) == ASSAY_DNNL_success);
    api->iterator_destroy_2(iterator);
    return found;
}

enum status onednn_matmul_create(const struct onednn *dnnl, const struct assay_dnnl_memory_desc *a,
                                 const struct assay_dnnl_memory_desc *b,
                                 const struct assay_dnnl_memory_desc *bias,
                                 const struct assay_dnnl_memory_desc *c,
                                 const struct dnnl_primitive_attr *attributes, bool no_tiles,
                                 struct dnnl_primitive_desc **ret, struct error *err)
{
    const char *function = "dnnl_matmul_primitive_desc_create";
    struct dnnl_primitive_desc *made = NULL, *other = NULL;
    struct assay_dnnl_matmul_desc operation;
    unsigned code;

    if (dnnl->major == 2) {
        memset(&operation, 0, sizeof(operation));
        function = "dnnl_matmul_desc_init";
        code = dnnl->api.matmul_desc_init_2(&operation, a, b, bias, c);
        if (code == ASSAY_DNNL_success) {
            function = "dnnl_primitive_desc_create";
            code = dnnl->api.primitive_desc_create_2(&made, &operation, attributes, dnnl->engine,
                                                     NULL);
        }
    } else {
        code = dnnl->api.matmul_create_3(&made, dnnl->engine, a, b, bias, c, attributes);
    }
    if (code != ASSAY_DNNL_success || made == NULL)
        return onednn_fail(dnnl, function, code, err);
    if (no_tiles && has_tiles(dnnl, made)) {
        if (dnnl->major == 2)
            other = next_without_tiles(dnnl, &operation, attributes);
        else if (dnnl->api.next_impl_3 != NULL &&
                 dnnl->api.matmul_create_3(&other, dnnl->engine, a, b, bias, c, attributes) ==
                     ASSAY_DNNL_success)
            while (!suits(dnnl, other) && dnnl->api.next_impl_3(other) == ASSAY_DNNL_success)
                ;
        if (other != NULL && suits(dnnl, other)) {
            dnnl->api.dnnl_primitive_desc_destroy(made);
            made = other;
        } else if (other != NULL) {
            dnnl->api.dnnl_primitive_desc_destroy(other);
        }
    }
    *ret = made;
    return STATUS_OK;
}

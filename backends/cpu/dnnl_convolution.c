#include "backends/cpu/dnnl_api.h"

#include <stdlib.h>
#include <string.h>

bool onednn_has_reorders(const struct onednn *dnnl)
{
    const struct dnnl_api *api = &dnnl->api;

    return api->dnnl_memory_desc_equal != NULL && api->dnnl_reorder_primitive_desc_create != NULL &&
           (dnnl->major == 2 ? api->memory_desc_tag_2 != NULL : api->memory_desc_tag_3 != NULL);
}

bool onednn_has_convolutions(const struct onednn *dnnl)
{
    const struct dnnl_api *api = &dnnl->api;

    return onednn_has_reorders(dnnl) && (dnnl->major == 2 ? api->convolution_desc_init_2 != NULL
                                                          : api->convolution_create_3 != NULL);
}

enum status onednn_convolution_create(const struct onednn *dnnl,
                                      const struct assay_dnnl_memory_desc *input,
                                      const struct assay_dnnl_memory_desc *weights,
                                      const struct assay_dnnl_memory_desc *output,
                                      const int64_t *strides, const int64_t *dilations,
                                      const int64_t *paddings,
                                      const struct dnnl_primitive_attr *attributes,
                                      struct dnnl_primitive_desc **ret, struct error *err)
{
    const char *function = "dnnl_convolution_forward_primitive_desc_create";
    struct assay_dnnl_convolution_desc *operation = NULL;
    struct dnnl_primitive_desc *made = NULL;
    unsigned code;

    if (dnnl->major == 2) {
        operation = aligned_alloc(_Alignof(struct assay_dnnl_convolution_desc), sizeof(*operation));
        if (operation == NULL)
            return error_no_memory(err);
        memset(operation, 0, sizeof(*operation));
        function = "dnnl_dilated_convolution_forward_desc_init";
        code = dnnl->api.convolution_desc_init_2(
            operation, ASSAY_DNNL_forward_inference, ASSAY_DNNL_convolution_direct, input, weights,
            NULL, output, strides, dilations, paddings, paddings);
        if (code == ASSAY_DNNL_success) {
            function = "dnnl_primitive_desc_create";
            code =
                dnnl->api.primitive_desc_create_2(&made, operation, attributes, dnnl->engine, NULL);
        }
        free(operation);
    } else {
        code = dnnl->api.convolution_create_3(
            &made, dnnl->engine, ASSAY_DNNL_forward_inference, ASSAY_DNNL_convolution_direct, input,
            weights, NULL, output, strides, dilations, paddings, paddings, attributes);
    }
    if (code != ASSAY_DNNL_success || made == NULL)
        return onednn_fail(dnnl, function, code, err);
    *ret = made;
    return STATUS_OK;
}

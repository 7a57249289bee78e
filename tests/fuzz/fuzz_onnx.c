/* ONNX files: hostile ones are refused; of the others the reference stays in bounds. */
#include "fuzz.h"

#include "workloads/onnx/reference.h"

#define ELEMENTS_MAX 4096

/* Ones for the inputs, if all of it is small. */
static void run(const struct onnx_model *model)
{
    static double ones[ELEMENTS_MAX];
    struct onnx_array inputs[4] = {0};
    struct onnx_reference *reference = NULL;
    struct error err = ERROR_INIT;
    enum status status;

    for (size_t i = 0; i < ELEMENTS_MAX; i++)
        ones[i] = 1.0;
    if (model->input_count > 4)
        return;
    for (size_t i = 0; i < model->input_count; i++) {
        const struct onnx_value *value = &model->inputs[i];

        inputs[i] = (struct onnx_array){
            .name = value->name, .rank = value->rank, .elements = 1, .data = ones};
        for (size_t d = 0; d < value->rank; d++) {
            inputs[i].shape[d] = value->shape[d];
            if (value->shape[d] > ELEMENTS_MAX)
                return;
            inputs[i].elements *= value->shape[d];
            if (inputs[i].elements > ELEMENTS_MAX)
                return;
        }
    }
    for (size_t i = 0; i < model->tensor_count; i++)
        if (model->tensors[i].elements > ELEMENTS_MAX)
            return;
    status = onnx_reference_check(model, inputs, model->input_count, NULL, 0, &err);
    if (status != STATUS_OK)
        fuzz_require_good_message(&err, status);
    status = onnx_reference_create(model, &reference, &err);
    if (status == STATUS_OK)
        status = onnx_reference_run(reference, inputs, model->input_count, NULL, 0, &err);
    if (status != STATUS_OK)
        fuzz_require_good_message(&err, status);
    onnx_reference_destroy(reference);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct onnx_model model = {0};
    struct error err = ERROR_INIT;
    const enum status status = onnx_model_read(data, size, &model, &err);

    if (status != STATUS_OK) {
        FUZZ_REQUIRE(status == STATUS_CORRUPT && model.memory == NULL);
        fuzz_require_good_message(&err, status);
        return 0;
    }
    FUZZ_REQUIRE(model.node_count > 0 && model.output_count > 0);
    run(&model);
    onnx_model_finish(&model);
    return 0;
}

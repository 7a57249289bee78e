/* frameworks - the table that an interface fills, and how their libraries are opened. */
#ifndef ASSAY_BACKENDS_FRAMEWORKS_FRAMEWORKS_H
#define ASSAY_BACKENDS_FRAMEWORKS_FRAMEWORKS_H

#include "backends/framework.h"
#include "harness/core/dynlib.h"

/* Implementations embed it as their first member. */
struct framework {
    const struct framework_ops *ops;
    struct dynlib library;
    struct framework_info info;
    size_t model_count; /* prepared ones */
};

/* The memory of a model's arrays, in their order. */
struct framework_memory {
    void *inputs[FRAMEWORK_ARRAYS_MAX], *outputs[FRAMEWORK_ARRAYS_MAX];
};

/* Bytes of an array; its shape was checked. */
size_t framework_array_bytes(const struct framework_array *array);

/* Arguments are checked before. */
struct framework_ops {
    const char *name;
    size_t size; /* of the implementation's struct, which comes zeroed */
    /* Its functions, and the version. */
    enum status (*open)(struct framework *framework, const char *const *sonames, struct error *err);
    /* The model of number framework->model_count. */
    enum status (*prepare)(struct framework *framework, const struct framework_model *model,
                           const struct framework_memory *memory, struct error *err);
    enum status (*run)(struct framework *framework, size_t model, struct error *err);
    void (*finish)(
        struct framework *framework); /* what open and prepare made, as far as they got */
};

extern const struct framework_ops framework_onnxruntime, framework_openvino;

#endif

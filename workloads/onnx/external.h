/*
 * external - models whose tensors lie in files beside them (external_data of onnx.proto), joined to
 * one file as it would have been written without: that is what frameworks and the reference get.
 */
#ifndef ASSAY_WORKLOADS_ONNX_EXTERNAL_H
#define ASSAY_WORKLOADS_ONNX_EXTERNAL_H

#include "harness/core/text.h"
#include "workloads/onnx/model.h"

/* Such a file: as tensors name it, and where it is; zeros: it is not known yet. */
struct onnx_side_file {
    const char *location;
    char *path;    /* heap */
    uint64_t size; /* bytes */
};
void onnx_side_files_finish(struct onnx_side_file *files, size_t count);

/* The first tensor of `model` that lies in another file, or NULL. */
const struct onnx_tensor *onnx_external_first(const struct onnx_model *model);
/* Whether a location stays in the model's folder: relative, and without "..". */
bool onnx_external_stays(const char *location);
/*
 * In place of `bytes`, which `model` was read from, the file with the values in it that lie in
 * these files, and `model` read again. INVALID says which tensor does not lie within one of them,
 * with as many bytes as its shape takes, which file has no tensor, or that all together do not fit
 * one file; or a file has become shorter. IO; NO_MEMORY.
 */
enum status onnx_external_join(struct onnx_model *model, struct text *bytes,
                               const struct onnx_side_file *files, size_t count, struct error *err);

#endif

/*
 * external - models whose tensors lie in files beside them (external_data of onnx.proto), joined to
 * one file as it would have been written without: that is what frameworks and the reference get.
 */
#ifndef ASSAY_WORKLOADS_ONNX_EXTERNAL_H
#define ASSAY_WORKLOADS_ONNX_EXTERNAL_H

#include "harness/core/text.h"
#include "workloads/onnx/model.h"

/* Such a file: as tensors name it, and where it is. */
struct onnx_side_file {
    const char *location, *path;
    uint64_t size; /* bytes */
};

/* The first tensor of `model` that lies in another file, or NULL. */
const struct onnx_tensor *onnx_external_first(const struct onnx_model *model);
/* Whether a location stays in the model's folder: relative, and without "..". */
bool onnx_external_stays(const char *location);
/*
 * Whether every tensor that lies elsewhere lies in one of these files, within it and with as many
 * bytes as its shape takes, whether each file has one, and whether all together fit one file.
 * INVALID says which tensor does not, and why.
 */
enum status onnx_external_check(const struct onnx_model *model, size_t length,
                                const struct onnx_side_file *files, size_t count,
                                struct error *err);
/*
 * The file of `bytes`, which `model` was read from and onnx_external_check passed, with those
 * values in it, appended to `ret`. IO; NO_MEMORY; INVALID: a file has become shorter.
 */
enum status onnx_external_join(const struct onnx_model *model, struct onnx_bytes bytes,
                               const struct onnx_side_file *files, size_t count, struct text *ret,
                               struct error *err);

#endif

list(APPEND ASSAY_WORKLOAD_SOURCES
    onnx/onnx.c onnx/declare.c onnx/files.c onnx/data.c onnx/verify.c onnx/model.c onnx/write.c onnx/reference.c onnx/operators.c
    onnx/windows.c)

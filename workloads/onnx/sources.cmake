list(APPEND ASSAY_WORKLOAD_SOURCES
    onnx/onnx.c onnx/declare.c onnx/declare_files.c onnx/files.c onnx/data.c onnx/verify.c
    onnx/protobuf.c onnx/model.c onnx/external.c onnx/write.c
    onnx/reference.c onnx/step.c onnx/operators.c onnx/moves.c onnx/windows.c onnx/resize.c
    onnx/pads.c)

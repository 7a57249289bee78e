list(APPEND ASSAY_WORKLOAD_SOURCES
    models/gpt2.c models/gpt2_device.c models/gpt2_device_passes.c models/gpt2_device_int8.c models/gpt2_int8.c
    models/gpt2_device_step.c models/gpt2_onnx.c models/gpt2_handover.c
    models/gpt2_spot.c models/gpt2_instance.c models/gpt2_precision.c
    models/gpt2_reference.c
    models/reference_math.c models/reference_gemm.c models/adamw.c models/declaration.c models/compare.c
    data/tokens.c data/markov.c data/text_file.c)

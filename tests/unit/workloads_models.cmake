assay_add_test(NAME test_model_gpt2 SOURCES unit/test_model_gpt2.c LIBS assay_workloads
    LABELS unit)
assay_add_test(NAME test_model_device SOURCES unit/test_model_device.c
    LIBS assay_workload_fixture LABELS unit COST 10 LONG)
assay_add_test(NAME test_data_tokens SOURCES unit/test_data_tokens.c LIBS assay_workloads
    LABELS unit)
assay_add_test(NAME test_model_workloads SOURCES unit/test_model_workloads.c
    LIBS assay_workload_fixture LABELS unit COST 26 LONG)
assay_add_test(NAME test_model_golden SOURCES unit/test_model_golden.c LIBS assay_workloads
    LABELS unit)
assay_add_test(NAME test_graph SOURCES unit/test_graph.c unit/gpt2_witness.c LIBS assay_workloads
    LABELS unit)
target_link_libraries(test_graph PRIVATE OpenMP::OpenMP_C)
assay_add_test(NAME test_gpt2_onnx SOURCES unit/test_gpt2_onnx.c LIBS assay_workloads LABELS unit)
assay_add_test(NAME test_stack SOURCES unit/test_stack.c unit/gpt2_witness.c LIBS assay_workloads
    LABELS unit)
target_link_libraries(test_stack PRIVATE OpenMP::OpenMP_C)
assay_add_test(NAME test_model_launches SOURCES unit/test_model_launches.c unit/launch_recorder.c
    LIBS assay_test_kernels LABELS unit COST 25 LONG)
target_compile_definitions(test_model_launches PRIVATE LAUNCHES_FOLDER="${CMAKE_CURRENT_LIST_DIR}/data")
assay_add_test(NAME test_model_precision SOURCES unit/test_model_precision.c
    LIBS assay_workload_fixture LABELS unit COST 33 LONG)
assay_add_test(NAME test_model_int8 SOURCES unit/test_model_int8.c
    LIBS assay_workload_fixture LABELS unit COST 10 LONG)
assay_add_test(NAME test_model_generation SOURCES unit/test_model_generation.c
    LIBS assay_workload_fixture LABELS unit COST 15 LONG)
assay_add_test(NAME test_model_spot SOURCES unit/test_model_spot.c
    LIBS assay_workload_fixture LABELS unit COST 40 LONG)
assay_add_test(NAME test_pass SOURCES unit/test_pass.c
    LIBS assay_workload_fixture LABELS unit COST 27 LONG)
assay_add_test(NAME test_decode SOURCES unit/test_decode.c
    LIBS assay_workload_fixture LABELS unit COST 27 LONG)
assay_add_test(NAME test_packed SOURCES unit/test_packed.c
    LIBS assay_workload_fixture LABELS unit COST 19 LONG)
assay_add_test(NAME test_moe SOURCES unit/test_moe.c
    LIBS assay_workload_fixture LABELS unit COST 27 LONG)
assay_add_test(NAME test_pass_train SOURCES unit/test_pass_train.c
    LIBS assay_workload_fixture LABELS unit COST 30 LONG)
assay_add_test(NAME test_op_attention SOURCES unit/test_op_attention.c
    LIBS assay_workload_fixture LABELS unit COST 10 LONG)
assay_same_kernels(models test_model_device test_model_workloads test_model_precision
    test_model_int8 test_model_generation test_model_spot test_pass test_decode test_packed test_moe test_pass_train)
# Thousands of launches of a few work-items: PoCL's threads would wait for each other half of the time.
set_property(TEST test_model_spot test_pass_train APPEND PROPERTY ENVIRONMENT
    POCL_MAX_PTHREAD_COUNT=1 POCL_CPU_MAX_CU_COUNT=1)

assay_test_on(test_model_device cpu COST 3)
assay_test_on(test_model_workloads cpu COST 12)
assay_test_on(test_model_precision cpu COST 19 LONG)
assay_test_on(test_model_int8 cpu COST 3)
assay_test_on(test_model_generation cpu COST 5)
assay_test_on(test_model_spot cpu COST 15 LONG)
assay_test_on(test_pass cpu COST 3)
assay_test_on(test_decode cpu COST 3)
assay_test_on(test_packed cpu COST 3)
assay_test_on(test_moe cpu COST 3)
assay_test_on(test_pass_train cpu COST 30 LONG)
assay_test_on(test_op_attention cpu COST 5)

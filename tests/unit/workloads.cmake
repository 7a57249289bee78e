# Tests of the workloads room's loader, catalog, memory-bound and synthetic kinds.
assay_add_test(NAME test_workload_declaration SOURCES unit/test_workload_declaration.c
    LIBS assay_workloads LABELS unit)
assay_add_test(NAME test_workload_catalog SOURCES unit/test_workload_catalog.c
    LIBS assay_workloads LABELS unit)
assay_add_test(NAME test_workload_memory_cost SOURCES unit/test_workload_memory_cost.c
    LIBS assay_workloads LABELS unit)
assay_add_test(NAME test_workload_exp SOURCES unit/test_workload_exp.c
    LIBS assay_workloads LABELS unit)
assay_add_test(NAME test_workload_memory_device SOURCES unit/test_workload_memory_device.c
    LIBS assay_workload_fixture LABELS unit COST 31 LONG)
assay_add_test(NAME test_workload_transfer SOURCES unit/test_workload_transfer.c
    LIBS assay_workload_fixture LABELS unit)
assay_add_test(NAME test_workload_synthetic SOURCES unit/test_workload_synthetic.c
    LIBS assay_workloads LABELS unit)
assay_add_test(NAME test_workload_program SOURCES unit/test_workload_program.c
    LIBS assay_workloads LABELS unit)
assay_add_test(NAME test_workload_element SOURCES unit/test_workload_element.c
    LIBS assay_workloads LABELS unit)
assay_add_test(NAME test_format SOURCES unit/test_format.c
    LIBS assay_workloads LABELS unit)
assay_add_test(NAME test_workload_gemm SOURCES unit/test_workload_gemm.c
    LIBS assay_workload_fixture LABELS unit COST 72 LONG)
assay_add_test(NAME test_gemm_portable SOURCES unit/test_gemm_portable.c
    LIBS assay_workload_fixture LABELS unit COST 10 LONG)
assay_add_test(NAME test_gemm_spot_check SOURCES unit/test_gemm_spot_check.c
    LIBS assay_workload_fixture LABELS unit COST 30 LONG)
assay_add_test(NAME test_workload_storage SOURCES unit/test_workload_storage.c
    LIBS assay_workloads LABELS unit)
assay_add_test(NAME test_workload_onnx SOURCES unit/test_workload_onnx.c LIBS assay_workloads LABELS unit)
assay_add_test(NAME test_onnx_operators SOURCES unit/test_onnx_operators.c LIBS assay_workloads LABELS unit)
target_compile_definitions(test_onnx_operators PRIVATE
    ONNX_OPERATORS="${CMAKE_CURRENT_LIST_DIR}/data/onnx_operators.jsonl")
assay_add_test(NAME test_training_handover SOURCES unit/test_training_handover.c LIBS assay_workloads LABELS unit)
assay_add_test(NAME test_workload_convolution SOURCES unit/test_workload_convolution.c
    LIBS assay_workload_fixture LABELS unit COST 28 LONG)
assay_same_kernels(memory test_workload_memory_device)
assay_same_kernels(launch test_workload_transfer)
assay_same_kernels(gemm test_workload_gemm test_gemm_portable test_gemm_spot_check)
assay_same_kernels(convolutions test_workload_convolution test_gemm_spot_check)

# All that computes, on the CPU backend as well as on OpenCL's device.
foreach(name test_workload_memory_device test_workload_transfer test_gemm_portable test_gemm_spot_check test_workload_convolution)
    assay_test_on(${name} cpu COST 10)
endforeach()
assay_test_on(test_workload_gemm cpu COST 12 LONG)
set_property(TEST test_workload_memory_device_cpu APPEND PROPERTY LABELS threads)
add_dependencies(assay_thread_tests test_workload_memory_device)

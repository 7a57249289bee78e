assay_add_test(NAME test_backend_registry SOURCES unit/test_backend_registry.c
    LIBS assay_backends LABELS unit)
target_compile_definitions(test_backend_registry PRIVATE ICD_DIRECTORY="${ASSAY_ICD_DIRECTORY}")
assay_add_test(NAME test_backend_wrappers SOURCES unit/test_backend_wrappers.c
    unit/wrapper_fixture.c LIBS assay_backends LABELS unit)
assay_add_test(NAME test_backend_operations SOURCES unit/test_backend_operations.c
    unit/wrapper_fixture.c LIBS assay_backends LABELS unit)
assay_add_test(NAME test_backend_resolve SOURCES unit/test_backend_resolve.c
    LIBS assay_backends LABELS unit)
assay_add_test(NAME test_backend_null SOURCES unit/test_backend_null.c
    LIBS assay_backends LABELS unit)
assay_add_test(NAME test_backend_opencl SOURCES unit/test_backend_opencl.c
    LIBS assay_backends LABELS unit)
assay_add_test(NAME test_backend_skeleton
    SOURCES unit/test_backend_skeleton.c ${PROJECT_SOURCE_DIR}/backends/skeleton/skeleton.c
    LIBS assay_backends LABELS unit)
# Skips itself where the OpenCL headers are not installed.
assay_add_test(NAME test_backend_opencl_abi SOURCES unit/test_backend_opencl_abi.c
    LIBS assay_backends LABELS unit)
# Skips itself where CLBlast's header is not installed.
assay_add_test(NAME test_backend_clblast_abi SOURCES unit/test_backend_clblast_abi.c
    LIBS assay_backends LABELS unit)

# The CUDA toolkit, where installed: its headers and NVRTC, found next to nvcc. It is optional:
# tests that need it are skipped. ASSAY_NVML_INCLUDE: a folder with nvml.h, which is packaged
# separately.
find_program(ASSAY_NVCC nvcc PATHS /usr/local/cuda/bin)
if(ASSAY_NVCC)
    get_filename_component(ASSAY_CUDA_ROOT "${ASSAY_NVCC}" REALPATH)
    get_filename_component(ASSAY_CUDA_ROOT "${ASSAY_CUDA_ROOT}/../.." ABSOLUTE)
endif()
find_path(ASSAY_CUDA_INCLUDE nvrtc.h HINTS ${ASSAY_CUDA_ROOT}/include)
find_path(ASSAY_NVML_INCLUDE nvml.h HINTS ${ASSAY_CUDA_ROOT}/include)
assay_add_test(NAME test_backend_cuda_abi SOURCES unit/test_backend_cuda_abi.c
    LIBS assay_backends LABELS unit)
foreach(folder ASSAY_CUDA_INCLUDE ASSAY_NVML_INCLUDE)
    if(${folder})
        target_include_directories(test_backend_cuda_abi SYSTEM PRIVATE ${${folder}})
    endif()
endforeach()
# The real cuDNN, without a device, and a driver stub in place of the real one.
add_library(fixture_libcuda MODULE unit/fixture_libcuda.c)
set_target_properties(fixture_libcuda PROPERTIES PREFIX "" OUTPUT_NAME libcuda SUFFIX .so.1
    C_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/nothing)
if(NOT ASSAY_SANITIZE) # leaks of the library and its compiler are not our concern
    assay_add_test(NAME test_cudnn_graph SOURCES unit/test_cudnn_graph.c
        LIBS assay_backends ${CMAKE_DL_LIBS} LABELS unit COST 14 LONG
        ENVIRONMENT LD_LIBRARY_PATH=$<TARGET_FILE_DIR:fixture_libcuda>)
    add_dependencies(test_cudnn_graph fixture_libcuda)
endif()
add_library(fixture_dnnl MODULE unit/fixture_dnnl.c)
set_target_properties(fixture_dnnl PROPERTIES PREFIX "lib"
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
assay_add_test(NAME test_backend_cpu SOURCES unit/test_backend_cpu.c unit/cpu_fixture.c
    LIBS assay_backends LABELS unit threads)
assay_add_test(NAME test_backend_cpu_threads
    SOURCES unit/test_backend_cpu_threads.c unit/cpu_fixture.c
    LIBS assay_backends OpenMP::OpenMP_C LABELS unit threads)
target_compile_definitions(test_backend_cpu_threads
    PRIVATE FAKE_DNNL_PATH="$<TARGET_FILE:fixture_dnnl>")
add_dependencies(test_backend_cpu_threads fixture_dnnl)
# Skips itself where oneDNN's headers are not installed.
assay_add_test(NAME test_backend_cpu_dnnl_abi SOURCES unit/test_backend_cpu_dnnl_abi.c
    LIBS assay_backends LABELS unit)
assay_add_test(NAME test_backend_gpu SOURCES unit/test_backend_gpu.c
    LIBS assay_backends LABELS unit)

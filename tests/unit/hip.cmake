# The HIP backend without a device or its libraries.
assay_add_test(NAME test_backend_hip_abi SOURCES unit/test_backend_hip_abi.c
    LIBS assay_backends LABELS unit)
assay_add_test(NAME test_backend_hip_libraries SOURCES unit/test_backend_hip_libraries.c
    LIBS assay_backends LABELS unit)
assay_add_test(NAME test_backend_hip_code_object SOURCES unit/test_backend_hip_code_object.c
    LIBS assay_backends LABELS unit)
target_compile_definitions(test_backend_hip_code_object PRIVATE
    CORPUS="${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/code_object")

# The same check against another version's headers: a folder like /usr of another root, found
# where the bare roots are kept, or named by -DASSAY_ROCM_ROOT=.
set(ASSAY_ROCM_ROOT "" CACHE PATH "Root whose usr/include has other ROCm headers, for the ABI test")
foreach(root "${ASSAY_ROCM_ROOT}" /var/tmp/roots/trixie)
    if(root AND EXISTS ${root}/usr/include/hip/hip_runtime_api.h)
        assay_add_test(NAME test_backend_hip_abi_other SOURCES unit/test_backend_hip_abi.c
            LIBS assay_backends LABELS unit)
        target_compile_options(test_backend_hip_abi_other PRIVATE
            "SHELL:-isystem ${root}/usr/include")
        break()
    endif()
endforeach()
if(NOT TARGET test_backend_hip_abi_other)
    add_test(NAME test_backend_hip_abi_other COMMAND sh -c
        "echo 'SKIP: no root with other ROCm headers (ASSAY_ROCM_ROOT)'; exit 77")
    assay_set_tests(test_backend_hip_abi_other LABELS unit)
endif()

# hipBLASLt's header is not C: it is read as text. Another folder: -DASSAY_HIPBLASLT_INCLUDE=.
set(ASSAY_HIPBLASLT_INCLUDE "" CACHE PATH "Folder with hipblaslt/hipblaslt.h, for the ABI test")
add_test(NAME test_hipblaslt_header COMMAND python3
    ${CMAKE_CURRENT_SOURCE_DIR}/unit/test_hipblaslt_header.py
    ${PROJECT_SOURCE_DIR}/backends/hip/hipblaslt.h ${ASSAY_HIPBLASLT_INCLUDE} /usr/include
    /opt/rocm/include /var/tmp/roots/trixie/usr/include)
assay_set_tests(test_hipblaslt_header LABELS unit)

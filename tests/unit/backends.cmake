assay_add_test(NAME test_backend_registry SOURCES unit/test_backend_registry.c
    LIBS assay_backends LABELS unit)
assay_add_test(NAME test_backend_wrappers SOURCES unit/test_backend_wrappers.c
    LIBS assay_backends LABELS unit)
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

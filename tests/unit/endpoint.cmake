# Tests of harness/endpoint; servers that misbehave: tests/cli/test_endpoint.py.
foreach(name sse event reasons declare)
    assay_add_test(NAME test_endpoint_${name} SOURCES unit/test_endpoint_${name}.c
        LIBS assay_endpoint LABELS unit)
endforeach()
target_compile_definitions(test_endpoint_declare PRIVATE
    README="${PROJECT_SOURCE_DIR}/workloads/endpoint/README.md")

# Tests of harness/endpoint; servers that misbehave: tests/cli/test_endpoint.py.
foreach(name sse event reasons)
    assay_add_test(NAME test_endpoint_${name} SOURCES unit/test_endpoint_${name}.c
        LIBS assay_endpoint LABELS unit)
endforeach()

# Tests of harness/core, one executable a source.
foreach(name declaration)
    assay_add_test(NAME test_core_${name} SOURCES unit/test_core_${name}.c LABELS unit)
endforeach()

# Tests of results/, one executable a source or subject.
set(store_fixture ${CMAKE_CURRENT_SOURCE_DIR}/support/store_fixture.c)
foreach(name store_trial)
    assay_add_test(NAME test_${name} SOURCES unit/test_${name}.c ${store_fixture}
        LIBS assay_results LABELS unit)
endforeach()

foreach(name message channel sampler maps child_environment lease)
    assay_add_test(NAME test_runner_${name} SOURCES unit/test_runner_${name}.c
        LIBS assay_runner LABELS unit)
endforeach()

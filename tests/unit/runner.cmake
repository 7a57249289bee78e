foreach(name message channel sampler maps folder_state child_environment expected
        generator rounds silence)
    assay_add_test(NAME test_runner_${name} SOURCES unit/test_runner_${name}.c
        LIBS assay_runner LABELS unit)
endforeach()

# Readings of recorded machines: tests/data/machines.
foreach(name telemetry_host packages stack_files)
    assay_add_test(NAME test_runner_${name}
        SOURCES unit/test_runner_${name}.c support/recorded_machine.c
        LIBS assay_runner LABELS unit)
    target_compile_definitions(test_runner_${name} PRIVATE
        MACHINES_DIRECTORY="${PROJECT_SOURCE_DIR}/tests/data/machines")
endforeach()

assay_add_test(NAME test_runner_dumps SOURCES unit/test_runner_dumps.c
    LIBS assay_runner assay_store_fixture LABELS unit)

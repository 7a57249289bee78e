# Tests of harness/core, one executable a source.
foreach(name status array log clock shell text text_parse text_unicode digest canonical file random reading
        precision declaration processor denormals filter type noted_file)
    assay_add_test(NAME test_core_${name} SOURCES unit/test_core_${name}.c LABELS unit)
endforeach()

# Readings of recorded machines: tests/data/machines.
foreach(name cgroup machine_root)
    assay_add_test(NAME test_core_${name}
        SOURCES unit/test_core_${name}.c support/recorded_machine.c LABELS unit)
    target_compile_definitions(test_core_${name} PRIVATE
        MACHINES_DIRECTORY="${PROJECT_SOURCE_DIR}/tests/data/machines")
endforeach()

# A library with symbols of our own to open; one that lacks a required symbol; a child to start.
foreach(variant good lacking)
    add_library(dynlib_${variant} MODULE ${CMAKE_CURRENT_SOURCE_DIR}/unit/fixture_dynlib.c)
    set_target_properties(dynlib_${variant} PROPERTIES PREFIX lib
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
endforeach()
target_compile_definitions(dynlib_lacking PRIVATE LACKING)
assay_add_test(NAME test_core_dynlib SOURCES unit/test_core_dynlib.c LABELS unit)
target_compile_definitions(test_core_dynlib PRIVATE
    DYNLIB_GOOD="$<TARGET_FILE:dynlib_good>" DYNLIB_LACKING="$<TARGET_FILE:dynlib_lacking>")
add_dependencies(test_core_dynlib dynlib_good dynlib_lacking)

assay_add_test(NAME test_core_crash_context SOURCES unit/test_core_crash_context.c LABELS unit)
target_compile_definitions(test_core_crash_context PRIVATE DYNLIB_GOOD="$<TARGET_FILE:dynlib_good>")
add_dependencies(test_core_crash_context dynlib_good)

assay_add_test(NAME test_core_inherited SOURCES unit/test_core_inherited.c LABELS unit)
assay_add_test(NAME test_core_process SOURCES unit/test_core_process.c LABELS unit)
# Again without pidfd_open(2) and close_range(2).
assay_add_test(NAME test_core_process_old_kernel SOURCES unit/test_core_process.c
    ARGS old-kernel LABELS unit)
assay_add_test(NAME test_core_process_standstill SOURCES unit/test_core_process_standstill.c
    LABELS unit)

# Every allocation of a few calls fails once: malloc of this executable alone is replaced.
assay_add_test(NAME test_core_memory SOURCES unit/test_core_memory.c LABELS unit)
target_link_options(test_core_memory PRIVATE
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup)

assay_add_test(NAME test_core_embed SOURCES unit/test_core_embed.c LABELS unit)
assay_embed(TARGET test_core_embed SYMBOL embedded
    FILES ${CMAKE_CURRENT_SOURCE_DIR}/unit/core.cmake ${CMAKE_CURRENT_SOURCE_DIR}/../LICENSE)
target_compile_definitions(test_core_embed PRIVATE
    SOURCE_DIRECTORY="${CMAKE_CURRENT_SOURCE_DIR}/..")

# Declared protocols: protocols/protocol*.c.
assay_add_test(NAME test_conduct SOURCES unit/test_conduct.c LIBS assay_protocols LABELS unit)
assay_add_test(NAME test_protocol SOURCES unit/test_protocol.c LIBS assay_protocols LABELS unit)
target_compile_definitions(test_protocol PRIVATE
    DECLARED_DIRECTORY="${CMAKE_CURRENT_SOURCE_DIR}/../protocols/declared")

assay_add_test(NAME test_comparability SOURCES unit/test_comparability.c LIBS assay_protocols
    LABELS unit)
assay_add_test(NAME test_attribution SOURCES unit/test_attribution.c LIBS assay_protocols
    LABELS unit)
# Under a sanitizer fewer rows than fifty million show what our own code does at the bound.
if(ASSAY_SANITIZE)
    assay_add_test(NAME test_csv_import
        SOURCES unit/test_csv_import.c ${PROJECT_SOURCE_DIR}/results/formats/csv_import.c
        LIBS assay_results LABELS unit)
    target_compile_definitions(test_csv_import PRIVATE CSV_IMPORT_ROWS_MAX=2000000u)
else()
    assay_add_test(NAME test_csv_import SOURCES unit/test_csv_import.c LIBS assay_results
        LABELS unit)
endif()
assay_add_test(NAME test_runner_arm_spec SOURCES unit/test_runner_arm_spec.c LIBS assay_runner
    LABELS unit)

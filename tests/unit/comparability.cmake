assay_add_test(NAME test_comparability SOURCES unit/test_comparability.c LIBS assay_protocols
    LABELS unit)
assay_add_test(NAME test_csv_import SOURCES unit/test_csv_import.c LIBS assay_results LABELS unit)
assay_add_test(NAME test_runner_arm_spec SOURCES unit/test_runner_arm_spec.c LIBS assay_runner
    LABELS unit)

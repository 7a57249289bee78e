assay_add_test(NAME test_model_gpt2 SOURCES unit/test_model_gpt2.c LIBS assay_workloads
    LABELS unit)

# Tests of results/, one executable a source or subject.
foreach(name store store_schema store_plan store_trial store_read store_list formats analysis ceiling)
    assay_add_test(NAME test_${name} SOURCES unit/test_${name}.c
        LIBS assay_store_fixture LABELS unit)
endforeach()
assay_add_test(NAME test_store_network SOURCES unit/test_store_network.c
    LIBS assay_results LABELS unit)
target_link_options(test_store_network PRIVATE -Wl,--wrap=statfs)
assay_add_test(NAME test_store_lease SOURCES unit/test_store_lease.c
    LIBS assay_results LABELS unit)
assay_add_test(NAME test_fields SOURCES unit/test_fields.c LIBS assay_results LABELS unit)
assay_add_test(NAME test_judgement SOURCES unit/test_judgement.c LIBS assay_results LABELS unit)
assay_add_test(NAME test_varied SOURCES unit/test_varied.c LIBS assay_results LABELS unit)
assay_add_test(NAME test_calibration_row SOURCES unit/test_calibration_row.c LIBS assay_results
    LABELS unit)
assay_add_test(NAME test_energy SOURCES unit/test_energy.c LIBS assay_results LABELS unit)
assay_add_test(NAME test_series SOURCES unit/test_series.c LIBS assay_results LABELS unit)
assay_add_test(NAME test_cosignature SOURCES unit/test_cosignature.c LIBS assay_results LABELS unit)
assay_add_test(NAME test_merkle SOURCES unit/test_merkle.c LIBS assay_results LABELS unit)
assay_add_test(NAME test_witnessing SOURCES unit/test_witnessing.c LIBS assay_results LABELS unit)
foreach(name key ledger bundle record roster witness)
    assay_add_test(NAME test_${name} SOURCES unit/test_${name}.c
        LIBS assay_store_fixture LABELS unit)
endforeach()
assay_add_test(NAME test_verify SOURCES unit/test_verify.c
    LIBS assay_synthetic_fixture assay_store_fixture LABELS unit threads)
assay_add_test(NAME test_foreign_text SOURCES unit/test_foreign_text.c LIBS assay_results LABELS unit)

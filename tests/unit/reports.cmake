# Tests of reports/, one executable a source or subject.
assay_add_test(NAME test_report_escape SOURCES unit/test_report_escape.c LIBS assay_reports LABELS unit)
assay_add_test(NAME test_report_doc SOURCES unit/test_report_doc.c LIBS assay_reports LABELS unit)
assay_add_test(NAME test_core_number SOURCES unit/test_core_number.c LIBS assay_reports LABELS unit)
assay_add_test(NAME test_report_chart SOURCES unit/test_report_chart.c LIBS assay_reports LABELS unit)
assay_add_test(NAME test_report_load_timeline SOURCES unit/test_report_load_timeline.c LIBS assay_reports LABELS unit)
assay_add_test(NAME test_report_size_words SOURCES unit/test_report_size_words.c LIBS assay_reports LABELS unit)
assay_add_test(NAME test_report_plot SOURCES unit/test_report_plot.c LIBS assay_reports LABELS unit)
assay_add_test(NAME test_report_view SOURCES unit/test_report_view.c support/json_shapes.c
    LIBS assay_reports LABELS unit)

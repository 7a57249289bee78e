# Tests of the measurement engine (protocols/stats, steady_state, estimate, compare).
foreach(name stats_distribution stats_series stats_mean_interval stats_order stats_succession stats_days stats_crossover stats_change stats_clock_step
        steady_state history estimate estimate_few_values finding spread metric compare cost fleet units acceptance decision
        data_seed same_stack serving_arrivals serving_trace
        serving_metrics serving_analysis serving_change serving_request_log)
    assay_add_test(NAME test_${name} SOURCES unit/test_${name}.c LIBS assay_protocols LABELS unit)
endforeach()
target_compile_definitions(test_stats_distribution PRIVATE
    DISTRIBUTION_TABLE="${CMAKE_CURRENT_LIST_DIR}/data/distributions.txt")

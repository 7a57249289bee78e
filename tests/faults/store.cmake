# The store under full disks, failed allocations, kills and other writers.
assay_add_fixture(assay_store_scenario LIBS assay_store_fixture
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/store_scenario.c)
foreach(name io memory)
    assay_add_test(NAME store_${name} LIBS assay_store_scenario LABELS faults COST 70 LONG
        SOURCES ${CMAKE_CURRENT_LIST_DIR}/store_${name}.c)
endforeach()
foreach(name kill writers full)
    assay_add_test(NAME store_${name} LIBS assay_store_scenario LABELS faults
        SOURCES ${CMAKE_CURRENT_LIST_DIR}/store_${name}.c)
endforeach()
assay_add_test(NAME store_flips LIBS assay_store_scenario LABELS faults COST 18 LONG
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/store_flips.c)
target_link_options(store_memory PRIVATE
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=json_loads,--wrap=json_loadb)
assay_add_test(NAME verify_flips LIBS assay_store_fixture LABELS faults COST 32 LONG
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/verify_flips.c)
assay_add_test(NAME verify_memory LIBS assay_store_fixture LABELS faults COST 20
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/verify_memory.c)
target_link_options(verify_memory PRIVATE
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup)
add_custom_target(verify_flips_all USES_TERMINAL
    COMMAND ${CMAKE_COMMAND} -E env ASSAY_TEST_FLIPS=10000 $<TARGET_FILE:verify_flips>)

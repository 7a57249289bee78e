# The store under full disks, lost memory, kills and other writers.
foreach(name io memory kill writers full flips)
    assay_add_test(NAME store_${name} LIBS assay_results LABELS faults TIMEOUT 600
        SOURCES ${CMAKE_CURRENT_LIST_DIR}/store_${name}.c
            ${CMAKE_CURRENT_LIST_DIR}/store_scenario.c
            ${CMAKE_CURRENT_LIST_DIR}/../support/store_fixture.c)
endforeach()
target_link_options(store_memory PRIVATE
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup)

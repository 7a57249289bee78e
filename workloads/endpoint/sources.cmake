list(APPEND ASSAY_WORKLOAD_SOURCES endpoint/endpoint.c)

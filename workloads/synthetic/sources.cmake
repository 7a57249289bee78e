list(APPEND ASSAY_WORKLOAD_SOURCES synthetic/synthetic.c)

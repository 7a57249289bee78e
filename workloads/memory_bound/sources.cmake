list(APPEND ASSAY_WORKLOAD_SOURCES
    memory_bound/memory_bound.c memory_bound/declare.c memory_bound/kernels.c
    memory_bound/data.c memory_bound/reference.c memory_bound/verify.c
    memory_bound/spot_check.c memory_bound/adamw.c memory_bound/tune.c)

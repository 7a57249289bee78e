list(APPEND ASSAY_WORKLOAD_SOURCES
    generation/generation.c generation/server.c generation/declare.c generation/verify.c generation/spot_check.c
    generation/handover.c generation/framework.c)

list(APPEND ASSAY_WORKLOAD_SOURCES
    training_step/training_step.c training_step/declare.c training_step/verify.c
    training_step/recheck.c training_step/update.c training_step/ends.c
    training_step/spot_check.c
    training_step/loss.c training_step/fp32.c training_step/handover.c)

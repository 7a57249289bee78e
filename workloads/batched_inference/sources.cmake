list(APPEND ASSAY_WORKLOAD_SOURCES
    batched_inference/batched_inference.c batched_inference/framework.c batched_inference/verify.c
    batched_inference/logits.c batched_inference/spot_check.c batched_inference/int8.c
    batched_inference/handover.c)

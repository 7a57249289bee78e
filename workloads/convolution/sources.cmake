list(APPEND ASSAY_WORKLOAD_SOURCES
    convolution/convolution.c convolution/declare.c convolution/facts.c convolution/portable.c
    convolution/verify.c)

/*
 * vector - functions compiled twice, for processors with AVX2 and for all others; the dynamic
 * linker picks one. Results have the same bits: no operation is fused or put in another order
 * (-ffp-contract=off, and no -ffast-math). Compilers and sanitizers that cannot do it make one.
 */
#ifndef ASSAY_CORE_VECTOR_H
#define ASSAY_CORE_VECTOR_H

#include <features.h>

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) &&                            \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define VECTOR_CLONES __attribute__((target_clones("default", "avx2")))
#else
#define VECTOR_CLONES
#endif

#endif

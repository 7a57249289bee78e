/* program - what run-time compilers make of a text: the stand-ins for NVRTC and HIPRTC share it. */
#ifndef ASSAY_TESTS_GPU_SHIM_PROGRAM_H
#define ASSAY_TESTS_GPU_SHIM_PROGRAM_H

#include "tests/support/gpu_shim/core.h"

struct shim_program {
    char *text, *image, *log; /* image: the binary, once it is compiled; log may be NULL */
};

/* NULL: out of memory. */
struct shim_program *shim_program_create(const char *text);
void shim_program_destroy(struct shim_program *program);

/* Aborts or hangs where ASSAY_SHIM_COMPILER_ABORTS or ASSAY_SHIM_COMPILER_HANGS say so. */
void shim_compiler_misbehave(void);

/*
 * OpenCL's compiler looks at the text, which then, behind `mark`, is the binary. INVALID: no
 * program of a backend's; NOT_COMPILED, with the log; NO_MEMORY.
 */
enum core_result shim_program_compile(struct shim_program *program, const char *mark);

/* The log and its bytes with the NUL. */
const char *shim_program_log(const struct shim_program *program, size_t *ret_size);

#endif

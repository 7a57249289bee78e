/* program - run-time compilation of a text, shared by the stand-ins for NVRTC and HIPRTC. */
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
 * OpenCL's compiler checks the text, which then, after `mark`, is the binary. INVALID: not a
 * program of a backend; NOT_COMPILED, with the log; NO_MEMORY.
 */
enum core_result shim_program_compile(struct shim_program *program, const char *mark);

/* The log and its bytes with the NUL. */
const char *shim_program_log(const struct shim_program *program, size_t *ret_size);

#endif

/*
 * nvrtc - the run-time compiler (libnvrtc), declared by ourselves after nvrtc.h (CUDA Toolkit 13.0,
 * the same since 11.2), and how it is used: one program in, code for one very architecture out. It
 * needs neither driver nor device.
 */
#ifndef ASSAY_BACKENDS_CUDA_NVRTC_H
#define ASSAY_BACKENDS_CUDA_NVRTC_H

#include <stdbool.h>
#include <stddef.h>

#include "backends/gpu/gpu.h"
#include "harness/core/dynlib.h"

struct _nvrtcProgram;

#define NVRTC_REQUIRED_MAP(X)                                                                      \
    X(unsigned, nvrtcVersion, (int *major, int *minor))                                            \
    X(const char *, nvrtcGetErrorString, (unsigned code))                                          \
    X(unsigned, nvrtcGetNumSupportedArchs, (int *count)) /* 11.2 */                                \
    X(unsigned, nvrtcGetSupportedArchs, (int *archs))                                              \
    X(unsigned, nvrtcCreateProgram,                                                                \
      (struct _nvrtcProgram * *program, const char *text, const char *name, int header_count,      \
       const char *const *headers, const char *const *header_names))                               \
    X(unsigned, nvrtcDestroyProgram, (struct _nvrtcProgram * *program))                            \
    X(unsigned, nvrtcCompileProgram,                                                               \
      (struct _nvrtcProgram * program, int option_count, const char *const *options))              \
    X(unsigned, nvrtcGetProgramLogSize, (struct _nvrtcProgram * program, size_t * size))           \
    X(unsigned, nvrtcGetProgramLog, (struct _nvrtcProgram * program, char *log))                   \
    X(unsigned, nvrtcGetCUBINSize, (struct _nvrtcProgram * program, size_t * size)) /* 11.1 */     \
    X(unsigned, nvrtcGetCUBIN, (struct _nvrtcProgram * program, char *bytes))                      \
    X(unsigned, nvrtcGetPTXSize, (struct _nvrtcProgram * program, size_t * size))                  \
    X(unsigned, nvrtcGetPTX, (struct _nvrtcProgram * program, char *bytes))

/* nvrtcResult; NVRTC_<name> */
#define NVRTC_RESULT_MAP(X)                                                                        \
    X(SUCCESS, 0)                                                                                  \
    X(ERROR_OUT_OF_MEMORY, 1)                                                                      \
    X(ERROR_PROGRAM_CREATION_FAILURE, 2)                                                           \
    X(ERROR_INVALID_INPUT, 3)                                                                      \
    X(ERROR_INVALID_PROGRAM, 4)                                                                    \
    X(ERROR_INVALID_OPTION, 5)                                                                     \
    X(ERROR_COMPILATION, 6)                                                                        \
    X(ERROR_BUILTIN_OPERATION_FAILURE, 7)                                                          \
    X(ERROR_INTERNAL_ERROR, 11)

enum nvrtc_result {
#define NVRTC_RESULT_ENUM(name, value) CUDA_NVRTC_##name = value,
    NVRTC_RESULT_MAP(NVRTC_RESULT_ENUM)
#undef NVRTC_RESULT_ENUM
};

struct nvrtc_api {
    NVRTC_REQUIRED_MAP(DYNLIB_MEMBER)
};

#define NVRTC_ARCHS_MAX 64

struct nvrtc {
    struct dynlib lib;
    struct nvrtc_api api;
    int major, minor;
    int archs[NVRTC_ARCHS_MAX]; /* 90 for sm_90, ascending */
    size_t arch_count;
};

/*
 * Opens one (name "nvrtc"): soname `soname`, or NULL: the newest that is here. UNAVAILABLE with
 * what was tried. `ret->lib` is filled either way; nvrtc_finish.
 */
enum status nvrtc_open(const char *soname, struct nvrtc *ret, struct error *err);
void nvrtc_finish(struct nvrtc *nvrtc);

/*
 * Opens the one to compile for `arch` on a driver of CUDA `driver_version` (13000): those of the
 * driver's major version first, then older, then newer ones; the first that knows the architecture,
 * else the first whose PTX the driver can translate. `ret_compute` is the architecture to compile
 * for, negative when it is PTX (-90: compute_90).
 */
enum status nvrtc_open_for(int arch, int driver_version, struct nvrtc *ret, int *ret_compute,
                           struct error *err);

/* The architecture, negative for PTX, that this NVRTC compiles for `arch`; 0: it cannot. */
int nvrtc_target(const struct nvrtc *nvrtc, int arch);

/*
 * Compiles a program for `compute` (90: CUBIN for sm_90; -90: PTX for compute_90) with the pinned
 * options: no contraction, exact division and root, denormals kept or flushed. COMPILE: the text is
 * refused, the message has the log. UNSUPPORTED: it wants more of the architecture than there is.
 * UNAVAILABLE: the installation of NVRTC is incomplete. `extra` is one more option, for tests that
 * want more of a log, or NULL.
 */
enum status nvrtc_compile(const struct nvrtc *nvrtc, const char *file, const char *program,
                          int compute, bool flush_denormals, const char *extra,
                          struct gpu_binary *ret, struct error *err);

#endif

/* source - from a kernel text to C that this backend can compile and call. */
#ifndef ASSAY_BACKENDS_CPU_SOURCE_H
#define ASSAY_BACKENDS_CPU_SOURCE_H

#include "backends/backend.h"
#include "harness/core/text.h"

#define CPU_PRELUDE_FILE "backends/cpu/prelude.h"

/* One argument as a compiled kernel takes it. */
union cpu_argument {
    void *pointer;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    float f32;
    double f64;
};

/* As in the prelude. */
struct cpu_geometry {
    uint64_t group[3], groups[3];
};

/* Runs groups [begin, end) of a launch; group g is at x = g % groups[0] and so on. */
typedef void cpu_kernel_run(const uint64_t groups[3], const union cpu_argument *arguments,
                            uint64_t begin, uint64_t end);

/* A compiled kernel NAME exports CPU_RUN NAME and CPU_SIGNATURE NAME: a character a parameter. */
#define CPU_RUN "assay_run_"
#define CPU_SIGNATURE "assay_signature_"
#define CPU_PARAMETER_POINTER 'p'

/* LANES and defines, prelude, text, each under its own file name. text_ok reports a lack of memory.
 */
void cpu_source_join(const struct module_source *source, const char *prelude, size_t prelude_length,
                     struct text *ret);

/*
 * Turns the KERNEL heads of preprocessed text into functions and appends, for each, a function that
 * runs a range of groups (cpu_kernel_run) and its signature. COMPILE: a head that is no name and
 * list of parameters, or too long a one. That parameters are pointers or scalars of the dialect is
 * for the compiler to find.
 */
enum status cpu_source_expand(const char *preprocessed, struct text *ret, struct error *err);

#endif

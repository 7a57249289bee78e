/*
 * compiler - the machine's C compiler, found once and run in a child process under a timeout.
 *
 * It is given no variable but PATH, HOME, LD_LIBRARY_PATH and where temporary files go: others
 * change what it makes of a text (CPATH, COMPILER_PATH, GCC_EXEC_PREFIX, CCC_OVERRIDE_OPTIONS,
 * LD_RUN_PATH ...), and no list of those is ever complete.
 */
#ifndef ASSAY_BACKENDS_CPU_COMPILER_H
#define ASSAY_BACKENDS_CPU_COMPILER_H

#include <stdbool.h>

#include "backends/backend.h"
#include "harness/core/digest.h"
#include "harness/core/status.h"

/* Strings are heap and live as long as the process. */
struct cpu_compiler {
    char *command;  /* as found: "cc", or what ASSAY_CC says */
    char *path;     /* its file; NULL where it cannot be determined */
    char *version;  /* first line of --version, printable */
    char *identity; /* version, files and build-ids of driver and compiler proper, and of a file of
                       specs, where it reads one: provenance */
    char *tools;    /* the same of assembler and linker */
    char *tried;    /* when none was found: what was tried and why it failed */
};

/*
 * ASSAY_CC where it is set, and then nothing else; otherwise cc, gcc, clang in this order: the
 * first that answers --version. UNAVAILABLE names each with its reason; `ret->tried` has it too and
 * is filled although the call fails.
 */
enum status cpu_compiler_find(struct cpu_compiler *ret, struct error *err);

/*
 * Driver, compiler proper, assembler, linker, the libraries of each, the plug-in that the
 * linker opens, and the file of specs that the driver reads.
 */
void cpu_compiler_files(const struct cpu_compiler *compiler, struct backend_file_list *ret);

/*
 * What every kernel is compiled with by this compiler, as one line; the module's own options are
 * added. The string remains valid.
 */
const char *cpu_compiler_options(const struct cpu_compiler *compiler);

/*
 * What -march=native means here: digest of the processor's model and feature flags, so that a cache
 * on a shared disk does not hand a kernel to another machine.
 */
struct digest cpu_compiler_target(void);

/*
 * Preprocesses `text` (C with #line) to `ret`, or compiles preprocessed `text` to the shared object
 * `object`. `folder` is an own scratch folder; its path does not enter the result. `ret_log` (heap)
 * gets the compiler's messages either way it ends, unless it could not be started. COMPILE: refused
 * (the log says why), crashed, or took longer than ASSAY_CC_TIMEOUT (default 120s); UNAVAILABLE:
 * not started.
 */
enum status cpu_compiler_preprocess(const struct cpu_compiler *compiler, const char *folder,
                                    const char *text, size_t length, char **ret, char **ret_log,
                                    struct error *err);
enum status cpu_compiler_compile(const struct cpu_compiler *compiler, const char *folder,
                                 const char *text, size_t length, const char *object,
                                 char **ret_log, struct error *err);

#endif

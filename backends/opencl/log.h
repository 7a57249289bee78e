/* log - what the compiler said, with our files and lines. */
#ifndef ASSAY_BACKENDS_OPENCL_LOG_H
#define ASSAY_BACKENDS_OPENCL_LOG_H

#include "backends/opencl/api.h"

#define OPENCL_PRELUDE_FILE "backends/opencl/prelude.cl"

/* Where the parts are in the one text that the compiler got. */
struct opencl_log_map {
    const char *file;      /* of the kernel text */
    uint64_t prelude_line; /* line (from 1) of the prelude's first line */
    uint64_t text_line;    /* line of the kernel text's first line */
};

/*
 * Heap copy of a build log with printable lines, no line break at the end. Most compilers follow
 * the text's #line directives; some (Oclgrind) count on through the whole text under a name of
 * their own
 * ("input.cl:169:20"): such places get our file and line.
 * NULL: out of memory.
 */
char *opencl_log_rewrite(const char *log, const struct opencl_log_map *map);

#endif

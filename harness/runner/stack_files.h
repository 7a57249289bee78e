/*
 * stack_files - files that take part in a measurement without being mapped by the worker: compilers
 * and runtime files that the worker reports, and the kernel modules and firmware of accelerators'
 * drivers, which the harness finds itself.
 */
#ifndef ASSAY_RUNNER_STACK_FILES_H
#define ASSAY_RUNNER_STACK_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "harness/runner/maps.h"

struct stack_file {
    const char
        *kind;  /* "compiler", "icd", "driver", "firmware", "server", "model" or "input", static */
    char *path; /* of the file, or of what represents it ("/sys/module/nvidia"); heap */
    char *version;  /* heap; NULL: unknown */
    char *build_id; /* from another source than the file; heap; NULL: none */
};

struct stack_files {
    struct stack_file *items;
    size_t count;
};

/*
 * Kernel modules of accelerators that are loaded (/sys/module): version and srcversion, the
 * build-id of what runs, and their file by modules.dep, where it is in this root. The firmware that
 * NVIDIA's driver of that version loads (/lib/firmware/nvidia/VERSION). NO_MEMORY alone.
 */
enum status stack_files_add_host(struct stack_files *files, struct error *err);

/*
 * An array of {"kind", "path", "version"}, as a worker sends it in its "device" message; NULL adds
 * nothing. `root` is put before each path (the worker's root directory; NULL: the same). PROTOCOL:
 * it is not such an array, or has more than 1024 entries.
 */
enum status stack_files_add_told(struct stack_files *files, const json_t *reported,
                                 const char *root, struct error *err);
void stack_files_finish(struct stack_files *files);

#endif

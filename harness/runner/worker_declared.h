/*
 * worker_declared - what is declared with its versions and lock files: workers, frameworks that
 * measure in place of assay's own kernels, and stacks, drivers below them.
 * backends/workers/README.md and backends/stacks/README.md have the forms; those of these folders
 * are compiled in.
 */
#ifndef ASSAY_RUNNER_WORKER_DECLARED_H
#define ASSAY_RUNNER_WORKER_DECLARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/digest.h"
#include "harness/core/precision.h"
#include "harness/core/status.h"

#define WORKER_ENTRY_ASSAY "assay"

enum declared_form { DECLARED_WORKER, DECLARED_STACK };
/* "worker" or "stack". */
const char *declared_form_name(enum declared_form form);

/* A kind of workload that it runs, in which precisions, on which backends. */
struct worker_runs {
    char *kind;
    enum precision *precisions;
    uint32_t precisions_count;
    char **devices;
    uint32_t devices_count;
};

/* A file of a stack that assay opens as the vendor library of that name ("nvrtc"). */
struct stack_library {
    char *name, *path;
};

/* As the file says, with its defaults. A stack has no modes, entry, interface and runs; its
   library is the driver, in an environment of `interpreter`. */
struct worker_values {
    char *name, *description;
    char **versions; /* the first is the default */
    uint32_t versions_count;
    char **modes; /* likewise; none: it has but one way to run */
    uint32_t modes_count;
    char *entry;               /* "assay", or a file beside the declaration */
    char *interface, *library; /* of entry "assay": see backends/framework.h; else NULL */
    char *interpreter;         /* "python3"; NULL: none */
    struct worker_runs *runs;
    uint32_t runs_count;
    struct stack_library *libraries; /* of a stack, below site-packages */
    uint32_t libraries_count;
    int64_t threads; /* 0: as many as the device uses */
    bool simulated;
};

struct declaration;

struct worker_declared {
    struct declaration *declaration;    /* heap */
    const char *origin;                 /* its file, or what names it in messages */
    const struct worker_values *values; /* the declaration's data */
    struct digest digest;               /* of the file's content, as JSON */
    bool built_in;
    enum declared_form form;
};

#define WORKER_NAME_SIZE 65

/* Names of those that are compiled in, sorted: `index` from 0; false: there are no more. */
bool worker_declared_name(enum declared_form form, size_t index, char ret[WORKER_NAME_SIZE]);

/*
 * A built-in name, or the path of a declaration. NOT_FOUND: names what there is; INVALID with
 * FILE:LINE.
 */
enum status worker_declared_find(enum declared_form form, const char *name_or_path,
                                 struct worker_declared *ret, struct error *err);
void worker_declared_finish(struct worker_declared *worker);

/* Whether it has the version, or the mode. */
bool worker_declared_has(char *const *names, uint32_t count, const char *name);

/* What it says of a kind; NULL: it does not run it. */
const struct worker_runs *worker_declared_runs(const struct worker_declared *worker,
                                               const char *kind);

/* Whether it runs anything on devices of that backend. */
bool worker_declared_opens(const struct worker_declared *worker, const char *backend);

/*
 * The module that programs in Python share (backends/workers/python): its text, which is compiled
 * in. It is installed with each of them.
 */
#define WORKER_MODULE "assay_worker.py"
const char *worker_declared_module(size_t *ret_length);

/*
 * A file that lies beside the declaration ("1.32.0.lock", the entry), heap, whether it is compiled
 * in or on disk. NOT_FOUND.
 */
enum status worker_declared_read(const struct worker_declared *worker, const char *file, char **ret,
                                 size_t *ret_length, struct error *err);

#endif

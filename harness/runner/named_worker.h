/*
 * named_worker - a declared worker or stack in one of its versions, as it is installed here: what
 * is started or opened, and the digests by which a plan names it.
 *
 * A person writes "onnxruntime", "onnxruntime@1.24.4" or "pytorch@2.15,mode=compile,threads=1";
 * in place of the name the path of a worker.yaml. "assay" is none of them: its own worker.
 */
#ifndef ASSAY_RUNNER_NAMED_WORKER_H
#define ASSAY_RUNNER_NAMED_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/reading.h"
#include "harness/runner/worker_declared.h"

struct named_worker {
    struct worker_declared declared;
    char *from;           /* as it was named, without version and settings */
    char *version;        /* one of those declared */
    char *mode;           /* NULL: it has none */
    int64_t threads;      /* 0: as many as the device uses */
    char *folder;         /* where it is installed, or would be */
    char *program;        /* what is started, absolute; NULL: assay's own worker */
    char *python;         /* of the environment that runs the program; NULL: none */
    char *module;         /* of that environment: what programs in Python share; NULL: none */
    char *library;        /* of assay's own worker; NULL: it is a program */
    struct digest lock;   /* of the lock file */
    struct digest source; /* of the library or the program */
    char source_text[DIGEST_HEX_SIZE];
    struct digest shared; /* of the module */
    struct digest files;  /* of all that is installed of it (folder_state.h); NULL `state`: none */
    struct folder_state *state;
    json_t *packages; /* those of the lock: ["onnxruntime==1.32.0", "sha256:...", ...] */
};

/*
 * "NAME=VALUE", NULL-terminated: what keeps every framework, and what it loads, from telemetry,
 * downloads and look-ups in a process that is measured. A variable that the user or an arm sets, or
 * removes, counts instead.
 */
extern const char *const named_worker_quiet[];

/* The file of a stack's folder that names its driver to a loader of OpenCL. */
#define NAMED_WORKER_ICD "driver.icd"

/*
 * As a person writes it, without a look at what is installed: `program`, `python`, `library` and
 * `source` are not set. INVALID, NOT_FOUND: says what there is.
 */
enum status named_worker_read(enum declared_form form, const char *text, struct named_worker **ret,
                              struct error *err);
/*
 * And what is installed of it. UNAVAILABLE: it is not, or from another lock file (says the command
 * that installs).
 */
enum status named_worker_find(const char *text, struct named_worker **ret, struct error *err);
/* The same of a stack; of it `folder` is set, which holds the ICD file. */
enum status named_stack_find(const char *text, struct named_worker **ret, struct error *err);
/*
 * The file that assay opens as the vendor library `name` ("nvrtc") in an installed stack, heap.
 * INVALID: the stack has no such library (says which it has); UNAVAILABLE: its file is not there.
 */
enum status named_stack_library(const struct named_worker *stack, const char *name, char **ret,
                                struct error *err);
void named_worker_destroy(struct named_worker *worker); /* takes NULL */
static inline void named_worker_cleanup(struct named_worker **worker)
{
    named_worker_destroy(*worker);
}

/*
 * Installs it: package_install with the lock of its version, then its program, where that is
 * compiled in, or the ICD file of a stack. `find_links`, `quiet` and `wake_fd` as there; errors
 * likewise.
 */
enum status named_worker_install(const struct named_worker *worker, const char *find_links,
                                 bool quiet, int wake_fd, struct error *err);
bool named_worker_is_installed(const struct named_worker *worker);

/* Whether it runs the kind in the precision on devices of the backend. */
bool named_worker_runs(const struct named_worker *worker, const char *kind,
                       enum precision precision, const char *backend);

/* As a plan keeps it: names and digests, no paths of this machine but that of a worker.yaml; new.
 */
json_t *named_worker_json(const struct named_worker *worker);
/* And back, with what is installed. INVALID: that is another than the plan names. */
enum status named_worker_from_json(const json_t *json, struct named_worker **ret,
                                   struct error *err);
/* The same of it as readings "worker.*". */
void named_worker_add_readings(const struct named_worker *worker, struct reading_list *list);
/* INVALID: a file of its folder is another by now than when it was found (folder_state_check). */
enum status named_worker_check_files(const struct named_worker *worker, struct error *err);
/* For assay's own worker, in the trial's message: {"interface", "library", ...}; new; NULL: it is a
   program. */
json_t *named_worker_message(const struct named_worker *worker);

#endif

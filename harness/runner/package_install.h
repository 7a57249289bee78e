/*
 * package_install - what a lock file names, into a folder of its own: wheels of Python, whose
 * hashes are all in the lock, so that every machine gets the same files or none. pip does it
 * (`--require-hashes --only-binary :all: --no-deps`); where this machine's Python has none, one
 * that `python3 -m venv` makes for the purpose.
 *
 * A lock is pip's form of requirements, each with its hashes:
 *     onnxruntime==1.32.0 \
 *         --hash=sha256:5a34...
 * Nothing else is read: options and addresses in it are refused.
 */
#ifndef ASSAY_RUNNER_PACKAGE_INSTALL_H
#define ASSAY_RUNNER_PACKAGE_INSTALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/status.h"

/* Below the folder: packages without an environment, and an environment of Python. */
#define PACKAGE_INSTALL_SITE "site-packages"
#define PACKAGE_INSTALL_VENV "venv"
#define PACKAGE_INSTALL_PYTHON PACKAGE_INSTALL_VENV "/bin/python3"

struct package_install {
    const char *name; /* "onnxruntime@1.32.0": for messages and progress */
    const char *lock; /* its text */
    size_t lock_length;
    /*
     * "python3": an environment of it, FOLDER/venv, with wheels for it. NULL: plain files in
     * FOLDER/site-packages, of wheels for CPython 3.11, whichever Python is here: of those only
     * libraries and data are of use.
     */
    const char *interpreter;
    const char *find_links; /* a folder of wheels; nothing is then downloaded. NULL: pip's index */
    bool may_be_empty;      /* the lock need not name a package: what is needed is here already */
    bool quiet;             /* no progress */
    int wake_fd;            /* readable: stop; -1: none */
};

/*
 * Installs into `folder`, which appears when all of it is there; replaces one that exists. INVALID:
 * the lock is not in that form; UNAVAILABLE: no Python, pip or venv is here (says what to install),
 * or pip's last lines: no such version, no network; CORRUPT: a wheel with another hash than the
 * lock's; INTERRUPTED. On failure `folder` is as it was, and nothing is left beside it.
 */
enum status package_install(const struct package_install *install, const char *folder,
                            struct error *err);

/* Takes the folder away with all in it. NOT_FOUND: it is not there. */
enum status package_remove(const char *folder, struct error *err);

/* Bytes of all files below a folder; 0: none, or it is not there. */
uint64_t package_installed_bytes(const char *folder);

#endif

/* store - a database of results, or a bundle of some. */
#ifndef ASSAY_STORE_H
#define ASSAY_STORE_H

#include <assay/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_store;

enum assay_mode {
    ASSAY_READ,
    ASSAY_WRITE, /* what is there is never changed: writing adds */
    ASSAY_CREATE /* as WRITE; makes the file where there is none */
};

/*
 * Opens a file. A database of an older assay is read through a temporary copy, and carried forward
 * when it is opened for writing. READ also takes a bundle: it is verified, which a warning says
 * where it is not in all, and read through a temporary database that goes with the handle.
 *
 * `wait_s`: how many seconds to wait, now and in later calls, for a database that another process
 * holds. NOT_FOUND; DENIED; BUSY; CORRUPT: no database of assay, of a newer one, or a bundle
 * that fails verification; INVALID: a bundle that is to be written to, or no regular file.
 */
enum assay_status assay_store_open(const char *path, enum assay_mode mode, double wait_s,
                                   struct assay_store **ret);
/* What was read through it must have been freed before. */
void assay_store_close(struct assay_store *store);

#ifdef __cplusplus
}
#endif

#endif

/*
 * releases - which program is a release, by statements that somebody signed: in-toto Statement v1
 * with the predicate SLSA provenance v1 (slsa.dev/spec/v1.0/provenance), each in a DSSE envelope,
 * one after the other in a file.
 *
 * Of a statement it takes each subject's name and SHA-256, the builder's id, and the first of the
 * resolved dependencies, which is the source.
 */
#ifndef ASSAY_RESULTS_EVIDENCE_RELEASES_H
#define ASSAY_RESULTS_EVIDENCE_RELEASES_H

#include <stddef.h>

#include <jansson.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"
#include "results/evidence/key.h"

struct release {
    struct digest digest;            /* of the program */
    json_t *name, *builder, *source; /* printable ASCII; source: URI and commit, "": not stated */
};

struct releases {
    struct release *items;
    size_t count;
};

/* Takes one that is zeroed. */
void releases_finish(struct releases *releases);

/*
 * Reads a file of envelopes, each of which `key` must have signed. NOT_FOUND ...; INVALID: which
 * envelope of the file, and what is wrong with it.
 */
enum status releases_read(const char *path, const struct key_public *key, struct releases *ret,
                          struct error *err);

/* Adds what a statement says, unsigned. INVALID; then nothing of it was added. */
enum status releases_add(struct releases *releases, const char *statement, size_t length,
                         struct error *err);

/* NULL: no release is known with this digest; so it is for NULL `releases`. */
const struct release *releases_find(const struct releases *releases, const struct digest *digest);

/* "NAME, built by BUILDER from SOURCE", heap; NULL: no memory. */
char *release_words(const struct release *release);

#endif

/* verify - whether a database or bundle is what it claims to be. Needs no device and no network. */
#ifndef ASSAY_VERIFY_H
#define ASSAY_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_verification;

struct assay_verify_options {
    size_t size;
    const char *expect_head; /* that the log must have had: "ROOT" or "SIZE:ROOT" */
    const char *nonce;       /* that every campaign must answer */
    const char *const *keys; /* public keys, or files of them: one must have signed each campaign */
    size_t key_count;        /* 16 at most */
    const char *roster;      /* file of keys that are trusted, for what and when */
    int64_t witnesses;       /* of the roster that must have seen each plan before it ran */
    const char *tsa_ca;      /* PEM file: whose time stamps are believed */
    int threads;             /* 0: one a processor */
    bool skip_estimates;     /* leave out what takes longest */
    double wait_s;           /* for a file that another process holds; 0: 10 */
    void *context;           /* of `progress` */
    /*
     * Called several times a second, by one thread at a time; NULL: never. `doing`: "records",
     * "estimates" ...; total 0: not known. False stops: INTERRUPTED.
     */
    bool (*progress)(void *context, const char *doing, uint64_t done, uint64_t total);
    /*
     * File of signed statements (in-toto, SLSA provenance v1) of which program is a release, and
     * the public key, or a file of it, that must have signed each: every campaign must have been
     * run by such a program. Both or neither.
     */
    const char *releases, *release_key;
    const char *quote_key; /* PEM file: public key of the TPM that must have quoted each campaign */
};
#define ASSAY_VERIFY_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(struct assay_verify_options), NULL, NULL, NULL, 0, NULL, 0, NULL, 0, false, 0,      \
            NULL, NULL, NULL, NULL, NULL                                                           \
    }

struct assay_verify_finding {
    const char *level;   /* "wrong"; "unverified": another version made it; "note" */
    const char *code;    /* of the rule: "trial_overlaps" */
    const char *check;   /* "record", "tree", "estimate" ... */
    const char *table;   /* NULL: of no table */
    const char *key;     /* of the row; NULL: of no row */
    const char *message; /* what, and what was expected */
};

struct assay_verify_summary {
    bool verified;       /* checked to the end, nothing wrong and nothing unverified */
    bool authors;        /* signatures of authors were asked for */
    int64_t leaves;      /* records of the file's own log */
    const char *root;    /* of all of them, hex */
    int64_t records;     /* checked, of all logs */
    int64_t bytes;       /* of the file */
    const char *signers; /* whose good signatures count, "name+id, ..."; "": nobody's */
    int64_t signatures, trusted_signatures; /* trusted: by a key that was asked for */
    int64_t estimates, comparisons;         /* recomputed and equal */
    int64_t wrong, unverified, notes;       /* findings */
    double seconds;
};

/*
 * Verifies a file. `options` may be NULL. OK: it was read through, whatever was found. NOT_FOUND,
 * DENIED; CORRUPT: no database or bundle of assay, or of a newer one; INVALID: options;
 * INTERRUPTED; NO_MEMORY, IO, NO_SPACE, BUSY: it could not be checked, so that nothing is known of
 * it. `ret` is set after these, too, with what was found until then, and NULL where nothing was
 * begun. Free with assay_verification_free.
 */
enum assay_status assay_verify(const char *path, const struct assay_verify_options *options,
                               struct assay_verification **ret);
void assay_verification_free(struct assay_verification *verification);

/* What it came to; with the handle. */
const struct assay_verify_summary *
assay_verification_summary(const struct assay_verification *verification);
/* The i-th finding, in the order in which they were found; NULL past the last. */
const struct assay_verify_finding *
assay_verification_finding(const struct assay_verification *verification, size_t i);
/* As JSON, in the form that `assay schema show verify` describes. Free with assay_free. NO_MEMORY.
 */
enum assay_status assay_verification_json(const struct assay_verification *verification,
                                          char **ret);

#ifdef __cplusplus
}
#endif

#endif

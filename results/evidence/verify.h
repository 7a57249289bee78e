/*
 * verify - checks a database: its schema, each record, the logs and their heads, all other tables
 * against those that the records give, signatures, completeness, and every estimate, recomputed
 * from raw samples.
 *
 * Opens the file for reading alone and trusts nothing in it: no view or trigger of it is run,
 * values are bounded, and the work is bounded by the file's size. Needs no device and no network.
 */
#ifndef ASSAY_RESULTS_EVIDENCE_VERIFY_H
#define ASSAY_RESULTS_EVIDENCE_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"
#include "results/evidence/key.h"
#include "results/evidence/releases.h"
#include "results/evidence/roster.h"

/* One list gives the checks, their names and meanings. */
#define VERIFY_CHECK_MAP(X)                                                                        \
    X(FILE, "file", "SQLite's own structure")                                                      \
    X(SCHEMA, "schema", "tables, indices, triggers and views are those of this version")           \
    X(RECORD, "record", "each record is canonical, and its digest is the one in the log")          \
    X(TREE, "tree", "records without gaps; each head's root follows from them")                    \
    X(ROW, "row", "all tables follow from the records")                                            \
    X(SIGNATURE, "signature", "signatures and time stamps of checkpoints")                         \
    X(HEAD, "head", "the head that was expected")                                                  \
    X(CONTENT, "content", "blobs and samples have the digests that records name")                  \
    X(COMPLETE, "complete",                                                                        \
      "nothing planned is missing without a reason; no row without its owner")                     \
    X(CELL, "cell", "campaigns and cells follow from plan, protocol and declared workload")        \
    X(TRIAL, "trial", "trials hold what they must, and nothing that contradicts it")               \
    X(ESTIMATE, "estimate", "estimates follow from the raw samples")                               \
    X(COMPARISON, "comparison", "comparisons follow from the raw samples")

enum verify_check {
#define VERIFY_ENUM(code, name, meaning) VERIFY_##code,
    VERIFY_CHECK_MAP(VERIFY_ENUM)
#undef VERIFY_ENUM
        VERIFY_CHECK_COUNT
};
const char *verify_check_name(enum verify_check check);

/*
 * WRONG: evidence fails a check. UNVERIFIED: a part of it that this program cannot check, as one
 * that another version of the analysis made, so that the whole is not verified. NOTE: what a
 * reader should know; nothing is wrong.
 */
enum verify_level { VERIFY_NOTE, VERIFY_UNVERIFIED, VERIFY_WRONG };
/* "note", "unverified", "wrong": by the level. */
extern const char *const verify_levels[];

struct verify_finding {
    const char *code; /* of the rule: "trial_overlaps" */
    enum verify_level level;
    enum verify_check check;
    const char *table;   /* NULL: of no table */
    const char *key;     /* of the row; of several columns with '/' between; NULL: of no row */
    const char *message; /* for people: what, and what was expected */
};

struct verify_progress {
    const char *doing; /* "records", "estimates" ... */
    uint64_t done, total;
};

/* A cell, as far as the work of its iterations depends on it. */
struct verify_subject {
    const json_t *workload; /* the stored declaration */
    const char *digest;     /* SHA-256 of its canonical form, hex */
    const char *precision;
    int64_t batch;
};

struct verify_options {
    const char *expect_head;       /* "ROOT" or "SIZE:ROOT", hex; NULL: none */
    const char *nonce;             /* every campaign's plan must carry it; NULL: any */
    const struct key_public *keys; /* whose signatures are asked for */
    size_t key_count;
    const struct roster *roster; /* whom the reader trusts, for what and when; NULL: no roster */
    int64_t witnesses;           /* of the roster, that must have seen each plan before it ran */
    const char
        *tsa_ca; /* PEM: whose time stamps are believed; NULL: their signatures stay unchecked */
    const struct digest *quote_key;  /* of the TPM that must have quoted each campaign; NULL: any */
    const struct releases *releases; /* one of which every campaign's program must be; NULL: any */
    int threads;         /* that check records and samples; 0: as many as there are processors */
    bool skip_estimates; /* leave out what takes longest */
    /* This process has just made the file with store_open and entered its records itself, so that
     * structure, schema and tables are not compared with what it would make again. */
    bool just_made;
    json_t *shown;   /* an object that receives what is not shown; NULL: not asked for */
    int64_t wait_ns; /* for a file that another process holds; 0: 10 s */
    void *context;   /* of the functions below */
    /* Called for each finding, in one thread. */
    void (*found)(void *context, const struct verify_finding *finding);
    /*
     * Who witnessed the plan of a campaign, as an object (`assay schema show verify` has its
     * members under "campaigns"); may be NULL.
     */
    void (*campaign)(void *context, json_t *campaign);
    /*
     * Called occasionally, several times a second, by one thread at a time; may be NULL. Total 0:
     * progress is unknown. Returning false stops: INTERRUPTED.
     */
    bool (*progress)(void *context, const struct verify_progress *progress);
    /*
     * The columns of a cell that follow from its declared workload (flops, bytes, headline ...), by
     * their names. INVALID: no such cell follows from it, which is wrong. NULL, or any other
     * failure: they are unverified, which is noted.
     */
    enum status (*derive)(void *context, const struct verify_subject *subject, json_t **ret,
                          struct error *err);
    /*
     * The largest tolerance that checks of this output of the cell may have; -1: it does not
     * follow from the cell; below: its kind of workload makes no such check. NULL, or a failure: it
     * is unverified, which is noted.
     */
    enum status (*tolerance)(void *context, const struct verify_subject *subject,
                             const char *output, const char *metric, double *ret,
                             struct error *err);
};

struct verify_summary {
    int64_t schema_version;
    int64_t leaves;      /* records of the file's own log */
    struct digest root;  /* of all of them */
    char origin[64];     /* name of the log; "": none */
    int64_t rows, bytes; /* records checked, of all logs; size of the file and its -wal */
    char signers[200];   /* whose good signatures count, "name+id, name+id ..."; "": nobody's */
    int64_t checkpoints, signatures, trusted_signatures; /* trusted: by one of options->keys */
    /* Of `leaves`, below the largest head with a good signature, by options->keys if any. */
    int64_t signed_leaves;
    int64_t estimates, comparisons;   /* recomputed and equal */
    int64_t wrong, unverified, notes; /* findings */
    double seconds;
};
extern const struct type verify_summary_type; /* as JSON (core/type.h) */

/*
 * Counts refused memory of SQLite, jansson and libcrypto, too, from now on: without that a document
 * or a time stamp that could not be read for want of memory looks like a bad one. To be called
 * before SQLite and time stamps are used.
 */
void verify_watch_memory(void);

/*
 * Checks a file. OK when it could be read through, whatever was found (see ret->wrong). `ret` holds
 * what is known so far after a failure, too.
 * Damage and truncation are findings, as long as the header is that of a database of assay.
 * NOT_FOUND, DENIED; NO_MEMORY, IO, NO_SPACE, BUSY: it could not be checked, and what was not found
 * says nothing; CORRUPT: it is no database of assay at all, or of a newer one; INVALID:
 * expect_head cannot be read.
 */
enum status verify_file(const char *path, const struct verify_options *options,
                        struct verify_summary *ret, struct error *err);

#endif

/*
 * bundle - campaigns in one file for handing over: every record that is about them, and what these
 * refer to, with the proof that they are in the log they came from, under one signed head.
 * BUNDLE.md specifies the form.
 *
 * Members can be withheld (a host's name, a serial number): their records keep a salted commitment,
 * so digests and proofs stay as they were and the value cannot be guessed.
 */
#ifndef ASSAY_RESULTS_EVIDENCE_BUNDLE_H
#define ASSAY_RESULTS_EVIDENCE_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"
#include "results/evidence/key.h"
#include "results/store/store.h"
#include "results/evidence/verify.h"

#define BUNDLE_VERSION 1
#define BUNDLE_SEAL "assay-bundle/1\n%s\n" /* what a seal signs: SHA-256 of all lines before */

/* ---- bundle_write.c ---- */

struct bundle_options {
    const int64_t *campaigns; /* rows; all of one log */
    size_t campaign_count;
    /*
     * What to withhold: a reading's name or pattern with '*' ("host.name", "device.*"), or
     * TYPE.MEMBER of a record, where that can be withheld ("campaign.command").
     */
    const char *const *withhold;
    size_t withhold_count;
    /*
     * A cost or decision that rests on a price marked confidential is withheld, since its figures
     * tell the price, unless this is true.
     */
    bool show_confidential;
    /*
     * Heads that somebody kept, "SIZE:ROOT" as --expect-head takes them: the bundle shows that its
     * own has grown from them. Those of checkpoints are shown without being asked for.
     */
    const char *const *since;
    size_t since_count;
    const struct key *key; /* signs the bundle's checkpoint; NULL: no one does */
    const char *tool_version;
    void *context; /* of progress */
    /* May be NULL. Returning false stops: INTERRUPTED. */
    bool (*progress)(void *context, uint64_t done, uint64_t total);
};

struct bundle_summary {
    int64_t records, withheld; /* records written; members and blobs withheld */
    bool confidential;         /* some of them for a confidential price */
    int64_t size;              /* records of the log that the head covers */
    struct digest root;
    struct digest sha256; /* of the file */
};

/*
 * Makes a checkpoint of the log and writes the bundle. INVALID: an entry of `withhold` names
 * nothing, a withheld value also occurs where it cannot be withheld (the message says where), a
 * campaign came in a bundle itself (hand that on), or the log never had a head of `since`.
 */
enum status bundle_write(struct store *store, const struct bundle_options *options, FILE *file,
                         struct bundle_summary *ret, struct error *err);

/* ---- bundle_read.c ---- */

/* True when this is a regular file that begins as a bundle does. */
bool bundle_recognise(const char *path);

/* What a bundle's first and last line say. Strings are heap. */
struct bundle_head {
    char *origin, *note, *tool, *seal;
    int64_t created_utc_ns, size;
    struct digest root, sha256; /* the latter of the whole file */
    char seal_body[96];         /* what the seal signs */
    json_t *campaigns;          /* uids */
    json_t *withheld;           /* words */
    json_t *proof;              /* {"heads": [...], "nodes": [...]} */
    int64_t records;
};
void bundle_head_finish(struct bundle_head *head);

/* A line of a bundle. Borrowed. */
struct bundle_line {
    const json_t *json; /* "record" in it is null */
    const char *record; /* its canonical JSON, not terminated; NULL: it has none */
    size_t record_length;
    uint64_t number; /* in the file, from 1 */
};

/*
 * Reads a bundle: its form, and its own digest. `take` gets every line between the first and the
 * last. CORRUPT: it is no bundle, one of a newer version, truncated, or changed in transit; the
 * message says in which line.
 */
enum status bundle_read(const char *path, struct bundle_head *ret, void *context,
                        enum status (*take)(void *context, const struct bundle_head *head,
                                            const struct bundle_line *line, struct error *err),
                        bool (*progress)(void *context, uint64_t done, uint64_t total),
                        struct error *err);

/* ---- bundle_import.c ---- */

struct bundle_import {
    int64_t campaigns, known; /* imported; of them, here before */
    int64_t campaign;         /* row here of the first of them */
    int64_t records;
    int64_t blobs_withheld; /* that records refer to, and that are not here */
};

/*
 * Takes a bundle in, in one transaction: its records stay as they are, in their own log. A campaign
 * whose uid is here already is not changed; INVALID where the bundle has later records of it.
 * `ret_head`, when not NULL, receives what the bundle
 * says of itself. CORRUPT: the records do not lead to the bundle's root, or do not fit together.
 * What is to be believed is what verify_file says of the database afterwards.
 */
enum status bundle_import(struct store *store, const char *path,
                          bool (*progress)(void *context, uint64_t done, uint64_t total),
                          void *context, struct bundle_import *ret, struct bundle_head *ret_head,
                          struct error *err);

/* ---- bundle_verify.c ---- */

/*
 * As verify_file, of a bundle: it is taken into a temporary database, and that is checked. Records,
 * root and origin in `ret` are those of the log that the bundle came from.
 */
enum status bundle_verify(const char *path, const struct verify_options *options,
                          struct verify_summary *ret, struct error *err);

#endif

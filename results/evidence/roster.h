/*
 * roster - the keys that a reader trusts, for what, and from when to when: a text file of theirs.
 *
 *     # who measures
 *     lab.example.org+1a2b3c4d+AX... author not-before=2026-01-01 expires=2027-01-01
 *     # who watches
 *     watch.example.org+5e6f7a8b+AX... witness revoked=2026-06-30T12:00:00Z
 *
 * One key a line: as `assay key show` prints it, what it is trusted for, and dates in UTC, each at
 * most once. No key is there twice. A witness may have several keys of one name; it counts once.
 */
#ifndef ASSAY_RESULTS_EVIDENCE_ROSTER_H
#define ASSAY_RESULTS_EVIDENCE_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/status.h"
#include "results/evidence/key.h"
#include "results/evidence/note.h"

struct roster_key {
    struct key_public key;
    bool is_witness; /* else an author */
    /* A signature counts from `not_before` on and before the other two. */
    int64_t not_before_ns, expires_ns, revoked_ns; /* INT64_MIN, INT64_MAX: not stated */
};

struct roster {
    struct roster_key *keys;
    size_t count;
};

/* NOT_FOUND ...; INVALID, with the line. */
enum status roster_read(const char *path, struct roster *ret, struct error *err);
/* Takes one that is zeroed. */
void roster_finish(struct roster *roster);

/* NULL: it is not there; so is it for a NULL roster. */
const struct roster_key *roster_find(const struct roster *roster,
                                     const uint8_t bytes[KEY_PUBLIC_SIZE]);
/* The key that a note's line names, whether the signature is its own or not; NULL: none. */
const struct roster_key *roster_find_line(const struct roster *roster,
                                          const struct note_line *line);

/* Whether a signature made at this time counts; else why not: "had expired on ..." */
bool roster_counts(const struct roster_key *key, int64_t utc_ns, char *ret_why, size_t size);

/* How many names its witnesses have. */
size_t roster_witnesses(const struct roster *roster);

#endif

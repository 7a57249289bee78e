/* protocol_clauses - the rows of protocol.h as a table. Private to protocol*.c. */
#ifndef ASSAY_PROTOCOLS_PROTOCOL_CLAUSES_H
#define ASSAY_PROTOCOLS_PROTOCOL_CLAUSES_H

#include "harness/core/declaration.h"
#include "harness/core/type.h"
#include "protocols/protocol.h"

enum clause_type {
    CLAUSE_INTEGER,
    CLAUSE_SEED = CLAUSE_INTEGER,
    CLAUSE_DURATION,
    CLAUSE_BOOLEAN,
    CLAUSE_REAL,
    CLAUSE_SHARE = CLAUSE_REAL,
    CLAUSE_CACHE, /* from here on: enumerations */
    CLAUSE_REFUSAL,
    CLAUSE_CENTRE,
    CLAUSE_VERIFICATION
};

enum clause_absence { CLAUSE_NEEDED, CLAUSE_DEFAULT, CLAUSE_LATER }; /* protocol.h */

struct clause {
    const char *path; /* in YAML: "window.time" */
    enum clause_type type;
    size_t offset, size; /* in struct protocol */
    double least, most;  /* of integers, durations (ns) and reals, both allowed */
    enum clause_absence absence;
};

extern const struct clause protocol_clauses[];
extern const size_t protocol_clause_count;

/* A protocol as it is stored; it owns what protocol_finish frees, `json` excepted. */
extern const struct type protocol_type;

/* What is written. A member counts only where declaration_has() says that it is written. */
struct protocol_raw {
    struct protocol clauses; /* those of protocol_clauses alone */
    char *name, *description, *extends;
    double *percentiles;
    uint32_t percentiles_count;
    char **required;
    uint32_t required_count;
};

extern const struct declaration_schema protocol_schema;

/* A protocol of nothing but defaults. */
void protocol_start(struct protocol *protocol);

/*
 * Puts what is written over what `protocol` holds. With `complete` every clause without a default
 * must be written; else the protocol already holds a base.
 */
enum status protocol_overlay(struct protocol *protocol, const struct declaration *declaration,
                             bool complete, struct error *err);

/*
 * Refuses values that make no sense, alone or together. `declaration` gives the lines and may be
 * NULL, then `origin` replaces them.
 */
enum status protocol_check(const struct protocol *protocol, const struct declaration *declaration,
                           const char *origin, struct error *err);

/* Fills `json` and `digest` from the other members. */
enum status protocol_seal(struct protocol *protocol, struct error *err);

#endif

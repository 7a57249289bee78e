/*
 * record - the unit of evidence: what happened, as one JSON object in canonical form (FORMAT.md,
 * "Records"). Records are what the log covers, what is signed, bundled, withheld and verified; the
 * tables that people query are made from them (projection.sql).
 *
 * A record refers to another by {"record":"<its digest>"} and to a blob, bytes of table `content`,
 * by
 * {"blob":"<their SHA-256>"}. A member that its type lists as one that can be withheld enters the
 * digest as a salted commitment, so that it can be left out later without changing the digest:
 *
 *     {"commitment":"<SHA-256 of the member's salt and its canonical JSON>"}
 *     the member's salt = HMAC-SHA256(key = the record's salt, message = its path)
 *
 * A path is the canonical JSON array of names and positions: ["components",0,"path"]. In a record
 * of which a bundle left a member out, {"withheld":"<the commitment>"} is in its place.
 */
#ifndef ASSAY_RESULTS_RECORD_RECORD_H
#define ASSAY_RESULTS_RECORD_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>
#include <sqlite3.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"
#include "harness/core/text.h"

/* ---- record_type.c: the kinds of record, as the heads of projection.sql have them ---- */

struct record_type {
    const char *name;
    /*
     * Members that can be withheld, with blanks between; a path's parts with '/' between, where *
     * stands for any name and # for any position: "readings/\*". "": none.
     */
    const char *committed;
    /* Equal content is one record, which others refer to, whatever campaign they are of. */
    bool is_shared;
};
/* NULL: there is no such type; there are no more. */
const struct record_type *record_type_find(const char *name);
const struct record_type *record_type_at(size_t i);
/*
 * The i-th statement that enters a record of this type in the tables; NULL: there are no more.
 * Where it runs for each element of a member, it begins with a line of RECORD_EACH and the member's
 * name.
 */
#define RECORD_EACH "-- each "
const char *record_projection(const struct record_type *type, size_t i);
/* The functions that projection.sql calls; SQLite's code. */
int record_register(sqlite3 *db);

/* ---- record.c ---- */

/* Binds a value as projection.sql says; it must stay until the statement is reset. SQLite's code.
 */
struct record_span;
int record_bind(sqlite3_stmt *statement, int parameter, const struct record_span *value);

/* What opens the commitments of a record: one salt for all of them, or one for each. */
struct record_salts {
    bool has_all;
    struct digest all;
    const json_t *each; /* {path: hex}; NULL: none */
};

/* A part of a body, byte for byte. */
struct record_span {
    const char *bytes;
    size_t length;
};

struct record_visitor {
    void *context;
    /* Numbers must have the fewest digits that give their value, too, which takes time. */
    bool is_exact;
    /*
     * A member that can be withheld: its path and its value. `commitment` is not NULL where it is
     * withheld already. NULL: not asked for.
     */
    enum status (*member)(void *context, struct record_span path, struct record_span value,
                          const struct digest *commitment, struct error *err);
    /* A member of the record itself, in their order. NULL: not asked for. */
    enum status (*top)(void *context, struct record_span name, struct record_span value,
                       struct error *err);
    /* A reference to a record, or to a blob. NULL: not asked for. */
    enum status (*reference)(void *context, bool is_blob, const struct digest *digest,
                             struct error *err);
};

/*
 * Reads a body through. CORRUPT: it is not canonical JSON (except for is_exact), not an object, of
 * another type than `type`, or nested deeper than RECORD_DEPTH_MAX. `type` NULL: any object; it may
 * have such a record as a member, and none of its members can be withheld.
 */
#define RECORD_DEPTH_MAX 100
enum status record_scan(const struct record_type *type, const char *body, size_t length,
                        const struct record_visitor *visitor, struct error *err);

/* Goes through the elements of an object or array that record_scan has read; others have none. */
struct record_walk {
    const char *at; /* before the next; NULL: there are none */
    bool is_object;
};
struct record_walk record_walk_begin(struct record_span value);
/* `ret_name`: its name as it is written, without quotes; bytes NULL in an array. */
bool record_walk_next(struct record_walk *walk, struct record_span *ret_name,
                      struct record_span *ret_value);

/* A member of an object that record_scan has read; length 0: there is none. */
struct record_span record_find(struct record_span object, const char *name);

/* How many members that can be withheld are not, and are. */
struct record_count {
    size_t open, withheld;
};
/*
 * The record's digest, which is its leaf's hash (RFC 6962): SHA-256 of a byte 0 and the body with
 * commitments in it. CORRUPT as above, with is_exact where `ret_count` is not NULL; or where a salt
 * is missing.
 */
enum status record_digest(const struct record_type *type, const char *body, size_t length,
                          const struct record_salts *salts, struct digest *ret,
                          struct record_count *ret_count, struct error *err);

/* A member's own salt. False: there is none for it. */
bool record_member_salt(const struct record_salts *salts, struct record_span path,
                        struct digest *ret);
/*
 * What a member is called where it can be withheld: TYPE.NAME, by the last name of its path; a
 * reading by its own name. False: no room.
 */
bool record_member_name(const struct record_type *type, struct record_span path, char *ret,
                        size_t size);
/* The commitment to a value under its salt. */
struct digest record_commitment(const struct digest *salt, struct record_span value);
/* The salt of a record of the log with this secret: HMAC-SHA256 of its body. */
struct digest record_salt(const struct digest *secret, const char *body, size_t length);

/* {"record": hex} and {"blob": hex}; NULL: out of memory. */
json_t *record_reference(const struct digest *digest);
json_t *record_blob(const struct digest *digest);

#endif

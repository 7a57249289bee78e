/* foreign_json - what the readers of other programs' JSON share: an entry becomes a claim. */
#ifndef ASSAY_RESULTS_FORMATS_FOREIGN_JSON_H
#define ASSAY_RESULTS_FORMATS_FOREIGN_JSON_H

#include "results/formats/claim_fields.h"
#include "results/formats/claims.h"

#define FOREIGN_WHERE_SIZE 256

/* What a program never tells, and why; ends with a NULL name. */
struct foreign_lack {
    const char *name, *reason;
};

/* One entry of a file: what it is part of, and where messages say that it is. */
struct foreign_entry {
    const json_t *root;
    json_t *fields;
    const char *path, *where;
    const char
        *name; /* by which it is told from the other entries; NULL where the program has none */
};

struct foreign_program {
    const char *name, *list; /* "results": the member that has the entries */
    const char *description; /* of a workload */
    const struct foreign_lack *lacks;
    /*
     * Adds the claims of an entry; none where it is no measurement of its own. INVALID where it
     * failed or is malformed: it is left out, and the message says why.
     */
    enum status (*add)(const struct foreign_program *program, struct import_claims *claims,
                       const struct foreign_entry *entry, struct error *err);
    json_t *(*names)(const json_t *list); /* of all entries; NULL: not made */
    const char *also; /* another name of the list, by another mode of the program; NULL: none */
    const char *none; /* why no entry may have a result, and what to do; NULL: not known */
};

/*
 * A claim named "PROGRAM:NAME" of the entry; `parameters` (its reference is taken) make it this
 * workload and no other.
 */
enum status foreign_begin(const struct foreign_program *program, struct import_claims *claims,
                          const struct foreign_entry *entry, const char *name, json_t *parameters,
                          struct store_claim **ret, struct error *err);
/* The end of a claim: of the file's own words when it was measured, and on what; NULL: it does not
 * tell. */
enum status foreign_finish(const struct foreign_program *program, struct store_claim *claim,
                           const char *host, const char *host_field, const char *cpu,
                           const char *cpu_field, const char *measured, const char *measured_field,
                           struct error *err);

/*
 * Google Benchmark: whether an entry of the file `root` was measured (false: a statistic of
 * others), and the mean time of its iterations in ns. INVALID ("WHERE: ..."): it gave up, or has no
 * time.
 */
bool foreign_google_is_measured(const json_t *root, const json_t *fields);
enum status foreign_google_time(const json_t *fields, const char *where, double *ret_ns,
                                struct error *err);

#endif

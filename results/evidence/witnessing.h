/* witnessing - whose signatures a reader counts, and who saw a campaign's plan before it ran. */
#ifndef ASSAY_RESULTS_EVIDENCE_WITNESSING_H
#define ASSAY_RESULTS_EVIDENCE_WITNESSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/text.h"
#include "results/evidence/roster.h"
#include "results/evidence/verify.h"

/* Whether signatures of authors are asked for: --key, or a roster that names one. */
bool verify_asks_for_authors(const struct verify_options *options);
/* The i-th key whose signature of that time counts as an author's; NULL: there are no more. */
const struct key_public *verify_author(const struct verify_options *options, size_t i,
                                       int64_t utc_ns);

#define WITNESSING_MAX 64

/* The cosignatures of one campaign's plan. */
struct witnessing {
    int64_t first_trial_ns; /* by the file's clock; INT64_MAX: there is no trial */
    struct witnessed {
        const struct roster_key *who;
        int64_t seconds; /* by the witness's clock */
    } by[WITNESSING_MAX];
    size_t count;      /* names, each with its earliest cosignature */
    size_t foreign;    /* of keys that no roster names as a witness's */
    char refused[256]; /* whose cosignature does not count, and why; "": all do */
};

/* A good cosignature by this key of the roster; NULL: by a key that it does not have. */
void witnessing_add(struct witnessing *witnessing, const struct roster_key *who, int64_t seconds);

/*
 * What is to be said about it, of the campaign with this uid: also to options->campaign. False:
 * nothing, because nobody asked and nobody cosigned. `ret_wrong`: fewer than are asked for.
 */
bool witnessing_tell(const struct witnessing *witnessing, const struct verify_options *options,
                     const char *uid, struct text *out, bool *ret_wrong);

#endif
